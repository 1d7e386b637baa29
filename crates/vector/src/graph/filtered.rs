//! Which nodes a filtered walk expands next.
//!
//! **Useful for** filters that a good part of the rows pass, wherever these lie: near the query, spread everywhere, or
//! away from it.
//! **Not for** few matching rows: `plan` has their codes read.
//!
//! **Invariant:** until it is lost, a filtered front hands out what a pool of its `ef` would without a filter. Beyond
//! that it hands out the nearest matching nodes seen, and nodes that lie nearer than enough of these. When it is lost,
//! the matching rows lie elsewhere: then it continues among the matching nodes alone, from a sample of them (see
//! [`among`]), or gives up.

use std::collections::BinaryHeap;

use nuthatch_distance::BLOCK_ROWS;

use super::among;
use super::front::{ENTRIES_TAKEN, Front};
use super::pool::{Pool, Seen, entry_of, nearness_of, node_of};
use crate::members::Members;

/// How far a filtered walk goes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Reach {
    /// Size of the pool that it would have without a filter.
    pub(crate) ef: usize,
    /// Nodes nearer than the matching node of this rank are expanded, whether they match or not.
    pub(crate) rank: usize,
    /// The number of nearest matching nodes that are expanded, wherever they lie.
    pub(crate) matching: usize,
    /// Nodes expanded beyond the pool at most; then the matching node of the rank `enough` must be nearer than all that is left.
    pub(crate) enough: usize,
    pub(crate) beyond_max: usize,
    /// Share of the rows that match.
    pub(crate) share: f64,
    /// Matching rows that it looks at when it is lost; none where reading codes instead is cheap.
    pub(crate) seeds: u32,
    /// Matching nodes that it keeps from there on.
    pub(crate) among: usize,
}

/// The share of matching nodes near the query must be more than this many times smaller than among all nodes: then the
/// matching rows lie elsewhere.
const ELSEWHERE: f64 = 3.0;
/// Fewer expected matches than this say nothing about a share.
const EXPECTED_MIN: f64 = 8.0;
/// The same before the pool is through: what was seen on the way to the query counts then, too.
const ELSEWHERE_EARLY: f64 = 8.0;
const EXPECTED_EARLY: f64 = 24.0;
/// Nodes handed out before that is asked.
const ARRIVED: usize = 32;

/// The divisor of the `ef` around the query once the matching rows are known to lie elsewhere: some may lie here all
/// the same.
const POOL_PART_AMONG: usize = 3;

/// Memory of a filtered front.
#[derive(Default)]
pub(super) struct Beside {
    /// The nearest matching nodes.
    own: Pool,
    /// Nodes for which the pool has no room.
    beyond: BinaryHeap<u64>,
    /// How near the nodes of the entry table are.
    entries: Vec<f32>,
}

/// The number of nodes for which room is kept for the next walk.
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

/// The stage of a walk.
enum Stage {
    /// Going to the query, and from there on to what matches.
    Towards,
    /// The matching rows lie elsewhere, and nothing more is known of where.
    Lost,
    /// Over matching nodes alone.
    Among,
    /// Something else finds them.
    GivenUp,
}

/// Best first among all rows, as `Everything`, and also among the matching rows.
pub(super) struct Filtered<'a> {
    pool: &'a mut Pool,
    own: &'a mut Pool,
    beyond: &'a mut BinaryHeap<u64>,
    entries: &'a mut Vec<f32>,
    members: Members<'a>,
    reach: Reach,
    /// Of the nodes that were seen.
    near: Share,
    handed_out: usize,
    expanded_beyond: usize,
    stage: Stage,
}

impl<'a> Filtered<'a> {
    pub(super) fn new(pool: &'a mut Pool, beside: &'a mut Beside, members: Members<'a>, reach: Reach) -> Self {
        let Beside { own, beyond, entries } = beside;
        pool.begin(reach.ef.min(ENTRIES_TAKEN));
        own.begin(reach.matching);
        beyond.clear();
        entries.clear();
        Self {
            pool,
            own,
            beyond,
            entries,
            members,
            reach,
            near: Share::default(),
            handed_out: 0,
            expanded_beyond: 0,
            stage: Stage::Towards,
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

    /// Returns the entry that a node must beat to be expanded beyond the pool: enough matching nodes are nearer.
    fn frontier(&self) -> u64 {
        self.own.at(self.reach.rank - 1)
    }

    fn goes_beyond(&self) -> bool {
        matches!(self.stage, Stage::Towards) && self.expanded_beyond < self.reach.beyond_max
    }

    fn lose(&mut self) -> Option<u32> {
        self.stage = if self.reach.seeds == 0 { Stage::GivenUp } else { Stage::Lost };
        None
    }
}

impl Front for Filtered<'_> {
    fn enter(&mut self, nodes: &[u32], nearness: &[f32; BLOCK_ROWS], _: u32) {
        for (node, nearness) in nodes.iter().zip(nearness) {
            self.entries.push(*nearness);
            self.pool.push(*node, *nearness);
            if *nearness > self.own.bar() && self.members.contains(*node) {
                self.own.push(*node, *nearness);
            }
        }
    }

    fn begin(&mut self) {
        self.pool.grow(self.reach.ef);
    }

    fn pop(&mut self) -> Option<u32> {
        let is_among = match self.stage {
            Stage::Towards => false,
            Stage::Among => true,
            Stage::Lost | Stage::GivenUp => return None,
        };
        let (first, own) = (self.pool.first(), self.own.first());
        if first.is_some() {
            self.handed_out += 1;
            if !is_among && self.is_elsewhere_early() {
                return self.lose();
            }
            return if own > first { self.own.pop() } else { self.pool.pop() };
        }
        if is_among || self.beyond.peek().copied() <= own.max(Some(self.frontier())) {
            return self.own.pop();
        }
        if self.expanded_beyond == self.reach.beyond_max {
            // Far enough, if what is nearest lies within what was seen.
            if self.beyond.peek().copied() > Some(self.own.at(self.reach.enough - 1)) {
                return self.lose();
            }
            self.beyond.clear();
            return self.own.pop();
        }
        if self.is_elsewhere((EXPECTED_MIN, ELSEWHERE)) {
            return self.lose();
        }
        self.expanded_beyond += 1;
        self.beyond.pop().map(node_of)
    }

    fn peek(&self) -> Option<u32> {
        let beside = || match self.stage {
            Stage::Among => self.own.peek(),
            _ => self.beyond.peek().copied().map(node_of),
        };
        self.pool.peek().or_else(beside)
    }

    fn matches(&self, node: u32) -> bool {
        self.members.contains(node)
    }

    fn bar(&self) -> f32 {
        let bar = self.pool.bar().min(self.own.bar());
        match self.frontier() {
            _ if !self.goes_beyond() => bar,
            0 => f32::NEG_INFINITY,
            // As near as its node is near enough where its number is greater.
            frontier => bar.min(nearness_of(frontier).next_down()),
        }
    }

    fn is_wide(&mut self) -> bool {
        self.pool.first().is_none()
    }

    fn wants_seeds(&self) -> Option<u32> {
        matches!(self.stage, Stage::Lost).then_some(self.reach.seeds)
    }

    fn seed(&mut self, seeds: &[(u32, f32)]) {
        self.stage = Stage::GivenUp;
        if among::is_worth_it(seeds, self.entries) {
            self.stage = Stage::Among;
            self.pool.shrink(self.reach.ef / POOL_PART_AMONG);
            self.own.grow(self.reach.among);
            for (node, nearness) in seeds.iter().filter(|(_, nearness)| nearness.is_finite()) {
                self.own.push(*node, *nearness);
            }
        }
    }

    fn offer(&mut self, neighbours: impl Iterator<Item = (u32, f32)>, seen: &Seen) {
        let (mut bar, mut own_bar) = (self.pool.bar(), self.own.bar());
        let frontier = if self.goes_beyond() { self.frontier() } else { u64::MAX };
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
            if let Some(entry) = left_over.filter(|entry| *entry > frontier) {
                self.beyond.push(entry);
            }
        }
    }

    fn is_dependable(&self) -> bool {
        matches!(self.stage, Stage::Towards | Stage::Among)
    }

    fn must_be_dense(&self) -> bool {
        matches!(self.stage, Stage::Among)
    }
}
