//! Inserting a batch of rows: searched for in the graph as it stands, then linked both ways.
//!
//! As ParlayANN does (Manohar et al., "ParlayANN: Scalable and Deterministic Parallel Graph-Based Approximate Nearest Neighbor
//! Search Algorithms", PPoPP 2024): during the searches nothing changes, and the edges back are grouped by their target and
//! applied in order. So the graph depends on the batches alone, not on the threads.

use std::ops::Range;

use super::adjacency::{Adjacency, CAPACITY, Lists};
use super::beam::Beam;
use super::candidate::Candidate;
use super::codes::BuildCodes;
use super::prune::{Pruned, Pruner};
use super::{BuildParameters, DEGREE, parallel};

/// Rows that a thread takes at a time.
const TASK_ROWS: usize = 16;
/// Tasks of linking back, per thread.
const TASKS_PER_THREAD: usize = 8;

/// The state of one thread.
pub(super) struct Worker {
    pub(super) beam: Beam,
    pub(super) pruner: Pruner,
}

impl Worker {
    pub(super) fn new(parameters: &BuildParameters) -> Self {
        Self { beam: Beam::new(parameters.beam), pruner: Pruner::default() }
    }
}

/// The graph that a batch is inserted into.
pub(super) struct Target<'a> {
    pub(super) codes: &'a BuildCodes,
    pub(super) adjacency: &'a mut Adjacency,
    /// Where searches begin.
    pub(super) entry: u32,
    pub(super) alpha: f32,
}

/// The neighbours that one pruning left a new row, kept until all rows of the batch have been searched for.
#[derive(Clone, Copy, Default)]
struct Linked {
    neighbours: [u32; DEGREE],
    degree: usize,
    chosen: usize,
}

impl Linked {
    fn new(pruned: Pruned<'_>) -> Self {
        let mut linked = Self { degree: pruned.neighbours.len(), chosen: pruned.chosen, ..Self::default() };
        linked.neighbours[..linked.degree].copy_from_slice(pruned.neighbours);
        linked
    }

    fn pruned(&self) -> Pruned<'_> {
        Pruned { neighbours: &self.neighbours[..self.degree], chosen: self.chosen }
    }
}

impl Target<'_> {
    pub(super) fn insert(self, rows: &[u32], workers: &mut [Worker]) {
        let linked = self.choose(rows, workers);
        let mut lists = self.adjacency.all();
        let mut back = Vec::with_capacity(rows.len() * DEGREE);
        for (row, linked) in rows.iter().zip(&linked) {
            let pruned = linked.pruned();
            lists.choose(*row, pruned);
            back.extend(pruned.neighbours.iter().map(|target| u64::from(*target) << 32 | u64::from(*row)));
        }
        back.sort_unstable();
        link_all_back(self.codes, lists, &back, self.alpha, workers);
    }

    /// The neighbours of each row among those that are in the graph.
    fn choose(&self, rows: &[u32], workers: &mut [Worker]) -> Vec<Linked> {
        let mut linked = vec![Linked::default(); rows.len()];
        let tasks = rows.chunks(TASK_ROWS).zip(linked.chunks_mut(TASK_ROWS)).collect();
        let (codes, adjacency) = (self.codes, &*self.adjacency);
        parallel::for_each(workers, tasks, |worker, (rows, linked): (&[u32], &mut [Linked])| {
            let Worker { beam, pruner } = worker;
            for (row, linked) in rows.iter().zip(linked) {
                beam.search(codes, adjacency, &[self.entry], &codes.row(*row));
                pruner.candidates.clear();
                pruner.candidates.extend_from_slice(&beam.expanded);
                *linked = Linked::new(pruner.prune(codes, *row, self.alpha));
            }
        });
        linked
    }
}

/// Adds edges, ascending (target in the high half, source in the low half), to their targets' lists.
fn link_all_back(codes: &BuildCodes, lists: Lists<'_>, back: &[u64], alpha: f32, workers: &mut [Worker]) {
    let per_task = back.len() / (workers.len() * TASKS_PER_THREAD) + 1;
    let mut tasks = Vec::new();
    let (mut rest, mut lists) = (back, lists);
    while !rest.is_empty() {
        let mut cut = per_task.min(rest.len());
        let last = target(rest[cut - 1]);
        cut += rest[cut..].iter().take_while(|edge| target(**edge) == last).count();
        let (now, later) = rest.split_at(cut);
        let (near, far) = lists.split_at(last + 1);
        tasks.push((now, near));
        (rest, lists) = (later, far);
    }
    parallel::for_each(workers, tasks, |worker, (back, mut lists): (&[u64], Lists<'_>)| {
        for edges in back.chunk_by(|a, b| target(*a) == target(*b)) {
            link_back(codes, &mut worker.pruner, &mut lists, edges, alpha);
        }
    });
}

fn target(edge: u64) -> u32 {
    (edge >> 32) as u32
}

/// Adds edges from one target to its new sources; prunes the target's list when it is full.
fn link_back(codes: &BuildCodes, pruner: &mut Pruner, lists: &mut Lists<'_>, edges: &[u64], alpha: f32) {
    let node = target(edges[0]);
    if lists.neighbours(node).len() + edges.len() <= CAPACITY {
        edges.iter().for_each(|edge| lists.append(node, *edge as u32));
    } else {
        prune_again(codes, pruner, lists, node, edges, alpha);
    }
}

/// Chooses again among a node's neighbours and the sources of `edges`.
fn prune_again(codes: &BuildCodes, pruner: &mut Pruner, lists: &mut Lists<'_>, node: u32, edges: &[u64], alpha: f32) {
    let row = codes.row(node);
    let (old, chosen) = (lists.neighbours(node), lists.chosen(node));
    codes.touch(old);
    let candidate = |other: u32| Candidate::new(row.distance(&codes.row(other)), other);
    pruner.candidates.clear();
    pruner.candidates.extend(old[..chosen].iter().map(|other| candidate(*other).marked()));
    pruner.candidates.extend(old[chosen..].iter().map(|other| candidate(*other)));
    pruner.candidates.extend(edges.iter().map(|edge| candidate(*edge as u32)));
    lists.choose(node, pruner.prune(codes, node, alpha));
}

/// Prunes every list that has grown longer than a finished one may be.
pub(super) fn trim(codes: &BuildCodes, adjacency: &mut Adjacency, alpha: f32, workers: &mut [Worker]) {
    let tasks = node_ranges(adjacency, workers.len());
    parallel::for_each(workers, tasks, |worker, (nodes, mut lists): (Range<u32>, Lists<'_>)| {
        for node in nodes {
            if lists.neighbours(node).len() > DEGREE {
                prune_again(codes, &mut worker.pruner, &mut lists, node, &[], alpha);
            }
        }
    });
}

/// Returns all lists, cut into tasks for `threads` threads.
pub(super) fn node_ranges(adjacency: &mut Adjacency, threads: usize) -> Vec<(Range<u32>, Lists<'_>)> {
    let nodes = adjacency.len() as u32;
    let per_task = nodes / (threads * TASKS_PER_THREAD) as u32 + 1;
    let mut tasks = Vec::new();
    let mut lists = adjacency.all();
    let mut first = 0;
    while first < nodes {
        let end = nodes.min(first.saturating_add(per_task));
        let (near, far) = lists.split_at(end);
        tasks.push((first..end, near));
        (first, lists) = (end, far);
    }
    tasks
}
