//! A set that never forgets a member and sometimes believes in one too many.

use std::hash::{BuildHasher, Hash, RandomState};

/// Answers "certainly not" or "probably yes" in a few bits per member.
pub struct BloomFilter {
    bits: Vec<u64>,
    hashes: u32,
    seed: RandomState,
}

impl BloomFilter {
    /// Room for `members` with about `false_positive_rate` wrong answers: bits = -n ln p / (ln 2)^2, hashes = bits / n ln 2.
    pub fn with_rate(members: usize, false_positive_rate: f64) -> Self {
        let ln2 = std::f64::consts::LN_2;
        let bits = (-(members as f64) * false_positive_rate.ln() / (ln2 * ln2)).ceil().max(64.0);
        let hashes = (bits / members as f64 * ln2).round().clamp(1.0, 16.0);
        BloomFilter { bits: vec![0; (bits as usize).div_ceil(64)], hashes: hashes as u32, seed: RandomState::new() }
    }

    pub fn insert(&mut self, member: &impl Hash) {
        for bit in self.positions(member).collect::<Vec<_>>() {
            self.bits[bit / 64] |= 1 << (bit % 64);
        }
    }

    /// False means that the member was never inserted; true may be a mistake.
    pub fn may_contain(&self, member: &impl Hash) -> bool {
        self.positions(member).all(|bit| self.bits[bit / 64] & (1 << (bit % 64)) != 0)
    }

    /// Two halves of one hash give any number of positions (Kirsch and Mitzenmacher, 2006).
    fn positions(&self, member: &impl Hash) -> impl Iterator<Item = usize> + use<> {
        let hash = self.seed.hash_one(member);
        let (first, second) = (hash as u32 as u64, hash >> 32 | 1);
        let bits = self.bits.len() as u64 * 64;
        (0..u64::from(self.hashes)).map(move |i| (first.wrapping_add(i.wrapping_mul(second)) % bits) as usize)
    }
}
