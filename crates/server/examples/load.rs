//! What does HTTP cost? The same calls in the process and over keep-alive connections, one caller and many, then a mixed load.
//!
//! Data: 10,000 records of 128 components and ten words each, 10,000 keys of 100 bytes, seed 1; server and clients share the
//! machine. Command: `target/release/examples/load [SECONDS [CONNECTIONS]]` after `cargo build --release --workspace --examples`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use nuthatch_link::{CollectionOptions, Database, EmbedderChoice, Options, Record, Search};
use nuthatch_server::{Config, Server};

const RECORDS: usize = 10_000;
const DIM: usize = 128;
const WORDS: [&str; 8] = ["osprey", "heron", "lake", "nest", "river", "winter", "branch", "water"];

fn main() {
    let mut arguments = std::env::args().skip(1).map(|number| number.parse::<usize>().expect("a number"));
    let seconds = Duration::from_secs(arguments.next().unwrap_or(5) as u64);
    let connections = arguments.next().unwrap_or(256);
    let folder = tempfile::tempdir().expect("a folder");
    let queries = prepare(folder.path());
    embedded(folder.path(), &queries);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().max_blocking_threads(80).enable_all().build().expect("threads");
    let config = Config {
        data_dir: Some(folder.path().into()),
        listen: "127.0.0.1:0".parse().expect("an address"),
        ..Config::default()
    };
    let server = runtime.block_on(Server::bind(config)).expect("a server");
    let address = server.address().expect("an address");
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = runtime.spawn(server.run(async {
        stopped.await.ok();
    }));
    let mut client = Client::new(address);
    while client.ask(&get("/readyz")).0 != 200 {}
    one_caller(address, &queries);
    for (name, requests) in kinds(&queries) {
        many(&format!("{name}, 16 connections"), address, 16, seconds, &requests);
    }
    let mixed: Vec<Vec<u8>> = kinds(&queries).into_iter().flat_map(|(_, requests)| requests).collect();
    many(&format!("mixed, {connections} connections"), address, connections, seconds, &mixed);
    stop.send(()).expect("it runs");
    runtime.block_on(running).expect("it ran").expect("it ended in good order");
}

fn prepare(folder: &std::path::Path) -> Vec<Vec<f32>> {
    let mut random = fastrand::Rng::with_seed(1);
    let mut vector = || (0..DIM).map(|_| random.f32() - 0.5).collect::<Vec<f32>>();
    let database = Database::open(folder, Options::default()).expect("a folder");
    let options = CollectionOptions { embedder: EmbedderChoice::None, dim: Some(DIM), ..CollectionOptions::default() };
    let points = database.collection("points", options).expect("a collection");
    let text = |at: usize| (0..10).map(|n| WORDS[(at * 7 + n * n) % 8]).collect::<Vec<_>>().join(" ");
    let records: Vec<Record> =
        (0..RECORDS).map(|at| Record::new(format!("r{at}")).text(text(at)).vector(vector())).collect();
    for chunk in records.chunks(1000) {
        points.upsert(chunk.to_vec()).expect("stored");
    }
    points.optimize(None).expect("merged");
    let keys = database.kv("keys").expect("a keyspace");
    for at in 0..RECORDS {
        keys.with_durability(nuthatch_link::Durability::Os).put(format!("k{at}"), [7; 100]).expect("stored");
    }
    database.close().expect("closed");
    (0..256).map(|_| vector()).collect()
}

fn embedded(folder: &std::path::Path, queries: &[Vec<f32>]) {
    let database = Database::open(folder, Options::default()).expect("a folder");
    let (keys, points) = (database.kv("keys").expect("keys"), database.existing_collection("points").expect("points"));
    let searches: Vec<Search> = queries.iter().map(|query| Search::vector(query.clone()).limit(10)).collect();
    report("embedded: key get", times(5000, |at| drop(keys.get(format!("k{}", at * 7 % RECORDS)).expect("a value"))));
    report("embedded: key put, commit", times(1000, |at| keys.put(format!("k{at}"), [8; 100]).expect("stored")));
    report("embedded: search", times(2000, |at| drop(points.search(&searches[at % 256]).expect("an answer"))));
    database.close().expect("closed");
}

fn one_caller(address: SocketAddr, queries: &[Vec<f32>]) {
    let mut client = Client::new(address);
    let calls = [5000, 1000, 2000];
    for ((name, requests), calls) in kinds(queries).into_iter().zip(calls) {
        let times = times(calls, |at| {
            let status = client.ask(&requests[at % requests.len()]).0;
            assert!(status < 300, "{status}");
        });
        report(&format!("http, 1 connection: {name}"), times);
    }
}

/// Requests by kind.
fn kinds(queries: &[Vec<f32>]) -> [(&'static str, Vec<Vec<u8>>); 3] {
    let get_key = |at: usize| get(&format!("/v1/keyspaces/keys/keys/k{}", at * 7 % RECORDS));
    let put_key =
        |at: usize| with_body("PUT", &format!("/v1/keyspaces/keys/keys/k{at}"), "application/octet-stream", &[9; 100]);
    let search = |query: &Vec<f32>| {
        let body = serde_json::json!({"vector": query, "limit": 10}).to_string();
        with_body("POST", "/v1/collections/points/search", "application/json", body.as_bytes())
    };
    [
        ("key get", (0..256).map(get_key).collect()),
        ("key put, commit", (0..256).map(put_key).collect()),
        ("search", queries.iter().map(search).collect()),
    ]
}

fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").into_bytes()
}

fn with_body(method: &str, path: &str, media: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {media}\r\ncontent-length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

/// Asks for a while over that many connections, each from a thread of its own.
fn many(name: &str, address: SocketAddr, connections: usize, time: Duration, requests: &[Vec<u8>]) {
    let started = Instant::now();
    let results: Vec<(Vec<Duration>, usize)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..connections)
            .map(|number| {
                scope.spawn(move || {
                    let mut client = Client::new(address);
                    let (mut times, mut failures) = (Vec::new(), 0);
                    for at in number * 31.. {
                        if started.elapsed() >= time {
                            break;
                        }
                        let begun = Instant::now();
                        failures += usize::from(client.ask(&requests[at % requests.len()]).0 >= 300);
                        times.push(begun.elapsed());
                    }
                    (times, failures)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread")).collect()
    });
    let elapsed = started.elapsed();
    let failures: usize = results.iter().map(|(_, failures)| failures).sum();
    let times: Vec<Duration> = results.into_iter().flat_map(|(times, _)| times).collect();
    let rate = times.len() as f64 / elapsed.as_secs_f64();
    report(&format!("{name}: {rate:.0}/s, {} requests, {failures} failures", times.len()), times);
}

fn times(calls: usize, mut call: impl FnMut(usize)) -> Vec<Duration> {
    (0..calls).for_each(|at| call(at % 256)); // warm
    (0..calls)
        .map(|at| {
            let started = Instant::now();
            call(at);
            started.elapsed()
        })
        .collect()
}

fn report(name: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e6;
    println!("{name}: p50 {:.0} us, p99 {:.0} us, longest {:.0} us", at(0.5), at(0.99), at(1.0));
}

/// A connection that is kept.
struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_nodelay(true).expect("an option");
        Self { stream: BufReader::new(stream) }
    }

    /// Status and body.
    fn ask(&mut self, request: &[u8]) -> (u16, Vec<u8>) {
        self.stream.get_mut().write_all(request).expect("sent");
        let (mut status, mut length) = (0, 0);
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).expect("an answer");
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            if status == 0 {
                status = line[9..12].parse().expect("a status");
            } else if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.parse().expect("a length");
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).expect("a body");
        (status, body)
    }
}
