//! The store: every acknowledged write, and the only thing in the data folder that cannot be rebuilt.
//!
//! **Useful for** atomic batches with a change log, point and range reads, snapshots.
//! **Not for** searching (derived indexes do that) and not for deciding what a record is (the engine does).
//!
//! **Invariant:** a batch is there whole or not at all, in the order of its writes; once [`Store::sync`] has returned for
//! its position it survives kill -9 and power loss; after a failed sync nothing more is accepted.
//!
//! Everything above holds an `Arc<dyn Store>`; `docs/rfcs/0002-store.md` says what each implementation owes it.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::disallowed_methods, missing_docs))]

mod batch;
mod cached;
mod checkpoint;
mod commit_queue;
mod error;
mod faulty_store;
mod key;
mod log;
mod log_check;
mod log_file;
mod manifest;
mod memory_store;
mod owned;
mod reclaim;
mod repair;
mod rocks_store;
mod rocks_threads;
mod rocks_upkeep;
mod upkeep;
mod verify;

use std::ops::ControlFlow;
use std::sync::Arc;

pub use batch::{Batch, Op};
pub use cached::CachedOnly;
pub use error::{Result, StoreError};
pub use faulty_store::{Access, Fault, FaultyStore};
pub use key::{Extent, Shard, Table, after_prefix};
pub use log::{append_change, changes_after, trim_changes};
pub use log_check::LogHole;
pub use memory_store::MemoryStore;
pub use owned::OwnedSnapshot;
pub use repair::{RepairReport, repair};
pub use rocks_store::{RocksStore, StoreOptions};
pub use rocks_threads::opened_by;
pub use upkeep::{Checkpoint, Estimate, StoreMemory, Upkeep, checksums_file};
pub use verify::{Damage, verify, verify_small};

/// Where a write stands in the order of all writes; what [`Store::sync`] waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(pub u64);

/// Order of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Ascending keys.
    Forward,
    /// Descending keys.
    Reverse,
}

/// The callback of a scan, called for each key and value; `Break` ends the scan.
pub type Visit<'v> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'v;

/// Reading: the live state, or a snapshot of it.
pub trait Reader: Sync {
    /// The value of one key.
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>>;

    /// The values of many keys, in their order. Ascending keys are cheapest.
    fn multi_get(&self, table: Table, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>>;

    /// Visits the keys in `from..to` (empty `to`: to the end of the table), one consistent view.
    fn scan(&self, table: Table, from: &[u8], to: &[u8], direction: Direction, visit: &mut Visit<'_>) -> Result<()>;

    /// The same for reading everything, forwards: the rows leave no trace in the cache.
    fn scan_once(&self, table: Table, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> Result<()> {
        self.scan(table, from, to, Direction::Forward, visit)
    }

    /// The same in pieces of half a megabyte: for ranges that are larger than that, and larger than the cache.
    fn scan_through(&self, table: Table, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> Result<()> {
        self.scan_once(table, from, to, visit)
    }
}

/// The store of record. [`RocksStore`] keeps it in one folder, [`MemoryStore`] in memory.
pub trait Store: Reader + Send + Sync {
    /// Applies the batch atomically and orders it after all earlier ones. Visible at once, durable after [`sync`](Self::sync).
    ///
    /// # Errors
    /// [`StoreError::Full`]: nothing was written, and writing again may succeed. [`StoreError::Stopped`] and
    /// [`StoreError::Fenced`]: this handle writes nothing more; whether the batch counts, the reopened store or its new holder
    /// tells.
    fn write(&self, batch: Batch) -> Result<Position>;

    /// Returns once everything up to `position` is durable. Concurrent callers share one fsync.
    ///
    /// # Errors
    /// [`StoreError::Stopped`] after a failed fsync, [`StoreError::Fenced`] when another holder has taken over: what was written
    /// since the last `sync` that succeeded may be lost, and nothing more is accepted.
    fn sync(&self, position: Position) -> Result<()>;

    /// Makes everything written so far durable.
    fn sync_all(&self) -> Result<()>;

    /// Sequence of the last write: two equal ones mean that nothing was written between.
    fn latest(&self) -> u64;

    /// A consistent view that later writes do not touch.
    fn snapshot(&self) -> Box<dyn Reader + '_>;

    /// The same, not bound to a scope: it keeps the store open.
    fn owned_snapshot(self: Arc<Self>) -> OwnedSnapshot;

    /// [`Reader::get`] where that waits for nothing.
    ///
    /// # Errors
    /// [`StoreError::NotCached`] where it would wait for a disk or a network.
    fn get_cached(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>>;

    /// [`Reader::scan`] where that waits for nothing; rows before the first one to wait for have been visited.
    ///
    /// # Errors
    /// As those of [`get_cached`](Self::get_cached).
    fn scan_cached(
        &self,
        table: Table,
        from: &[u8],
        to: &[u8],
        direction: Direction,
        visit: &mut Visit<'_>,
    ) -> Result<()>;

    /// A [`snapshot`](Self::snapshot) whose reads answer [`StoreError::NotCached`] where they would wait.
    fn cached_snapshot(&self) -> Box<dyn Reader + '_>;

    /// The care that the store's files and memory need from outside; `None` where it looks after itself.
    fn upkeep(&self) -> Option<&dyn Upkeep>;
}
