//! Calls of somebody who waits for a while only: reads end, here and in the process that holds the folder, and writes are done.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nuthatch_link::*;
use support::*;

/// Returns the error of every read on these handles, if it fails.
fn reads(records: &Records<'_>, keys: &Keys<'_>, nodes: &Nodes<'_>) -> Vec<(&'static str, Option<Error>)> {
    let scan = Scan { limit: 10, ..Scan::default() };
    let neighbors = Neighbors::default();
    vec![
        ("get", records.get(&["a"], true).err()),
        ("count where", records.count(Some("n = 1")).err()),
        ("scan", records.scan(&scan).err()),
        ("search", records.search(&Search::text("words")).err()),
        ("search by a filter", records.search(&Search::text("words").filter("n = 1").unwrap()).err()),
        ("search many", records.search_many(&[Search::text("words"), Search::like("a")]).err()),
        ("key", keys.get("k").err()),
        ("keys", keys.multi_get(&["k", "l"]).err()),
        ("contains", keys.contains("k").err()),
        ("expires in", keys.expires_in("k").err()),
        ("key scan", keys.scan(&KeyScan::default()).err()),
        ("count estimate", keys.count_estimate("").err()),
        ("nodes", nodes.nodes(&["x"]).err()),
        ("neighbors", nodes.neighbors("x", &neighbors).err()),
        ("node list", nodes.list_nodes(&ListNodes::default()).err()),
        ("traverse", nodes.traverse(&Traverse::from(["x"])).err()),
        ("counts", nodes.counts().err()),
    ]
}

/// The reads of now, of a snapshot and of a transaction, all through one handle of the database.
fn every_read(db: &Database) -> Vec<(String, Option<Error>)> {
    let (records, keys, graph) = (
        db.existing_collection("notes").unwrap(),
        db.existing_keyspace("keys").unwrap(),
        db.existing_graph("links").unwrap(),
    );
    let mut said: Vec<(String, Option<Error>)> = Vec::new();
    let mut add = |of: &str, reads: Vec<(&'static str, Option<Error>)>| {
        said.extend(reads.into_iter().map(|(name, error)| (format!("{name} {of}"), error)));
    };
    add("now", reads(&records, &keys, &graph));
    let at = |snapshot: Snapshot| (snapshot.collection("notes"), snapshot.kv("keys"), snapshot.graph("links"));
    if let (Ok(records), Ok(keys), Ok(nodes)) = at(db.snapshot().unwrap()) {
        add("of a snapshot", reads(&records, &keys, &nodes));
    }
    let transaction = db.transaction().unwrap();
    if let (Ok(records), Ok(keys), Ok(nodes)) =
        (transaction.collection("notes"), transaction.kv("keys"), transaction.graph("links"))
    {
        add("of a transaction", reads(&records, &keys, &nodes));
    }
    said
}

fn filled(folder: &std::path::Path) -> Database {
    let db = Database::open(folder, quiet()).unwrap();
    let notes = db.collection("notes", no_embedder()).unwrap();
    let record =
        |id: &str| Record::new(id).text("words").vector(vec![1.0, 2.0]).payload([("n".to_string(), 1.into())].into());
    notes.upsert(vec![record("a"), record("b")]).unwrap();
    db.kv("keys").unwrap().put("k", "v").unwrap();
    let links = db.graph("links").unwrap();
    links.put_nodes(vec![Node::new("x", "thing"), Node::new("y", "thing")]).unwrap();
    links.put_edges(vec![Edge::new("x", "to", "y")]).unwrap();
    db
}

#[test]
fn reads_end_when_nobody_waits_any_more_and_writes_are_done() {
    let folder = tempfile::tempdir().unwrap();
    let holds = filled(folder.path());
    let asks = Database::open(folder.path(), quiet()).unwrap();
    for db in [&holds, &asks] {
        let given_up = Arc::new(AtomicBool::new(true));
        let waits = [Waits::of(Some(Duration::ZERO), None), Waits::of(None, Some(&given_up))];
        for waits in waits {
            let late = db.waiting(waits);
            for (read, error) in every_read(&late) {
                let error = error.unwrap_or_else(|| panic!("{read} was answered"));
                assert_eq!(error.kind, ErrorKind::Unavailable, "{read}: {error}");
                assert!(
                    error.message.contains("was stopped"),
                    "the holder says so, not the end of the wait: {read}: {error}"
                );
            }
            late.existing_collection("notes").unwrap().upsert(vec![Record::new("c").text("more")]).unwrap();
            late.existing_keyspace("keys").unwrap().increment("n", 1).unwrap();
            late.existing_graph("links").unwrap().put_nodes(vec![Node::new("z", "thing")]).unwrap();
        }
        let waits = Waits::of(Some(Duration::from_secs(600)), Some(&Arc::new(AtomicBool::new(false))));
        for (read, error) in every_read(&db.waiting(waits)) {
            assert!(error.is_none(), "{read}: {}", error.unwrap());
        }
    }
    assert_eq!(holds.kv("keys").unwrap().get("n").unwrap().as_deref(), Some(&b"4"[..]));
}

#[test]
fn the_nearer_of_two_limits_ends_a_search() {
    let folder = tempfile::tempdir().unwrap();
    let holds = filled(folder.path());
    let asks = Database::open(folder.path(), quiet()).unwrap();
    let (long, no_time) = (Duration::from_secs(600), Duration::ZERO);
    for db in [&holds, &asks] {
        for (call, search) in [(long, no_time), (no_time, long)] {
            let notes = db.waiting(Waits::of(Some(call), None)).existing_collection("notes").unwrap();
            let error = notes.search(&Search::text("words").time_limit(search)).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Unavailable, "{error}");
        }
    }
}

#[test]
fn a_call_that_is_given_up_ends_the_work_of_the_holder() {
    let folder = tempfile::tempdir().unwrap();
    let holds = filled(folder.path());
    let keys: Vec<KvOp> = (0..50_000_u32)
        .map(|key| KvOp::Put { key: key.to_be_bytes().to_vec(), value: b"v".to_vec(), expires_in: None })
        .collect();
    holds.kv("keys").unwrap().multi_put(keys).unwrap();
    let asks = Database::open(folder.path(), quiet()).unwrap();
    let cancel = Arc::new(AtomicBool::new(false));
    let keys = asks.waiting(Waits::of(None, Some(&cancel))).existing_keyspace("keys").unwrap();
    let error = std::thread::scope(|scope| {
        scope.spawn(|| cancel.store(true, Ordering::SeqCst));
        // It may be cancelled before, in the middle of, or between two of these; one of them says so.
        (0..).find_map(|_| keys.scan(&KeyScan { limit: 10_000, ..KeyScan::default() }).err()).unwrap()
    });
    assert_eq!(error.kind, ErrorKind::Unavailable, "{error}");
    assert_eq!(asks.existing_keyspace("keys").unwrap().get("k").unwrap().as_deref(), Some(&b"v"[..]), "others go on");
}

#[test]
fn a_kept_snapshot_outlives_the_call_that_took_it() {
    let folder = tempfile::tempdir().unwrap();
    let db = filled(folder.path());
    let owner = Owner { tenant: None, holder: Holder::Key(None) };
    let cancel = Arc::new(AtomicBool::new(false));
    let call = db.waiting(Waits::of(None, Some(&cancel)));
    db.kept_snapshots().keep(&owner, "id", None, || call.snapshot()).unwrap();
    cancel.store(true, Ordering::SeqCst);
    let kept = db.kept_snapshots().get(&owner, "id").unwrap();
    assert_eq!(kept.kv("keys").unwrap().get("k").unwrap().as_deref(), Some(&b"v"[..]));
    let late = kept.waiting(Waits::of(Some(Duration::ZERO), None));
    assert_eq!(late.kv("keys").unwrap().get("k").unwrap_err().kind, ErrorKind::Unavailable);
}
