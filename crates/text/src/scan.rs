//! Exact BM25 over all rows with no index at all: what answers while the index is missing or damaged.

use crate::bm25::{Bag, Statistics};
use crate::hits::{RowFilter, TextHit, best};
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
pub fn scan(
    analyzer: &Analyzer,
    query: &str,
    rows: &mut dyn Iterator<Item = std::result::Result<(u64, String, bool), RowsError>>,
    limit: usize,
    filter: RowFilter<'_>,
) -> Result<Vec<TextHit>> {
    let bag = Bag::new(analyzer, query);
    if bag.words.is_empty() || limit == 0 {
        return Ok(Vec::new());
    }
    let numbers: std::collections::HashMap<&str, usize> =
        bag.words.iter().enumerate().map(|(at, word)| (word.as_str(), at)).collect();
    let mut statistics = Statistics { rows_with: vec![0; bag.words.len()], ..Statistics::default() };
    let mut matching: Vec<(u64, u32, u32)> = Vec::new(); // row id, its words, where its frequencies end
    let mut frequencies: Vec<(u32, u32)> = Vec::new(); // word of the bag, how often
    let mut counts = vec![0u32; bag.words.len()];
    for row in rows {
        let (row_id, text, code) = row.map_err(TextError::Rows)?;
        let mut row_words = 0u32;
        analyzer.passage_words(&text, code, |token| {
            row_words = row_words.saturating_add(1);
            if let Some(&at) = numbers.get(token.text.as_str()) {
                counts[at] += 1;
            }
        });
        statistics.rows += 1;
        statistics.words += u64::from(row_words);
        let before = frequencies.len();
        let allowed = filter.allows(row_id);
        for (at, count) in counts.iter_mut().enumerate().filter(|(_, count)| **count > 0) {
            statistics.rows_with[at] += 1;
            if allowed {
                frequencies.push((at as u32, *count));
            }
            *count = 0;
        }
        if frequencies.len() > before {
            matching.push((row_id, row_words, frequencies.len() as u32));
        }
    }
    let weights = statistics.weights(&bag);
    let mut start = 0;
    let hits = matching
        .into_iter()
        .map(|(row_id, row_words, end)| {
            let own = &frequencies[start..end as usize];
            start = end as usize;
            let own = own.iter().map(|&(at, count)| (at as usize, count));
            TextHit { row_id, score: weights.score(row_words, own) }
        })
        .collect();
    Ok(best(hits, limit))
}
