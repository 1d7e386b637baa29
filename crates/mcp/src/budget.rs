//! How much of a model's context an answer takes.
//!
//! Tokens are estimated, for every model counts in its own way: one for each [`BYTES_PER_TOKEN`] bytes of the answer's JSON. For English prose
//! that is more than models count, for code and for texts without spaces about as many.

use nuthatch_link::{Error, Result};
use serde::Serialize;

/// Bytes of JSON that count as a token.
pub const BYTES_PER_TOKEN: usize = 3;
/// The bound of an answer when none is asked for.
pub const TOKENS_DEFAULT: usize = 4_000;
/// The least that can be asked for: an answer must have room for its sources and some text.
pub const TOKENS_MIN: usize = 300;
/// The most. Hosts cut answers beyond about 25,000 tokens.
pub const TOKENS_MAX: usize = 20_000;

/// Room for braces, names of lists, a cursor and notes.
const ENVELOPE_BYTES: usize = 300;
/// How far from the bound a text is cut at the end of a word.
const WORD_BYTES_MAX: usize = 64;

/// The remaining size of an answer.
#[derive(Debug)]
pub struct Budget {
    bytes_left: usize,
}

impl Budget {
    /// # Errors
    /// `Invalid` outside of what may be asked for.
    pub fn of(tokens: Option<usize>) -> Result<Self> {
        let tokens = tokens.unwrap_or(TOKENS_DEFAULT);
        match (TOKENS_MIN..=TOKENS_MAX).contains(&tokens) {
            true => Ok(Self { bytes_left: tokens * BYTES_PER_TOKEN - ENVELOPE_BYTES }),
            false => {
                let message =
                    format!("max_tokens is {tokens}; give {TOKENS_MIN} to {TOKENS_MAX}, and read on with the cursor");
                Err(Error::invalid(message))
            }
        }
    }

    pub fn bytes_left(&self) -> usize {
        self.bytes_left
    }

    /// Takes room for a value, if there is as much.
    pub fn take(&mut self, value: &impl Serialize) -> bool {
        let bytes = json_bytes(value) + 1; // and a comma
        let fits = bytes <= self.bytes_left;
        if fits {
            self.bytes_left -= bytes;
        }
        fits
    }
}

/// Bytes of a value as JSON.
pub fn json_bytes(value: &impl Serialize) -> usize {
    struct Counted(usize);
    impl std::io::Write for Counted {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counted = Counted(0);
    serde_json::to_writer(&mut counted, value).expect("answers are plain JSON");
    counted.0
}

/// The longest beginning of a text whose JSON has at most that many bytes, ended after a word where one ends nearby.
pub fn beginning(text: &str, bytes_max: usize) -> &str {
    let mut bytes = 0;
    let over = text.char_indices().find(|(_, character)| {
        bytes += json_char_bytes(*character);
        bytes > bytes_max
    });
    let Some((end, _)) = over else { return text };
    // Whitespace of several bytes is rare; then the cut is not at it.
    let word_end = text[..end].rfind(char::is_whitespace).map(|at| at + 1);
    match word_end.filter(|at| text.is_char_boundary(*at) && end.saturating_sub(*at) <= WORD_BYTES_MAX) {
        Some(at) => &text[..at],
        None => &text[..end],
    }
}

fn json_char_bytes(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        character if character < ' ' => 6,
        character => character.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_has_as_many_bytes_of_json_as_it_may() {
        let text = "Ein »Kleiber«\tläuft\u{1} \"kopfüber\"\nden Stamm hinab. 鳥は木を下りる。 ".repeat(20);
        for bytes_max in 0..600 {
            let cut = beginning(&text, bytes_max);
            let bytes = json_bytes(&cut) - 2; // the quotes
            assert!(bytes <= bytes_max, "{bytes} of {bytes_max}: {cut:?}");
            assert!(bytes + 2 * WORD_BYTES_MAX + 6 >= bytes_max, "{bytes} of {bytes_max}: {cut:?}");
            assert!(text.starts_with(cut));
        }
        assert_eq!(beginning("short", 100), "short");
        assert_eq!(beginning("one two three", 9), "one two ");
    }

    #[test]
    fn a_budget_gives_what_it_has_and_no_more() {
        let mut budget = Budget::of(Some(TOKENS_MIN)).unwrap();
        let text = "x".repeat(budget.bytes_left() - 3);
        assert!(budget.take(&text));
        assert!(!budget.take(&""));
        assert!(Budget::of(Some(TOKENS_MIN - 1)).is_err());
        assert!(Budget::of(Some(TOKENS_MAX + 1)).unwrap_err().message.contains("cursor"));
    }
}
