//! The tables by word: each word of a prompt is looked up once in each, however long they are.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use crate::tables;

/// Maps a word to its meaning.
type Meanings = HashMap<&'static str, &'static str>;

pub(crate) static NUMBERS: LazyLock<Meanings> = LazyLock::new(|| by_word(tables::NUMBERS, true));
pub(crate) static DATES: LazyLock<Meanings> = LazyLock::new(|| by_word(tables::DATES, true));
/// Units that are spelt out.
pub(crate) static UNITS: LazyLock<Meanings> = LazyLock::new(|| by_word(tables::UNITS, false));
/// Units by their sign in lower case.
pub(crate) static UNIT_SIGNS: LazyLock<HashMap<String, &'static str>> =
    LazyLock::new(|| tables::UNITS.iter().rev().map(|(sign, _)| (sign.to_lowercase(), *sign)).collect());
pub(crate) static ASKING: LazyLock<Meanings> = LazyLock::new(|| by_word(tables::ASKING, true));
pub(crate) static MODALS: LazyLock<Meanings> = LazyLock::new(|| by_word(tables::MODALS, true));
pub(crate) static NEGATIONS: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| tables::NEGATIONS.iter().copied().collect());
/// The languages of a word that no answer turns on, by their places among [`tables::STOPWORDS`].
pub(crate) static STOPWORDS: LazyLock<HashMap<&'static str, Vec<usize>>> = LazyLock::new(|| {
    let mut languages: HashMap<&str, Vec<usize>> = HashMap::new();
    for (language, words) in tables::STOPWORDS.iter().enumerate() {
        words.iter().for_each(|word| languages.entry(word).or_default().push(language));
    }
    languages
});
/// The pairs of opposites that a word is of, each with its side.
pub(crate) static OPPOSITES: LazyLock<HashMap<&'static str, Vec<(usize, usize)>>> = LazyLock::new(|| {
    let mut sides: HashMap<&str, Vec<(usize, usize)>> = HashMap::new();
    for (pair, (one, other)) in tables::OPPOSITES.iter().enumerate() {
        one.iter().for_each(|word| sides.entry(word).or_default().push((pair, 0)));
        other.iter().for_each(|word| sides.entry(word).or_default().push((pair, 1)));
    }
    sides
});

/// Of two rows with one word, the first one holds.
fn by_word(table: &[(&'static str, &[&'static str])], names_too: bool) -> Meanings {
    let mut meanings = Meanings::new();
    for (name, words) in table {
        words.iter().chain(names_too.then_some(name)).for_each(|word| {
            meanings.entry(word).or_insert(name);
        });
    }
    meanings
}
