//! Question: what do YCSB's workloads get out of a keyspace, through `Database::kv`, as a program uses it?
//!
//! Data, settings and figures: `crates/store/examples/ycsb/mod.rs`. Durability `commit` (every call fsynced before it returns, shared by
//! concurrent clients) or `os`. Seed: `seed=`, 1 when left out. Budget: such that the store of record gets `cache_mb`; the rest of
//! `memory_budget` belongs to indexes that are not there.
//!
//! ```text
//! cargo build --release --workspace --example kv && target/release/examples/kv load|run|micro|cold FOLDER name=value…
//! ```

#[path = "../../store/examples/ycsb/mod.rs"]
mod ycsb;

use std::ops::Bound;
use std::path::Path;

use nuthatch_link::{Database, KeyScan, Keyspace, KvOp, Options};
use ycsb::{Outcome, Pair, See, Settings, Store};

/// Shares of `memory_budget` of which the store of record has three: `crates/engine/src/options.rs`.
const BUDGET_SHARES: u64 = 16;
const KEYSPACE: &str = "usertable";

struct Engine {
    db: Database,
    commit: Keyspace,
    os: Keyspace,
}

fn main() -> Outcome {
    ycsb::main("nuthatch", open)
}

fn open(folder: &Path, settings: &Settings) -> Outcome<Engine> {
    let options =
        Options { memory_budget_bytes: settings.cache_bytes as u64 * BUDGET_SHARES / 3, ..Options::default() };
    let db = Database::open(folder, options)?;
    let commit = db.kv(KEYSPACE)?;
    let os = commit.with_durability(nuthatch_link::Durability::Os);
    Ok(Engine { db, commit, os })
}

impl Engine {
    fn keyspace(&self, durability: ycsb::Durability) -> &Keyspace {
        match durability {
            ycsb::Durability::Commit => &self.commit,
            ycsb::Durability::Os => &self.os,
        }
    }
}

impl Store for Engine {
    fn get(&self, key: &[u8], see: &mut See<'_>) -> Outcome<bool> {
        Ok(self.commit.get(key)?.map(|value| see(&value)).is_some())
    }

    fn put(&self, key: &[u8], value: &[u8], durability: ycsb::Durability) -> Outcome {
        Ok(self.keyspace(durability).put(key, value)?)
    }

    fn put_batch(&self, pairs: &[Pair], durability: ycsb::Durability) -> Outcome {
        let put = |(key, value): &Pair| KvOp::Put { key: key.clone(), value: value.clone(), expires_in: None };
        Ok(self.keyspace(durability).multi_put(pairs.iter().map(put).collect())?)
    }

    fn scan(&self, from: &[u8], limit: usize, see: &mut See<'_>) -> Outcome<usize> {
        let page = self.commit.scan(&KeyScan { from: Bound::Included(from.to_vec()), limit, ..KeyScan::default() })?;
        page.entries.iter().for_each(|(_, value)| see(value));
        Ok(page.entries.len())
    }

    fn snapshot_get(&self, key: &[u8], see: &mut See<'_>) -> Outcome<Option<bool>> {
        let value = self.db.snapshot()?.kv(KEYSPACE)?.get(key)?;
        Ok(Some(value.map(|value| see(&value)).is_some()))
    }

    fn transact(&self, keys: &[Vec<u8>], pairs: &[Pair]) -> Outcome<bool> {
        self.db.transact(3, |transaction| {
            let table = transaction.kv(KEYSPACE)?;
            for key in keys {
                table.get(key)?;
            }
            pairs.iter().try_for_each(|(key, value)| table.put(key.clone(), value.clone()))
        })?;
        Ok(true)
    }

    fn close(self) -> Outcome {
        Ok(self.db.close()?)
    }
}
