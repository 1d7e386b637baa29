//! Words like those of a query: with a letter or two that differ, or with more letters behind them.
//!
//! **Invariant:** which words are taken depends on the words of the live rows alone, not on where the rows lie.

use std::sync::LazyLock;

use levenshtein_automata::{DFA, Distance, LevenshteinAutomatonBuilder, SINK_STATE};
use tantivy_fst::Automaton;

use crate::Analyzer;
use crate::bm25::Bag;

/// Words that are taken for one word of a query, at most: the nearest, then the shortest.
const LIKE_MAX: usize = 32;
/// Words of a query for which others like them are looked for.
const WIDE_WORDS_MAX: usize = 32;
/// Counts that are asked for at a time.
const COUNTED_AT_ONCE: usize = 64;
/// Shorter words are like too many others.
const FUZZY_CHARS_MIN: usize = 3;
/// From this length on two letters may differ.
const TWO_EDITS_CHARS_MIN: usize = 8;
/// A shorter beginning is that of half the dictionary.
const PREFIX_CHARS_MIN: usize = 2;
/// A word counts by this for each letter that differs, as a whole word where only its beginning was given.
const EDIT_FACTOR: f32 = 0.5;
const PREFIX_FACTOR: f32 = 0.8;

/// A text query: any text, as a bag of words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextQuery<'q> {
    /// The words.
    pub text: &'q str,
    /// Words that differ by a letter or two are found as well, and count less. Letters may be missing, too many, wrong, or
    /// change places with their neighbours: one in a word of 3 to 7 letters, two in a longer one. Words with digits are
    /// found as they are.
    pub fuzzy: bool,
    /// The last word is the beginning of a word, unless something stands behind it.
    pub prefix: bool,
}

impl<'q> From<&'q str> for TextQuery<'q> {
    fn from(text: &'q str) -> Self {
        Self { text, ..Self::default() }
    }
}

impl<'q> From<&'q String> for TextQuery<'q> {
    fn from(text: &'q String) -> Self {
        text.as_str().into()
    }
}

/// The words that are like one of a query.
pub(crate) struct Pattern {
    /// The word of the bag that they stand for; none for a beginning that is no word.
    pub of: Option<usize>,
    kind: Kind,
}

enum Kind {
    Near(Box<DFA>),
    Begins(String),
}

/// The patterns of a query.
pub(crate) fn patterns(analyzer: &Analyzer, query: TextQuery<'_>, bag: &Bag) -> Vec<Pattern> {
    let mut patterns = Vec::new();
    if query.prefix
        && let Some(beginning) = unfinished_word(query.text)
    {
        let word = Bag::new(analyzer, beginning).words.pop();
        let of = word.and_then(|word| bag.words.iter().position(|known| *known == word));
        patterns.push(Pattern { of, kind: Kind::Begins(beginning.to_lowercase()) });
    }
    if query.fuzzy {
        for (at, word) in bag.words.iter().enumerate().take(WIDE_WORDS_MAX) {
            let chars = word.chars().count();
            if chars >= FUZZY_CHARS_MIN && !word.contains(|c: char| c.is_numeric()) {
                let kind = Kind::Near(Box::new(near(word, chars)));
                patterns.push(Pattern { of: Some(at), kind });
            }
        }
    }
    patterns
}

/// The letters that the text ends with.
fn unfinished_word(text: &str) -> Option<&str> {
    let word = text.rsplit(|c: char| !c.is_alphanumeric()).next()?;
    (word.chars().count() >= PREFIX_CHARS_MIN).then_some(word)
}

fn near(word: &str, chars: usize) -> DFA {
    static BUILDERS: LazyLock<[LevenshteinAutomatonBuilder; 2]> =
        LazyLock::new(|| [1, 2].map(|edits| LevenshteinAutomatonBuilder::new(edits, true)));
    BUILDERS[usize::from(chars >= TWO_EDITS_CHARS_MIN)].build_dfa(word)
}

impl Pattern {
    /// How far a word is from what was asked, if it is near enough. The very word is not like itself.
    pub fn distance(&self, word: &str) -> Option<u8> {
        match &self.kind {
            Kind::Near(dfa) => match dfa.eval(word) {
                Distance::Exact(edits) if edits > 0 => Some(edits),
                _ => None,
            },
            Kind::Begins(beginning) => (word.len() > beginning.len() && word.starts_with(&**beginning)).then_some(1),
        }
    }

    fn factor(&self, distance: u8) -> f32 {
        match self.kind {
            Kind::Near(_) => EDIT_FACTOR.powi(distance.into()),
            Kind::Begins(_) => PREFIX_FACTOR,
        }
    }
}

/// For dictionaries that walk it. States are the automaton's, or the bytes of the beginning that were seen.
impl Automaton for &Pattern {
    type State = u32;

    fn start(&self) -> u32 {
        match &self.kind {
            Kind::Near(dfa) => dfa.initial_state(),
            Kind::Begins(_) => 1,
        }
    }

    fn is_match(&self, state: &u32) -> bool {
        match &self.kind {
            Kind::Near(dfa) => matches!(dfa.distance(*state), Distance::Exact(edits) if edits > 0),
            Kind::Begins(beginning) => *state as usize > beginning.len(),
        }
    }

    fn can_match(&self, state: &u32) -> bool {
        *state != SINK_STATE
    }

    fn accept(&self, state: &u32, byte: u8) -> u32 {
        match &self.kind {
            Kind::Near(dfa) => dfa.transition(*state, byte),
            Kind::Begins(beginning) => match (*state, beginning.as_bytes().get((*state).wrapping_sub(1) as usize)) {
                (SINK_STATE, _) => SINK_STATE,
                (state, None) => state,
                (state, Some(wanted)) if *wanted == byte => state + 1,
                _ => SINK_STATE,
            },
        }
    }
}

/// A word like that of a pattern, with its distance.
pub(crate) type Like = (u8, String);

impl Bag {
    /// Adds the words that are like those of the query. `like`: all words of a pattern that there are, in any order, and
    /// also words that no live row has; `rows_with`: how many live rows have each word.
    pub fn widen<E>(
        &mut self,
        patterns: &[Pattern],
        mut like: impl FnMut(&Pattern) -> Result<Vec<Like>, E>,
        mut rows_with: impl FnMut(&[String]) -> Result<Vec<u64>, E>,
    ) -> Result<(), E> {
        for pattern in patterns {
            let mut found = like(pattern)?;
            found.retain(|(_, word)| !self.words.contains(word));
            found.sort_by(|(near, a), (far, b)| (near, a.len(), a).cmp(&(far, b.len(), b)));
            found.dedup();
            let count = pattern.of.map_or(1.0, |at| self.boosts[at]);
            let mut left = LIKE_MAX;
            for some in found.chunks(COUNTED_AT_ONCE) {
                let words: Vec<String> = some.iter().map(|(_, word)| word.clone()).collect();
                let counted = rows_with(&words)?;
                for ((distance, word), _) in some.iter().zip(counted).filter(|(_, rows)| *rows > 0).take(left) {
                    self.words.push(word.clone());
                    self.boosts.push(count * pattern.factor(*distance));
                    left -= 1;
                }
                if left == 0 {
                    break;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, fuzzy: bool, prefix: bool) -> (Bag, Vec<Pattern>) {
        let analyzer = Analyzer::new("english").unwrap();
        let bag = Bag::new(&analyzer, text);
        let patterns = patterns(&analyzer, TextQuery { text, fuzzy, prefix }, &bag);
        (bag, patterns)
    }

    #[test]
    fn a_word_is_near_by_as_many_letters_as_its_length_allows() {
        let cases = [
            ("heron", "heran", Some(1)),
            ("heron", "hreon", Some(1)),
            ("heron", "heronn", Some(1)),
            ("heron", "heran s", None),
            ("heron", "heron", None),
            ("kingfisher", "kingfisch", Some(1)),
            ("kingfisher", "kngfsh", Some(2)),
        ];
        for (asked, word, distance) in cases {
            assert_eq!(of(asked, true, false).1[0].distance(word), distance, "{asked} {word}");
        }
        assert!(of("no at 2024 b2b", true, false).1.is_empty(), "short words, and words with digits, are as they are");
    }

    #[test]
    fn the_last_word_alone_is_a_beginning_and_only_while_it_is_unfinished() {
        let (bag, begins) = of("clear wat", false, true);
        assert_eq!((bag.words.len(), begins.len()), (2, 1));
        assert_eq!(
            (begins[0].distance("water"), begins[0].distance("wat"), begins[0].distance("wet")),
            (Some(1), None, None)
        );
        for finished in ["clear wat ", "clear wat.", "clear w", ""] {
            assert!(of(finished, false, true).1.is_empty(), "{finished:?}");
        }
        // A stop word is no word of the bag, and yet the beginning of one.
        let (bag, begins) = of("the", false, true);
        assert!(bag.words.is_empty() && begins[0].of.is_none());
    }

    #[test]
    fn a_dictionary_that_walks_a_pattern_finds_what_its_distance_says() {
        let words = ["heron", "heran", "herons", "her", "wat", "water", "watering", "wet", "zwölf", "zwolf"];
        for (text, fuzzy, prefix) in [("heron", true, false), ("wat", false, true), ("zwölf", true, false)] {
            let (_, patterns) = of(text, fuzzy, prefix);
            for pattern in &patterns {
                for word in words {
                    let walked = word.bytes().fold(pattern.start(), |state, byte| pattern.accept(&state, byte));
                    let longer = matches!(pattern.kind, Kind::Near(_)) || word.len() > text.len();
                    let matches = pattern.is_match(&walked) && longer;
                    assert_eq!(matches, pattern.distance(word).is_some(), "{text} {word}");
                }
            }
        }
    }
}
