//! Clients that are slow, rude or many: what they cost the server's process, and that others are served meanwhile.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::flight::{self, Flight};
use crate::serving::{Served, serve};
use crate::support::Place;

/// The most that the server's memory may grow, whatever comes: twice the memory for bodies and half commands
/// (`BODIES_MEMORY`), and the buffers of a thousand connections.
const GROWTH_MAX_BYTES: u64 = 160 << 20;
const BODIES_MEMORY: &str = "32MiB";
/// Until the server hangs up on the slowest; a test that waits longer has failed.
const PATIENCE: Duration = Duration::from_secs(120);

/// How often each attack runs at once.
fn times() -> usize {
    if std::env::var_os("NUTHATCH_LONG").is_some() { 6 } else { 2 }
}

fn started(place: &Place) -> Served {
    let arguments = [
        "--redis",
        "127.0.0.1:0",
        "--header-timeout",
        "1s",
        "--body-timeout",
        "1s",
        "--bodies-memory",
        BODIES_MEMORY,
        "--connections-max",
        "300",
        "--log-level",
        "info",
    ];
    serve(place, &arguments).with_a_log_that_nobody_keeps()
}

fn resident_bytes(served: &Served) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", served.child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Sends all of it, as far as the server takes it, and reads until the server hangs up.
fn until_hung_up(address: &str, bytes: &[u8]) {
    let mut stream = connect(address);
    let sent = stream.write_all(bytes);
    let mut taken = vec![0; 64 << 10];
    loop {
        match stream.read(&mut taken) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {
                panic!(
                    "the server never hung up after {sent:?} of {:?}",
                    String::from_utf8_lossy(&bytes[..40.min(bytes.len())])
                );
            }
            // A reset is hanging up, too.
            Err(_) => return,
        }
    }
}

/// Sends all of it and takes nothing until the server hangs up.
fn without_reading(address: &str, bytes: &[u8]) {
    let mut stream = connect(address);
    // Once nobody reads on either side, sending stops; the server ends it.
    stream.write_all(bytes).ok();
    let began = Instant::now();
    // A socket that the other side has closed takes a byte or two more, and then none.
    while stream.write_all(b"\r\n").is_ok() {
        assert!(began.elapsed() < PATIENCE, "the server never hung up");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A byte now and then, for ever.
fn drip(address: &str, begin: &[u8], drop: &[u8]) {
    let mut stream = connect(address);
    stream.write_all(begin).unwrap();
    let began = Instant::now();
    while stream.write_all(drop).is_ok() {
        assert!(began.elapsed() < PATIENCE, "the server never hung up");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn redis(served: &Served, command: &str) -> String {
    let mut stream = BufReader::new(connect(&served.redis));
    stream.get_mut().write_all(format!("{command}\r\n").as_bytes()).unwrap();
    let mut line = String::new();
    stream.read_line(&mut line).unwrap();
    line
}

/// Runs all of it at once, several times each, while a good client is served; gives the most memory that was seen.
fn attacked(served: &Served, times: usize, attacks: &[&(dyn Fn() + Sync)]) -> u64 {
    let (over, most) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                most.fetch_max(resident_bytes(served), Ordering::Relaxed);
                assert_eq!(served.get("/v1/keyspaces/good/keys/a", "").0, 200);
                assert!(redis(served, "GET nothing").starts_with("$-1"));
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let threads: Vec<_> = (0..times).flat_map(|_| attacks.iter().map(|attack| scope.spawn(attack))).collect();
        let ended: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
        over.store(true, Ordering::Relaxed);
        watching.join().unwrap();
        ended.into_iter().for_each(|ended| ended.unwrap());
    });
    most.load(Ordering::Relaxed)
}

/// A server with something to read, and what it takes before anybody attacks.
fn prepared(place: &Place) -> (Served, u64) {
    let served = started(place);
    let mut stream = connect(&served.address);
    let body = vec![b'x'; 1 << 20];
    for name in ["a", "big"] {
        let head = format!(
            "PUT /v1/keyspaces/good/keys/{name} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&body).unwrap();
    }
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    // Of status lines alone: the id of a request is random and may hold any number.
    assert_eq!(said.lines().filter(|line| line.starts_with("HTTP/1.1 204 ")).count(), 2, "{said}");
    let mut setting = connect(&served.redis);
    setting.write_all(format!("*3\r\n$3\r\nSET\r\n$3\r\nbig\r\n${}\r\n", body.len()).as_bytes()).unwrap();
    setting.write_all(&[&body[..], b"\r\nQUIT\r\n"].concat()).unwrap();
    let mut said = String::new();
    setting.read_to_string(&mut said).unwrap();
    assert_eq!(said, "+OK\r\n+OK\r\n");
    let before = resident_bytes(&served);
    (served, before)
}

#[test]
fn hostile_redis_clients_cost_bounded_memory_and_are_ended() {
    let place = Place::new();
    let (served, before) = prepared(&place);
    let address = served.redis.as_str();
    let half = [b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$60000000\r\n".to_vec(), vec![b'x'; 4 << 20]].concat();
    let pieces = [&b"*1000000\r\n"[..], &b"$1\r\nx\r\n".repeat(200_000)].concat();
    let line = vec![b'a'; 1 << 20];
    let nested = b"*1\r\n".repeat(100_000);
    let pipeline = b"GET big\r\n".repeat(500);
    let attacks: [&(dyn Fn() + Sync); 11] = [
        &|| drip(address, b"*2\r\n$3\r\nGET\r\n$5000\r\n", b"a"),
        &|| until_hung_up(address, b"*1000000000\r\n"),
        &|| until_hung_up(address, b"*1\r\n$2147483647\r\n"),
        &|| until_hung_up(address, b"*-9223372036854775808\r\n*2\r\n$-1\r\n"),
        &|| until_hung_up(address, &half),
        &|| until_hung_up(address, &pieces),
        &|| until_hung_up(address, &line),
        &|| until_hung_up(address, &nested),
        &|| until_hung_up(address, b"*2\r\n$3\r\nGET\r\n$5\r\nab"),
        &|| until_hung_up(address, b"POST / HTTP/1.1\r\nhost: here\r\n\r\n"),
        &|| without_reading(address, &pipeline),
    ];
    let most = attacked(&served, times(), &attacks);
    println!("Redis: {} MiB before, {} MiB at most", before >> 20, most >> 20);
    assert!(most < before + GROWTH_MAX_BYTES, "{before} bytes before, {most} at most");
    assert!(redis(&served, "SET after 1").starts_with("+OK"));
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn hostile_http_clients_cost_bounded_memory_and_are_ended() {
    let place = Place::new();
    let (served, before) = prepared(&place);
    let address = served.address.as_str();
    let post = |length: &str| {
        format!(
            "POST /v1/keyspaces/good/write HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{length}\r\n"
        )
    };
    let nested = "[".repeat(1 << 20);
    let nested = format!("{}{nested}", post(&format!("content-length: {}\r\nconnection: close\r\n", nested.len())));
    let huge = post("content-length: 9223372036854775807\r\n");
    let large = [post("content-length: 60000000\r\n").into_bytes(), vec![b' '; 4 << 20]].concat();
    let chunks =
        [post("transfer-encoding: chunked\r\n").into_bytes(), b"100000\r\n".to_vec(), vec![b' '; 1 << 20]].concat();
    let headers = ["GET /healthz HTTP/1.1\r\nhost: localhost\r\n".into(), "x: y\r\n".repeat(100_000)].concat();
    let path = format!("GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n", "a".repeat(1 << 20));
    let preface = [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &[0xff; 4096]].concat();
    let pipeline = "GET /v1/keyspaces/good/keys/big HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(200);
    let begun = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n";
    let slow = post("content-length: 5000\r\n");
    let attacks: [&(dyn Fn() + Sync); 12] = [
        &|| drip(address, slow.as_bytes(), b" "),
        &|| until_hung_up(address, nested.as_bytes()),
        &|| until_hung_up(address, huge.as_bytes()),
        &|| until_hung_up(address, &large),
        &|| until_hung_up(address, &chunks),
        &|| until_hung_up(address, headers.as_bytes()),
        &|| until_hung_up(address, path.as_bytes()),
        &|| until_hung_up(address, &preface),
        &|| until_hung_up(address, b"GET /heal"),
        &|| until_hung_up(address, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
        &|| drip(address, begun.as_bytes(), b"x: y\r\n"),
        &|| without_reading(address, pipeline.as_bytes()),
    ];
    let most = attacked(&served, times(), &attacks);
    println!("HTTP: {} MiB before, {} MiB at most", before >> 20, most >> 20);
    assert!(most < before + GROWTH_MAX_BYTES, "{before} bytes before, {most} at most");
    assert_eq!(served.get("/v1/keyspaces/good/keys/a", "").0, 200);
    assert_eq!(served.terminate().0, Some(0));
}

/// Connections that read and write in turn, each on its own thread; requests that were answered well, and others.
fn crowd<Connection>(
    connections: usize,
    time: Duration,
    connect: impl Fn() -> Connection + Sync,
    ask: impl Fn(&mut Connection, usize) -> bool + Sync,
) -> (u64, u64) {
    let (well, failed, began) = (AtomicU64::new(0), AtomicU64::new(0), Instant::now());
    std::thread::scope(|scope| {
        for number in 0..connections {
            let (well, failed, connect, ask) = (&well, &failed, &connect, &ask);
            scope.spawn(move || {
                let mut connection = connect();
                for at in number.. {
                    if began.elapsed() >= time && at > number + 10 {
                        break;
                    }
                    let count = if ask(&mut connection, at) { well } else { failed };
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    (well.into_inner(), failed.into_inner())
}

#[test]
fn a_crowd_that_reads_and_writes_is_served_without_a_failure() {
    let (connections, time) = match std::env::var_os("NUTHATCH_LONG") {
        Some(_) => (256, Duration::from_secs(60)),
        None => (32, Duration::from_millis(500)),
    };
    let place = Place::new();
    let served = started(&place);
    let stream = |address: &str| BufReader::new(connect(address));
    let (well, failed) = crowd(connections, time, || stream(&served.redis), redis_turn);
    println!("Redis: {connections} connections, {well} commands, {failed} failures");
    assert!(failed == 0 && well > 0);
    let (well, failed) = crowd(connections, time, || stream(&served.address), http_turn);
    println!("HTTP: {connections} connections, {well} requests, {failed} failures");
    assert!(failed == 0 && well > 0);
    let flight = || Flight::new(served.address.parse().unwrap());
    flight().act("create", &json!({"collection": "crowd", "dim": 2, "embedder": "none"})).unwrap();
    let (well, failed) = crowd(connections, time, flight, flight_turn);
    println!("Flight: {connections} connections, {well} calls, {failed} failures");
    assert!(failed == 0 && well > 0);
    assert_eq!(served.terminate().0, Some(0));
}

/// Batches in, and out again by a search, a scan and a batch of questions.
fn flight_turn(client: &mut Flight, at: usize) -> bool {
    let key = at % 500;
    let (id, text, vector) = (format!("k{key}."), format!("value-{key}-"), [key as f32 - 250.0, 1.0]);
    let command = json!({"collection": "crowd"});
    let search = json!({"limit": 1});
    let said = match at % 4 {
        0 | 2 => {
            let stored = client.put(&command, &flight::records(&[id], &[text], &[vector], Vec::new()));
            return stored.inspect_err(|status| eprintln!("{status:?}")).is_ok_and(|stored| stored["rows"] == 1);
        }
        1 => {
            let search = json!({"vector": vector, "limit": 1});
            client.get(&json!({"collection": "crowd", "columns": ["id", "text"], "search": search}))
        }
        _ => {
            let command = json!({"collection": "crowd", "columns": ["id", "text"], "search": search});
            client.exchange(&command, &flight::questions(&[vector]))
        }
    };
    match said {
        // The nearest is some record, whole, or there is none yet.
        Ok(messages) => match messages.iter().map(|message| message.data_body.len()).sum::<usize>() {
            0 => true,
            _ => is_whole(&flight::text_of(&messages)),
        },
        Err(status) => {
            eprintln!("{status:?}");
            false
        }
    }
}

/// `k12.` and `value-12-`, of one write; or an empty batch.
fn is_whole(said: &str) -> bool {
    let Some((_, rest)) = said.split_once("value-") else { return !said.contains('k') };
    rest.split_once('-').is_some_and(|(key, _)| said.contains(&format!("k{key}.")))
}

fn redis_turn(stream: &mut BufReader<TcpStream>, at: usize) -> bool {
    let (key, mut line) = (at % 500, String::new());
    if at.is_multiple_of(2) {
        stream.get_mut().write_all(format!("SET k{key} value-{key}\r\n").as_bytes()).unwrap();
        return stream.read_line(&mut line).is_ok() && line == "+OK\r\n";
    }
    stream.get_mut().write_all(format!("GET k{key}\r\n").as_bytes()).unwrap();
    stream.read_line(&mut line).unwrap();
    if line == "$-1\r\n" {
        return true;
    }
    line.clear();
    stream.read_line(&mut line).is_ok() && line == format!("value-{key}\r\n")
}

fn http_turn(stream: &mut BufReader<TcpStream>, at: usize) -> bool {
    let key = at % 500;
    let value = format!("value-{key}");
    let request = match at % 2 {
        0 => format!(
            "PUT /v1/keyspaces/crowd/keys/k{key} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{value}",
            value.len()
        ),
        _ => format!("GET /v1/keyspaces/crowd/keys/k{key} HTTP/1.1\r\nhost: localhost\r\n\r\n"),
    };
    stream.get_mut().write_all(request.as_bytes()).unwrap();
    let (mut status, mut length, mut line) = (0, 0, String::new());
    while line != "\r\n" {
        line.clear();
        if stream.read_line(&mut line).unwrap_or(0) == 0 {
            return false;
        }
        if line.starts_with("HTTP/1.1 ") {
            status = line[9..12].parse().unwrap();
        }
        if let Some(bytes) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = bytes.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    match (at % 2, status) {
        (0, 204) | (1, 404) => true,
        (1, 200) => body == value.as_bytes(),
        _ => false,
    }
}
