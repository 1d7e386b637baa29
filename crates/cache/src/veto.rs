//! Differences between two prompts that change the answer, whatever else is alike.
//!
//! Each is decided from the two texts alone and never learned away. A veto costs a hit; the ledger guards what slips through.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::language::{language, script};
use crate::lexicon::OPPOSITES;
use crate::tokens::{Token, Tokens};

/// Why an answer to one prompt is not given to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Veto {
    /// Another script or another language.
    Language,
    /// Other numbers, in digits or in words.
    Numbers,
    /// Other units.
    Units,
    /// Other months, days of the week, or days from today.
    Dates,
    /// One of them denies what the other does not.
    Negation,
    /// A word in the one, and its opposite in the other.
    Opposite,
    /// Other names of code, or files.
    Code,
    /// Other quotations.
    Quoted,
    /// The same words in another order.
    Order,
    /// Somebody has said that the answer to the one is wrong for the other.
    Never,
}

impl Veto {
    /// Its name, the same on every wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Language => "language",
            Self::Numbers => "numbers",
            Self::Units => "units",
            Self::Dates => "dates",
            Self::Negation => "negation",
            Self::Opposite => "opposite",
            Self::Code => "code",
            Self::Quoted => "quoted",
            Self::Order => "order",
            Self::Never => "never",
        }
    }
}

/// The first difference that changes the answer; `None` when there is none of those that are looked for.
pub fn veto(known: &str, asked: &str) -> Option<Veto> {
    if let (Some(known), Some(asked)) = (script(known), script(asked))
        && known != asked
    {
        return Some(Veto::Language);
    }
    let (a, b) = (Tokens::of(known), Tokens::of(asked));
    if let (Some(known), Some(asked)) = (language(a.words()), language(b.words()))
        && known != asked
    {
        return Some(Veto::Language);
    }
    let checks: [(bool, Veto); 8] = [
        (a.numbers() != b.numbers(), Veto::Numbers),
        (a.units() != b.units(), Veto::Units),
        (a.dates() != b.dates(), Veto::Dates),
        (a.negations() != b.negations(), Veto::Negation),
        (has_opposite(&a, &b), Veto::Opposite),
        (a.codes != b.codes, Veto::Code),
        (!a.quoted.is_empty() && !b.quoted.is_empty() && a.quoted != b.quoted, Veto::Quoted),
        (is_reordered(&a, &b), Veto::Order),
    ];
    checks.into_iter().find(|(differs, _)| *differs).map(|(_, veto)| veto)
}

/// A word of a pair more often in the one, and its opposite more often in the other.
fn has_opposite(a: &Tokens, b: &Tokens) -> bool {
    let mut more: BTreeMap<usize, [i64; 2]> = BTreeMap::new();
    for (tokens, step) in [(a, 1), (b, -1)] {
        for (pair, side) in tokens.words().filter_map(|word| OPPOSITES.get(word)).flatten() {
            more.entry(*pair).or_default()[*side] += step;
        }
    }
    more.values().any(|[one, other]| one * other < 0)
}

/// The same content in another order, unless the front of the one is the end of the other: `in Rust, how do I …`.
fn is_reordered(a: &Tokens, b: &Tokens) -> bool {
    let (content_a, content_b) = (a.content(), b.content());
    if content_a == content_b || content_a.len() != content_b.len() {
        return false;
    }
    let sorted = |content: &[&Token]| {
        let mut sorted: Vec<Token> = content.iter().map(|token| (*token).clone()).collect();
        sorted.sort_unstable();
        sorted
    };
    if sorted(&content_a) != sorted(&content_b) {
        return false;
    }
    let bare = |tokens: &Tokens| -> Vec<Token> {
        tokens.all.iter().filter(|token| !matches!(token, Token::Sign(',' | '?' | '.' | '!'))).cloned().collect()
    };
    let (a, b) = (bare(a), bare(b));
    let is_rotation = a.len() == b.len() && (0..a.len()).any(|at| a[at..].iter().chain(&a[..at]).eq(b.iter()));
    !is_rotation
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_an_answer_is_vetoed() {
        for (known, asked, why) in [
            ("What is 15% of 80?", "What is 18% of 80?", Veto::Numbers),
            ("Name three rivers", "Name five rivers", Veto::Numbers),
            ("Convert 5 km to miles", "Convert 5 kg to miles", Veto::Units),
            ("Is it open on Monday?", "Is it open on Tuesday?", Veto::Dates),
            ("Which birds can fly?", "Which birds can't fly?", Veto::Negation),
            ("How do I enable dark mode?", "How do I disable dark mode?", Veto::Opposite),
            ("What does os.walk do?", "What does os.path do?", Veto::Code),
            ("Translate \"cat\" into French", "Translate \"dog\" into French", Veto::Quoted),
            ("How do I convert EUR to USD?", "How do I convert USD to EUR?", Veto::Order),
            ("Is Rust faster than Go?", "Is Go faster than Rust?", Veto::Order),
            ("EUR to USD", "USD to EUR", Veto::Order),
            ("What is the weather?", "Какая погода?", Veto::Language),
            ("What is the capital of Spain?", "Was ist die Hauptstadt von Spanien?", Veto::Language),
        ] {
            assert_eq!(veto(known, asked), Some(why), "{known:?} and {asked:?}");
            assert_eq!(veto(asked, known), Some(why), "{asked:?} and {known:?}");
        }
    }

    #[test]
    fn paraphrases_are_not_vetoed() {
        for (known, asked) in [
            ("How do I sort a list in Python?", "In Python, how do I sort a list?"),
            ("What is the capital of France?", "Tell me the capital of France"),
            ("How can I reset my password?", "How do I change a forgotten password?"),
            ("Two rivers of France", "2 rivers of France"),
            ("It costs 1,000 dollars", "It costs $1000"),
            ("Wie hoch ist der Eiffelturm?", "Welche Höhe hat der Eiffelturm?"),
        ] {
            assert_eq!(veto(known, asked), None, "{known:?} and {asked:?}");
        }
    }
}
