//! On whose behalf the engine works: which request, whose embedder, until when, and what was done for it before.
//!
//! **Useful for** handles: each carries a call, and objects made from a handle carry the same one, on any thread.
//! **Not for** permissions: the faces check those when a request comes in.
//!
//! **Invariant:** a batch that a numbered request writes holds the record of what it did, so that asking again does nothing twice.

mod choice;
mod idempotency;
mod outcome;
mod waits;
mod watched;

use std::sync::Arc;

use nuthatch_store::Batch;
use parking_lot::Mutex;

pub use choice::Choice;
pub use idempotency::IdempotencyRecord;
pub use outcome::{Outcome, OutcomeValue};
pub(crate) use waits::FOREVER;
pub use waits::Waits;
pub(crate) use watched::Watched;

use crate::embedder::EmbedderChoice;

/// The default: the engine's own call, with the embedders that are kept here. Cheap to clone.
#[derive(Clone, Default)]
pub struct Call {
    asked: Option<Arc<Asked>>,
    waits: Option<Arc<Waits>>,
}

/// A request from another process.
#[derive(Default)]
pub struct Asked {
    /// `Auto`: the collection's embedder in this process.
    pub embedder: EmbedderChoice,
    /// The session that asks, and the number of its request; absent for one that needs no idempotency record.
    pub request: Option<(String, u64)>,
    /// The outcome of this request before its holder died.
    pub before: Outcome,
    /// The outcome of this request since then, summed over all its batches.
    pub since: Mutex<Outcome>,
}

impl Call {
    /// On behalf of another process.
    pub fn of(asked: Asked) -> Self {
        Self { asked: Some(Arc::new(asked)), waits: None }
    }

    /// Returns the same call for a caller that waits no longer than this. A read then ends with `Unavailable`; a write
    /// completes.
    #[must_use]
    pub fn waiting(self, waits: Waits) -> Self {
        let waits = if waits.may_end() { Some(Arc::new(waits)) } else { None };
        Self { waits, ..self }
    }

    /// Returns the limits on the wait for its answers.
    pub fn waits(&self) -> &Waits {
        self.waits.as_deref().unwrap_or(&FOREVER)
    }

    /// True for a request of another process: its embedder is its own, and other handles of the collection do not use
    /// it.
    pub fn is_served(&self) -> bool {
        self.asked.is_some()
    }

    /// The embedder that the caller brought or chose; `None` to use the collection's own.
    pub fn embedder(&self) -> Option<EmbedderChoice> {
        match self.asked.as_ref()?.embedder {
            EmbedderChoice::Auto => None,
            ref chosen => Some(chosen.clone()),
        }
    }

    /// Returns what this request had done before its holder died.
    pub fn before(&self) -> Outcome {
        self.asked.as_ref().map(|asked| asked.before).unwrap_or_default()
    }

    /// Puts the request's idempotency record into a batch. Call it for every batch that a request of another process
    /// may write and whose repetition would show.
    pub fn sign(&self, batch: &mut Batch, outcome: Outcome) {
        if let Some(asked) = &self.asked
            && let Some((session, number)) = &asked.request
        {
            let mut since = asked.since.lock();
            *since = since.and(outcome);
            IdempotencyRecord::put(batch, session, *number, asked.before.and(*since));
        }
    }
}
