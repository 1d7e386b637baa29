//! The vector index of one segment: codes, stored vectors, and from some size on the graph, searched as one.
//!
//! **Useful for** everything that a segment is asked: [`IndexWriter`] makes it row by row, [`Index::search`] finds candidates by the
//! cheapest of its plans, [`Index::compare`] ranks them exactly.
//! **Not for** row ids, tombstones and filters' meaning: a caller passes slots.
//!
//! **Invariant:** whatever the plan, at least `limit` candidates come back when that many rows match, unless other segments had
//! found nearer rows before.

mod ef_table;
mod plan;
mod writer;

use std::cell::OnceCell;
use std::path::Path;
use std::sync::Arc;

use nuthatch_segment::{Access, BLOCK_BYTES, BlockCache, ReadAhead, SegmentError};

use self::ef_table::EfTable;
use self::plan::{Choice, Shape};
use crate::gather::Gather;
use crate::graph::{Bounds, Ef, Graph};
use crate::prepared::Prepared;
use crate::vectors::Vectors;
use crate::{Candidate, Codes, Element, Metric, Reached, Result, Rows, VectorError, WalkStats, validate};

pub use plan::Plan;
pub use writer::{
    BuildOptions, GRAPH_ROWS_AT_LEISURE, IndexOptions, IndexWriter, SHARDS_EXTENSION, graph_build_bytes,
    graph_rows_at_once, graph_rows_max, graph_rows_min,
};

/// Smallest and greatest size of a walk's pool that can be asked for.
pub const EF_MIN: usize = 1;
/// See [`EF_MIN`].
pub const EF_MAX: usize = 100_000;
/// The recall that is aimed at when nothing is said.
pub const RECALL_DEFAULT: f32 = 0.99;
/// The bounds of the target recall; above them, ask for [`Accuracy::Exact`].
pub const RECALL_MIN: f32 = 0.5;
/// See [`RECALL_MIN`].
pub const RECALL_MAX: f32 = 0.999;

/// How good an answer has to be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Accuracy {
    /// Share of the true `limit` nearest that is found, on average; translated to an `ef` by what was measured on the
    /// segment's own rows when its graph was built.
    Recall(f32),
    /// Size of the pool of a walk: [`EF_MIN`] to [`EF_MAX`].
    Ef(usize),
    /// Every matching row is compared by its stored vector.
    Exact,
}

impl Default for Accuracy {
    fn default() -> Self {
        Self::Recall(RECALL_DEFAULT)
    }
}

impl Accuracy {
    /// # Errors
    /// [`VectorError::Accuracy`] for a value out of range.
    pub fn check(self) -> Result<()> {
        match self {
            Self::Recall(recall) if !(RECALL_MIN..=RECALL_MAX).contains(&recall) => Err(VectorError::Accuracy {
                what: format!("recall is {recall}; give {RECALL_MIN} to {RECALL_MAX}, or ask for an exact search"),
            }),
            Self::Ef(ef) if !(EF_MIN..=EF_MAX).contains(&ef) => {
                Err(VectorError::Accuracy { what: format!("ef is {ef}; give {EF_MIN} to {EF_MAX}") })
            }
            _ => Ok(()),
        }
    }
}

/// The result of a search of one segment, and how it was found.
#[derive(Clone, Debug)]
pub struct SegmentHits {
    /// The rows that can be among the best, best estimate first.
    pub candidates: Vec<Candidate>,
    /// How the candidates were found.
    pub plan: Plan,
    /// Statistics of the walk, if there was one (even if it was given up).
    pub walk: WalkStats,
}

/// The open index of one segment. Cheap to share.
pub struct Index {
    codes: Codes,
    vectors: Vectors,
    graph: Option<Graph>,
    ef_table: EfTable,
    uncached_one: u64,
}

impl Index {
    /// Opens what [`IndexWriter`] wrote in `dir` and checks that the files belong together (not yet their blocks).
    pub fn open(dir: &Path, cache: &Arc<BlockCache>, access: Access) -> Result<Self> {
        let mut index = Self::open_unmeasured(dir, cache, access)?;
        if index.has_graph() {
            index.ef_table = EfTable::read(dir)?;
        }
        Ok(index)
    }

    /// The same before the values of `ef` of its graph are known.
    fn open_unmeasured(dir: &Path, cache: &Arc<BlockCache>, access: Access) -> Result<Self> {
        let codes = Codes::open(dir, cache)?;
        let vectors = Vectors::open(dir, access)?;
        if (vectors.rows(), vectors.dim()) != (codes.rows(), codes.dim()) {
            return Err(SegmentError::corrupt(vectors.path(), "it does not belong to the codes next to it").into());
        }
        let graph = match Self::has_graph_in(dir) {
            true => Some(Graph::open(dir, &codes, vectors.element(), access)?),
            false => None,
        };
        let uncached_one = uncached_blocks(codes.one.len(), cache);
        Ok(Self { codes, vectors, graph, ef_table: EfTable::default(), uncached_one })
    }

    /// Rows of the segment, deleted ones included: their slots are below it.
    pub fn rows(&self) -> u32 {
        self.codes.rows()
    }

    /// Dimension of a row, without padding.
    pub fn dim(&self) -> usize {
        self.codes.dim()
    }

    /// Returns the metric that the segment was built for; a search in it uses the same.
    pub fn metric(&self) -> Metric {
        self.codes.metric()
    }

    /// Returns the element type of the stored vectors.
    pub fn element(&self) -> Element {
        self.vectors.element()
    }

    /// Whether large enough to have a graph.
    pub fn has_graph(&self) -> bool {
        self.graph.is_some()
    }

    /// The same of an index that is not open.
    pub fn has_graph_in(dir: &Path) -> bool {
        dir.join(crate::graph::GRAPH_FILE).exists()
    }

    /// The rows that can be among the `limit` best of `rows` for a raw query: compare them with [`compare`](Self::compare) after
    /// [`retain_reaching`](crate::retain_reaching) over all segments. Those with equal bounds are exact already. `stop` is
    /// asked now and then; true ends the search with [`VectorError::Stopped`].
    pub fn search(
        &self,
        query: &[f32],
        rows: Rows<'_>,
        limit: usize,
        accuracy: Accuracy,
        stop: &dyn Fn() -> bool,
    ) -> Result<SegmentHits> {
        self.search_beyond(query, rows, limit, accuracy, &mut Reached::new(limit), stop)
    }

    /// Like [`search`](Self::search), for a segment that is one of several: a walk ends where nothing is left that
    /// comes near what the segments before it `reached`. Adds its own results to `reached`, too.
    pub fn search_beyond(
        &self,
        query: &[f32],
        rows: Rows<'_>,
        limit: usize,
        accuracy: Accuracy,
        reached: &mut Reached,
        stop: &dyn Fn() -> bool,
    ) -> Result<SegmentHits> {
        validate(query, self.dim(), self.metric())?;
        accuracy.check()?;
        let matching = rows.count(self.rows());
        let is_full = |candidates: usize| candidates as u64 >= matching.min(limit as u64);
        let others_reached = reached.last();
        let found = |candidates: Vec<Candidate>, plan, walk| {
            debug_assert!(is_full(candidates.len()) || others_reached > f32::NEG_INFINITY, "a search fills its limit");
            Ok(SegmentHits { candidates, plan, walk })
        };
        if limit == 0 || matching == 0 {
            return found(Vec::new(), Plan::Nothing, WalkStats::default());
        }
        let aim = match accuracy {
            Accuracy::Exact => None,
            Accuracy::Ef(ef) => Some(Ef::whole(ef)),
            Accuracy::Recall(recall) => Some(self.ef_table.ef(recall, limit)),
        };
        // A pool holds some nodes several times: it must be larger than what is to come out of it.
        let aim = aim.map(|ef| Ef { pool: ef.pool.max(limit + limit / 2), ..ef });
        let shape = self.shape();
        let mut choice = match accuracy {
            Accuracy::Exact => Choice::Exact,
            _ => {
                let cold_share = self.graph.as_ref().map_or(0.0, Graph::cold_share);
                shape.choose(matching, limit, aim.filter(|_| self.graph.is_some()), cold_share)
            }
        };
        let prepared = OnceCell::new();
        let prepared = || prepared.get_or_init(|| self.prepare(query));
        let mut walk = WalkStats::default();
        if let (Choice::Walk(extent), Some(graph)) = (choice, &self.graph) {
            let sample = |wanted| self.codes.sample(prepared(), rows, wanted);
            let bounds = Bounds { rows, limit, extent, stop, sample: &sample };
            let mut reached_now = reached.clone();
            let walked = graph.walk(query, prepared(), &bounds, &mut reached_now)?;
            let is_enough = is_full(walked.stats.matching) || others_reached > f32::NEG_INFINITY && extent.is_of_all();
            if walked.is_dependable && is_enough {
                *reached = reached_now;
                return found(walked.candidates, Plan::Walk { ef: extent.ef() }, walked.stats);
            }
            // The rows asked for lie elsewhere than the query.
            walk = walked.stats;
            choice = shape.choose(matching, limit, None, 0.0);
        }
        let (candidates, plan) = match choice {
            Choice::Exact => (self.compare_all(query, rows, limit, stop)?, Plan::Exact),
            _ => {
                let by_row = choice == Choice::RowCodes;
                (self.codes.search_prepared(prepared(), rows, (limit, others_reached), by_row, stop)?, Plan::Codes)
            }
        };
        candidates.iter().for_each(|candidate| reached.offer(candidate.lower));
        found(candidates, plan, walk)
    }

    /// The exact similarities of rows to a raw query, in the order of `slots` (ascending is cheapest).
    pub fn compare(&self, query: &[f32], slots: &[u32]) -> Result<Vec<f32>> {
        validate(query, self.dim(), self.metric())?;
        self.vectors.compare(self.metric(), query, slots)
    }

    /// Calls `visit` with the stored vector of each of `slots`, in their order.
    pub fn read_stored(&self, slots: &[u32], visit: &mut dyn FnMut(u32, &[u8]) -> Result<()>) -> Result<()> {
        self.vectors.read(slots, visit)
    }

    /// Reads the graph ahead, if there is one: see [`RecordFile::read_ahead`](nuthatch_segment::RecordFile::read_ahead).
    pub fn read_ahead(&self, go_on: &mut dyn FnMut() -> bool) -> Result<ReadAhead> {
        self.graph.as_ref().map_or(Ok(ReadAhead::Done), |graph| graph.read_ahead(go_on))
    }

    /// Reads every file from end to end and checks every checksum.
    pub fn verify(&self) -> Result<()> {
        self.codes.verify()?;
        self.vectors.verify()?;
        self.graph.as_ref().map_or(Ok(()), Graph::verify)
    }

    /// Whether such a walk costs more than scanning the codes.
    fn scans_rather_than(&self, ef: Ef) -> bool {
        let shape = Shape { uncached_one: 0, four_is_cached: true, mapped: true, ..self.shape() };
        !matches!(shape.choose(u64::from(self.rows()), 1, Some(ef), 0.0), Choice::Walk(_))
    }

    /// Returns the current inputs to the choice of a plan.
    fn shape(&self) -> Shape {
        Shape {
            rows: self.rows(),
            dim: self.dim(),
            mapped: self.graph.as_ref().map_or(self.vectors.is_mapped(), Graph::is_mapped),
            uncached_one: self.uncached_one,
            rows_of_block: self.codes.rows_of_block(),
            four_is_cached: !self.codes.four.is_crowded(),
        }
    }

    fn prepare(&self, query: &[f32]) -> Prepared {
        Prepared::new(query, self.metric(), &self.codes.header.centroid, &self.codes.rotation)
    }

    fn compare_all(
        &self,
        query: &[f32],
        rows: Rows<'_>,
        limit: usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<Candidate>> {
        let mut gather = Gather::new(limit);
        let mut slots = Vec::with_capacity(plan::COMPARE_AT_ONCE);
        let mut compare = |slots: &mut Vec<u32>| -> Result<()> {
            if stop() {
                return Err(VectorError::Stopped);
            }
            for (slot, similarity) in slots.iter().zip(self.vectors.compare(self.metric(), query, slots)?) {
                gather.push(*slot, similarity, 0.0);
            }
            slots.clear();
            Ok(())
        };
        rows.try_for_each(self.rows(), |slot| {
            slots.push(slot);
            if slots.len() == plan::COMPARE_AT_ONCE { compare(&mut slots) } else { Ok(()) }
        })?;
        compare(&mut slots)?;
        Ok(gather.into_sorted())
    }
}

/// How much of a file is not in the block cache, supposed that half of that is for it.
fn uncached_blocks(file_bytes: u64, cache: &BlockCache) -> u64 {
    file_bytes.saturating_sub(cache.capacity_bytes() / 2) / BLOCK_BYTES as u64
}
