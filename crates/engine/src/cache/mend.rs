//! Caches after the store has lost a part.
//!
//! An answer can be made again, and one whose rows are not all there must not be given. So a repaired cache is empty. Its settings and its
//! ledger stay where they can be read.

use std::ops::ControlFlow;

use nuthatch_store::{Batch, Direction, Reader, Shard, Table};

use crate::Result;
use crate::cache::key;
use crate::cache::value::{State, decode, encode};
use crate::durability::Durability;
use crate::kv::{inline_value, stored_inline};
use crate::runtime::Runtime;

/// Whether rows without a name are those of a cache.
pub(crate) fn looks_like_cache(reader: &dyn Reader, shard: Shard) -> Result<bool> {
    let stored = reader.get(Table::Kv, &shard.key(key::STATE))?;
    Ok(stored.as_deref().and_then(inline_value).is_some_and(|state| decode::<State>(state).is_ok()))
}

/// Empties a cache. Says how many answers it had.
pub(crate) fn mend_cache(shared: &Runtime, shard: Shard) -> Result<u64> {
    let store = shared.store()?;
    let stored = store.get(Table::Kv, &shard.key(key::STATE))?;
    let state: State = stored.as_deref().and_then(inline_value).and_then(|row| decode(row).ok()).unwrap_or_default();
    let mut answers = 0;
    let prefix = shard.key(&key::all_entries());
    store.scan(Table::Kv, &prefix, &nuthatch_store::after_prefix(&prefix), Direction::Forward, &mut |_, _| {
        answers += 1;
        ControlFlow::Continue(())
    })?;
    let mut batch = Batch::new();
    for table in [Table::Kv, Table::Blobs, Table::Expiry] {
        batch.delete_range(table, shard.prefix().to_vec(), shard.end());
    }
    let emptied = State { entries: 0, bytes: 0, ..state };
    batch.put(Table::Kv, shard.key(key::STATE), stored_inline(encode(&emptied)?));
    let position = shared.write(batch)?;
    shared.memory.signs.forget(shard);
    shared.make_durable(position, Durability::Commit)?;
    Ok(answers)
}
