//! What a walk expands next.
//!
//! **Useful for** keeping the walk itself the same with and without a filter: [`Everything`] goes towards the query, [`Filtered`]
//! goes there too, and from there on to the rows that match.
//! **Not for** reading records or judging nodes: the walk does, and tells what it saw.
//!
//! **Invariant:** until it gives up, a filtered front hands out what a pool of its effort would without a filter. Beyond that it
//! hands out the nearest matching nodes that were seen, and nodes that lie nearer than enough of these.

use std::collections::BinaryHeap;

use super::pool::{Pool, Seen, entry_of, node_of};
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
    /// Whether all was seen that lies as near as what was found.
    fn is_dependable(&self) -> bool;
}

/// Nearest entries that a walk begins at.
const ENTRIES_TAKEN: usize = 4;

/// Best first, until everything in a pool of one size has been expanded.
pub(super) struct Everything<'a> {
    pub(super) pool: &'a mut Pool,
    pub(super) members: Members<'a>,
    pub(super) effort: usize,
}

impl<'a> Everything<'a> {
    pub(super) fn new(pool: &'a mut Pool, members: Members<'a>, effort: usize) -> Self {
        pool.begin(effort.min(ENTRIES_TAKEN));
        Self { pool, members, effort }
    }
}

impl Front for Everything<'_> {
    fn enter(&mut self, node: u32, nearness: f32) {
        self.pool.push(node, nearness);
    }

    fn begin(&mut self) {
        self.pool.grow(self.effort);
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

/// How far a filtered walk goes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Reach {
    /// Size of the pool that it would have without a filter.
    pub(crate) effort: usize,
    /// Nodes nearer than the matching node of this rank are expanded, whether they match or not.
    pub(crate) rank: usize,
    /// So many of the nearest matching nodes are expanded, wherever they lie.
    pub(crate) matching: usize,
    /// Nodes expanded beyond the pool at most; then the matching node of the rank `enough` must be nearer than all that is left.
    pub(crate) enough: usize,
    pub(crate) beyond_max: usize,
    /// Share of the rows that match.
    pub(crate) share: f64,
}

/// So much smaller a share of the nodes near the query than of all: what matches lies elsewhere.
const ELSEWHERE: f64 = 3.0;
/// Fewer expected matches than so many say nothing about a share.
const EXPECTED_MIN: f64 = 8.0;
/// The same before the pool is through: what was seen on the way to the query counts then, too.
const ELSEWHERE_EARLY: f64 = 8.0;
const EXPECTED_EARLY: f64 = 24.0;
/// Nodes handed out before that is asked.
const ARRIVED: usize = 32;

/// Memory of a filtered front.
#[derive(Default)]
pub(super) struct Beside {
    /// The nearest matching nodes.
    own: Pool,
    /// What the pool has no room for.
    beyond: BinaryHeap<u64>,
}

/// Room for so many nodes is kept for the next walk.
const BEYOND_KEPT: usize = 4096;

impl Beside {
    /// Gives back what only a walk among very few matching rows needs.
    pub(super) fn trim(&mut self) {
        self.beyond.clear();
        self.beyond.shrink_to(BEYOND_KEPT);
    }
}

/// Nodes of which some match.
#[derive(Default)]
struct Share {
    of: usize,
    matching: usize,
}

impl Share {
    fn count(&mut self, matches: bool) -> bool {
        self.of += 1;
        self.matching += usize::from(matches);
        matches
    }
}

/// Best first among everything, as [`Everything`] does; and beside it among the rows that match.
pub(super) struct Filtered<'a> {
    pool: &'a mut Pool,
    own: &'a mut Pool,
    beyond: &'a mut BinaryHeap<u64>,
    members: Members<'a>,
    reach: Reach,
    /// Of the nodes that were seen.
    near: Share,
    handed_out: usize,
    expanded_beyond: usize,
    given_up: bool,
}

impl<'a> Filtered<'a> {
    pub(super) fn new(pool: &'a mut Pool, beside: &'a mut Beside, members: Members<'a>, reach: Reach) -> Self {
        let Beside { own, beyond } = beside;
        pool.begin(reach.effort.min(ENTRIES_TAKEN));
        own.begin(reach.matching);
        beyond.clear();
        Self {
            pool,
            own,
            beyond,
            members,
            reach,
            near: Share::default(),
            handed_out: 0,
            expanded_beyond: 0,
            given_up: false,
        }
    }

    /// Whether hardly any matching nodes are near the query.
    fn is_elsewhere(&self, (expected_min, fewer): (f64, f64)) -> bool {
        let expected = self.near.of as f64 * self.reach.share;
        expected >= expected_min && self.near.matching as f64 * fewer < expected
    }

    /// Whether that is plain before all around the query was seen.
    fn is_elsewhere_early(&self) -> bool {
        self.handed_out >= ARRIVED && self.is_elsewhere((EXPECTED_EARLY, ELSEWHERE_EARLY))
    }

    /// What a node must be nearer than to be expanded beyond the pool: enough matching nodes are.
    fn frontier(&self) -> u64 {
        self.own.at(self.reach.rank - 1)
    }
}

impl Front for Filtered<'_> {
    fn enter(&mut self, node: u32, nearness: f32) {
        self.pool.push(node, nearness);
        if nearness > self.own.bar() && self.members.contains(node) {
            self.own.push(node, nearness);
        }
    }

    fn begin(&mut self) {
        self.pool.grow(self.reach.effort);
    }

    fn pop(&mut self) -> Option<u32> {
        if self.given_up {
            return None;
        }
        let (first, own) = (self.pool.first(), self.own.first());
        if first.is_some() {
            self.handed_out += 1;
            self.given_up = self.is_elsewhere_early();
            if self.given_up {
                return None;
            }
            return if own > first { self.own.pop() } else { self.pool.pop() };
        }
        if self.beyond.peek().copied() <= own.max(Some(self.frontier())) {
            return self.own.pop();
        }
        if self.expanded_beyond == self.reach.beyond_max {
            // Far enough, if what is nearest lies within what was seen.
            if self.beyond.peek().copied() > Some(self.own.at(self.reach.enough - 1)) {
                self.given_up = true;
                return None;
            }
            self.beyond.clear();
            return self.own.pop();
        }
        self.given_up = self.is_elsewhere((EXPECTED_MIN, ELSEWHERE));
        self.expanded_beyond += 1;
        self.beyond.pop().filter(|_| !self.given_up).map(node_of)
    }

    fn peek(&self) -> Option<u32> {
        self.pool.peek().or_else(|| self.beyond.peek().copied().map(node_of))
    }

    fn matches(&self, node: u32) -> bool {
        self.members.contains(node)
    }

    fn offer(&mut self, neighbours: impl Iterator<Item = (u32, f32)>, seen: &Seen) {
        let (mut bar, mut own_bar) = (self.pool.bar(), self.own.bar());
        let frontier = self.frontier();
        for (neighbour, estimate) in neighbours {
            let entry = entry_of(neighbour, estimate);
            let may_join = estimate > own_bar;
            if !(may_join || estimate > bar || entry > frontier) || seen.contains(neighbour) {
                continue;
            }
            // Asked last: few nodes come so far once the pools are full.
            if may_join && self.near.count(self.members.contains(neighbour)) {
                self.own.push(neighbour, estimate);
                own_bar = self.own.bar();
            }
            let mut left_over = Some(entry);
            if estimate > bar {
                left_over = self.pool.push(neighbour, estimate);
                bar = self.pool.bar();
            }
            let goes_on = self.expanded_beyond < self.reach.beyond_max;
            if let Some(entry) = left_over.filter(|entry| goes_on && *entry > frontier) {
                self.beyond.push(entry);
            }
        }
    }

    fn is_dependable(&self) -> bool {
        !self.given_up
    }
}
