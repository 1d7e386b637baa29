//! Merging segments. Never on the write path.

use std::sync::Arc;

use nuthatch_segment::Access;
use roaring::RoaringTreemap;

use crate::index::segments::build::{build, take_segment_id};
use crate::index::segments::{retire, swap_segments};
use crate::index::{Indexed, SEGMENTS};
use crate::state::SegmentView;
use crate::state::segment::{FLAT_ROWS_MAX, Segment, remove_checkpoints, rows_at_once, rows_max};
use crate::{Error, Result};

/// Adjacent segments that are merged when together they still make one.
const MERGE_FAN_IN: usize = 4;
/// Share of dead rows from which a segment is rewritten, in percent.
const DEAD_PERCENT_MAX: u64 = 25;

/// Merges once, if there is something worth merging. True when it did. Sealing goes on meanwhile.
pub(crate) fn merge(collection: &dyn Indexed, eagerness: Eagerness) -> Result<bool> {
    let _merging = collection.index_work().merging.lock();
    if collection.is_dropped() {
        return Ok(false);
    }
    let memory_bytes = collection.runtime().options.build_memory_bytes;
    let dim = collection.fields().dim_max();
    let room = Room { rows_max: rows_max(dim, memory_bytes), rows_at_once: rows_at_once(dim, memory_bytes) };
    // A hop that is read costs what two cost that are mapped: so small a graph saves too little then.
    let at_leisure = eagerness.is_leisurely() && collection.runtime().options.access() != Access::Read;
    let (chosen, rows) = {
        let mut state = collection.state().write();
        if !state.is_sound(SEGMENTS) {
            return Ok(false);
        }
        let range = choose_merge(&state.segments, &room, eagerness)
            .or_else(|| choose_graphless(&state.segments, memory_bytes).filter(|_| at_leisure));
        let Some(range) = range else { return Ok(false) };
        state.tombstones_while_merging = Some(RoaringTreemap::new());
        let views = state.segments[range].to_vec();
        let rows = views.iter().fold(RoaringTreemap::new(), |all, view| {
            let dead = view.segment.rows_of(&view.dead);
            all | (view.segment.rows() - dead)
        });
        (views, rows)
    };
    let id = take_segment_id(collection);
    let merged = match rows.is_empty() {
        true => None,
        false => {
            let largest = chosen.iter().max_by_key(|view| view.live()).map(|view| &*view.segment);
            // A merge keeps the graph of its largest segment: the graph is most of the work.
            let at_leisure = (at_leisure || largest.is_some_and(Segment::has_graph)) && rows.len() <= room.rows_max;
            let built = build(collection, id, &rows, largest, at_leisure);
            Some(built.inspect_err(|_| collection.state().write().tombstones_while_merging = None)?)
        }
    };
    collection.runtime().crash_point("merge");
    let swapped = swap_segments(collection, |state| {
        let removed = state.tombstones_while_merging.take().unwrap_or_default();
        // Sealing adds segments behind the chosen ones; a rebuild repairs damage that is noticed during the merge.
        let first = chosen.first().map_or(0, |view| view.segment.id);
        let at = state.segments.iter().position(|view| view.segment.id == first);
        let at = at.filter(|_| state.is_sound(SEGMENTS))?;
        let merged = merged.filter(|segment| !segment.rows().is_empty());
        let merged = merged.map(|segment| SegmentView::new(segment, &removed));
        state.segments.splice(at..at + chosen.len(), merged);
        Some(state.segments_applied)
    })?;
    if !swapped {
        return Ok(false);
    }
    remove_checkpoints(&collection.segments_folder(), &collection.fields()).ok(); // one that stays is overwritten by the next
    let chosen: Vec<Arc<Segment>> = chosen.into_iter().map(|view| view.segment).collect();
    let removed = chosen.iter().try_for_each(|segment| {
        let folder = collection.segments_folder().join(segment.id.to_string());
        // Open handles keep reading; the names go now.
        std::fs::remove_dir_all(&folder).map_err(|error| Error::io(&folder, &error))
    });
    retire(collection, chosen);
    removed?;
    collection.runtime().fit();
    nuthatch_heap::give_back();
    Ok(true)
}

/// How much a merge has to gain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Eagerness {
    /// While rows keep coming: a large segment is rewritten when it would grow by 50%.
    Busy,
    /// When there is nothing else to do: by 12.5%.
    Idle,
    /// On request: whatever fits together.
    All,
    /// To reclaim deleted bytes: rewrites each segment up to this one that has a dead row, by itself.
    Dead { upto: u64 },
}

impl Eagerness {
    /// Nobody is kept waiting, and it will not be done again soon.
    fn is_leisurely(self) -> bool {
        matches!(self, Self::Idle | Self::All)
    }

    /// The size that the other segments need, in percent of the largest, to be merged into it; `None`: they never are. A merge
    /// keeps the graph of its largest segment, unless its graph has to be built in shards.
    fn growth_percent_min(self, in_shards: bool) -> Option<u64> {
        match (self, in_shards) {
            (Self::Busy, false) => Some(50),
            (Self::Busy, true) => None,
            (Self::Idle, false) => Some(12),
            (Self::Idle, true) => Some(50),
            (Self::All, true) => Some(10),
            (Self::All, false) | (Self::Dead { .. }, _) => Some(0),
        }
    }
}

/// How large a segment may become.
struct Room {
    /// Rows at most.
    rows_max: u64,
    /// From more rows on its graph is built in shards.
    rows_at_once: u64,
}

/// A segment to rewrite with a graph.
fn choose_graphless(segments: &[SegmentView], memory_bytes: u64) -> Option<std::ops::Range<usize>> {
    let at = segments.iter().position(|view| view.segment.wants_graph(view.live(), memory_bytes))?;
    Some(at..at + 1)
}

/// A segment with too many dead rows, or the longest run of neighbours that is worth merging and has room in one.
fn choose_merge(segments: &[SegmentView], room: &Room, eagerness: Eagerness) -> Option<std::ops::Range<usize>> {
    if let Eagerness::Dead { upto } = eagerness {
        let dead = segments.iter().enumerate().filter(|(_, view)| !view.dead.is_empty() && view.segment.id <= upto);
        // The oldest first: what is rewritten gets a new number, so that everything has its turn while rows go on dying.
        return dead.min_by_key(|(_, view)| view.segment.id).map(|(at, _)| at..at + 1);
    }
    let decayed = segments.iter().position(|view| view.dead.len() * 100 > view.segment.rows().len() * DEAD_PERCENT_MAX);
    if let Some(at) = decayed {
        return Some(at..at + 1);
    }
    let mut best: Option<std::ops::Range<usize>> = None;
    for start in 0..segments.len() {
        let (mut rows, mut largest) = (0, 0);
        for (end, view) in segments.iter().enumerate().skip(start) {
            rows += view.live();
            largest = largest.max(view.live());
            if rows > room.rows_max {
                break;
            }
            let count = end + 1 - start;
            let worth = match rows > FLAT_ROWS_MAX || eagerness == Eagerness::All {
                // A merge rewrites everything, so the largest segment has to grow by enough.
                true => {
                    let least = eagerness.growth_percent_min(rows > room.rows_at_once);
                    count >= 2 && least.is_some_and(|least| (rows - largest) * 100 >= largest * least)
                }
                // Rewriting a large segment to add a small one costs more than it saves: the largest is half of the whole at most.
                false => count >= MERGE_FAN_IN && largest * 2 <= rows,
            };
            if worth && best.as_ref().is_none_or(|best| count > best.len()) {
                best = Some(start..end + 1);
            }
        }
    }
    best
}
