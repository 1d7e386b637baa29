//! Ending the snapshots that would keep erased data.
//!
//! **Useful for** erasing within a promised time: the store keeps whatever any snapshot still shows.
//! **Not for** reads of the store without a snapshot of their own (an export, the backup of one tenant): an erasure
//! waits for these.
//!
//! **Invariant:** a snapshot gets its grace, from its beginning or from the erasure's, whichever is later; a read under
//! way is never cut off.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::index::EndSnapshots;
use crate::runtime::Runtime;
use crate::snapshot::{Snapshots, View};
use crate::{Error, ErrorKind, Result};

/// How long to wait for the last reads of ended snapshots.
const READS_WAIT_MAX: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(10);

/// The snapshots that one erasure ends.
pub(crate) struct Ending<'s> {
    shared: &'s Runtime,
    snapshots: &'s Snapshots,
    begun: Instant,
    ended: u64,
}

impl<'s> Ending<'s> {
    pub fn begin(shared: &'s Runtime, snapshots: &'s Snapshots) -> Self {
        Self { shared, snapshots, begun: Instant::now(), ended: 0 }
    }

    /// How many did not end by themselves.
    pub fn ended(&self) -> u64 {
        self.ended
    }

    /// Waits for all snapshots that do not show the last write, of any tenant, and ends those that remain. Returns the
    /// sequence of that write: no snapshot shows what was deleted before it.
    pub fn before_now(&mut self) -> Result<u64> {
        let (sequence, all) = {
            // Nobody is between taking one and being in the list.
            let _commit = self.shared.store.commit.write();
            (self.shared.store()?.latest(), self.snapshots.all())
        };
        self.end(all.into_iter().filter(|view| view.sequence < sequence))?;
        Ok(sequence)
    }

    fn end(&mut self, views: impl Iterator<Item = Arc<View>>) -> Result<()> {
        let mut waited_for: Vec<Weak<View>> = views.map(|view| Arc::downgrade(&view)).collect();
        let grace = self.shared.options.erasure_grace;
        let mut patience_ends = None;
        loop {
            waited_for.retain(|view| view.upgrade().is_some_and(|view| !self.is_done_with(&view, grace)));
            if waited_for.is_empty() {
                return Ok(());
            }
            if waited_for.iter().all(|view| view.upgrade().is_none_or(|view| view.has_ended())) {
                let ends = *patience_ends.get_or_insert_with(|| Instant::now() + READS_WAIT_MAX);
                if Instant::now() > ends {
                    return Err(Error::new(
                        ErrorKind::Conflict,
                        "a long read still uses a snapshot that was ended; try again later",
                    ));
                }
            }
            self.shared.check_open()?;
            std::thread::sleep(POLL);
        }
    }

    /// True when it no longer holds on to anything; ends it when its grace is over.
    fn is_done_with(&mut self, view: &View, grace: Duration) -> bool {
        if !view.has_ended() && view.taken.max(self.begun).elapsed() >= grace {
            let why = format!(
                "the snapshot was ended because data is being deleted permanently (an erasure, a reclaim or a dropped \
                tenant) and the snapshot was still open after {} s; take another one",
                grace.as_secs_f64()
            );
            self.ended += u64::from(view.refuse(Error::new(ErrorKind::Conflict, why)));
        }
        view.let_go()
    }
}

impl EndSnapshots for Ending<'_> {
    /// They read the files of its indexes as these were.
    fn all_of(&mut self, tenant: u32) -> Result<()> {
        let all = self.snapshots.all();
        self.end(all.into_iter().filter(|view| view.tenant.number == tenant))
    }
}
