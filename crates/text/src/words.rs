//! Cutting text into words, and source code's identifiers into their parts.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// The tokens emitted besides the natural words (runs of letters and digits).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Words {
    /// Nothing: prose.
    Prose,
    /// Whole snake_case identifiers: a query can name one without touching how its natural words are looked up.
    Query,
    /// Whole identifiers and the parts of camelCase and snake_case: a passage of source code.
    Code,
}

/// A tantivy tokenizer for [`Words`]. An identifier's whole is spelled without underscores, so that
/// `read_at` and `readAt` find each other.
#[derive(Clone)]
pub(crate) struct WordTokenizer {
    pub words: Words,
}

impl Tokenizer for WordTokenizer {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        WordStream { text, at: 0, words: self.words, pending: Vec::new(), token: Token::default() }
    }
}

pub(crate) struct WordStream<'a> {
    text: &'a str,
    at: usize,
    words: Words,
    /// Tokens of the current identifier, last one first.
    pending: Vec<(usize, usize)>,
    token: Token,
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        if self.pending.is_empty() && !self.next_identifier() {
            return false;
        }
        let Some((start, end)) = self.pending.pop() else {
            return false;
        };
        self.token.text.clear();
        self.token.text.extend(self.text[start..end].chars().filter(|c| *c != '_'));
        (self.token.offset_from, self.token.offset_to) = (start, end);
        self.token.position = self.token.position.wrapping_add(1);
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

impl WordStream<'_> {
    /// Fills `pending` from the next run of letters, digits and underscores that has a word in it.
    fn next_identifier(&mut self) -> bool {
        while let Some(start) = find(self.text, self.at, |c| c.is_alphanumeric()) {
            let end = find(self.text, start, |c| !c.is_alphanumeric() && c != '_').unwrap_or(self.text.len());
            self.at = end;
            let end = start + self.text[start..end].trim_end_matches('_').len();
            self.split(start, end);
            if !self.pending.is_empty() {
                self.pending.reverse();
                return true;
            }
        }
        false
    }

    fn split(&mut self, start: usize, end: usize) {
        let mut word_start = start;
        let mut words = 0;
        while let Some(from) = find(&self.text[..end], word_start, |c| c != '_') {
            let to = find(&self.text[..end], from, |c| c == '_').unwrap_or(end);
            self.pending.push((from, to));
            words += 1;
            if self.words == Words::Code {
                let first = self.pending.len();
                split_camel_case(&self.text[from..to], |part_from, part_to| {
                    self.pending.push((from + part_from, from + part_to));
                });
                if self.pending.len() == first + 1 {
                    self.pending.pop(); // one part: the word itself
                }
            }
            word_start = to;
        }
        if words > 1 && self.words != Words::Prose {
            self.pending.push((start, end));
        }
    }
}

/// Calls `part` for each part of `blockCache`, `HTTPServer`, `Base64Encode`.
fn split_camel_case(word: &str, mut part: impl FnMut(usize, usize)) {
    let mut start = 0;
    let mut before: Option<char> = None;
    let mut chars = word.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next_is_lower = chars.peek().is_some_and(|(_, next)| next.is_lowercase());
        let begins = before.is_some_and(|before| c.is_uppercase() && (!before.is_uppercase() || next_is_lower));
        if begins {
            part(start, at);
            start = at;
        }
        before = Some(c);
    }
    part(start, word.len());
}

fn find(text: &str, from: usize, wanted: impl Fn(char) -> bool) -> Option<usize> {
    text[from..].find(wanted).map(|at| from + at)
}
