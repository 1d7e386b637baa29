//! Reading one column chunk: from ranges of values to ranges of positions, and from those to rows.
//!
//! A *position* counts pairs of value and row, in the order of the values. Blocks are runs of whole values: 4,096 to 8,191
//! positions, fewer in the last one before a value of 4,096 rows or more, which is a block of its own. A range of values is a
//! range of positions; blocks inside of it are answered by their bitmaps, the two at its ends by lists of rows.
//!
//! ```text
//! chunk  │ head, 32 bytes │ entry of each block, 24 bytes │ bitmap of all rows, 8 KiB │ blocks │ dictionary, of texts only
//! head   │ positions u32 │ values u32 │ rows u32 │ blocks u32 │ lowest row u16 │ highest row u16 │ dictionary offset u32 │ highest key u64
//! entry  │ lowest key u64 │ values before u32 │ positions before u32 │ offset from the first block u32 │ width u32
//! block  │ each value's key − lowest key, width bytes; not of texts, whose key is the place in the dictionary
//!        │ each value's first position in the block, u16; neither for one value nor when no value has two rows
//!        │ rows, u16, by value and row; not for one value of 4,096 rows or more
//!        │ bitmap of the rows, 8 KiB, lowest bit first; from 4,096 positions
//!          the bitmap of all rows is there from 4,096 positions, unless the rows are all from the lowest to the highest
//! key      bool 0, 1 · int, datetime: sign bit flipped · float: sign bit flipped, negative ones inverted
//! ```

use std::ops::Range;

use roaring::RoaringBitmap;
use tantivy_common::OwnedBytes;

use super::block::{BITMAP_BLOCK_ROWS, BLOCK_ENTRY_BYTES, Block, ROW_SET_BYTES};
use super::bytes::{Section, corrupt, number, u16_at, u32_at};
use super::dictionary::Dictionary;
use super::keys::Key;
use crate::FilterError;

pub(super) const HEAD_BYTES: usize = 32;
/// Up to here rows are inserted one by one, without a set of them all.
const SINGLE_ROWS_MAX: u32 = 128;

pub(super) struct Chunk {
    section: Section,
    container: u32,
    positions: u32,
    values: u32,
    rows: u32,
    row_ends: (u16, u16),
    dictionary_offset: usize,
    highest_key: u64,
    blocks: Vec<Block>,
    rows_offset: usize,
}

/// How many bytes the bitmap of all rows takes, if it is there.
pub(super) fn row_set_bytes(positions: u32, rows: u32, (lowest, highest): (u16, u16)) -> usize {
    let contiguous = rows == u32::from(highest.saturating_sub(lowest)) + 1;
    if contiguous || (positions as usize) < BITMAP_BLOCK_ROWS { 0 } else { ROW_SET_BYTES }
}

impl Chunk {
    pub fn open(section: Section, container: u32) -> Result<Self, FilterError> {
        let head = section.read(0, HEAD_BYTES)?;
        let (positions, values, block_count) = (u32_at(&head, 0), u32_at(&head, 4), u32_at(&head, 12) as usize);
        let entries_bytes = block_count.checked_mul(BLOCK_ENTRY_BYTES).ok_or_else(|| corrupt("too many blocks"))?;
        let entries = section.read(HEAD_BYTES, entries_bytes)?;
        let row_ends = (number(&head, 16, 2) as u16, number(&head, 18, 2) as u16);
        let rows_offset = HEAD_BYTES + entries_bytes;
        let blocks_offset = rows_offset + row_set_bytes(positions, u32_at(&head, 8), row_ends);
        let mut blocks = Vec::with_capacity(block_count);
        let (mut value_end, mut position_end) = (values, positions);
        for entry in entries.chunks_exact(BLOCK_ENTRY_BYTES).rev() {
            let (first_value, first_position) = (u32_at(entry, 8), u32_at(entry, 12));
            let (offset, width) = (blocks_offset + u32_at(entry, 16) as usize, u32_at(entry, 20) as usize);
            if first_value >= value_end || first_position >= position_end || width > 8 {
                return Err(corrupt("blocks out of order"));
            }
            blocks.push(Block {
                lowest_key: number(entry, 0, 8),
                values: (first_value, value_end),
                positions: (first_position, position_end),
                offset,
                width,
            });
            (value_end, position_end) = (first_value, first_position);
        }
        if (value_end, position_end) != (0, 0) || container > u32::from(u16::MAX) {
            return Err(corrupt("a column chunk without its beginning"));
        }
        blocks.reverse();
        Ok(Self {
            container,
            positions,
            values,
            rows: u32_at(&head, 8),
            row_ends,
            dictionary_offset: u32_at(&head, 20) as usize,
            highest_key: number(&head, 24, 8),
            blocks,
            rows_offset,
            section,
        })
    }

    pub fn all(&self) -> Range<u32> {
        0..self.positions
    }

    pub fn container(&self) -> u32 {
        self.container
    }

    /// Calls `visit` with each value's key, in order, and how many of the rows of a set hold it. Keys of texts have no meaning.
    pub fn each_value(&self, set: &[u8; ROW_SET_BYTES], mut visit: impl FnMut(u64, u64)) -> Result<(), FilterError> {
        for block in &self.blocks {
            let is_in = |row: u16| set[usize::from(row >> 3)] >> (row & 7) & 1 == 1;
            let keys = self.section.read(block.offset, block.list_offset() - block.offset)?;
            let key = |value: usize| block.lowest_key.wrapping_add(number(&keys, value * block.width, block.width));
            if !block.has_list() {
                let bitmap = self.section.read(block.bitmap_offset(), ROW_SET_BYTES)?;
                let both = bitmap.iter().zip(set).map(|(all, wanted)| u64::from((all & wanted).count_ones()));
                visit(key(0), both.sum());
                continue;
            }
            let list = self.list(block, 0..block.len() as u32)?;
            let starts = &keys[block.value_count() * block.width..];
            let start_of = |value: usize| match value {
                0 => 0,
                value if value == block.value_count() => block.len(),
                value if block.starts_bytes() == 0 => value,
                value => usize::from(u16_at(starts, value)),
            };
            for value in 0..block.value_count() {
                let (start, end) = (start_of(value), start_of(value + 1));
                let rows = list.get(2 * start..2 * end).ok_or_else(|| corrupt("a value begins after its block"))?;
                visit(key(value), rows.chunks_exact(2).filter(|row| is_in(u16_at(row, 0))).count() as u64);
            }
        }
        Ok(())
    }

    pub fn dictionary(&self) -> Result<Dictionary, FilterError> {
        let bytes = self.section.len().checked_sub(self.dictionary_offset);
        let bytes = bytes.ok_or_else(|| corrupt("a dictionary beyond its chunk"))?;
        Dictionary::open(&self.section.part(self.dictionary_offset, bytes)?, self.values)
    }

    /// Positions of the keys in each range; the ranges ascend and are apart.
    pub fn positions_of_keys(&self, ranges: &[(u64, u64)]) -> Result<Vec<Range<u32>>, FilterError> {
        let lowest_key = self.blocks.first().map_or(u64::MAX, |block| block.lowest_key);
        let mut values = BlockValues::default();
        let mut found = Vec::new();
        for (low, high) in ranges {
            if *high < lowest_key || *low > self.highest_key {
                continue;
            }
            let start = self.positions_below(*low, &mut values)?;
            let end = match high.checked_add(1) {
                Some(next) => self.positions_below(next, &mut values)?,
                None => self.positions,
            };
            push_range(&mut found, start..end);
        }
        Ok(found)
    }

    /// Positions of numbers, which ascend. Both are gone through once: neither many numbers nor many values are looked up one by one.
    pub fn positions_among(&self, numbers: &[i64]) -> Result<Vec<Range<u32>>, FilterError> {
        let (mut found, mut values) = (Vec::new(), BlockValues::default());
        let mut numbers = numbers.iter().map(|number| number.key()).peekable();
        for (at, block) in self.blocks.iter().enumerate() {
            while numbers.next_if(|number| *number < block.lowest_key).is_some() {}
            let Some(&first) = numbers.peek() else { break };
            let next_key = self.blocks.get(at + 1).map_or(u64::MAX, |next| next.lowest_key);
            if first > next_key {
                continue; // its values need not be read
            }
            let bytes = values.of(self, at)?;
            let starts = &bytes[block.value_count() * block.width..];
            for value in 0..block.value_count() {
                let key = block.lowest_key.saturating_add(number(bytes, value * block.width, block.width));
                while numbers.next_if(|number| *number < key).is_some() {}
                if numbers.peek() == Some(&key) {
                    let start = self.start_of(block, value, || Ok(u32::from(u16_at(starts, value))))?;
                    let end = self.start_of(block, value + 1, || Ok(u32::from(u16_at(starts, value + 1))))?;
                    push_range(&mut found, start..end);
                }
            }
        }
        Ok(found)
    }

    /// How many positions hold a key less than this one.
    fn positions_below(&self, key: u64, cached: &mut BlockValues) -> Result<u32, FilterError> {
        if key > self.highest_key {
            return Ok(self.positions);
        }
        let after = self.blocks.partition_point(|block| block.lowest_key < key);
        let Some(at) = after.checked_sub(1) else { return Ok(0) };
        let block = &self.blocks[at];
        let values = cached.of(self, at)?;
        let (mut low, mut high) = (0, block.value_count());
        while low < high {
            let middle = (low + high) / 2;
            if block.lowest_key.saturating_add(number(values, middle * block.width, block.width)) < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.start_of(block, low, || Ok(u32::from(u16_at(&values[block.value_count() * block.width..], low))))
    }

    /// Positions of the values in each range of places among them; the ranges ascend and are apart.
    pub fn positions_of_values(&self, ranges: &[Range<u32>]) -> Result<Vec<Range<u32>>, FilterError> {
        let mut found = Vec::new();
        for range in ranges {
            push_range(&mut found, self.value_start(range.start)?..self.value_start(range.end)?);
        }
        Ok(found)
    }

    fn value_start(&self, value: u32) -> Result<u32, FilterError> {
        let at = self.blocks.partition_point(|block| block.values.1 <= value);
        let Some(block) = self.blocks.get(at) else { return Ok(self.positions) };
        let in_block = (value - block.values.0) as usize;
        self.start_of(block, in_block, || {
            let offset = block.offset + block.value_count() * block.width + 2 * in_block;
            Ok(u32::from(u16_at(&self.section.read(offset, 2)?, 0)))
        })
    }

    fn start_of(
        &self,
        block: &Block,
        value: usize,
        stored: impl FnOnce() -> Result<u32, FilterError>,
    ) -> Result<u32, FilterError> {
        let start = match value {
            0 => 0,
            value if value == block.value_count() => block.len() as u32,
            value if block.starts_bytes() == 0 => value as u32,
            _ => stored()?,
        };
        if start as usize > block.len() {
            return Err(corrupt("a value begins after its block"));
        }
        Ok(block.positions.0 + start)
    }

    /// Adds the rows at the positions to `rows`.
    pub fn add_rows(&self, ranges: &[Range<u32>], rows: &mut RoaringBitmap) -> Result<(), FilterError> {
        let base = self.container << 16;
        let wanted: u32 = ranges.iter().map(|range| range.end - range.start).sum();
        if wanted == self.positions && wanted as usize >= BITMAP_BLOCK_ROWS {
            match row_set_bytes(self.positions, self.rows, self.row_ends) {
                0 => {
                    rows.insert_range(base + u32::from(self.row_ends.0)..=base + u32::from(self.row_ends.1));
                }
                bytes => *rows |= RoaringBitmap::from_lsb0_bytes(base, &self.section.read(self.rows_offset, bytes)?),
            }
        } else if wanted <= SINGLE_ROWS_MAX {
            let mut found = Vec::with_capacity(wanted as usize);
            for range in ranges {
                self.for_blocks(range, |block, part| {
                    let list = self.list(block, part)?;
                    found.extend(list.chunks_exact(2).map(|row| base + u32::from(u16_at(row, 0))));
                    Ok(())
                })?;
            }
            rows.extend(found);
        } else {
            let mut set = [0; ROW_SET_BYTES];
            for range in ranges {
                self.for_blocks(range, |block, part| self.set_rows(block, part, &mut set))?;
            }
            *rows |= RoaringBitmap::from_lsb0_bytes(base, &set);
        }
        Ok(())
    }

    fn for_blocks(
        &self,
        range: &Range<u32>,
        mut visit: impl FnMut(&Block, Range<u32>) -> Result<(), FilterError>,
    ) -> Result<(), FilterError> {
        let first = self.blocks.partition_point(|block| block.positions.1 <= range.start);
        for block in &self.blocks[first..] {
            let (start, end) = (block.positions.0.max(range.start), block.positions.1.min(range.end));
            if start >= end {
                break;
            }
            visit(block, start - block.positions.0..end - block.positions.0)?;
        }
        Ok(())
    }

    /// The rows at positions of a block, two bytes each.
    fn list(&self, block: &Block, part: Range<u32>) -> Result<OwnedBytes, FilterError> {
        self.section.read(block.list_offset() + 2 * part.start as usize, 2 * part.len())
    }

    fn set_rows(&self, block: &Block, part: Range<u32>, set: &mut [u8; ROW_SET_BYTES]) -> Result<(), FilterError> {
        if part.len() == block.len() && block.has_bitmap() {
            let bitmap = self.section.read(block.bitmap_offset(), ROW_SET_BYTES)?;
            set.iter_mut().zip(bitmap.iter()).for_each(|(all, more)| *all |= more);
        } else {
            for row in self.list(block, part)?.chunks_exact(2) {
                let row = u16_at(row, 0);
                set[usize::from(row >> 3)] |= 1 << (row & 7);
            }
        }
        Ok(())
    }
}

/// The values and first positions of the block last asked for: both ends of a range, and the next range, often lie in one.
#[derive(Default)]
struct BlockValues(Option<(usize, OwnedBytes)>);

impl BlockValues {
    fn of(&mut self, chunk: &Chunk, at: usize) -> Result<&[u8], FilterError> {
        if self.0.as_ref().is_none_or(|(held, _)| *held != at) {
            let block = &chunk.blocks[at];
            let bytes = chunk.section.read(block.offset, block.list_offset() - block.offset)?;
            self.0 = Some((at, bytes));
        }
        Ok(self.0.as_ref().map_or(&[], |(_, bytes)| bytes))
    }
}

fn push_range(ranges: &mut Vec<Range<u32>>, range: Range<u32>) {
    match ranges.last_mut() {
        _ if range.is_empty() => {}
        Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
        _ => ranges.push(range),
    }
}
