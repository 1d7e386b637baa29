//! The segments as a derived index: vectors and the columns of the payloads.
//!
//! A segment itself is defined in `state/segment.rs`.

mod build;
mod merge;
mod version_edit;

use std::path::PathBuf;
use std::sync::Arc;

use nuthatch_segment::verify_sealed;
use roaring::RoaringTreemap;

pub(crate) use merge::{Eagerness, merge};
pub(crate) use version_edit::close_retired;
use version_edit::{retire, swap_segments};

use crate::below::files_below;
use crate::index::{DerivedIndex, EndSnapshots, IndexId, Indexed, Reach, Replayed, SEGMENTS};
use crate::state::manifest::{MANIFEST_FILE, Manifest};
use crate::state::segment::{Segment, remove_checkpoints, rows_at_once};
use crate::state::{SegmentView, State, contradiction};
use crate::{Error, Result};

pub(super) struct Segments;

impl DerivedIndex for Segments {
    fn id(&self) -> IndexId {
        SEGMENTS
    }

    fn open(&self, collection: &dyn Indexed, reach: &Reach, state: &mut State) -> Result<Option<String>> {
        let (segments, applied, next) = load(collection)?;
        let misses = reach.misses(applied);
        if misses.is_none() {
            (state.segments, state.segments_applied, state.next_segment) = (segments, applied, next);
        }
        Ok(misses)
    }

    fn applied(&self, state: &State) -> Option<u64> {
        state.is_sound(SEGMENTS).then_some(state.segments_applied)
    }

    fn replay(&self, state: &mut State, row: &Replayed<'_>) -> Result<()> {
        Arc::make_mut(&mut state.mutable).insert(row.row, &row.stored.payload, row.vectors, row.fields)
    }

    fn seal(&self, collection: &dyn Indexed) -> Result<()> {
        build::seal_memtable(collection)
    }

    fn rebuild(&self, collection: &dyn Indexed, why: &str) -> Result<()> {
        // A merge that is under way ends at its next look round: what it merges is to be thrown away.
        let _merging = collection.index_work().merging.lock();
        let _work = collection.index_work().work.lock();
        if collection.is_dropped() || collection.is_sound(SEGMENTS) {
            return Ok(()); // another caller was first
        }
        let folder = collection.segments_folder();
        collection.runtime().quarantine(&folder, why)?;
        std::fs::create_dir_all(&folder).map_err(|error| Error::io(&folder, &error))?;
        let (rows, upto) = {
            // No write between listing the rows and noting the sequence.
            let counters = collection.pause_writes();
            let rows = collection.all_rows()?;
            let mut state = collection.state().write();
            state.segments.clear();
            state.mutable = Arc::default();
            state.immutable = None;
            state.tombstones_while_sealing = Some(Arc::default());
            (rows, counters.sequence)
        };
        let mut built = Vec::new();
        // Slow work comes later, in a merge that can be interrupted.
        let part_rows = rows_at_once(collection.fields().dim_max(), collection.runtime().options.build_memory_bytes);
        let mut rest = rows.into_iter();
        loop {
            let part: RoaringTreemap = rest.by_ref().take(part_rows as usize).collect();
            if part.is_empty() {
                break;
            }
            collection.runtime().check_open()?;
            let segment = build::build(collection, build::take_segment_id(collection), &part, None, false)
                .inspect_err(|_| {
                    std::fs::remove_dir_all(&folder).ok();
                })?;
            if !segment.rows().is_empty() {
                built.push(segment);
            }
        }
        // They are broken until then, so that searches go by them when the manifest is written.
        swap_segments(collection, |state| {
            let removed = state.tombstones_while_sealing.take().unwrap_or_default();
            state.segments = built.into_iter().map(|segment| SegmentView::new(segment, &removed)).collect();
            Some(upto)
        })?;
        collection.state().write().mend(SEGMENTS);
        Ok(())
    }

    fn verify(&self, collection: &dyn Indexed) -> Result<Vec<Error>> {
        let manifest = verify_sealed(&collection.segments_folder().join(MANIFEST_FILE)).err().map(Error::from);
        let segments: Vec<_> = collection.state().read().segments.iter().map(|view| view.segment.clone()).collect();
        Ok(manifest.into_iter().chain(segments.iter().flat_map(|segment| segment.verify())).collect())
    }

    fn files(&self, collection: &dyn Indexed) -> Result<Vec<PathBuf>> {
        let folder = collection.segments_folder();
        let mut files = vec![folder.join(MANIFEST_FILE)];
        let views = collection.state().read().segments.clone();
        for view in &views {
            let place = folder.join(view.segment.id.to_string());
            // One that is missing must not be passed over.
            std::fs::metadata(&place).map_err(|error| Error::io(&place, &error))?;
            files.extend(files_below(&place)?.into_keys());
        }
        Ok(files)
    }

    fn reclaim(&self, collection: &dyn Indexed, _: &mut dyn EndSnapshots) -> Result<()> {
        let upto = {
            // Dead rows that a running merge carries along end up in the segment that it makes.
            let _merging = collection.index_work().merging.lock();
            remove_checkpoints(&collection.segments_folder(), &collection.fields())?;
            collection.state().read().next_segment
        };
        while merge(collection, Eagerness::Dead { upto })? {}
        Ok(())
    }

    fn resident_bytes(&self, state: &State) -> u64 {
        state.segment_bytes()
    }
}

/// The segments that the manifest names, the last change in it, and the next segment's number.
fn load(collection: &dyn Indexed) -> Result<(Vec<SegmentView>, u64, u64)> {
    let folder = collection.segments_folder();
    std::fs::create_dir_all(&folder).map_err(|error| Error::io(&folder, &error))?;
    let Some(manifest) = Manifest::read(&folder)? else {
        return Ok((Vec::new(), 0, 0));
    };
    let mut segments = Vec::with_capacity(manifest.segments.len());
    let strange = |what: &str| Error::corrupt(&folder, format!("the manifest contradicts its segments: {what}"));
    for entry in &manifest.segments {
        let place = folder.join(entry.id.to_string());
        let segment = Segment::open(&place, entry.id, collection.cache(), collection.runtime().options.access())?;
        let dead =
            entry.dead().ok_or_else(|| Error::corrupt(&folder, "the manifest's deleted rows cannot be decoded"))?;
        if segment.rows().len() != entry.rows {
            return Err(strange("a segment has other rows than it says"));
        }
        segments.push(SegmentView { segment, dead: Arc::new(dead) });
    }
    segments.sort_by_key(|view| view.segment.rows().min());
    if let Some(what) = contradiction(&segments, manifest.next_segment) {
        return Err(strange(what));
    }
    remove_unnamed(collection, &manifest);
    Ok((segments, manifest.applied, manifest.next_segment))
}

/// Segments that a killed build or merge left behind. Failing to remove them costs space, nothing else.
fn remove_unnamed(collection: &dyn Indexed, manifest: &Manifest) {
    let folder = collection.segments_folder();
    for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Ok(id) = name.parse::<u64>()
            && !manifest.segments.iter().any(|segment| segment.id == id)
        {
            std::fs::remove_dir_all(entry.path()).ok();
        }
    }
}
