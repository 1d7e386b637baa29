//! On whose behalf a thread of the holder works: whose embedder a call uses, and whose receipt a write carries.
//!
//! Kept with the thread rather than handed down, because it concerns the two ends of a call alone: the request that came in,
//! and the batch that goes to the store. Threads that nobody set it for work for the holder itself.
//!
//! **Invariant:** it is set for one request, on the thread that answers it, and gone after it, whatever became of the request.

use std::cell::RefCell;

use nuthatch_store::Batch;

use crate::EmbedderChoice;
use crate::process::receipt::{Done, Receipt};

/// A served process, for the length of one request.
#[derive(Clone)]
pub(crate) struct Caller {
    /// `Auto`: the one that the collection has here.
    pub embedder: EmbedderChoice,
    /// Lane and number of the request; absent for one that needs no receipt.
    pub turn: Option<(String, u64)>,
    /// What this request had done before its holder died.
    pub done: Done,
}

thread_local! {
    static CALLER: RefCell<Option<Caller>> = const { RefCell::new(None) };
}

/// Makes a call on behalf of `caller`.
pub(crate) fn on_behalf_of<T>(caller: Option<Caller>, call: impl FnOnce() -> T) -> T {
    struct Reset(Option<Caller>);
    impl Drop for Reset {
        fn drop(&mut self) {
            CALLER.set(self.0.take());
        }
    }
    let _reset = Reset(CALLER.replace(caller));
    call()
}

/// The caller that this thread works for; for threads that help it.
pub(crate) fn current() -> Option<Caller> {
    CALLER.with_borrow(Clone::clone)
}

/// True for a request of another process: what it brings is its own, and not for the other handles of the collection.
pub(crate) fn is_served() -> bool {
    CALLER.with_borrow(Option::is_some)
}

/// The embedder that the caller brought or chose; `None` to use the one that the collection has here.
pub(crate) fn embedder() -> Option<EmbedderChoice> {
    CALLER.with_borrow(|caller| match caller.as_ref()?.embedder {
        EmbedderChoice::Auto => None,
        ref chosen => Some(chosen.clone()),
    })
}

/// Puts the caller's receipt into a batch that does this. To be called for every batch that a request of another process may
/// write and whose repetition would show.
pub(crate) fn sign(batch: &mut Batch, done: Done) {
    CALLER.with_borrow_mut(|caller| {
        if let Some(caller) = caller
            && let Some((lane, number)) = &caller.turn
        {
            caller.done = caller.done.and(done);
            Receipt::put(batch, lane, *number, caller.done);
        }
    });
}
