//! How calls and background work wake, stop and wait for each other.
//!
//! **Useful for** telling background work that there is something to do, and waiting until it has done a round. **Not for** the
//! work itself: that is in `database/`, above the collections.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::{Condvar, Mutex};

use crate::Error;
use crate::runtime::pressure::Gauge;
use crate::runtime::priority::PriorityInheritance;
use crate::runtime::syncer::Syncer;

#[derive(Default)]
pub(crate) struct Background {
    pub signal: Mutex<Signal>,
    pub woken: Condvar,
    /// Told after every round of maintenance.
    pub relieved: Condvar,
    /// The same as [`Signal::stop`], for those who look often.
    pub stopping: AtomicBool,
    /// Much was deleted at once: the store is worth tidying.
    pub shrunk: AtomicBool,
    pub gauge: Gauge,
    pub sealer_priority: PriorityInheritance,
    pub syncer: Syncer,
    /// While above 0, no change is trimmed from any log: a backup needs those that its copies of the indexes lack.
    pub log_pins: AtomicUsize,
}

/// The state that maintenance waits on.
#[derive(Default)]
pub(crate) struct Signal {
    /// Times that there was something to look at.
    pub wakes: u64,
    pub stop: bool,
    /// The last error of sealing or rebuilding, until a round of it succeeds.
    pub seal_error: Option<Error>,
    /// The same of merging.
    pub merge_error: Option<Error>,
    /// The same of making vectors.
    pub embed_error: Option<Error>,
}

impl Background {
    pub fn wake(&self) {
        self.signal.lock().wakes += 1;
        self.woken.notify_all();
    }

    /// True when background work is to end soon.
    pub fn is_stopping(&self) -> bool {
        self.signal.lock().stop
    }

    /// Ends background work.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.signal.lock().stop = true;
        self.woken.notify_all();
        self.syncer.stop();
    }
}
