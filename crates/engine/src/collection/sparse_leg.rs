//! The leg of a sparse vector: posting lists of every segment, and the fresh rows.
//!
//! **Useful for** fields of learned weights. **Not for** words, which the text leg counts.
//!
//! **Invariant:** the leg is exact; it leaves out rows that share no term with the query.

use nuthatch_sparse::SparseVector;

use crate::collection::explain::VectorPlan;
use crate::collection::fusion::ScoredRow;
use crate::collection::ranking::{BestRows, Filtered, Trouble};
use crate::descriptor::field::Field;
use crate::state::View;

/// The parameters of the leg's search.
pub(crate) struct AskSparse<'a> {
    pub field: &'a Field,
    pub query: &'a SparseVector,
    pub depth: usize,
    pub stop: &'a dyn Fn() -> bool,
}

/// Searches the segments and the fresh rows. No lock is held.
pub(crate) fn sparse_leg(
    view: &View,
    ask: &AskSparse<'_>,
    matching: &Filtered,
    explain: &mut VectorPlan,
) -> Result<Vec<ScoredRow>, Trouble> {
    let &AskSparse { field, query, depth, stop } = ask;
    let mut best = BestRows::new(depth);
    let mut candidates = 0;
    let mut push = |row, score| {
        candidates += 1;
        best.push(field.found(row, score));
    };
    view.search_sparse_memtables(field.id, query, &|row| matching.lets_fresh(row), &mut push);
    let mut are_searched = false;
    for (at, view) in view.segments.iter().enumerate() {
        let Some(postings) = view.segment.postings(field.id) else { continue };
        are_searched = true;
        let mut room = None;
        let slots = matching.slots(at, view, field.id, &mut room);
        for found in postings.search(query, slots, depth, stop).map_err(Trouble::segments)? {
            view.segment.row_in_slot(field.id, found.slot).into_iter().for_each(|row| push(row, found.score));
        }
    }
    explain.plan = if are_searched { "posting lists" } else { "fresh rows only" }.into();
    explain.exact = true;
    explain.candidates = candidates;
    Ok(best.finish())
}
