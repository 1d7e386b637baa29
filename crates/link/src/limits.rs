//! Why there may be no answer.

use nuthatch_engine::Error;

/// Why there is no answer.
pub(crate) enum NoAnswer {
    /// The holder is gone: ask the next one.
    Broken,
    /// Asking again would not help.
    Failed(Error),
}
