//! A call to the provider, from its beginning to the end of its answer.
//!
//! **Invariant:** it is counted once, with its time, whatever becomes of it; and the lease of those who wait for it ends with it.

use std::time::Instant;

use nuthatch_llm::Answer;

use super::exchange::Keeper;
use super::lease::{self, Lease};

/// A call that is under way. Dropped before its end, it was cancelled, and the next who waits calls.
pub struct Call {
    pub keeper: Keeper,
    lease: Option<Lease>,
    began: Instant,
    is_over: bool,
}

impl Call {
    pub fn begin(keeper: Keeper, lease: Option<Lease>) -> Self {
        Self { keeper, lease, began: Instant::now(), is_over: false }
    }

    /// The answer is there, and about to be kept.
    pub async fn answered(&mut self, answer: &Answer) {
        self.tell(None);
        self.keeper.proxy.shared.metrics.models.used(self.keeper.exchange.api, answer.tokens());
        lease::settled(&mut self.lease).await;
    }

    /// Ends the call: the answer is stored, or is not to be kept.
    pub async fn end(mut self, is_stored: bool) {
        self.tell(None);
        lease::ended(self.lease.take(), is_stored).await;
    }

    /// There is no answer: those who wait call at once.
    pub async fn fail(mut self, error: &str) {
        self.tell(Some(error));
        lease::ended(self.lease.take(), false).await;
    }

    /// The answer breaks off: the next who waits calls.
    pub fn break_off(mut self, error: &str) {
        self.tell(Some(error));
    }

    fn tell(&mut self, error: Option<&str>) {
        if !std::mem::replace(&mut self.is_over, true) {
            let (seconds, api) = (self.began.elapsed().as_secs_f64(), self.keeper.exchange.api);
            self.keeper.proxy.shared.metrics.models.ended(api, seconds, error.map(str::to_string));
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.tell(Some("cancelled"));
    }
}
