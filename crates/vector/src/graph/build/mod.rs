//! Building the graph of a large segment, in memory: an incremental Vamana over int8 codes.
//!
//! **Useful for** turning the rows of a segment ([`BuildCodes`]) into a graph ([`Edges`]) that a greedy search finds near rows
//! in, from nothing or from the graph of a segment that most of the rows come from ([`GraphBuilder::from_previous`]).
//! **Not for** searching: the finished edges are written into records with codes of their own.
//!
//! **Invariants:** the edges depend on the codes and the parameters alone: not on the number of threads, nor on where a build was
//! interrupted and [resumed](GraphBuilder::resume). No node has more than 32 neighbours, none is its own neighbour, and
//! the first entry reaches every node.
//!
//! Vamana: Subramanya et al., "DiskANN", NeurIPS 2019. Deterministic parallel batches: Manohar et al., "ParlayANN", PPoPP 2024.
//!
//! Memory in addition to the codes: `4 * (DEGREE + SLACK) + 6` bytes a row, `4 * DEGREE + 1` when finished.

mod adjacency;
mod batch;
mod beam;
mod candidate;
mod checkpoint;
mod codes;
mod connect;
mod edges;
mod grow;
mod link;
mod order;
mod parallel;
mod prune;
mod visited;

use std::ops::ControlFlow;

use adjacency::Adjacency;
use batch::{Target, Worker};
pub use codes::BuildCodes;
pub(crate) use codes::Row;
pub use edges::Edges;
pub(crate) use link::{Choice, Guest, List, MET_MAX, Met, choose, keep_connected, meet};
pub(crate) use order::scatter;

/// Greatest number of neighbours: one block of the fast scan.
pub const DEGREE: usize = nuthatch_distance::BLOCK_ROWS;
/// The edges that a list may gather in addition before it is pruned.
const SLACK: usize = 16;
/// A batch has one row for this many rows in the graph. Its rows do not see each other: a tenth costs a little recall.
const BATCH_SHARE: usize = 50;
/// And no more than this, so that a build can be stopped within a second or two.
const BATCH_MAX: usize = 10_000;

/// How a graph is built. Different parameters make different graphs of the same rows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BuildParameters {
    /// Nodes that a search keeps while it looks for a row's neighbours: more cost time and make a better graph.
    pub beam: usize,
    /// How much nearer (in squared distance) a neighbour must be to another to make that one superfluous.
    pub alpha: f32,
    /// Of the order of insertion.
    pub seed: u64,
}

impl Default for BuildParameters {
    fn default() -> Self {
        Self { beam: 100, alpha: 1.05, seed: 0 }
    }
}

/// How far a build is, in rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Rows that are in the graph.
    pub done: usize,
    /// Rows that it will have.
    pub total: usize,
}

/// A graph in the making.
pub struct GraphBuilder<'a> {
    codes: &'a BuildCodes,
    parameters: BuildParameters,
    adjacency: Adjacency,
    /// The first is the middle, and the first row of the graph.
    entries: Vec<u32>,
    /// Rows that are not in the graph yet, the next one last.
    waiting: Vec<u32>,
}

impl<'a> GraphBuilder<'a> {
    /// # Panics
    /// From 2^31 rows on.
    pub fn new(codes: &'a BuildCodes, parameters: BuildParameters) -> Self {
        Self::with_adjacency(codes, parameters, Adjacency::new(codes.len()), Vec::new())
    }

    /// Begins with the graph of a segment that is merged into this one. `new_of_old` names for each of its nodes the row that
    /// it has become, `u32::MAX` where that was dropped. The edges of rows that lost neighbours are repaired here, which
    /// takes up to a sixth of the time of inserting them; rows that were not in the old graph are inserted by
    /// [`build`](Self::build).
    ///
    /// # Panics
    /// When the lengths of `previous` and `new_of_old` differ, an old neighbour is no old node, or a new number is no row.
    pub fn from_previous(
        codes: &'a BuildCodes,
        previous: &Edges,
        new_of_old: &[u32],
        parameters: BuildParameters,
        threads: usize,
    ) -> Self {
        let mut workers = workers(&parameters, threads);
        let adjacency = grow::keep(codes, previous, new_of_old, &parameters, &mut workers);
        Self::with_adjacency(codes, parameters, adjacency, Vec::new())
    }

    /// `entries` of an earlier build, none to choose them: among the rows that are in the graph, else among all.
    fn with_adjacency(
        codes: &'a BuildCodes,
        parameters: BuildParameters,
        mut adjacency: Adjacency,
        mut entries: Vec<u32>,
    ) -> Self {
        assert!(codes.len() < candidate::NODES_MAX, "too many rows for one graph");
        let rows = 0..codes.len() as u32;
        let (present, absent): (Vec<u32>, Vec<u32>) = rows.partition(|row| adjacency.contains(*row));
        let mut waiting = order::insertion_order(absent, parameters.seed);
        if entries.is_empty() && !present.is_empty() {
            entries = order::choose_entries(codes, &order::insertion_order(present, parameters.seed));
        } else if entries.is_empty() {
            entries = order::choose_entries(codes, &waiting);
            if let Some(entry) = entries.first() {
                adjacency.all().set(*entry, &[]);
                waiting.retain(|row| row != entry);
            }
        }
        waiting.reverse();
        Self { codes, parameters, adjacency, entries, waiting }
    }

    /// Inserts the rows that are still missing, on `threads` threads. `progress` is called between batches; when it
    /// returns [`ControlFlow::Break`], the build stops there, can be [saved](Self::checkpoint), and continues when
    /// called again.
    pub fn build(&mut self, threads: usize, progress: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> ControlFlow<()> {
        let mut workers = workers(&self.parameters, threads);
        let total = self.codes.len();
        // The middle alone: a graph grown from all entries is worse to search from any one of them, and no better from all.
        let entry = self.entries.first().copied().unwrap_or_default();
        while !self.waiting.is_empty() {
            let done = total - self.waiting.len();
            progress(Progress { done, total })?;
            let batch = (done / BATCH_SHARE).clamp(1, BATCH_MAX).min(self.waiting.len());
            let mut rows = self.waiting.split_off(self.waiting.len() - batch);
            // Rows of a segment lie near their likes: in their order, one search finds in the CPU's cache what the last one read.
            rows.sort_unstable();
            let target =
                Target { codes: self.codes, adjacency: &mut self.adjacency, entry, alpha: self.parameters.alpha };
            target.insert(&rows, &mut workers);
        }
        progress(Progress { done: total, total })
    }

    /// Inserts what is missing and returns the finished graph.
    pub fn finish(mut self, threads: usize) -> Edges {
        let _ = self.build(threads, &mut |_| ControlFlow::Continue(()));
        let mut workers = workers(&self.parameters, threads);
        batch::trim(self.codes, &mut self.adjacency, self.parameters.alpha, &mut workers);
        // A grown graph was begun with entries among the rows that it kept; what is new may lie where none of them is.
        let rows = 0..self.codes.len() as u32;
        let entries = order::choose_entries(self.codes, &order::insertion_order(rows.collect(), self.parameters.seed));
        if let Some(entry) = entries.first() {
            connect::connect(self.codes, &mut self.adjacency, *entry, &mut workers[0].beam);
        }
        self.adjacency.into_edges(entries)
    }
}

fn workers(parameters: &BuildParameters, threads: usize) -> Vec<Worker> {
    (0..threads.max(1)).map(|_| Worker::new(parameters)).collect()
}
