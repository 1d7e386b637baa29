//! Searching one segment: a 1-bit fast scan, and the 4-bit codes of the rows that it cannot rule out.
//!
//! A row is ruled out when the upper bound of its 1-bit estimate does not exceed the `limit`-th best lower bound of the 4-bit
//! estimates so far (RaBitQ, section 4). That bar starts at what a sixteenth of the blocks already reaches, so that it is
//! high from the first block on, in whatever order rows lie.

use nuthatch_distance::{BLOCK_ROWS, scan_block};

use crate::best::Best;
use crate::gather::Gather;
use crate::layout::Width;
use crate::members::Members;
use crate::pages::{Expected, Pages};
use crate::prepared::Prepared;
use crate::refine::Refine;
use crate::rows::blocks;
use crate::sample::spread;
use crate::{Codes, Result, Rows, VectorError, validate};

/// A row that may be among the best. Higher is better: see [`Metric::similarity`](crate::Metric::similarity).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Candidate {
    /// The row's place in its segment, from 0.
    pub slot: u32,
    /// Unbiased estimate.
    pub similarity: f32,
    /// The exact similarity is rarely below (two standard deviations).
    pub lower: f32,
    /// The exact similarity is rarely above.
    pub upper: f32,
}

/// With so small a share of the rows matching, reading their 4-bit codes beats scanning everybody's 1-bit codes.
const DIRECT_SHARE: u64 = 16;
/// So few rows are not worth a 1-bit scan.
const DIRECT_ROWS: u64 = 512;
/// Blocks between two times of asking whether to stop.
const STOP_BLOCKS: u32 = 512;
/// One block in this many is looked at first.
const SAMPLE: usize = 16;

/// Whether so few rows match that their 4-bit codes are read without a scan.
fn reads_directly(matching: u64, rows: u32) -> bool {
    matching <= (u64::from(rows) / DIRECT_SHARE).max(DIRECT_ROWS)
}

impl Codes {
    /// Returns the rows that can be among the `limit` best of `rows` for a raw query, best estimate first: compare all
    /// of them exactly (after [`retain_reaching`](crate::retain_reaching) over all segments). Returns at least `limit`
    /// if that many match; mostly two to four times that, and at most `64 * limit + 4096`, when thousands of rows are
    /// nearly equally similar.
    pub fn search(&self, query: &[f32], rows: Rows<'_>, limit: usize) -> Result<Vec<Candidate>> {
        validate(query, self.dim(), self.metric())?;
        let matching = rows.count(self.rows());
        if limit == 0 || matching == 0 {
            return Ok(Vec::new());
        }
        let query = Prepared::new(query, self.metric(), &self.header.centroid, &self.rotation);
        self.search_prepared(&query, rows, (limit, f32::NEG_INFINITY), reads_directly(matching, self.rows()), &|| false)
    }

    /// [`search`](Self::search) for a query that was prepared for these codes, by a scan or by looking up every row that matches
    /// (`directly`); `stop` ends it. `limit` comes with a similarity: rows that are less similar need not be found.
    pub(crate) fn search_prepared(
        &self,
        query: &Prepared,
        rows: Rows<'_>,
        (limit, floor): (usize, f32),
        directly: bool,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<Candidate>> {
        let matching = rows.count(self.rows());
        let directly = directly || matching <= limit as u64;
        let at_once = if directly { Expected::MANY } else { Expected::FEW };
        let mut refine = Refine::new(
            Pages::of_rows(&self.four, self.header.padded_dim(), !self.four.is_crowded()),
            query,
            (Gather::above(limit, floor - query.base), at_once),
            stop,
        );
        if directly {
            rows.try_for_each(self.rows(), |slot| refine.take(slot))?;
        } else {
            let rows = &Members::new(rows, self.rows());
            // The rows from the sample are kept, so `limit` rows are gathered even if the scan should rule some of them
            // out.
            refine.begin_with(self.best_of_sample(query, rows, limit, stop)?)?;
            self.scan(query, rows, (1, stop), &mut refine, Refine::threshold, |refine, slot, _| refine.take(slot))?;
        }
        let mut candidates = refine.finish()?.into_sorted();
        for candidate in &mut candidates {
            candidate.similarity += query.base;
            candidate.lower += query.base;
            candidate.upper += query.base;
        }
        Ok(candidates)
    }

    /// Around `wanted` of the rows that match, spread over the segment, and their similarities by their 4-bit codes.
    pub(crate) fn sample(&self, query: &Prepared, rows: Rows<'_>, wanted: u32) -> Result<Vec<(u32, f32)>> {
        let mut pages = Pages::of_rows(&self.four, self.header.padded_dim(), !self.four.is_crowded());
        let (mut expected, mut sample) = (Expected::new(Expected::MANY), Vec::new());
        for slots in spread(rows, self.rows(), wanted).chunks(Expected::MANY) {
            slots.iter().for_each(|slot| expected.push(*slot));
            pages.rows(&mut expected, |slots, units| {
                query.estimate_many(slots, units, |slot, similarity, _| sample.push((slot, similarity + query.base)));
            })?;
        }
        Ok(sample)
    }

    /// Slots, ascending.
    fn best_of_sample(
        &self,
        query: &Prepared,
        rows: &Members<'_>,
        limit: usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<u32>> {
        let mut best = Best::new(limit.saturating_mul(2).saturating_add(32));
        self.scan(query, rows, (SAMPLE, stop), &mut best, Best::threshold, |best, slot, upper| {
            best.push(slot, upper);
            Ok(())
        })?;
        let mut slots: Vec<u32> = best.into_sorted().into_iter().map(|(slot, _)| slot).collect();
        slots.sort_unstable();
        Ok(slots)
    }

    /// Calls `take` with the rows of every `step`-th block whose upper bound by the 1-bit codes is greater than `threshold`.
    fn scan<T>(
        &self,
        query: &Prepared,
        rows: &Members<'_>,
        (step, stop): (usize, &dyn Fn() -> bool),
        state: &mut T,
        threshold: impl Fn(&T) -> f32,
        mut take: impl FnMut(&mut T, u32, f32) -> Result<()>,
    ) -> Result<()> {
        let table = query.table();
        let mut pages = Pages::new(&self.one, Width::One, self.header.padded_dim());
        let mut uppers = [0.0; BLOCK_ROWS];
        for (block, existing) in blocks(self.rows()).step_by(step) {
            if block % STOP_BLOCKS == 0 && stop() {
                return Err(VectorError::Stopped);
            }
            let existing = existing & rows.of_block(block);
            if existing == 0 {
                continue;
            }
            let (codes, factors) = pages.unit(block)?;
            let mut above = scan_block(codes, factors, table, threshold(state), &mut uppers) & existing;
            while above != 0 {
                let row = above.trailing_zeros();
                above &= above - 1;
                let slot = block * BLOCK_ROWS as u32 + row;
                // Asked last: few rows come so far, so a filter or tombstones cost next to nothing.
                if rows.contains(slot) {
                    take(state, slot, uppers[row as usize])?;
                }
            }
        }
        Ok(())
    }
}
