//! The store: every acknowledged write, and the only thing in the data folder that cannot be rebuilt.
//!
//! **Useful for** atomic batches with a change log, point and range reads, snapshots.
//! **Not for** searching (derived indexes do that) and not for deciding what a record is (the engine does).
//!
//! **Invariant:** a batch is there whole or not at all, in the order of its writes; once [`Store::sync`] has returned for
//! its position it survives kill -9 and power loss; after a failed sync nothing more is accepted.
//!
//! The trait asks for nothing that Cassandra could not give: `docs/rfcs/0002-store.md` shows the mapping.

mod at_hand;
mod batch;
mod checkpoint;
mod commit_queue;
mod error;
mod key;
mod log;
mod log_check;
mod log_file;
mod manifest;
mod reclaim;
mod repair;
mod rocks_store;
mod verify;

use std::ops::ControlFlow;

pub use at_hand::AtHand;
pub use batch::{Batch, Op};
pub use checkpoint::Checkpoint;
pub use error::{Result, StoreError};
pub use key::{Extent, Shard, Table};
pub use log::{append_change, changes_after, trim_changes};
pub use log_check::LogHole;
pub use repair::{RepairReport, repair};
pub use rocks_store::{OwnedSnapshot, RocksStore, StoreMemory, StoreOptions};
pub use verify::{Damage, verify, verify_small};

/// Where a write stands in the order of all writes; what [`Store::sync`] waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(pub u64);

/// Order of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Reverse,
}

/// What a scan calls for each key and value; `Break` ends the scan.
pub type Visit<'v> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'v;

/// Reading: the live state, or a snapshot of it.
pub trait Reader {
    /// The value of one key.
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>>;

    /// The values of many keys, in their order. Ascending keys are cheapest.
    fn multi_get(&self, table: Table, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>>;

    /// Visits the keys in `from..to` (empty `to`: to the end of the table), one consistent view.
    fn scan(&self, table: Table, from: &[u8], to: &[u8], direction: Direction, visit: &mut Visit<'_>) -> Result<()>;

    /// The same for whoever goes through everything, forwards: what comes by leaves no trace in the cache.
    fn scan_once(&self, table: Table, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> Result<()> {
        self.scan(table, from, to, Direction::Forward, visit)
    }

    /// The same in pieces of half a megabyte: for ranges that are larger than that, and larger than the cache.
    fn scan_through(&self, table: Table, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> Result<()> {
        self.scan_once(table, from, to, visit)
    }
}

/// The store of record.
pub trait Store: Reader + Send + Sync {
    /// Applies the batch atomically and orders it after all earlier ones. Visible at once, durable after [`sync`](Self::sync).
    fn write(&self, batch: Batch) -> Result<Position>;

    /// Returns once everything up to `position` is durable. Concurrent callers share one fsync.
    fn sync(&self, position: Position) -> Result<()>;

    /// A consistent view that later writes do not touch.
    fn snapshot(&self) -> Box<dyn Reader + '_>;
}
