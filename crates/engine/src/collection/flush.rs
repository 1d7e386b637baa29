//! Sealing fresh rows into the indexes, and merging segments. Never on the write path.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use nuthatch_segment::Access;
use nuthatch_store::{Batch, trim_changes};
use roaring::RoaringTreemap;

use crate::collection::segment::{Build, FLAT_ROWS_MAX, Segment, build_bytes, remove_checkpoints, rows_max};
use crate::collection::state::{ImmutableMemtable, SegmentView};
use crate::collection::{Building, Core};
use crate::index::SEGMENTS;
use crate::runtime::Throttle;
use crate::{Error, Result};

/// Adjacent segments that are merged when together they still make one.
const MERGE_FAN_IN: usize = 4;
/// Share of dead rows from which a segment is rewritten, in percent.
const DEAD_PERCENT_MAX: u64 = 25;

impl Core {
    /// Brings everything fresh into the indexes. Writes and searches go on meanwhile.
    pub(crate) fn flush(&self) -> Result<()> {
        let _work = self.work.lock();
        if self.is_dropped() {
            return Ok(());
        }
        self.shared.crash_point("flush");
        if self.indexes.iter().all(|index| !self.is_sound(index.id())) {
            return Ok(()); // nothing to flush into: a rebuild takes the fresh rows along
        }
        self.indexes.iter().try_for_each(|index| index.seal(self))?;
        self.shared.fit();
        nuthatch_heap::give_back();
        self.trim()
    }

    /// Seals the fresh rows into a segment; drops them when the segments are broken, since a rebuild finds them in the store.
    pub(crate) fn seal_memtable(&self) -> Result<()> {
        let immutable = {
            let mut state = self.state.write();
            if state.immutable.is_none() {
                let rows = std::mem::take(&mut state.mutable);
                state.immutable = Some(Arc::new(ImmutableMemtable { rows, upto: state.sequence }));
                state.tombstones_while_sealing = Some(Arc::default());
            }
            // Otherwise one was left by a flush that failed: that one goes first.
            state.immutable.clone().expect("frozen just now")
        };
        let sound = self.is_sound(SEGMENTS);
        let segment = match immutable.rows.is_empty() || !sound {
            true => None,
            false => {
                let id = self.take_segment_id();
                Some(self.build(id, &immutable.rows.rows(), None, false)?)
            }
        };
        self.shared.crash_point("seal");
        let swapped = self.swap_segments(|state| {
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
        self.shared.relieved.notify_all();
        swapped.map(drop)
    }

    pub(crate) fn take_segment_id(&self) -> u64 {
        let mut state = self.state.write();
        state.next_segment += 1;
        state.next_segment
    }

    /// Builds a segment; on top of the graph of `previous`, if that has one. `at_leisure`: see [`Build`].
    pub(crate) fn build(
        &self,
        id: u64,
        rows: &RoaringTreemap,
        previous: Option<&Segment>,
        at_leisure: bool,
    ) -> Result<Arc<Segment>> {
        let fields = self.fields();
        let store = self.shared.store()?;
        let mut told = false;
        let mut throttle = Throttle::default();
        let progress = &mut |progress| {
            told = true;
            throttle.rest(&self.shared, &|| self.is_waited_for());
            self.building.lock().get_or_insert_with(|| Building::begin(progress)).update(progress);
            // A merge of what a rebuild is going to throw away is in its way.
            let unwanted =
                self.shared.is_stopping() || self.is_dropped() || previous.is_some() && !self.is_sound(SEGMENTS);
            if unwanted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let build = Build {
            store: &*store,
            shard: self.shard,
            fields: &fields,
            cache: &self.cache,
            working: &self.shared.working,
            access: self.shared.options.access(),
            threads: self.shared.options.build_threads,
            at_leisure,
            previous,
            // Of merges alone: whatever else is built is begun anew when it is interrupted.
            checkpoints: previous.map(|_| self.segments_folder()),
            progress,
        };
        let folder = self.segments_folder().join(id.to_string());
        let built = Segment::build(&folder, id, rows, build).inspect_err(|_| {
            // The space is wanted back, above all when it was a full disk that stopped it; the next open removes the rest.
            std::fs::remove_dir_all(&folder).ok();
        });
        if told {
            *self.building.lock() = None;
        }
        built
    }

    /// Forgets changes that all indexes have applied.
    pub(crate) fn trim(&self) -> Result<()> {
        let Some(applied) = self.applied() else { return Ok(()) }; // a rebuild decides
        if applied > 0 && self.shared.log_pins.load(Ordering::SeqCst) == 0 {
            let mut batch = Batch::new();
            trim_changes(&mut batch, self.shard, applied);
            self.shared.write(batch)?;
        }
        Ok(())
    }

    /// Reads the graphs that were there before this process into the page cache, if there is memory for them: until then most
    /// searches of a cold graph scan codes instead of waiting for the disk.
    pub(crate) fn read_graphs_ahead(&self) -> Result<()> {
        let view = self.state.read().view();
        let mut throttle = Throttle::default();
        let go_on = &mut || {
            throttle.rest(&self.shared, &|| false);
            !self.shared.is_stopping() && !self.is_dropped() && !self.optimize_wanted.load(Ordering::SeqCst)
        };
        match view.segments.iter().try_for_each(|view| view.segment.read_ahead(go_on)) {
            // A search that comes by notes the damage.
            Err(error) if error.is_corrupt() => Ok(()),
            read => read,
        }
    }

    /// Merges once, if there is something worth merging. True when it did. Sealing goes on meanwhile.
    pub(crate) fn merge(&self, eagerness: Eagerness) -> Result<bool> {
        let _merging = self.merging.lock();
        if self.is_dropped() {
            return Ok(false);
        }
        let memory_bytes = self.shared.options.build_memory_bytes;
        let rows_max = rows_max(self.fields().dim_max(), memory_bytes);
        // A hop that is read costs what two cost that are mapped: so small a graph saves too little then.
        let at_leisure = eagerness.is_leisurely() && self.shared.options.access() == Access::Mapped;
        let (chosen, rows) = {
            let mut state = self.state.write();
            if !state.is_sound(SEGMENTS) {
                return Ok(false);
            }
            let range = choose_merge(&state.segments, rows_max, eagerness)
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
        let id = self.take_segment_id();
        let merged = match rows.is_empty() {
            true => None,
            false => {
                let largest = chosen.iter().max_by_key(|view| view.live()).map(|view| &*view.segment);
                // What had a graph keeps it: it is the better part of the work.
                let at_leisure = (at_leisure || largest.is_some_and(Segment::has_graph))
                    && build_bytes(self.fields().dim_max(), rows.len()) <= memory_bytes;
                let built = self.build(id, &rows, largest, at_leisure);
                Some(built.inspect_err(|_| self.state.write().tombstones_while_merging = None)?)
            }
        };
        self.shared.crash_point("merge");
        let swapped = self.swap_segments(|state| {
            let removed = state.tombstones_while_merging.take().unwrap_or_default();
            // Sealing adds segments behind the chosen ones; damage noticed meanwhile is for a rebuild to mend.
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
        remove_checkpoints(&self.segments_folder(), &self.fields()).ok(); // one that stays is overwritten by the next
        let chosen: Vec<Arc<Segment>> = chosen.into_iter().map(|view| view.segment).collect();
        let removed = chosen.iter().try_for_each(|segment| {
            let folder = self.segments_folder().join(segment.id.to_string());
            // Open handles keep reading; the names go now.
            std::fs::remove_dir_all(&folder).map_err(|error| Error::io(&folder, &error))
        });
        self.retire(chosen);
        removed?;
        self.shared.fit();
        nuthatch_heap::give_back();
        Ok(true)
    }
}

/// How much there has to be gained.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Eagerness {
    /// While rows keep coming: a large segment is rewritten when it grows by half.
    Busy,
    /// When nothing else is to do: by an eighth.
    Idle,
    /// On request: whatever fits together.
    All,
    /// To be rid of deleted bytes: each segment up to this one that has a dead row, by itself.
    Dead { upto: u64 },
}

impl Eagerness {
    /// Nobody is kept waiting, and it will not be done again soon.
    fn is_leisurely(self) -> bool {
        matches!(self, Self::Idle | Self::All)
    }

    /// What the others must be of the largest, in percent, to be merged into it.
    fn growth_percent_min(self) -> u64 {
        match self {
            Self::Busy => 50,
            Self::Idle => 12,
            Self::All | Self::Dead { .. } => 0,
        }
    }
}

/// A segment that is to be written anew, with a graph.
fn choose_graphless(segments: &[SegmentView], memory_bytes: u64) -> Option<std::ops::Range<usize>> {
    let at = segments.iter().position(|view| view.segment.wants_graph(view.live(), memory_bytes))?;
    Some(at..at + 1)
}

/// A segment with too many dead rows, or the longest run of neighbours that is worth merging and no larger than `rows_max`.
fn choose_merge(segments: &[SegmentView], rows_max: u64, eagerness: Eagerness) -> Option<std::ops::Range<usize>> {
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
            if rows > rows_max {
                break;
            }
            let count = end + 1 - start;
            let worth = match rows > FLAT_ROWS_MAX || eagerness == Eagerness::All {
                // A graph keeps its largest part's, but everything is written anew: that part has to grow by enough.
                true => count >= 2 && (rows - largest) * 100 >= largest * eagerness.growth_percent_min(),
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
