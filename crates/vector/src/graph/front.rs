//! What a walk expands next.
//!
//! **Useful for** keeping the walk itself the same with and without a filter: [`Everything`] goes towards the query, `Filtered`
//! goes there too, and from there on to the rows that match.
//! **Not for** reading records or judging nodes: the walk does, and tells what it saw.
//!
//! **Invariant:** a front hands out no node of itself: the entry table, seeds and neighbours are all that it knows.

use super::pool::{Pool, Seen};
use crate::members::Members;

/// A walk's open ends.
pub(super) trait Front {
    /// Takes a node of the entry table.
    fn enter(&mut self, node: u32, nearness: f32);
    /// The entry table is through.
    fn begin(&mut self);
    /// The node to be expanded; one may come again.
    fn pop(&mut self) -> Option<u32>;
    /// What [`pop`](Self::pop) will most likely give.
    fn peek(&self) -> Option<u32>;
    /// Whether a node is among the rows asked for.
    fn matches(&self, node: u32) -> bool;
    /// Takes the neighbours of a node that was expanded, with their estimates.
    fn offer(&mut self, neighbours: impl Iterator<Item = (u32, f32)>, seen: &Seen);
    /// Whether so much is left to be expanded that the next few hardly depend on what is seen meanwhile.
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

/// Best first, until everything in a pool of one size has been expanded.
pub(super) struct Everything<'a> {
    pub(super) pool: &'a mut Pool,
    pub(super) members: Members<'a>,
    pub(super) ef: usize,
}

impl<'a> Everything<'a> {
    pub(super) fn new(pool: &'a mut Pool, members: Members<'a>, ef: usize) -> Self {
        pool.begin(ef.min(ENTRIES_TAKEN));
        Self { pool, members, ef }
    }
}

impl Front for Everything<'_> {
    fn enter(&mut self, node: u32, nearness: f32) {
        self.pool.push(node, nearness);
    }

    fn begin(&mut self) {
        self.pool.grow(self.ef);
    }

    fn pop(&mut self) -> Option<u32> {
        self.pool.pop()
    }

    fn peek(&self) -> Option<u32> {
        self.pool.peek()
    }

    fn matches(&self, node: u32) -> bool {
        self.members.contains(node)
    }

    fn offer(&mut self, neighbours: impl Iterator<Item = (u32, f32)>, seen: &Seen) {
        let mut bar = self.pool.bar();
        for (neighbour, estimate) in neighbours {
            if estimate > bar && !seen.contains(neighbour) {
                self.pool.push(neighbour, estimate);
                bar = self.pool.bar();
            }
        }
    }

    fn is_dependable(&self) -> bool {
        true
    }
}
