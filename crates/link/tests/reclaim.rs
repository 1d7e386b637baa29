//! The guarantees of deleting and reclaiming. Each test first finds the bytes that are later gone, so that it can fail.

mod support;

use std::path::{Path, PathBuf};
use std::time::Duration;

use nuthatch_link::*;
use support::quiet;

const DIM: usize = 32;

/// Bytes that nothing else has, in every place where a user's bytes can be. They do not repeat, so that no compression can
/// write them in any other way.
struct Marks {
    id: String,
    text: String,
    payload: String,
    vector: Vec<f32>,
}

impl Marks {
    fn new(seed: u64) -> Self {
        let mut dice = fastrand::Rng::with_seed(seed);
        let mut word = || (0..24).map(|_| dice.lowercase()).collect::<String>();
        let (id, text, payload) = (word(), word(), word());
        // The last of all keys: first and last keys of table files stand in the MANIFEST, too.
        Self { id: format!("~{id}"), text, payload, vector: (0..DIM).map(|_| dice.f32() * 2.0 - 1.0).collect() }
    }

    fn record(&self) -> Record {
        let payload = [("mark".to_string(), Value::Text(self.payload.clone()))].into();
        Record::new(&self.id).text(format!("here {} stands", self.text)).vector(self.vector.clone()).payload(payload)
    }

    fn needles(&self, element: Element) -> Vec<(&'static str, Vec<u8>)> {
        let vector = element.encode(&self.as_element(element)).unwrap();
        vec![
            ("id", self.id.clone().into_bytes()),
            ("text", self.text.clone().into_bytes()),
            ("payload", self.payload.clone().into_bytes()),
            ("vector", vector[..16].to_vec()),
        ]
    }

    fn as_element(&self, element: Element) -> Vec<f32> {
        match element {
            Element::Int8 => self.vector.iter().map(|x| (x * 127.0).round()).collect(),
            _ => self.vector.clone(),
        }
    }
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

/// Files of the folder that hold any of the needles, with what they hold.
fn grep(folder: &Path, needles: &[(&'static str, Vec<u8>)]) -> Vec<(PathBuf, &'static str)> {
    let mut found = Vec::new();
    for path in files(folder) {
        let Ok(bytes) = std::fs::read(&path) else { continue };
        for (what, needle) in needles {
            if bytes.windows(needle.len()).any(|window| window == needle) {
                found.push((path.clone(), *what));
            }
        }
    }
    found
}

fn options(element: Element) -> CollectionOptions {
    let metric = Some(Metric::L2);
    CollectionOptions { embedder: EmbedderChoice::None, metric, element: Some(element), ..Default::default() }
}

fn others(dice: &mut fastrand::Rng, from: usize, count: usize, element: Element) -> Vec<Record> {
    let other = |n: usize| {
        let mut marks = Marks::new(dice.u64(..));
        marks.id = format!("{}{n}", ["a", "z"][n % 2]);
        Record { vector: Some(marks.as_element(element)), ..marks.record() }
    };
    (from..from + count).map(other).collect()
}

/// A folder where the marks are in logs, table files, a segment and the text index, deleted again in every way.
fn erased_everywhere(element: Element, background: bool) {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), Options { background, ..quiet() }).unwrap();
    let mut dice = fastrand::Rng::with_seed(3);
    let notes = db.collection("notes", options(element)).unwrap();
    let marks: Vec<Marks> = (0..5).map(|n| Marks::new(100 + n)).collect();
    let needles: Vec<(&'static str, Vec<u8>)> = marks.iter().flat_map(|marks| marks.needles(element)).collect();
    for (n, marks) in marks[..4].iter().enumerate() {
        notes.upsert(others(&mut dice, n * 100, 100, element)).unwrap();
        let marked = Record { vector: Some(marks.as_element(element)), ..marks.record() };
        notes.upsert(vec![marked]).unwrap();
        notes.wait_until_indexed(None).unwrap();
    }
    // Closing writes the table files.
    db.close().unwrap();
    let db = Database::open(folder.path(), Options { background, ..quiet() }).unwrap();
    let notes = db.existing_collection("notes").unwrap();
    // This one has reached no index.
    let marked = Record { vector: Some(marks[4].as_element(element)), ..marks[4].record() };
    notes.upsert(vec![marked]).unwrap();

    notes.delete(&[&marks[0].id]).unwrap();
    notes.delete_where(&format!("mark = '{}'", marks[1].payload)).unwrap();
    notes.delete_prefix(&marks[2].id[..20]).unwrap();
    let replaced =
        Record { id: marks[3].id.clone(), text: Some("nothing".into()), ..others(&mut dice, 0, 1, element).remove(0) };
    notes.upsert(vec![replaced]).unwrap();
    notes.delete(&[&marks[3].id, &marks[4].id]).unwrap();
    assert_eq!(notes.len().unwrap(), 400);
    for marks in &marks {
        assert!(notes.get(&[&marks.id], false).unwrap()[0].is_none(), "visible at once");
        assert!(notes.search(&Search::text(&marks.text).mode(Mode::Text)).unwrap().hits.is_empty(), "visible at once");
    }
    let found = grep(folder.path(), &needles);
    for what in ["id", "text", "payload", "vector"] {
        assert!(found.iter().any(|(_, found)| *found == what), "the {what} should be there before: {found:?}");
    }
    for place in ["truth/MANIFEST", "truth/0", "indexes/0", "/ids"] {
        let is_there = |(path, _): &(PathBuf, _)| path.to_string_lossy().contains(place);
        assert!(found.iter().any(is_there), "{place} should hold some before: {found:?}");
    }

    let receipt = db.reclaim(None).unwrap();
    assert_eq!(grep(folder.path(), &needles), vec![]);
    println!(
        "proof: {} ids, texts, payloads and vectors stood in {} places, and in none of {} files after {} had been written anew",
        needles.len(),
        found.len(),
        files(folder.path()).len(),
        receipt.written.len()
    );
    assert!(receipt.is_genuine() && !receipt.removed.is_empty() && !receipt.written.is_empty());
    // RocksDB may have removed table files by itself in between.
    for (path, _) in found.iter().filter(|(path, _)| path.starts_with(folder.path().join("indexes"))) {
        let name = path.strip_prefix(folder.path()).unwrap().to_string_lossy();
        assert!(receipt.removed.iter().any(|file| file.path == name), "{name} should be in the receipt");
    }
    // The remaining records are unchanged, now and after reopening.
    assert_eq!(notes.len().unwrap(), 400);
    let doctor = db.doctor().unwrap();
    assert!(doctor.is_well(), "{doctor:?}");
    db.close().unwrap();
    assert_eq!(grep(folder.path(), &needles), vec![]);
    let db = Database::open(folder.path(), quiet()).unwrap();
    assert_eq!(db.existing_collection("notes").unwrap().len().unwrap(), 400);
    assert_eq!(db.receipts().unwrap(), vec![receipt]);
}

#[test]
fn nothing_deleted_is_left_in_any_file_after_a_reclaim() {
    erased_everywhere(Element::F32, false);
}

#[test]
fn nothing_deleted_is_left_of_int8_vectors_while_background_work_runs() {
    erased_everywhere(Element::Int8, true);
}

#[test]
fn nothing_is_left_of_a_dropped_collection_or_of_what_was_put_into_quarantine() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    let marks = Marks::new(7);
    let notes = db.collection("notes", options(Element::F32)).unwrap();
    notes.upsert(vec![marks.record()]).unwrap();
    notes.wait_until_indexed(None).unwrap();
    let other = db.collection("other", options(Element::F32)).unwrap();
    other.upsert(others(&mut fastrand::Rng::with_seed(1), 0, 20, Element::F32)).unwrap();
    let quarantine = folder.path().join("quarantine/something");
    std::fs::create_dir_all(&quarantine).unwrap();
    std::fs::write(quarantine.join("old"), &marks.text).unwrap();
    let orphan = folder.path().join("indexes/0/77");
    std::fs::create_dir_all(&orphan).unwrap();
    std::fs::write(orphan.join("old"), &marks.text).unwrap();
    assert!(db.drop_collection("notes").unwrap());
    let needles = marks.needles(Element::F32);
    assert!(grep(folder.path(), &needles).len() > 2);
    db.reclaim(None).unwrap();
    assert_eq!(grep(folder.path(), &needles), vec![]);
    assert_eq!(other.len().unwrap(), 20);
}

#[test]
fn nothing_is_left_of_keys_and_values_that_were_deleted_overwritten_or_expired() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    let mut dice = fastrand::Rng::with_seed(11);
    let mut noise = |bytes: usize| -> Vec<u8> { (0..bytes).map(|_| dice.u8(..)).collect() };
    let keys: Vec<Vec<u8>> = (0..4).map(|_| noise(30)).collect();
    let values = [noise(200), noise(200), noise(100_000), noise(200)];
    let needles: Vec<(&'static str, Vec<u8>)> = (keys[..].iter().enumerate().filter(|(n, _)| *n != 1))
        .map(|(_, key)| ("key", key.clone()))
        .chain(values.iter().map(|value| ("value", value[..64].to_vec())))
        .collect();
    let cache = db.kv("cache").unwrap();
    for n in 0..500u32 {
        cache.put(n.to_be_bytes(), noise(40)).unwrap();
    }
    for n in [0, 1, 2] {
        cache.put(&keys[n], &values[n]).unwrap();
    }
    cache.put_expiring(&keys[3], &values[3], std::time::Duration::from_millis(1)).unwrap();
    db.close().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    let cache = db.kv("cache").unwrap();
    assert_eq!(cache.delete(&[&keys[0], &keys[2]]).unwrap(), 2);
    cache.put(&keys[1], b"another").unwrap();
    let before = grep(folder.path(), &needles);
    assert!(before.len() >= needles.len(), "{before:?}");
    db.reclaim(None).unwrap();
    assert_eq!(grep(folder.path(), &needles), vec![]);
    assert_eq!(cache.get(&keys[1]).unwrap().as_deref(), Some(&b"another"[..]));
    assert_eq!(cache.get(7u32.to_be_bytes()).unwrap().map(|value| value.len()), Some(40));
}

#[test]
fn erase_deletes_and_reclaims_one_collection_and_leaves_the_others_files_alone() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    let marks = Marks::new(9);
    for name in ["notes", "other"] {
        let records = db.collection(name, options(Element::F32)).unwrap();
        records.upsert(others(&mut fastrand::Rng::with_seed(5), 0, 50, Element::F32)).unwrap();
        records.wait_until_indexed(None).unwrap();
    }
    let notes = db.existing_collection("notes").unwrap();
    notes.upsert(vec![marks.record()]).unwrap();
    let needles = marks.needles(Element::F32);
    assert!(!grep(folder.path(), &needles).is_empty());
    let receipt = db.erase("notes", &Erase::Prefix(marks.id[..10].into())).unwrap();
    assert_eq!((receipt.collection.as_deref(), receipt.deleted_records), (Some("notes"), Some(1)));
    assert_eq!(grep(folder.path(), &needles), vec![]);
    let touched = |file: &&RemovedFile| file.path.starts_with("indexes/0/2/");
    assert_eq!(receipt.removed.iter().find(touched), None);
    // The receipt does not tell what it is about.
    assert!(grep(&folder.path().join("receipts"), &needles).is_empty());
    let all = db.erase("notes", &Erase::Prefix("a".into())).unwrap();
    assert_eq!(all.deleted_records, Some(25));
    assert_eq!(notes.len().unwrap(), 25);
}

#[test]
fn a_receipt_that_was_changed_is_not_genuine() {
    let db = Database::in_memory(quiet()).unwrap();
    db.collection("notes", options(Element::F32)).unwrap().upsert(vec![Marks::new(1).record()]).unwrap();
    let receipt = db.reclaim(None).unwrap();
    assert!(receipt.is_genuine());
    assert!(!Receipt { finished: "2000-01-01T00:00:00.000Z".into(), ..receipt }.is_genuine());
    assert_eq!(db.reclaim(Some("nothing")).unwrap_err().kind, ErrorKind::NotFound);
}

#[test]
fn deleting_by_prefix_deletes_these_records_alone() {
    let db = Database::in_memory(quiet()).unwrap();
    let notes = db.collection("notes", options(Element::F32)).unwrap();
    notes.upsert(["a", "ab", "ab/1", "ab/2", "ac", "b"].map(|id| Record::new(id).text("x")).to_vec()).unwrap();
    assert_eq!(notes.delete_prefix("ab").unwrap().deleted, 3);
    assert_eq!(notes.delete_prefix("ab").unwrap().deleted, 0);
    let left: Vec<bool> = notes.get(&["a", "ab", "ac", "b"], false).unwrap().iter().map(Option::is_some).collect();
    assert_eq!(left, [true, false, true, true]);
    assert_eq!(notes.delete_prefix("").unwrap_err().kind, ErrorKind::Invalid);
}

/// A folder with two tenants; one of them has just deleted what the needles are of.
fn deleted(grace: Duration) -> (tempfile::TempDir, Database, Vec<(&'static str, Vec<u8>)>) {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), Options { erasure_grace: grace, ..quiet() }).unwrap();
    let marks = Marks::new(21);
    for name in ["amber", "birch"] {
        let tenant = db.create_tenant(name).unwrap();
        tenant.kv("k").unwrap().put("a", "1").unwrap();
        let notes = tenant.collection("notes", options(Element::F32)).unwrap();
        notes.upsert(others(&mut fastrand::Rng::with_seed(5), 0, 50, Element::F32)).unwrap();
    }
    let notes = db.tenant("amber").unwrap().existing_collection("notes").unwrap();
    notes.upsert(vec![marks.record()]).unwrap();
    notes.wait_until_indexed(None).unwrap();
    let needles = marks.needles(Element::F32);
    assert!(grep(folder.path(), &needles).len() > 2);
    (folder, db, needles)
}

fn erase(db: &Database) -> Result<Receipt> {
    db.tenant("amber")?.erase("notes", &Erase::Prefix("~".into()))
}

fn ended_by_an_erasure(error: &Error) -> bool {
    error.kind == ErrorKind::Conflict && error.message.contains("deleted permanently")
}

#[test]
fn an_erasure_ends_the_snapshots_from_before_whoever_has_them() {
    let (folder, db, needles) = deleted(Duration::from_millis(20));
    let served = Database::open(folder.path(), quiet()).unwrap();
    assert!(!served.holder().unwrap().is_this);
    let holders = [db.clone(), served.clone()];
    let mut snapshots = Vec::new();
    let mut transactions = Vec::new();
    for (holder, tenant) in holders.iter().flat_map(|holder| ["amber", "birch"].map(|tenant| (holder, tenant))) {
        let handle = holder.tenant(tenant).unwrap();
        let snapshot = handle.snapshot().unwrap();
        snapshots.push((snapshot.collection("notes").unwrap(), snapshot.kv("k").unwrap(), snapshot));
        let transaction = handle.transaction().unwrap();
        let keys = transaction.kv("k").unwrap();
        assert_eq!(keys.get("a").unwrap().unwrap(), b"1");
        keys.put("a", "2").unwrap();
        transactions.push(transaction);
    }
    let receipt = erase(&db).unwrap();
    assert_eq!((receipt.ended_snapshots, receipt.deleted_records), (8, Some(1)));
    assert!(receipt.is_genuine());
    assert_eq!(grep(folder.path(), &needles), vec![]);
    for (notes, keys, snapshot) in &snapshots {
        for error in [
            notes.count(None).unwrap_err(),
            notes.search(&Search::text("here")).unwrap_err(),
            keys.get("a").unwrap_err(),
            snapshot.collection("notes").and_then(|notes| notes.count(None)).unwrap_err(),
        ] {
            assert!(ended_by_an_erasure(&error), "{error}");
        }
    }
    for transaction in transactions {
        let error = transaction.commit(Durability::Commit).unwrap_err();
        assert!(ended_by_an_erasure(&error), "{error}");
    }
    assert_eq!(db.stats().unwrap().snapshots, 0);
    for holder in &holders {
        let now = holder.tenant("birch").unwrap();
        assert_eq!(now.snapshot().unwrap().collection("notes").unwrap().count(None).unwrap(), 50);
        assert_eq!(now.kv("k").unwrap().get("a").unwrap().unwrap(), b"1");
    }
    drop(snapshots);
    // A tenant's end is no other's delay either.
    let last = served.tenant("birch").unwrap().snapshot().unwrap();
    let receipt = db.drop_tenant("amber").unwrap();
    assert_eq!(receipt.ended_snapshots, 1);
    assert!(ended_by_an_erasure(&last.kv("k").and_then(|keys| keys.get("a")).unwrap_err()));
}

#[test]
fn a_snapshot_that_ends_within_its_grace_is_waited_for_and_not_counted() {
    let (folder, db, needles) = deleted(ERASURE_GRACE_MAX);
    let snapshot = db.tenant("birch").unwrap().snapshot().unwrap();
    let erasing = std::thread::spawn(move || erase(&db));
    // The data that it shows cannot be gone, however far the erasure is.
    assert_eq!(snapshot.collection("notes").unwrap().count(None).unwrap(), 50);
    drop(snapshot);
    assert_eq!(erasing.join().unwrap().unwrap().ended_snapshots, 0);
    assert_eq!(grep(folder.path(), &needles), vec![]);
}

/// Reads a page, and goes on only when its snapshot has been ended.
struct Slow<'s> {
    snapshot: &'s Snapshot,
    ids: Vec<String>,
}

impl Visitor for Slow<'_> {
    fn record(&mut self, record: Passing<'_>) -> Result<()> {
        while !self.snapshot.has_ended() {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.ids.push(record.id.to_string());
        Ok(())
    }

    fn vector(&mut self, _: usize, _: &str, _: PassingVector<'_>) -> Result<()> {
        Ok(())
    }
}

#[test]
fn a_read_under_way_ends_whole_and_the_next_one_says_why_there_is_none() {
    let (folder, db, needles) = deleted(Duration::ZERO);
    let snapshot = db.tenant("amber").unwrap().snapshot().unwrap();
    let notes = snapshot.collection("notes").unwrap();
    let erasing = std::thread::spawn(move || erase(&db));
    let mut slow = Slow { snapshot: &snapshot, ids: Vec::new() };
    let scan = Scan { limit: 100, ..Scan::default() };
    let next = notes.visit(&scan, &Wanted { strings: true, ..Wanted::default() }, &mut slow).unwrap();
    assert_eq!((slow.ids.len(), next), (51, None), "as it was before the deletion");
    assert!(slow.ids.iter().any(|id| id.starts_with('~')));
    assert_eq!(erasing.join().unwrap().unwrap().ended_snapshots, 1);
    assert!(ended_by_an_erasure(&notes.count(None).unwrap_err()));
    assert_eq!(grep(folder.path(), &needles), vec![]);
}

#[test]
fn nobody_may_make_an_erasure_wait_for_more_than_a_minute() {
    let grace = ERASURE_GRACE_MAX + Duration::from_millis(1);
    let error = Database::in_memory(Options { erasure_grace: grace, ..quiet() }).map(drop).unwrap_err();
    assert!(error.kind == ErrorKind::Invalid && error.message.contains("at most 60 s"), "{error}");
}

/// Receipts of earlier versions, as they were written, keep their checksums.
#[test]
fn receipts_of_earlier_versions_are_genuine() {
    let db = Database::in_memory(quiet()).unwrap();
    let receipt = db.reclaim(None).unwrap();
    for (version, left_out) in
        [(2, vec!["\"ended_snapshots\":0,"]), (1, vec!["\"ended_snapshots\":0,", "\"tenant\":null,"])]
    {
        let unsigned = Receipt { version, checksum: String::new(), ..receipt.clone() };
        let mut text = serde_json::to_string(&unsigned).unwrap();
        for field in left_out {
            assert!(text.contains(field));
            text = text.replacen(field, "", 1);
        }
        let checksum = blake3::hash(text.as_bytes()).to_hex().to_string();
        let mut read: Receipt = serde_json::from_str(&text).unwrap();
        read.checksum = checksum;
        assert!(read.is_genuine());
        read.ended_snapshots = 1;
        assert!(!read.is_genuine());
    }
}
