//! One column chunk, gathered row by row and then written in the order of its values.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use super::block::{BITMAP_BLOCK_ROWS, BLOCK_ENTRY_BYTES, ROW_SET_BYTES};
use super::chunk::{HEAD_BYTES, row_set_bytes};
use super::dictionary;

/// The memory of a new text beyond its bytes: its end, and its place in the map with room to grow.
const NEW_TEXT_BYTES: usize = 40;

/// The values of one column in the rows of one chunk. Rows are counted from the beginning of their container.
pub(super) enum ChunkWriter {
    Numbers {
        /// In the order of the numbers they stand for.
        keys: Vec<u64>,
        rows: Vec<u16>,
    },
    Texts {
        texts: Texts,
        numbers: Vec<u32>,
        rows: Vec<u16>,
    },
}

impl ChunkWriter {
    pub fn numbers() -> Self {
        Self::Numbers { keys: Vec::new(), rows: Vec::new() }
    }

    pub fn texts() -> Self {
        Self::Texts { texts: Texts::default(), numbers: Vec::new(), rows: Vec::new() }
    }

    /// Adds a number's key; how many bytes that takes in memory.
    pub fn push_key(&mut self, key: u64, row: u16) -> usize {
        let Self::Numbers { keys, rows } = self else { unreachable!("a column's name ends with its kind") };
        keys.push(key);
        rows.push(row);
        size_of::<u64>() + size_of::<u16>()
    }

    /// Adds a text; how many bytes that takes in memory.
    pub fn push_text(&mut self, text: &str, row: u16) -> usize {
        let Self::Texts { texts, numbers, rows } = self else { unreachable!("a column's name ends with its kind") };
        let known = texts.ends.len();
        numbers.push(texts.number(text));
        rows.push(row);
        let new_bytes = if texts.ends.len() > known { text.len() + NEW_TEXT_BYTES } else { 0 };
        new_bytes + size_of::<u32>() + size_of::<u16>()
    }

    /// The chunk's bytes.
    pub fn finish(self) -> Vec<u8> {
        match self {
            Self::Numbers { keys, rows } => encode(keys.into_iter().zip(rows).collect(), None),
            Self::Texts { texts, numbers, rows } => {
                let mut order: Vec<u32> = (0..texts.ends.len() as u32).collect();
                order.sort_unstable_by_key(|number| texts.text(*number));
                let mut places = vec![0; order.len()];
                for (place, number) in order.iter().enumerate() {
                    places[*number as usize] = place as u64;
                }
                let pairs = numbers.into_iter().map(|number| places[number as usize]).zip(rows).collect();
                encode(pairs, Some(&mut order.iter().map(|number| texts.text(*number))))
            }
        }
    }
}

/// Different texts, numbered as they come.
#[derive(Default)]
pub(super) struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// By hash; a text whose hash is taken goes to the next one.
    numbers: HashMap<u64, u32>,
    hasher: RandomState,
}

impl Texts {
    fn text(&self, number: u32) -> &[u8] {
        let at = number as usize;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[at]]
    }

    fn number(&mut self, text: &str) -> u32 {
        let mut hash = self.hasher.hash_one(text);
        while let Some(number) = self.numbers.get(&hash) {
            if self.text(*number) == text.as_bytes() {
                return *number;
            }
            hash = hash.wrapping_add(1);
        }
        let number = self.ends.len() as u32;
        self.numbers.insert(hash, number);
        self.bytes.extend_from_slice(text.as_bytes());
        self.ends.push(self.bytes.len());
        number
    }
}

/// Blocks of rows, each with the values they hold.
#[derive(Default)]
struct Blocks {
    entries: Vec<u8>,
    body: Vec<u8>,
    values: u32,
    positions: u32,
    /// A text's value is its place in the dictionary, which needs no writing down.
    with_values: bool,
}

fn encode(mut pairs: Vec<(u64, u16)>, texts: Option<&mut dyn Iterator<Item = &[u8]>>) -> Vec<u8> {
    pairs.sort_unstable();
    pairs.dedup();
    let mut blocks = Blocks { with_values: texts.is_none(), ..Blocks::default() };
    let mut light = 0;
    let mut at = 0;
    for value in pairs.chunk_by(|a, b| a.0 == b.0) {
        let end = at + value.len();
        if value.len() >= BITMAP_BLOCK_ROWS {
            blocks.push(&pairs[light..at]);
            blocks.push(value);
            light = end;
        } else if end - light >= BITMAP_BLOCK_ROWS {
            blocks.push(&pairs[light..end]);
            light = end;
        }
        at = end;
    }
    blocks.push(&pairs[light..]);

    let mut seen = [0; ROW_SET_BYTES];
    set(&mut seen, &pairs);
    let rows: u32 = seen.iter().map(|byte| byte.count_ones()).sum();
    let lowest = pairs.iter().map(|pair| pair.1).min().unwrap_or_default();
    let highest = pairs.iter().map(|pair| pair.1).max().unwrap_or_default();
    let block_count = (blocks.entries.len() / BLOCK_ENTRY_BYTES) as u32;
    let seen = &seen[..row_set_bytes(blocks.positions, rows, (lowest, highest))];
    let dictionary_offset = HEAD_BYTES + blocks.entries.len() + seen.len() + blocks.body.len();

    let mut bytes = Vec::with_capacity(dictionary_offset);
    for number in [blocks.positions, blocks.values, rows, block_count] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(&lowest.to_le_bytes());
    bytes.extend_from_slice(&highest.to_le_bytes());
    bytes.extend_from_slice(&(dictionary_offset as u32).to_le_bytes());
    bytes.extend_from_slice(&pairs.last().map_or(0, |pair| pair.0).to_le_bytes());
    bytes.extend_from_slice(&blocks.entries);
    bytes.extend_from_slice(seen);
    bytes.extend_from_slice(&blocks.body);
    if let Some(texts) = texts {
        dictionary::write(texts, &mut bytes);
    }
    bytes
}

impl Blocks {
    /// A block of whole values, in order.
    fn push(&mut self, pairs: &[(u64, u16)]) {
        let (Some(first), Some(last)) = (pairs.first(), pairs.last()) else { return };
        let widest = if self.with_values { last.0 - first.0 } else { 0 };
        let width = (u64::BITS - widest.leading_zeros()).div_ceil(8) as usize;
        self.entries.extend_from_slice(&first.0.to_le_bytes());
        for number in [self.values, self.positions, self.body.len() as u32, width as u32] {
            self.entries.extend_from_slice(&number.to_le_bytes());
        }
        let mut starts = Vec::new();
        let mut at = 0;
        for value in pairs.chunk_by(|a, b| a.0 == b.0) {
            self.body.extend_from_slice(&(value[0].0 - first.0).to_le_bytes()[..width]);
            starts.push(at as u16);
            at += value.len();
        }
        let one_value = starts.len() == 1;
        if !one_value && starts.len() < pairs.len() {
            starts.iter().for_each(|start| self.body.extend_from_slice(&start.to_le_bytes()));
        }
        let dense = pairs.len() >= BITMAP_BLOCK_ROWS;
        if !(one_value && dense) {
            pairs.iter().for_each(|pair| self.body.extend_from_slice(&pair.1.to_le_bytes()));
        }
        if dense {
            let mut rows = [0; ROW_SET_BYTES];
            set(&mut rows, pairs);
            self.body.extend_from_slice(&rows);
        }
        self.values += starts.len() as u32;
        self.positions += pairs.len() as u32;
    }
}

fn set(rows: &mut [u8; ROW_SET_BYTES], pairs: &[(u64, u16)]) {
    for (_, row) in pairs {
        rows[usize::from(*row >> 3)] |= 1 << (row & 7);
    }
}
