//! Group commit: of the callers that wait for the log to be durable, one asks for an fsync and answers for all.
//!
//! **Useful for** many writers whose changes are in the log already and have to be on the disk before they are
//! acknowledged. **Not for** deciding in which order they got there. **Invariant:** a caller returns `Ok` only after an
//! fsync that began after its write had ended; after a failed one nobody does, ever again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::{Result, StoreError};

/// The share of an fsync's time for which its leader lets others catch up.
const PATIENCE: u32 = 4;
/// Fsyncs between two that wait for as many as will come.
const EXPLORED_EVERY: u64 = 16;

#[derive(Default)]
pub(crate) struct CommitQueue {
    state: Mutex<State>,
    /// Waiting for the fsync under way; two, because those that came too late for it wait for the one after.
    done: [Condvar; 2],
    syncs: AtomicU64,
    /// Why an fsync failed.
    stopped: OnceLock<String>,
}

#[derive(Default)]
struct State {
    /// Everything up to this write is durable.
    synced: u64,
    /// Where the fsync under way will bring it; `None` while there is none.
    under_way: Option<u64>,
    /// About as many writes as one fsync was for lately at most.
    peak: u64,
    /// How long the last fsync took.
    took: Duration,
    /// Number of fsyncs begun; its parity says which condition variable the next batch of waiters sits on.
    begun: u64,
}

/// Lets other writers write before an fsync, until most of those are there that were there lately. One fsync for all of them costs
/// less than two for half of them each. A lone writer waits for nobody.
fn gather(expected: u64, patience: Duration, waiting: impl Fn() -> u64) {
    let begun = Instant::now();
    while waiting() * 4 < expected * 3 && begun.elapsed() < patience {
        std::thread::yield_now();
    }
}

impl CommitQueue {
    /// Fsyncs so far.
    pub fn syncs(&self) -> u64 {
        self.syncs.load(Ordering::Relaxed)
    }

    /// After a failed fsync, what the disk holds is unknown, and a later one may succeed without having written it.
    pub fn refuse_when_stopped(&self) -> Result<()> {
        match self.stopped.get() {
            Some(why) => Err(StoreError::Stopped(why.clone())),
            None => Ok(()),
        }
    }

    /// For a write that failed: `Err` when it failed because an fsync did, of which the one under way may be about to tell.
    pub fn refuse_when_stopping(&self) -> Result<()> {
        let mut state = self.lock();
        let round = state.begun;
        while state.under_way.is_some() && state.begun == round {
            state = self.done[(round % 2) as usize].wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        self.refuse_when_stopped()
    }

    /// Returns once everything up to `position` is durable. `written` says how far writes have come, `fsync` makes that
    /// durable; both are called by at most one caller at a time.
    pub fn wait(
        &self,
        position: u64,
        written: impl Fn() -> u64,
        fsync: impl Fn() -> std::result::Result<(), String>,
    ) -> Result<()> {
        let mut state = self.lock();
        let mut came_late = false;
        loop {
            if state.synced >= position {
                return Ok(());
            }
            self.refuse_when_stopped()?;
            let Some(upto) = state.under_way else { break };
            came_late = true;
            let round = state.begun + u64::from(upto < position);
            state = self.done[(round % 2) as usize].wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.begun += 1;
        let round = state.begun;
        // A batch that arrives during the wait joins this round.
        state.under_way = Some(u64::MAX);
        let (durable, expected, patience) = (state.synced, state.peak, state.took / PATIENCE);
        // Two halves that take turns would never learn that they could go together.
        let expected = if came_late && round.is_multiple_of(EXPLORED_EVERY) { u64::MAX / 4 } else { expected };
        drop(state);
        gather(expected, patience, || written().saturating_sub(durable));
        let mut state = self.lock();
        let upto = written();
        debug_assert!(upto >= position && upto >= state.synced, "an fsync begins after the writes that it is for");
        state.under_way = Some(upto);
        drop(state);
        self.syncs.fetch_add(1, Ordering::Relaxed);
        let begun = Instant::now();
        let outcome = fsync();
        let mut state = self.lock();
        state.under_way = None;
        match outcome {
            Ok(()) => {
                state.took = begun.elapsed();
                state.peak = upto.saturating_sub(durable).max(state.peak - state.peak.div_ceil(16));
                state.synced = state.synced.max(upto);
                drop(state);
                self.done[((round + 1) % 2) as usize].notify_one();
                self.done[(round % 2) as usize].notify_all();
                Ok(())
            }
            Err(why) => {
                let why = self.stopped.get_or_init(|| why).clone();
                drop(state);
                self.done.iter().for_each(Condvar::notify_all);
                Err(StoreError::Stopped(why))
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
