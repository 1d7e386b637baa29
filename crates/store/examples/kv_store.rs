//! Question: what does the store by itself do with YCSB's workloads, without the engine above it?
//!
//! Data, settings and figures: `ycsb/mod.rs`. Durability `commit`: `write`, then `sync`, which concurrent clients share. Seed: `seed=`, 1
//! when left out. Everything in memory, index and filter blocks included, is inside `cache_mb`.
//!
//! ```text
//! cargo build --release --workspace --example kv_store && target/release/examples/kv_store load|run|micro|cold FOLDER name=value…
//! ```

mod ycsb;

use std::ops::ControlFlow;
use std::path::Path;

use nuthatch_store::{Batch, Direction, Reader, RocksStore, Shard, Store as _, StoreOptions, Table};
use ycsb::{Durability, Outcome, Pair, See, Settings, Store};

const SHARD: Shard = Shard { tenant: 0, collection: 1 };
const TABLE: Table = Table::Kv;

struct TheStore(RocksStore);

fn main() -> Outcome {
    ycsb::main("truth", |folder: &Path, settings: &Settings| {
        std::fs::create_dir_all(folder)?;
        Ok(TheStore(RocksStore::open(
            folder,
            StoreOptions { cache_bytes: settings.cache_bytes, write_buffer_bytes: settings.write_buffer_bytes },
        )?))
    })
}

impl TheStore {
    fn write(&self, batch: Batch, durability: Durability) -> Outcome {
        let position = self.0.write(batch)?;
        if durability == Durability::Commit {
            self.0.sync(position)?;
        }
        Ok(())
    }
}

impl Store for TheStore {
    fn get(&self, key: &[u8], see: &mut See<'_>) -> Outcome<bool> {
        Ok(self.0.get(TABLE, &SHARD.key(key))?.map(|value| see(&value)).is_some())
    }

    fn put(&self, key: &[u8], value: &[u8], durability: Durability) -> Outcome {
        let mut batch = Batch::new();
        batch.put(TABLE, SHARD.key(key), value.to_vec());
        self.write(batch, durability)
    }

    fn put_batch(&self, pairs: &[Pair], durability: Durability) -> Outcome {
        let mut batch = Batch::new();
        pairs.iter().for_each(|(key, value)| batch.put(TABLE, SHARD.key(key), value.clone()));
        self.write(batch, durability)
    }

    fn scan(&self, from: &[u8], limit: usize, see: &mut See<'_>) -> Outcome<usize> {
        let mut seen = 0;
        self.0.scan(TABLE, &SHARD.key(from), &SHARD.end(), Direction::Forward, &mut |_, value| {
            see(value);
            seen += 1;
            if seen < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(seen)
    }

    fn snapshot_get(&self, key: &[u8], see: &mut See<'_>) -> Outcome<Option<bool>> {
        Ok(Some(self.0.snapshot().get(TABLE, &SHARD.key(key))?.map(|value| see(&value)).is_some()))
    }

    /// Transactions are the engine's.
    fn transact(&self, _keys: &[Vec<u8>], _pairs: &[Pair]) -> Outcome<bool> {
        Ok(false)
    }

    fn close(self) -> Outcome {
        Ok(self.0.flush()?)
    }
}
