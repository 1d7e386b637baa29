//! The texts of a column chunk in order, each written as what it does not share with the one before it.
//!
//! ```text
//! dictionary │ groups │ of each group: first text's place u32, offset u32 │ length of the groups u32
//! group      │ up to 16 texts, of 4 KiB together, or one: { bytes shared with the text before, bytes more, those bytes }; lengths are u32 varints
//! ```

use std::cmp::Ordering;
use std::ops::{Bound, Range};

use tantivy_common::OwnedBytes;

use super::bytes::{Section, corrupt, u32_at};
use crate::FilterError;

const GROUP_TEXTS: usize = 16;
const GROUP_BYTES: usize = 4096;
const GROUP_ENTRY_BYTES: usize = 8;

/// Writes texts that ascend.
pub(super) fn write<'t>(texts: impl Iterator<Item = &'t [u8]>, out: &mut Vec<u8>) {
    let begin = out.len();
    let mut table = Vec::new();
    let (mut before, mut in_group): (&[u8], usize) = (&[], 0);
    let mut group_start = begin;
    for (place, text) in texts.enumerate() {
        if in_group == GROUP_TEXTS || out.len() - group_start + text.len() > GROUP_BYTES {
            in_group = 0;
        }
        if in_group == 0 {
            group_start = out.len();
            before = &[];
            table.extend_from_slice(&(place as u32).to_le_bytes());
            table.extend_from_slice(&((group_start - begin) as u32).to_le_bytes());
        }
        let shared = before.iter().zip(text).take_while(|(a, b)| a == b).count();
        write_varint(shared as u32, out);
        write_varint((text.len() - shared) as u32, out);
        out.extend_from_slice(&text[shared..]);
        (before, in_group) = (text, in_group + 1);
    }
    let groups_bytes = (out.len() - begin) as u32;
    out.extend_from_slice(&table);
    out.extend_from_slice(&groups_bytes.to_le_bytes());
}

pub(super) struct Dictionary {
    groups: Section,
    /// The groups, once they have been read whole.
    held: Option<OwnedBytes>,
    table: OwnedBytes,
    texts: u32,
}

impl Dictionary {
    pub fn open(section: &Section, texts: u32) -> Result<Self, FilterError> {
        let end = section.len().checked_sub(4).ok_or_else(|| corrupt("a dictionary without its end"))?;
        let groups_bytes = u32_at(&section.read(end, 4)?, 0) as usize;
        let table_bytes = end.checked_sub(groups_bytes).ok_or_else(|| corrupt("a dictionary without its table"))?;
        let table = section.read(groups_bytes, table_bytes)?;
        Ok(Self { groups: section.part(0, groups_bytes)?, held: None, table, texts })
    }

    /// Reads all of it: for many look-ups, and for reading it from end to end.
    pub fn hold(&mut self) -> Result<(), FilterError> {
        self.held = Some(self.groups.read(0, self.groups.len())?);
        Ok(())
    }

    /// The places of the texts between two bounds.
    pub fn places(&self, low: Bound<&[u8]>, high: Bound<&[u8]>) -> Result<Range<u32>, FilterError> {
        let (start, start_is_low) = match low {
            Bound::Unbounded => (0, false),
            Bound::Included(text) => self.find(text)?,
            Bound::Excluded(text) => self.find(text).map(|(place, there)| (place + u32::from(there), false))?,
        };
        let end = match high {
            Bound::Unbounded => self.texts,
            // Equality, the most frequent of all, looks once.
            Bound::Included(_) if low == high => start + u32::from(start_is_low),
            Bound::Included(text) => self.find(text).map(|(place, there)| place + u32::from(there))?,
            Bound::Excluded(text) => self.find(text)?.0,
        };
        Ok(start..end.max(start))
    }

    /// The place of the first text that is not less than `wanted`, and whether it is the same.
    fn find(&self, wanted: &[u8]) -> Result<(u32, bool), FilterError> {
        let (mut low, mut high) = (0, self.group_count());
        while low < high {
            let middle = (low + high) / 2;
            let group = self.group(middle)?;
            let mut source = group.as_slice();
            // A group's first text shares nothing, so it lies there whole.
            let (_, bytes) = (read_varint(&mut source)?, read_varint(&mut source)? as usize);
            if source.get(..bytes).ok_or_else(|| corrupt("a text runs past its group"))? <= wanted {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let Some(at) = low.checked_sub(1) else { return Ok((0, false)) };
        let (mut place, group) = (self.first_place(at), self.group(at)?);
        let mut source = group.as_slice();
        let mut text = Vec::new();
        while !source.is_empty() && place < self.texts {
            next_text(&mut source, &mut text)?;
            match text.as_slice().cmp(wanted) {
                Ordering::Less => place += 1,
                order => return Ok((place, order.is_eq())),
            }
        }
        Ok((place.min(self.texts), false))
    }

    /// Calls `visit` with each place of the range and its text.
    pub fn each(&self, range: Range<u32>, mut visit: impl FnMut(u32, &[u8])) -> Result<(), FilterError> {
        // The last group that begins at or before the range.
        let (mut low, mut high) = (0, self.group_count());
        while low < high {
            let middle = (low + high) / 2;
            if self.first_place(middle) <= range.start { low = middle + 1 } else { high = middle }
        }
        let mut text = Vec::new();
        for at in low.saturating_sub(1)..self.group_count() {
            let (mut place, group) = (self.first_place(at), self.group(at)?);
            let mut source = group.as_slice();
            while !source.is_empty() {
                if place >= range.end {
                    return Ok(());
                }
                next_text(&mut source, &mut text)?;
                if place >= range.start {
                    visit(place, &text);
                }
                place += 1;
            }
        }
        Ok(())
    }

    fn group_count(&self) -> usize {
        self.table.len() / GROUP_ENTRY_BYTES
    }

    fn first_place(&self, group: usize) -> u32 {
        u32_at(&self.table, group * GROUP_ENTRY_BYTES)
    }

    fn group(&self, at: usize) -> Result<OwnedBytes, FilterError> {
        let offset = |at: usize| u32_at(&self.table, at * GROUP_ENTRY_BYTES + 4) as usize;
        let end = if at + 1 == self.group_count() { self.groups.len() } else { offset(at + 1) };
        let start = offset(at);
        if start > end || end > self.groups.len() {
            return Err(corrupt("groups of texts out of order"));
        }
        match &self.held {
            Some(held) => Ok(held.slice(start..end)),
            None => self.groups.read(start, end - start),
        }
    }
}

/// Turns `text` into the one after it.
fn next_text(source: &mut &[u8], text: &mut Vec<u8>) -> Result<(), FilterError> {
    let (shared, more) = (read_varint(source)? as usize, read_varint(source)? as usize);
    if shared > text.len() || more > source.len() {
        return Err(corrupt("a text runs past its group"));
    }
    let (bytes, rest) = source.split_at(more);
    text.truncate(shared);
    text.extend_from_slice(bytes);
    *source = rest;
    Ok(())
}

fn write_varint(mut number: u32, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn read_varint(source: &mut &[u8]) -> Result<u32, FilterError> {
    let mut number = 0;
    for shift in (0..35).step_by(7) {
        let (byte, rest) = source.split_first().ok_or_else(|| corrupt("a length runs past its group"))?;
        *source = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return u32::try_from(number).map_err(|_| corrupt("a text of more than 4 GiB"));
        }
    }
    Err(corrupt("a length without its end"))
}
