//! The guarantees of batches, snapshots and transactions.

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use nuthatch_link::{
    AddOptions, Clock, Collection, CollectionOptions, Database, Durability, EmbedderChoice, ErrorKind, KeyScan, KvOp,
    Options, Payload, Record, Scan, Search, Snapshot, Transaction, Value, WriteBatch,
};

fn memory() -> Database {
    Database::in_memory(Options { background: false, ..Options::default() }).unwrap()
}

fn notes(db: &Database, name: &str) -> Collection {
    db.collection(name, CollectionOptions { embedder: EmbedderChoice::None, ..Default::default() }).unwrap()
}

fn note(id: &str, text: &str, x: f32) -> Record {
    Record::new(id).text(text).vector(vec![x, 1.0]).payload(Payload::from([("n".to_string(), Value::Int(x as i64))]))
}

#[test]
fn a_batch_over_keyspaces_and_collections_is_there_whole_or_not_at_all() {
    let db = memory();
    let (one, two) = (notes(&db, "one"), notes(&db, "two"));
    one.upsert(vec![note("old", "to be replaced", 1.0)]).unwrap();
    let mut batch = WriteBatch::new();
    batch
        .put("settings", "k", "v")
        .put("settings", "gone", "x")
        .delete("settings", "gone")
        .put_expiring("sessions", "s", "1", Duration::from_secs(60))
        .upsert("one", vec![note("old", "replaced", 2.0), note("new", "fresh", 3.0)])
        .delete_records("one", vec!["never there"])
        .upsert("two", vec![note("a", "first", 1.0)])
        .delete_records("two", vec!["a"])
        .upsert("two", vec![note("a", "after all", 4.0)]);
    let mut wrong = batch.clone();
    wrong.upsert("two", vec![Record::new("bad").vector(vec![f32::NAN, 1.0])]);
    assert_eq!(db.write(wrong).unwrap_err().kind, ErrorKind::Invalid);
    let mut nowhere = batch.clone();
    nowhere.upsert("three", vec![note("x", "x", 1.0)]);
    assert_eq!(db.write(nowhere).unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!(db.kv("settings").unwrap().get("k").unwrap(), None);
    assert_eq!(two.len().unwrap(), 0);

    db.write(batch).unwrap();
    assert_eq!(db.kv("settings").unwrap().get("k").unwrap().unwrap(), b"v");
    assert_eq!(db.kv("settings").unwrap().get("gone").unwrap(), None);
    assert_eq!(db.kv("sessions").unwrap().get("s").unwrap().unwrap(), b"1");
    assert_eq!((one.len().unwrap(), two.len().unwrap()), (2, 1));
    assert_eq!(two.get(&["a"], false).unwrap()[0].as_ref().unwrap().text.as_deref(), Some("after all"));
    assert_eq!(one.search(&Search::text("replaced")).unwrap().hits[0].id, "old");
}

#[test]
fn files_of_a_batch_are_there_with_its_keys_or_not_at_all() {
    let db = memory();
    let docs = notes(&db, "docs");
    let papers = tempfile::tempdir().unwrap();
    let root = papers.path().canonicalize().unwrap();
    let write = |name: &str, text: &str| std::fs::write(root.join(name), text).unwrap();
    let paths = [root.clone()];
    write("a.md", "# First\n\nabout apples\n");
    write("b.md", "# Second\n\nabout pears\n");
    let mut batch = WriteBatch::new();
    let report = batch.add_files(&docs, &paths, AddOptions::default()).unwrap();
    assert_eq!((report.files_added, report.passages_added), (2, 2));
    batch.put("state", "papers", "2");
    assert_eq!((docs.len().unwrap(), docs.files("").unwrap().len()), (0, 0));
    let again = batch.add_files(&docs, &paths, AddOptions::default()).unwrap_err();
    assert!(again.kind == ErrorKind::Invalid && again.message.contains("already in this batch"), "{again}");
    let cancel = AtomicBool::new(true);
    let mut cancelled = WriteBatch::new();
    let options = AddOptions { cancel: Some(&cancel), ..AddOptions::default() };
    assert!(cancelled.add_files(&docs, &paths, options).unwrap().cancelled && cancelled.is_empty());

    db.write(batch.clone()).unwrap();
    assert_eq!((docs.len().unwrap(), docs.files("").unwrap().len()), (2, 2));
    assert_eq!(docs.search(&Search::text("pears")).unwrap().hits.len(), 1);
    assert_eq!(db.kv("state").unwrap().get("papers").unwrap().as_deref(), Some(&b"2"[..]));

    // A batch that was read against files that have since changed is refused as a whole.
    batch.put("state", "papers", "4");
    assert_eq!(db.write(batch).unwrap_err().kind, ErrorKind::Conflict);
    assert_eq!(db.kv("state").unwrap().get("papers").unwrap().as_deref(), Some(&b"2"[..]));

    write("a.md", "# First\n\nabout plums\n");
    std::fs::remove_file(root.join("b.md")).unwrap();
    let mut batch = WriteBatch::new();
    let report = batch.add_files(&docs, &paths, AddOptions { prune: true, ..AddOptions::default() }).unwrap();
    assert_eq!((report.files_changed, report.files_pruned), (1, 1));
    db.write(batch).unwrap();
    assert_eq!(docs.files("").unwrap().len(), 1);
    assert_eq!(docs.search(&Search::text("apples pears")).unwrap().hits.len(), 0);
    assert_eq!(docs.search(&Search::text("plums")).unwrap().hits.len(), 1);

    let mut batch = WriteBatch::new();
    assert_eq!(batch.remove_files(&docs, &root.to_string_lossy()).unwrap(), 1);
    batch.delete("state", "papers");
    assert_eq!(docs.len().unwrap(), 1);
    db.write(batch).unwrap();
    assert_eq!((docs.len().unwrap(), docs.files("").unwrap().len()), (0, 0));
}

#[test]
fn a_snapshot_shows_everything_as_it_was_whatever_happens_since() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), Options { background: false, ..Options::default() }).unwrap();
    let collection = notes(&db, "notes");
    let space = db.kv("keys").unwrap();
    let records = |from: usize, to: usize| -> Vec<Record> {
        (from..to).map(|n| note(&format!("r{n}"), &format!("word{n} common"), n as f32)).collect()
    };
    collection.upsert(records(0, 600)).unwrap();
    collection.wait_until_indexed(None).unwrap();
    collection.upsert(records(600, 700)).unwrap(); // these are fresh
    space.put("k", "then").unwrap();
    let snapshot = db.snapshot().unwrap();
    let (kept, kept_keys) = (snapshot.collection("notes").unwrap(), snapshot.kv("keys").unwrap());
    let near = Search { limit: 700, filter: None, ..Search::vector(vec![650.0, 1.0]) };
    let word = Search { limit: 700, ..Search::text("common") };
    let filtered =
        Search { limit: 700, filter: Some(nuthatch_filter::parse("n >= 590 and n < 610").unwrap()), ..near.clone() };
    let ask = || {
        let ids = |search: &Search| -> Vec<String> {
            kept.search(search).unwrap().hits.into_iter().map(|hit| hit.id).collect()
        };
        let all = kept.scan(&Scan { limit: 1_000, vectors: true, ..Scan::default() }).unwrap();
        let all: BTreeMap<_, _> = all.records.into_iter().map(|r| (r.id, (r.text, r.vector))).collect();
        (ids(&near), ids(&word), ids(&filtered), kept.count(None).unwrap(), kept.count(Some("n < 100")).unwrap(), all)
    };
    let before = ask();
    assert_eq!((before.0.len(), before.1.len(), before.2.len(), before.3, before.4), (700, 700, 20, 700, 100));

    collection.upsert(records(0, 50).into_iter().map(|r| r.text("other")).collect()).unwrap();
    collection.delete_where("n >= 300 and n < 650").unwrap();
    collection.upsert(records(700, 900)).unwrap();
    space.put("k", "now").unwrap();
    space.put("later", "x").unwrap();
    assert_eq!(ask(), before);
    collection.wait_until_indexed(None).unwrap();
    collection.optimize(None).unwrap();
    collection.delete_where("n >= 0").unwrap();
    collection.wait_until_indexed(None).unwrap();
    assert_eq!(collection.len().unwrap(), 0);
    assert_eq!(ask(), before, "after sealing, merging and deleting everything");
    assert_eq!(kept_keys.get("k").unwrap().unwrap(), b"then");
    assert_eq!(kept_keys.scan(&KeyScan::default()).unwrap().entries.len(), 1);
    assert!(kept.get(&["r400"], true).unwrap()[0].is_some());
    db.drop_collection("notes").unwrap();
    assert_eq!(ask(), before, "after dropping the collection");
    db.close().unwrap();
    assert_eq!(kept.count(None).unwrap_err().kind, ErrorKind::Closed);
}

#[test]
fn a_snapshot_of_a_collection_that_was_not_open_answers_too() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Database::open(folder.path(), Options { background: false, ..Options::default() }).unwrap();
    let db = open();
    for name in ["written", "left"] {
        notes(&db, name).upsert(vec![note("a", "alpha", 1.0), note("b", "beta", 2.0)]).unwrap();
    }
    db.close().unwrap();
    let db = open();
    let snapshot = db.snapshot().unwrap();
    notes(&db, "written").upsert(vec![note("c", "alpha again", 3.0)]).unwrap();
    for (name, exactly) in [("written", true), ("left", false)] {
        let answer = snapshot.collection(name).unwrap().search(&Search::text("alpha")).unwrap();
        assert_eq!(answer.hits.len(), 1, "{name}");
        assert_eq!(!answer.degraded.is_empty(), exactly, "{name}");
    }
    assert_eq!(snapshot.collection("never").map(drop).unwrap_err().kind, ErrorKind::NotFound);
}

#[test]
fn a_snapshot_goes_on_with_the_keyspace_that_it_was_asked_about_when_another_of_its_name_is_made() {
    let db = memory();
    db.kv("k").unwrap().put("a", "1").unwrap();
    let (snapshot, late) = (db.snapshot().unwrap(), db.snapshot().unwrap());
    let seen = |snapshot: &Snapshot| snapshot.kv("k").unwrap().get("a").unwrap();
    assert_eq!(seen(&snapshot).unwrap(), b"1");
    db.drop_keyspace("k").unwrap();
    db.kv("k").unwrap().put("a", "2").unwrap();
    assert_eq!(seen(&snapshot).unwrap(), b"1");
    assert_eq!(seen(&late), None, "it was never asked about the one that was there, and the new one was not");
    assert!(!snapshot.has_ended());
    snapshot.close();
    assert!(snapshot.has_ended());
}

#[test]
fn a_transaction_depends_on_what_it_is_told_as_on_what_it_has_read() {
    let db = memory();
    let collection = notes(&db, "notes");
    collection.upsert(vec![note("a", "alpha", 1.0)]).unwrap();
    let space = db.kv("k").unwrap();
    space.put("a", "1").unwrap();
    type Told = fn(&Transaction) -> nuthatch_link::Result<()>;
    let cases: [(Told, &dyn Fn()); 4] = [
        (|told| told.kv("k")?.depend_on_keys(&["a", "none"]), &|| space.put("none", "2").unwrap()),
        (|told| told.kv("k")?.depend_on_scan(&KeyScan::prefix("r")), &|| space.put("r1", "2").unwrap()),
        (|told| told.collection("notes")?.depend_on_records(&["a", "b"]), &|| {
            collection.upsert(vec![note("b", "beta", 2.0)]).unwrap();
        }),
        (|told| told.collection("notes")?.depend_on_everything(), &|| {
            collection.upsert(vec![note("z", "omega", 2.0)]).unwrap();
        }),
    ];
    for (at, (tell, change)) in cases.into_iter().enumerate() {
        let run = |meanwhile: &dyn Fn()| {
            let transaction = Transaction::on(db.snapshot().unwrap());
            tell(&transaction).unwrap();
            transaction.kv("written").unwrap().put(format!("{at}"), "x").unwrap();
            meanwhile();
            transaction.commit(Durability::Os)
        };
        assert_eq!(run(change).unwrap_err().kind, ErrorKind::Conflict, "{at}");
        run(&|| space.put("elsewhere", format!("{at}")).unwrap()).unwrap();
    }
    let scan = KeyScan { cursor: Some("?".into()), ..KeyScan::default() };
    let wrong = Transaction::on(db.snapshot().unwrap()).kv("k").unwrap().depend_on_scan(&scan).unwrap_err();
    assert_eq!(wrong.kind, ErrorKind::Invalid);
}

#[test]
fn the_keys_that_a_scan_lists_are_told_without_it() {
    let keys = || ["a", "ab", "b", "c"].map(Vec::from).to_vec();
    let select = |scan: KeyScan| scan.select(keys()).unwrap();
    let with = |changed: fn(&mut KeyScan)| {
        let mut scan = KeyScan::default();
        changed(&mut scan);
        select(scan).into_iter().map(|key| String::from_utf8(key).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(with(|_| ()), ["a", "ab", "b", "c"]);
    assert_eq!(with(|scan| scan.reverse = true), ["c", "b", "ab", "a"]);
    assert_eq!(with(|scan| scan.prefix = b"a".to_vec()), ["a", "ab"]);
    assert_eq!(with(|scan| scan.cursor = Some(KeyScan::cursor_after(b"ab"))), ["b", "c"]);
    assert_eq!(with(|scan| (scan.reverse, scan.cursor) = (true, Some(KeyScan::cursor_after(b"b")))), ["ab", "a"]);
    assert_eq!(with(|scan| scan.to = std::ops::Bound::Excluded(b"b".to_vec())), ["a", "ab"]);
    assert!(KeyScan { cursor: Some("?".into()), ..KeyScan::default() }.select(keys()).is_err());
}

#[test]
fn a_snapshot_ends_when_it_is_too_old_and_says_so() {
    let now = Arc::new(AtomicU64::new(0));
    let clock = {
        let now = now.clone();
        Clock::from_fn(move || now.load(Ordering::SeqCst))
    };
    let options = Options { clock, snapshot_age_max: Duration::from_secs(5), background: false, ..Options::default() };
    let db = Database::in_memory(options).unwrap();
    let space = db.kv("k").unwrap();
    space.put("a", "1").unwrap();
    let snapshot = db.snapshot().unwrap();
    now.store(5_000, Ordering::SeqCst);
    assert_eq!(snapshot.kv("k").unwrap().get("a").unwrap().unwrap(), b"1");
    assert_eq!(snapshot.age(), Duration::from_secs(5));
    assert_eq!(db.stats().unwrap().snapshots, 1);
    now.store(5_001, Ordering::SeqCst);
    let error = snapshot.kv("k").map(drop).unwrap_err();
    assert!(error.kind == ErrorKind::Conflict && error.message.contains("older than 5 s"), "{error}");
    assert_eq!(db.stats().unwrap().snapshots, 0);
}

#[test]
fn collections_are_dropped_while_they_are_written_without_anybody_waiting_for_ever() {
    let db = Database::in_memory(Options::default()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let db = &db;
            scope.spawn(move || {
                for n in 0..60 {
                    let record = note(&format!("{thread}-{n}"), "x", 1.0);
                    let collection = notes(db, "short-lived").with_durability(Durability::Os);
                    match collection.upsert(vec![record]) {
                        Err(error) => assert_eq!(error.kind, ErrorKind::NotFound, "{error}"),
                        Ok(_) => drop(db.snapshot().unwrap()),
                    }
                }
            });
        }
        for _ in 0..40 {
            db.drop_collection("short-lived").unwrap();
        }
    });
}

#[test]
fn a_transaction_reads_its_own_writes_and_nobody_elses() {
    let db = memory();
    let space = db.kv("k").unwrap();
    space.multi_put((0..20).map(|n| KvOp::Put { key: vec![n], value: vec![n], expires_in: None }).collect()).unwrap();
    let collection = notes(&db, "notes");
    collection.upsert(vec![note("a", "one", 1.0)]).unwrap();
    let transaction = db.transaction().unwrap();
    let keys = transaction.kv("k").unwrap();
    keys.put([3u8], "mine").unwrap();
    keys.put([5u8, 5], "new").unwrap();
    keys.delete([4u8]).unwrap();
    keys.delete([19u8]).unwrap();
    space.put([18u8], "theirs").unwrap();
    for reverse in [false, true] {
        for limit in [1, 2, 7, 100] {
            let mut scan = KeyScan { limit, reverse, ..KeyScan::default() };
            let mut all = Vec::new();
            loop {
                let page = keys.scan(&scan).unwrap();
                assert!(page.entries.len() <= limit);
                all.extend(page.entries);
                scan.cursor = page.cursor;
                if scan.cursor.is_none() {
                    break;
                }
            }
            let mut model: BTreeMap<Vec<u8>, Vec<u8>> = (0..20).map(|n| (vec![n], vec![n])).collect();
            model.insert(vec![3], b"mine".to_vec());
            model.insert(vec![5, 5], b"new".to_vec());
            model.remove(&vec![4]);
            model.remove(&vec![19]);
            let mut expected: Vec<_> = model.into_iter().collect();
            if reverse {
                expected.reverse();
            }
            assert_eq!(all, expected, "reverse {reverse}, limit {limit}");
        }
    }
    let records = transaction.collection("notes").unwrap();
    records.upsert(vec![note("b", "two", 2.0)]).unwrap();
    records.delete(&["a"]).unwrap();
    let seen = records.get(&["a", "b"], false).unwrap();
    assert!(seen[0].is_none() && seen[1].as_ref().unwrap().text.as_deref() == Some("two"));
    assert_eq!(collection.len().unwrap(), 1);
    transaction.rollback();
    assert_eq!(keys.get([3u8]).unwrap_err().kind, ErrorKind::Closed);
    assert_eq!(space.get([3u8]).unwrap().unwrap(), [3]);
}

#[test]
fn a_transaction_conflicts_with_whatever_changed_what_it_read() {
    type Change<'c> = (&'c str, &'c dyn Fn(&Database), bool);
    let changes: [Change<'_>; 8] = [
        ("the key it read", &|db| db.kv("k").unwrap().put("read", "2").unwrap(), true),
        ("the key it misses", &|db| db.kv("k").unwrap().put("missing", "2").unwrap(), true),
        ("the key it writes", &|db| db.kv("k").unwrap().put("written", "2").unwrap(), true),
        ("a key in the range it read", &|db| db.kv("k").unwrap().put("range/7", "2").unwrap(), true),
        ("a record it read", &|db| drop(notes(db, "notes").upsert(vec![note("a", "two", 1.0)])), true),
        ("the collection it searched", &|db| drop(notes(db, "found").upsert(vec![note("z", "two", 1.0)])), true),
        ("another key", &|db| db.kv("k").unwrap().put("other", "2").unwrap(), false),
        ("another record", &|db| drop(notes(db, "notes").upsert(vec![note("z", "two", 1.0)])), false),
    ];
    for flushed in [false, true] {
        for (what, change, conflicts) in &changes {
            let folder = tempfile::tempdir().unwrap();
            let db = Database::open(folder.path(), Options { background: false, ..Options::default() }).unwrap();
            db.kv("k").unwrap().put("read", "1").unwrap();
            for name in ["notes", "found"] {
                notes(&db, name).upsert(vec![note("a", "one", 1.0)]).unwrap();
            }
            let transaction = db.transaction().unwrap();
            let keys = transaction.kv("k").unwrap();
            keys.get("read").unwrap();
            keys.get("missing").unwrap();
            keys.scan(&KeyScan::prefix("range/")).unwrap();
            transaction.collection("notes").unwrap().get(&["a"], false).unwrap();
            transaction.collection("found").unwrap().search(&Search::text("one")).unwrap();
            keys.put("written", "1").unwrap();
            change(&db);
            if flushed {
                // More than the write buffers take: what was committed is no longer in them.
                let filler = db.kv("filler").unwrap().with_durability(Durability::Os);
                (0..400u32).for_each(|n| filler.put(n.to_be_bytes(), vec![1; 32 << 10]).unwrap());
            }
            let outcome = transaction.commit(Durability::Commit);
            assert_eq!(outcome.is_err(), *conflicts, "{what}, flushed {flushed}: {outcome:?}");
            if let Err(error) = outcome {
                assert_eq!(error.kind, ErrorKind::Conflict, "{what}: {error}");
                let now = db.kv("k").unwrap().get("written").unwrap();
                assert_ne!(now.as_deref(), Some(&b"1"[..]), "{what}: a conflict writes nothing");
            }
        }
    }
}

#[test]
fn concurrent_transfers_keep_the_sum_and_every_snapshot_sees_it() {
    const ACCOUNTS: u64 = 10;
    let db = Database::in_memory(Options::default()).unwrap();
    let accounts = db.kv("accounts").unwrap();
    notes(&db, "ledger");
    for account in 0..ACCOUNTS {
        accounts.put(account.to_string(), "100").unwrap();
    }
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let done = AtomicBool::new(false);
    let transfers = AtomicU64::new(0);
    let sum = |entries: Vec<(Vec<u8>, Vec<u8>)>| -> i64 {
        entries.iter().map(|(_, value)| std::str::from_utf8(value).unwrap().parse::<i64>().unwrap()).sum()
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|worker| {
                let (db, transfers) = (&db, &transfers);
                scope.spawn(move || {
                    let mut dice = fastrand::Rng::with_seed(seed + worker);
                    for n in 0..100 {
                        let (from, to) = (dice.u64(0..ACCOUNTS), dice.u64(0..ACCOUNTS));
                        let amount = dice.i64(0..20);
                        db.transact(1_000, |transaction| {
                            let keys = transaction.kv("accounts")?;
                            let read = |account: u64| -> nuthatch_link::Result<i64> {
                                Ok(String::from_utf8(keys.get(account.to_string())?.unwrap()).unwrap().parse().unwrap())
                            };
                            keys.put(from.to_string(), (read(from)? - amount).to_string())?;
                            keys.put(to.to_string(), (read(to)? + amount).to_string())?;
                            let entry = Record::new(format!("{worker}-{n}")).text(format!("{from} to {to}: {amount}"));
                            transaction.collection("ledger")?.upsert(vec![entry])
                        })
                        .unwrap();
                        transfers.fetch_add(1, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        let watcher = scope.spawn(|| {
            let mut seen = 0;
            while !done.load(Ordering::SeqCst) {
                let snapshot = db.snapshot().unwrap();
                let entries = snapshot.kv("accounts").unwrap().scan(&KeyScan::default()).unwrap().entries;
                assert_eq!(sum(entries), 100 * ACCOUNTS as i64, "seed {seed}");
                seen += 1;
            }
            seen
        });
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        done.store(true, Ordering::SeqCst);
        assert!(watcher.join().unwrap() > 0);
    });
    assert_eq!(transfers.load(Ordering::SeqCst), 400);
    assert_eq!(sum(accounts.scan(&KeyScan::default()).unwrap().entries), 100 * ACCOUNTS as i64);
    assert_eq!(notes(&db, "ledger").len().unwrap(), 400, "what a transaction writes, it writes in all places or none");
}
