//! Units of a code file, read in place from cached blocks, or rows of 4-bit codes read one by one.

use std::sync::Arc;

use nuthatch_distance::prefetch;
use nuthatch_segment::{BLOCK_BYTES, BlockFile, SegmentError};

use crate::Result;
use crate::layout::{Width, unit_at};
use crate::quantiser::Factors;

/// Rows of `codes4` that are about to be looked up, and the pages that they lie in.
#[derive(Default)]
pub(crate) struct Expected {
    /// Slot, place in `pages`, first byte there.
    rows: Vec<(u32, usize, usize)>,
    pages: Vec<Arc<[u8]>>,
}

impl Expected {
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }
}

/// A reader that holds one page at a time: cheap when units are asked for in ascending order.
pub(crate) struct Pages<'a> {
    file: &'a BlockFile,
    code_bytes: usize,
    unit_bytes: usize,
    units_of_page: u32,
    /// The page that was asked for last, and its first unit.
    held: Option<(u32, Arc<[u8]>)>,
    /// Takes single rows, when whole blocks would only push each other out of the cache.
    alone: Option<Vec<u8>>,
}

impl<'a> Pages<'a> {
    pub(crate) fn new(file: &'a BlockFile, width: Width, padded_dim: usize) -> Self {
        let (code_bytes, unit_bytes) = (width.code_bytes(padded_dim), width.unit_bytes(padded_dim));
        let units_of_page = (BLOCK_BYTES / unit_bytes) as u32;
        Self { file, code_bytes, unit_bytes, units_of_page, held: None, alone: None }
    }

    /// Rows of `codes4` by blocks, or each by itself: a microsecond instead of the fifteen of a block that is not cached.
    pub(crate) fn of_rows(file: &'a BlockFile, padded_dim: usize, by_blocks: bool) -> Self {
        let pages = Self::new(file, Width::Four, padded_dim);
        let alone = (!by_blocks).then(|| vec![0; pages.unit_bytes]);
        Self { alone, ..pages }
    }

    /// Codes and factors of one unit.
    pub(crate) fn unit(&mut self, unit: u32) -> Result<(&[u8], &[u8])> {
        let (code_bytes, unit_bytes) = (self.code_bytes, self.unit_bytes);
        let (page, at) = self.page(unit)?;
        Ok(page[at..at + unit_bytes].split_at(code_bytes))
    }

    /// Codes and factors of one row of `codes4`.
    pub(crate) fn row(&mut self, slot: u32) -> Result<(&[u8], Factors)> {
        let (codes, factors) = self.unit(slot)?;
        Ok((codes, factors_of(factors)))
    }

    /// The page of a unit and where in it the unit lies, whole.
    fn page(&mut self, unit: u32) -> Result<(&Arc<[u8]>, usize)> {
        // Dividing for every row would cost as much as estimating it.
        let held = |(first, _): &(u32, Arc<[u8]>)| unit.checked_sub(*first).is_some_and(|at| at < self.units_of_page);
        if !self.held.as_ref().is_some_and(held) {
            let page = unit / self.units_of_page;
            self.held = Some((page * self.units_of_page, self.file.block(u64::from(page))?));
        }
        let (first, page) = self.held.as_ref().expect("just set");
        let at = (unit - first) as usize * self.unit_bytes;
        if at + self.unit_bytes > page.len() {
            let what = format!("page {} is too short", unit / self.units_of_page);
            return Err(SegmentError::corrupt(self.file.path(), what).into());
        }
        Ok((page, at))
    }

    /// Notes a row of `codes4` to be looked up with others, and has its bytes fetched meanwhile.
    pub(crate) fn expect_row(&mut self, slot: u32, expected: &mut Expected) -> Result<()> {
        if self.alone.is_some() {
            expected.rows.push((slot, 0, 0));
            return Ok(());
        }
        let bytes = self.unit_bytes;
        let (page, at) = self.page(slot)?;
        if expected.pages.last().is_none_or(|last| !Arc::ptr_eq(last, page)) {
            expected.pages.push(page.clone());
        }
        prefetch(&page[at..at + bytes]);
        expected.rows.push((slot, expected.pages.len() - 1, at));
        Ok(())
    }

    /// Calls `visit` with the codes and factors of the rows that were expected, and expects none any more.
    pub(crate) fn rows(&mut self, expected: &mut Expected, mut visit: impl FnMut(u32, &[u8], Factors)) -> Result<()> {
        for (slot, page, at) in expected.rows.drain(..) {
            let (codes, factors) = match self.alone.is_some() {
                true => self.row_alone(slot)?,
                false => expected.pages[page][at..at + self.unit_bytes].split_at(self.code_bytes),
            };
            visit(slot, codes, factors_of(factors));
        }
        expected.pages.clear();
        Ok(())
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

fn factors_of(bytes: &[u8]) -> Factors {
    let at = |byte: usize| f32::from_le_bytes(bytes[byte..byte + 4].try_into().expect("four bytes"));
    Factors { add: at(0), scale: at(4) }
}
