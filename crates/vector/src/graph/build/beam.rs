//! Greedy search with a beam over the growing graph ("GreedySearch" of Subramanya et al., "DiskANN", NeurIPS 2019).

use super::adjacency::Adjacency;
use super::candidate::Candidate;
use super::codes::{BuildCodes, Row};
use super::edges::Edges;
use super::visited::Visited;

/// A graph that a search walks.
pub(super) trait Neighbours {
    fn neighbours(&self, node: u32) -> &[u32];

    /// Asks for the memory of a list that is read soon.
    fn touch(&self, node: u32);
}

impl Neighbours for Adjacency {
    #[inline]
    fn neighbours(&self, node: u32) -> &[u32] {
        Self::neighbours(self, node)
    }

    #[inline]
    fn touch(&self, node: u32) {
        Self::touch(self, node);
    }
}

impl Neighbours for Edges {
    #[inline]
    fn neighbours(&self, node: u32) -> &[u32] {
        Self::neighbours(self, node)
    }

    #[inline]
    fn touch(&self, node: u32) {
        Self::touch(self, node);
    }
}

/// The buffers of one thread's searches.
pub(super) struct Beam {
    width: usize,
    /// The nearest nodes so far, ascending; marked when expanded.
    pool: Vec<Candidate>,
    visited: Visited,
    fresh: Vec<u32>,
    /// Every node whose list was read, in that order: the candidates for new edges.
    pub(super) expanded: Vec<Candidate>,
}

impl Beam {
    pub(super) fn new(width: usize) -> Self {
        Self { width: width.max(1), pool: Vec::new(), visited: Visited::new(), fresh: Vec::new(), expanded: Vec::new() }
    }

    /// Leaves in `expanded` the nodes on the way from `entries` to `target`'s neighbourhood.
    pub(super) fn search(&mut self, codes: &BuildCodes, graph: &impl Neighbours, entries: &[u32], target: &Row<'_>) {
        self.pool.clear();
        self.visited.clear();
        self.expanded.clear();
        self.fresh.clear();
        self.fresh.extend(entries.iter().filter(|entry| self.visited.insert(**entry)));
        self.offer_fresh(codes, target);
        let mut next = 0;
        while let Some(candidate) = self.pool.get(next).copied() {
            if candidate.is_marked() {
                next += 1;
                continue;
            }
            self.pool[next] = candidate.marked();
            self.expanded.push(candidate);
            self.fresh.clear();
            let neighbours = graph.neighbours(candidate.node()).iter();
            self.fresh.extend(neighbours.filter(|node| self.visited.insert(**node)));
            // Most likely the next list, and wanted sooner or later in any case.
            if let Some(likely) = self.pool[next + 1..].iter().find(|other| !other.is_marked()) {
                graph.touch(likely.node());
            }
            next = self.offer_fresh(codes, target).min(next + 1);
        }
    }

    /// Puts the fresh nodes that are near enough into the pool; the least place that changed.
    fn offer_fresh(&mut self, codes: &BuildCodes, target: &Row<'_>) -> usize {
        codes.touch(&self.fresh);
        let mut least = usize::MAX;
        for node in &self.fresh {
            let candidate = Candidate::new(target.distance(&codes.row(*node)), *node);
            if self.pool.len() >= self.width {
                if self.pool.last().is_some_and(|last| candidate.marked() > *last) {
                    continue;
                }
                self.pool.pop();
            }
            let place = self.pool.partition_point(|other| *other < candidate);
            self.pool.insert(place, candidate);
            least = least.min(place);
        }
        least
    }
}
