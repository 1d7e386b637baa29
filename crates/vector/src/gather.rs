//! Collecting the rows of a segment that can be among the best.

use crate::Candidate;
use crate::best::Best;
use crate::bounds::retain_reaching;

/// Most candidates that a search returns: comparing more exactly would cost more than their order is worth. Only thousands of rows
/// that differ by less than the codes can tell reach it: near-duplicates around the query, or what a filter leaves of the middle of a dense cloud.
pub(crate) fn candidates_max(limit: usize) -> usize {
    limit.saturating_mul(64).saturating_add(4096)
}

/// Keeps the candidates whose upper bound reaches the `limit`-th best lower bound, in bounded memory.
pub(crate) struct Gather {
    limit: usize,
    max: usize,
    candidates: Vec<Candidate>,
    lowers: Best,
    /// The similarity that others reached, or that of the last candidate kept when too many were cut to `max`.
    floor: f32,
}

impl Gather {
    pub(crate) fn new(limit: usize) -> Self {
        Self::above(limit, f32::NEG_INFINITY)
    }

    /// Rows that are less similar than `floor` need not be kept.
    pub(crate) fn above(limit: usize, floor: f32) -> Self {
        Self { limit, max: candidates_max(limit), candidates: Vec::new(), lowers: Best::new(limit), floor }
    }

    /// Rows whose upper bound does not exceed this cannot matter: `limit` gathered ones reach it.
    pub(crate) fn threshold(&self) -> f32 {
        self.floor.max(self.lowers.threshold())
    }

    /// Most rows end here at once, so that much is done without a call.
    #[inline]
    pub(crate) fn push(&mut self, slot: u32, similarity: f32, error: f32) {
        let (lower, upper) = (similarity - error, similarity + error);
        if upper < self.threshold() {
            return;
        }
        self.keep(slot, similarity, lower, upper);
    }

    fn keep(&mut self, slot: u32, similarity: f32, lower: f32, upper: f32) {
        self.lowers.push(slot, lower);
        self.candidates.push(Candidate { slot, similarity, lower, upper });
        if self.candidates.len() >= self.max.saturating_mul(4) {
            self.shrink();
        }
    }

    /// Brings the threshold, which otherwise follows in steps, up to date.
    pub(crate) fn raise_threshold(&mut self) {
        self.lowers.prune();
    }

    /// Best first.
    pub(crate) fn into_sorted(mut self) -> Vec<Candidate> {
        retain_reaching(&mut self.candidates, self.limit, |candidate| (candidate.lower, candidate.upper));
        self.candidates.sort_unstable_by(better);
        self.candidates.truncate(self.max);
        self.candidates
    }

    fn shrink(&mut self) {
        let threshold = self.threshold();
        self.candidates.retain(|candidate| candidate.upper >= threshold);
        if self.candidates.len() >= self.max.saturating_mul(2) {
            let (_, last, _) = self.candidates.select_nth_unstable_by(self.max - 1, better);
            self.floor = self.floor.max(last.similarity);
            self.candidates.truncate(self.max);
        }
    }
}

fn better(a: &Candidate, b: &Candidate) -> std::cmp::Ordering {
    b.similarity.total_cmp(&a.similarity).then(a.slot.cmp(&b.slot))
}
