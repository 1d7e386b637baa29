//! The documents that may still be among the best, while a search runs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tantivy::{DocId, Score};

/// The documents that may still be among the best: all whose rough score is not surely below the limit-th best.
pub(crate) struct Candidates {
    limit: usize,
    /// The bits of the best `limit` rough scores, worst on top. (Scores are positive: their bits are ordered as they are.)
    best: BinaryHeap<Reverse<u32>>,
    kept: Vec<(u32, DocId, Score)>,
    prune_at: usize,
    /// Two orders of summation differ by less than this factor.
    rounding: f32,
}

impl Candidates {
    pub fn new(limit: usize, words: usize) -> Self {
        Self {
            limit,
            best: BinaryHeap::new(),
            kept: Vec::new(),
            prune_at: 1024,
            rounding: 1.0 - 4.0 * words as f32 * f32::EPSILON,
        }
    }

    /// Documents that score at most this cannot be among the best.
    pub fn bar(&self) -> f32 {
        match self.best.peek() {
            Some(Reverse(worst)) if self.best.len() >= self.limit => Score::from_bits(*worst) * self.rounding,
            _ => Score::MIN,
        }
    }

    pub fn note(&mut self, score: Score) {
        self.best.push(Reverse(score.to_bits()));
        if self.best.len() > self.limit {
            self.best.pop();
        }
    }

    pub fn add(&mut self, segment: u32, doc: DocId, score: Score) {
        self.note(score);
        self.kept.push((segment, doc, score));
        if self.kept.len() >= self.prune_at {
            self.prune();
            self.prune_at = (self.kept.len() * 2).max(1024);
        }
    }

    fn prune(&mut self) {
        let bar = self.bar();
        self.kept.retain(|(_, _, score)| *score > bar);
    }

    pub fn by_segment(mut self, segments: usize) -> Vec<Vec<DocId>> {
        self.prune();
        let mut docs = vec![Vec::new(); segments];
        for (segment, doc, _) in self.kept {
            docs[segment as usize].push(doc);
        }
        docs
    }
}
