//! Two nodes on one bucket, over HTTP: the owner is killed again and again, and its folder thrown away. Nothing acknowledged is lost,
//! nothing is done twice, and what a reader has seen stays.
//!
//! `NUTHATCH_KILLS` says how often the owner is killed (20 by default).
#![cfg(unix)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const LEASE: &str = "1s";
/// However slow the machine is.
const PATIENCE: Duration = Duration::from_secs(120);

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nuthatch-cluster"));
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("TMPDIR", std::env::temp_dir());
    command
}

struct Cluster {
    root: tempfile::TempDir,
    bucket: String,
}

impl Cluster {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let bucket = format!("file://{}", root.path().join("bucket").display());
        let made = program().args(["init", &bucket, "--lease", LEASE]).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        Self { root, bucket }
    }

    fn status(&self) -> Value {
        let said = program().args(["status", &self.bucket, "--json"]).output().unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        serde_json::from_slice(&said.stdout).unwrap()
    }

    fn node(&self, name: &str) -> Node {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut node = Node {
            bucket: self.bucket.clone(),
            folder: self.root.path().join(name),
            log: self.root.path().join(format!("{name}.log")),
            address: format!("127.0.0.1:{port}"),
            child: None,
        };
        node.start();
        node
    }
}

struct Node {
    bucket: String,
    folder: PathBuf,
    log: PathBuf,
    address: String,
    child: Option<Child>,
}

impl Node {
    fn start(&mut self) {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(&self.log).unwrap();
        let child = program()
            .args(["serve", "--store", &self.bucket, "--listen", &self.address, "--data-dir"])
            .arg(&self.folder)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        self.child = Some(child);
    }

    fn signal(&self, name: &str) {
        let pid = self.child.as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    fn kill(&mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Ends it in good order.
    fn stop(&mut self) {
        self.signal("-TERM");
        let status = self.child.take().unwrap().wait().unwrap();
        assert!(status.success(), "{status}: {}", self.said());
    }

    fn said(&self) -> String {
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

fn agent(timeout: Duration) -> ureq::Agent {
    ureq::Agent::config_builder().timeout_global(Some(timeout)).http_status_as_error(false).build().into()
}

/// What came of a call.
#[derive(Debug)]
enum Came {
    Answer(u16, Vec<u8>),
    /// It was not done: nobody took it.
    Refused,
    /// Nobody knows.
    Unknown,
}

fn call(agent: &ureq::Agent, method: &str, address: &str, path: &str, body: &[u8], json: bool) -> Came {
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
            (503, _) | (_, Err(_)) => Came::Unknown,
            (status, Ok(body)) => Came::Answer(status, body),
        },
        Err(ureq::Error::Io(error)) if error.kind() == std::io::ErrorKind::ConnectionRefused => Came::Refused,
        Err(_) => Came::Unknown,
    }
}

/// Asks one node after the other until somebody answers, if asking again does no harm.
fn ask(addresses: &[String], method: &str, path: &str, body: &[u8], json: bool) -> (u16, Vec<u8>) {
    let (agent, begun) = (agent(Duration::from_secs(10)), Instant::now());
    for address in addresses.iter().cycle() {
        match call(&agent, method, address, path, body, json) {
            Came::Answer(status, body) => return (status, body),
            Came::Refused | Came::Unknown => std::thread::sleep(Duration::from_millis(20)),
        }
        assert!(begun.elapsed() < PATIENCE, "nobody answers {method} {path}");
    }
    unreachable!("a cycle has no end")
}

#[test]
fn no_acknowledged_write_is_lost_or_done_twice_while_owners_are_killed() {
    let kills: u64 = std::env::var("NUTHATCH_KILLS").map_or(20, |text| text.parse().unwrap());
    let cluster = Cluster::new();
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
                                if matches!(came, Came::Unknown) {
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
        // Reads a count that never goes back, whoever answers.
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

#[test]
fn records_and_their_searches_come_back_on_another_node() {
    let cluster = Cluster::new();
    let mut one = cluster.node("one");
    let addresses = vec![one.address.clone()];
    let (status, _) =
        ask(&addresses, "PUT", "/v1/collections/notes", json!({"embedder": "none"}).to_string().as_bytes(), true);
    assert!(status < 300, "{status}");
    let records = json!({"records": [
        {"id": "a", "text": "an osprey over the lake", "payload": {"year": 2025}},
        {"id": "b", "text": "a heron at the shore", "payload": {"year": 2026}},
    ]});
    let (status, body) = ask(&addresses, "POST", "/v1/collections/notes/records", records.to_string().as_bytes(), true);
    assert!(status < 300, "{status} {}", String::from_utf8_lossy(&body));
    let search = json!({"text": "osprey"}).to_string();
    let hits = |addresses: &[String]| -> BTreeMap<String, String> {
        let (status, body) = ask(addresses, "POST", "/v1/collections/notes/search", search.as_bytes(), true);
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
        let answer: Value = serde_json::from_slice(&body).unwrap();
        let text = |hit: &Value, field: &str| hit[field].as_str().unwrap_or_default().to_string();
        answer["hits"].as_array().unwrap().iter().map(|hit| (text(hit, "id"), text(hit, "text"))).collect()
    };
    let before = hits(&addresses);
    assert_eq!(before.keys().collect::<Vec<_>>(), ["a"]);
    // A node that stops in good order releases the data, and finds its folder as it was.
    one.stop();
    assert_eq!(cluster.status()["owner"], Value::Null);
    one.start();
    assert_eq!(hits(&addresses), before);
    assert!(one.said().contains("as it was closed"), "{}", one.said());
    // A second node has nothing but the bucket.
    let two = cluster.node("two");
    one.kill();
    assert_eq!(hits(std::slice::from_ref(&two.address)), before);
}

#[test]
fn a_hung_owner_answers_nothing_and_writes_nothing_when_it_wakes() {
    let cluster = Cluster::new();
    let one = cluster.node("one");
    let first = std::slice::from_ref(&one.address);
    ask(first, "PUT", "/v1/keyspaces/k/keys/a", b"old", false);
    let two = cluster.node("two");
    let second = std::slice::from_ref(&two.address);
    // A standby says who owns the data.
    let begun = Instant::now();
    let quick = agent(Duration::from_secs(5));
    loop {
        let mut response = match quick.get(format!("http://{}/v1/keyspaces/k/keys/a", two.address)).call() {
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
    // What the old owner is asked in its sleep, it answers when it wakes, if ever.
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

#[test]
fn a_nodes_folder_is_refused_by_everybody_else() {
    let cluster = Cluster::new();
    let mut one = cluster.node("one");
    ask(std::slice::from_ref(&one.address), "PUT", "/v1/keyspaces/k/keys/a", b"1", false);
    let again = program()
        .args(["serve", "--store", &cluster.bucket, "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(&one.folder)
        .output()
        .unwrap();
    assert_eq!(again.status.code(), Some(4), "{}", String::from_utf8_lossy(&again.stderr));
    one.stop();
    let error = nuthatch_link::Database::open(&one.folder, nuthatch_link::Options::default()).err().unwrap();
    assert!(error.to_string().contains("copy of a cluster's data"), "{error}");
    // A data folder of its own is not replaced by a copy.
    let own = cluster.root.path().join("own");
    nuthatch_link::Database::open(&own, nuthatch_link::Options::default()).unwrap().close().unwrap();
    refused(&cluster, &own, "is a data folder of its own");
    // Nor is the copy of another cluster.
    let other = Cluster::new();
    refused(&other, &one.folder, "give another folder");
}

fn refused(cluster: &Cluster, folder: &Path, why: &str) {
    let said = program()
        .args(["serve", "--store", &cluster.bucket, "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(folder)
        .output()
        .unwrap();
    assert_eq!(said.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&said.stderr).contains(why), "{}", String::from_utf8_lossy(&said.stderr));
}

#[test]
fn the_doctor_says_what_is_damaged_in_a_bucket() {
    let cluster = Cluster::new();
    let mut one = cluster.node("one");
    ask(std::slice::from_ref(&one.address), "PUT", "/v1/keyspaces/k/keys/a", b"1", false);
    one.stop();
    let doctor = || program().args(["doctor", &cluster.bucket, "--verify"]).output().unwrap();
    let well = doctor();
    assert!(well.status.success(), "{}", String::from_utf8_lossy(&well.stdout));
    let log = cluster.root.path().join("bucket/groups/0/log");
    let last = std::fs::read_dir(&log).unwrap().map(|entry| entry.unwrap().path()).max().unwrap();
    let mut bytes = std::fs::read(&last).unwrap();
    bytes[40] ^= 4;
    std::fs::write(&last, bytes).unwrap();
    let ill = doctor();
    assert_eq!(ill.status.code(), Some(6));
    let name = last.file_name().unwrap().to_string_lossy().into_owned();
    assert!(String::from_utf8_lossy(&ill.stdout).contains(&name), "{}", String::from_utf8_lossy(&ill.stdout));
    // A node does not go on from a damaged log.
    std::fs::remove_dir_all(&one.folder).unwrap();
    one.start();
    let status = one.child.take().unwrap().wait().unwrap();
    assert_eq!(status.code(), Some(6), "{}", one.said());
    assert!(one.said().contains(&name), "{}", one.said());
}
