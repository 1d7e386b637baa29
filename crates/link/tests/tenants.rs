//! The guarantees of tenants: no tenant ever sees or touches another's data, limits hold, and a dropped tenant leaves
//! no byte.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use nuthatch_link::*;
use support::*;

fn with_vectors() -> CollectionOptions {
    CollectionOptions { dim: Some(DIM), ..no_embedder() }
}

fn one(id: &str, text: &str, at: f32) -> Record {
    Record::new(id).text(text).vector((0..DIM).map(|n| at + n as f32).collect::<Vec<_>>())
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(files(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found
}

/// Files below a folder that hold these bytes.
fn grep(folder: &Path, needle: &[u8]) -> Vec<PathBuf> {
    let holds = |path: &PathBuf| {
        std::fs::read(path).is_ok_and(|bytes| bytes.windows(needle.len()).any(|window| window == needle))
    };
    files(folder).into_iter().filter(holds).collect()
}

fn kind<T>(outcome: Result<T>) -> ErrorKind {
    outcome.map(drop).unwrap_err().kind
}

#[test]
fn tenants_have_names_and_data_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    let acme = db.create_tenant("acme").unwrap();
    let bolt = db.create_tenant("bolt").unwrap();
    assert_eq!(db.tenant_names().unwrap(), ["acme", "bolt"]);
    assert_eq!((db.tenant_name(), acme.tenant_name()), (None, Some("acme")));
    for (handle, word) in [(&db, "default"), (&acme, "acme"), (&bolt, "bolt")] {
        let notes = handle.collection("notes", with_vectors()).unwrap();
        notes.upsert(vec![one("a", &format!("the word {word}"), 1.0)]).unwrap();
        handle.kv("settings").unwrap().put("owner", word).unwrap();
        let mut batch = WriteBatch::new();
        batch.put("settings", "batch", word).upsert("notes", vec![one("b", word, 2.0)]);
        handle.write(batch).unwrap();
    }
    let look = |handle: &Database, word: &str| {
        assert_eq!(handle.collection_names().unwrap(), ["notes"]);
        assert_eq!(handle.keyspace_names().unwrap(), ["settings"]);
        let notes = handle.existing_collection("notes").unwrap();
        assert_eq!(notes.len().unwrap(), 2);
        for other in ["default", "acme", "bolt"] {
            let hits = notes.search(&Search::text(other).mode(Mode::Text)).unwrap().hits.len();
            assert_eq!(hits, if other == word { 2 } else { 0 }, "{word} looks for {other}");
        }
        let settings = handle.existing_keyspace("settings").unwrap();
        for key in ["owner", "batch"] {
            assert_eq!(settings.get(key).unwrap().as_deref(), Some(word.as_bytes()));
        }
    };
    for handle in [(&db, "default"), (&acme, "acme"), (&bolt, "bolt")] {
        look(handle.0, handle.1);
    }
    db.close().unwrap();
    assert_eq!(kind(acme.collection_names()), ErrorKind::Closed);
    let db = Database::open(folder.path(), quiet()).unwrap();
    look(&db, "default");
    look(&db.tenant("acme").unwrap(), "acme");
    look(&db.tenant("bolt").unwrap(), "bolt");
    assert!(db.doctor().unwrap().is_well());
    assert_eq!(db.doctor().unwrap().collections, 3);
}

#[test]
fn a_scoped_handle_refuses_what_concerns_the_folder() {
    let db = Database::in_memory(quiet()).unwrap();
    let acme = db.create_tenant("acme").unwrap();
    db.create_tenant("bolt").unwrap();
    let refusals = [
        kind(acme.create_tenant("cove")),
        kind(acme.tenant("bolt")),
        kind(acme.tenant("acme")),
        kind(acme.tenant_names()),
        kind(acme.tenants()),
        kind(acme.tenant_info("acme")),
        kind(acme.set_tenant_limits("acme", TenantLimits::default())),
        kind(acme.drop_tenant("bolt")),
        kind(acme.doctor()),
        kind(acme.migration()),
        kind(acme.migrate()),
    ];
    assert_eq!(refusals, [const { ErrorKind::Invalid }; 11]);
    let message = acme.tenant("bolt").map(drop).unwrap_err().message;
    assert!(message.contains("acme") && !message.contains("bolt"), "{message}");
    // Its closing closes nothing.
    acme.close().unwrap();
    assert_eq!(acme.collection_names().unwrap(), [""; 0]);
    assert_eq!(db.tenant_names().unwrap(), ["acme", "bolt"]);
}

#[test]
fn names_are_checked_and_numbers_are_never_given_twice() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    for name in ["", "a/b", "a b", "\u{7}", &"x".repeat(201)] {
        assert_eq!(kind(db.create_tenant(name)), ErrorKind::Invalid, "{name:?}");
    }
    assert_eq!(kind(db.tenant("acme")), ErrorKind::NotFound);
    let first = db.create_tenant("acme").unwrap();
    assert_eq!(kind(db.create_tenant("acme")), ErrorKind::Invalid);
    first.collection("notes", with_vectors()).unwrap().upsert(vec![one("a", "x", 0.0)]).unwrap();
    assert!(folder.path().join("indexes/1/1").is_dir());
    db.drop_tenant("acme").unwrap();
    let again = db.create_tenant("acme").unwrap();
    assert_eq!(kind(first.collection_names()), ErrorKind::NotFound);
    assert_eq!(again.collection_names().unwrap(), [""; 0]);
    again.collection("notes", with_vectors()).unwrap();
    assert!(folder.path().join("indexes/2/1").is_dir() && !folder.path().join("indexes/1").exists());
    db.drop_tenant("acme").unwrap();
    db.close().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    db.create_tenant("acme").unwrap().collection("notes", with_vectors()).unwrap();
    assert!(folder.path().join("indexes/3/1").is_dir());
}

/// The expected data of one tenant.
#[derive(Clone, Default)]
struct Expected {
    notes: Model,
    keys: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Expected {
    fn vectors(&self) -> u64 {
        self.notes.values().filter(|kept| kept.vector.is_some()).count() as u64
    }
}

struct Kept {
    snapshot: Snapshot,
    then: Expected,
}

const TENANTS: usize = 8;

/// The same names, ids and keys everywhere; texts and values say whose they are.
struct Run {
    dice: fastrand::Rng,
    folder: tempfile::TempDir,
    db: Database,
    handles: Vec<Database>,
    expected: Vec<Expected>,
    kept: Vec<Vec<Kept>>,
}

impl Run {
    fn new(seed: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(folder.path(), quiet()).unwrap();
        let handles: Vec<Database> = (0..TENANTS)
            .map(|n| if n == 0 { db.clone() } else { db.create_tenant(&format!("t{n}")).unwrap() })
            .collect();
        handles.iter().for_each(|handle| drop(handle.collection("notes", with_vectors()).unwrap()));
        let kept = (0..TENANTS).map(|_| Vec::new()).collect();
        Self {
            dice: fastrand::Rng::with_seed(seed),
            folder,
            db,
            handles,
            expected: vec![Expected::default(); TENANTS],
            kept,
        }
    }

    fn notes(&self, of: usize) -> Collection {
        // Nothing here is about power cuts, and an fsync a step would be most of the time.
        self.handles[of].existing_collection("notes").unwrap().with_durability(Durability::Os)
    }

    fn keys(&self, of: usize) -> Keyspace {
        self.handles[of].kv("keys").unwrap().with_durability(Durability::Os)
    }

    fn id(&mut self) -> String {
        format!("{}{}", ["r", "s"][self.dice.usize(..2)], self.dice.u32(..60))
    }

    fn key(&mut self) -> Vec<u8> {
        self.id().into_bytes()
    }

    fn some_record(&mut self, of: usize) -> (Record, support::Kept) {
        let id = self.id();
        let has_vector = self.dice.u8(..4) > 0;
        let mut kept = random_kept(&mut self.dice, has_vector);
        kept.text = Some(format!("owner{of} {}", kept.text.unwrap_or_default()));
        (record(&id, &kept), kept)
    }

    fn value(&mut self, of: usize) -> Vec<u8> {
        let large = self.dice.u8(..40) == 0;
        let mut value = format!("owner{of} {}", self.dice.u64(..)).into_bytes();
        value.resize(if large { 70_000 } else { value.len() }, b'x');
        value
    }

    fn step(&mut self, note: &str) {
        let of = self.dice.usize(..TENANTS);
        match self.dice.u8(..100) {
            0..=17 => {
                let records: BTreeMap<String, (Record, support::Kept)> = (0..self.dice.usize(1..6))
                    .map(|_| self.some_record(of))
                    .map(|(record, kept)| (record.id.clone(), (record, kept)))
                    .collect();
                self.notes(of).upsert(records.values().map(|(record, _)| record.clone()).collect()).unwrap();
                self.expected[of].notes.extend(records.into_iter().map(|(id, (_, kept))| (id, kept)));
            }
            18..=25 => {
                let ids: BTreeSet<String> = (0..self.dice.usize(1..5)).map(|_| self.id()).collect();
                let ids: Vec<String> = ids.into_iter().collect();
                let there = ids.iter().filter(|id| self.expected[of].notes.remove(*id).is_some()).count();
                assert_eq!(self.notes(of).delete(&ids).unwrap().deleted, there as u64, "{note}");
            }
            26 => {
                let before = self.expected[of].notes.len();
                self.expected[of].notes.retain(|id, _| !id.starts_with("s1"));
                let gone = before - self.expected[of].notes.len();
                assert_eq!(self.notes(of).delete_prefix("s1").unwrap().deleted, gone as u64, "{note}");
            }
            27 if !self.expected[of].notes.is_empty() => {
                let before = self.expected[of].notes.len();
                self.expected[of].notes.retain(|_, kept| !matches!(kept.payload.get("year"), Some(Value::Int(2010))));
                let gone = before - self.expected[of].notes.len();
                assert_eq!(self.notes(of).delete_where("year = 2010").unwrap().deleted, gone as u64, "{note}");
            }
            28..=41 => {
                let (key, value) = (self.key(), self.value(of));
                self.keys(of).put(&key, &value).unwrap();
                self.expected[of].keys.insert(key, value);
            }
            42..=46 => {
                let key = self.key();
                let there = self.expected[of].keys.remove(&key).is_some();
                assert_eq!(self.keys(of).delete(&[key]).unwrap(), u64::from(there), "{note}");
            }
            47 => {
                let before = self.expected[of].keys.len();
                self.expected[of].keys.retain(|key, _| !key.starts_with(b"r1"));
                let gone = before - self.expected[of].keys.len();
                assert_eq!(self.keys(of).delete_prefix("r1").unwrap(), gone as u64, "{note}");
            }
            48..=55 => {
                let (record, kept) = self.some_record(of);
                let (gone, key, value) = (self.id(), self.key(), self.value(of));
                let mut batch = WriteBatch::new().with_durability(Durability::Os);
                batch.delete_records("notes", vec![gone.clone()]).upsert("notes", vec![record.clone()]);
                batch.put("keys", key.clone(), value.clone());
                self.handles[of].write(batch).unwrap();
                let expected = &mut self.expected[of];
                expected.notes.remove(&gone);
                expected.notes.insert(record.id, kept);
                expected.keys.insert(key, value);
            }
            56..=63 => self.transaction(of, note),
            64..=69 => {
                let ids: Vec<String> = (0..5).map(|_| self.id()).collect();
                let found = self.notes(of).get(&ids, true).unwrap();
                for (id, found) in ids.iter().zip(found) {
                    let expected = self.expected[of].notes.get(id);
                    assert_eq!(
                        found.as_ref().and_then(|found| found.text.as_ref()),
                        expected.and_then(|kept| kept.text.as_ref()),
                        "{note}: {id}"
                    );
                }
                let key = self.key();
                assert_eq!(self.keys(of).get(&key).unwrap().as_ref(), self.expected[of].keys.get(&key), "{note}");
            }
            70..=83 => self.search(of, note),
            84..=85 => drop(self.notes(of).wait_until_indexed(None).unwrap()),
            86 => self.handles[of].optimize().unwrap(),
            87..=89 => {
                let snapshot = self.handles[of].snapshot().unwrap();
                self.kept[of].push(Kept { snapshot, then: self.expected[of].clone() });
            }
            90..=92 => {
                if let Some(Kept { snapshot, then }) = self.kept[of].pop() {
                    let notes = snapshot.collection("notes").unwrap();
                    assert_eq!(notes.count(None).unwrap(), then.notes.len() as u64, "{note}: as it was");
                    let answer = notes.search(&Search::text(format!("owner{of}")).mode(Mode::Text).limit(100)).unwrap();
                    assert_eq!(answer.hits.len(), then.notes.len().min(100), "{note}: as it was");
                    let page = snapshot.kv("keys").unwrap().scan(&KeyScan::default()).unwrap();
                    assert_eq!(page.entries, then.keys.into_iter().collect::<Vec<_>>(), "{note}: as they were");
                }
            }
            93..=95 => self.compare(of, note),
            96 => {
                self.kept[of].clear(); // a snapshot looks for a keyspace by what its name means now
                self.handles[of].drop_keyspace("keys").unwrap();
                self.expected[of].keys.clear();
            }
            97 => {
                self.kept[of].clear();
                self.handles[of].drop_collection("notes").unwrap();
                self.handles[of].collection("notes", with_vectors()).unwrap();
                self.expected[of].notes.clear();
            }
            98 if self.dice.u8(..10) == 0 && of > 0 => {
                self.kept.iter_mut().for_each(Vec::clear); // nobody's view may hold the bytes
                self.db.drop_tenant(&format!("t{of}")).unwrap();
                self.handles[of] = self.db.create_tenant(&format!("t{of}")).unwrap();
                self.handles[of].collection("notes", with_vectors()).unwrap();
                self.expected[of] = Expected::default();
            }
            99 if self.dice.u8(..10) == 0 => self.reopen(note),
            _ => assert_eq!(self.notes(of).len().unwrap(), self.expected[of].notes.len() as u64, "{note}"),
        }
    }

    fn transaction(&mut self, of: usize, note: &str) {
        let transaction = self.handles[of].transaction().unwrap();
        let (id, key, value) = (self.id(), self.key(), self.value(of));
        let found = transaction.kv("keys").unwrap().get(&key).unwrap();
        assert_eq!(found.as_ref(), self.expected[of].keys.get(&key), "{note}");
        let notes = transaction.collection("notes").unwrap();
        let there = notes.get(&[&id], false).unwrap()[0].is_some();
        assert_eq!(there, self.expected[of].notes.contains_key(&id), "{note}");
        // The same key of another tenant is another key.
        let other = (of + 1) % TENANTS;
        let others = self.value(other);
        self.keys(other).put(&key, &others).unwrap();
        self.expected[other].keys.insert(key.clone(), others);
        transaction.kv("keys").unwrap().put(key.clone(), value.clone()).unwrap();
        notes.delete(&[&id]).unwrap();
        transaction.commit(Durability::Os).unwrap_or_else(|error| panic!("{note}: {error}"));
        self.expected[of].keys.insert(key, value);
        self.expected[of].notes.remove(&id);
    }

    fn search(&mut self, of: usize, note: &str) {
        let query: Vec<f32> = (0..DIM).map(|_| self.dice.f32() * 2.0 - 1.0).collect();
        let words = Search::text(format!("owner{}", self.dice.usize(..TENANTS))).mode(Mode::Text);
        let searches = [Search::vector(query).limit(20), words.limit(200)];
        for answer in self.notes(of).search_many(&searches).unwrap() {
            for hit in answer.hits {
                let expected =
                    self.expected[of].notes.get(&hit.id).unwrap_or_else(|| panic!("{note}: {} crossed", hit.id));
                assert_eq!(hit.text, expected.text, "{note}: {} crossed", hit.id);
            }
        }
    }

    /// Everything that a tenant has, and that its counters are right.
    fn compare(&mut self, of: usize, note: &str) {
        let note = format!("{note}, tenant {of}");
        let expected = self.expected[of].clone();
        assert_same(&self.notes(of), &expected.notes, &mut self.dice, &note);
        let found = self.keys(of).scan(&KeyScan::default()).unwrap().entries;
        assert_eq!(
            found,
            expected.keys.iter().map(|(key, value)| (key.clone(), value.clone())).collect::<Vec<_>>(),
            "{note}"
        );
        assert_eq!(self.keys(of).count_estimate("").unwrap(), expected.keys.len() as u64, "{note}");
        assert_eq!(self.handles[of].collection_names().unwrap(), ["notes"], "{note}");
        let stats = self.handles[of].stats().unwrap();
        assert_eq!(stats.collections.len(), 1, "{note}");
        assert_eq!(stats.collections[0].rows, expected.notes.len() as u64, "{note}");
        if of > 0 {
            assert_eq!(self.handles[of].usage().unwrap().vectors, expected.vectors(), "{note}");
        }
    }

    fn reopen(&mut self, note: &str) {
        let used: Vec<_> = self.handles[1..].iter().map(|handle| handle.usage().unwrap()).collect();
        self.kept.iter_mut().for_each(Vec::clear);
        self.db.close().unwrap();
        self.db = Database::open(self.folder.path(), quiet()).unwrap();
        self.handles = (0..TENANTS)
            .map(|n| if n == 0 { self.db.clone() } else { self.db.tenant(&format!("t{n}")).unwrap() })
            .collect();
        let again: Vec<_> = self.handles[1..].iter().map(|handle| handle.usage().unwrap()).collect();
        assert_eq!(again, used, "{note}: what is counted is what is stored");
    }
}

/// `NUTHATCH_LONG=1` for 100,000.
#[test]
fn nothing_of_one_tenant_is_ever_seen_or_touched_by_another() {
    let steps = if std::env::var_os("NUTHATCH_LONG").is_some() { 100_000 } else { 6_000 };
    let seed = 41;
    let mut run = Run::new(seed);
    for step in 0..steps {
        run.step(&format!("seed {seed} step {step}"));
    }
    run.reopen("at the end");
    for of in 0..TENANTS {
        run.compare(of, "at the end");
    }
    assert!(run.db.doctor().unwrap().is_well());
    // A tenant gets back every byte that it frees.
    for of in 1..TENANTS {
        run.notes(of).delete(&run.expected[of].notes.keys().collect::<Vec<_>>()).unwrap();
        run.keys(of).delete_prefix("").unwrap();
        assert_eq!(run.handles[of].usage().unwrap(), TenantUsage::default());
    }
}

#[test]
fn limits_are_exact_with_16_threads() {
    let db = Database::in_memory(quiet()).unwrap();
    let acme = db.create_tenant("acme").unwrap();
    let notes = acme.collection("notes", with_vectors()).unwrap();
    let keys = acme.kv("keys").unwrap();
    // The counted size of one record and of one key.
    let size = |step: &dyn Fn()| {
        let before = acme.usage().unwrap().bytes;
        step();
        acme.usage().unwrap().bytes - before
    };
    let record_bytes = size(&|| assert_eq!(notes.upsert(vec![one("0000", "text", 1.0)]).unwrap().inserted, 1));
    let key_bytes = size(&|| keys.put("0000", "12345678").unwrap());
    assert_eq!(key_bytes, 12);
    notes.delete(&["0000"]).unwrap();
    keys.delete(&["0000"]).unwrap();
    assert_eq!(acme.usage().unwrap(), TenantUsage::default());

    let limits = TenantLimits { vectors: Some(100), bytes: Some(200 * record_bytes), ..TenantLimits::default() };
    db.set_tenant_limits("acme", limits).unwrap();
    let accepted = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..16 {
            let (notes, accepted) = (acme.collection("notes", with_vectors()).unwrap(), &accepted);
            scope.spawn(move || {
                for n in 0..20 {
                    // A batch of three that would go over is refused whole.
                    let ids = [0, 1, 2].map(|m| format!("{:04}", thread * 100 + n * 3 + m));
                    match notes.upsert(ids.iter().map(|id| one(id, "text", 1.0)).collect()) {
                        Ok(done) => drop(accepted.fetch_add(done.inserted, Ordering::SeqCst)),
                        Err(error) => assert_eq!(error.kind, ErrorKind::Exhausted, "{error}"),
                    }
                }
            });
        }
    });
    assert_eq!((accepted.into_inner(), notes.len().unwrap(), acme.usage().unwrap().vectors), (99, 99, 99));
    // One more fits, and then none; records without a vector, and replacing, do.
    notes.upsert(vec![one("last", "text", 1.0)]).unwrap();
    let refused = notes.upsert(vec![one("more", "text", 1.0)]).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Exhausted);
    assert!(refused.message.contains("acme") && refused.message.contains("100 vectors"), "{refused}");
    notes.upsert(vec![one("last", "other text", 1.0), Record::new("plain").text("text")]).unwrap();
    notes.delete(&["last"]).unwrap();
    notes.upsert(vec![one("more", "text", 1.0)]).unwrap();

    // Bytes: 16 threads put, overwrite, delete and write batches over one limit; the sum is never above it.
    notes.delete_where("true").ok();
    let all: Vec<String> =
        notes.scan(&Scan { limit: 1000, ..Scan::default() }).unwrap().records.into_iter().map(|r| r.id).collect();
    notes.delete(&all).unwrap();
    assert_eq!(acme.usage().unwrap(), TenantUsage::default());
    db.set_tenant_limits("acme", TenantLimits { bytes: Some(1000 * key_bytes), ..limits }).unwrap();
    let refused = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..16 {
            let (keys, acme, refused) = (acme.kv("keys").unwrap(), acme.clone(), &refused);
            scope.spawn(move || {
                for n in 0..100 {
                    let key = format!("{:04}", thread * 100 + n);
                    let outcome = match n % 4 {
                        0 => {
                            let mut batch = WriteBatch::new().with_durability(Durability::Os);
                            batch.put("keys", key.clone(), "12345678").put("others", key, "12345678");
                            acme.write(batch)
                        }
                        1 => {
                            let outcome = keys.put(&key, "12345678").and_then(|()| keys.put(&key, "1234"));
                            outcome.and_then(|()| keys.delete(&[&key]).map(drop))
                        }
                        _ => keys.put(key, "12345678"),
                    };
                    if let Err(error) = outcome {
                        assert_eq!(error.kind, ErrorKind::Exhausted, "{error}");
                        refused.fetch_add(1, Ordering::SeqCst);
                    }
                    assert!(acme.usage().unwrap().bytes <= 1000 * key_bytes);
                }
            });
        }
    });
    let stored: u64 = ["keys", "others"]
        .iter()
        .flat_map(|name| acme.kv(name).unwrap().scan(&KeyScan { limit: 10_000, ..KeyScan::default() }).unwrap().entries)
        .map(|(key, value)| (key.len() + value.len()) as u64)
        .sum();
    assert_eq!(acme.usage().unwrap().bytes, stored);
    assert!(stored > 990 * key_bytes && refused.into_inner() > 0, "{stored}");
    // The default tenant is not limited, and the others are not touched.
    db.kv("keys").unwrap().put("free", vec![0; 100_000]).unwrap();
}

#[test]
fn limits_are_kept_and_may_be_set_below_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    let acme = db.create_tenant("acme").unwrap();
    assert_eq!(acme.limits().unwrap(), TenantLimits::default());
    let keys = acme.kv("keys").unwrap();
    keys.put("a", "123456789").unwrap();
    keys.put("b", vec![7; 90_000]).unwrap();
    keys.put_expiring("c", "1", std::time::Duration::from_millis(1)).unwrap();
    let limits = TenantLimits { bytes: Some(5), requests_per_second: Some(7), ..TenantLimits::default() };
    db.set_tenant_limits("acme", limits).unwrap();
    db.close().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    let acme = db.tenant("acme").unwrap();
    assert_eq!((acme.limits().unwrap(), db.tenant_info("acme").unwrap().limits), (limits, limits));
    let keys = acme.kv("keys").unwrap();
    assert_eq!(kind(keys.put("d", "1")), ErrorKind::Exhausted);
    assert_eq!(kind(keys.append("a", b"1")), ErrorKind::Exhausted);
    assert_eq!(keys.get("a").unwrap().as_deref(), Some(&b"123456789"[..]));
    // Writes that reduce the usage are always allowed.
    keys.put("a", "12").unwrap();
    assert_eq!(keys.delete(&["b"]).unwrap(), 1);
    acme.reclaim(None).unwrap(); // sweeps what has expired
    assert_eq!(acme.usage().unwrap(), TenantUsage { vectors: 0, bytes: 3 });
    keys.put("d", "1").unwrap();
    assert_eq!(kind(keys.put("e", "1")), ErrorKind::Exhausted);
    assert!(acme.drop_keyspace("keys").unwrap());
    assert_eq!(acme.usage().unwrap(), TenantUsage::default());
    assert_eq!(kind(db.usage()), ErrorKind::Invalid);
    assert_eq!(kind(db.set_tenant_limits("bolt", limits)), ErrorKind::NotFound);
}

/// Bytes that do not repeat, so that no compression can write them in any other way.
fn noise(seed: u64) -> String {
    let mut dice = fastrand::Rng::with_seed(seed);
    (0..30).map(|_| dice.lowercase()).collect()
}

#[test]
fn a_dropped_tenant_leaves_no_byte_and_its_neighbours_are_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    let names = ["first", "gone", "last"];
    let needles = |of: usize| (0..4).map(|n| noise((of * 10 + n) as u64)).collect::<Vec<_>>();
    let fill = |handle: &Database, of: usize| {
        let [id, text, key, value] = <[String; 4]>::try_from(needles(of)).unwrap();
        let notes = handle.collection("notes", with_vectors()).unwrap();
        notes.upsert((0..50).map(|n| one(&format!("{n}"), "ordinary text", n as f32)).collect()).unwrap();
        notes.upsert(vec![one(&id, &text, 1.0)]).unwrap();
        notes.wait_until_indexed(None).unwrap();
        handle.kv("keys").unwrap().put(&key, &value).unwrap();
        handle.kv("keys").unwrap().put("large", value.repeat(4000)).unwrap();
    };
    fill(&db, 9);
    for (of, name) in names.iter().enumerate() {
        fill(&db.create_tenant(name).unwrap(), of);
    }
    db.close().unwrap(); // writes table files
    let db = Database::open(folder.path(), quiet()).unwrap();
    let gone = db.tenant("gone").unwrap();
    fill(&gone, 1); // once more: into logs, and as replaced rows into a second segment
    gone.kv("keys").unwrap().put("late", needles(1)[3].as_bytes()).unwrap();
    let snapshot = gone.snapshot().unwrap();
    let aside = folder.path().join("quarantine");
    for name in ["2-1-segments-x", "3-1-segments-x"] {
        std::fs::create_dir_all(aside.join(name)).unwrap();
        std::fs::write(aside.join(name).join("old"), &needles(1)[1]).unwrap();
    }
    std::fs::write(aside.join("3-1-segments-x/old"), "a neighbour's").unwrap();
    for needle in needles(1) {
        assert!(!grep(folder.path(), needle.as_bytes()).is_empty(), "it should be there before");
    }

    let receipt = db.drop_tenant("gone").unwrap();
    for needle in needles(1) {
        assert!(grep(folder.path(), needle.as_bytes()).is_empty());
    }
    assert!(receipt.is_genuine());
    assert_eq!(
        (receipt.tenant.as_deref(), receipt.collection, receipt.deleted_records),
        (Some("gone"), None, Some(51))
    );
    assert!(receipt.removed.iter().any(|file| file.path.starts_with("indexes/2/")));
    assert!(!folder.path().join("indexes/2").exists());
    assert!(aside.join("3-1-segments-x").exists() && !aside.join("2-1-segments-x").exists());
    assert_eq!(kind(gone.collection_names()), ErrorKind::NotFound);
    assert_eq!(kind(gone.kv("keys")), ErrorKind::NotFound);
    assert_eq!(kind(snapshot.collection("notes")), ErrorKind::NotFound);
    assert_eq!(kind(db.tenant("gone")), ErrorKind::NotFound);
    assert_eq!(kind(db.drop_tenant("gone")), ErrorKind::NotFound);
    assert_eq!(db.tenant_names().unwrap(), ["first", "last"]);
    let look = |handle: &Database, of: usize| {
        let [id, text, key, value] = <[String; 4]>::try_from(needles(of)).unwrap();
        let notes = handle.existing_collection("notes").unwrap();
        assert_eq!(notes.len().unwrap(), 51);
        assert_eq!(notes.search(&Search::text(&text).mode(Mode::Text)).unwrap().hits[0].id, id);
        assert_eq!(handle.kv("keys").unwrap().get(&key).unwrap().as_deref(), Some(value.as_bytes()));
        assert_eq!(handle.kv("keys").unwrap().get("large").unwrap().map(|value| value.len()), Some(120_000));
    };
    let look_at_all = |db: &Database| {
        look(db, 9);
        look(&db.tenant("first").unwrap(), 0);
        look(&db.tenant("last").unwrap(), 2);
        assert!(db.doctor().unwrap().is_well());
    };
    look_at_all(&db);
    db.close().unwrap();
    look_at_all(&Database::open(folder.path(), quiet()).unwrap());
    for needle in needles(1) {
        assert!(grep(folder.path(), needle.as_bytes()).is_empty());
    }
}

#[test]
fn a_tenants_reclaim_and_its_receipts_are_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    let (acme, bolt) = (db.create_tenant("acme").unwrap(), db.create_tenant("bolt").unwrap());
    for handle in [&db, &acme, &bolt] {
        let notes = handle.collection("notes", with_vectors()).unwrap();
        notes.upsert((0..20).map(|n| one(&format!("{n}"), "words", n as f32)).collect()).unwrap();
        notes.upsert(vec![one("secret", &noise(7), 1.0)]).unwrap();
        notes.wait_until_indexed(None).unwrap();
    }
    let receipt = acme.erase("notes", &Erase::Ids(vec!["secret".into()])).unwrap();
    assert_eq!((receipt.tenant.as_deref(), receipt.collection.as_deref()), (Some("acme"), Some("notes")));
    let all = acme.reclaim(None).unwrap();
    assert_eq!((all.tenant.as_deref(), all.collection.as_deref()), (Some("acme"), None));
    assert_eq!(all.sequences.keys().collect::<Vec<_>>(), ["notes"]);
    for file in receipt.removed.iter().chain(&all.removed) {
        assert!(file.path.starts_with("truth/") || file.path.starts_with("indexes/1/"), "{}", file.path);
    }
    let left = grep(&folder.path().join("indexes"), noise(7).as_bytes());
    assert!(left.iter().all(|path| !path.starts_with(folder.path().join("indexes/1"))), "{left:?}");
    let whole = db.reclaim(None).unwrap();
    assert_eq!(whole.sequences.keys().collect::<Vec<_>>(), ["acme/notes", "bolt/notes", "notes"]);
    assert_eq!(acme.receipts().unwrap(), [receipt.clone(), all.clone()]);
    assert_eq!(bolt.receipts().unwrap(), []);
    assert_eq!(db.receipts().unwrap(), [receipt, all, whole]);
    assert!(db.receipts().unwrap().iter().all(Receipt::is_genuine));
    assert_eq!(acme.existing_collection("notes").unwrap().len().unwrap(), 20);
    assert_eq!(bolt.existing_collection("notes").unwrap().len().unwrap(), 21);
}

#[test]
fn one_tenant_is_backed_up_without_a_byte_of_another_and_restored_alone() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let db = Database::open(at("data"), quiet()).unwrap();
    let fill = |handle: &Database, of: u64| {
        let notes = handle.collection("notes", with_vectors()).unwrap();
        notes.upsert((0..20).map(|n| one(&format!("{n}"), &noise(of), n as f32)).collect()).unwrap();
        notes.wait_until_indexed(None).unwrap();
        notes.upsert(vec![one("fresh", &noise(of), 3.0)]).unwrap();
        handle.kv("keys").unwrap().put("key", noise(of + 100)).unwrap();
    };
    fill(&db, 9);
    for (of, name) in ["acme", "bolt"].iter().enumerate() {
        fill(&db.create_tenant(name).unwrap(), of as u64);
    }
    db.set_tenant_limits("acme", TenantLimits { vectors: Some(50), ..TenantLimits::default() }).unwrap();
    let acme = db.tenant("acme").unwrap();
    let report = acme.backup(at("one"), BackupOptions::default()).unwrap();
    assert_eq!((report.backup.only.as_deref(), report.backup.rows()), (Some("acme"), 21));
    assert_eq!(report.backup.collection_names(), ["acme/notes"]);
    assert_eq!(report.backup.keyspace_names(), ["acme/keys"]);
    let whole = db.backup(at("all"), BackupOptions::default()).unwrap();
    assert_eq!((whole.backup.only.as_deref(), whole.backup.rows()), (None, 63));
    assert_eq!(whole.backup.collection_names(), ["notes", "acme/notes", "bolt/notes"]);

    let look = |handle: &Database, of: u64| {
        let notes = handle.existing_collection("notes").unwrap();
        assert_eq!(notes.len().unwrap(), 21);
        assert_eq!(notes.search(&Search::text(noise(of)).mode(Mode::Text).limit(50)).unwrap().hits.len(), 21);
        assert_eq!(handle.kv("keys").unwrap().get("key").unwrap().as_deref(), Some(noise(of + 100).as_bytes()));
    };
    let restore = |place: &str, target: &str, tenant: Option<&str>, collection: Option<&str>| {
        let (tenant, collection) = (tenant.map(Into::into), collection.map(Into::into));
        let options = RestoreOptions { tenant, collection, options: quiet(), ..RestoreOptions::default() };
        let report = Backups::at(at(place)).restore(at(target), options).unwrap();
        (report, Database::open(at(target), quiet()).unwrap())
    };
    for (place, tenant) in [("one", None), ("one", Some("acme")), ("all", Some("acme"))] {
        let target = format!("{place}-{}", tenant.is_some());
        let (report, alone) = restore(place, &target, tenant, None);
        assert_eq!((report.rows, &*report.collections), (21, &["acme/notes".to_string()][..]));
        assert_eq!(alone.tenant_names().unwrap(), ["acme"]);
        assert_eq!((alone.collection_names().unwrap().len(), alone.keyspace_names().unwrap().len()), (0, 0));
        let acme = alone.tenant("acme").unwrap();
        look(&acme, 0);
        assert_eq!(acme.limits().unwrap().vectors, Some(50));
        assert_eq!(acme.usage().unwrap(), db.tenant("acme").unwrap().usage().unwrap());
        assert!(alone.doctor().unwrap().is_well());
        alone.create_tenant("new").unwrap();
        alone.close().unwrap();
        for of in [1, 9] {
            for needle in [noise(of), noise(of + 100)] {
                assert!(grep(&at(&target), needle.as_bytes()).is_empty(), "{place} {tenant:?}");
            }
        }
    }
    let (_, all) = restore("all", "everything", None, None);
    assert_eq!(all.tenant_names().unwrap(), ["acme", "bolt"]);
    look(&all, 9);
    look(&all.tenant("acme").unwrap(), 0);
    look(&all.tenant("bolt").unwrap(), 1);
    let (report, default) = restore("all", "default", None, Some("notes"));
    assert_eq!((report.rows, default.tenant_names().unwrap().len()), (21, 0));
    assert_eq!(default.existing_collection("notes").unwrap().len().unwrap(), 21);
    assert!(grep(&at("default"), noise(1).as_bytes()).is_empty());
    let (_, collection) = restore("all", "collection", Some("bolt"), Some("notes"));
    let bolt = collection.tenant("bolt").unwrap();
    assert_eq!(
        (bolt.existing_collection("notes").unwrap().len().unwrap(), bolt.keyspace_names().unwrap().len()),
        (21, 0)
    );
}

#[test]
fn exports_and_imports_are_of_the_tenant_alone() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::in_memory(quiet()).unwrap();
    let (acme, bolt) = (db.create_tenant("acme").unwrap(), db.create_tenant("bolt").unwrap());
    acme.collection("notes", with_vectors()).unwrap().upsert(vec![one("a", "words", 1.0)]).unwrap();
    acme.kv("keys").unwrap().put("k", "v").unwrap();
    let place = folder.path().join("export");
    let report = acme.export(&place, ExportOptions::default()).unwrap();
    assert_eq!((report.collections, report.keyspaces, report.records, report.keys), (1, 1, 1, 1));
    assert_eq!(db.export(folder.path().join("default"), ExportOptions::default()).unwrap().records, 0);
    bolt.import(&place, ImportOptions::default()).unwrap();
    assert_eq!(bolt.usage().unwrap(), acme.usage().unwrap());
    assert_eq!(bolt.existing_collection("notes").unwrap().len().unwrap(), 1);
    assert_eq!(db.collection_names().unwrap(), [""; 0]);
    db.set_tenant_limits("bolt", TenantLimits { vectors: Some(1), ..TenantLimits::default() }).unwrap();
    bolt.drop_collection("notes").unwrap();
    acme.existing_collection("notes").unwrap().upsert(vec![one("b", "words", 2.0)]).unwrap();
    let place = folder.path().join("two");
    acme.export(&place, ExportOptions { collection: Some("notes".into()), ..Default::default() }).unwrap();
    assert_eq!(kind(bolt.import(&place, ImportOptions::default())), ErrorKind::Exhausted);
}

#[test]
fn a_repaired_folder_has_its_tenants() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    let acme = db.create_tenant("acme").unwrap();
    for handle in [&db, &acme] {
        let notes = handle.collection("notes", with_vectors()).unwrap();
        notes.upsert((0..40).map(|n| one(&format!("{n}"), "words", n as f32)).collect()).unwrap();
        notes.wait_until_indexed(None).unwrap();
        handle.kv("keys").unwrap().put("key", "something stored").unwrap();
    }
    let used = acme.usage().unwrap();
    db.close().unwrap();
    // A block of one table is damaged: the repair goes through everything.
    let table = files(&folder.path().join("truth"))
        .into_iter()
        .filter(|path| path.extension().is_some_and(|ending| ending == "sst"))
        .find(|path| std::fs::read(path).unwrap().windows(16).any(|window| window == b"something stored"))
        .expect("a table with values");
    let index = files(&folder.path().join("indexes/1")).into_iter().find(|path| path.ends_with("rows")).unwrap();
    for path in [&index, &table] {
        let mut bytes = std::fs::read(path).unwrap();
        bytes[20] ^= 0x55;
        std::fs::write(path, bytes).unwrap();
    }
    let (db, outcome) = Database::repair(folder.path(), quiet()).unwrap();
    assert!(!outcome.store.is_empty());
    assert!(
        outcome.rebuilt.contains(&"notes".to_string()) && outcome.rebuilt.contains(&"acme/notes".to_string()),
        "{outcome:?}"
    );
    assert_eq!(db.tenant_names().unwrap(), ["acme"]);
    let acme = db.tenant("acme").unwrap();
    for handle in [&db, &acme] {
        let notes = handle.existing_collection("notes").unwrap();
        assert_eq!(notes.len().unwrap(), 40);
        assert_eq!(notes.search(&Search::text("words").mode(Mode::Text).limit(50)).unwrap().hits.len(), 40);
    }
    let lost = acme.kv("keys").unwrap().get("key").unwrap().is_none();
    let expected = used.bytes - if lost { 19 } else { 0 };
    assert_eq!(acme.usage().unwrap(), TenantUsage { bytes: expected, ..used });
    assert!(db.doctor().unwrap().is_well());
    db.create_tenant("bolt").unwrap();
}

#[cfg(unix)]
#[test]
fn a_served_process_has_the_same_tenants_and_the_same_walls() {
    let folder = tempfile::tempdir().unwrap();
    let holder = Database::open(folder.path(), quiet()).unwrap();
    let served = Database::open(folder.path(), quiet()).unwrap();
    assert!(!served.holder().unwrap().is_this);
    let acme = served.create_tenant("acme").unwrap();
    let bolt = served.create_tenant("bolt").unwrap();
    // The same numbers of collections, the same names and the same connection.
    for (handle, word) in [(&served, "default"), (&acme, "acme"), (&bolt, "bolt")] {
        let notes = handle.collection("notes", with_vectors()).unwrap();
        notes.upsert(vec![one("a", word, 1.0)]).unwrap();
        handle.kv("keys").unwrap().put("k", word).unwrap();
        let mut batch = WriteBatch::new();
        batch.put("keys", "batch", word).upsert("notes", vec![one("b", word, 2.0)]);
        handle.write(batch).unwrap();
    }
    let look = |handle: &Database, word: &str| {
        let notes = handle.existing_collection("notes").unwrap();
        let texts: Vec<_> =
            notes.get(&["a", "b"], false).unwrap().into_iter().map(|it| it.unwrap().text.unwrap()).collect();
        assert_eq!(texts, [word, word]);
        assert_eq!(notes.search(&Search::text(word).mode(Mode::Text)).unwrap().hits.len(), 2);
        assert_eq!(handle.kv("keys").unwrap().get("batch").unwrap().as_deref(), Some(word.as_bytes()));
        assert_eq!(handle.stats().unwrap().collections.len(), 1);
    };
    look(&acme, "acme");
    look(&bolt, "bolt");
    look(&served, "default");
    look(&holder.tenant("bolt").unwrap(), "bolt");
    served.set_tenant_limits("acme", TenantLimits { vectors: Some(2), ..TenantLimits::default() }).unwrap();
    let (notes, keys) = (acme.existing_collection("notes").unwrap(), acme.kv("keys").unwrap());
    assert_eq!(kind(notes.upsert(vec![one("c", "x", 3.0)])), ErrorKind::Exhausted);
    assert_eq!(acme.usage().unwrap().vectors, 2);
    assert_eq!(served.tenant_info("acme").unwrap(), holder.tenant_info("acme").unwrap());
    assert_eq!(served.tenants().unwrap().len(), 2);
    for refused in
        [kind(acme.tenant_names()), kind(acme.tenant("bolt")), kind(acme.drop_tenant("bolt")), kind(acme.doctor())]
    {
        assert_eq!(refused, ErrorKind::Invalid);
    }
    assert_eq!(kind(served.tenant("cove")), ErrorKind::NotFound);
    // The holder goes: the database that it served holds the folder now, and each handle means what it meant.
    holder.close().unwrap();
    look(&acme, "acme");
    look(&bolt, "bolt");
    assert!(served.holder().unwrap().is_this);
    assert_eq!(keys.get("k").unwrap().as_deref(), Some(&b"acme"[..]));
    let other = Database::open(folder.path(), quiet()).unwrap();
    let others = other.tenant("acme").unwrap();
    look(&others, "acme");
    let receipt = other.drop_tenant("acme").unwrap();
    assert_eq!(receipt.deleted_records, Some(2));
    for gone in [kind(acme.collection_names()), kind(others.collection_names()), kind(notes.len()), kind(keys.get("k"))]
    {
        assert_eq!(gone, ErrorKind::NotFound);
    }
    look(&bolt, "bolt");
}
