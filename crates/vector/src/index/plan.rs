//! Which way of searching a segment is the cheapest.
//!
//! Five ways: walk the graph; walk on to the rows that match, as much farther as fewer do; scan everybody's 1-bit codes; read the 4-bit codes of the
//! rows that match; compare the stored vectors of the rows that match. The costs are nanoseconds of one core, measured with
//! `examples/graph.rs`; only their ratios matter.

use nuthatch_distance::BLOCK_ROWS;

use crate::graph::{Ef, Extent, Reach};

/// How a segment was searched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Plan {
    /// Nothing matches.
    Nothing,
    /// A walk over the graph with a pool of this size; where rows are filtered, it went on to what matches.
    Walk {
        /// Nodes that the pool holds.
        ef: usize,
    },
    /// A scan of the 1-bit codes, or of the matching rows' 4-bit codes.
    Codes,
    /// Every matching row was compared by its stored vector.
    Exact,
}

impl Plan {
    /// In words, for a search that explains itself.
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
/// The rank of the matching node that bounds a filtered walk, where some are counted several times: nodes nearer than
/// that one are expanded. It is twice the limit plus this part of the `ef`, which grows with the target recall.
const RANK_LIMITS: usize = 2;
const RANK_EF_PART: usize = 15;
/// Matching nodes that it expands at least, for each of the limit.
const MATCHING_LIMITS: usize = 10;
/// Hops of a filtered walk beyond its pool, for each matching node that it counts by, at a share of one; and these.
const BEYOND_RANK: f64 = 0.43;
const BEYOND_MIN: f64 = 40.0;
/// The walk gives up after this multiple of the expected hops.
const BEYOND_MARGIN: f64 = 3.0;
/// Rows that a walk looks at when the matching rows lie elsewhere, and the nodes that it keeps of them, in percent of
/// its `ef`.
const SEEDS: u32 = 1024;
const AMONG_PERCENT: usize = 200;
/// The walk goes on among them where reading codes instead, which finds everything, costs at least this many times as
/// much.
const AMONG_MARGIN: f64 = 2.0;
/// Finding one that matches, of a sample.
const SEED_NS: f64 = 20.0;

/// The cost of a walk before its first hop and after its last, and that of a hop: a fixed part, and a part for each
/// dimension.
const WALK_NS: (f64, f64) = (8_000.0, 12.0);
const MAPPED_HOP_NS: (f64, f64) = (400.0, 0.25);
const READ_HOP_NS: (f64, f64) = (1_350.0, 0.6);
/// A hop of a filtered walk: about half more than it takes, because codes that cost as much find what lies elsewhere, too.
const FILTERED_MAPPED_HOP_NS: (f64, f64) = (900.0, 0.75);
const FILTERED_READ_HOP_NS: (f64, f64) = (1_900.0, 0.85);
/// Hops of a walk: this share of its pool, which holds some nodes several times, plus `HOPS_MIN`.
const HOPS_SHARE: f64 = 0.6;
const HOPS_MIN: f64 = 10.0;
/// Reading one block of a code file that the block cache does not hold, and checking it.
const BLOCK_NS: f64 = 15_000.0;
/// Reading the 4-bit codes of one row by itself.
const ROW_NS: f64 = 650.0;
/// Noting a row that matches.
const NOTED_NS: f64 = 2.0;
/// Rows whose 4-bit codes a scan looks up, about.
const REFINED_ROWS: f64 = 300.0;
/// Reading a record from the disk, eight at a time.
const COLD_READ_NS: f64 = 20_000.0;

/// The inputs to the choice of a plan.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) rows: u32,
    pub(crate) dim: usize,
    pub(crate) mapped: bool,
    /// Blocks of the 1-bit codes that the block cache has no room for, and rows of one.
    pub(crate) uncached_one: u64,
    pub(crate) rows_of_block: u32,
    /// Whether 4-bit codes are read by blocks, which stay in the cache; else row by row.
    pub(crate) four_is_cached: bool,
}

/// The first step of a search.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Choice {
    Walk(Extent),
    /// All 1-bit codes.
    Codes,
    /// The 4-bit codes of the rows that match.
    RowCodes,
    Exact,
}

impl Shape {
    /// The cheapest way to what is aimed at (`None`: there is no graph) for `limit` of `matching` rows.
    /// `cold_share`: of the graph's records, those that come from the disk.
    pub(crate) fn choose(&self, matching: u64, limit: usize, aim: Option<Ef>, cold_share: f64) -> Choice {
        let dim = self.dim as f64;
        let exact = matching as f64 * if self.mapped { 250.0 + dim * 0.4 } else { 1300.0 + dim * 0.6 };
        let (scan, rows) = (self.scan(matching, limit), self.row_codes(matching));
        let codes = scan.min(rows);
        if let Some(aim) = aim {
            let (mut extent, hops) = self.extent(matching, limit, aim);
            let by_dim = |(at_least, for_each): (f64, f64)| at_least + dim * for_each;
            let instead = codes.min(exact);
            let is_filtered = matches!(extent, Extent::Reach(_));
            let hop = match (self.mapped, is_filtered) {
                (true, false) => by_dim(MAPPED_HOP_NS),
                (true, true) => by_dim(FILTERED_MAPPED_HOP_NS),
                (false, false) => by_dim(READ_HOP_NS) + cold_share * COLD_READ_NS,
                (false, true) => by_dim(FILTERED_READ_HOP_NS) + cold_share * COLD_READ_NS,
            };
            if let Extent::Reach(reach) = &mut extent {
                let seeds = f64::from(SEEDS) * (SEED_NS + self.row_codes(1));
                let among = seeds + (reach.among as f64 * HOPS_SHARE + HOPS_MIN) * hop;
                reach.seeds = if among * AMONG_MARGIN <= instead { SEEDS } else { 0 };
            }
            let fixed = if is_filtered { 0.0 } else { by_dim(WALK_NS) };
            if fixed + hops * hop <= instead {
                return Choice::Walk(extent);
            }
        }
        match exact <= codes {
            true => Choice::Exact,
            false if rows <= scan => Choice::RowCodes,
            false => Choice::Codes,
        }
    }

    /// How far a walk goes, and the hops that it takes.
    fn extent(&self, matching: u64, limit: usize, aim: Ef) -> (Extent, f64) {
        let pool_hops = aim.pool as f64 * HOPS_SHARE + HOPS_MIN;
        // Some deleted rows are no filter.
        if matching >= u64::from(self.rows) / 100 * 95 {
            return (Extent::Ef(aim), pool_hops);
        }
        let ef = aim.pool;
        let share = matching as f64 / f64::from(self.rows);
        let rank = limit.saturating_mul(RANK_LIMITS).saturating_add(ef / RANK_EF_PART);
        let nearest = limit.saturating_mul(MATCHING_LIMITS).min(ef + ef / 2);
        let nearest = nearest.max((ef as f64 * share.sqrt()) as usize);
        let beyond = rank as f64 * BEYOND_RANK / share + BEYOND_MIN;
        let beyond_max = (beyond * BEYOND_MARGIN) as usize;
        let hops = pool_hops.max(beyond) + nearest as f64 * HOPS_SHARE * (1.0 - share);
        let among = ef * AMONG_PERCENT / 100;
        let enough = limit + limit / 2;
        let reach = Reach { ef, rank, matching: nearest, enough, beyond_max, share, seeds: 0, among };
        (Extent::Reach(reach), hops)
    }

    /// Scanning the 1-bit codes of the blocks that have a row that matches.
    fn scan(&self, matching: u64, limit: usize) -> f64 {
        // So few rows give the scan no bar to rule the others out by.
        if matching <= limit as u64 {
            return f64::INFINITY;
        }
        let (rows, dim) = (f64::from(self.rows), self.dim as f64);
        let lacking = 1.0 - matching as f64 / rows;
        let scanned = rows * (1.3 + dim * 0.0031) * (1.0 - lacking.powi(BLOCK_ROWS as i32));
        let read = self.uncached_one as f64 * (1.0 - lacking.powi(self.rows_of_block as i32)) * BLOCK_NS;
        // Where few rows match, they are noted one by one first.
        20_000.0 + scanned + read + rows.min(matching as f64 * NOTED_NS) + REFINED_ROWS * self.row_read()
    }

    /// Looking up the 4-bit codes of all rows that match.
    fn row_codes(&self, matching: u64) -> f64 {
        matching as f64 * (7.0 + self.dim as f64 * 0.045 + self.row_read())
    }

    fn row_read(&self) -> f64 {
        if self.four_is_cached { 0.0 } else { ROW_NS }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(pool: usize) -> Option<Ef> {
        Some(Ef::whole(pool))
    }

    fn shape(rows: u32, dim: usize, mapped: bool) -> Shape {
        Shape { rows, dim, mapped, uncached_one: 0, rows_of_block: 2720, four_is_cached: true }
    }

    #[test]
    fn all_rows_take_a_pool_dense_filters_a_reach_and_sparse_ones_codes_or_vectors() {
        let shape = shape(1_000_000, 384, true);
        let choose = |matching| shape.choose(matching, 10, whole(100), 0.0);
        assert_eq!(choose(1_000_000), Choice::Walk(Extent::Ef(Ef::whole(100))));
        assert_eq!(choose(960_000), Choice::Walk(Extent::Ef(Ef::whole(100))));
        for matching in [500_000, 100_000, 50_000] {
            let Choice::Walk(Extent::Reach(reach)) = choose(matching) else {
                panic!("{matching}: {:?}", choose(matching))
            };
            // As the unfiltered walk, and from there on.
            assert_eq!((reach.ef, reach.rank, reach.matching), (100, 26, 100));
        }
        assert_eq!(choose(1_000), Choice::RowCodes);
        assert_eq!(shape.choose(1_000, 10, None, 0.0), Choice::RowCodes);
    }

    #[test]
    fn a_walk_that_is_lost_goes_on_among_what_matches_where_codes_are_dear() {
        let seeds = |matching| match shape(1_000_000, 128, true).choose(matching, 10, whole(334), 0.0) {
            Choice::Walk(Extent::Reach(reach)) => reach.seeds,
            other => panic!("{matching}: {other:?}"),
        };
        assert!(seeds(500_000) > 0 && seeds(200_000) > 0);
        assert_eq!(seeds(50_000), 0);
    }

    #[test]
    fn single_rows_of_codes_that_the_cache_has_no_room_for_are_dearer_than_a_walk() {
        let shape = Shape { uncached_one: 190, four_is_cached: false, ..shape(1_000_000, 128, false) };
        assert!(matches!(shape.choose(10_000, 10, whole(118), 0.0), Choice::Walk(Extent::Reach(_))));
        assert_eq!(shape.choose(500, 10, whole(118), 0.0), Choice::RowCodes);
        // Nor are they read by the ten thousand when the graph is cold.
        assert_eq!(shape.choose(30_000, 10, whole(118), 0.9), Choice::Codes);
    }

    #[test]
    fn asked_for_thousands_a_scan_is_cheaper_than_a_walk() {
        let shape = shape(100_000, 128, false);
        assert_eq!(shape.choose(100_000, 10_000, whole(10_000), 0.0), Choice::Codes);
        assert!(matches!(shape.choose(100_000, 10, whole(30), 0.0), Choice::Walk(_)));
    }

    #[test]
    fn what_the_cache_cannot_hold_is_avoided() {
        let small = Shape { uncached_one: 400, four_is_cached: false, ..shape(1_000_000, 128, false) };
        assert_eq!(small.choose(200, 10, whole(60), 0.0), Choice::RowCodes);
        assert!(matches!(small.choose(1_000_000, 10, whole(1_000), 0.0), Choice::Walk(_)));
        let small = shape(100_000, 1024, false);
        assert!(matches!(small.choose(100_000, 10, whole(100), 0.0), Choice::Walk(_)));
        assert_eq!(small.choose(100_000, 10, whole(100), 0.9), Choice::Codes);
    }
}
