//! Grams: three bytes in a row, in lower case. Which of them a pattern needs, which a content has, and a block of contents
//! by their grams.
//!
//! **Useful for** passing over contents that cannot match. **Not for** finding matches: a content that has all grams of a
//! pattern may still not match, so it is searched.
//!
//! **Invariant.** A content of which [`GramSet::of`] tells the grams matches a request only if the grams satisfy what
//! [`needed`](Needed::of) says. Of all other contents nothing is known.

mod block;
mod needed;
mod strings;

pub use block::{Bits, BlockBuilder, CONTENTS_A_BLOCK, PARTS, Postings, no_bits, part_of};
pub use needed::Needed;

/// Three bytes in a row: the first one is the highest of the lower three bytes of the number.
pub type Gram = u32;

/// Contents beyond these bytes are searched always.
pub const GRAMMED_BYTES_MAX: u64 = 4 << 20;
/// So are contents of more different grams: nearly every pattern would find its grams there.
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

/// The grams of one content after another.
#[derive(Debug)]
pub struct GramSet {
    seen: Vec<u64>,
    found: Vec<Gram>,
}

impl Default for GramSet {
    fn default() -> Self {
        Self { seen: vec![0; GRAMS / 64], found: Vec::new() }
    }
}

impl GramSet {
    /// The grams of a content, each once, in no order; `None` for a content that is to be searched always: a large or a
    /// binary one, one that is decoded before it is searched, and one of very many grams.
    pub fn of(&mut self, content: &[u8]) -> Option<&[Gram]> {
        for gram in self.found.drain(..) {
            self.seen[gram as usize / 64] = 0;
        }
        let is_plain = content.len() as u64 <= GRAMMED_BYTES_MAX
            && !BYTE_ORDER_MARKS.iter().any(|mark| content.starts_with(mark))
            && memchr::memchr(0, content).is_none();
        if !is_plain {
            return None;
        }
        let (mut last, mut length) = (0, 0);
        for byte in content {
            if matches!(byte, b'\n' | b'\r') {
                length = 0;
                continue;
            }
            last = (last << 8 | u32::from(byte.to_ascii_lowercase())) & 0xff_ffff;
            length += 1;
            if length >= 3 {
                let (word, bit) = (last as usize / 64, 1 << (last % 64));
                if self.seen[word] & bit == 0 {
                    self.seen[word] |= bit;
                    self.found.push(last);
                    if self.found.len() > GRAMS_MAX {
                        return None;
                    }
                }
            }
        }
        Some(&self.found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_has_each_gram_once_in_lower_case_and_none_over_the_end_of_a_line() {
        let mut set = GramSet::default();
        let mut grams = set.of(b"abAB\nxy\r\nABC").unwrap().to_vec();
        grams.sort_unstable();
        let expected = [*b"aba", *b"abc", *b"bab"].map(|bytes| gram(bytes).unwrap());
        assert_eq!(grams, expected);
        assert_eq!(set.of(b"xyz").unwrap(), [gram(*b"XYZ").unwrap()], "nothing is left of the content before");
        for always in [&b"a\0b"[..], b"\xef\xbb\xbfabc", b"\xff\xfea\0", &vec![b'a'; 5 << 20]] {
            assert!(set.of(always).is_none());
        }
    }
}
