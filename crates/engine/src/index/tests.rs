//! A collection treats a third index, of which it knows nothing, like every other index.

use std::any::Any;
use std::collections::BTreeSet;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use nuthatch_filter::Value;

use crate::backup::{BackupOptions, Backups, RestoreOptions};
use crate::collection::{Collection, CollectionOptions, Core};
use crate::database::Database;
use crate::embedder::EmbedderChoice;
use crate::index::DerivedIndex;
use crate::index::tags::{TAGS, Tags};
use crate::{Options, Record};

fn options() -> Options {
    Options { background: false, ..Options::default() }
}

fn open(folder: &Path) -> (Database, Collection) {
    let db = Database::open(folder, options()).unwrap();
    db.inner.registry.indexes.write().push(Tags::make);
    let without = CollectionOptions { embedder: EmbedderChoice::None, ..CollectionOptions::default() };
    let notes = db.collection("notes", without).unwrap();
    (db, notes)
}

/// Every third record is green, the others are red.
fn write(notes: &Collection, ids: Range<u32>) {
    let record = |id: u32| {
        let tag = if id.is_multiple_of(3) { "green" } else { "red" };
        Record::new(id.to_string()).text("a leaf").payload([("tag".to_string(), Value::Text(tag.into()))].into())
    };
    notes.upsert(ids.map(record).collect()).unwrap();
}

struct TagsOf(Arc<dyn DerivedIndex>);

impl Deref for TagsOf {
    type Target = Tags;

    fn deref(&self) -> &Tags {
        let index: &dyn Any = &*self.0;
        index.downcast_ref().expect("the index of tags")
    }
}

fn tags(core: &Core) -> TagsOf {
    let index = core.indexes.iter().find(|index| index.id() == TAGS);
    TagsOf(index.expect("the options name it").clone())
}

fn count(notes: &Collection, tag: &str) -> usize {
    tags(&notes.core).find(&*notes.core, tag).unwrap().len()
}

/// Rows that the file shows by itself.
fn in_file(notes: &Collection, tag: &str) -> usize {
    let body = std::fs::read(Tags::file(&*notes.core)).unwrap();
    String::from_utf8_lossy(&body).matches(&format!("{tag:?}")).count()
}

fn damage(notes: &Collection) {
    let path = Tags::file(&*notes.core);
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 2;
    bytes[last] ^= 0x20;
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_third_index_is_sealed_with_the_others_and_survives_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let (db, notes) = open(folder.path());
    write(&notes, 0..30);
    assert_eq!((count(&notes, "green"), Tags::file(&*notes.core).exists()), (10, false), "from the log");
    assert!(notes.wait_until_indexed(None).unwrap());
    assert_eq!((count(&notes, "green"), in_file(&notes, "green")), (10, 10));
    write(&notes, 30..60);
    notes.delete(&["0", "1"]).unwrap();
    let kept: BTreeSet<u64> = tags(&notes.core).find(&*notes.core, "green").unwrap();
    drop((notes, db));
    let (_db, notes) = open(folder.path());
    assert!(notes.info().degraded.is_empty());
    assert_eq!(tags(&notes.core).find(&*notes.core, "green").unwrap(), kept);
    assert_eq!((kept.len(), count(&notes, "red")), (19, 39));
    assert!(tags(&notes.core).rebuilds.lock().is_empty());
}

#[test]
fn the_log_keeps_what_one_index_has_not_applied() {
    let folder = tempfile::tempdir().unwrap();
    let (db, notes) = open(folder.path());
    write(&notes, 0..30);
    tags(&notes.core).refuses.store(true, Ordering::SeqCst);
    notes.wait_until_indexed(None).unwrap_err();
    // The others are done, and are not to take the log from the third.
    notes.core.trim().unwrap();
    write(&notes, 30..60);
    drop((notes, db));
    let (_db, notes) = open(folder.path());
    assert!(notes.info().degraded.is_empty());
    assert_eq!((count(&notes, "green"), count(&notes, "red")), (20, 40));
    assert!(notes.wait_until_indexed(None).unwrap());
    assert_eq!((count(&notes, "green"), in_file(&notes, "green")), (20, 20));
    assert!(tags(&notes.core).rebuilds.lock().is_empty());
}

#[test]
fn a_damaged_third_index_is_named_passed_by_quarantined_and_rebuilt() {
    let folder = tempfile::tempdir().unwrap();
    let (db, notes) = open(folder.path());
    write(&notes, 0..30);
    notes.wait_until_indexed(None).unwrap();
    damage(&notes);
    let found = db.doctor().unwrap().findings;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].path.ends_with("tags/MANIFEST"), "{found:?}");
    // A question meets it, is answered from the store, and leaves the others in use.
    assert_eq!(count(&notes, "green"), 10);
    let degraded = notes.info().degraded;
    assert_eq!(degraded.len(), 1, "{degraded:?}");
    assert!(degraded[0].starts_with("tags are searched exactly"), "{degraded:?}");
    write(&notes, 30..60);
    assert_eq!(count(&notes, "green"), 20);
    assert_eq!(db.rebuild_damaged().unwrap(), ["notes"]);
    assert_eq!((count(&notes, "green"), in_file(&notes, "green")), (20, 20));
    assert!(db.doctor().unwrap().is_well());
    let aside: Vec<_> = std::fs::read_dir(folder.path().join("quarantine")).unwrap().flatten().collect();
    assert_eq!(aside.len(), 1, "the index of tags alone: {aside:?}");
    assert!(aside[0].path().join("MANIFEST").exists() && aside[0].path().join("WHY.txt").exists());
    assert_eq!(tags(&notes.core).rebuilds.lock().len(), 1);
}

#[test]
fn a_third_index_that_is_damaged_or_behind_when_it_is_opened_is_rebuilt() {
    let folder = tempfile::tempdir().unwrap();
    let (db, notes) = open(folder.path());
    write(&notes, 0..30);
    notes.wait_until_indexed(None).unwrap();
    damage(&notes);
    drop((notes, db));
    let (db, notes) = open(folder.path());
    assert_eq!((notes.info().degraded.len(), count(&notes, "green")), (1, 10));
    notes.wait_until_indexed(None).unwrap();
    assert_eq!((notes.info().degraded.len(), count(&notes, "green"), in_file(&notes, "green")), (0, 10, 10));
    drop((notes, db));
    // A program that does not know the index writes, and trims the log.
    let other = Database::open(folder.path(), Options { background: false, ..Options::default() }).unwrap();
    let notes = other.existing_collection("notes").unwrap();
    write(&notes, 30..60);
    notes.wait_until_indexed(None).unwrap();
    drop((notes, other));
    let (_db, notes) = open(folder.path());
    let degraded = notes.info().degraded;
    assert!(degraded.len() == 1 && degraded[0].contains("change log"), "{degraded:?}");
    notes.wait_until_indexed(None).unwrap();
    assert_eq!((notes.info().degraded.len(), count(&notes, "green")), (0, 20));
}

#[test]
fn reclaiming_leaves_no_deleted_bytes_in_a_third_index() {
    let folder = tempfile::tempdir().unwrap();
    let (db, notes) = open(folder.path());
    write(&notes, 0..30);
    notes.wait_until_indexed(None).unwrap();
    notes.delete_where("tag = 'green'").unwrap();
    notes.wait_until_indexed(None).unwrap();
    assert_eq!((count(&notes, "green"), in_file(&notes, "green")), (0, 10), "removed, and still on the disk");
    let receipt = db.reclaim(Some("notes")).unwrap();
    assert_eq!((in_file(&notes, "green"), in_file(&notes, "red")), (0, 20));
    assert!(receipt.written.iter().any(|file| file.path.ends_with("tags/MANIFEST")), "{receipt:?}");
    assert!(receipt.removed.iter().any(|file| file.path.ends_with("tags/MANIFEST")), "{receipt:?}");
    assert_eq!((count(&notes, "green"), count(&notes, "red")), (0, 20));
}

#[test]
fn a_third_index_is_backed_up_unless_it_is_damaged() {
    let (folder, place, targets) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (db, notes) = open(folder.path());
    write(&notes, 0..30);
    notes.wait_until_indexed(None).unwrap();
    let restored = |name: &str| {
        let target = targets.path().join(name);
        Backups::at(place.path())
            .restore(&target, RestoreOptions { options: options(), ..RestoreOptions::default() })
            .unwrap();
        open(&target)
    };
    let report = db.backup(place.path(), BackupOptions::default()).unwrap();
    assert!(report.backup.left_out.is_empty(), "{:?}", report.backup.left_out);
    let (_db, copy) = restored("sound");
    assert_eq!((copy.info().degraded.len(), count(&copy, "green"), in_file(&copy, "green")), (0, 10, 10));
    assert!(tags(&copy.core).rebuilds.lock().is_empty(), "it came with the backup");

    damage(&notes);
    let report = db.backup(place.path(), BackupOptions::default()).unwrap();
    assert!(matches!(&report.backup.left_out[..], [tags] if tags.contains("/tags was left out")), "{report:?}");
    assert_eq!(notes.info().degraded.len(), 1, "and is to be rebuilt here");
    let (_db, copy) = restored("damaged");
    copy.wait_until_indexed(None).unwrap();
    assert_eq!((copy.info().degraded.len(), count(&copy, "green")), (0, 10));
    assert_eq!(tags(&copy.core).rebuilds.lock().len(), 1);
}

#[test]
fn what_a_third_index_holds_in_memory_is_counted() {
    let db = Database::in_memory(options()).unwrap();
    db.inner.registry.indexes.write().push(Tags::make);
    let without = CollectionOptions { embedder: EmbedderChoice::None, ..CollectionOptions::default() };
    let notes = db.collection("notes", without).unwrap();
    write(&notes, 0..30);
    notes.wait_until_indexed(None).unwrap();
    let core = &notes.core;
    let own: u64 = {
        let state = core.state.read();
        let own = core.indexes.iter().filter(|index| index.id() != TAGS);
        own.map(|index| index.resident_bytes(&state)).sum()
    };
    assert_eq!(core.resident_bytes(), own + "greenred".len() as u64);
    let memory = db.stats().unwrap().memory;
    assert_eq!(memory.text_index_bytes + memory.segment_bytes, core.resident_bytes());
}
