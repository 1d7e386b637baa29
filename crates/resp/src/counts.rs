//! The counters of a running server, over all tenants, for its operator.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The name that commands go by that there are not.
const OTHER: &str = "other";

/// The upper ends of the ranges by which [`Times`] counts, in seconds; one more range has no end.
pub const TIMES_UP_TO: [f64; 14] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 10.0, 60.0];

/// How long commands took, from when they were read until their replies were written. The commands of a pipeline are answered
/// together and count alike; those that waited for another client (`BLPOP`) are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Times {
    /// Commands in each range.
    pub counts: [u64; TIMES_UP_TO.len() + 1],
    /// Seconds of all of them.
    pub seconds: f64,
}

/// Counts of a [`crate::Server`]; give it in [`crate::Settings`] to read them.
#[derive(Debug, Default)]
pub struct Counts {
    /// In the order of the table, once a server has told their names.
    commands: OnceLock<Vec<(&'static str, Counted)>>,
    /// All that are not in it.
    other: Counted,
    connected: AtomicU64,
    accepted: AtomicU64,
    refused: AtomicU64,
    logins_failed: AtomicU64,
    times: [AtomicU64; TIMES_UP_TO.len() + 1],
    nanoseconds: AtomicU64,
}

#[derive(Debug, Default)]
struct Counted {
    sent: AtomicU64,
    failed: AtomicU64,
}

/// How often a command was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandCount {
    /// In lower case, as the table of commands has it, or `other`.
    pub command: &'static str,
    /// How often it came, whatever the answer was.
    pub sent: u64,
    /// Answered with an error, as far as that was known when the command ended: errors within the reply of EXEC, and of writes of a pipeline
    /// that were put off and then failed, are not counted.
    pub failed: u64,
}

impl Counts {
    /// Commands that were sent at all, and `other`: those that there are not.
    pub fn commands(&self) -> impl Iterator<Item = CommandCount> {
        let known = self.commands.get().into_iter().flatten();
        let told = known.map(|(name, counted)| (*name, counted)).chain([(OTHER, &self.other)]);
        let told = told.map(|(command, counted)| CommandCount {
            command,
            sent: counted.sent.load(Ordering::Relaxed),
            failed: counted.failed.load(Ordering::Relaxed),
        });
        told.filter(|told| told.sent > 0 || told.command == OTHER)
    }

    /// Connections there are.
    pub fn connected(&self) -> u64 {
        self.connected.load(Ordering::Relaxed)
    }

    /// Connections that were taken in.
    pub fn accepted(&self) -> u64 {
        self.accepted.load(Ordering::Relaxed)
    }

    /// Connections that were too many.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Times that somebody said who they are and was not believed.
    pub fn logins_failed(&self) -> u64 {
        self.logins_failed.load(Ordering::Relaxed)
    }

    /// How long commands took.
    pub fn times(&self) -> Times {
        Times {
            counts: std::array::from_fn(|range| self.times[range].load(Ordering::Relaxed)),
            seconds: self.nanoseconds.load(Ordering::Relaxed) as f64 / 1e9,
        }
    }

    /// Records that `commands` commands of a pipeline were answered.
    pub(crate) fn answered(&self, commands: u64, took: Duration) {
        let seconds = took.as_secs_f64();
        let range = TIMES_UP_TO.iter().position(|up_to| seconds <= *up_to).unwrap_or(TIMES_UP_TO.len());
        self.times[range].fetch_add(commands, Ordering::Relaxed);
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX).saturating_mul(commands);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// The names of the commands there are, in the order of the table.
    pub(crate) fn know(&self, names: impl Iterator<Item = &'static str>) {
        self.commands.get_or_init(|| names.map(|name| (name, Counted::default())).collect());
    }

    /// A command has ended; `number` is its place in the table, `None` for one that is not there.
    pub(crate) fn ran(&self, number: Option<usize>, failed: bool) {
        let known = number.and_then(|number| self.commands.get()?.get(number));
        let counted = known.map_or(&self.other, |(_, counted)| counted);
        counted.sent.fetch_add(1, Ordering::Relaxed);
        if failed {
            counted.failed.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn came(&self) {
        self.accepted.fetch_add(1, Ordering::Relaxed);
        self.connected.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn left(&self) {
        self.connected.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn refuse(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn login_failed(&self) {
        self.logins_failed.fetch_add(1, Ordering::Relaxed);
    }
}
