//! The work of a transaction so far.

use nuthatch_engine::transaction::{Reads, WriteBatch};
use nuthatch_engine::{Error, ErrorKind, Result};
use parking_lot::Mutex;

/// The work of a transaction, until it is over.
pub(crate) struct Working {
    work: Mutex<Option<Work>>,
}

/// The work of a transaction.
#[derive(Default)]
pub(crate) struct Work {
    pub reads: Reads,
    pub batch: WriteBatch,
}

impl Default for Working {
    /// Nothing yet.
    fn default() -> Self {
        Self { work: Mutex::new(Some(Work::default())) }
    }
}

impl Working {
    /// Reads or extends the transaction's work.
    pub fn with<T>(&self, look: impl FnOnce(&mut Work) -> Result<T>) -> Result<T> {
        look(self.work.lock().as_mut().ok_or_else(over)?)
    }

    /// Ends it, and gives what was done.
    pub fn end(&self) -> Result<Work> {
        self.work.lock().take().ok_or_else(over)
    }
}

/// Why nothing more is done in a transaction.
pub(crate) fn over() -> Error {
    Error::new(ErrorKind::Closed, "the transaction has ended; begin another one")
}
