//! How many rows to read from the store at a time, so that the rows in memory are bounded in bytes, however long they
//! are.

/// Rows read at a time where they are short.
const ROWS_MAX: usize = 256;
/// Rows of the first read, when nothing is known of their length.
const ROWS_FIRST: usize = 32;
/// Bytes of one read, about: rows of one collection are of like length.
const BYTES: usize = 1 << 20;

/// Adapts to what it is told.
pub(crate) struct BatchSizing {
    rows: usize,
}

impl Default for BatchSizing {
    fn default() -> Self {
        Self { rows: ROWS_FIRST }
    }
}

impl BatchSizing {
    /// Rows of the next read.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Records that the last read had `bytes` bytes.
    pub fn learn(&mut self, bytes: usize) {
        let fitting = self.rows.saturating_mul(BYTES) / bytes.max(1);
        // Down at once, up step by step: long rows come in runs.
        self.rows = fitting.clamp(1, (self.rows * 2).min(ROWS_MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_rows_are_read_few_at_a_time_and_short_ones_many() {
        let mut batch_sizing = BatchSizing::default();
        batch_sizing.learn(32 * 100);
        assert_eq!(batch_sizing.rows(), 64);
        (0..3).for_each(|_| batch_sizing.learn(1000));
        assert_eq!(batch_sizing.rows(), ROWS_MAX);
        batch_sizing.learn(ROWS_MAX * (2 << 20));
        assert_eq!(batch_sizing.rows(), 1);
        batch_sizing.learn(0);
        assert_eq!(batch_sizing.rows(), 2);
    }
}
