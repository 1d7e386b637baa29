//! The leg of a sparse vector: posting lists of every segment, and the fresh rows.
//!
//! **Useful for** fields of learned weights. **Not for** words, which the text leg counts.
//!
//! **Invariant:** the leg is exact; a row that shares no term with the query is none of it.

use nuthatch_sparse::{Slots, SparseVector};

use crate::collection::explain::VectorPlan;
use crate::collection::fusion::ScoredRow;
use crate::collection::ranking::{Filtered, Trouble, best};
use crate::descriptor::field::Field;
use crate::state::View;

/// Found rows, besides twice those wanted, after which the others are dropped.
const FOUND_MORE: usize = 4096;

/// What the leg is asked.
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
    let mut found = Vec::new();
    let keep = |row| match matching {
        Filtered::Indexed(matching) => matching.fresh.contains(row),
        Filtered::Everything | Filtered::Scanned(_) => true,
    };
    view.search_sparse_memtables(field.id, query, &keep, &mut |row, score| {
        found.push(field.found(row, score));
        if found.len() >= 2 * depth + FOUND_MORE {
            found = best(std::mem::take(&mut found), depth);
        }
    });
    let mut are_searched = false;
    for (at, view) in view.segments.iter().enumerate() {
        let Some(postings) = view.segment.postings(field.id) else { continue };
        are_searched = true;
        let some;
        let slots = match matching {
            Filtered::Indexed(matching) => {
                some = view.segment.slots_of(field.id, &matching.segments[at]);
                Slots::Only(&some)
            }
            _ if view.dead.is_empty() => Slots::All,
            _ => {
                some = view.segment.slots_of(field.id, &view.dead);
                Slots::Except(&some)
            }
        };
        let of_segment = postings.search(query, slots, depth, stop).map_err(Trouble::segments)?;
        let row_of = |slot| view.segment.row_in_slot(field.id, slot);
        found.extend(of_segment.into_iter().filter_map(|one| Some(field.found(row_of(one.slot)?, one.score))));
    }
    explain.plan = if are_searched { "posting lists" } else { "fresh rows only" }.into();
    explain.exact = true;
    explain.candidates = found.len();
    Ok(best(found, depth))
}
