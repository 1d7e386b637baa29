//! How far the graph is that is being built.

use std::time::{Duration, Instant};

use nuthatch_vector::Progress;

/// A graph in the making.
pub(crate) struct Building {
    started: Instant,
    /// Rows that were in the graph when this build began: kept from a merged segment, or from before a restart.
    first: usize,
    progress: Progress,
}

/// How far the building of a graph is, and when it will be done.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct BuildProgress {
    /// Rows in the graph, and rows that it will have.
    pub done: u64,
    /// See `done`.
    pub total: u64,
    /// Rows that this build inserts in a second; 0 at first.
    pub rows_per_second: f64,
    /// Absent until there is a rate.
    pub seconds_left: Option<f64>,
}

impl Building {
    pub fn begin(progress: Progress) -> Self {
        Self { started: Instant::now(), first: progress.done, progress }
    }

    pub fn update(&mut self, progress: Progress) {
        if progress.done < self.progress.done {
            *self = Self::begin(progress); // the graph of the next field
        }
        self.progress = progress;
    }

    pub fn progress(&self) -> BuildProgress {
        progress_after(self.first, self.progress, self.started.elapsed())
    }
}

fn progress_after(first: usize, progress: Progress, elapsed: Duration) -> BuildProgress {
    let rows_per_second = progress.done.saturating_sub(first) as f64 / elapsed.as_secs_f64().max(1e-3);
    BuildProgress {
        done: progress.done as u64,
        total: progress.total as u64,
        rows_per_second,
        seconds_left: (rows_per_second > 0.0)
            .then(|| progress.total.saturating_sub(progress.done) as f64 / rows_per_second),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_counts_only_rows_that_this_build_inserted() {
        let progress = progress_after(100, Progress { done: 300, total: 500 }, Duration::from_secs(2));
        assert_eq!((progress.rows_per_second, progress.seconds_left), (100.0, Some(2.0)));
        let none_yet = progress_after(100, Progress { done: 100, total: 500 }, Duration::from_secs(2));
        assert_eq!(none_yet.seconds_left, None);
    }
}
