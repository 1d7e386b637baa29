//! How long the data of a cluster are not there: after the owner's process was killed, and while it hands over.
//!
//! `cargo run --release --workspace --example takeover -- STORE [TIMES] [LEASE]`: makes a new cluster in STORE (a bucket without one, or
//! a keyspace that is not there), runs two nodes on this machine, and asks through both of them, one write after the other.
//! `nuthatch-cluster` has to lie beside this program's folder.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(60);

struct Node {
    address: String,
    folder: PathBuf,
    log: PathBuf,
    child: Option<Child>,
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

impl Node {
    fn start(&mut self, program: &Path, store: &str) {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(&self.log).expect("the node's log opens");
        let child = Command::new(program)
            .args(["serve", "--store", store, "--listen", &self.address, "--data-dir"])
            .arg(&self.folder)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.child = Some(child.expect("nuthatch-cluster starts"));
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let store = arguments.next().expect("usage: takeover STORE [TIMES] [LEASE]");
    let times: usize = arguments.next().map_or(20, |text| text.parse().expect("TIMES is a number"));
    let lease = arguments.next().unwrap_or_else(|| "15s".into());
    let program = std::env::current_exe().expect("this program has a path");
    let program = program.parent().and_then(Path::parent).expect("it is in examples/").join("nuthatch-cluster");
    let root = std::env::temp_dir().join(format!("nuthatch-takeover-{}", std::process::id()));
    let hosts =
        store.strip_prefix("cassandra://").map_or(3, |rest| rest.split('/').next().unwrap_or("").split(',').count());
    let trial: &[&str] = if hosts < 3 { &["--trial"] } else { &[] };
    let made = Command::new(&program).args(["init", &store, "--lease", &lease]).args(trial).status();
    assert!(made.expect("nuthatch-cluster runs").success(), "no cluster was made");
    std::fs::create_dir_all(&root).expect("a temporary folder");
    let mut nodes: Vec<Node> = (0..2)
        .map(|n| {
            let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
            let address = free.expect("a free port").to_string();
            let (folder, log) = (root.join(format!("node{n}")), root.join(format!("node{n}.log")));
            let mut node = Node { address, folder, log, child: None };
            node.start(&program, &store);
            node
        })
        .collect();
    let agent: ureq::Agent =
        ureq::Agent::config_builder().timeout_global(Some(PATIENCE)).http_status_as_error(false).build().into();
    let put = |address: &str| {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let answer = agent.put(format!("http://{address}/v1/keyspaces/k/keys/a")).send("1");
            if answer.is_ok_and(|answer| answer.status().is_success()) {
                return begun.elapsed();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("{address} does not answer; its log is in {}", root.display());
    };
    let (mut killed, mut ways) = (Vec::new(), Vec::new());
    for _ in 0..times {
        let (owner, other) = settle(&agent, &nodes);
        for _ in 0..20 {
            put(&nodes[owner].address);
        }
        let mut child = nodes[owner].child.take().expect("it runs");
        let begun = Instant::now();
        child.kill().expect("it is killed");
        put(&nodes[other].address);
        killed.push(begun.elapsed());
        child.wait().expect("it has ended");
        std::fs::remove_dir_all(&nodes[owner].folder).expect("its folder goes");
        nodes[owner].start(&program, &store);
    }
    for _ in 0..times {
        let (owner, other) = settle(&agent, &nodes);
        let (from, to) = (nodes[owner].address.clone(), nodes[other].address.clone());
        let mut longest = Duration::ZERO;
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| {
                let body = serde_json::json!({"to": to}).to_string();
                let address = format!("http://{from}/v1/cluster/hand-over");
                std::thread::sleep(Duration::from_millis(100));
                let answer = agent.post(address).header("content-type", "application/json").send(body);
                assert_eq!(answer.expect("the owner answers").status(), 202);
            });
            // The write that waits longest is the one that came when the data were nobody's.
            while !asked.is_finished() {
                longest = longest.max(put(&from));
            }
            for _ in 0..20 {
                longest = longest.max(put(&from));
            }
        });
        ways.push(longest);
    }
    for (what, mut spans) in [("killed", killed), ("handed over", ways)] {
        spans.sort();
        let at = |share: usize| spans[(spans.len() * share / 100).min(spans.len() - 1)];
        println!("{times} times {what}: p50 {:?}, p99 {:?}, at most {:?}", at(50), at(99), spans[spans.len() - 1]);
    }
    drop(nodes);
    std::fs::remove_dir_all(&root).expect("the temporary folder goes");
}

/// Which node owns the data, and which follows and says so to the owner.
fn settle(agent: &ureq::Agent, nodes: &[Node]) -> (usize, usize) {
    let begun = Instant::now();
    loop {
        for at in 0..2 {
            let answer = agent.get(format!("http://{}/v1/cluster", nodes[at].address)).call();
            let said = answer.ok().and_then(|mut answer| answer.body_mut().read_to_string().ok()).unwrap_or_default();
            let state: Value = serde_json::from_str(&said).unwrap_or_default();
            let owner = nodes.iter().position(|node| state["owner"] == *node.address && state["standbys"].is_array());
            if let Some(owner) = owner
                && state["standbys"] == serde_json::json!([nodes[1 - owner].address])
            {
                return (owner, 1 - owner);
            }
        }
        assert!(begun.elapsed() < PATIENCE, "no owner with a standby");
        std::thread::sleep(Duration::from_millis(50));
    }
}
