//! The second look: 4-bit codes of the rows that the first could not rule out.

use crate::gather::Gather;
use crate::pages::{Expected, Pages};
use crate::prepared::Prepared;
use crate::{Result, VectorError};

/// Looks codes up in batches: most of the cost of one lookup is waiting for memory, and a batch waits once.
pub(crate) struct Refine<'a> {
    pages: Pages<'a>,
    query: &'a Prepared,
    gather: Gather,
    stop: &'a dyn Fn() -> bool,
    waiting: Expected,
    /// Slots not to be gathered twice, ascending.
    done: Vec<u32>,
}

impl<'a> Refine<'a> {
    /// `at_once`: rows that are looked up together.
    pub(crate) fn new(
        pages: Pages<'a>,
        query: &'a Prepared,
        (gather, at_once): (Gather, usize),
        stop: &'a dyn Fn() -> bool,
    ) -> Self {
        Self { pages, query, gather, stop, waiting: Expected::new(at_once), done: Vec::new() }
    }

    /// Takes `slots`, which ascend, at once, and ignores them when they come again.
    pub(crate) fn begin_with(&mut self, slots: Vec<u32>) -> Result<()> {
        slots.iter().try_for_each(|slot| self.take(*slot))?;
        self.look_up()?;
        self.gather.raise_threshold();
        self.done = slots;
        Ok(())
    }

    /// Rows that cannot exceed this similarity need not be taken.
    pub(crate) fn threshold(&self) -> f32 {
        self.gather.threshold()
    }

    /// Cheapest when slots ascend.
    #[inline]
    pub(crate) fn take(&mut self, slot: u32) -> Result<()> {
        if self.done.binary_search(&slot).is_ok() {
            return Ok(());
        }
        self.waiting.push(slot);
        if self.waiting.is_full() { self.look_up() } else { Ok(()) }
    }

    pub(crate) fn finish(mut self) -> Result<Gather> {
        self.look_up()?;
        Ok(self.gather)
    }

    fn look_up(&mut self) -> Result<()> {
        if (self.stop)() {
            return Err(VectorError::Stopped);
        }
        self.pages.rows(&mut self.waiting, |slots, units| {
            self.query.estimate_many(slots, units, |slot, similarity, error| {
                self.gather.push(slot, similarity, error);
            });
        })
    }
}
