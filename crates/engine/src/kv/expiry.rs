//! Removing expired keys: readers skip them from that moment on, the sweep gives their bytes back.
//!
//! The table `expiry` has an entry for each key that expires, in the order of time: a sweep reads what is due and nothing else.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use nuthatch_store::{Batch, Direction, Reader, Shard, Table};

use crate::Result;
use crate::kv::value::{Body, Stored};
use crate::kv::{Space, Staged};

/// Entries of one batch; writers wait while it is made.
const SWEPT_AT_ONCE: usize = 256;
/// Nothing expires.
pub(crate) const NEVER: u64 = u64::MAX;

/// Keys that have expired, and what comes next.
pub(crate) struct Due {
    /// Each with when it expired, which it may do later meanwhile.
    pub keys: Vec<(u64, Vec<u8>)>,
    /// When the next one does, at the earliest.
    pub next_ms: u64,
}

impl Space {
    /// Whether some key may have expired.
    pub(crate) fn is_due(&self) -> bool {
        self.next_due_ms.load(Ordering::Acquire) <= self.now_ms()
    }

    /// Returns some of the expired keys. The caller removes them and then reports when the next are due.
    pub(crate) fn due(&self) -> Result<Due> {
        // First, so that what is written meanwhile is not forgotten.
        let before = self.next_due_ms.swap(NEVER, Ordering::AcqRel);
        let due = self.shared.store().and_then(|store| self.due_in(&*store, self.now_ms()));
        if due.is_err() {
            self.next_due(before);
        }
        due
    }

    /// Nothing expires before that.
    pub(crate) fn next_due(&self, at_ms: u64) {
        self.next_due_ms.fetch_min(at_ms, Ordering::AcqRel);
    }

    fn due_in(&self, reader: &dyn Reader, now: u64) -> Result<Due> {
        let mut due = Due { keys: Vec::new(), next_ms: NEVER };
        reader.scan(Table::Expiry, &self.shard.prefix(), &self.shard.end(), Direction::Forward, &mut |key, _| {
            let suffix = Shard::suffix(key);
            let at = suffix.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
            if at > now || due.keys.len() == SWEPT_AT_ONCE {
                due.next_ms = at;
                return ControlFlow::Break(());
            }
            due.keys.push((at, suffix.get(8..).unwrap_or_default().to_vec()));
            ControlFlow::Continue(())
        })?;
        Ok(due)
    }

    /// Removes the keys that have expired; says how many.
    pub(crate) fn sweep(&self) -> Result<u64> {
        let now = self.now_ms();
        let mut swept = 0;
        while self.next_due_ms.load(Ordering::Acquire) <= now {
            let _commit = self.shared.store.commit.write();
            if self.check_open().is_err() {
                break;
            }
            let store = self.shared.store()?;
            let due = self.due_in(&*store, now)?;
            let mut batch = Batch::new();
            let mut staged = Staged::default();
            for (at, key) in due.keys {
                batch.delete(Table::Expiry, self.expiry_key(at, &key));
                let full = self.shard.key(&key);
                let Some(stored) = store.get(Table::Kv, &full)?.map(Stored::decode).transpose()? else { continue };
                // It may have been written again since, to live longer or for ever.
                if stored.expires_at_ms != Some(at) {
                    continue;
                }
                if let Body::Large { number, .. } = stored.body {
                    batch.delete(Table::Blobs, self.shard.number_key(number));
                }
                staged.keys -= 1;
                staged.bytes -= stored.counted_bytes(key.len()) as i64;
                batch.delete(Table::Kv, full);
                swept += 1;
            }
            // Nobody waits for it: what a crash brings back is swept again.
            if !batch.is_empty() {
                self.write_staged(batch, staged)?;
            }
            self.next_due_ms.store(due.next_ms, Ordering::Release);
        }
        Ok(swept)
    }
}
