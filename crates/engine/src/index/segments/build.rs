//! Sealing the memtable into a segment, and building one. Never on the write path.

use std::ops::ControlFlow;
use std::sync::Arc;

use roaring::RoaringTreemap;

use crate::Result;
use crate::index::segments::swap_segments;
use crate::index::{Indexed, SEGMENTS};
use crate::runtime::Throttle;
use crate::state::building::Building;
use crate::state::segment::{Build, Segment};
use crate::state::{ImmutableMemtable, SegmentView};

/// Seals the fresh rows into a segment; drops them when the segments are broken, since a rebuild finds them in the store.
pub(super) fn seal_memtable(collection: &dyn Indexed) -> Result<()> {
    let immutable = {
        let mut state = collection.state().write();
        if state.immutable.is_none() {
            let rows = std::mem::take(&mut state.mutable);
            state.immutable = Some(Arc::new(ImmutableMemtable { rows, upto: state.sequence }));
            state.tombstones_while_sealing = Some(Arc::default());
        }
        // Otherwise one was left by a flush that failed: that one goes first.
        state.immutable.clone().expect("frozen just now")
    };
    let sound = collection.is_sound(SEGMENTS);
    let segment = match immutable.rows.is_empty() || !sound {
        true => None,
        false => {
            let id = take_segment_id(collection);
            Some(build(collection, id, &immutable.rows.rows(), None, false)?)
        }
    };
    collection.runtime().crash_point("seal");
    let swapped = swap_segments(collection, |state| {
        let removed = state.tombstones_while_sealing.take().unwrap_or_default();
        if let Some(segment) = segment
            && !segment.rows().is_empty()
        {
            state.segments.push(SegmentView::new(segment, &removed));
        }
        state.immutable = None;
        sound.then_some(immutable.upto)
    });
    // Writers have room from here on; texts, and tidying up, are nothing to wait for.
    collection.runtime().background.relieved.notify_all();
    swapped.map(drop)
}

pub(super) fn take_segment_id(collection: &dyn Indexed) -> u64 {
    let mut state = collection.state().write();
    state.next_segment += 1;
    state.next_segment
}

/// Builds a segment; on top of the graph of `previous`, if that has one. `at_leisure`: see [`Build`].
pub(super) fn build(
    collection: &dyn Indexed,
    id: u64,
    rows: &RoaringTreemap,
    previous: Option<&Segment>,
    at_leisure: bool,
) -> Result<Arc<Segment>> {
    let fields = collection.fields();
    let store = collection.runtime().store()?;
    let mut told = false;
    let mut throttle = Throttle::default();
    let progress = &mut |progress| {
        told = true;
        throttle.rest(collection.runtime(), &|| collection.is_waited_for());
        collection.index_work().building.lock().get_or_insert_with(|| Building::begin(progress)).update(progress);
        // A merge of what a rebuild is going to throw away is in its way.
        let unwanted = collection.runtime().background.is_stopping()
            || collection.is_dropped()
            || previous.is_some() && !collection.is_sound(SEGMENTS);
        if unwanted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let build = Build {
        store: &*store,
        shard: collection.shard(),
        fields: &fields,
        cache: collection.cache(),
        working: &collection.runtime().memory.working,
        access: collection.runtime().options.access(),
        threads: collection.runtime().options.build_threads,
        memory_bytes: collection.runtime().options.build_memory_bytes,
        at_leisure,
        previous,
        // Only merges have checkpoints: an interrupted build of another kind starts over.
        checkpoints: previous.map(|_| collection.segments_folder()),
        progress,
    };
    let folder = collection.segments_folder().join(id.to_string());
    let built = Segment::build(&folder, id, rows, build).inspect_err(|_| {
        // The space is wanted back, above all when it was a full disk that stopped it; the next open removes the rest.
        std::fs::remove_dir_all(&folder).ok();
    });
    if told {
        *collection.index_work().building.lock() = None;
    }
    built
}
