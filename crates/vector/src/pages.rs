//! Units of a code file, read in place from cached blocks, or rows of 4-bit codes read one by one.

use std::sync::Arc;

use nuthatch_distance::prefetch;
use nuthatch_segment::{BLOCK_BYTES, BlockFile, SegmentError};

use crate::Result;
use crate::layout::{Width, unit_at};
use crate::quantiser::Factors;

/// Rows that are estimated together.
pub(crate) const ROWS_AT_ONCE: usize = 16;
/// Rows whose codes are under way while others are estimated.
const ROWS_AHEAD: usize = 64;

/// Rows of `codes4` that are to be looked up together: most of the cost of one is waiting for memory, and they wait at once.
pub(crate) struct Expected {
    /// The most rows that are looked up together.
    at_once: usize,
    slots: Vec<u32>,
    /// While they are looked up: a page, its first slot, and where in `slots` those behind it begin.
    runs: Vec<(Arc<[u8]>, u32, usize)>,
}

impl Expected {
    /// For many lookups in a row: large enough that the start of each round, with no lookup under way, hardly counts.
    pub(crate) const MANY: usize = 1024;
    /// Where what was found decides what is looked up next.
    pub(crate) const FEW: usize = 32;

    pub(crate) fn new(at_once: usize) -> Self {
        Self { at_once, slots: Vec::with_capacity(at_once), runs: Vec::new() }
    }

    pub(crate) fn push(&mut self, slot: u32) {
        self.slots.push(slot);
    }

    pub(crate) fn is_full(&self) -> bool {
        self.slots.len() >= self.at_once
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
    /// Takes expected rows one by one, when whole blocks would only push each other out of the cache; of those in the cache, and of
    /// those that many rows are wanted of, none is.
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
    #[inline]
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

    /// Calls `visit` with up to [`ROWS_AT_ONCE`] of the rows that were expected, slots and units, until none is any more.
    pub(crate) fn rows(&mut self, expected: &mut Expected, mut visit: impl FnMut(&[u32], &[&[u8]])) -> Result<()> {
        self.gather(expected, &mut visit)?;
        let Expected { slots, runs, .. } = expected;
        let unit_bytes = self.unit_bytes;
        let (mut units, mut begin) = (Vec::with_capacity(slots.len()), 0);
        for (page, first, end) in runs.iter() {
            units.extend(
                slots[begin..*end].iter().map(|slot| &page[(slot - first) as usize * unit_bytes..][..unit_bytes]),
            );
            begin = *end;
        }
        // Fetched so far ahead that there is always as much under way as the processor can wait for at once.
        let mut ahead = units.iter();
        ahead.by_ref().take(ROWS_AHEAD).for_each(|unit| prefetch(unit));
        for (slots, units) in slots.chunks(ROWS_AT_ONCE).zip(units.chunks(ROWS_AT_ONCE)) {
            ahead.by_ref().take(ROWS_AT_ONCE).for_each(|unit| prefetch(unit));
            visit(slots, units);
        }
        drop(units);
        runs.clear();
        slots.clear();
        Ok(())
    }

    /// Finds the pages of the rows that were expected. Those whose page is not worth reading are visited, and expected no more.
    fn gather(&mut self, expected: &mut Expected, visit: &mut impl FnMut(&[u32], &[&[u8]])) -> Result<()> {
        let Expected { slots, runs, .. } = expected;
        let (mut begin, mut kept) = (0, 0);
        while let Some(slot) = slots.get(begin) {
            if self.alone.is_some() && !self.hold_if_worth(&slots[begin..])? {
                let page = slot / self.units_of_page;
                while let Some(slot) = slots.get(begin).filter(|slot| *slot / self.units_of_page == page) {
                    let alone = self.alone.as_mut().expect("checked above");
                    read_alone(self.file, *slot, alone)?;
                    visit(&[*slot], &[alone]);
                    begin += 1;
                }
                continue;
            }
            self.page(*slot)?;
            let Some((first, page)) = self.held.clone() else { break };
            // Dividing takes as long as estimating a row, and most pages are whole.
            let units =
                if page.len() == BLOCK_BYTES { self.units_of_page } else { (page.len() / self.unit_bytes) as u32 };
            let run = slots[begin..].iter().take_while(|slot| slot.wrapping_sub(first) < units).count();
            slots.copy_within(begin..begin + run, kept);
            (begin, kept) = (begin + run, kept + run);
            runs.push((page, first, kept));
        }
        slots.truncate(kept);
        Ok(())
    }

    /// In a crowded cache: holds the page of the first of these rows, if it is cached or worth reading for those of them that it has.
    fn hold_if_worth(&mut self, slots: &[u32]) -> Result<bool> {
        let page = slots[0] / self.units_of_page;
        let first = page * self.units_of_page;
        if self.held.as_ref().is_some_and(|(held, _)| *held == first) {
            return Ok(true);
        }
        let wanted = slots.iter().take_while(|slot| *slot / self.units_of_page == page).count();
        let block = self.file.block_for(u64::from(page), wanted)?;
        let is_held = block.is_some();
        self.held = block.map(|block| (first, block)).or(self.held.take());
        Ok(is_held)
    }
}

/// Reads a row of `codes4` by itself and checks it.
fn read_alone(file: &BlockFile, slot: u32, unit: &mut [u8]) -> Result<()> {
    let at = unit_at(slot, unit.len());
    file.read_alone(at, unit)?;
    let (row, checksum) = unit.split_at(unit.len() - 4);
    if crc32c::crc32c_append(slot, row).to_le_bytes() != checksum {
        let what = format!("the checksum of the row at byte {at} is wrong");
        return Err(SegmentError::corrupt(file.path(), what).into());
    }
    Ok(())
}

/// Reads the factors that follow the codes of a row.
pub(crate) fn factors_of(bytes: &[u8]) -> Factors {
    let at = |byte: usize| f32::from_le_bytes(bytes[byte..byte + 4].try_into().expect("four bytes"));
    Factors { add: at(0), scale: at(4) }
}
