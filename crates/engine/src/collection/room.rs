//! Room for what is written: fresh rows wait for an index in memory, and have a share of the budget.

use std::time::{Duration, Instant};

use crate::collection::Core;
use crate::runtime::{Reservation, Runtime};
use crate::{Error, ErrorKind, Result};

/// How long a writer waits for room before it says so.
const ROOM_WAIT_MAX: Duration = Duration::from_secs(120);

/// Reserves room for a batch that changes these collections and is estimated at `bytes` bytes. Its writer waits while
/// fresh rows are over their share, and while batches in flight are over theirs. No writer holds room for a batch while
/// it waits for fresh rows to be sealed: others may have no need to wait.
pub(crate) fn reserve_for_batch<'s>(shared: &'s Runtime, cores: &[&Core], bytes: u64) -> Result<Reservation<'s>> {
    loop {
        cores.iter().try_for_each(|core| core.wait_for_room())?;
        let reservation = shared.reserve_to_write(bytes)?;
        // Other rows were written during the wait.
        if !shared.options.background || !cores.iter().any(|core| core.fresh_is_over()) {
            return Ok(reservation);
        }
    }
}

impl Core {
    fn fresh_is_over(&self) -> bool {
        self.shared.fresh_bytes() > self.shared.memory.budget.fresh_bytes
            || self.state.read().fresh_rows() > 2 * self.shared.options.fresh_rows_max
    }

    /// Makes a writer wait while the fresh rows are over their share of the budget.
    pub(crate) fn wait_for_room(&self) -> Result<()> {
        let shared = &self.shared;
        if !self.fresh_is_over() {
            return Ok(());
        }
        if !shared.options.background {
            return shared.flush();
        }
        let deadline = Instant::now() + ROOM_WAIT_MAX;
        let _waiting = shared.background.sealer_priority.wait();
        let mut signal = shared.background.signal.lock();
        let mut wakes = true;
        loop {
            // Not whenever there is news: the merging thread tells that it found nothing to do, and the two of them would take the
            // processors from the one that seals.
            if wakes {
                signal.wakes += 1;
                shared.background.woken.notify_all();
            }
            wakes = shared.background.relieved.wait_for(&mut signal, Duration::from_millis(200)).timed_out();
            if let Some(error) = &signal.seal_error {
                return Err(error.clone());
            }
            drop(signal);
            shared.check_open()?;
            if !self.fresh_is_over() {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(Error::new(
                    ErrorKind::Exhausted,
                    format!(
                        "{} bytes of new rows wait for an index, more than their share of {} bytes of the memory \
                        budget, because indexing does not keep up; raise memory_budget or write more slowly",
                        shared.fresh_bytes(),
                        shared.memory.budget.fresh_bytes
                    ),
                ));
            }
            signal = shared.background.signal.lock();
        }
    }

    /// Tells maintenance when the fresh rows are worth sealing.
    pub(crate) fn wake_maintenance_if_due(&self) {
        if self.shared.fresh_bytes() * 2 > self.shared.memory.budget.fresh_bytes
            || self.state.read().fresh_rows() >= self.shared.options.fresh_rows_max
        {
            self.shared.background.wake();
        }
    }
}
