//! Showing where an `add` stands: a bar on a terminal, a line now and then elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nuthatch_engine::{ProcessMemory, Progress};

use crate::units::{count, duration, rate, thousands};
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

    pub fn show(&mut self, progress: &Progress) {
        let interval = if self.bar.is_some() { BAR_INTERVAL } else { LINE_INTERVAL };
        if self.shown_at.elapsed() < interval {
            return;
        }
        self.shown_at = Instant::now();
        self.look_at_memory();
        match &self.bar {
            Some(bar) => {
                bar.set_length(progress.bytes_total.max(1));
                bar.set_position(progress.bytes_done);
                let current = progress.current.as_deref().and_then(|path| path.to_str()).unwrap_or_default();
                bar.set_message(format!("{}  {}", line(progress), output::plain(paths::shown(current, &self.here))));
            }
            None if self.quiet => {}
            None => output::note(&line(progress)),
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
