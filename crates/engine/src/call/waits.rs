//! What ends the wait for an answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long somebody waits for an answer, and whether they still do.
#[derive(Clone, Default)]
pub struct Waits {
    /// The moment from which they do not; `None`: no such moment.
    pub deadline: Option<Instant>,
    /// Set when they do not any more.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl Waits {
    /// From now on, and for so long. A limit that no clock reaches is none.
    pub fn of(time_limit: Option<Duration>, cancel: Option<&Arc<AtomicBool>>) -> Self {
        let deadline = time_limit.and_then(|limit| Instant::now().checked_add(limit));
        Self { deadline, cancel: cancel.cloned() }
    }

    /// Whether they have said so.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::SeqCst))
    }
}
