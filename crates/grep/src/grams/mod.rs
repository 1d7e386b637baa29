//! Grams: three bytes in a row, in lower case. Which of them a pattern needs, which a content has, and a block of contents
//! by their grams.
//!
//! **Useful for** passing over contents that cannot match. **Not for** finding matches: a content that has all grams of a
//! pattern may still not match, so it is searched.
//!
//! **Invariant.** A content of which a [`GramSet`] tells the grams matches a request only if the grams satisfy what
//! [`needed`](Needed::of) says. Of all other contents nothing is known.

mod block;
mod needed;
mod strings;

pub use block::{Bits, BlockBuilder, CONTENTS_A_BLOCK, PARTS, Postings, no_bits, part_of};
pub use needed::Needed;

/// Three bytes in a row: the first one is the highest of the lower three bytes of the number.
pub type Gram = u32;

/// Contents of more different grams are searched always: nearly every pattern would find its grams there.
const GRAMS_MAX: usize = 65_536;
const GRAMS: usize = 1 << 24;
/// Marks of a decoded content: what is searched are other bytes.
const BYTE_ORDER_MARKS: [&[u8]; 3] = [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"];

/// The gram of three bytes; `None` for one that nobody looks for: lines end there, and searches of binary contents.
fn gram(bytes: [u8; 3]) -> Option<Gram> {
    if bytes.iter().any(|byte| matches!(byte, b'\n' | b'\r' | 0)) {
        return None;
    }
    let [first, second, third] = bytes.map(|byte| u32::from(byte.to_ascii_lowercase()));
    Some(first << 16 | second << 8 | third)
}

/// The grams of one content after another, each of which may come in parts.
#[derive(Debug)]
pub struct GramSet {
    seen: Vec<u64>,
    found: Vec<Gram>,
    /// The last three bytes, the first one the highest.
    last: Gram,
    /// Bytes since the line began.
    length: usize,
    is_begun: bool,
}

impl Default for GramSet {
    fn default() -> Self {
        Self { seen: vec![0; GRAMS / 64], found: Vec::new(), last: 0, length: 0, is_begun: false }
    }
}

impl GramSet {
    /// Forgets the content before.
    pub fn begin(&mut self) {
        for gram in self.found.drain(..) {
            self.seen[gram as usize / 64] = 0;
        }
        (self.last, self.length, self.is_begun) = (0, 0, false);
    }

    /// Adds the next part of a content. The first one has three bytes, or all that there are. False for a content that is to be
    /// searched always: a binary one, one that is decoded before it is searched, and one of very many grams.
    pub fn add(&mut self, part: &[u8]) -> bool {
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        let is_decoded = is_first && BYTE_ORDER_MARKS.iter().any(|mark| part.starts_with(mark));
        if is_decoded || memchr::memchr(0, part).is_some() {
            return false;
        }
        for byte in part {
            if matches!(byte, b'\n' | b'\r') {
                self.length = 0;
                continue;
            }
            self.last = (self.last << 8 | u32::from(byte.to_ascii_lowercase())) & 0xff_ffff;
            self.length += 1;
            if self.length >= 3 {
                let (word, bit) = (self.last as usize / 64, 1 << (self.last % 64));
                if self.seen[word] & bit == 0 {
                    self.seen[word] |= bit;
                    self.found.push(self.last);
                    if self.found.len() > GRAMS_MAX {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// The grams of all parts, each once, in no order.
    pub fn grams(&self) -> &[Gram] {
        &self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_has_each_gram_once_in_lower_case_and_none_over_the_end_of_a_line() {
        let mut set = GramSet::default();
        let mut grams_of = |parts: &[&[u8]]| {
            set.begin();
            let is_plain = parts.iter().all(|part| set.add(part));
            let mut grams = set.grams().to_vec();
            grams.sort_unstable();
            is_plain.then_some(grams)
        };
        let content = b"abAB\nxy\r\nABC";
        let expected = [*b"aba", *b"abc", *b"bab"].map(|bytes| gram(bytes).unwrap());
        assert_eq!(grams_of(&[content]).unwrap(), expected);
        assert_eq!(grams_of(&[b"xyz"]).unwrap(), [gram(*b"XYZ").unwrap()], "nothing is left of the content before");
        for cut in 3..content.len() {
            let (one, other) = content.split_at(cut);
            assert_eq!(grams_of(&[one, other]).unwrap(), expected, "a content in two parts, cut at {cut}");
        }
        for always in [&b"a\0b"[..], b"\xef\xbb\xbfabc", b"\xff\xfea\0"] {
            assert!(grams_of(&[always]).is_none());
        }
        assert!(grams_of(&[b"abc", b"d\0"]).is_none());
        let many: Vec<u8> = (0..90_000_u32)
            .flat_map(|n| [1 + (n >> 12) as u8, b' ' + (n >> 6 & 63) as u8, 128 + (n & 63) as u8, b'\n'])
            .collect();
        assert!(grams_of(&[&many]).is_none(), "very many grams");
    }
}
