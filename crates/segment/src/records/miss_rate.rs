//! Whether reads are slow now: a moving average of how many records were not cached.

use std::sync::atomic::{AtomicU32, Ordering};

/// A share in 65,536ths, over about the last 32 records of all readers of a file.
#[derive(Default)]
pub(super) struct MissRate(AtomicU32);

const ONE: u32 = 1 << 16;
const WINDOW_LOG2: u32 = 5;
/// One record in eight: from there on, waiting for the disk (tens of µs) outweighs what a wider beam costs (a few µs a record).
const COLD: u32 = ONE / 8;

impl MissRate {
    /// Takes in a batch. Updates of several threads may overwrite each other: it is an estimate.
    pub fn observe(&self, records: usize, cold: usize) {
        let before = self.0.load(Ordering::Relaxed);
        let mut share = before;
        for record in 0..records {
            share -= share >> WINDOW_LOG2;
            share += if record < cold { ONE >> WINDOW_LOG2 } else { 0 };
        }
        // A search that finds everything cached must not write to a line that all threads read.
        if share != before {
            self.0.store(share, Ordering::Relaxed);
        }
    }

    /// Forgets what was: the records have been read since.
    pub fn begin_anew(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    pub fn share(&self) -> f64 {
        f64::from(self.0.load(Ordering::Relaxed)) / f64::from(ONE)
    }

    pub fn is_cold(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= COLD
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_misses_make_it_cold_and_a_few_hits_warm_again() {
        let miss_rate = MissRate::default();
        assert!(!miss_rate.is_cold());
        miss_rate.observe(1, 1);
        assert!(!miss_rate.is_cold(), "one miss is no trend");
        miss_rate.observe(8, 8);
        assert!(miss_rate.is_cold());
        miss_rate.observe(64, 0);
        assert!(!miss_rate.is_cold());
    }

    #[test]
    fn the_share_stays_a_share() {
        let miss_rate = MissRate::default();
        (0..1000).for_each(|_| miss_rate.observe(64, 64));
        assert!(miss_rate.0.load(Ordering::Relaxed) <= ONE && miss_rate.is_cold());
        (0..1000).for_each(|_| miss_rate.observe(1, 0));
        assert!(miss_rate.0.load(Ordering::Relaxed) < 1 << WINDOW_LOG2);
    }
}
