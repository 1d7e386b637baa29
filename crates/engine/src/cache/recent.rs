//! The activity since the last write: which answers were used, and the counts.
//!
//! **Invariant:** every write takes it along, before it decides what to evict, and closing the database writes the rest. A crash loses that:
//! then some answers look unused for longer than they were, and some counts are too low. Nothing of the ledger is here.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::cache::explain::CacheCounts;

/// Uses that wait for a write; more are written by themselves.
const WAITING_MAX: usize = 1_024;

#[derive(Default)]
pub(crate) struct Recent(Mutex<Since>);

/// The activity that waits for a write.
#[derive(Default)]
pub(crate) struct Since {
    pub counts: CacheCounts,
    /// Entry -> its place in the order of use.
    used: HashMap<u64, u64>,
    next: u64,
}

impl Recent {
    /// Notes something; true when so much waits that it should be written.
    pub fn note(&self, used: Option<u64>, count: impl FnOnce(&mut CacheCounts)) -> bool {
        let mut since = self.0.lock();
        count(&mut since.counts);
        if let Some(entry) = used {
            since.next += 1;
            let place = since.next;
            since.used.insert(entry, place);
        }
        since.used.len() >= WAITING_MAX
    }

    /// Takes what waits.
    pub fn take(&self) -> Since {
        std::mem::take(&mut self.0.lock())
    }

    /// Takes back what could not be written.
    pub fn give_back(&self, since: Since) {
        let mut newer = self.0.lock();
        newer.counts = newer.counts.and(since.counts);
        let shift = since.next;
        let mut used = since.used;
        used.extend(newer.used.drain().map(|(entry, place)| (entry, place + shift)));
        newer.used = used;
        newer.next += shift;
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        let since = self.0.lock();
        since.used.is_empty() && since.counts == CacheCounts::default()
    }

    /// Returns the counts since the last write.
    pub fn counts(&self) -> CacheCounts {
        self.0.lock().counts
    }
}

impl Since {
    /// Entries, the one used longest ago first.
    pub fn used(&self) -> Vec<u64> {
        let mut used: Vec<(u64, u64)> = self.used.iter().map(|(entry, place)| (*place, *entry)).collect();
        used.sort_unstable();
        used.into_iter().map(|(_, entry)| entry).collect()
    }
}
