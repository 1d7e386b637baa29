//! The memory of a walk over the graph: the best nodes seen, and which nodes were seen at all.

use crate::best::{ordered, unordered};

/// The `capacity` nearest estimates seen, nearest first, each expanded or not yet.
///
/// A node that several neighbours lead to is in it several times. Keeping one estimate each (the greatest, the last, the mean)
/// makes a pool of the same size find more, but at the same number of hops it finds less: measured, not guessed.
#[derive(Default)]
pub(crate) struct Pool {
    capacity: usize,
    /// Nearness in the upper half (see [`ordered`]), the node below it, and in the lowest bit whether it was expanded.
    /// Descending.
    entries: Vec<u64>,
    /// Everything before it has been expanded.
    next: usize,
    /// Entries that the next [`merge`](Self::merge) adds, in any order.
    waiting: Vec<u64>,
}

const EXPANDED: u64 = 1;

/// Returns the pool entry of a node that has not been expanded: the greater, the nearer. `node` is below 2^31.
pub(super) fn entry_of(node: u32, nearness: f32) -> u64 {
    u64::from(ordered(nearness)) << 32 | u64::from(node) << 1
}

/// The node of an entry.
pub(super) fn node_of(entry: u64) -> u32 {
    entry as u32 >> 1
}

/// How near the node of an entry is.
pub(super) fn nearness_of(entry: u64) -> f32 {
    unordered((entry >> 32) as u32)
}

impl Pool {
    pub(crate) fn begin(&mut self, capacity: usize) {
        self.capacity = capacity.max(1);
        self.entries.clear();
        self.next = 0;
    }

    /// Makes room for more.
    pub(crate) fn grow(&mut self, capacity: usize) {
        self.capacity = self.capacity.max(capacity);
    }

    /// Reduces the capacity to `capacity` entries at most.
    pub(crate) fn shrink(&mut self, capacity: usize) {
        self.capacity = self.capacity.min(capacity.max(1));
        self.entries.truncate(self.capacity);
        self.next = self.next.min(self.entries.len());
    }

    /// Returns the nearness that a node must exceed to be let in.
    pub(crate) fn bar(&self) -> f32 {
        match self.entries.get(self.capacity - 1) {
            None => f32::NEG_INFINITY,
            Some(last) => nearness_of(*last),
        }
    }

    /// Returns what has no room any more and was not expanded: another node, or this one.
    pub(crate) fn push(&mut self, node: u32, nearness: f32) -> Option<u64> {
        let entry = entry_of(node, nearness);
        if nearness <= self.bar() {
            return Some(entry);
        }
        let at = self.entries.partition_point(|other| *other > entry);
        let left = if self.entries.len() == self.capacity { self.entries.pop() } else { None };
        self.entries.insert(at, entry);
        self.next = self.next.min(at);
        left.filter(|left| *left & EXPANDED == 0)
    }

    /// Lets a node wait for the next [`merge`](Self::merge).
    #[inline]
    pub(crate) fn add(&mut self, node: u32, nearness: f32) {
        self.waiting.push(entry_of(node, nearness));
    }

    /// Takes in what waits, as pushing one after the other would: but entries make way for all of them at once.
    pub(crate) fn merge(&mut self) {
        let Self { entries, waiting, .. } = self;
        let len = entries.len();
        waiting.sort_unstable_by(|a, b| b.cmp(a));
        entries.resize(len + waiting.len(), 0);
        let mut end = len;
        for (before, entry) in waiting.iter().enumerate().rev() {
            let at = entries[..end].partition_point(|other| other > entry);
            entries.copy_within(at..end, at + before + 1);
            entries[at + before] = *entry;
            end = at;
        }
        self.next = self.next.min(end);
        entries.truncate(self.capacity);
        waiting.clear();
    }

    /// The nearest node that has not been expanded, which it is from now on.
    pub(crate) fn pop(&mut self) -> Option<u32> {
        let entry = self.first()?;
        self.entries[self.next] |= EXPANDED;
        self.next += 1;
        Some(node_of(entry))
    }

    /// The entry of the node that [`pop`](Self::pop) would give.
    pub(super) fn first(&mut self) -> Option<u64> {
        while let Some(entry) = self.entries.get(self.next) {
            if *entry & EXPANDED == 0 {
                return Some(*entry);
            }
            self.next += 1;
        }
        None
    }

    /// The entry of this rank; less than any where there is none.
    pub(super) fn at(&self, rank: usize) -> u64 {
        self.entries.get(rank).copied().unwrap_or(0)
    }

    /// The node that [`pop`](Self::pop) would give.
    pub(crate) fn peek(&self) -> Option<u32> {
        let entry = self.entries[self.next.min(self.entries.len())..].iter().find(|entry| **entry & EXPANDED == 0);
        entry.map(|entry| node_of(*entry))
    }
}

/// A set of nodes: open addressing, in no more room than the nodes of most walks take.
pub(crate) struct Seen {
    /// A node's number and one; none is 0.
    slots: Vec<u32>,
    len: usize,
}

/// Places of a set that has not grown.
const SEEN_PLACES: usize = 1024;

impl Seen {
    pub(crate) fn new() -> Self {
        Self { slots: vec![0; SEEN_PLACES], len: 0 }
    }

    pub(crate) fn begin(&mut self) {
        self.len = 0;
        self.slots.truncate(SEEN_PLACES);
        self.slots.fill(0);
    }

    /// False when it was there already.
    pub(crate) fn insert(&mut self, node: u32) -> bool {
        if self.len * 2 >= self.slots.len() {
            self.grow();
        }
        let at = self.find(node + 1);
        let new = self.slots[at] == 0;
        self.slots[at] = node + 1;
        self.len += usize::from(new);
        new
    }

    #[inline]
    pub(crate) fn contains(&self, node: u32) -> bool {
        self.slots[self.find(node + 1)] != 0
    }

    /// Where it is, or an empty place for it.
    #[inline]
    fn find(&self, wanted: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = wanted.wrapping_mul(0x9E37_79B1) as usize >> 8 & mask;
        while self.slots[at] != wanted && self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        at
    }

    fn grow(&mut self) {
        let double = self.slots.len() * 2;
        let old = std::mem::replace(&mut self.slots, vec![0; double]);
        for slot in old.into_iter().filter(|slot| *slot != 0) {
            let at = self.find(slot);
            self.slots[at] = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_keeps_the_nearest_and_hands_each_out_once_nearest_first() {
        let mut pool = Pool::default();
        pool.begin(3);
        [(1, 0.1), (2, 0.5), (3, 0.3)].into_iter().for_each(|(node, nearness)| {
            pool.push(node, nearness);
        });
        assert_eq!((pool.peek(), pool.pop()), (Some(2), Some(2)));
        pool.push(4, 0.4);
        pool.push(5, 0.2); // not among the best three
        assert!((pool.bar() - 0.3).abs() < 1e-6);
        assert_eq!((pool.pop(), pool.pop(), pool.peek(), pool.pop()), (Some(4), Some(3), None, None));
        pool.push(6, 0.9);
        assert_eq!((pool.peek(), pool.pop(), pool.pop()), (Some(6), Some(6), None));
    }

    #[test]
    fn a_set_knows_what_it_saw_since_it_began_however_much() {
        let mut seen = Seen::new();
        for _ in 0..3 {
            seen.begin();
            assert!((0..5000).all(|node| seen.insert(node * 7)));
            assert!((0..5000).all(|node| !seen.insert(node * 7)));
            assert!(seen.insert(3));
        }
    }
}
