//! Question: what does RocksDB by itself do with YCSB's workloads, without anything of ours around it?
//!
//! Data, settings and figures: `ycsb/mod.rs`. Durability `commit`: `WriteOptions::sync` for each write, RocksDB's own group commit.
//! Seed: `seed=`, 1 when left out. Blocks and write buffers share one cache of `cache_mb`; index and filter blocks are on the heap,
//! where RocksDB is fastest (some 7 MB more for 2,000,000 keys).
//!
//! ```text
//! cargo run --release -p nuthatch-truth --example kv_rocksdb -- load|run|micro|cold FOLDER name=value…
//! ```

mod ycsb;

use std::path::Path;

use rocksdb::{
    BlockBasedOptions, Cache, DBCompressionType, OptimisticTransactionDB, Options, ReadOptions,
    WriteBatchWithTransaction, WriteBufferManager, WriteOptions,
};
use ycsb::{Durability, Outcome, Pair, See, Settings, Store};

/// The type has transactions; without one, its calls are those of a plain database.
struct RocksDb(OptimisticTransactionDB);

fn main() -> Outcome {
    ycsb::main("rocksdb", open)
}

fn open(folder: &Path, settings: &Settings) -> Outcome<RocksDb> {
    let cache = Cache::new_lru_cache(settings.cache_bytes);
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_cache(&cache);
    blocks.set_bloom_filter(10.0, false);
    blocks.set_format_version(6);
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_block_based_table_factory(&blocks);
    options.set_compression_type(DBCompressionType::Lz4);
    options.set_write_buffer_manager(&WriteBufferManager::new_write_buffer_manager_with_cache(
        settings.write_buffer_bytes,
        false,
        cache,
    ));
    options.set_write_buffer_size(settings.write_buffer_bytes / 2);
    options.set_max_background_jobs(2);
    // Left alone, a database with transactions keeps as many flushed memtables as unflushed ones, to look for conflicts in.
    options.set_max_write_buffer_size_to_maintain(1 << 20);
    options.set_recycle_log_file_num(2);
    options.set_bytes_per_sync(1 << 20);
    options.set_target_file_size_base(16 << 20);
    options.set_max_bytes_for_level_base(64 << 20);
    options.set_stats_dump_period_sec(0);
    Ok(RocksDb(OptimisticTransactionDB::open(&options, folder)?))
}

fn write_options(durability: Durability) -> WriteOptions {
    let mut options = WriteOptions::default();
    options.set_sync(durability == Durability::Commit);
    options
}

impl Store for RocksDb {
    fn get(&self, key: &[u8], see: &mut See<'_>) -> Outcome<bool> {
        Ok(self.0.get_pinned(key)?.map(|value| see(&value)).is_some())
    }

    fn put(&self, key: &[u8], value: &[u8], durability: Durability) -> Outcome {
        Ok(self.0.put_opt(key, value, &write_options(durability))?)
    }

    fn put_batch(&self, pairs: &[Pair], durability: Durability) -> Outcome {
        let mut batch = WriteBatchWithTransaction::<true>::default();
        pairs.iter().for_each(|(key, value)| batch.put(key, value));
        Ok(self.0.write_opt(batch, &write_options(durability))?)
    }

    fn scan(&self, from: &[u8], limit: usize, see: &mut See<'_>) -> Outcome<usize> {
        let mut rows = self.0.raw_iterator_opt(ReadOptions::default());
        rows.seek(from);
        let mut seen = 0;
        while seen < limit
            && let Some((_, value)) = rows.item()
        {
            see(value);
            seen += 1;
            rows.next();
        }
        rows.status()?;
        Ok(seen)
    }

    fn snapshot_get(&self, key: &[u8], see: &mut See<'_>) -> Outcome<Option<bool>> {
        Ok(Some(self.0.snapshot().get_pinned(key)?.map(|value| see(&value)).is_some()))
    }

    fn transact(&self, keys: &[Vec<u8>], pairs: &[Pair]) -> Outcome<bool> {
        let transaction = self.0.transaction_opt(&write_options(Durability::Commit), &Default::default());
        for key in keys {
            transaction.get_for_update(key, true)?;
        }
        for (key, value) in pairs {
            transaction.put(key, value)?;
        }
        transaction.commit()?;
        Ok(true)
    }

    fn close(self) -> Outcome {
        Ok(self.0.flush()?)
    }
}
