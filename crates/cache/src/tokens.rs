//! A prompt as words, numbers and signs.

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization;

use crate::lexicon::{DATES, NUMBERS, STOPWORDS, UNIT_SIGNS, UNITS};
use crate::tables::{CURRENCIES, FALSE_FRIENDS};

/// A piece of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Token {
    /// In lower case.
    Word(String),
    /// Digits, written in one way.
    Number(String),
    /// Any other character but white space.
    Sign(char),
}

/// A prompt, taken apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tokens {
    pub all: Vec<Token>,
    /// As they are spelt: names of code, file names, anything with signs or capitals inside.
    pub codes: Vec<String>,
    /// Text in quotation marks.
    pub quoted: Vec<String>,
}

impl Tokens {
    pub fn of(prompt: &str) -> Self {
        let text: String = prompt.nfkc().map(unified).collect();
        let mut tokens = Self { all: Vec::new(), codes: Vec::new(), quoted: quoted(&text) };
        let chars: Vec<char> = text.chars().collect();
        let mut at = 0;
        while at < chars.len() {
            let char = chars[at];
            if char.is_whitespace() {
                at += 1;
            } else if char.is_ascii_digit() {
                let end = end_of_number(&chars, at);
                let digits: String = chars[at..end].iter().collect();
                tokens.all.push(Token::Number(number(&digits)));
                at = end;
            } else if char.is_alphanumeric() {
                let mut end = at + 1;
                while end < chars.len() && (chars[end].is_alphanumeric() || joins(&chars, end)) {
                    end += 1;
                }
                let mut word: String = chars[at..end].iter().collect();
                // C# and C++ are names.
                while end < chars.len() && matches!(chars[end], '#' | '+') && word.chars().count() <= 2 {
                    word.push(chars[end]);
                    end += 1;
                }
                tokens.word(&word);
                at = end;
            } else {
                tokens.all.push(Token::Sign(char));
                at += 1;
            }
        }
        tokens.codes = codes(&text);
        tokens
    }

    /// Words in lower case, with what contractions hide.
    fn word(&mut self, word: &str) {
        let lower = word.to_lowercase();
        if let Some(stem) = lower.strip_suffix("n't") {
            let stem = match stem {
                "ca" => "can",
                "wo" => "will",
                "sha" => "shall",
                stem => stem,
            };
            self.all.extend([Token::Word(stem.into()), Token::Word("not".into())]);
            return;
        }
        if lower == "aujourd'hui" {
            return self.all.push(Token::Word(lower));
        }
        // what's, l'eau, dell'acqua
        self.all.extend(lower.split('\'').filter(|part| !part.is_empty()).map(|part| Token::Word(part.into())));
    }

    pub fn words(&self) -> impl Iterator<Item = &str> + Clone {
        self.all.iter().filter_map(|token| match token {
            Token::Word(word) => Some(word.as_str()),
            _ => None,
        })
    }

    /// Numbers in digits and in words, sorted. `is_foreign`: the prompt is known not to be English.
    pub fn numbers(&self, is_foreign: bool) -> Vec<String> {
        let numbers = self.all.iter().filter_map(|token| match token {
            Token::Number(number) => Some(number.clone()),
            Token::Word(word) => meant(&NUMBERS, word, is_foreign).filter(|it| !is_ordinal(it)).map(str::to_string),
            Token::Sign(_) => None,
        });
        sorted(numbers.collect())
    }

    /// First, last and the like, sorted.
    pub fn ordinals(&self, is_foreign: bool) -> Vec<&'static str> {
        sorted(self.words().filter_map(|word| meant(&NUMBERS, word, is_foreign)).filter(|it| is_ordinal(it)).collect())
    }

    /// Units by their sign, sorted. A short sign counts behind a number only: `in` and `m` are words, too.
    pub fn units(&self, is_foreign: bool) -> Vec<&'static str> {
        let mut units = Vec::new();
        for (at, token) in self.all.iter().enumerate() {
            let behind_number = at > 0 && matches!(self.all[at - 1], Token::Number(_));
            let found = match token {
                Token::Word(word) if behind_number => {
                    unit(word, true).or_else(|| UNIT_SIGNS.get(word.as_str()).copied())
                }
                Token::Word(word) => {
                    CURRENCIES.iter().copied().find(|sign| sign.eq_ignore_ascii_case(word)).or_else(|| {
                        let is_word = STOPWORDS.contains_key(word.as_str());
                        unit(word, is_foreign).filter(|_| !is_word)
                    })
                }
                Token::Sign('€') => Some("EUR"),
                Token::Sign('$') => Some("USD"),
                Token::Sign('£') => Some("GBP"),
                Token::Sign('¥') => Some("JPY"),
                Token::Sign('%') => Some("%"),
                Token::Sign(_) => None,
                Token::Number(_) => None,
            };
            units.extend(found);
        }
        sorted(units)
    }

    /// Months, days of the week and days from today, sorted. `may` and `march` are dates only next to a number.
    pub fn dates(&self, is_foreign: bool) -> Vec<&'static str> {
        let beside_number = |at: usize| {
            let number =
                |at: Option<usize>| at.and_then(|at| self.all.get(at)).is_some_and(|it| matches!(it, Token::Number(_)));
            number(at.checked_sub(1))
                || number(Some(at + 1))
                || (at > 0 && self.all[at - 1] == Token::Word("in".into()))
        };
        let found = self.all.iter().enumerate().filter_map(|(at, token)| match token {
            Token::Word(word) if matches!(word.as_str(), "may" | "march" | "mars" | "mai") && !beside_number(at) => {
                None
            }
            Token::Word(word) => meant(&DATES, word, is_foreign),
            _ => None,
        });
        sorted(found.collect())
    }

    /// Words, numbers and signs on which an answer may turn, in their order.
    pub fn content(&self) -> Vec<&Token> {
        self.all.iter().filter(|token| is_content(token)).collect()
    }
}

/// Whether an answer may turn on it.
pub(crate) fn is_content(token: &Token) -> bool {
    match token {
        Token::Word(word) => !STOPWORDS.contains_key(word.as_str()),
        Token::Number(_) => true,
        Token::Sign(sign) => {
            !matches!(sign, '.' | ',' | '?' | '!' | ';' | ':' | '\'' | '"' | '(' | ')' | '-' | '¿' | '¡' | '…')
        }
    }
}

fn sorted<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort_unstable();
    list
}

/// Looks up the meaning of a word in a table. An English word is not read as one of another language, unless the prompt
/// is in another.
fn meant(table: &HashMap<&'static str, &'static str>, word: &str, is_foreign: bool) -> Option<&'static str> {
    table.get(word).copied().filter(|_| is_foreign || !FALSE_FRIENDS.contains(&word))
}

/// A number that says which, not how many.
fn is_ordinal(number: &str) -> bool {
    matches!(number, "1st" | "2nd" | "3rd" | "last" | "1/2")
}

/// A unit that is spelt out, in the singular or with the plural's `s` or `n`.
fn unit(word: &str, is_foreign: bool) -> Option<&'static str> {
    let named = |word: &str| meant(&UNITS, word, is_foreign);
    named(word).or_else(|| word.strip_suffix('s').and_then(named)).or_else(|| word.strip_suffix('n').and_then(named))
}

/// Quotation marks and dashes of all kinds as one.
pub(crate) fn unified(char: char) -> char {
    match char {
        '\u{2018}' | '\u{2019}' | '\u{201A}' | '\u{201B}' | '\u{2032}' | '`' | '´' => '\'',
        '\u{201C}' | '\u{201D}' | '\u{201E}' | '\u{201F}' | '\u{2033}' | '«' | '»' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        char if char.is_whitespace() => ' ',
        char => char,
    }
}

/// Whether a sign stands inside of a word.
fn joins(chars: &[char], at: usize) -> bool {
    matches!(chars[at], '\'' | '_') && chars.get(at + 1).is_some_and(|next| next.is_alphanumeric())
}

fn end_of_number(chars: &[char], from: usize) -> usize {
    let mut end = from + 1;
    while end < chars.len() {
        let is_digit = chars[end].is_ascii_digit();
        let is_inside = matches!(chars[end], '.' | ',') && chars.get(end + 1).is_some_and(char::is_ascii_digit);
        if !is_digit && !is_inside {
            break;
        }
        end += 1;
    }
    end
}

/// Digits written in one way: `1,000` is `1000`, `3,5` is `3.5`.
fn number(digits: &str) -> String {
    let parts: Vec<&str> = digits.split(',').collect();
    let groups =
        parts.len() > 1 && parts[1..].iter().all(|part| part.split('.').next().is_some_and(|part| part.len() == 3));
    let plain = match parts.len() {
        1 => digits.to_string(),
        _ if groups => parts.concat(),
        2 => parts.join("."),
        _ => digits.to_string(),
    };
    match plain.split_once('.') {
        Some((whole, part)) if !part.contains('.') => {
            let part = part.trim_end_matches('0');
            if part.is_empty() { whole.to_string() } else { format!("{whole}.{part}") }
        }
        _ => plain,
    }
}

/// Returns the passages between double quotation marks.
fn quoted(text: &str) -> Vec<String> {
    text.split('"').skip(1).step_by(2).map(|part| part.trim().to_string()).filter(|part| !part.is_empty()).collect()
}

/// Pieces between white space that no plain word looks like, sorted.
fn codes(text: &str) -> Vec<String> {
    let pieces = text.split_whitespace().map(|piece| piece.trim_matches(['.', ',', '?', '!', ';', ':', '"', '\'']));
    // Short ones are written in any case: C++ and c++.
    let spelt = |piece: &str| if piece.len() <= 4 { piece.to_lowercase() } else { piece.to_string() };
    sorted(pieces.filter(|piece| is_code(piece)).map(spelt).collect())
}

fn is_code(piece: &str) -> bool {
    let inner: Vec<char> = piece.chars().collect();
    let has_sign = inner.iter().any(|char| {
        matches!(
            char,
            '_' | '/' | '\\' | '=' | '<' | '>' | '{' | '}' | '[' | ']' | '@' | '#' | '+' | '*' | '|' | '&' | '~' | '^'
        )
    });
    let dotted =
        inner.windows(3).any(|it| it[0].is_alphabetic() && matches!(it[1], '.' | ':') && it[2].is_alphanumeric());
    let called = piece.ends_with("()") || piece.contains("::");
    let camel = inner.windows(2).any(|it| it[0].is_lowercase() && it[1].is_uppercase());
    let letters_and_digits = inner.iter().any(char::is_ascii_digit) && inner.iter().any(|char| char.is_alphabetic());
    inner.iter().any(|char| char.is_alphanumeric()) && (has_sign || dotted || called || camel || letters_and_digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_one_way() {
        for (given, wanted) in [("1,000", "1000"), ("3,5", "3.5"), ("3.50", "3.5"), ("1,000.5", "1000.5"), ("2.0", "2")]
        {
            assert_eq!(number(given), wanted);
        }
    }

    #[test]
    fn a_word_keeps_its_signs_where_they_name_something() {
        assert_eq!(Tokens::of("C# or C++?").words().collect::<Vec<_>>(), ["c#", "or", "c++"]);
        assert_eq!(Tokens::of("I can't").words().collect::<Vec<_>>(), ["i", "can", "not"]);
        assert_eq!(
            Tokens::of("use std::mem::swap, not a.b or getName()").codes,
            ["a.b", "getName()", "std::mem::swap"]
        );
    }

    #[test]
    fn units_are_known_by_sign_and_by_name() {
        assert_eq!(Tokens::of("5 km in 3 hours").units(false), ["h", "km"]);
        assert_eq!(Tokens::of("fünf Kilometer für 20 €").units(true), ["EUR", "km"]);
        assert!(Tokens::of("is it in the box").units(false).is_empty());
    }
}
