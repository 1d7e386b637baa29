//! Removing expired keys: readers skip them from that moment on, the sweep gives their bytes back.
//!
//! The table `expiry` has an entry for each key that expires, in the order of time: a sweep reads what is due and nothing else.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use nuthatch_store::{Batch, Direction, Shard, Table};

use crate::Result;
use crate::kv::value::{Body, Stored};
use crate::kv::{Space, Staged};

/// Entries of one batch; writers wait while it is made.
const SWEPT_AT_ONCE: usize = 256;
/// Nothing expires.
pub(crate) const NEVER: u64 = u64::MAX;

impl Space {
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
            let mut due = Vec::new();
            let mut next = NEVER;
            store.scan(Table::Expiry, &self.shard.prefix(), &self.shard.end(), Direction::Forward, &mut |key, _| {
                let suffix = Shard::suffix(key);
                let at = suffix.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
                if at > now || due.len() == SWEPT_AT_ONCE {
                    next = at;
                    return ControlFlow::Break(());
                }
                due.push((at, suffix.get(8..).unwrap_or_default().to_vec()));
                ControlFlow::Continue(())
            })?;
            let mut batch = Batch::new();
            let mut staged = Staged::default();
            for (at, key) in due {
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
            self.next_due_ms.store(next, Ordering::Release);
        }
        Ok(swept)
    }
}
