//! The vector leg of a search: candidates from every segment and the fresh rows, compared exactly.

use std::cmp::Reverse;

use nuthatch_store::Reader;
use nuthatch_vector::{Accuracy, MemtableCandidate, MemtableSearch, Plan, Reached, retain_reaching};

use crate::Result;
use crate::collection::Core;
use crate::collection::explain::VectorPlan;
use crate::collection::fusion::ScoredRow;
use crate::collection::ranking::{BestRows, Filtered, Trouble};
use crate::descriptor::field::Field;
use crate::state::{SegmentView, View};

/// Exact vectors read from the store at a time.
const COMPARE_ROWS: usize = 256;

/// A row that may be among the best.
struct Bounded {
    place: RowLocation,
    lower: f32,
    upper: f32,
}

#[derive(Clone, Copy)]
enum RowLocation {
    Memtable {
        row: u64,
    },
    /// A view's place and the row's slot in its index.
    Segment {
        at: usize,
        slot: u32,
    },
}

/// The parameters of the leg's search.
pub(crate) struct Ask<'a> {
    pub field: &'a Field,
    pub query: &'a [f32],
    pub depth: usize,
    pub accuracy: Accuracy,
    pub stop: &'a dyn Fn() -> bool,
}

impl Core {
    /// The fresh rows that may be among the best. Always right, whatever accuracy is asked for.
    fn memtable_candidates(view: &View, ask: &Ask<'_>, matching: &Filtered) -> Result<Vec<Bounded>> {
        let Some(dim) = ask.field.dim.filter(|_| view.fresh_rows() > 0) else { return Ok(Vec::new()) };
        let mut search = MemtableSearch::new(ask.query, dim, ask.field.metric, ask.depth)?;
        view.search_memtables(ask.field.id, &mut search, |row| matching.lets_fresh(row));
        let bounded = |found: MemtableCandidate| {
            let (place, lower, upper) = (RowLocation::Memtable { row: found.row_id }, found.lower, found.upper);
            Bounded { place, lower, upper }
        };
        Ok(search.finish().into_iter().map(bounded).collect())
    }

    /// Searches the segments and the fresh rows, and ranks what they gave by exact vectors. No lock is held. False when a fresh row
    /// is no longer there.
    pub(crate) fn vector_leg(
        &self,
        reader: &dyn Reader,
        view: &View,
        ask: &Ask<'_>,
        matching: &Filtered,
        explain: &mut VectorPlan,
    ) -> std::result::Result<(Vec<ScoredRow>, bool), Trouble> {
        let mut candidates = Self::memtable_candidates(view, ask, matching)?;
        let views = &view.segments[..];
        let mut plans: Vec<&'static str> = Vec::new();
        // The largest first: what it finds spares the others most of their way.
        let mut largest_first: Vec<usize> = (0..views.len()).collect();
        largest_first.sort_by_key(|at| Reverse(views[*at].live()));
        let mut reached = Reached::new(ask.depth);
        for at in largest_first {
            let view = &views[at];
            let Some(index) = view.segment.index(ask.field.id) else { continue };
            let mut room = None;
            let rows = matching.slots(at, view, ask.field.id, &mut room);
            let found = index.search_beyond(ask.query, rows, ask.depth, ask.accuracy, &mut reached, ask.stop);
            let found = found.map_err(Trouble::segments)?;
            explain.records_read += found.walk.hops;
            explain.rounds += found.walk.rounds;
            explain.cold_reads += found.walk.cold;
            if let Plan::Walk { ef } = found.plan {
                explain.ef = explain.ef.max(ef);
                explain.effort = explain.ef;
            }
            if !plans.contains(&found.plan.as_str()) {
                plans.push(found.plan.as_str());
            }
            candidates.extend(found.candidates.into_iter().map(|candidate| Bounded {
                place: RowLocation::Segment { at, slot: candidate.slot },
                lower: candidate.lower,
                upper: candidate.upper,
            }));
        }
        explain.exact = plans.iter().all(|plan| [Plan::Exact.as_str(), Plan::Nothing.as_str()].contains(plan));
        explain.plan = if plans.is_empty() { "fresh rows only".into() } else { plans.join(", ") };
        // One good segment spares the others' comparisons.
        retain_reaching(&mut candidates, ask.depth, |candidate| (candidate.lower, candidate.upper));
        explain.candidates = candidates.len();
        self.compare_exactly(reader, views, candidates, ask, explain)
    }

    fn compare_exactly(
        &self,
        reader: &dyn Reader,
        views: &[SegmentView],
        candidates: Vec<Bounded>,
        ask: &Ask<'_>,
        explain: &mut VectorPlan,
    ) -> std::result::Result<(Vec<ScoredRow>, bool), Trouble> {
        let mut best = BestRows::new(ask.depth);
        let (mut fresh, mut sealed) = (Vec::new(), vec![Vec::new(); views.len()]);
        for candidate in candidates {
            match candidate.place {
                RowLocation::Memtable { row } => fresh.push(row),
                RowLocation::Segment { at, slot } if candidate.lower == candidate.upper => {
                    found_in(&views[at], ask.field, slot, candidate.lower).into_iter().for_each(|row| best.push(row));
                }
                RowLocation::Segment { at, slot } => sealed[at].push(slot),
            }
        }
        for (view, mut slots) in views.iter().zip(sealed) {
            let Some(index) = view.segment.index(ask.field.id).filter(|_| !slots.is_empty()) else { continue };
            slots.sort_unstable();
            explain.reranked += slots.len();
            let similarities = index.compare(ask.query, &slots).map_err(Trouble::segments)?;
            let ranked = slots.iter().zip(similarities);
            let found = ranked.filter_map(|(slot, similarity)| found_in(view, ask.field, *slot, similarity));
            found.for_each(|row| best.push(row));
        }
        // A row that is just being sealed is in the immutable memtable alone; the rows of the mutable one are others. Still, once is enough.
        fresh.sort_unstable();
        fresh.dedup();
        explain.reranked += fresh.len();
        let mut all_there = true;
        // A chunk at a time: ten thousand vectors of 4,096 dimensions would be 160 MB.
        for rows in fresh.chunks(COMPARE_ROWS) {
            let vectors = ask.field.stored(reader, self.shard, rows)?;
            for (row, vector) in rows.iter().zip(&vectors) {
                match vector {
                    Some(vector) => best.push(ask.field.compare(ask.query, *row, &ask.field.decode(vector))),
                    None => all_there = false,
                }
            }
        }
        Ok((best.finish(), all_there))
    }
}

fn found_in(view: &SegmentView, field: &Field, slot: u32, similarity: f32) -> Option<ScoredRow> {
    Some(field.found(view.segment.row_in_slot(field.id, slot)?, similarity))
}
