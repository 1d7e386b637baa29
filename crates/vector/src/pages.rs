//! Units of a code file, read in place from cached blocks, or rows of 4-bit codes read one by one.

use std::sync::Arc;

use nuthatch_distance::prefetch;
use nuthatch_segment::{BLOCK_BYTES, BlockFile, SegmentError};

use crate::Result;
use crate::layout::{Width, unit_at};
use crate::quantiser::Factors;

/// A reader that holds one page at a time: cheap when units are asked for in ascending order.
pub(crate) struct Pages<'a> {
    file: &'a BlockFile,
    code_bytes: usize,
    unit_bytes: usize,
    held: Option<(u32, Arc<[u8]>)>,
    /// Takes single rows, when whole blocks would only push each other out of the cache.
    alone: Option<Vec<u8>>,
}

impl<'a> Pages<'a> {
    pub(crate) fn new(file: &'a BlockFile, width: Width, padded_dim: usize) -> Self {
        let (code_bytes, unit_bytes) = (width.code_bytes(padded_dim), width.unit_bytes(padded_dim));
        Self { file, code_bytes, unit_bytes, held: None, alone: None }
    }

    /// Rows of `codes4` by blocks, or each by itself: a microsecond instead of the fifteen of a block that is not cached.
    pub(crate) fn of_rows(file: &'a BlockFile, padded_dim: usize, by_blocks: bool) -> Self {
        let pages = Self::new(file, Width::Four, padded_dim);
        let alone = (!by_blocks).then(|| vec![0; pages.unit_bytes]);
        Self { alone, ..pages }
    }

    /// Codes and factors of one unit.
    pub(crate) fn unit(&mut self, unit: u32) -> Result<(&[u8], &[u8])> {
        let per_page = (BLOCK_BYTES / self.unit_bytes) as u32;
        let (page, at) = (unit / per_page, (unit % per_page) as usize * self.unit_bytes);
        if self.held.as_ref().is_none_or(|(held, _)| *held != page) {
            self.held = Some((page, self.file.block(u64::from(page))?));
        }
        let (_, bytes) = self.held.as_ref().expect("just set");
        let unit = bytes
            .get(at..at + self.unit_bytes)
            .ok_or_else(|| SegmentError::corrupt(self.file.path(), format!("page {page} is too short")))?;
        Ok(unit.split_at(self.code_bytes))
    }

    /// Says that a row will be asked for soon.
    pub(crate) fn expect_row(&mut self, slot: u32) -> Result<()> {
        if self.alone.is_none() {
            prefetch(self.unit(slot)?.0);
        }
        Ok(())
    }

    /// Codes and factors of one row of `codes4`.
    pub(crate) fn row(&mut self, slot: u32) -> Result<(&[u8], Factors)> {
        let (codes, factors) = match self.alone.is_some() {
            true => self.row_alone(slot)?,
            false => self.unit(slot)?,
        };
        let at = |byte: usize| f32::from_le_bytes(factors[byte..byte + 4].try_into().expect("four bytes"));
        Ok((codes, Factors { add: at(0), scale: at(4) }))
    }

    fn row_alone(&mut self, slot: u32) -> Result<(&[u8], &[u8])> {
        let at = unit_at(slot, self.unit_bytes);
        let row = self.alone.get_or_insert_with(|| vec![0; self.unit_bytes]);
        self.file.read_alone(at, row)?;
        let (row, checksum) = row.split_at(self.unit_bytes - 4);
        if crc32c::crc32c_append(slot, row).to_le_bytes() != checksum {
            let what = format!("the checksum of the row at byte {at} is wrong");
            return Err(SegmentError::corrupt(self.file.path(), what).into());
        }
        Ok(row.split_at(self.code_bytes))
    }
}
