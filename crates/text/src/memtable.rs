//! Rows that the store holds but the index does not yet: term frequencies in RAM, scored exactly.

use std::collections::HashMap;

use roaring::RoaringTreemap;

use crate::Analyzer;
use crate::bm25::{Bag, Statistics, Weights};
use crate::hits::{RowFilter, TextHit};
use crate::wide::{Like, Pattern};

/// The fresh rows of a collection. Memory: about 12 bytes per distinct word of a row, plus the dictionary of their words.
#[derive(Clone, Default)]
pub struct TextMemtable {
    rows: HashMap<u64, u32>,
    /// By slot; a removed row leaves a hole until the next [`compact`](Self::compact).
    slots: Vec<Option<MemtableRow>>,
    words: HashMap<Box<str>, u32>,
    postings: Vec<Postings>,
    total_words: u64,
    word_bytes: usize,
    posting_count: usize,
}

#[derive(Clone)]
struct MemtableRow {
    row_id: u64,
    row_words: u32,
    /// Its distinct words, by number.
    words: Box<[u32]>,
}

#[derive(Clone, Default)]
struct Postings {
    /// (slot, how often), holes included.
    list: Vec<(u32, u32)>,
    /// Without holes.
    live_rows: u32,
}

/// The words of a row, and how often it has each. Some 16 bytes a word: a batch holds those of all its rows until searches see them.
pub struct RowWords {
    /// The words, one behind the other.
    text: Box<str>,
    /// Where each word ends in the text, and how often the row has it.
    words: Box<[(u32, u32)]>,
    row_words: u32,
}

impl RowWords {
    /// Analyses a text; `code` also finds the parts of identifiers.
    pub fn of(text: &str, code: bool, analyzer: &Analyzer) -> Self {
        let mut frequencies: HashMap<Box<str>, u32> = HashMap::new();
        let mut row_words = 0_u32;
        analyzer.passage_words(text, code, |token| {
            row_words = row_words.saturating_add(1);
            match frequencies.get_mut(token.text.as_str()) {
                Some(frequency) => *frequency += 1,
                None => drop(frequencies.insert(token.text.as_str().into(), 1)),
            }
        });
        let mut joined = String::with_capacity(frequencies.keys().map(|word| word.len()).sum());
        let words = frequencies
            .iter()
            .map(|(word, frequency)| {
                joined.push_str(word);
                (joined.len() as u32, *frequency)
            })
            .collect();
        Self { text: joined.into(), words, row_words }
    }

    /// Each word, and how often the row has it.
    fn frequencies(&self) -> impl Iterator<Item = (&str, u32)> {
        let mut from = 0;
        self.words.iter().map(move |&(end, frequency)| {
            let word = &self.text[from..end as usize];
            from = end as usize;
            (word, frequency)
        })
    }
}

impl TextMemtable {
    /// Without rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a row, or replaces it.
    pub fn insert(&mut self, row_id: u64, text: &str, code: bool, analyzer: &Analyzer) {
        self.insert_words(row_id, RowWords::of(text, code, analyzer));
    }

    /// The same with its words: finding them is what takes long.
    pub fn insert_words(&mut self, row_id: u64, row: RowWords) {
        self.remove(row_id);
        let slot = self.slots.len() as u32;
        self.posting_count += row.words.len();
        let mut words = Vec::with_capacity(row.words.len());
        for (word, frequency) in row.frequencies() {
            let number = match self.words.get(word) {
                Some(&number) => number,
                None => {
                    let number = self.postings.len() as u32;
                    self.word_bytes += word.len();
                    self.words.insert(word.into(), number);
                    self.postings.push(Postings::default());
                    number
                }
            };
            let postings = &mut self.postings[number as usize];
            postings.list.push((slot, frequency));
            postings.live_rows += 1;
            words.push(number);
        }
        self.total_words += u64::from(row.row_words);
        self.rows.insert(row_id, slot);
        self.slots.push(Some(MemtableRow { row_id, row_words: row.row_words, words: words.into() }));
    }

    /// Forgets a row: deleted, or in the index by now. False when it was not here.
    pub fn remove(&mut self, row_id: u64) -> bool {
        let Some(slot) = self.rows.remove(&row_id) else {
            return false;
        };
        if let Some(row) = self.slots[slot as usize].take() {
            self.total_words -= u64::from(row.row_words);
            for &number in &row.words {
                self.postings[number as usize].live_rows -= 1;
            }
        }
        // Each compaction is paid for by as many removals: removing stays cheap however long the lists are.
        if self.slots.len() > 64 && self.rows.len() * 2 < self.slots.len() {
            self.compact();
        }
        true
    }

    /// Whether the row was added, and neither removed nor forgotten since.
    pub fn contains(&self, row_id: u64) -> bool {
        self.rows.contains_key(&row_id)
    }

    /// Rows in the memtable.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True when there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Estimated heap bytes, from the capacities of what is held and the usual overheads of an allocator.
    pub fn bytes(&self) -> usize {
        const ALLOCATION: usize = 16;
        // Hash tables hold one control byte per bucket and 8/7 of their capacity in buckets.
        let rows = self.rows.capacity() * 8 / 7 * (16 + 1);
        let words = self.words.capacity() * 8 / 7 * (24 + 1) + self.word_bytes;
        let slots = self.slots.capacity() * size_of::<Option<MemtableRow>>();
        // Vectors double: on average a quarter of their capacity is spare, and the smallest holds four.
        let lists = self.posting_count.max(self.postings.len() * 3) * 8 * 4 / 3;
        let forward = self.posting_count * 4;
        let allocations = self.slots.len() + self.postings.len() * 2;
        rows + words
            + slots
            + self.postings.capacity() * size_of::<Postings>()
            + lists
            + forward
            + allocations * ALLOCATION
    }

    /// Squeezes the holes out: renumbers slots and drops words that no row has.
    fn compact(&mut self) {
        let mut moved = vec![u32::MAX; self.slots.len()];
        let mut slots = Vec::with_capacity(self.rows.len());
        for (slot, row) in self.slots.drain(..).enumerate() {
            if let Some(row) = row {
                moved[slot] = slots.len() as u32;
                self.rows.insert(row.row_id, slots.len() as u32);
                slots.push(Some(row));
            }
        }
        let mut renumbered = vec![u32::MAX; self.postings.len()];
        let mut postings = Vec::new();
        for (number, mut old) in self.postings.drain(..).enumerate() {
            if old.live_rows > 0 {
                old.list.retain_mut(|(slot, _)| {
                    *slot = moved[*slot as usize];
                    *slot != u32::MAX
                });
                old.list.shrink_to_fit();
                renumbered[number] = postings.len() as u32;
                postings.push(old);
            }
        }
        self.words.retain(|_, number| {
            *number = renumbered[*number as usize];
            *number != u32::MAX
        });
        self.words.shrink_to_fit();
        self.rows.shrink_to_fit();
        for row in slots.iter_mut().flatten() {
            for number in &mut row.words {
                *number = renumbered[*number as usize];
            }
        }
        self.posting_count = postings.iter().map(|postings| postings.list.len()).sum();
        self.word_bytes = self.words.keys().map(|word| word.len()).sum();
        self.slots = slots;
        self.postings = postings;
    }

    pub(crate) fn statistics(&self, bag: &Bag) -> Statistics {
        Statistics {
            rows: self.rows.len() as u64,
            words: self.total_words,
            rows_with: bag.words.iter().map(|word| self.postings(word).map_or(0, |p| u64::from(p.live_rows))).collect(),
        }
    }

    /// Every allowed row that contains a word of the bag, scored.
    pub(crate) fn score(&self, bag: &Bag, weights: &Weights, filter: RowFilter<'_>) -> Vec<TextHit> {
        let mut matches: Vec<(u32, u32, u32)> = Vec::new();
        for (at, word) in bag.words.iter().enumerate() {
            let list = self.postings(word).map_or(&[][..], |postings| &postings.list);
            matches.extend(list.iter().map(|&(slot, frequency)| (slot, at as u32, frequency)));
        }
        matches.sort_unstable();
        matches
            .chunk_by(|a, b| a.0 == b.0)
            .filter_map(|row| {
                let slot = self.slots[row[0].0 as usize].as_ref()?;
                filter.allows(slot.row_id).then(|| TextHit {
                    row_id: slot.row_id,
                    score: weights
                        .score(slot.row_words, row.iter().map(|&(_, at, frequency)| (at as usize, frequency))),
                })
            })
            .collect()
    }

    /// The allowed rows that have every word of the bag.
    pub(crate) fn rows_with_all(&self, bag: &Bag, filter: RowFilter<'_>) -> RoaringTreemap {
        let lists: Option<Vec<_>> = bag.words.iter().map(|word| Some(&self.postings(word)?.list)).collect();
        let Some(lists) = lists else { return RoaringTreemap::new() };
        let Some((lead, others)) = lists.split_first() else { return RoaringTreemap::new() };
        // Slots ascend: rows are added at the end, and squeezing holes out keeps their order.
        let has = |list: &[(u32, u32)], slot: u32| list.binary_search_by_key(&slot, |(slot, _)| *slot).is_ok();
        let rows = lead.iter().filter(|(slot, _)| others.iter().all(|list| has(list, *slot)));
        let rows = rows.filter_map(|(slot, _)| Some(self.slots[*slot as usize].as_ref()?.row_id));
        rows.filter(|row_id| filter.allows(*row_id)).collect()
    }

    /// The words of its rows, and of rows that were removed a short while ago, that are like those of a pattern.
    pub(crate) fn words_like(&self, pattern: &Pattern) -> Vec<Like> {
        let like = |word: &str| Some((pattern.distance(word)?, word.to_string()));
        self.words.keys().filter_map(|word| like(word)).collect()
    }

    fn postings(&self, word: &str) -> Option<&Postings> {
        Some(&self.postings[*self.words.get(word)? as usize])
    }
}
