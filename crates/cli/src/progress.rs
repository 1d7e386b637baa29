//! Showing where work stands: a bar on a terminal, a line now and then elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nuthatch_link::{BackupProgress, BuildProgress, ProcessMemory, Progress, TransferProgress};

use crate::units::{bytes, count, duration, rate, thousands};
use crate::{output, paths};

/// Between two lines where there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(5);
/// Between two looks at the bar: an `add` of unchanged files reports each of them.
const BAR_INTERVAL: Duration = Duration::from_millis(100);

pub struct Meter {
    bar: Option<ProgressBar>,
    quiet: bool,
    here: std::path::PathBuf,
    shown_at: Instant,
    /// Most heap and stacks that the system reported while it went on.
    pub anonymous_bytes_max: u64,
}

impl Meter {
    pub fn new(quiet: bool) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{bar:24} {percent:>3}%  {wide_msg}")
                .expect("the template is well-formed");
            bar.with_style(style)
        });
        Self { bar, quiet, here: paths::here(), shown_at: Instant::now(), anonymous_bytes_max: 0 }
    }

    /// Where an `add` stands.
    pub fn show(&mut self, progress: &Progress) {
        if !self.is_due() {
            return;
        }
        self.look_at_memory();
        let current = progress.current.as_deref().and_then(|path| path.to_str()).unwrap_or_default();
        let current = format!("  {}", output::plain(paths::shown(current, &self.here)));
        if progress.current.is_none() && progress.passages_pending > 0 {
            let done = progress.passages.saturating_sub(progress.passages_pending);
            let line = format!("vectors: {} of {}", thousands(done), count(progress.passages, "passage"));
            return self.tell(done, progress.passages, &line, "");
        }
        self.tell(progress.bytes_done, progress.bytes_total, &line(progress), &current);
    }

    /// Where the building of a graph stands; `None` while rows are read and written.
    pub fn show_build(&mut self, collection: &str, progress: Option<&BuildProgress>) {
        if !self.is_due() {
            return;
        }
        match progress {
            Some(progress) => {
                self.tell(progress.done, progress.total, &format!("{collection}: {}", build_line(progress)), "");
            }
            None => self.tell(0, 1, &format!("{collection}: reading and writing rows"), ""),
        }
    }

    /// Where the vectors of a collection stand.
    pub fn show_vectors(&mut self, collection: &str, done: u64, total: u64, elapsed: Duration) {
        if !self.is_due() {
            return;
        }
        let speed = rate(done, elapsed);
        let left = (speed > 0.0).then(|| Duration::from_secs_f64((total - done) as f64 / speed));
        let left = left.map_or(String::new(), |left| format!(", {} left", duration(left)));
        let line = format!("{collection}: {} of {}, {speed:.0}/s{left}", thousands(done), count(total, "vector"));
        self.tell(done, total, &line, "");
    }

    /// Where the passages of a tree stand.
    pub fn show_passages(&mut self, tree: &str, done: u64, total: u64, passages: u64) {
        if !self.is_due() {
            return;
        }
        let (done_shown, total_shown) = (thousands(done), count(total, "content"));
        let line = format!("{}: {done_shown} of {total_shown}, {}", output::plain(tree), count(passages, "passage"));
        self.tell(done, total, &line, "");
    }

    /// Where a backup, a check or a restore stands.
    pub fn show_backup(&mut self, progress: &BackupProgress) {
        if !self.is_due() {
            return;
        }
        let of = if progress.bytes_total > 0 { format!(" of {}", bytes(progress.bytes_total)) } else { String::new() };
        let line = format!("{}{of}, {}", bytes(progress.bytes_done), duration(progress.elapsed));
        self.tell(progress.bytes_done, progress.bytes_total, &line, "");
    }

    /// Where an export or an import stands.
    pub fn show_transfer(&mut self, progress: &TransferProgress) {
        if !self.is_due() {
            return;
        }
        let line = format!("{}: {}", output::plain(&progress.name), thousands(progress.done));
        self.tell(progress.done, progress.total, &line, "");
    }

    fn is_due(&mut self) -> bool {
        let interval = if self.bar.is_some() { BAR_INTERVAL } else { LINE_INTERVAL };
        let due = self.shown_at.elapsed() >= interval;
        if due {
            self.shown_at = Instant::now();
        }
        due
    }

    /// `detail` is for the bar alone.
    fn tell(&self, done: u64, total: u64, line: &str, detail: &str) {
        match &self.bar {
            Some(bar) => {
                bar.set_length(total.max(1));
                bar.set_position(done);
                bar.set_message(format!("{line}{detail}"));
            }
            None if self.quiet => {}
            None => output::note(line),
        }
    }

    pub fn look_at_memory(&mut self) {
        let now = ProcessMemory::now().unwrap_or_default();
        self.anonymous_bytes_max = self.anonymous_bytes_max.max(now.anonymous_bytes);
    }

    pub fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn line(progress: &Progress) -> String {
    let remaining = progress.remaining.filter(|_| progress.files_done < progress.files_total);
    let left = remaining.map_or(String::new(), |left| format!(", {} left", duration(left)));
    format!(
        "{} of {}, {}, {:.0} passages/s{left}",
        thousands(progress.files_done),
        count(progress.files_total, "file"),
        count(progress.passages, "passage"),
        rate(progress.passages, progress.elapsed),
    )
}

fn build_line(progress: &BuildProgress) -> String {
    let left = match progress.seconds_left {
        // Its `ef` values are measured, and its file is written.
        _ if progress.done >= progress.total => ", finishing".to_string(),
        Some(left) => format!(", {} left", duration(Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX))),
        None => String::new(),
    };
    format!(
        "{} of {} in the graph, {:.0} rows/s{left}",
        thousands(progress.done),
        count(progress.total, "row"),
        progress.rows_per_second,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_tells_rows_rate_and_time_left() {
        let progress =
            BuildProgress { done: 25_000, total: 100_000, rows_per_second: 1000.0, seconds_left: Some(75.0) };
        assert_eq!(build_line(&progress), "25,000 of 100,000 rows in the graph, 1000 rows/s, 1:15 left");
        let begun = BuildProgress { done: 0, total: 1, rows_per_second: 0.0, seconds_left: None };
        assert_eq!(build_line(&begun), "0 of 1 row in the graph, 0 rows/s");
        let finished = BuildProgress { done: 1, total: 1, rows_per_second: 9.0, seconds_left: Some(0.0) };
        assert_eq!(build_line(&finished), "1 of 1 row in the graph, 9 rows/s, finishing");
    }
}
