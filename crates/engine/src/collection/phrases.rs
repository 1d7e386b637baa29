//! Phrases: records whose text has some words one after another.
//!
//! The text index knows which records have all of the words, and has no positions: the texts of these are read. So a phrase
//! is exact, costs nothing on disk, and as much as the records that have all of its words take to read.
//!
//! **Invariant:** a phrase restricts the records before they are ranked, as a filter does, so it never shortens an answer.

use nuthatch_store::Table;
use roaring::RoaringTreemap;

use crate::collection::ranking::{Filtered, Trouble};
use crate::collection::{Core, ReadSource, Search};
use crate::record::RowParts;
use crate::state::{Matching, View};
use crate::{Error, Result};

/// Phrases of one search, and words of one of them.
const PHRASES_MAX: usize = 16;
const WORDS_MAX: usize = 64;
/// Rows that are read between two looks at whether anybody waits.
const ROWS_AT_ONCE: usize = 4_096;

/// The words of a text as they stand there, in lower case; what is no letter or digit separates them.
fn words(text: &str) -> impl Iterator<Item = String> {
    let runs = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    runs.map(str::to_lowercase)
}

/// A phrase that texts are compared with.
struct Phrase {
    words: Vec<String>,
}

impl Phrase {
    fn of(phrase: &str) -> Result<Self> {
        let words: Vec<String> = words(phrase).collect();
        match words.len() {
            0 => Err(Error::invalid(format!("the phrase {phrase:?} has no words; give at least one"))),
            count if count > WORDS_MAX => {
                Err(Error::invalid(format!("a phrase has {count} words; give {WORDS_MAX} at most")))
            }
            _ => Ok(Self { words }),
        }
    }

    fn is_in(&self, text: Option<&str>) -> bool {
        let Some(text) = text else { return false };
        // The phrases that have begun, the longest first, each by how many of its words are there.
        let mut begun: Vec<usize> = Vec::new();
        for word in words(text) {
            begun.push(0);
            begun.retain_mut(|at| {
                let fits = self.words[*at] == word;
                *at += usize::from(fits);
                fits
            });
            if begun.first() == Some(&self.words.len()) {
                return true;
            }
        }
        false
    }
}

impl Core {
    /// The rows that have all phrases of a search, if it has any.
    pub(super) fn phrase_rows(
        &self,
        place: ReadSource<'_>,
        search: &Search,
    ) -> std::result::Result<Option<RoaringTreemap>, Trouble> {
        let asked = &search.refine.phrases;
        if asked.is_empty() {
            return Ok(None);
        }
        if asked.len() > PHRASES_MAX {
            return Err(Error::invalid(format!("{} phrases; give {PHRASES_MAX} at most", asked.len())).into());
        }
        let phrases = asked.iter().map(|phrase| Phrase::of(phrase)).collect::<Result<Vec<_>>>()?;
        let has_all =
            |row: &RowParts<'_>| phrases.iter().all(|phrase| phrase.is_in(row.text) || phrase.is_in(row.context));
        let mut found = RoaringTreemap::new();
        let Some(candidates) = self.rows_with_words_of(place, asked)? else {
            self.each_row(place.reader, Table::Records, &mut |row, stored| {
                place.waits.check()?;
                if has_all(&RowParts::decode(stored)?) {
                    found.insert(row);
                }
                Ok(())
            })?;
            return Ok(Some(found));
        };
        let rows: Vec<u64> = candidates.iter().collect();
        for some in rows.chunks(ROWS_AT_ONCE) {
            place.waits.check()?;
            // The search has its share already: two that hold one and wait for another would wait for each other.
            let mut memory = self.shared.reservation_at_once();
            self.read_each(place.reader, some, false, &mut memory, &mut |at, row| {
                if row.is_some_and(|(row, _)| has_all(&row)) {
                    found.insert(some[at]);
                }
                Ok(())
            })?;
        }
        Ok(Some(found))
    }

    /// Rows that have the words of all phrases; `None` without an index, or when it leaves all of these words out.
    fn rows_with_words_of(
        &self,
        place: ReadSource<'_>,
        phrases: &[String],
    ) -> std::result::Result<Option<RoaringTreemap>, Trouble> {
        let state = place.state.read();
        let Some(index) = state.text_view() else { return Ok(None) };
        // An identifier's parts: its whole is a word of source code alone.
        let words = phrases.join(" ").replace('_', " ");
        let found = index.rows_with_all(&words, state.rows_there(), Some(&state.text_memtable));
        found.map_err(Trouble::text)
    }
}

impl Filtered {
    /// Of these, the rows that are among others.
    pub(super) fn and(self, rows: Option<RoaringTreemap>, view: &View) -> Self {
        let Some(rows) = rows else { return self };
        match self {
            Self::Scanned(passing) => Self::Scanned(passing & rows),
            Self::Everything if !view.segments_are_sound => Self::Scanned(rows),
            Self::Everything => Self::Indexed(view.places_of(&rows)),
            Self::Indexed(Matching { segments, fresh }) => {
                let places = view.places_of(&rows);
                let segments = segments.into_iter().zip(places.segments).map(|(passing, among)| passing & among);
                Self::Indexed(Matching { segments: segments.collect(), fresh: fresh & places.fresh })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_is_in_a_text_that_has_its_words_one_after_another() {
        let text = Some("The King of the birds, as the king's friends say: KING of the\nbees, zwölf Könige.");
        for there in ["king of the bees", "King OF the Birds", "king s friends", "the king s", "Zwölf-KÖNIGE", "the"]
        {
            assert!(Phrase::of(there).unwrap().is_in(text), "{there}");
        }
        for not in ["king of bees", "birds the", "kin", "king of the birds king"] {
            assert!(!Phrase::of(not).unwrap().is_in(text), "{not}");
        }
        assert!(!Phrase::of("a").unwrap().is_in(None));
        assert!(Phrase::of("?!").is_err());
        assert!(Phrase::of("a b a b a c").unwrap().is_in(Some("a b a b a b a c")), "it may begin within itself");
    }
}
