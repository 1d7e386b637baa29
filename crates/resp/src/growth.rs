//! Telling those who wait that a list or a sorted set has grown.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// How often something has grown, for those who wait for it.
#[derive(Default)]
pub(crate) struct Growth {
    times: Mutex<u64>,
    changed: Condvar,
}

impl Growth {
    /// To be asked before looking: what grows after it ends the wait.
    pub fn seen(&self) -> u64 {
        *self.times.lock()
    }

    /// Something has grown.
    pub fn tell(&self) {
        *self.times.lock() += 1;
        self.changed.notify_all();
    }

    /// Waits until something has grown since `seen`, so long at most.
    pub fn wait(&self, seen: u64, most: Duration) {
        let mut times = self.times.lock();
        if *times == seen {
            self.changed.wait_for(&mut times, most);
        }
    }
}
