//! How near the best rows are that a search has found so far.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::best::{ordered, unordered};

/// The `limit` greatest similarities that were offered. One for all segments of a search: what the earlier ones found tells the
/// later ones how far they need not look.
#[derive(Clone, Debug)]
pub struct Reached {
    limit: usize,
    /// The least on top.
    best: BinaryHeap<Reverse<u32>>,
}

/// The least number of rows that a walk counts, even if fewer are requested: the distance of the very nearest says
/// little about the others.
const LIMIT_MIN: usize = 10;

impl Reached {
    /// Nothing found yet, for a search of the `limit` best.
    pub fn new(limit: usize) -> Self {
        Self::counting(limit.max(LIMIT_MIN))
    }

    /// The same for exactly `limit` rows.
    pub(crate) fn counting(limit: usize) -> Self {
        Self { limit, best: BinaryHeap::new() }
    }

    /// Takes a row in: a similarity that it has at least.
    #[inline]
    pub fn offer(&mut self, similarity: f32) {
        let similarity = Reverse(ordered(similarity));
        if self.best.len() < self.limit {
            self.best.push(similarity);
        } else if let Some(mut least) = self.best.peek_mut()
            && similarity < *least
        {
            *least = similarity;
        }
    }

    /// The similarity of the last of them; minus infinity while there are fewer.
    #[inline]
    pub(crate) fn last(&self) -> f32 {
        match self.best.peek() {
            Some(Reverse(least)) if self.best.len() == self.limit => unordered(*least),
            _ => f32::NEG_INFINITY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_the_best_is_known_once_there_are_enough() {
        let mut reached = Reached::counting(3);
        [0.5, -1.0].into_iter().for_each(|similarity| reached.offer(similarity));
        assert_eq!(reached.last(), f32::NEG_INFINITY);
        reached.offer(0.25);
        assert_eq!(reached.last(), -1.0);
        [0.3, -2.0, 0.75].into_iter().for_each(|similarity| reached.offer(similarity));
        assert_eq!(reached.last(), 0.3);
        assert_eq!(Reached::counting(0).last(), f32::NEG_INFINITY);
    }

    #[test]
    fn fewer_than_ten_are_judged_by_the_tenth() {
        let mut reached = Reached::new(1);
        (0..9).for_each(|_| reached.offer(1.0));
        assert_eq!(reached.last(), f32::NEG_INFINITY);
        reached.offer(0.5);
        assert_eq!(reached.last(), 0.5);
    }
}
