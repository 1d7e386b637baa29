//! The best few of many estimates.

/// Keeps the `want` greatest similarities; among equals the lowest slots, so that an answer does not depend on the order of
/// the scan's internals. Amortised constant time a row.
pub(crate) struct Best {
    want: usize,
    /// Similarity in the upper half (as an integer of the same order), the slot's complement in the lower.
    keys: Vec<u64>,
    threshold: f32,
}

impl Best {
    pub(crate) fn new(want: usize) -> Self {
        Self { want, keys: Vec::new(), threshold: f32::NEG_INFINITY }
    }

    /// Rows in ascending order of slots that do not exceed this similarity need not be pushed.
    pub(crate) fn threshold(&self) -> f32 {
        self.threshold
    }

    pub(crate) fn push(&mut self, slot: u32, similarity: f32) {
        self.keys.push(u64::from(ordered(similarity)) << 32 | u64::from(!slot));
        if self.keys.len() >= self.want.saturating_mul(2).max(32) {
            self.prune();
        }
    }

    /// (slot, similarity), best first.
    pub(crate) fn into_sorted(mut self) -> Vec<(u32, f32)> {
        self.keys.sort_unstable_by(|a, b| b.cmp(a));
        self.keys.truncate(self.want);
        self.keys.iter().map(|key| (!(*key as u32), similarity_of(*key))).collect()
    }

    /// Drops all but the best; the threshold, which otherwise follows in steps, is up to date then.
    pub(crate) fn prune(&mut self) {
        if self.want == 0 {
            return self.keys.clear();
        }
        if self.keys.len() < self.want {
            return;
        }
        let (_, last, _) = self.keys.select_nth_unstable_by(self.want - 1, |a, b| b.cmp(a));
        self.threshold = similarity_of(*last);
        self.keys.truncate(self.want);
    }
}

/// A float's bits, rearranged so that integers compare as `f32::total_cmp` does.
pub(crate) fn ordered(value: f32) -> u32 {
    let bits = value.to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

fn similarity_of(key: u64) -> f32 {
    unordered((key >> 32) as u32)
}

/// The float that [`ordered`] was given.
pub(crate) fn unordered(bits: u32) -> f32 {
    f32::from_bits(if bits >> 31 == 1 { bits & !(1 << 31) } else { !bits })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_greatest_and_breaks_ties_by_slot() {
        let mut best = Best::new(3);
        for slot in 0..1000u32 {
            let similarity = [-2.0, 5.5, 0.0, 7.0][slot as usize % 4];
            if similarity > best.threshold() {
                best.push(slot, similarity);
            }
        }
        assert_eq!(best.into_sorted(), [(3, 7.0), (7, 7.0), (11, 7.0)]);
    }

    #[test]
    fn asked_for_none_it_returns_none() {
        let mut best = Best::new(0);
        (0..200).for_each(|slot| best.push(slot, 1.0));
        assert!(best.into_sorted().is_empty());
    }
}
