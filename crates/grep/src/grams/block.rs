//! A block of contents by their grams.
//!
//! A block is in parts: grams are spread over them by a hash, so that a search reads one part for each gram that it looks for. A
//! part is in one or more pieces, each a row of entries, ascending:
//!
//! | bytes | what |
//! |---|---|
//! | 1 to 3 | how far the hash is from that of the entry before, seven bits a byte, the lowest first |
//! | 1 | how many contents have the gram, up to 31; 0: a bit for each content follows |
//! | so many, or 32 | the contents, a byte each; or the bits |

use crate::grams::Gram;

/// Contents of a block.
pub const CONTENTS_A_BLOCK: usize = 256;
/// Parts of a block.
pub const PARTS: usize = 128;

const HASH_BITS: u32 = 24;
const PART_BITS: u32 = PARTS.ilog2();
const LOW_BITS: u32 = HASH_BITS - PART_BITS;
/// Beyond this many contents, bits are shorter.
const LISTED_MAX: usize = 31;
/// Grams of all contents of a block together; what has no room is searched always.
const PAIRS_MAX: usize = 2 << 20;

/// A bit for each content of a block.
pub type Bits = [u64; CONTENTS_A_BLOCK / 64];

/// No content.
pub const fn no_bits() -> Bits {
    [0; CONTENTS_A_BLOCK / 64]
}

/// Different grams have different hashes.
fn hash(gram: Gram) -> u32 {
    gram.wrapping_mul(0x9e37_79b1) & ((1 << HASH_BITS) - 1)
}

/// The part that has a gram.
pub fn part_of(gram: Gram) -> u8 {
    (hash(gram) >> LOW_BITS) as u8
}

/// Puts contents together to a block.
#[derive(Debug, Default)]
pub struct BlockBuilder {
    /// The hash of a gram, and below it the content.
    pairs: Vec<u32>,
}

impl BlockBuilder {
    /// Adds the grams of a content. False when there is no room for them: nothing is added then.
    #[must_use]
    pub fn add(&mut self, content: u8, grams: &[Gram]) -> bool {
        if self.pairs.len() + grams.len() > PAIRS_MAX {
            return false;
        }
        self.pairs.extend(grams.iter().map(|gram| hash(*gram) << 8 | u32::from(content)));
        true
    }

    /// Returns the nonempty parts with their numbers, each in pieces of about `piece_bytes` bytes.
    pub fn finish(mut self, piece_bytes: usize) -> Vec<(u8, Vec<Vec<u8>>)> {
        self.pairs.sort_unstable();
        let part = |pair: &u32| (pair >> (LOW_BITS + 8)) as u8;
        let parts = self.pairs.chunk_by(|one, next| part(one) == part(next));
        parts.map(|pairs| (part(&pairs[0]), spell(pairs, piece_bytes))).collect()
    }
}

fn spell(pairs: &[u32], piece_bytes: usize) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    let (mut spelt, mut before) = (Vec::new(), 0);
    for entry in pairs.chunk_by(|one, next| one >> 8 == next >> 8) {
        if spelt.len() >= piece_bytes {
            pieces.push(std::mem::take(&mut spelt));
            before = 0;
        }
        let low = entry[0] >> 8 & ((1 << LOW_BITS) - 1);
        let mut rest = low - before;
        before = low;
        while rest >= 0x80 {
            spelt.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        spelt.push(rest as u8);
        match entry.len() {
            count @ 1..=LISTED_MAX => {
                spelt.push(count as u8);
                spelt.extend(entry.iter().map(|pair| *pair as u8));
            }
            _ => {
                spelt.push(0);
                let mut bits = no_bits();
                entry.iter().for_each(|pair| bits[(*pair as u8 / 64) as usize] |= 1 << (pair % 64));
                spelt.extend(bits.iter().flat_map(|word| word.to_le_bytes()));
            }
        }
    }
    pieces.push(spelt);
    pieces
}

/// A piece of a part of a block.
#[derive(Clone, Copy, Debug)]
pub struct Postings<'p>(pub &'p [u8]);

impl Postings<'_> {
    /// Which contents have each of these grams, whose part this is a piece of; `None` for bytes that are no such piece.
    pub fn look(&self, grams: &[Gram]) -> Option<Vec<Bits>> {
        let mut wanted: Vec<(u32, usize)> =
            grams.iter().map(|gram| hash(*gram) & ((1 << LOW_BITS) - 1)).zip(0..).collect();
        wanted.sort_unstable();
        let mut found = vec![no_bits(); grams.len()];
        let (mut rest, mut low, mut wanted) = (self.0, 0, wanted.into_iter().peekable());
        while !rest.is_empty() {
            let (mut step, mut shift) = (0, 0);
            loop {
                let (byte, left) = rest.split_first()?;
                rest = left;
                step |= u32::from(byte & 0x7f) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    break;
                }
                if shift > 14 {
                    return None;
                }
            }
            low += step;
            while wanted.next_if(|(next, _)| *next < low).is_some() {}
            let (count, left) = rest.split_first()?;
            let (contents, left) =
                left.split_at_checked(if *count == 0 { CONTENTS_A_BLOCK / 8 } else { (*count).into() })?;
            rest = left;
            while let Some((_, at)) = wanted.next_if(|(next, _)| *next == low) {
                match count {
                    0 => {
                        for (word, bytes) in found[at].iter_mut().zip(contents.chunks_exact(8)) {
                            *word = bytes.try_into().map(u64::from_le_bytes).ok()?;
                        }
                    }
                    _ => contents.iter().for_each(|content| found[at][(content / 64) as usize] |= 1 << (content % 64)),
                }
            }
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_tells_which_contents_have_a_gram() {
        let mut builder = BlockBuilder::default();
        let grams_of = |content: u32| -> Vec<Gram> {
            (0..500).map(|at| at * 7919 % (1 << 24)).filter(|gram| gram % (content + 1) == 0 || content < 3).collect()
        };
        for content in 0..CONTENTS_A_BLOCK as u32 {
            assert!(builder.add(content as u8, &grams_of(content)));
        }
        let parts = builder.finish(300);
        assert!(parts.len() <= PARTS && parts.is_sorted_by(|(one, _), (next, _)| one < next));
        let all: Vec<Gram> = (0..500).map(|at| at * 7919 % (1 << 24)).chain([5]).collect();
        for gram in all {
            let part = parts.iter().find(|(part, _)| *part == part_of(gram));
            let pieces = part.map(|(_, pieces)| pieces.clone()).unwrap_or_default();
            let found: Vec<Bits> = pieces.iter().map(|piece| Postings(piece).look(&[gram]).unwrap()[0]).collect();
            for content in 0..CONTENTS_A_BLOCK as u32 {
                let is_there = found.iter().any(|bits| bits[content as usize / 64] >> (content % 64) & 1 == 1);
                assert_eq!(is_there, grams_of(content).contains(&gram), "{gram} in {content}");
            }
        }
    }

    #[test]
    fn bytes_that_are_no_block_are_refused() {
        for bytes in [&[0x80][..], &[1], &[1, 3, 0], &[1, 0, 0], &[0xff, 0xff, 0xff, 0xff, 1, 1]] {
            assert!(Postings(bytes).look(&[1]).is_none(), "{bytes:?}");
        }
    }
}
