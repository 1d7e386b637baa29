//! Little-endian numbers, and parts of a file that are asked for by offsets that damaged bytes may have written.

use tantivy_common::file_slice::FileSlice;
use tantivy_common::{HasLen, OwnedBytes};

use crate::FilterError;

/// A part of the columns file.
#[derive(Clone)]
pub(super) struct Section(FileSlice);

impl Section {
    pub fn new(slice: FileSlice) -> Self {
        Self(slice)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn part(&self, offset: usize, len: usize) -> Result<Self, FilterError> {
        match offset.checked_add(len) {
            Some(end) if end <= self.0.len() => Ok(Self(self.0.slice(offset..end))),
            _ => Err(corrupt(format!("{len} bytes at {offset} of a part of {}", self.0.len()))),
        }
    }

    pub fn read(&self, offset: usize, len: usize) -> Result<OwnedBytes, FilterError> {
        Ok(self.part(offset, len)?.0.read_bytes()?)
    }
}

pub(super) fn corrupt(reason: impl Into<String>) -> FilterError {
    FilterError::CorruptColumns { reason: reason.into() }
}

/// The number in `bytes` bytes (at most eight) at `at`.
pub(super) fn number(source: &[u8], at: usize, bytes: usize) -> u64 {
    source[at..at + bytes].iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

pub(super) fn u16_at(source: &[u8], index: usize) -> u16 {
    u16::from_le_bytes([source[2 * index], source[2 * index + 1]])
}

pub(super) fn u32_at(source: &[u8], at: usize) -> u32 {
    number(source, at, 4) as u32
}
