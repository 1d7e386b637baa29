//! Exact BM25 over all rows with no index at all: what answers while the index is missing or damaged.

use std::collections::HashMap;
use std::convert::Infallible;

use crate::bm25::{Bag, Statistics};
use crate::hits::{RowFilter, TextHit, best};
use crate::wide::{Pattern, TextQuery, patterns};
use crate::{Analyzer, Result, TextError};

/// The error type of the rows' source.
pub type RowsError = Box<dyn std::error::Error + Send + Sync>;

/// Scores every row in one pass, with the same scores as the index gives. `rows` are (row id, text, is source code), all
/// live rows of the collection: those that `filter` refuses count in the statistics but are not returned.
///
/// Memory: 16 bytes per matching row and 8 per query word in it. Time: the analysis of all text, about 10 MB/s.
///
/// # Errors
/// [`TextError::Rows`] when a row could not be read.
pub fn scan<'q>(
    analyzer: &Analyzer,
    query: impl Into<TextQuery<'q>>,
    rows: &mut dyn Iterator<Item = std::result::Result<(u64, String, bool), RowsError>>,
    limit: usize,
    filter: RowFilter<'_>,
) -> Result<Vec<TextHit>> {
    let query = query.into();
    let bag = Bag::new(analyzer, query.text);
    let patterns = patterns(analyzer, query, &bag);
    if bag.words.is_empty() && patterns.is_empty() || limit == 0 {
        return Ok(Vec::new());
    }
    let mut scanned = Scanned::of(&bag);
    for row in rows {
        let (row_id, text, code) = row.map_err(TextError::Rows)?;
        scanned.add(row_id, filter.allows(row_id), &patterns, |word| analyzer.passage_words(&text, code, word));
    }
    Ok(best(scanned.hits(bag, &patterns), limit))
}

/// The words and rows that a scan has seen.
struct Scanned {
    /// Words that count, by number: those of the query, then words like them as they come.
    numbers: HashMap<String, usize>,
    /// Of the row at hand, by number.
    counts: Vec<u32>,
    statistics: Statistics,
    /// Row id, its words, where its frequencies end.
    matching: Vec<(u64, u32, u32)>,
    /// A word's number, and how often the row has it.
    frequencies: Vec<(u32, u32)>,
}

impl Scanned {
    fn of(bag: &Bag) -> Self {
        let words = bag.words.len();
        Self {
            numbers: bag.words.iter().cloned().zip(0..).collect(),
            counts: vec![0; words],
            statistics: Statistics { rows_with: vec![0; words], ..Statistics::default() },
            matching: Vec::new(),
            frequencies: Vec::new(),
        }
    }

    fn add(
        &mut self,
        row_id: u64,
        allowed: bool,
        patterns: &[Pattern],
        words: impl FnOnce(&mut dyn FnMut(&tantivy::tokenizer::Token)),
    ) {
        let mut row_words = 0u32;
        words(&mut |token| {
            row_words = row_words.saturating_add(1);
            let known = self.numbers.get(token.text.as_str()).copied();
            let is_like = || patterns.iter().any(|pattern| pattern.distance(&token.text).is_some());
            let at = match known {
                Some(at) => at,
                None if is_like() => {
                    self.numbers.insert(token.text.clone(), self.counts.len());
                    self.counts.push(0);
                    self.statistics.rows_with.push(0);
                    self.counts.len() - 1
                }
                None => return,
            };
            self.counts[at] += 1;
        });
        self.statistics.rows += 1;
        self.statistics.words += u64::from(row_words);
        let before = self.frequencies.len();
        for (at, count) in self.counts.iter_mut().enumerate().filter(|(_, count)| **count > 0) {
            self.statistics.rows_with[at] += 1;
            if allowed {
                self.frequencies.push((at as u32, *count));
            }
            *count = 0;
        }
        if self.frequencies.len() > before {
            self.matching.push((row_id, row_words, self.frequencies.len() as u32));
        }
    }

    fn hits(self, mut bag: Bag, patterns: &[Pattern]) -> Vec<TextHit> {
        let (numbers, mut statistics) = (&self.numbers, self.statistics);
        let like = |pattern: &Pattern| {
            let words = numbers.keys().filter_map(|word| Some((pattern.distance(word)?, word.clone())));
            Ok::<_, Infallible>(words.collect())
        };
        let rows_with = |words: &[String]| Ok(words.iter().map(|word| statistics.rows_with[numbers[word]]).collect());
        let Ok(()) = bag.widen(patterns, like, rows_with);
        // In the order of the bag, in which all scorers add up.
        let mut places = vec![None; numbers.len()];
        for (place, word) in bag.words.iter().enumerate() {
            places[numbers[word]] = Some(place);
        }
        statistics.rows_with = bag.words.iter().map(|word| statistics.rows_with[numbers[word]]).collect();
        let weights = statistics.weights(&bag);
        let mut start = 0;
        let scored = self.matching.into_iter().filter_map(|(row_id, row_words, end)| {
            let own = &self.frequencies[start..end as usize];
            start = end as usize;
            let mut own: Vec<(usize, u32)> =
                own.iter().filter_map(|&(number, count)| Some((places[number as usize]?, count))).collect();
            own.sort_unstable();
            (!own.is_empty()).then(|| TextHit { row_id, score: weights.score(row_words, own.into_iter()) })
        });
        scored.collect()
    }
}
