//! Units of a code file, read in place from cached blocks.

use std::sync::Arc;

use nuthatch_segment::{BLOCK_BYTES, BlockFile, SegmentError};

use crate::Result;
use crate::layout::Width;
use crate::quantiser::Factors;

/// A reader that holds one page at a time: cheap when units are asked for in ascending order.
pub(crate) struct Pages<'a> {
    file: &'a BlockFile,
    code_bytes: usize,
    unit_bytes: usize,
    held: Option<(u32, Arc<[u8]>)>,
}

impl<'a> Pages<'a> {
    pub(crate) fn new(file: &'a BlockFile, width: Width, padded_dim: usize) -> Self {
        Self { file, code_bytes: width.code_bytes(padded_dim), unit_bytes: width.unit_bytes(padded_dim), held: None }
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

    /// Codes and factors of one row of `codes4`.
    pub(crate) fn row(&mut self, slot: u32) -> Result<(&[u8], Factors)> {
        let (codes, factors) = self.unit(slot)?;
        let at = |byte: usize| f32::from_le_bytes(factors[byte..byte + 4].try_into().expect("four bytes"));
        Ok((codes, Factors { add: at(0), scale: at(4) }))
    }
}
