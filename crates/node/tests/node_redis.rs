//! Clients of Redis on nodes of a cluster: through any of them, while owners are killed and while one hangs.
#![cfg(unix)]

mod nodes;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nodes::*;

/// One command and its answer, which is one line; `None` when the connection ended.
struct Client(BufReader<TcpStream>);

impl Client {
    fn connect(address: &str) -> Option<Self> {
        let socket = TcpStream::connect(address).ok()?;
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Some(Self(BufReader::new(socket)))
    }

    fn ask(&mut self, command: &str) -> Option<String> {
        self.0.get_mut().write_all(format!("{command}\r\n").as_bytes()).ok()?;
        let mut line = String::new();
        self.0.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
        if line.starts_with('$') && line != "$-1\r\n" {
            line.clear();
            self.0.read_line(&mut line).ok()?;
        }
        Some(line.trim_end().to_string())
    }
}

/// Asks through one node until there is an answer that is no error, of something that may be repeated.
fn until_answered(address: &str, command: &str) -> String {
    let begun = Instant::now();
    loop {
        let answer = Client::connect(address).and_then(|mut client| client.ask(command));
        match answer {
            Some(answer) if !answer.starts_with('-') => return answer,
            _ => std::thread::sleep(Duration::from_millis(20)),
        }
        assert!(begun.elapsed() < PATIENCE, "{address} does not answer {command}");
    }
}

#[test]
fn redis_counts_through_any_node_are_lost_or_done_twice_by_no_kill() {
    let cluster = Cluster::new();
    let mut nodes = [cluster.node_with_redis("one"), cluster.node_with_redis("two")];
    let addresses: Vec<String> = nodes.iter().map(|node| node.redis.clone().unwrap()).collect();
    until_answered(&addresses[0], "SET begun yes");
    assert_eq!(until_answered(&addresses[1], "GET begun"), "yes", "a standby passes on");
    let (done, surely, maybe) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for address in &addresses {
            scope.spawn(|| {
                while !done.load(Ordering::SeqCst) {
                    let Some(mut client) = Client::connect(address) else {
                        std::thread::sleep(Duration::from_millis(10));
                        continue;
                    };
                    while !done.load(Ordering::SeqCst) {
                        match client.ask("INCR count") {
                            Some(answer) if answer.starts_with(':') => drop(surely.fetch_add(1, Ordering::SeqCst)),
                            // Whether it was done, nobody knows.
                            _ => {
                                maybe.fetch_add(1, Ordering::SeqCst);
                                break;
                            }
                        }
                    }
                }
            });
        }
        // A count that a client saw is seen by all later ones, whoever answers.
        scope.spawn(|| {
            let (mut last, mut turn) = (0, 0);
            while !done.load(Ordering::SeqCst) {
                turn += 1;
                let answer = until_answered(&addresses[turn % 2], "GET count");
                let now: u64 = answer.parse().unwrap_or_default();
                assert!(now >= last, "a reader saw {last} and later {now}");
                last = now;
            }
        });
        for _ in 0..5 {
            let (before, begun) = (surely.load(Ordering::SeqCst), Instant::now());
            while surely.load(Ordering::SeqCst) < before + 20 {
                assert!(begun.elapsed() < PATIENCE, "nothing goes on");
                std::thread::sleep(Duration::from_millis(5));
            }
            let owner = cluster.status()["owner"].as_str().unwrap_or_default().to_string();
            if let Some(node) = nodes.iter_mut().find(|node| node.address == owner) {
                node.kill();
                node.start();
            }
        }
        done.store(true, Ordering::SeqCst);
    });
    let count: u64 = until_answered(&addresses[0], "GET count").parse().unwrap();
    let (surely, maybe) = (surely.into_inner(), maybe.into_inner());
    println!("{count} counted, {surely} surely, {maybe} perhaps");
    assert!((surely..=surely + maybe).contains(&count), "{count} is not between {surely} and {surely} + {maybe}");
    assert!(cluster.status()["epoch"].as_u64().unwrap() > 3);
}

#[test]
fn an_owner_that_wakes_shows_clients_of_redis_nothing_that_is_over() {
    let cluster = Cluster::new();
    let one = cluster.node_with_redis("one");
    let first = one.redis.clone().unwrap();
    until_answered(&first, "SET a old");
    let two = cluster.node_with_redis("two");
    let second = two.redis.clone().unwrap();
    // Its connections are there before it sleeps, and their commands come while it does.
    let mut clients: Vec<Client> = (0..20).map(|_| Client::connect(&first).unwrap()).collect();
    for client in &mut clients {
        assert_eq!(client.ask("GET a").as_deref(), Some("old"));
    }
    one.signal("-STOP");
    assert_eq!(until_answered(&second, "SET a new"), "+OK");
    for (n, client) in clients.iter_mut().enumerate() {
        let command = if n % 2 == 0 { "GET a".to_string() } else { format!("SET stale{n} x") };
        client.0.get_mut().write_all(format!("{command}\r\n").as_bytes()).unwrap();
    }
    one.signal("-CONT");
    for (n, client) in clients.iter_mut().enumerate() {
        let mut line = String::new();
        let bytes = client.0.read_line(&mut line).unwrap_or_default();
        assert!(bytes == 0 || line.starts_with('-'), "client {n} was answered {line:?}");
    }
    for n in (1..20).step_by(2) {
        assert_eq!(until_answered(&second, &format!("GET stale{n}")), "$-1", "write {n} of the deposed owner");
    }
}
