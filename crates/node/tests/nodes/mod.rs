//! Nodes of a cluster as processes, clients that ask them, and what both go through.
#![allow(dead_code, reason = "each test uses a part")]

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub const LEASE: &str = "1s";
/// However slow the machine is.
pub const PATIENCE: Duration = Duration::from_secs(120);

pub fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nuthatch-cluster"));
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("TMPDIR", std::env::temp_dir());
    command
}

pub struct Cluster {
    pub root: tempfile::TempDir,
    pub store: String,
}

impl Cluster {
    /// On a bucket, which is a folder.
    pub fn new() -> Self {
        Self::with_lease(LEASE)
    }

    /// With another lease than usual.
    pub fn with_lease(lease: &str) -> Self {
        Self::of(|bucket| bucket.into(), lease, &[])
    }

    /// With its log in a new keyspace of the Cassandra that `NUTHATCH_TEST_CASSANDRA` names, `HOST:PORT` or several with commas
    /// between them; none where it is not set. Fewer than three nodes keep one copy.
    pub fn in_cassandra() -> Option<Self> {
        Self::in_cassandra_with_lease(LEASE)
    }

    /// With another lease than usual.
    pub fn in_cassandra_with_lease(lease: &str) -> Option<Self> {
        let Ok(hosts) = std::env::var("NUTHATCH_TEST_CASSANDRA") else {
            eprintln!("skipped: NUTHATCH_TEST_CASSANDRA=HOST:PORT names no Cassandra");
            return None;
        };
        let keyspace = format!("nuthatch_test_{:016x}", fastrand::u64(..));
        let trial: &[&str] = if hosts.split(',').count() < 3 { &["--trial"] } else { &[] };
        Some(Self::of(|bucket| format!("cassandra://{hosts}/{keyspace}?bucket={bucket}"), lease, trial))
    }

    fn of(store: impl Fn(&str) -> String, lease: &str, more: &[&str]) -> Self {
        let root = tempfile::tempdir().unwrap();
        let store = store(&format!("file://{}", root.path().join("bucket").display()));
        let made = program().args(["init", &store, "--lease", lease]).args(more).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        Self { root, store }
    }

    pub fn status(&self) -> Value {
        let said = program().args(["status", &self.store, "--json"]).output().unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        serde_json::from_slice(&said.stdout).unwrap()
    }

    pub fn node(&self, name: &str) -> Node {
        let mut node = self.stopped_node(name);
        node.start();
        node
    }

    /// Two of which the first one owns the data, and has a key, and the other one follows.
    pub fn owner_and_standby(&self) -> (Node, Node) {
        let one = self.node("one");
        ask(std::slice::from_ref(&one.address), "PUT", "/v1/keyspaces/k/keys/a", b"1", false);
        let two = self.node("two");
        self.until_followed_by(&one, &[&two]);
        (one, two)
    }

    /// One that answers clients of Redis, too.
    pub fn node_with_redis(&self, name: &str) -> Node {
        let mut node = self.stopped_node(name);
        node.redis = Some(free_address());
        node.start();
        node
    }

    /// Waits until the owner lists these nodes, and no others, as following.
    pub fn until_followed_by(&self, owner: &Node, names: &[&Node]) {
        let mut wanted: Vec<&str> = names.iter().map(|node| &*node.address).collect();
        wanted.sort();
        let begun = Instant::now();
        loop {
            let (_, body) = ask(std::slice::from_ref(&owner.address), "GET", "/v1/cluster", b"", false);
            let state: Value = serde_json::from_slice(&body).unwrap();
            let standbys: Vec<&str> = state["standbys"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            if state["owner"] == *owner.address && standbys == wanted {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{state}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn stopped_node(&self, name: &str) -> Node {
        Node {
            store: self.store.clone(),
            folder: self.root.path().join(name),
            log: self.root.path().join(format!("{name}.log")),
            address: free_address(),
            redis: None,
            child: None,
        }
    }
}

fn free_address() -> String {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

pub struct Node {
    pub store: String,
    pub folder: PathBuf,
    pub log: PathBuf,
    pub address: String,
    pub redis: Option<String>,
    pub child: Option<Child>,
}

impl Node {
    pub fn start(&mut self) {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(&self.log).unwrap();
        let child = program()
            .args(["serve", "--store", &self.store, "--listen", &self.address, "--data-dir"])
            .arg(&self.folder)
            .envs(self.redis.iter().map(|redis| ("NUTHATCH_REDIS", redis)))
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        self.child = Some(child);
    }

    pub fn signal(&self, name: &str) {
        let pid = self.child.as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    pub fn kill(&mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Ends it in good order.
    pub fn stop(&mut self) {
        self.signal("-TERM");
        let status = self.child.take().unwrap().wait().unwrap();
        assert!(status.success(), "{status}: {}", self.said());
    }

    pub fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

pub fn agent(timeout: Duration) -> ureq::Agent {
    ureq::Agent::config_builder().timeout_global(Some(timeout)).http_status_as_error(false).build().into()
}

/// The outcome of a call.
#[derive(Debug)]
pub enum Came {
    Answer(u16, Vec<u8>),
    /// It was not done: nobody took it.
    Refused,
    /// Nobody knows: what was said instead.
    Unknown(String),
}

pub fn call(agent: &ureq::Agent, method: &str, address: &str, path: &str, body: &[u8], json: bool) -> Came {
    let kind = if json { "application/json" } else { "application/octet-stream" };
    let request = ureq::http::Request::builder().method(method).uri(format!("http://{address}{path}"));
    let answered = match method {
        "GET" => agent.run(request.body(()).unwrap()),
        _ => agent.run(request.header("content-type", kind).body(body.to_vec()).unwrap()),
    };
    match answered {
        Ok(mut response) => match (response.status().as_u16(), response.body_mut().read_to_vec()) {
            // A standby says so; an owner that lost the data under the call does not know.
            (503, Ok(body)) if String::from_utf8_lossy(&body).contains("standby") => Came::Refused,
            (503, Ok(body)) => Came::Unknown(String::from_utf8_lossy(&body).into_owned()),
            (status, Err(error)) => Came::Unknown(format!("{status}: {error}")),
            (status, Ok(body)) => Came::Answer(status, body),
        },
        Err(ureq::Error::Io(error)) if error.kind() == std::io::ErrorKind::ConnectionRefused => Came::Refused,
        Err(error) => Came::Unknown(error.to_string()),
    }
}

/// Asks one node after the other until somebody answers, if asking again does no harm.
pub fn ask(addresses: &[String], method: &str, path: &str, body: &[u8], json: bool) -> (u16, Vec<u8>) {
    let (agent, begun) = (agent(Duration::from_secs(10)), Instant::now());
    for address in addresses.iter().cycle() {
        match call(&agent, method, address, path, body, json) {
            Came::Answer(status, body) => return (status, body),
            Came::Refused | Came::Unknown(_) => std::thread::sleep(Duration::from_millis(20)),
        }
        assert!(begun.elapsed() < PATIENCE, "nobody answers {method} {path}");
    }
    unreachable!("a cycle has no end")
}

/// Kills the owner again and again and throws its folder away, while clients count, write and read. Nothing acknowledged is lost,
/// nothing is done twice, and what a reader has seen stays.
///
/// `NUTHATCH_KILLS` says how often (20 by default).
pub fn kill_owners(cluster: &Cluster) {
    let kills: u64 = std::env::var("NUTHATCH_KILLS").map_or(20, |text| text.parse().unwrap());
    let mut nodes = [cluster.node("one"), cluster.node("two")];
    let addresses: Vec<String> = nodes.iter().map(|node| node.address.clone()).collect();
    ask(&addresses, "PUT", "/v1/keyspaces/k/keys/begun", b"yes", false);
    let done = AtomicBool::new(false);
    let (added_surely, added_maybe) = (AtomicU64::new(0), AtomicU64::new(0));
    let (takeovers, written) = std::thread::scope(|scope| {
        // Counts: a sum that is too small lost something, one that is too large did something twice.
        let adders: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let agent = agent(Duration::from_secs(10));
                    let body = json!({"key": "count"}).to_string();
                    let mut turn = 0;
                    while !done.load(Ordering::SeqCst) {
                        let address = &addresses[turn % 2];
                        match call(&agent, "POST", address, "/v1/keyspaces/k/increment", body.as_bytes(), true) {
                            Came::Answer(200, _) => drop(added_surely.fetch_add(1, Ordering::SeqCst)),
                            Came::Answer(status, body) => panic!("{status}: {}", String::from_utf8_lossy(&body)),
                            came => {
                                if matches!(came, Came::Unknown(_)) {
                                    added_maybe.fetch_add(1, Ordering::SeqCst);
                                }
                                turn += 1;
                                std::thread::sleep(Duration::from_millis(10));
                            }
                        }
                    }
                })
            })
            .collect();
        // Writes keys one after the other; each is repeated until it is acknowledged.
        let writer = scope.spawn(|| {
            let mut n = 0u64;
            while !done.load(Ordering::SeqCst) {
                let (status, _) =
                    ask(&addresses, "PUT", &format!("/v1/keyspaces/k/keys/w{n:06}"), n.to_string().as_bytes(), false);
                assert_eq!(status, 204);
                n += 1;
            }
            n
        });
        // Reads a count that never goes back, whichever node answers.
        let reader = scope.spawn(|| {
            let mut last = 0u64;
            while !done.load(Ordering::SeqCst) {
                let (status, body) = ask(&addresses, "GET", "/v1/keyspaces/k/keys/count", b"", false);
                let now = if status == 404 { 0 } else { String::from_utf8_lossy(&body).parse().unwrap() };
                assert!(now >= last, "a reader saw {last} and later {now}");
                last = now;
            }
            last
        });
        let mut dice = fastrand::Rng::with_seed(11);
        let mut takeovers = Vec::new();
        for kill in 0..kills {
            let before = added_surely.load(Ordering::SeqCst);
            let begun = Instant::now();
            while added_surely.load(Ordering::SeqCst) < before + dice.u64(3..30) {
                assert!(begun.elapsed() < PATIENCE, "kill {kill}: nothing goes on");
                std::thread::sleep(Duration::from_millis(5));
            }
            let owner = cluster.status()["owner"].as_str().unwrap_or_default().to_string();
            let Some(node) = nodes.iter_mut().find(|node| node.address == owner) else { continue };
            std::thread::sleep(Duration::from_millis(dice.u64(0..50)));
            node.kill();
            std::fs::remove_dir_all(&node.folder).unwrap();
            let (killed, count) = (Instant::now(), added_surely.load(Ordering::SeqCst));
            node.start();
            // An answer that was under way may come after the kill; the second one comes from the next owner.
            while added_surely.load(Ordering::SeqCst) < count + 3 {
                assert!(killed.elapsed() < PATIENCE, "kill {kill}: nobody takes over");
                std::thread::sleep(Duration::from_millis(5));
            }
            takeovers.push(killed.elapsed());
        }
        done.store(true, Ordering::SeqCst);
        adders.into_iter().for_each(|adder| adder.join().unwrap());
        assert!(reader.join().unwrap() > 0);
        (takeovers, writer.join().unwrap())
    });
    let mut sorted = takeovers.clone();
    sorted.sort();
    println!(
        "{} kills, back after {:?} in the median and {:?} at most",
        sorted.len(),
        sorted[sorted.len() / 2],
        sorted[sorted.len() - 1]
    );
    println!("{written} keys written; {added_surely:?} counted, {added_maybe:?} perhaps");
    assert!(sorted.len() as u64 * 2 > kills, "most kills hit the owner");
    let (_, body) = ask(&addresses, "GET", "/v1/keyspaces/k/keys/count", b"", false);
    let count: u64 = String::from_utf8_lossy(&body).parse().unwrap();
    let (surely, maybe) = (added_surely.into_inner(), added_maybe.into_inner());
    assert!((surely..=surely + maybe).contains(&count), "{count} is not between {surely} and {surely} + {maybe}");
    for n in 0..written {
        let (status, body) = ask(&addresses, "GET", &format!("/v1/keyspaces/k/keys/w{n:06}"), b"", false);
        assert_eq!((status, String::from_utf8_lossy(&body).into_owned()), (200, n.to_string()), "key {n}");
    }
    for node in &mut nodes {
        node.stop();
    }
    assert!(cluster.status()["epoch"].as_u64().unwrap() > kills / 2);
}

/// Stops the owner for longer than its lease. When it wakes, it answers nothing and writes nothing.
pub fn hang_the_owner(cluster: &Cluster) {
    let one = cluster.node("one");
    let first = std::slice::from_ref(&one.address);
    ask(first, "PUT", "/v1/keyspaces/k/keys/a", b"old", false);
    let two = cluster.node("two");
    let second = std::slice::from_ref(&two.address);
    // A standby says who owns the data.
    let begun = Instant::now();
    let quick = agent(Duration::from_secs(5));
    loop {
        let mut response = match quick.get(format!("http://{}/readyz", two.address)).call() {
            Ok(response) => response,
            Err(_) => continue, // it does not listen yet
        };
        let said = response.body_mut().read_to_string().unwrap();
        if said.contains(&one.address) {
            assert_eq!(response.status(), 503);
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{said}");
    }
    one.signal("-STOP");
    let (status, _) = ask(second, "PUT", "/v1/keyspaces/k/keys/a", b"new", false);
    assert_eq!(status, 204);
    // The old owner answers requests that arrive in its sleep only when it wakes, if ever.
    let tries = 40;
    let stale = std::thread::scope(|scope| {
        let askers: Vec<_> = (0..tries)
            .map(|n| {
                let address = &one.address;
                scope.spawn(move || {
                    let agent = agent(Duration::from_secs(10));
                    let put = call(&agent, "PUT", address, &format!("/v1/keyspaces/k/keys/stale{n}"), b"x", false);
                    let got = call(&agent, "GET", address, "/v1/keyspaces/k/keys/a", b"", false);
                    let written = matches!(put, Came::Answer(204, _));
                    let read = matches!(got, Came::Answer(200, ref body) if body == b"old");
                    u32::from(written) + u32::from(read)
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(300));
        one.signal("-CONT");
        askers.into_iter().map(|asker| asker.join().unwrap()).sum::<u32>()
    });
    assert_eq!(stale, 0, "it answered as if it owned the data");
    let (_, body) = ask(second, "GET", "/v1/keyspaces/k/keys/a", b"", false);
    assert_eq!(body, b"new");
    for n in 0..tries {
        let (status, _) = ask(second, "GET", &format!("/v1/keyspaces/k/keys/stale{n}"), b"", false);
        assert_eq!(status, 404, "write {n} of the deposed owner");
    }
}
