//! How far a backup or a restore is, how fast it may go, and whether it is still wanted.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::backup::refuse_when_cancelled;

/// Where a backup, a check or a restore stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BackupProgress {
    /// Files that there are.
    pub files_total: u64,
    /// Bytes that there are; those that need not be read count as done when their turn comes.
    pub bytes_total: u64,
    /// Bytes that are done.
    pub bytes_done: u64,
    /// Since the call.
    pub elapsed: Duration,
}

/// Tells progress, keeps to a rate, and ends when it is told to.
pub(crate) struct Watch<'a> {
    on_progress: Option<&'a mut (dyn FnMut(&BackupProgress) + Send)>,
    cancel: Option<&'a AtomicBool>,
    rate_bytes_per_second: Option<u64>,
    progress: BackupProgress,
    started: Instant,
    read_bytes: u64,
}

/// The work done in one step.
#[derive(Clone, Copy)]
pub(crate) enum Step {
    Read(u64),
    /// Bytes that need not be read.
    Known(u64),
    /// A look whether it is still wanted.
    Look,
}

impl<'a> Watch<'a> {
    pub fn new(
        on_progress: Option<&'a mut (dyn FnMut(&BackupProgress) + Send)>,
        cancel: Option<&'a AtomicBool>,
        rate_bytes_per_second: Option<u64>,
    ) -> Self {
        let progress = BackupProgress::default();
        Self { on_progress, cancel, rate_bytes_per_second, progress, started: Instant::now(), read_bytes: 0 }
    }

    pub fn expect(&mut self, files: u64, bytes: u64) {
        (self.progress.files_total, self.progress.bytes_total) = (files, bytes);
    }

    pub fn step(&mut self, step: Step) -> Result<()> {
        refuse_when_cancelled(self.cancel)?;
        match step {
            Step::Look => return Ok(()),
            Step::Known(bytes) => self.progress.bytes_done += bytes,
            Step::Read(bytes) => {
                self.progress.bytes_done += bytes;
                self.read_bytes += bytes;
                if let Some(rate) = self.rate_bytes_per_second.filter(|rate| *rate > 0) {
                    let due = Duration::from_secs_f64(self.read_bytes as f64 / rate as f64);
                    std::thread::sleep(due.saturating_sub(self.started.elapsed()));
                }
            }
        }
        self.progress.elapsed = self.started.elapsed();
        if let Some(tell) = &mut self.on_progress {
            tell(&self.progress);
        }
        Ok(())
    }
}
