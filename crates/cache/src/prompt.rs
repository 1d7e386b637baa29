//! A prompt with all that is compared of it: read once, however many others it is compared with.

use std::collections::HashMap;

use crate::language::{ENGLISH, Script, language, script};
use crate::lexicon::{ASKING, MODALS, NEGATIONS, STOPWORDS};
use crate::tables::{PERSONS, RELATIONS};
use crate::tokens::{Token, Tokens};

/// A prompt, taken apart.
#[derive(Clone, Debug)]
pub struct Prompt {
    pub(crate) tokens: Tokens,
    pub(crate) script: Option<Script>,
    pub(crate) language: Option<usize>,
    /// The tokens that an answer may depend on, in the order of the prompt.
    pub(crate) content: Vec<Token>,
    pub(crate) numbers: Vec<String>,
    pub(crate) ordinals: Vec<&'static str>,
    pub(crate) units: Vec<&'static str>,
    pub(crate) dates: Vec<&'static str>,
    pub(crate) negations: usize,
    /// Question words and modal words, each as the name of its group of words, sorted.
    pub(crate) asking: Vec<&'static str>,
    pub(crate) modals: Vec<&'static str>,
    /// Words such as `from`, `with` and `than`, sorted.
    pub(crate) relations: Vec<&'static str>,
    /// Of whom it speaks, sorted, each once.
    pub(crate) persons: Vec<&'static str>,
    /// Words with a capital that begin no prompt, in lower case. Not of languages in which all nouns have one.
    pub(crate) names: Vec<String>,
}

impl Prompt {
    /// Takes a text apart.
    pub fn of(text: &str) -> Self {
        let tokens = Tokens::of(text);
        let language = language(tokens.words());
        let is_foreign = language.is_some_and(|language| language != ENGLISH);
        let named = |table: &HashMap<&'static str, &'static str>| {
            sorted(tokens.words().filter_map(|word| table.get(word).copied()).collect())
        };
        let mut persons = named(&PERSONS_BY_WORD);
        persons.dedup();
        Self {
            script: script(text),
            language,
            content: tokens.content().into_iter().cloned().collect(),
            numbers: tokens.numbers(is_foreign),
            ordinals: tokens.ordinals(is_foreign),
            units: tokens.units(is_foreign),
            dates: tokens.dates(is_foreign),
            negations: tokens.words().filter(|word| NEGATIONS.contains(word)).count(),
            asking: named(&ASKING),
            modals: named(&MODALS),
            relations: named(&RELATIONS_BY_WORD),
            persons,
            names: if is_foreign { Vec::new() } else { names(text) },
            tokens,
        }
    }
}

static PERSONS_BY_WORD: std::sync::LazyLock<HashMap<&'static str, &'static str>> = std::sync::LazyLock::new(|| {
    PERSONS.iter().flat_map(|(of, words)| words.iter().map(move |word| (*word, *of))).collect()
});
static RELATIONS_BY_WORD: std::sync::LazyLock<HashMap<&'static str, &'static str>> =
    std::sync::LazyLock::new(|| RELATIONS.iter().map(|word| (*word, *word)).collect());

impl From<&str> for Prompt {
    fn from(text: &str) -> Self {
        Self::of(text)
    }
}

fn sorted<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort_unstable();
    list
}

fn names(text: &str) -> Vec<String> {
    let has_capital = |word: &&str| word.chars().next().is_some_and(char::is_uppercase);
    let bare = |word: &str| word.trim_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase();
    let is_name = |word: &String| !STOPWORDS.contains_key(word.as_str());
    text.split_whitespace().skip(1).filter(has_capital).map(bare).filter(is_name).collect()
}
