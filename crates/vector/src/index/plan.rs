//! Which way of searching a segment is the cheapest.
//!
//! Four ways: walk the graph, with a pool as much larger as fewer rows match; scan everybody's 1-bit codes; read the 4-bit
//! codes of the rows that match; compare the stored vectors of the rows that match. The costs are nanoseconds of one core,
//! measured with `examples/graph.rs`; only their ratios matter.

/// How a segment was searched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Plan {
    /// Nothing matches.
    Nothing,
    /// A walk over the graph with a pool of this size.
    Walk { effort: usize },
    /// A scan of the 1-bit codes, or of the matching rows' 4-bit codes.
    Codes,
    /// Every matching row was compared by its stored vector.
    Exact,
}

impl Plan {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing matches",
            Self::Walk { .. } => "graph walk",
            Self::Codes => "flat scan",
            Self::Exact => "exact comparison",
        }
    }
}

/// Stored vectors read together.
pub(crate) const COMPARE_AT_ONCE: usize = 256;
/// When less than this part of the rows that should match by their share do, a walk has met another part of the data than the
/// filter asks for.
const MATCHING_PART: u64 = 4;

/// What a filtered walk's pool is larger by, beside the share of rows that match: matching rows are not spread evenly.
const FILTER_MARGIN: f64 = 1.25;

/// Hops of a walk: so much of its pool, which holds some nodes several times, and these.
const HOPS_SHARE: f64 = 0.6;
const HOPS_MIN: f64 = 10.0;
/// Reading one block of a code file that the block cache does not hold, and checking it.
const BLOCK_NS: f64 = 15_000.0;
/// Reading the 4-bit codes of one row by itself.
const ROW_NS: f64 = 1_300.0;
/// Rows whose 4-bit codes a scan looks up, about.
const REFINED_ROWS: f64 = 300.0;
/// Reading a record from the disk, eight at a time.
const COLD_READ_NS: f64 = 20_000.0;

/// What the choice depends on.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) rows: u32,
    pub(crate) dim: usize,
    pub(crate) mapped: bool,
    /// Blocks of the 1-bit codes that the block cache has no room for.
    pub(crate) uncached_one: u64,
    /// Whether 4-bit codes are read by blocks, which stay in the cache; else row by row.
    pub(crate) four_is_cached: bool,
}

/// What to do first.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Choice {
    /// With a pool of this size.
    Walk {
        pool: usize,
    },
    Codes,
    Exact,
}

impl Shape {
    /// The cheapest way to the `effort` (`None`: there is no graph) among `matching` rows.
    /// `cold_share`: of the graph's records, those that come from the disk.
    pub(crate) fn choose(&self, matching: u64, effort: Option<usize>, cold_share: f64) -> Choice {
        let dim = self.dim as f64;
        let exact = matching as f64 * if self.mapped { 250.0 + dim * 0.4 } else { 1300.0 + dim * 0.6 };
        let codes = self.codes(matching);
        if let Some(effort) = effort {
            // Some deleted rows are no filter.
            let filtered = matching < u64::from(self.rows) / 100 * 95;
            let pool = match filtered {
                true => (effort as f64 * FILTER_MARGIN * f64::from(self.rows) / matching as f64).ceil(),
                false => effort as f64,
            };
            let hop = match self.mapped {
                true => 750.0 + dim * 0.75,
                false => 1750.0 + dim * 0.85 + cold_share * COLD_READ_NS,
            };
            if (pool * HOPS_SHARE + HOPS_MIN) * hop <= codes.min(exact) {
                return Choice::Walk { pool: pool as usize };
            }
        }
        if exact <= codes { Choice::Exact } else { Choice::Codes }
    }

    /// Fewer expanded rows that match are no answer of a walk over `hops` nodes.
    pub(crate) fn matching_min(&self, matching: u64, hops: usize, limit: usize) -> u64 {
        let expected = hops as u64 * matching / u64::from(self.rows).max(1);
        matching.min((expected / MATCHING_PART).max(limit as u64))
    }

    /// What [`crate::Codes`] takes: a scan of the 1-bit codes, or the 4-bit codes of few rows.
    fn codes(&self, matching: u64) -> f64 {
        let dim = self.dim as f64;
        // A filter is asked for only where the 1-bit codes let a row pass, so a scan costs the same whatever matches.
        let scan = 20_000.0 + f64::from(self.rows) * (1.3 + dim * 0.0031) + self.uncached_one as f64 * BLOCK_NS;
        let direct = matching as f64 * (25.0 + dim * 0.06);
        let refined = if self.four_is_cached { 0.0 } else { ROW_NS };
        match crate::search::reads_directly(matching, self.rows) {
            true => direct + matching as f64 * refined,
            false => scan + REFINED_ROWS * refined,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(rows: u32, dim: usize, mapped: bool) -> Shape {
        Shape { rows, dim, mapped, uncached_one: 0, four_is_cached: true }
    }

    #[test]
    fn dense_filters_walk_with_a_larger_pool_and_sparse_ones_read_codes_or_vectors() {
        let shape = shape(1_000_000, 384, true);
        let pool = |matching| match shape.choose(matching, Some(100), 0.0) {
            Choice::Walk { pool, .. } => pool,
            other => panic!("{other:?}"),
        };
        assert_eq!((pool(1_000_000), pool(500_000)), (100, 250));
        assert_eq!(shape.choose(1_000, Some(100), 0.0), Choice::Codes);
        assert_eq!(shape.choose(1_000, None, 0.0), Choice::Codes);
    }

    #[test]
    fn asked_for_thousands_a_scan_is_cheaper_than_a_walk() {
        let shape = shape(100_000, 128, false);
        assert_eq!(shape.choose(100_000, Some(10_000), 0.0), Choice::Codes);
        assert!(matches!(shape.choose(100_000, Some(30), 0.0), Choice::Walk { .. }));
    }

    #[test]
    fn what_the_cache_cannot_hold_is_avoided() {
        let small = Shape { uncached_one: 400, four_is_cached: false, ..shape(1_000_000, 128, false) };
        assert_eq!(small.choose(200, Some(60), 0.0), Choice::Codes);
        assert!(matches!(small.choose(1_000_000, Some(1_000), 0.0), Choice::Walk { .. }));
        let small = shape(100_000, 1024, false);
        assert!(matches!(small.choose(100_000, Some(100), 0.0), Choice::Walk { .. }));
        assert_eq!(small.choose(100_000, Some(100), 0.9), Choice::Codes);
    }
}
