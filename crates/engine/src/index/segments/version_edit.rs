//! Changing the list of segments: in memory at once, on disk afterwards.
//!
//! **Useful for** sealing, merging and rebuilding. Searches wait for the swap of a few pointers; the manifest is written, synced and
//! renamed while they go on. **Not for** rows that die, which are in the log until the next manifest.
//!
//! **Invariant:** manifests are written one at a time, in the order of the swaps that they record; the state's applied
//! change is in one. Between a swap and its manifest the disk is merely behind, as between two swaps: opening replays
//! the log.

use std::sync::Arc;

use crate::Result;
use crate::index::Indexed;
use crate::state::manifest::{Manifest, SegmentEntry};
use crate::state::segment::Segment;
use crate::state::{SegmentView, State, contradiction};

/// Changes the segments, and writes down what they are then. `change` gives the last change that they account for together with
/// the dead rows; `None`: nothing is to be written, and false comes back.
///
/// No index may be durable before what it shows is, and it shows more than that: what was removed until now is dead, or was not
/// there any more when its segment was built. After a power cut the store might have it again. So the store is synced first.
pub(super) fn swap_segments(collection: &dyn Indexed, change: impl FnOnce(&mut State) -> Option<u64>) -> Result<bool> {
    let _manifest = collection.index_work().manifest.lock();
    let (applied, next_segment, views) = {
        let mut state = collection.state().write();
        let before = state.segments_applied;
        let Some(applied) = change(&mut state) else { return Ok(false) };
        assert!((before..=state.sequence).contains(&applied), "manifests follow the order of the swaps");
        assert_eq!(contradiction(&state.segments, state.next_segment), None, "segments ascend and share no row");
        (applied, state.next_segment, state.segments.clone())
    };
    collection.runtime().crash_point("manifest");
    collection.runtime().store()?.sync_all()?;
    let entry = |view: &SegmentView| SegmentEntry::new(view.segment.id, view.segment.rows().len(), &view.dead);
    let segments = views.iter().map(entry).collect();
    Manifest { version: 0, applied, next_segment, segments }.write(&collection.segments_folder())?;
    collection.state().write().segments_applied = applied;
    Ok(true)
}

/// Takes segments that the state no longer has. The last holder of a segment closes its files, and the system then frees the bytes of
/// deleted ones. That takes time for large files, and must not happen in a search.
pub(super) fn retire(collection: &dyn Indexed, segments: impl IntoIterator<Item = Arc<Segment>>) {
    collection.index_work().retired.lock().extend(segments);
    close_retired(collection);
}

/// Closes the segments that no search and no snapshot reads any more.
pub(crate) fn close_retired(collection: &dyn Indexed) {
    // Nobody finds one in the state, so a count of one is final.
    let unread: Vec<_> =
        collection.index_work().retired.lock().extract_if(.., |segment| Arc::strong_count(segment) == 1).collect();
    drop(unread);
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use roaring::RoaringBitmap;

    use super::close_retired;
    use crate::collection::{Collection, CollectionOptions, Search};
    use crate::database::Database;
    use crate::embedder::EmbedderChoice;
    use crate::index::Indexed as _;
    use crate::state::manifest::{Manifest, SegmentEntry};
    use crate::{Options, Record};

    fn opened(db: &Database) -> Collection {
        let options = CollectionOptions { embedder: EmbedderChoice::None, ..Default::default() };
        db.collection("notes", options).unwrap()
    }

    fn notes(db: &Database) -> Collection {
        let notes = opened(db);
        write(&notes, 0..20);
        notes.wait_until_indexed(None).unwrap();
        notes
    }

    fn write(notes: &Collection, ids: std::ops::Range<usize>) {
        notes.upsert(ids.map(|id| Record::new(id.to_string()).vector(vec![1.0, id as f32])).collect()).unwrap();
    }

    /// Runs a search elsewhere, and is done when it is: a search that waits for the caller fails after a long time.
    fn search(notes: &Collection) -> usize {
        let (notes, (done, hits)) = (notes.clone(), channel());
        std::thread::spawn(move || {
            done.send(notes.search(&Search::vector(vec![1.0, 3.0]).limit(40)).unwrap().hits.len())
        });
        hits.recv_timeout(Duration::from_secs(60)).expect("a search waits")
    }

    #[test]
    fn a_search_waits_neither_for_the_writer_nor_for_a_manifest() {
        let db = Database::in_memory(Options { background: false, ..Options::default() }).unwrap();
        let notes = notes(&db);
        {
            let _writer = notes.core.writer.lock();
            assert_eq!(search(&notes), 20);
        }
        let _manifest = notes.core.index_work.manifest.lock();
        write(&notes, 20..30);
        assert_eq!(search(&notes), 30);
    }

    #[test]
    fn a_replaced_segment_is_closed_when_its_last_reader_is_gone() {
        let db = Database::in_memory(Options { background: false, ..Options::default() }).unwrap();
        let notes = notes(&db);
        let core = &notes.core;
        let reader = core.state.read().view();
        write(&notes, 20..30);
        assert!(notes.optimize(None).unwrap());
        assert_eq!(core.index_work.retired.lock().len(), 1, "the one that somebody reads");
        drop(reader);
        close_retired(&**core);
        assert!(core.index_work.retired.lock().is_empty());
    }

    #[test]
    fn a_manifest_that_contradicts_its_segments_is_damage() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Database::open(folder.path(), Options { background: false, ..Options::default() }).unwrap();
        let segments = {
            let db = open();
            notes(&db).core.segments_folder()
        };
        type Change = fn(&mut Manifest);
        let changes: [(&str, Change); 4] = [
            ("other rows", |manifest| manifest.segments[0].rows += 1),
            ("not given to it", |manifest| manifest.next_segment = 0),
            ("share rows", |manifest| {
                let SegmentEntry { id, rows, ref dead } = manifest.segments[0];
                manifest.segments.push(SegmentEntry { id, rows, dead: dead.clone() });
            }),
            ("none of its segment", |manifest| {
                manifest.segments[0].dead = SegmentEntry::new(1, 20, &RoaringBitmap::from_iter([20])).dead;
            }),
        ];
        for (what, change) in changes {
            let read = || Manifest::read(&segments).unwrap().unwrap();
            let mut manifest = read();
            change(&mut manifest);
            manifest.write(&segments).unwrap();
            let db = open();
            let degraded = opened(&db).info().degraded;
            assert!(degraded.len() == 1 && degraded[0].contains(what), "{what}: {degraded:?}");
            assert_eq!(db.rebuild_damaged().unwrap(), ["notes"]);
            assert!(opened(&db).info().degraded.is_empty());
            assert_eq!(search(&opened(&db)), 20);
        }
    }
}
