//! Which rows may be returned, and the best of them.

use std::cmp::Ordering;

use roaring::RoaringTreemap;

/// A row and its BM25 score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextHit {
    /// The number that the row was added under.
    pub row_id: u64,
    /// Comparable within one search only: it depends on how many rows have each word. Higher is better.
    pub score: f32,
}

/// Rows that a search may return. `limit` is filled whenever that many of them match.
#[derive(Clone, Copy, Debug)]
pub enum RowFilter<'a> {
    /// Every row.
    All,
    /// All but these.
    Except(&'a RoaringTreemap),
    /// Only these.
    Only {
        /// The rows that may be returned.
        allowed: &'a RoaringTreemap,
    },
}

impl RowFilter<'_> {
    /// Whether a search may return the row.
    pub fn allows(&self, row_id: u64) -> bool {
        match self {
            Self::All => true,
            Self::Except(rows) => !rows.contains(row_id),
            Self::Only { allowed } => allowed.contains(row_id),
        }
    }
}

/// Descending score, ties by row id ascending.
pub(crate) fn better_first(a: &TextHit, b: &TextHit) -> Ordering {
    b.score.total_cmp(&a.score).then(a.row_id.cmp(&b.row_id))
}

/// Keeps the best `limit` of `hits`, in order.
pub(crate) fn best(mut hits: Vec<TextHit>, limit: usize) -> Vec<TextHit> {
    if limit == 0 {
        return Vec::new();
    }
    if hits.len() > limit {
        hits.select_nth_unstable_by(limit - 1, better_first);
        hits.truncate(limit);
    }
    hits.sort_unstable_by(better_first);
    hits
}
