//! Question: what does RocksDB by itself do with YCSB's workloads, without anything of ours around it?
//!
//! Data, settings and figures: `ycsb/mod.rs`. Durability `commit`: `WriteOptions::sync` for each write, RocksDB's own group commit.
//! Seed: `seed=`, 1 when left out. Blocks and write buffers share one cache of `cache_mb`; index and filter blocks are on the heap,
//! where RocksDB is fastest (some 7 MB more for 2,000,000 keys).
//!
//! ```text
//! cargo build --release --workspace --examples; target/release/examples/kv_rocksdb load|run|micro|cold FOLDER name=value…
//! ```

mod ycsb;

use rocksdb::{
    BlockBasedOptions, Cache, DB, DBCompressionType, OptimisticTransactionDB, Options, WriteBatch,
    WriteBatchWithTransaction, WriteBufferManager, WriteOptions,
};
use ycsb::{Durability, Outcome, Pair, See, Settings, Store};

fn main() -> Outcome {
    // A database with transactions keeps 40 MB of locks and some flushed memtables; one without is what is compared.
    match std::env::args().nth(1).as_deref() {
        Some("micro") => ycsb::main("rocksdb", |folder, settings| {
            Ok(WithTransactions(OptimisticTransactionDB::open(&options(settings), folder)?))
        }),
        _ => ycsb::main("rocksdb", |folder, settings| Ok(Plain(DB::open(&options(settings), folder)?))),
    }
}

struct Plain(DB);
struct WithTransactions(OptimisticTransactionDB);

fn options(settings: &Settings) -> Options {
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
    options.set_recycle_log_file_num(2);
    options.set_bytes_per_sync(1 << 20);
    options.set_target_file_size_base(16 << 20);
    options.set_max_bytes_for_level_base(64 << 20);
    options.set_stats_dump_period_sec(0);
    options
}

fn write_options(durability: Durability) -> WriteOptions {
    let mut options = WriteOptions::default();
    options.set_sync(durability == Durability::Commit);
    options
}

/// The calls are the same, the types are not.
macro_rules! store {
    ($store:ty, $batch:ty, $transact:expr) => {
        impl Store for $store {
            fn get(&self, key: &[u8], see: &mut See<'_>) -> Outcome<bool> {
                Ok(self.0.get_pinned(key)?.map(|value| see(&value)).is_some())
            }

            fn put(&self, key: &[u8], value: &[u8], durability: Durability) -> Outcome {
                Ok(self.0.put_opt(key, value, &write_options(durability))?)
            }

            fn put_batch(&self, pairs: &[Pair], durability: Durability) -> Outcome {
                let mut batch = <$batch>::default();
                pairs.iter().for_each(|(key, value)| batch.put(key, value));
                Ok(self.0.write_opt(batch, &write_options(durability))?)
            }

            fn scan(&self, from: &[u8], limit: usize, see: &mut See<'_>) -> Outcome<usize> {
                let mut rows = self.0.raw_iterator();
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
                $transact(&self.0, keys, pairs)
            }

            fn close(self) -> Outcome {
                Ok(self.0.flush()?)
            }
        }
    };
}

store!(Plain, WriteBatch, |_, _, _| Ok(false));
store!(WithTransactions, WriteBatchWithTransaction<true>, optimistic);

fn optimistic(db: &OptimisticTransactionDB, keys: &[Vec<u8>], pairs: &[Pair]) -> Outcome<bool> {
    let transaction = db.transaction_opt(&write_options(Durability::Commit), &Default::default());
    for key in keys {
        transaction.get_for_update(key, true)?;
    }
    for (key, value) in pairs {
        transaction.put(key, value)?;
    }
    transaction.commit()?;
    Ok(true)
}
