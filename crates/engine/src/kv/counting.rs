//! The size of a keyspace, written with every batch where the tenant has limits.

use nuthatch_store::{Batch, Position, Table};
use parking_lot::MutexGuard;

use crate::Result;
use crate::catalog::{self, COUNTERS};
use crate::kv::{Counters, Space, Staged};
use crate::tenant::Delta;

/// Counters in a batch, valid once that is written. Other writers of the keyspace wait until then.
pub(crate) struct Counted<'s> {
    counters: MutexGuard<'s, Counters>,
    after: Counters,
}

impl Counted<'_> {
    /// The batch is written.
    pub fn settle(mut self) {
        *self.counters = self.after;
    }
}

impl Staged {
    pub fn delta(&self) -> Delta {
        Delta { vectors: 0, bytes: self.bytes }
    }
}

impl Space {
    /// Writes a batch of staged changes if the tenant's limits allow it.
    ///
    /// # Errors
    /// `Exhausted` when they do not; nothing is written then.
    pub(crate) fn write_staged(&self, mut batch: Batch, staged: Staged) -> Result<Position> {
        debug_assert!(self.tenant.owns(&batch), "each key begins with the number of its tenant");
        if self.tenant.is_default() {
            return self.shared.write(batch);
        }
        let counted = self.count(&mut batch, &staged);
        let reserved = self.tenant.reserve(&self.shared.store, staged.delta())?;
        let position = self.shared.write(batch)?;
        reserved.keep();
        counted.settle();
        Ok(position)
    }

    /// Puts the counters as they are after these changes into their batch.
    pub(crate) fn count(&self, batch: &mut Batch, staged: &Staged) -> Counted<'_> {
        let counters = self.counters.lock();
        let after = Counters {
            keys: counters.keys.saturating_add_signed(staged.keys),
            bytes: counters.bytes.saturating_add_signed(staged.bytes),
        };
        batch.put(Table::Catalog, self.shard.key(COUNTERS), catalog::encode(&after));
        Counted { counters, after }
    }

    /// Keys in it, those that have expired and are not swept included; `None` where they are not counted.
    pub(crate) fn counted_keys(&self) -> Option<u64> {
        (!self.tenant.is_default()).then(|| self.counters.lock().keys)
    }
}
