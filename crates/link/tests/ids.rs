//! Hits that carry nothing but their ids: named by the segments, and the same as those that are read from the store.

mod support;

use std::path::{Path, PathBuf};

use nuthatch_link::*;
use support::{DIM, no_embedder, quiet, random_kept, record};

const NOTHING: Include = Include { text: false, payload: false, vector: false };

/// Sealed rows, of which some are deleted or replaced, and fresh ones.
fn filled(db: &Database) -> Collection {
    let mut dice = fastrand::Rng::with_seed(11);
    let notes = db.collection("notes", no_embedder()).unwrap();
    let mut some = |from: usize, count: usize| {
        let one = |n: usize| record(&format!("note/{n}"), &random_kept(&mut dice, true));
        (from..from + count).map(one).collect::<Vec<_>>()
    };
    for from in [0, 150] {
        notes.upsert(some(from, 150)).unwrap();
        notes.wait_until_indexed(None).unwrap();
    }
    notes.upsert(some(100, 20)).unwrap();
    notes.delete_prefix("note/2").unwrap();
    notes
}

/// Asks each question for everything and for ids alone. Gives the ids that were found by a vector; words are weighed by what is
/// deleted and not merged away, too.
fn assert_same_hits(records: &Records<'_>, note: &str) -> Vec<String> {
    let text = || Search::text("bird stone river");
    let vector = |at: f32| Search::vector((0..DIM).map(|n| (n as f32 * at).sin()).collect());
    let hybrid = Search { vector: vector(0.7).vector, ..text() };
    let mut grouped = vector(0.3);
    grouped.refine.group_by = Some("team".into());
    let filtered = vector(0.9).filter("year >= 2012").unwrap();
    let mut ids = Vec::new();
    for (at, asked) in [text().mode(Mode::Text), vector(0.5), hybrid, grouped, filtered].into_iter().enumerate() {
        let asked = asked.limit(40);
        let whole = records.search(&asked).unwrap();
        let bare = records.search(&Search { include: NOTHING, ..asked }).unwrap();
        assert_eq!((whole.hits.len(), whole.next_offset), (bare.hits.len(), bare.next_offset), "{note}: question {at}");
        assert!(!whole.hits.is_empty(), "{note}: question {at}");
        for (whole, bare) in whole.hits.into_iter().zip(bare.hits) {
            let expected = Hit { text: None, context: None, payload: Payload::new(), ..whole };
            assert_eq!(bare, expected, "{note}: question {at}");
            ids.extend((at == 1).then_some(bare.id));
        }
    }
    ids
}

fn ids_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(ids_files(&path)),
            path if path.ends_with("ids") => found.push(path),
            _ => {}
        }
    }
    found
}

#[test]
fn segments_name_the_hits_that_the_store_would_name() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    let notes = filled(&db);
    let ids = assert_same_hits(&notes, "sealed and fresh rows");
    assert!(ids.iter().any(|id| id.starts_with("note/10")), "a row that was replaced: {ids:?}");
    assert!(ids.iter().all(|id| !id.starts_with("note/2")), "none that was deleted: {ids:?}");
    notes.optimize(None).unwrap();
    assert_eq!(assert_same_hits(&notes, "merged"), ids);
    db.close().unwrap();

    let db = Database::open(folder.path(), quiet()).unwrap();
    assert_eq!(assert_same_hits(&db.existing_collection("notes").unwrap(), "opened again"), ids);
    db.close().unwrap();

    // As an earlier build leaves its segments.
    let files = ids_files(folder.path());
    assert!(!files.is_empty());
    files.iter().for_each(|path| std::fs::remove_file(path).unwrap());
    let db = Database::open(folder.path(), quiet()).unwrap();
    let notes = db.existing_collection("notes").unwrap();
    assert_eq!(assert_same_hits(&notes, "without the files"), ids);
    assert!(db.doctor().unwrap().is_well());
    notes.delete_prefix("note/1").unwrap();
    notes.optimize(None).unwrap();
    assert!(!ids_files(folder.path()).is_empty(), "merging makes them");
    assert_same_hits(&notes, "merged again");
}

#[test]
fn a_snapshot_names_what_is_deleted_and_merged_away_since() {
    let db = Database::in_memory(quiet()).unwrap();
    let notes = filled(&db);
    let snapshot = db.snapshot().unwrap();
    let then = snapshot.collection("notes").unwrap();
    let ids = assert_same_hits(&then, "snapshot");
    notes.delete_prefix("note/1").unwrap();
    notes.optimize(None).unwrap();
    assert_eq!(assert_same_hits(&then, "snapshot, later"), ids);
    let now = assert_same_hits(&notes, "now");
    assert!(ids.iter().any(|id| id.starts_with("note/1")) && now.iter().all(|id| !id.starts_with("note/1")));
}

#[test]
fn damaged_ids_are_passed_by_and_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), quiet()).unwrap();
    let expected = assert_same_hits(&filled(&db), "sound");
    db.close().unwrap();
    for at in [40, -9] {
        for path in ids_files(folder.path()) {
            let mut bytes = std::fs::read(&path).unwrap();
            let at = if at < 0 { bytes.len() - 9 } else { at as usize };
            bytes[at] ^= 4;
            std::fs::write(&path, bytes).unwrap();
        }
        let db = Database::open(folder.path(), quiet()).unwrap();
        let notes = db.existing_collection("notes").unwrap();
        let bare = Search { include: NOTHING, ..Search::vector(vec![0.1; DIM]) };
        let found = notes.search(&bare).unwrap();
        assert!(!found.degraded.is_empty(), "damage at {at} is noticed");
        assert_eq!(assert_same_hits(&notes, "damaged"), expected);
        notes.wait_until_indexed(None).unwrap();
        assert!(notes.search(&bare).unwrap().degraded.is_empty(), "mended");
        assert_eq!(assert_same_hits(&notes, "mended"), expected);
        assert!(db.doctor().unwrap().is_well());
        db.close().unwrap();
    }
}
