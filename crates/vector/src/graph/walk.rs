//! Searching the graph: best first, one record a hop.
//!
//! Greedy best-first search (as in DiskANN, Subramanya et al., NeurIPS 2019) over estimates from the records read on the way
//! (as in SymphonyQG, Gou et al., SIGMOD 2025): expanding a node reads its record, which says how near the node itself
//! is and estimates all its neighbours in one fast scan. Nodes that were expanded are the candidates. When records have to come
//! from the disk, several are expanded at once, because they arrive together. Else the next node is chosen a hop early, so that
//! its record comes from memory while the one before it is looked at.

use nuthatch_distance::{BLOCK_ROWS, LookupTable, scan_edges};
use nuthatch_segment::RecordReader;

use super::Graph;
use super::among::is_dense;
use super::filtered::{Beside, Filtered, Reach};
use super::front::{Everything, Front, each_bit};
use super::layout::{Own, Record};
use super::pool::{Pool, Seen};
use crate::gather::Gather;
use crate::members::Members;
use crate::prepared::Prepared;
use crate::quantiser::Factors;
use crate::{Candidate, Exact, Metric, Reached, Result, Rows, VectorError};

/// Records read at once when they come from the page cache, or are mapped.
const BEAM_WARM: usize = 1;
/// The same where so much is left to be read that the order hardly matters: they arrive together.
const BEAM_WIDE: usize = 4;
/// Records read at once when they come from the disk. The excess reads of a wider beam also find more, so a smaller
/// pool finds as much; a narrower beam leaves the disk idle.
const BEAM_COLD: usize = 32;

/// Hops on the way to the query, where the best node is mostly one that was found just now. After them the next is chosen a hop early.
const ARRIVING: usize = 12;
/// Parts that its record is prefetched in, between the steps of a hop.
const PARTS: usize = 4;

/// Statistics of one walk.
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

/// How far a walk goes when all rows are asked for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Ef {
    /// Nodes that the pool holds: the walk ends when all of them have been expanded.
    pub(crate) pool: usize,
    /// Where other segments have found as many rows as are asked for, it also ends when all nodes left are farther than the last
    /// of the best rows found, by more than this part of the squared distance; infinite: it does not.
    pub(crate) slack: f32,
}

impl Ef {
    /// Until the whole pool has been expanded.
    pub(crate) fn whole(pool: usize) -> Self {
        Self { pool, slack: f32::INFINITY }
    }
}

/// The extent of a walk.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Extent {
    /// Whatever matches.
    Ef(Ef),
    /// As far as it takes to come to what matches.
    Reach(Reach),
}

impl Extent {
    /// Whether all rows are asked for, or nearly.
    pub(crate) fn is_of_all(self) -> bool {
        matches!(self, Self::Ef(_))
    }

    /// Size of the pool.
    pub(crate) fn ef(self) -> usize {
        match self {
            Self::Ef(Ef { pool, .. }) => pool,
            Self::Reach(Reach { ef, .. }) => ef,
        }
    }
}

/// The result of a walk.
pub(crate) struct Walked {
    /// Those that can be among the best.
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) stats: WalkStats,
    /// False where the rows asked for lie elsewhere than the query: others may be nearer.
    pub(crate) is_dependable: bool,
}

/// The limits of a walk.
pub(crate) struct Bounds<'a> {
    pub(crate) rows: Rows<'a>,
    pub(crate) limit: usize,
    pub(crate) extent: Extent,
    pub(crate) stop: &'a dyn Fn() -> bool,
    pub(crate) sample: &'a Sample<'a>,
}

/// Returns around the given number of the rows asked for, spread over all of them, with their similarities.
pub(crate) type Sample<'a> = dyn Fn(u32) -> Result<Vec<(u32, f32)>> + 'a;

/// Memory of one walk, used again by the next.
pub(crate) struct Scratch {
    pool: Pool,
    beside: Beside,
    seen: Seen,
    reader: RecordReader,
}

impl Scratch {
    pub(crate) fn new(reader: RecordReader) -> Self {
        Self { pool: Pool::default(), beside: Beside::default(), seen: Seen::new(), reader }
    }
}

impl Graph {
    /// Walks towards `query` (prepared; `raw` is the same vector) and gathers the candidates that can be among the
    /// `limit` best of `rows`. `reached` is what other segments found; the rows found here are offered to it.
    pub(crate) fn walk(
        &self,
        raw: &[f32],
        query: &Prepared,
        bounds: &Bounds<'_>,
        reached: &mut Reached,
    ) -> Result<Walked> {
        let mut scratch = self.scratch();
        let Scratch { pool, beside, seen, reader } = &mut scratch;
        let members = Members::new(bounds.rows, self.header.rows);
        let outcome = match bounds.extent {
            Extent::Ef(ef) => {
                let mut front = Everything::new(pool, members, ef.pool);
                let mut ending = Ending::new(reached, ef.slack, bounds.limit);
                self.walk_with(&mut front, (seen, reader), raw, query, bounds, &mut ending)
            }
            Extent::Reach(reach) => {
                let mut front = Filtered::new(pool, beside, members, reach);
                let mut ending = Ending::new(reached, f32::INFINITY, bounds.limit);
                self.walk_with(&mut front, (seen, reader), raw, query, bounds, &mut ending)
            }
        };
        scratch.beside.trim();
        self.keep(scratch);
        outcome
    }

    fn walk_with(
        &self,
        front: &mut impl Front,
        (seen, reader): (&mut Seen, &mut RecordReader),
        raw: &[f32],
        query: &Prepared,
        bounds: &Bounds<'_>,
        ending: &mut Ending<'_>,
    ) -> Result<Walked> {
        seen.begin();
        let table = query.edge_table(self.layout.scanned);
        let nearness = Nearness::new(self.header.metric, raw, self.header.lift_max_squared);
        let mut exact = Exact::new(self.header.metric, self.header.element, raw);
        let mut gather = Gather::new(bounds.limit);
        let mut estimates = [0.0; BLOCK_ROWS];
        let before = reader.stats();
        let watch = self.file.watch();

        self.enter(front, &table, query, &mut estimates);
        front.begin();
        let mut stats = WalkStats::default();
        let mut beam = [0u32; BEAM_COLD];
        // Chosen before what is looked at now told of its neighbours.
        let mut ahead = None;
        loop {
            if (bounds.stop)() {
                return Err(VectorError::Stopped);
            }
            let taken = take(&mut beam, ahead.take(), front, seen, reader);
            if taken == 0 {
                let Some(wanted) = front.wants_seeds() else { break };
                let mut seeds = (bounds.sample)(wanted)?;
                seeds.iter_mut().for_each(|(_, similarity)| *similarity = nearness.of(*similarity));
                front.seed(&seeds);
                continue;
            }
            stats.hops += taken;
            beam[1..taken].iter().for_each(|node| reader.prefetch(*node));
            // Chosen now, and not only when this one has told of its neighbours, its record arrives while this one is looked at.
            if taken == 1 && stats.hops > ARRIVING && !front.is_wide() {
                ahead = next(front, seen);
            }
            let prefetch_part = |part| ahead.into_iter().for_each(|node| self.file.prefetch(node, (part, PARTS)));
            prefetch_part(0);
            prefetch_likely(ahead, front, reader);
            reader.read(&beam[..taken], &mut |at, bytes| {
                let node = beam[at];
                let record = self.layout.record(bytes);
                let (similarity, error) = self.own_similarity(&record, &mut exact, query);
                if front.matches(node) {
                    stats.matching += 1;
                    gather.push(node, similarity, error);
                    if let Some(end) = ending.found(similarity - error, &nearness) {
                        front.end_at(end);
                    }
                }
                let base = nearness.of(similarity);
                prefetch_part(1);
                let bounds = (base, front.bar());
                let above =
                    scan_edges(record.codes, self.layout.planes, record.factors, &table, bounds, &mut estimates);
                prefetch_part(2);
                let edges = each_bit(above & record.edges());
                let neighbours = edges.map(|edge| (record.neighbour(edge), estimates[edge]));
                front.offer(neighbours.filter(|(neighbour, _)| *neighbour < self.header.rows), seen);
                prefetch_part(3);
                Ok::<(), VectorError>(())
            })?;
            prefetch_likely(ahead, front, reader);
        }
        self.file.settle(watch, stats.hops);
        let after = reader.stats();
        stats.rounds = (after.rounds - before.rounds) as usize;
        stats.cold = (after.cold - before.cold) as usize;
        let candidates = gather.into_sorted();
        let is_dependable = self.is_dependable(front, reader, &candidates[..candidates.len().min(bounds.limit)])?;
        Ok(Walked { candidates, stats, is_dependable })
    }

    /// Offers the entries of the graph.
    fn enter(&self, front: &mut impl Front, table: &LookupTable, query: &Prepared, estimates: &mut [f32; BLOCK_ROWS]) {
        for (block, nodes) in self.entry_blocks() {
            let (codes, factors) = block.split_at(self.layout.code_bytes());
            let bounds = (-query.norm_squared(), front.bar());
            let above = scan_edges(codes, self.layout.planes, factors, table, bounds, estimates);
            front.enter(nodes, estimates, above);
        }
    }

    /// How near a node itself is, and by how much that may be wrong.
    #[inline]
    fn own_similarity(&self, record: &Record<'_>, exact: &mut Exact<'_>, query: &Prepared) -> (f32, f32) {
        match self.layout.own {
            Own::Stored => (exact.similarity(record.own).unwrap_or(f32::NEG_INFINITY), 0.0),
            Own::Nibbles => {
                let (add, scale) = record.own_factors();
                let (similarity, error) = query.estimate(record.own, Factors { add, scale });
                (similarity + query.base, error)
            }
        }
    }

    /// Whether `nearest` are where the rows asked for lie.
    fn is_dependable(&self, front: &impl Front, reader: &mut RecordReader, nearest: &[Candidate]) -> Result<bool> {
        let mut is_dependable = front.is_dependable();
        if front.must_be_dense() {
            let nearest: Vec<u32> = nearest.iter().map(|candidate| candidate.slot).collect();
            is_dependable &= is_dense(&self.matching_around(front, reader, &nearest)?);
        }
        Ok(is_dependable)
    }

    /// How many neighbours of each of `nodes` match.
    fn matching_around(&self, front: &impl Front, reader: &mut RecordReader, nodes: &[u32]) -> Result<Vec<usize>> {
        let mut matching = Vec::with_capacity(nodes.len());
        for nodes in nodes.chunks(BEAM_COLD) {
            reader.read(nodes, &mut |_, bytes| {
                let record = self.layout.record(bytes);
                let neighbours = (0..record.degree()).map(|edge| record.neighbour(edge));
                matching.push(neighbours.filter(|node| front.matches(*node)).count());
                Ok::<(), VectorError>(())
            })?;
        }
        Ok(matching)
    }
}

/// When a walk has gone far enough.
struct Ending<'a> {
    reached: &'a mut Reached,
    /// The nearest few rows of this graph: as long as they become nearer, the walk is still on its way to the query, however far
    /// that is from what other segments found.
    own: Reached,
    slack: f32,
}

/// The most rows that `own` holds.
const OWN_NEAREST: usize = 4;

impl<'a> Ending<'a> {
    fn new(reached: &'a mut Reached, slack: f32, limit: usize) -> Self {
        let slack = if reached.last() == f32::NEG_INFINITY { f32::INFINITY } else { slack };
        Self { reached, own: Reached::counting(limit.clamp(1, OWN_NEAREST)), slack }
    }

    /// A row was found with this similarity at least. Returns what a node must be nearer than to be worth expanding from now on.
    #[inline]
    fn found(&mut self, similarity: f32, nearness: &Nearness) -> Option<f32> {
        self.reached.offer(similarity);
        if self.slack == f32::INFINITY {
            return None;
        }
        self.own.offer(similarity);
        let last = nearness.of(self.reached.last());
        Some((last * (1.0 + self.slack)).min(nearness.of(self.own.last())))
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

/// Takes the nodes from the front that are expanded next, as many as are read at once; or the one that was chosen already.
#[inline]
fn take(
    beam: &mut [u32; BEAM_COLD],
    chosen: Option<u32>,
    front: &mut impl Front,
    seen: &mut Seen,
    reader: &RecordReader,
) -> usize {
    if let Some(chosen) = chosen {
        beam[0] = chosen;
        return 1;
    }
    let width = match reader.cold() {
        true => BEAM_COLD,
        false if front.is_wide() => BEAM_WIDE,
        false => BEAM_WARM,
    };
    let mut taken = 0;
    while taken < width
        && let Some(node) = next(front, seen)
    {
        beam[taken] = node;
        taken += 1;
    }
    taken
}

/// Where no next node was chosen, prefetches the record of the one that is most likely next.
#[inline]
fn prefetch_likely(chosen: Option<u32>, front: &impl Front, reader: &RecordReader) {
    if chosen.is_none()
        && let Some(likely) = front.peek()
    {
        reader.prefetch(likely);
    }
}

/// Takes the next node from the front.
#[inline]
fn next(front: &mut impl Front, seen: &mut Seen) -> Option<u32> {
    // A node comes in again when another neighbour estimates it nearer.
    loop {
        let node = front.pop()?;
        if seen.insert(node) {
            return Some(node);
        }
    }
}
