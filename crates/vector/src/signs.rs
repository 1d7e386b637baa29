//! Rows as the signs of their rotated components, one bit each, searched in memory.
//!
//! **Useful for** finding, among many rows that change one by one, the few whose angle to a query is small: near-duplicates. A
//! share of `θ / π` of the signs of two rows at an angle `θ` differs (Charikar, "Similarity estimation techniques from rounding
//! algorithms", 2002). **Not for** ranking rows that are far from the query: a bit says too little of them.
//!
//! A search compares the first 256 signs of every row, eight rows at once, and all signs only of the rows that are near
//! by the first ones. The caller then compares the results exactly, by vectors stored elsewhere.
//!
//! **Invariant:** rows lie in the order of their ids, and every live row is either counted or dead.

use nuthatch_distance::add_hamming;

use crate::{Result, Rotation};

/// Words of 64 signs that are counted of every row.
const FRONT_WORDS: usize = 4;
/// Rows that are counted together: their counts stay in the nearest cache.
const BLOCK: usize = 2_048;
/// Up to this many rows, all signs of all rows are counted.
const FEW: usize = 2_048;
/// Rows that are compared by all of their signs, about.
const WANTED: usize = 2_048;
/// A row at a cosine of 0.7 differs in 65 of 256 signs, with a standard deviation of 7: 3 of 1,000 such rows differ in more.
const DIFFERING_MAX: u16 = 84;
/// A row at a cosine of 0.85 differs in 45, with a deviation of 6. Rows that differ in no more than this are always
/// looked at, even where more rows are near than `WANTED`.
const DIFFERING_MIN: u16 = 60;
/// One row in this many is looked at to estimate how many are near.
const SAMPLED_OF: usize = 16;
/// The rotation of all of them.
const SEED: u64 = 0x6361_6368_6564;
/// Rows for which room is taken at least.
const ROOM_MIN: usize = 16;
/// Dead rows below this number are not worth moving the others.
const DEAD_MIN: usize = 64;

/// Rows as signs. About a bit a component and 9 bytes a row.
pub struct SignCodes {
    rotation: Rotation,
    /// Ascending.
    ids: Vec<u64>,
    live: Vec<bool>,
    dead: usize,
    /// The first words, each of all rows side by side.
    front: Vec<Vec<u64>>,
    /// The other words, row by row.
    back: Vec<u64>,
    back_words: usize,
}

impl SignCodes {
    /// Without rows. Fails for a dimension that is not supported.
    pub fn new(dim: usize) -> Result<Self> {
        let rotation = Rotation::new(dim, SEED)?;
        let words = rotation.padded_dim() / 64;
        let front = vec![Vec::new(); words.min(FRONT_WORDS)];
        let back_words = words - front.len();
        Ok(Self { rotation, ids: Vec::new(), live: Vec::new(), dead: 0, front, back: Vec::new(), back_words })
    }

    /// The dimension of its vectors.
    pub fn dim(&self) -> usize {
        self.rotation.dim()
    }

    /// Live rows.
    pub fn len(&self) -> usize {
        self.ids.len() - self.dead
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> u64 {
        let words = self.front.iter().map(Vec::capacity).sum::<usize>() + self.back.capacity() + self.ids.capacity();
        (words * size_of::<u64>() + self.live.capacity()) as u64
    }

    /// Adds a row of any length but zero. An id behind all others appends; any other order is right, and moves what lies behind.
    /// A row of the same id is replaced.
    pub fn insert(&mut self, id: u64, vector: &[f32]) {
        let words = self.signs(vector);
        let at = match self.ids.binary_search(&id) {
            Ok(at) => {
                self.dead -= usize::from(!self.live[at]);
                self.live[at] = true;
                at
            }
            Err(at) => {
                self.make_room();
                self.ids.insert(at, id);
                self.live.insert(at, true);
                self.front.iter_mut().for_each(|plane| plane.insert(at, 0));
                let start = at * self.back_words;
                self.back.splice(start..start, std::iter::repeat_n(0, self.back_words));
                at
            }
        };
        let (front, back) = words.split_at(self.front.len());
        self.front.iter_mut().zip(front).for_each(|(plane, word)| plane[at] = *word);
        self.back[at * self.back_words..(at + 1) * self.back_words].copy_from_slice(back);
    }

    /// Takes room for an eighth more rows, not for as many again: the bytes are of somebody's budget.
    fn make_room(&mut self) {
        let rows = self.ids.len();
        if rows < self.ids.capacity() {
            return;
        }
        let more = rows / 8 + ROOM_MIN;
        self.ids.reserve_exact(more);
        self.live.reserve_exact(more);
        self.front.iter_mut().for_each(|plane| plane.reserve_exact(more));
        self.back.reserve_exact(more * self.back_words);
    }

    /// Forgets a row; false when it is not there.
    pub fn remove(&mut self, id: u64) -> bool {
        let Ok(at) = self.ids.binary_search(&id) else { return false };
        let was_live = std::mem::replace(&mut self.live[at], false);
        self.dead += usize::from(was_live);
        if self.dead > DEAD_MIN && self.dead > self.ids.len() / 4 {
            self.compact();
        }
        was_live
    }

    /// The ids of the rows that differ in the fewest signs, with how many, the nearest first. Where there are more than some
    /// thousand rows, rows at a cosine below 0.7 are seldom among them; where there are very many near ones, some of those are not.
    pub fn search(&self, query: &[f32], limit: usize) -> Vec<(u64, u32)> {
        let words = self.signs(query);
        let (front, back) = words.split_at(self.front.len());
        let counts = self.count_front(front);
        let most = self.most_differing(&counts);
        let mut found: Vec<(u32, u64)> = Vec::new();
        for (block, counts) in counts.chunks(64).enumerate() {
            // Nearly all blocks have no near row.
            if counts.iter().min().is_none_or(|least| *least > most) {
                continue;
            }
            for (place, count) in counts.iter().enumerate().filter(|(_, count)| **count <= most) {
                let at = block * 64 + place;
                let rest = &self.back[at * self.back_words..(at + 1) * self.back_words];
                let differing: u32 = rest.iter().zip(back).map(|(a, b)| (a ^ b).count_ones()).sum();
                if self.live[at] {
                    found.push((u32::from(*count) + differing, self.ids[at]));
                }
            }
        }
        if found.len() > limit {
            found.select_nth_unstable(limit);
            found.truncate(limit);
        }
        found.sort_unstable();
        found.into_iter().map(|(differing, id)| (id, differing)).collect()
    }

    /// In how many of the first signs each row differs.
    fn count_front(&self, front: &[u64]) -> Vec<u16> {
        let mut counts = vec![0u16; self.ids.len()];
        for (block, counts) in counts.chunks_mut(BLOCK).enumerate() {
            for (plane, word) in self.front.iter().zip(front) {
                add_hamming(*word, &plane[block * BLOCK..block * BLOCK + counts.len()], counts);
            }
        }
        counts
    }

    /// Rows that differ in more of the first signs are not looked at.
    fn most_differing(&self, counts: &[u16]) -> u16 {
        if counts.len() <= FEW || self.back_words == 0 {
            return u16::MAX;
        }
        let mut sampled = [0usize; DIFFERING_MAX as usize + 1];
        for count in counts.iter().step_by(SAMPLED_OF).filter(|count| **count <= DIFFERING_MAX) {
            sampled[usize::from(*count)] += 1;
        }
        let mut near = 0;
        let enough = sampled.iter().position(|rows| {
            near += rows;
            near * SAMPLED_OF > WANTED
        });
        enough.map_or(DIFFERING_MAX, |at| (at as u16).max(DIFFERING_MIN))
    }

    fn signs(&self, vector: &[f32]) -> Vec<u64> {
        let mut rotated = Vec::new();
        self.rotation.rotate(vector, &mut rotated);
        let word = |components: &[f32]| components.iter().rev().fold(0u64, |word, x| word << 1 | u64::from(*x >= 0.0));
        rotated.chunks(64).map(word).collect()
    }

    fn compact(&mut self) {
        let live = std::mem::take(&mut self.live);
        keep(&mut self.ids, &live, 1);
        self.front.iter_mut().for_each(|plane| keep(plane, &live, 1));
        keep(&mut self.back, &live, self.back_words);
        self.live = vec![true; self.ids.len()];
        self.dead = 0;
    }
}

/// Keeps the live rows; `each` is the number of words in a row.
fn keep(words: &mut Vec<u64>, live: &[bool], each: usize) {
    let mut kept = 0;
    for (at, _) in live.iter().enumerate().filter(|(_, live)| **live) {
        words.copy_within(at * each..(at + 1) * each, kept * each);
        kept += 1;
    }
    words.truncate(kept * each);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn some(random: &mut fastrand::Rng, dim: usize) -> Vec<f32> {
        (0..dim).map(|_| random.f32() + random.f32() + random.f32() - 1.5).collect()
    }

    /// A vector at about this cosine to another of the same length.
    fn near(random: &mut fastrand::Rng, to: &[f32], cosine: f32) -> Vec<f32> {
        let other = some(random, to.len());
        to.iter().zip(other).map(|(a, b)| a * cosine + b * (1.0 - cosine * cosine).sqrt()).collect()
    }

    #[test]
    fn near_rows_are_found_among_many() {
        let mut random = fastrand::Rng::with_seed(7);
        for (dim, rows) in [(768, 20_000), (384, 5_000), (100, 3_000), (3, 50)] {
            let mut codes = SignCodes::new(dim).unwrap();
            (0..rows).for_each(|id| codes.insert(id, &some(&mut random, dim)));
            let mut missed = 0;
            for id in 0..100 {
                let query = some(&mut random, dim);
                codes.insert(rows + id, &near(&mut random, &query, 0.85));
                missed += usize::from(!codes.search(&query, 24).iter().any(|(found, _)| *found == rows + id));
            }
            // 24 of 50 rows in three dimensions are more than a few at that angle.
            assert!(missed <= if dim == 3 { 60 } else { 1 }, "{missed} of 100 in {dim} dimensions");
        }
    }

    #[test]
    fn rows_come_and_go_as_in_a_map() {
        let seed = 11;
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut codes, mut model) = (SignCodes::new(70).unwrap(), BTreeMap::new());
        for step in 0..3_000 {
            let id = random.u64(..400);
            if random.u8(..5) < 3 {
                let vector = some(&mut random, 70);
                codes.insert(id, &vector);
                model.insert(id, vector);
            } else {
                assert_eq!(codes.remove(id), model.remove(&id).is_some(), "seed {seed}, step {step}");
            }
            assert_eq!(codes.len(), model.len());
        }
        for (id, vector) in &model {
            assert_eq!(codes.search(vector, 1), [(*id, 0)], "seed {seed}");
        }
        let all: Vec<u64> = codes.search(&[1.0; 70], 1_000).into_iter().map(|(id, _)| id).collect();
        assert_eq!(all.len(), model.len());
        model.keys().for_each(|id| assert!(codes.remove(*id)));
        assert!(codes.is_empty() && codes.search(&[1.0; 70], 3).is_empty());
    }
}
