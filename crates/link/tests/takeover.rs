//! The proof of many processes: four write and four search one folder while its holder is killed again and again.
//! Nothing acknowledged is lost, nothing is done twice, and no call fails. Records, keys and a graph.
//!
//! Fifteen seconds with a kill every two, or five minutes with one every twenty (`NUTHATCH_LONG=1`). In addition, the
//! same for transactions: processes move amounts between accounts, while others check whether a snapshot ever shows
//! another sum.
#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nuthatch_link::*;

const PARTS: usize = 3;

fn is_long() -> bool {
    std::env::var_os("NUTHATCH_LONG").is_some()
}

fn open(folder: &Path) -> (Database, Collection, Keyspace, Graph) {
    let db = Database::open(folder, Options { fresh_rows_max: 500, ..Options::default() }).unwrap();
    let options = CollectionOptions {
        dim: Some(4),
        metric: Some(Metric::L2),
        embedder: EmbedderChoice::None,
        ..CollectionOptions::default()
    };
    let notes = db.collection("notes", options).unwrap();
    let (counts, links) = (db.kv("counts").unwrap(), db.graph("links").unwrap());
    (db, notes, counts, links)
}

/// How many writes a writer's edges are kept for.
const LINKED: u64 = 3;
/// Holders that are killed, at least.
const KILLS_MIN: u64 = 3;

/// A node for a write, and edges from there to its records and, from all writers, to one place.
fn node_of(worker: &str, n: u64) -> Node {
    Node::new(format!("{worker}-{n}"), "write")
}

fn edges(worker: &str, n: u64) -> Vec<Edge> {
    let source = format!("{worker}-{n}");
    let parts = (0..PARTS).map(|part| Edge::new(&source, "wrote", format!("{source}-{part}")));
    parts.chain([Edge::new(&source, "is a", "write")]).map(|edge| edge.weight(n as f64)).collect()
}

/// The edges of some nodes, in one direction.
fn all_edges(links: &Graph, ids: impl Iterator<Item = String>, direction: EdgeDirection) -> BTreeMap<EdgeId, Edge> {
    let ask = Neighbors { direction, limit: 10_000, ..Neighbors::default() };
    let found = ids.flat_map(|id| links.neighbors(&id, &ask).unwrap().neighbors);
    found.map(|neighbor| (neighbor.edge.id(), neighbor.edge)).collect()
}

/// The records of one write, all of whose parts say the same.
fn records(worker: &str, n: u64) -> Vec<Record> {
    let record = |part| {
        Record::new(format!("{worker}-{n}-{part}"))
            .text(format!("written by {worker} number{n}"))
            .vector(vec![n as f32, part as f32, 1.0, 0.0])
            .payload([("n".to_string(), Value::Int(n as i64))].into())
    };
    (0..PARTS).map(record).collect()
}

fn say(line: String) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush()).expect("the parent reads");
}

/// The length of a call, when it is worth telling.
fn timed<T>(call: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let value = call();
    let took = started.elapsed();
    if took > Duration::from_millis(200) {
        say(format!("slow {}", took.as_millis()));
    }
    value
}

/// Writes until the parent closes the input. `? n` begins a write, `! n` says that it was acknowledged.
#[test]
#[ignore = "run by the proof in processes of its own"]
fn child_writes() {
    let (folder, worker) = arguments();
    let (db, notes, counts, links) = open(Path::new(&folder));
    let stop = at_end_of_input();
    let mut n = 0;
    while !stop.try_lock().is_ok_and(|stop| *stop) {
        n += 1;
        say(format!("? {n}"));
        timed(|| links.put_nodes(vec![node_of(&worker, n)])).unwrap();
        timed(|| links.put_edges(edges(&worker, n))).unwrap();
        if n > LINKED {
            let gone = timed(|| links.delete_nodes(&[node_of(&worker, n - LINKED).id])).unwrap();
            assert_eq!(gone, NodesDeleted { nodes: 1, edges: PARTS as u64 + 1 }, "lost or done twice");
        }
        let done = timed(|| notes.upsert(records(&worker, n))).unwrap();
        assert_eq!(done, Upserted { inserted: PARTS as u64, replaced: 0 }, "done twice");
        let sum = timed(|| counts.increment(&worker, 1)).unwrap();
        assert_eq!(sum, n as i64, "lost or done twice");
        timed(|| counts.increment("all", 1)).unwrap();
        say(format!("! {n}"));
    }
    db.close().unwrap();
    say("end".into());
}

/// Searches until the parent closes the input; every answer must be whole.
#[test]
#[ignore = "run by the proof in processes of its own"]
fn child_searches() {
    let (folder, _) = arguments();
    let (db, notes, counts, links) = open(Path::new(&folder));
    let stop = at_end_of_input();
    let (mut searches, mut seen) = (0u64, 0);
    while !stop.try_lock().is_ok_and(|stop| *stop) {
        let n = searches % 50 + 1;
        let answer = timed(|| notes.search(&Search::vector(vec![n as f32, 0.0, 1.0, 0.0]))).unwrap();
        let words = timed(|| notes.search(&Search::text(format!("number{n}")))).unwrap();
        for hit in answer.hits.iter().chain(&words.hits) {
            let number = hit.id.split('-').nth(1).and_then(|n| n.parse().ok()).map(Value::Int);
            assert_eq!(hit.payload.get("n"), number.as_ref(), "half a record");
        }
        let ask = Neighbors { direction: EdgeDirection::In, ..Neighbors::default() };
        for Neighbor { id, edge } in timed(|| links.neighbors("write", &ask)).unwrap().neighbors {
            let (worker, n) = id.rsplit_once('-').unwrap();
            assert!(edges(worker, n.parse().unwrap()).contains(&edge), "half an edge: {edge:?}");
        }
        let now = timed(|| counts.get("all")).unwrap();
        let now: i64 = now.map_or(0, |bytes| String::from_utf8(bytes).unwrap().parse().unwrap());
        assert!(now >= seen, "{seen} writes were there, and now {now}");
        seen = now;
        searches += 1;
        if searches % 100 == 0 {
            say(format!("searches {searches}"));
        }
    }
    db.close().unwrap();
    say("end".into());
}

const ACCOUNTS: u64 = 8;
const EACH: i64 = 1000;

fn number(value: Option<Vec<u8>>) -> i64 {
    value.map_or(0, |bytes| String::from_utf8(bytes).unwrap().parse().unwrap())
}

/// Moves amounts between accounts until the parent closes the input. Each transaction also counts itself and adds to the ledger.
#[test]
#[ignore = "run by the proof in processes of its own"]
fn child_transfers() {
    let (folder, worker) = arguments();
    let (db, ..) = open(Path::new(&folder));
    let stop = at_end_of_input();
    let mut dice = fastrand::Rng::new();
    let mut n = 0;
    while !stop.try_lock().is_ok_and(|stop| *stop) {
        n += 1;
        say(format!("? {n}"));
        let (from, to, amount) = (dice.u64(..ACCOUNTS), dice.u64(..ACCOUNTS), dice.i64(1..50));
        let transfer = |transaction: &Transaction| {
            let (accounts, counts) = (transaction.kv("accounts")?, transaction.kv("counts")?);
            let links = transaction.graph("links")?;
            let way = EdgeId::new(from.to_string(), "paid", to.to_string());
            let before = links.edge(&way)?.map_or(0.0, |edge| edge.weight);
            links.put_edges(&[Edge::new(way.source, way.kind, way.target).weight(before + 1.0)])?;
            let done = number(counts.get(&worker)?);
            assert_eq!(done, n as i64 - 1, "lost or done twice");
            counts.put(worker.as_str(), n.to_string())?;
            for (account, change) in [(from, -amount), (to, amount)] {
                let key = account.to_string();
                let left = number(accounts.get(&key)?) + change;
                accounts.put(key, left.to_string())?;
            }
            transaction.collection("notes")?.upsert(records(&worker, n))
        };
        timed(|| db.transact(100_000, transfer)).unwrap();
        say(format!("! {n}"));
    }
    db.close().unwrap();
    say("end".into());
}

/// Looks at snapshots until the parent closes the input. One whose holder was killed says so and is taken again.
#[test]
#[ignore = "run by the proof in processes of its own"]
fn child_adds_up() {
    let (folder, _) = arguments();
    let (db, ..) = open(Path::new(&folder));
    let stop = at_end_of_input();
    let mut seen = 0;
    while !stop.try_lock().is_ok_and(|stop| *stop) {
        let looked = || -> Result<()> {
            let snapshot = db.snapshot()?;
            for _ in 0..2 {
                let entries = snapshot.kv("accounts")?.scan(&KeyScan::default())?.entries;
                let sum: i64 = entries.into_iter().map(|(_, value)| number(Some(value))).sum();
                assert_eq!(sum, ACCOUNTS as i64 * EACH, "half a transfer");
                let counts = snapshot.kv("counts")?.scan(&KeyScan::default())?.entries;
                let counted: i64 = counts.into_iter().map(|(_, value)| number(Some(value))).sum();
                let ledger = snapshot.collection("notes")?.count(None)?;
                assert_eq!(ledger, counted as u64 * PARTS as u64, "half a transaction");
                let links = snapshot.graph("links")?;
                for direction in [EdgeDirection::Out, EdgeDirection::In] {
                    let mut paid = 0.0;
                    for account in 0..ACCOUNTS {
                        let ask = Neighbors { direction, ..Neighbors::default() };
                        let page = links.neighbors(&account.to_string(), &ask)?;
                        paid += page.neighbors.iter().map(|neighbor| neighbor.edge.weight).sum::<f64>();
                    }
                    assert_eq!(paid, counted as f64, "half a transaction, or half an edge");
                }
            }
            Ok(())
        };
        match timed(looked) {
            Ok(()) => seen += 1,
            Err(error) => assert_eq!(error.kind, ErrorKind::Conflict, "{error}"),
        }
        say(format!("searches {seen}"));
    }
    db.close().unwrap();
    say("end".into());
}

fn arguments() -> (String, String) {
    let read = |name| std::env::var(name).expect("set by the parent");
    (read("NUTHATCH_CHILD_FOLDER"), read("NUTHATCH_CHILD_NAME"))
}

fn at_end_of_input() -> Arc<Mutex<bool>> {
    let ended = Arc::new(Mutex::new(false));
    let tell = ended.clone();
    std::thread::spawn(move || {
        std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).ok();
        *tell.lock().unwrap() = true;
    });
    ended
}

/// The reports of a process.
#[derive(Default)]
struct Heard {
    begun: u64,
    acknowledged: u64,
    searches: u64,
    slow_ms: Vec<u64>,
    ended: bool,
}

struct Worker {
    name: String,
    child: Child,
    heard: Arc<Mutex<Heard>>,
    reader: std::thread::JoinHandle<()>,
    killed: bool,
}

fn start(folder: &Path, kind: &str, name: String) -> Worker {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([kind, "--exact", "--ignored", "--nocapture"])
        .env("NUTHATCH_CHILD_FOLDER", folder)
        .env("NUTHATCH_CHILD_NAME", &name)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let heard = Arc::new(Mutex::new(Heard::default()));
    let out = BufReader::new(child.stdout.take().unwrap());
    let tell = heard.clone();
    let reader = std::thread::spawn(move || {
        for line in out.lines().map_while(std::result::Result::ok) {
            let mut heard = tell.lock().unwrap();
            let number = || line.split(' ').nth(1).and_then(|n| n.parse().ok()).unwrap_or(0);
            match line.split(' ').next() {
                Some("?") => heard.begun = number(),
                Some("!") => heard.acknowledged = number(),
                Some("searches") => heard.searches = number(),
                Some("slow") => heard.slow_ms.push(number()),
                Some("end") => heard.ended = true,
                _ => {} // the test harness talks, too
            }
        }
    });
    Worker { name, child, heard, reader, killed: false }
}

fn lock_file(folder: &Path) -> Option<serde_json::Value> {
    serde_json::from_str(&std::fs::read_to_string(folder.join("LOCK")).ok()?).ok()
}

fn holder_pid(folder: &Path) -> Option<u32> {
    lock_file(folder)?["pid"].as_u64().map(|pid| pid as u32)
}

/// How long it takes until `LOCK` names another holder and where it listens, in milliseconds.
fn until_taken(folder: &Path, killed: u32) -> u128 {
    let started = Instant::now();
    let serves = |lock: serde_json::Value| lock["pid"] != killed && lock["socket"].is_string();
    while !lock_file(folder).is_some_and(serves) {
        assert!(started.elapsed() < Duration::from_secs(120), "nobody took the folder over");
        std::thread::sleep(Duration::from_millis(2));
    }
    started.elapsed().as_millis()
}

#[test]
fn eight_processes_outlive_holder_after_holder() {
    let folder = tempfile::tempdir().unwrap();
    let (length, every) = match is_long() {
        true => (Duration::from_secs(300), Duration::from_secs(20)),
        false => (Duration::from_secs(15), Duration::from_secs(2)),
    };
    let kind = |slot: usize| if slot < 4 { "child_writes" } else { "child_searches" };
    let mut workers: Vec<Worker> = (0..8).map(|slot| start(folder.path(), kind(slot), format!("w{slot}g0"))).collect();
    let mut gone = Vec::new();
    let (mut kills, started) = (0, Instant::now());
    let mut taken_ms = Vec::new();
    // A busy machine takes longer between two of them, and is not let off for that.
    while started.elapsed() < length || kills < KILLS_MIN {
        std::thread::sleep(every);
        let holder = holder_pid(folder.path());
        let Some(slot) = workers.iter().position(|worker| Some(worker.child.id()) == holder) else { continue };
        kills += 1;
        let next = start(folder.path(), kind(slot), format!("w{slot}g{kills}"));
        let mut killed = std::mem::replace(&mut workers[slot], next);
        killed.child.kill().unwrap();
        taken_ms.push(until_taken(folder.path(), killed.child.id()));
        killed.child.wait().unwrap();
        killed.killed = true;
        gone.push(killed);
        for worker in &mut workers {
            assert!(worker.child.try_wait().unwrap().is_none(), "{} ended before its time", worker.name);
        }
    }
    for worker in &mut workers {
        drop(worker.child.stdin.take());
    }
    for worker in &mut workers {
        assert!(worker.child.wait().unwrap().success(), "{} failed", worker.name);
    }
    let mut searches = 0;
    let mut slow = Vec::new();
    let mut written: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for worker in workers.into_iter().chain(gone) {
        worker.reader.join().unwrap();
        let heard = worker.heard.lock().unwrap();
        assert!(heard.ended || worker.killed, "{} did not come to its end", worker.name);
        searches += heard.searches;
        slow.extend(&heard.slow_ms);
        if heard.begun > 0 {
            written.insert(worker.name, (heard.acknowledged, heard.begun));
        }
    }

    let (db, notes, counts, links) = open(folder.path());
    assert!(db.holder().unwrap().is_this);
    every_edge_is_whole(&links, &written);
    let read = |key: &str| -> u64 {
        counts.get(key).unwrap().map_or(0, |bytes| String::from_utf8(bytes).unwrap().parse().unwrap())
    };
    let (mut rows, mut all) = (0, 0);
    for (worker, (acknowledged, begun)) in &written {
        for n in 1..=*begun {
            let ids: Vec<String> = (0..PARTS).map(|part| format!("{worker}-{n}-{part}")).collect();
            let there = notes.get(&ids, false).unwrap().into_iter().flatten().count();
            // The last one of a process that was killed had not been acknowledged: it happened whole or not at all.
            assert!(there == PARTS || (there == 0 && n > *acknowledged), "{worker} wrote {n}, {there} parts are there");
            rows += there as u64;
        }
        let count = read(worker);
        assert!((*acknowledged..=*begun).contains(&count), "{worker}: {acknowledged}..={begun} counted, {count} there");
        all += count;
    }
    let counted = read("all");
    let uncertain = written.values().filter(|(acknowledged, begun)| begun > acknowledged).count() as u64;
    assert!((all - uncertain..=all).contains(&counted), "{all} counted one by one, {counted} together");
    assert_eq!(notes.len().unwrap(), rows);
    assert!(db.doctor().unwrap().is_well());
    let writes: u64 = written.values().map(|(acknowledged, _)| acknowledged).sum();
    slow.sort_unstable();
    taken_ms.sort_unstable();
    println!(
        "proof: milliseconds from a kill until another process holds the folder and serves: median {}, longest {}",
        taken_ms.get(taken_ms.len() / 2).unwrap_or(&0),
        taken_ms.last().unwrap_or(&0)
    );
    println!(
        "proof: 8 processes, {kills} holders killed in {} s; {writes} writes of {PARTS} records and 2 increments, {searches} rounds of searches; \
         {} calls over 200 ms, median of these {} ms, longest {} ms",
        started.elapsed().as_secs(),
        slow.len(),
        slow.get(slow.len() / 2).unwrap_or(&0),
        slow.last().unwrap_or(&0)
    );
    assert!(writes > 0 && searches > 0);
}

/// Each writer's last writes are linked: those whose end it was told, and of the last one as much as had happened. `written`: how many
/// were acknowledged, and begun, by writer.
fn every_edge_is_whole(links: &Graph, written: &BTreeMap<String, (u64, u64)>) {
    let mut linked = Vec::new();
    for (name, (_, begun)) in written {
        linked.extend((begun.saturating_sub(LINKED).max(1)..=*begun).map(|n| (name, n)));
    }
    let sources = linked.iter().map(|(name, n)| node_of(name, *n).id);
    let out = all_edges(links, sources, EdgeDirection::Out);
    let targets: BTreeSet<String> =
        linked.iter().flat_map(|(name, n)| edges(name, *n)).map(|edge| edge.target).collect();
    assert_eq!(out, all_edges(links, targets.into_iter(), EdgeDirection::In), "half an edge");
    let told = links.counts().unwrap();
    assert!(told.exact && told.edges as usize == out.len(), "{told:?}, {} edges found", out.len());
    for (name, n) in linked {
        let (acknowledged, begun) = written[name];
        let wanted = edges(name, n);
        let there = wanted.iter().filter(|edge| out.get(&edge.id()) == Some(edge)).count();
        let is_whole = there == wanted.len();
        match n {
            n if n + LINKED <= acknowledged => assert_eq!(there, 0, "{name} has deleted {n}"),
            n if n <= acknowledged && n + LINKED > begun => assert!(is_whole, "{name} {n}: {there} edges"),
            n => assert!(is_whole || there == 0, "{name} {n}: {there} edges, some are missing"),
        }
    }
    println!("proof: {} edges at the end, each found from both ends", out.len());
}

#[test]
fn transactions_of_many_processes_outlive_holder_after_holder() {
    let folder = tempfile::tempdir().unwrap();
    let (db, ..) = open(folder.path());
    let accounts = db.kv("accounts").unwrap();
    (0..ACCOUNTS).for_each(|account| accounts.put(account.to_string(), EACH.to_string()).unwrap());
    db.close().unwrap();
    let (kills_wanted, every) = match is_long() {
        true => (15, Duration::from_secs(20)),
        false => (4, Duration::from_secs(1)),
    };
    let kind = |slot: usize| if slot < 3 { "child_transfers" } else { "child_adds_up" };
    let mut workers: Vec<Worker> = (0..4).map(|slot| start(folder.path(), kind(slot), format!("t{slot}g0"))).collect();
    let progress = |worker: &Worker| {
        let heard = worker.heard.lock().unwrap();
        heard.acknowledged + heard.searches
    };
    let mut gone: Vec<Worker> = Vec::new();
    let (mut kills, started) = (0, Instant::now());
    while kills < kills_wanted {
        std::thread::sleep(every);
        // Everybody has come on since the last kill.
        let before: Vec<u64> = workers.iter().map(progress).collect();
        let until = Instant::now() + Duration::from_secs(120);
        while workers.iter().zip(&before).any(|(worker, before)| progress(worker) <= *before) {
            for worker in &mut workers {
                assert!(worker.child.try_wait().unwrap().is_none(), "{} ended before its time", worker.name);
            }
            assert!(Instant::now() < until, "somebody does not come on");
            std::thread::sleep(Duration::from_millis(10));
        }
        let holder = holder_pid(folder.path());
        let Some(slot) = workers.iter().position(|worker| Some(worker.child.id()) == holder) else { continue };
        kills += 1;
        let next = start(folder.path(), kind(slot), format!("t{slot}g{kills}"));
        let mut killed = std::mem::replace(&mut workers[slot], next);
        killed.child.kill().unwrap();
        killed.child.wait().unwrap();
        killed.killed = true;
        gone.push(killed);
    }
    workers.iter_mut().for_each(|worker| drop(worker.child.stdin.take()));
    for worker in &mut workers {
        assert!(worker.child.wait().unwrap().success(), "{} failed", worker.name);
    }

    let (db, notes, counts, links) = open(folder.path());
    let (mut transfers, mut snapshots, mut slow) = (0, 0, Vec::new());
    for worker in workers.into_iter().chain(gone) {
        worker.reader.join().unwrap();
        let heard = worker.heard.lock().unwrap();
        assert!(heard.ended || worker.killed, "{} did not come to its end", worker.name);
        let count = number(counts.get(&worker.name).unwrap()) as u64;
        let (acknowledged, begun) = (heard.acknowledged, heard.begun);
        assert!((acknowledged..=begun).contains(&count), "{}: {acknowledged}..={begun}, {count} there", worker.name);
        for n in 1..=begun {
            let ids: Vec<String> = (0..PARTS).map(|part| format!("{}-{n}-{part}", worker.name)).collect();
            let there = notes.get(&ids, false).unwrap().into_iter().flatten().count();
            assert_eq!(there, if n <= count { PARTS } else { 0 }, "{} {n}", worker.name);
        }
        transfers += count;
        snapshots += heard.searches;
        slow.extend(&heard.slow_ms);
    }
    for direction in [EdgeDirection::Out, EdgeDirection::In] {
        let ways = all_edges(&links, (0..ACCOUNTS).map(|account| account.to_string()), direction);
        assert_eq!(ways.values().map(|edge| edge.weight).sum::<f64>(), transfers as f64, "{direction:?}");
    }
    let entries = db.kv("accounts").unwrap().scan(&KeyScan::default()).unwrap().entries;
    assert_eq!(entries.into_iter().map(|(_, value)| number(Some(value))).sum::<i64>(), ACCOUNTS as i64 * EACH);
    assert_eq!(notes.len().unwrap(), transfers * PARTS as u64);
    assert!(db.doctor().unwrap().is_well());
    slow.sort_unstable();
    println!(
        "proof: 4 processes, {kills} holders killed in {} s; {transfers} transactions, {snapshots} snapshots; {} calls over 200 ms, median of these {} ms, longest {} ms",
        started.elapsed().as_secs(),
        slow.len(),
        slow.get(slow.len() / 2).unwrap_or(&0),
        slow.last().unwrap_or(&0)
    );
}
