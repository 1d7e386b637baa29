//! The choice of the node that a walk expands next.
//!
//! **Useful for** keeping the walk itself the same with and without a filter: [`Everything`] goes towards the query, `Filtered`
//! goes there too, and from there on to the rows that match.
//! **Not for** reading records or judging nodes: the walk does, and tells what it saw.
//!
//! **Invariant:** a front hands out no node of itself: the entry table, seeds and neighbours are all that it knows.

use nuthatch_distance::BLOCK_ROWS;

use super::pool::{Pool, Seen, nearness_of};
use crate::members::Members;

/// A walk's open ends.
pub(super) trait Front {
    /// Takes nodes of the entry table with their nearness; those of `above` are nearer than the [`bar`](Self::bar).
    fn enter(&mut self, nodes: &[u32], nearness: &[f32; BLOCK_ROWS], above: u32);
    /// The entry table is through.
    fn begin(&mut self);
    /// The node to be expanded; one may come again.
    fn pop(&mut self) -> Option<u32>;
    /// The node that [`pop`](Self::pop) will most likely return.
    fn peek(&self) -> Option<u32>;
    /// Whether a node is among the rows asked for.
    fn matches(&self, node: u32) -> bool;
    /// The nearness that a node must exceed to be worth offering.
    fn bar(&self) -> f32;
    /// Takes neighbours of a node that was expanded, with their estimates: those nearer than the [`bar`](Self::bar).
    fn offer(&mut self, neighbours: impl Iterator<Item = (u32, f32)>, seen: &Seen);
    /// Nodes that are no nearer than this need not be expanded any more.
    fn end_at(&mut self, _nearness: f32) {}
    /// Whether so many nodes are left to expand that the next few hardly depend on the nodes seen until then.
    fn is_wide(&mut self) -> bool {
        false
    }
    /// Rows from all over those asked for, that many, if it cannot go on without them. Asked when nothing is left to be expanded.
    fn wants_seeds(&self) -> Option<u32> {
        None
    }
    /// Takes them, with their nearness, and goes on from there if that is worth it.
    fn seed(&mut self, _seeds: &[(u32, f32)]) {}
    /// Whether all was seen that lies as near as what was found.
    fn is_dependable(&self) -> bool;
    /// Whether that is so only if the nearest nodes found have neighbours that match.
    fn must_be_dense(&self) -> bool {
        false
    }
}

/// Nearest entries that a walk begins at.
pub(super) const ENTRIES_TAKEN: usize = 4;

/// Places of the bits that are set, in their order.
#[inline]
pub(super) fn each_bit(mut bits: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(place)
    })
}

/// Best first, until everything in a pool of one size has been expanded.
pub(super) struct Everything<'a> {
    pub(super) pool: &'a mut Pool,
    pub(super) members: Members<'a>,
    pub(super) ef: usize,
    end: f32,
}

impl<'a> Everything<'a> {
    pub(super) fn new(pool: &'a mut Pool, members: Members<'a>, ef: usize) -> Self {
        pool.begin(ef.min(ENTRIES_TAKEN));
        Self { pool, members, ef, end: f32::NEG_INFINITY }
    }
}

impl Front for Everything<'_> {
    fn enter(&mut self, nodes: &[u32], nearness: &[f32; BLOCK_ROWS], above: u32) {
        each_bit(above).take_while(|at| *at < nodes.len()).for_each(|at| {
            self.pool.push(nodes[at], nearness[at]);
        });
    }

    fn begin(&mut self) {
        self.pool.grow(self.ef);
    }

    fn pop(&mut self) -> Option<u32> {
        match self.pool.first() {
            Some(first) if nearness_of(first) > self.end => self.pool.pop(),
            _ => None,
        }
    }

    fn peek(&self) -> Option<u32> {
        self.pool.peek()
    }

    fn matches(&self, node: u32) -> bool {
        self.members.contains(node)
    }

    fn bar(&self) -> f32 {
        self.pool.bar().max(self.end)
    }

    fn end_at(&mut self, nearness: f32) {
        self.end = nearness;
    }

    fn offer(&mut self, neighbours: impl Iterator<Item = (u32, f32)>, seen: &Seen) {
        for (neighbour, estimate) in neighbours.filter(|(neighbour, _)| !seen.contains(*neighbour)) {
            self.pool.add(neighbour, estimate);
        }
        self.pool.merge();
    }

    fn is_dependable(&self) -> bool {
        true
    }
}
