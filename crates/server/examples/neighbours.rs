//! What does a noisy neighbour cost? A tenant's searches and reads, alone and while eight threads of another tenant search, write or read as
//! fast as they can, over HTTP and as a Redis client.
//!
//! Data: 20,000 records of 64 components and 1,000 keys for each tenant, seed 1; server and clients share the machine. Command:
//! `target/release/examples/neighbours [SECONDS]` after `cargo build --release --workspace --examples`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use nuthatch_link::{CollectionOptions, Database, EmbedderChoice, Options, Record};
use nuthatch_server::{Config, KeyFile, NewKey, Scope, Scopes, Server};

const NAMES: [&str; 2] = ["victim", "noisy"];
const RECORDS: usize = 20_000;
const KEYS: usize = 1_000;
const DIM: usize = 64;
const HAMMERING: usize = 8;

fn main() {
    let seconds = std::env::args().nth(1).map_or(5, |seconds| seconds.parse::<u64>().expect("a number"));
    let time = Duration::from_secs(seconds);
    let folder = tempfile::tempdir().expect("a folder");
    let tokens = prepare(folder.path());
    let runtime =
        tokio::runtime::Builder::new_multi_thread().max_blocking_threads(80).enable_all().build().expect("threads");
    let config = Config {
        data_dir: Some(folder.path().into()),
        listen: "127.0.0.1:0".parse().expect("an address"),
        redis: Some("127.0.0.1:0".parse().expect("an address")),
        ..Config::default()
    };
    let server = runtime.block_on(Server::bind(config)).expect("a server");
    let (http, redis) =
        (server.address().expect("an address"), server.redis_address().expect("an address").expect("one"));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = runtime.spawn(server.run(async {
        stopped.await.ok();
    }));
    while Http::new(http, &tokens[0]).ask(0, Kind::Get) != 200 {}
    println!("{:<22} {:>10} {:>10} {:>8}   neighbour", "victim", "p50 us", "p95 us", "x idle");
    for (face, address) in [("http", http), ("redis", redis)] {
        for kind in [Kind::Search, Kind::Get] {
            let idle = victim(face, address, &tokens[0], kind, time);
            report(&format!("{face} {kind:?}"), idle, idle, "nobody");
            for noise in [Kind::Search, Kind::Put, Kind::Get] {
                let (over, mut busy) = (AtomicBool::new(false), (Duration::ZERO, Duration::ZERO));
                std::thread::scope(|scope| {
                    for number in 0..HAMMERING {
                        let (over, token) = (&over, &tokens[1]);
                        scope.spawn(move || {
                            let mut client = client(face, address, token);
                            for at in number.. {
                                if over.load(Ordering::Relaxed) {
                                    break;
                                }
                                client.ask(at, noise);
                            }
                        });
                    }
                    // They are at it before it counts.
                    std::thread::sleep(Duration::from_millis(300));
                    busy = victim(face, address, &tokens[0], kind, time);
                    over.store(true, Ordering::Relaxed);
                });
                report(&format!("{face} {kind:?}"), busy, idle, &format!("{HAMMERING} threads {noise:?}"));
            }
        }
    }
    stop.send(()).expect("it runs");
    runtime.block_on(running).expect("it ran").expect("it ended in good order");
}

fn report(what: &str, (p50, p95): (Duration, Duration), idle: (Duration, Duration), neighbour: &str) {
    let times = p95.as_secs_f64() / idle.1.as_secs_f64();
    println!("{what:<22} {:>10} {:>10} {times:>8.2}   {neighbour}", p50.as_micros(), p95.as_micros());
}

/// Makes the tenants; the tokens that open their data.
fn prepare(folder: &std::path::Path) -> [String; NAMES.len()] {
    let mut random = fastrand::Rng::with_seed(1);
    let database = Database::open(folder, Options::default()).expect("a folder");
    let tokens = NAMES.map(|name| {
        let tenant = database.create_tenant(name).expect("a tenant");
        let options =
            CollectionOptions { embedder: EmbedderChoice::None, dim: Some(DIM), ..CollectionOptions::default() };
        let points = tenant.collection("points", options).expect("a collection");
        for from in (0..RECORDS).step_by(1000) {
            let one = |at: usize| Record::new(format!("r{at}")).vector((0..DIM).map(|_| random.f32() - 0.5).collect());
            points.upsert((from..from + 1000).map(one).collect()).expect("stored");
        }
        points.optimize(None).expect("merged");
        let keys = tenant.kv("redis.0").expect("keys").with_durability(nuthatch_link::Durability::Os);
        (0..KEYS).for_each(|at| keys.put(format!("k{at}"), [b'v'; 100]).expect("stored"));
        let new = NewKey::new(name, Scopes::new([Scope::Read, Scope::Write])).of(&tenant);
        KeyFile::of(folder).create(new, Timestamp::now()).expect("a key").1.0
    });
    database.close().expect("closed");
    tokens
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Search,
    Get,
    Put,
}

/// Half and 95 % of a client's requests, one after the other.
fn victim(face: &str, address: SocketAddr, token: &str, kind: Kind, time: Duration) -> (Duration, Duration) {
    let (mut client, mut times, began) = (client(face, address, token), Vec::new(), Instant::now());
    while began.elapsed() < time {
        let asked = Instant::now();
        client.ask(times.len(), kind);
        times.push(asked.elapsed());
    }
    times.sort_unstable();
    (times[times.len() / 2], times[times.len() * 95 / 100])
}

trait Client {
    /// Status, or 200 for what is no error.
    fn ask(&mut self, at: usize, kind: Kind) -> u16;
}

fn client(face: &str, address: SocketAddr, token: &str) -> Box<dyn Client> {
    match face {
        "http" => Box::new(Http::new(address, token)),
        _ => Box::new(Redis::new(address, token)),
    }
}

fn vector(at: usize) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(at as u64 % 256);
    (0..DIM).map(|_| random.f32() - 0.5).collect()
}

struct Http {
    stream: BufReader<TcpStream>,
    token: String,
}

impl Http {
    fn new(address: SocketAddr, token: &str) -> Self {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_nodelay(true).expect("a socket");
        Self { stream: BufReader::new(stream), token: token.into() }
    }
}

impl Client for Http {
    fn ask(&mut self, at: usize, kind: Kind) -> u16 {
        let (method, path, body) = match kind {
            Kind::Search => {
                let body = serde_json::json!({"vector": vector(at), "limit": 10}).to_string();
                ("POST", "/v1/collections/points/search".to_string(), body)
            }
            Kind::Get => ("GET", format!("/v1/keyspaces/redis.0/keys/k{}", at % KEYS), String::new()),
            Kind::Put => ("PUT", format!("/v1/keyspaces/redis.0/keys/k{}", at % KEYS), "v".repeat(100)),
        };
        let (length, token) = (body.len(), &self.token);
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n{body}"
        );
        self.stream.get_mut().write_all(head.as_bytes()).expect("sent");
        let (mut status, mut length, mut line) = (0, 0, String::new());
        while line != "\r\n" {
            line.clear();
            assert_ne!(self.stream.read_line(&mut line).expect("a line"), 0);
            if line.starts_with("HTTP/1.1 ") {
                status = line[9..12].parse().expect("a status");
            }
            if let Some(bytes) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = bytes.trim().parse().expect("a number");
            }
        }
        self.stream.read_exact(&mut vec![0; length]).expect("a body");
        status
    }
}

struct Redis(BufReader<TcpStream>);

impl Redis {
    fn new(address: SocketAddr, token: &str) -> Self {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_nodelay(true).expect("a socket");
        let mut client = Self(BufReader::new(stream));
        client.send(&format!("AUTH {token}"));
        client
    }

    fn send(&mut self, command: &str) {
        self.0.get_mut().write_all(format!("{command}\r\n").as_bytes()).expect("sent");
        self.read();
    }

    fn read(&mut self) {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("a line");
        let count = line[1..].trim_end().parse::<i64>().unwrap_or(0);
        match line.as_bytes()[0] {
            b'$' if count >= 0 => self.0.read_exact(&mut vec![0; count as usize + 2]).expect("a value"),
            b'*' => (0..count).for_each(|_| self.read()),
            b'-' => panic!("{line}"),
            _ => {}
        }
    }
}

impl Client for Redis {
    fn ask(&mut self, at: usize, kind: Kind) -> u16 {
        let command = match kind {
            Kind::Search => {
                let numbers: Vec<String> = vector(at).iter().map(f32::to_string).collect();
                format!("NH.SEARCH points VECTOR VALUES {DIM} {} LIMIT 10", numbers.join(" "))
            }
            Kind::Get => format!("GET k{}", at % KEYS),
            Kind::Put => format!("SET k{} {}", at % KEYS, "v".repeat(100)),
        };
        self.send(&command);
        200
    }
}
