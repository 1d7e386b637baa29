//! The engine on other stores than a folder's: one in memory, one that fails when a test says so, one without upkeep.

mod support;

use std::sync::Arc;

use nuthatch_link::*;
use nuthatch_store::{Access, Fault, FaultyStore, MemoryStore, Store, Table};
use support::quiet;

const TEXTS: [&str; 4] = ["a stone in the river", "bread from the oven", "a ship in the harbour", "a river in winter"];

fn faulty() -> Arc<FaultyStore> {
    Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())))
}

fn open(store: Arc<dyn Store>) -> Database {
    Database::with_store(store, quiet()).unwrap()
}

fn notes(db: &Database) -> Collection {
    let options = CollectionOptions { embedder: EmbedderChoice::None, ..Default::default() };
    db.collection("notes", options).unwrap()
}

fn record(n: usize) -> Record {
    Record::new(format!("r{n}")).text(TEXTS[n % TEXTS.len()])
}

/// A caller's view: the records in order, the hits of a search by words, the keys.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    records: Vec<(String, Option<String>)>,
    hits: Vec<String>,
    keys: Vec<(Vec<u8>, Vec<u8>)>,
}

fn seen(db: &Database) -> Seen {
    let (notes, kv) = (notes(db), db.kv("k").unwrap());
    let page = notes.scan(&Scan { cursor: None, limit: 1000, filter: None, vectors: false }).unwrap();
    let records: Vec<_> = page.records.into_iter().map(|found| (found.id, found.text)).collect();
    assert_eq!(notes.len().unwrap(), records.len() as u64);
    let hits = notes.search(&Search::text("river").mode(Mode::Text).limit(100)).unwrap().hits;
    let mut hits: Vec<String> = hits.into_iter().map(|hit| hit.id).collect();
    hits.sort();
    let keys = kv.scan(&KeyScan { limit: 1000, ..KeyScan::prefix("") }).unwrap().entries;
    Seen { records, hits, keys }
}

type Step = fn(&Database) -> Result<()>;

/// Each is one write.
const STEPS: [(&str, Step); 8] = [
    ("upsert", |db| notes(db).upsert((0..20).map(record).collect()).map(drop)),
    ("replace", |db| notes(db).upsert((5..9).map(|n| record(n).text("a river")).collect()).map(drop)),
    ("delete", |db| notes(db).delete(&["r1", "r7", "never"]).map(drop)),
    ("put", |db| db.kv("k")?.put("a", "1")),
    ("put a large value", |db| db.kv("k")?.put("large", vec![7; 100_000])),
    ("increment", |db| db.kv("k")?.increment("n", 3).map(drop)),
    ("delete a key", |db| db.kv("k")?.delete(&["a"]).map(drop)),
    ("batch", |db| {
        let mut batch = WriteBatch::new();
        batch
            .put("k", "b", "2")
            .delete("k", "large")
            .upsert("notes", vec![record(40)])
            .delete_records("notes", vec!["r2"]);
        db.write(batch)
    }),
];

#[test]
fn a_refused_write_is_told_and_changes_nothing() {
    let store = faulty();
    let (db, whole) = (open(store.clone()), Database::in_memory(quiet()).unwrap());
    assert_eq!(seen(&db), seen(&whole));
    for (name, step) in STEPS {
        let before = seen(&db);
        store.fail(Access::Write, 1, Fault::Refused);
        let error = step(&db).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Exhausted, "{name}: {error}");
        assert_eq!(seen(&db), before, "{name}");
        step(&db).unwrap();
        step(&whole).unwrap();
        assert_eq!(seen(&db), seen(&whole), "{name}");
        assert_ne!(seen(&db), before, "{name}");
    }
    let last = seen(&db);
    notes(&db).wait_until_indexed(None).unwrap();
    assert_eq!(seen(&db), last);
    db.close().unwrap();
    assert_eq!(seen(&open(store)), last, "indexes are built from the rows of any store");
}

#[test]
fn a_read_that_fails_is_told_and_not_taken_for_a_missing_row() {
    let store = faulty();
    let db = open(store.clone());
    STEPS.iter().for_each(|(_, step)| step(&db).unwrap());
    let (notes, kv) = (notes(&db), db.kv("k").unwrap());
    type Ask<'a> = &'a dyn Fn() -> Result<String>;
    let asks: [(&str, Ask<'_>); 7] = [
        ("get", &|| Ok(format!("{:?}", kv.get("b")?))),
        ("multi_get", &|| Ok(format!("{:?}", kv.multi_get(&["a", "b"])?))),
        ("keys", &|| Ok(kv.scan(&KeyScan::prefix(""))?.entries.len().to_string())),
        ("records", &|| Ok(format!("{:?}", notes.get(&["r3", "never"], true)?))),
        ("listing", &|| {
            Ok(notes.scan(&Scan { cursor: None, limit: 9, filter: None, vectors: true })?.records.len().to_string())
        }),
        ("search", &|| Ok(notes.search(&Search::text("river").mode(Mode::Text))?.hits.len().to_string())),
        ("count", &|| Ok(kv.count_estimate("")?.to_string())),
    ];
    for (name, ask) in asks {
        let expected = ask().unwrap();
        let mut failures = 0;
        for nth in 1.. {
            let before = store.seen(Access::Read);
            store.fail(Access::Read, nth, Fault::Refused);
            match ask() {
                Err(error) => assert_eq!(error.kind, ErrorKind::Internal, "{name}: {error}"),
                Ok(found) => {
                    assert!(store.seen(Access::Read) < before + nth, "{name}: read {nth} failed, and nobody was told");
                    assert_eq!(found, expected, "{name}");
                    break;
                }
            }
            failures += 1;
        }
        store.heal();
        assert!(failures > 0, "{name} reads the store");
        assert_eq!(ask().unwrap(), expected, "{name}");
    }
}

#[test]
fn a_store_that_was_fenced_or_has_stopped_takes_nothing_more_and_still_answers() {
    for (fault, kind) in [(Fault::Fenced(7), ErrorKind::Unavailable), (Fault::Stopped, ErrorKind::Closed)] {
        for access in [Access::Write, Access::Sync] {
            let store = faulty();
            let db = open(store.clone());
            let kv = db.kv("k").unwrap();
            kv.put("a", "1").unwrap();
            notes(&db).upsert(vec![record(0)]).unwrap();
            store.fail(access, 1, fault);
            let error = kv.put("b", "2").unwrap_err();
            assert_eq!(error.kind, kind, "{access:?} {error}");
            if let Fault::Fenced(epoch) = fault {
                assert!(error.message.contains(&format!("epoch {epoch}")), "{error}");
            }
            assert_eq!(kv.put("c", "3").unwrap_err().kind, kind, "{access:?}");
            assert_eq!(notes(&db).upsert(vec![record(1)]).unwrap_err().kind, kind, "{access:?}");
            assert_eq!(kv.get("a").unwrap(), Some(b"1".to_vec()));
            assert_eq!(kv.get("c").unwrap(), None);
            let left = open(Arc::new(store.after_power_cut(0).unwrap()));
            let seen = seen(&left);
            assert_eq!(seen.keys, [(b"a".to_vec(), b"1".to_vec())], "{access:?}: what was acknowledged, and no more");
            assert_eq!(seen.hits, ["r0"]);
        }
    }
}

#[test]
fn a_write_whose_answer_was_lost_is_told_as_failed_and_may_have_happened() {
    let store = faulty();
    let db = open(store.clone());
    let kv = db.kv("k").unwrap();
    kv.put("a", "1").unwrap();
    store.fail(Access::Write, 1, Fault::Unanswered);
    assert_eq!(kv.put("a", "2").unwrap_err().kind, ErrorKind::Internal);
    assert_eq!(kv.get("a").unwrap(), Some(b"2".to_vec()));
    assert!(!kv.compare_and_set("a", Some(b"1"), Some(b"2"), None).unwrap(), "a repetition with a condition tells");
}

/// One op is one batch, so whatever a power cut leaves is the state after one of the ops, none older than what was acknowledged.
#[test]
fn acknowledged_writes_survive_a_power_cut_whenever_it_happens() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut dice = fastrand::Rng::with_seed(seed);
    let store = faulty();
    let db = open(store.clone());
    let mut history = vec![seen(&db)];
    let mut durable = 0;
    for step in 0..80 {
        let is_durable = dice.u8(..3) == 0;
        let durability = if is_durable { Durability::Commit } else { Durability::Os };
        let (notes, kv) = (notes(&db).with_durability(durability), db.kv("k").unwrap().with_durability(durability));
        let mut batch = WriteBatch::new().with_durability(durability);
        match dice.u8(..5) {
            0 => drop(
                notes
                    .upsert(
                        (0..dice.usize(1..8))
                            .map(|_| dice.usize(..30))
                            .collect::<std::collections::BTreeSet<_>>()
                            .into_iter()
                            .map(record)
                            .collect(),
                    )
                    .unwrap(),
            ),
            1 => drop(notes.delete(&[format!("r{}", dice.u8(..30))]).unwrap()),
            2 => kv.put([dice.u8(..9)], [dice.u8(..)]).unwrap(),
            3 => drop(kv.delete(&[[dice.u8(..9)]]).unwrap()),
            _ => {
                batch.put("k", [dice.u8(..9)], [dice.u8(..)]).upsert("notes", vec![record(dice.usize(..30))]);
                db.write(batch).unwrap();
            }
        }
        history.push(seen(&db));
        if store.unsynced() == 0 {
            durable = history.len() - 1;
        }
        if is_durable && history[step] != history[step + 1] {
            assert_eq!(store.unsynced(), 0, "seed {seed} step {step}: the call returned before its write was durable");
        }
        if dice.u8(..6) == 0 {
            let kept = dice.usize(..=store.unsynced());
            let left = open(Arc::new(store.after_power_cut(kept).unwrap()));
            let found = seen(&left);
            assert!(history[durable..].contains(&found), "seed {seed} step {step}, {kept} kept: {found:?}");
            assert!(left.doctor().unwrap().is_well(), "seed {seed} step {step}");
            left.close().unwrap();
        }
    }
}

#[test]
fn a_store_without_upkeep_serves_every_call() {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())).without_upkeep());
    assert!(store.upkeep().is_none());
    let db = open(store.clone());
    STEPS.iter().for_each(|(_, step)| step(&db).unwrap());
    let (notes, kv) = (notes(&db), db.kv("many").unwrap().with_durability(Durability::Os));
    for some in 0..103u8 {
        let op = |n: u8| KvOp::Put { key: vec![some, n], value: vec![n], expires_in: None };
        kv.multi_put((0..100).map(op).collect()).unwrap();
    }
    assert_eq!(kv.count_estimate("").unwrap(), 10_300, "counted where nothing estimates");
    notes.wait_until_indexed(None).unwrap();
    assert_eq!(db.erase("notes", &Erase::Ids(vec!["r3".into()])).unwrap().deleted_records, Some(1));
    assert!(db.reclaim(None).unwrap().is_genuine());
    assert_eq!(db.stats().unwrap().memory.store_cache_bytes, 0);
    assert!(db.doctor().unwrap().is_well());
    db.optimize().unwrap();
    let last = seen(&db);
    db.close().unwrap();
    assert_eq!(seen(&open(store)), last);
}

#[test]
fn a_database_in_memory_counts_its_rows_as_memory_and_leaves_no_file() {
    let db = Database::in_memory(quiet()).unwrap();
    let folder = db.folder().to_path_buf();
    let bytes = || db.stats().unwrap().memory.store_cache_bytes;
    let empty = bytes();
    let kv = db.kv("k").unwrap();
    (0..100u8).for_each(|n| kv.put([n], vec![n; 10_000]).unwrap());
    assert!((1_000_000..1_200_000).contains(&(bytes() - empty)), "{}", bytes() - empty);
    assert_eq!(db.stats().unwrap().disk.store_bytes, 0);
    kv.delete_prefix("").unwrap();
    assert!(bytes() < empty + 50_000, "{}", bytes() - empty);
    assert!(folder.exists());
    db.close().unwrap();
    drop((db, kv));
    assert!(!folder.exists());
}

#[test]
fn a_backup_of_a_database_in_memory_restores_to_a_folder_that_says_the_same() {
    let (place, beside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let db = Database::in_memory(quiet()).unwrap();
    STEPS.iter().for_each(|(_, step)| step(&db).unwrap());
    notes(&db).wait_until_indexed(None).unwrap();
    db.create_tenant("acme").unwrap().kv("k").unwrap().put("theirs", "1").unwrap();
    db.backup(place.path(), BackupOptions::default()).unwrap();
    let folder = beside.path().join("restored");
    Backups::at(place.path()).restore(&folder, RestoreOptions::default()).unwrap();
    let restored = Database::open(&folder, quiet()).unwrap();
    assert_eq!(seen(&restored), seen(&db));
    assert_eq!(restored.tenant("acme").unwrap().kv("k").unwrap().get("theirs").unwrap(), Some(b"1".to_vec()));
    assert!(restored.doctor().unwrap().is_well());
}

/// A snapshot of the engine shows what its store's snapshot shows, also when the rows below it are replaced in place.
#[test]
fn a_snapshot_of_a_database_in_memory_does_not_move() {
    let store = Arc::new(MemoryStore::new());
    let db = open(store.clone());
    STEPS.iter().take(5).for_each(|(_, step)| step(&db).unwrap());
    let rows = |reader: &dyn nuthatch_store::Reader| {
        let mut rows = 0;
        for table in Table::ALL {
            let mut count = |_: &[u8], _: &[u8]| {
                rows += 1;
                std::ops::ControlFlow::Continue(())
            };
            reader.scan(table, &[], &[], nuthatch_store::Direction::Forward, &mut count).unwrap();
        }
        rows
    };
    let (snapshot, below) = (db.snapshot().unwrap(), store.clone().owned_snapshot());
    let before = (rows(&below), snapshot.collection("notes").unwrap().count(None).unwrap());
    db.kv("k").unwrap().delete_prefix("").unwrap();
    notes(&db).delete_prefix("r").unwrap();
    assert_eq!((rows(&below), snapshot.collection("notes").unwrap().count(None).unwrap()), before);
    assert_eq!(notes(&db).len().unwrap(), 0);
}
