//! What ends a wait for an answer, and why there may be none.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::Error;

/// Why there is no answer.
pub(crate) enum NoAnswer {
    /// The holder is gone: the next one is to be asked.
    Broken,
    /// Asking again would not help.
    Failed(Error),
}

/// What ends a wait for an answer.
#[derive(Clone, Default)]
pub(crate) struct Limits {
    pub deadline: Option<Instant>,
    pub cancel: Option<Arc<AtomicBool>>,
}

impl Limits {
    pub fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::SeqCst))
    }
}
