//! Searching the graph: best first, one record a hop.
//!
//! Greedy best-first search (as in DiskANN, Subramanya et al., NeurIPS 2019) over estimates from the records read on the way
//! (as in SymphonyQG, Gou et al., SIGMOD 2025): expanding a node reads its record, which says how near the node itself
//! is and estimates all its neighbours in one fast scan. Nodes that were expanded are the candidates. When records have to come
//! from the disk, several are expanded at once, because they arrive together.

use nuthatch_distance::{BLOCK_ROWS, scan_edges};
use nuthatch_segment::RecordReader;

use super::Graph;
use super::layout::Own;
use super::pool::{Pool, Seen};
use crate::gather::Gather;
use crate::prepared::Prepared;
use crate::quantiser::Factors;
use crate::{Candidate, Exact, Metric, Result, Rows, VectorError};

/// Records read at once when they come from the page cache, or are mapped.
const BEAM_WARM: usize = 1;
/// Records read at once when they come from the disk: more waste reads, fewer leave it idle.
const BEAM_COLD: usize = 8;
/// Nearest entries that a search begins at.
const ENTRIES_TAKEN: usize = 4;

/// What one walk did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WalkStats {
    /// Nodes expanded: records read.
    pub hops: usize,
    /// Times that reading was waited for.
    pub rounds: usize,
    /// Records that were not in the page cache.
    pub cold: usize,
    /// Expanded nodes that were among the rows asked for.
    pub matching: usize,
}

/// What a walk is limited by.
pub(crate) struct Bounds<'a> {
    pub(crate) rows: Rows<'a>,
    pub(crate) limit: usize,
    /// Size of the pool.
    pub(crate) effort: usize,
    pub(crate) stop: &'a dyn Fn() -> bool,
}

/// Memory of one walk, used again by the next.
pub(crate) struct Scratch {
    pool: Pool,
    seen: Seen,
    reader: RecordReader,
}

impl Scratch {
    pub(crate) fn new(reader: RecordReader) -> Self {
        Self { pool: Pool::new(), seen: Seen::new(), reader }
    }
}

impl Graph {
    /// Walks towards `query` (prepared; raw beside it) and gathers the candidates that can be among the `limit` best of `rows`.
    pub(crate) fn walk(
        &self,
        raw: &[f32],
        query: &Prepared,
        bounds: &Bounds<'_>,
    ) -> Result<(Vec<Candidate>, WalkStats)> {
        let mut scratch = self.scratch();
        let outcome = self.walk_with(&mut scratch, raw, query, bounds);
        self.keep(scratch);
        outcome
    }

    fn walk_with(
        &self,
        scratch: &mut Scratch,
        raw: &[f32],
        query: &Prepared,
        bounds: &Bounds<'_>,
    ) -> Result<(Vec<Candidate>, WalkStats)> {
        let Scratch { pool, seen, reader } = scratch;
        seen.begin();
        let table = query.edge_table(self.layout.scanned);
        let nearness = Nearness::new(self.header.metric, raw, self.header.lift_max_squared);
        let mut exact = Exact::new(self.header.metric, self.header.element, raw);
        let mut gather = Gather::new(bounds.limit);
        let mut estimates = [0.0; BLOCK_ROWS];
        let before = reader.stats();

        pool.begin(bounds.effort.min(ENTRIES_TAKEN));
        for (block, nodes) in self.entry_blocks() {
            let (codes, factors) = block.split_at(self.layout.code_bytes());
            scan_edges(codes, self.layout.planes, factors, &table, -query.norm_squared(), &mut estimates);
            let mut bar = pool.bar();
            for (estimate, node) in estimates.iter().zip(nodes) {
                if *estimate > bar {
                    pool.push(*node, *estimate);
                    bar = pool.bar();
                }
            }
        }
        pool.grow(bounds.effort);
        let mut stats = WalkStats::default();
        let mut beam = [0u32; BEAM_COLD];
        loop {
            if (bounds.stop)() {
                return Err(VectorError::Stopped);
            }
            let width = if reader.cold() { BEAM_COLD } else { BEAM_WARM };
            let mut taken = 0;
            while taken < width
                && let Some(node) = pool.pop()
            {
                // A node comes in again when another neighbour estimates it nearer.
                if seen.insert(node) {
                    beam[taken] = node;
                    taken += 1;
                }
            }
            if taken == 0 {
                break;
            }
            stats.hops += taken;
            // The record after these is most likely this one: it arrives while they are looked at.
            if let Some(next) = pool.peek() {
                reader.prefetch(next);
            }
            reader.read(&beam[..taken], &mut |at, bytes| {
                let node = beam[at];
                let record = self.layout.record(bytes);
                let (similarity, error) = match self.layout.own {
                    Own::Stored => (exact.similarity(record.own).unwrap_or(f32::NEG_INFINITY), 0.0),
                    Own::Nibbles => {
                        let (add, scale) = record.own_factors();
                        let (similarity, error) = query.estimate(record.own, Factors { add, scale });
                        (similarity + query.base, error)
                    }
                };
                if bounds.rows.contains(node) {
                    stats.matching += 1;
                    gather.push(node, similarity, error);
                }
                let base = nearness.of(similarity);
                scan_edges(record.codes, self.layout.planes, record.factors, &table, base, &mut estimates);
                let mut bar = pool.bar();
                for (edge, estimate) in estimates.iter().enumerate().take(record.degree()) {
                    if *estimate > bar {
                        let neighbour = record.neighbour(edge);
                        if neighbour < self.header.rows && !seen.contains(neighbour) {
                            pool.push(neighbour, *estimate);
                            bar = pool.bar();
                        }
                    }
                }
                Ok::<(), VectorError>(())
            })?;
            if let Some(next) = pool.peek() {
                reader.prefetch(next);
            }
        }
        let after = reader.stats();
        stats.rounds = (after.rounds - before.rounds) as usize;
        stats.cold = (after.cold - before.cold) as usize;
        Ok((gather.into_sorted(), stats))
    }
}

/// From a similarity to minus the squared distance between the lifted vectors, which the graph was built in.
struct Nearness {
    factor: f32,
    add: f32,
}

impl Nearness {
    fn new(metric: Metric, raw: &[f32], lift_max_squared: f32) -> Self {
        match metric {
            Metric::Cosine => Self { factor: 2.0, add: -2.0 },
            Metric::L2 | Metric::Hamming => Self { factor: 1.0, add: 0.0 },
            Metric::Dot => {
                let norm_squared: f32 = raw.iter().map(|x| x * x).sum();
                Self { factor: 2.0, add: -norm_squared - lift_max_squared }
            }
        }
    }

    fn of(&self, similarity: f32) -> f32 {
        self.factor * similarity + self.add
    }
}
