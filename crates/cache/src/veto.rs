//! Differences between two prompts that change the answer, whatever else is alike.
//!
//! Each is decided from the two texts alone and never learned away. A veto costs a hit; the ledger guards what slips through.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::lexicon::OPPOSITES;
use crate::matching::unmatched;
use crate::prompt::Prompt;
use crate::tables::CONJUNCTIONS;
use crate::tokens::{Token, Tokens, is_content};

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

/// Returns the first difference that changes the answer; `None` if it finds none.
///
/// Numbers, opposites, quotations and order must agree. Other things that one prompt alone has, and counts of
/// negations, change the answer only where little else differs: then they were added. Elsewhere the score weighs them.
pub fn veto(known: &Prompt, asked: &Prompt) -> Option<Veto> {
    if let (Some(script), Some(other)) = (known.script, asked.script)
        && script != other
    {
        return Some(Veto::Language);
    }
    if let (Some(language), Some(other)) = (known.language, asked.language)
        && language != other
    {
        return Some(Veto::Language);
    }
    let is_added = rest_matches(known, asked);
    let (codes, others) = (codes_without_partner(known, asked), codes_without_partner(asked, known));
    let checks: [(bool, Veto); 9] = [
        (known.numbers != asked.numbers, Veto::Numbers),
        (differ(&known.ordinals, &asked.ordinals, is_added), Veto::Numbers),
        (differ(&known.units, &asked.units, is_added && !known.numbers.is_empty()), Veto::Units),
        (differ(&known.dates, &asked.dates, is_added), Veto::Dates),
        (known.negations != asked.negations && is_added, Veto::Negation),
        (has_opposite(&known.tokens, &asked.tokens), Veto::Opposite),
        ((codes > 0 && others > 0) || (codes + others > 0 && is_added), Veto::Code),
        (quotes_differ(&known.tokens, &asked.tokens), Veto::Quoted),
        (is_swapped(known, asked), Veto::Order),
    ];
    checks.into_iter().find(|(differs, _)| *differs).map(|(_, veto)| veto)
}

/// Whether at most one content word of one of the prompts is not in the other.
fn rest_matches(a: &Prompt, b: &Prompt) -> bool {
    unmatched(&a.content, &b.content).len().min(unmatched(&b.content, &a.content).len()) <= 1
}

/// Each has something that the other lacks; or, where little else differs, one of them has.
fn differ<T: PartialEq>(these: &[T], those: &[T], is_added: bool) -> bool {
    let lacks = |these: &[T], those: &[T]| these.iter().any(|one| !those.contains(one));
    match (lacks(these, those), lacks(those, these)) {
        (true, true) => true,
        (false, false) => false,
        _ => is_added,
    }
}

/// Names of code that the other prompt has not, in any case of letters.
pub(crate) fn codes_without_partner(of: &Prompt, other: &Prompt) -> usize {
    let is_there = |code: &&String| {
        let lower = code.to_lowercase();
        other.tokens.codes.iter().any(|code| code.to_lowercase() == lower)
            || other.tokens.words().any(|word| word == lower)
    };
    of.tokens.codes.iter().filter(|code| !is_there(code)).count()
}

fn quotes_differ(a: &Tokens, b: &Tokens) -> bool {
    !a.quoted.is_empty() && !b.quoted.is_empty() && a.quoted != b.quoted
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

/// The same words in the same frame, with other places: `from EUR to USD` and `from USD to EUR`. Where the frame differs,
/// the sentence was turned round; where a conjunction joins both, their order says nothing.
fn is_swapped(a: &Prompt, b: &Prompt) -> bool {
    if a.content == b.content || a.content.len() != b.content.len() {
        return false;
    }
    let sorted = |content: &[Token]| {
        let mut sorted = content.to_vec();
        sorted.sort_unstable();
        sorted
    };
    if sorted(&a.content) != sorted(&b.content) {
        return false;
    }
    let (bare_a, bare_b) = (bare(&a.tokens), bare(&b.tokens));
    let has_frame = bare_a.iter().any(|token| !is_content(token));
    let is_one_frame = bare_a.len() == bare_b.len()
        && bare_a.iter().zip(&bare_b).all(|(a, b)| a == b || (is_content(a) && is_content(b)));
    has_frame && is_one_frame && !is_joined(&bare_a, &bare_b)
}

/// Whether the prompts are the same once what stands on both sides of a conjunction is exchanged.
fn is_joined(a: &[&Token], b: &[&Token]) -> bool {
    let joins = |token: &Token| matches!(token, Token::Word(word) if CONJUNCTIONS.contains(&word.as_str()));
    (1..a.len().saturating_sub(1)).filter(|at| joins(a[*at])).any(|at| {
        let mut turned = a.to_vec();
        turned.swap(at - 1, at + 1);
        turned == b
    })
}

/// Without the marks of sentences, and articles.
fn bare(tokens: &Tokens) -> Vec<&Token> {
    let counts = |token: &&Token| match token {
        Token::Sign(sign) => !matches!(sign, ',' | '?' | '.' | '!'),
        Token::Word(word) => !matches!(word.as_str(), "a" | "an" | "the"),
        Token::Number(_) => true,
    };
    tokens.all.iter().filter(counts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn veto(known: &str, asked: &str) -> Option<Veto> {
        super::veto(&known.into(), &asked.into())
    }

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
            ("How warm is it in Rome?", "How warm is it in Rome tomorrow?", Veto::Dates),
            ("Prices of flats in Rome", "Prices of flats in Rome 2016", Veto::Numbers),
            ("What does walk do?", "What does os.walk() do?", Veto::Code),
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
            ("Why was I charged an extra fee?", "Why is there a further charge on my card?"),
            ("What does let do in JavaScript?", "what does let do in javascript"),
            ("Exchange rate of USD to JPY now", "Current USD/JPY rate"),
            ("How do a thread and a process differ?", "How do a process and a thread differ?"),
            ("python list reverse", "How do I reverse a list in Python?"),
            ("How do I undo my last commit?", "I committed by mistake, how do I take that commit back?"),
            ("Remove all docker containers", "How can I remove all of my docker containers at once?"),
            ("I paid to the wrong account and can't stop it", "How do I cancel a transfer to another person?"),
        ] {
            assert_eq!(veto(known, asked), None, "{known:?} and {asked:?}");
        }
    }
}
