//! The one door to the wall clock: tests bring their own, and it never goes backwards.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use jiff::Timestamp;

/// Milliseconds since 1970.
#[derive(Clone)]
pub struct Clock {
    read: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// The latest time that was ever read.
    latest_ms: Arc<AtomicU64>,
}

impl Clock {
    /// The system's.
    pub fn system() -> Self {
        #[allow(clippy::disallowed_methods, reason = "this is the door")]
        Self::from_fn(|| {
            let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            since.map_or(0, |since| since.as_millis() as u64)
        })
    }

    /// One that a test moves.
    pub fn from_fn(read: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self { read: Arc::new(read), latest_ms: Arc::default() }
    }

    /// The time, or the latest one that was read when the clock has been set back since: what has expired stays so.
    pub fn now_ms(&self) -> u64 {
        self.not_before((self.read)())
    }

    /// The same as a moment.
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.now_ms() as i64).unwrap_or(Timestamp::MAX)
    }

    /// The same in the form that files keep: `2026-11-23T08:15:00Z`.
    pub(crate) fn stamp(&self) -> String {
        self.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// The same in the form that names of files end with: `20261123T081500123Z`.
    pub(crate) fn stamp_for_name(&self) -> String {
        self.now().strftime("%Y%m%dT%H%M%S%3fZ").to_string()
    }

    /// Makes every later reading at least this.
    pub fn not_before(&self, ms: u64) -> u64 {
        self.latest_ms.fetch_max(ms, Ordering::Relaxed).max(ms)
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Clock({})", self.now_ms())
    }
}
