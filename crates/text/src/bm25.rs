//! BM25 (Robertson & Zaragoza 2009, "The Probabilistic Relevance Framework", Lucene's variant; k1 = 1.2, b = 0.75) for a bag of words.
//!
//! Everything that scores a row, whether it lies in the index, in the memtable or nowhere, does so with these weights
//! in this order of summation: that is why a row's score does not change when it moves.

use std::collections::HashMap;

use tantivy::fieldnorm::FieldNormReader;
use tantivy::query::Bm25Weight;

use crate::Analyzer;

/// Further distinct words of a query are ignored: a pasted book must not cost a walk of the whole dictionary.
pub const QUERY_WORDS_MAX: usize = 512;

/// A query's distinct words in order of first use, with how often it has each; then words like them, which count less. Never a query language: any text is a valid query.
pub(crate) struct Bag {
    pub words: Vec<String>,
    pub boosts: Vec<f32>,
}

impl Bag {
    pub fn new(analyzer: &Analyzer, query: &str) -> Self {
        let mut bag = Self { words: Vec::new(), boosts: Vec::new() };
        let mut known: HashMap<String, usize> = HashMap::new();
        analyzer.query_words(query, |token| {
            if let Some(&at) = known.get(&token.text) {
                bag.boosts[at] += 1.0;
            } else if bag.words.len() < QUERY_WORDS_MAX {
                known.insert(token.text.clone(), bag.words.len());
                bag.words.push(token.text.clone());
                bag.boosts.push(1.0);
            }
        });
        bag
    }
}

/// The statistics of all rows that BM25 needs, exact: removed rows count nowhere, merged away or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Statistics {
    pub rows: u64,
    pub words: u64,
    /// Rows that contain each word of the bag.
    pub rows_with: Vec<u64>,
}

impl Statistics {
    pub fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        self.words += other.words;
        for (sum, rows_with) in self.rows_with.iter_mut().zip(&other.rows_with) {
            *sum += rows_with;
        }
    }

    pub fn weights(&self, bag: &Bag) -> Weights {
        let average_words = self.words as f32 / self.rows as f32;
        let per_word = self
            .rows_with
            .iter()
            .zip(&bag.boosts)
            .map(|(&rows_with, &boost)| {
                // A word that is nowhere needs no weight; the clamp keeps tantivy from asserting should counts ever disagree.
                (rows_with > 0).then(|| {
                    Bm25Weight::for_one_term_without_explain(rows_with, self.rows.max(rows_with), average_words)
                        .boost_by(boost)
                })
            })
            .collect();
        Weights { per_word }
    }
}

/// One weight per word of the bag; `None` for words that no row contains.
pub(crate) struct Weights {
    pub per_word: Vec<Option<Bm25Weight>>,
}

impl Weights {
    /// The score of a row of `row_words` words that contains word `at` `frequency` times, for each pair given in bag order.
    pub fn score(&self, row_words: u32, frequencies: impl Iterator<Item = (usize, u32)>) -> f32 {
        let norm = FieldNormReader::fieldnorm_to_id(row_words);
        frequencies
            .filter_map(|(at, frequency)| {
                let weight = self.per_word[at].as_ref()?;
                Some(weight.score(norm, frequency))
            })
            .fold(0.0, |sum, score| sum + score)
    }
}
