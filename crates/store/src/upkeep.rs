//! The operations of a store of files besides reads and writes: flushing, compaction, checks, backups.
//!
//! **Useful for** background work, `doctor`, erasure, backups and `stats`. **Not for** anything that a call needs for its answer:
//! a store without upkeep (a cluster that keeps its own files) serves every call.
//!
//! **Invariant:** none of it changes what a read returns.

use std::collections::BTreeMap;
use std::path::Path;

use crate::verify::{CHECKSUMS, is_immutable, sealed_sums};
use crate::{Damage, Extent, LogHole, Reader, Result, Table};

/// Bytes that a store holds in memory, by part.
#[derive(Clone, Copy, Debug, Default)]
pub struct StoreMemory {
    /// Blocks and write buffers; of a store in memory, everything.
    pub cache_bytes: u64,
    /// Of these, what is written nowhere else yet.
    pub write_buffer_bytes: u64,
    /// Indexes and filters of the open table files, which the cache does not count.
    pub table_reader_bytes: u64,
}

/// Care for what a store keeps on its disk and in memory. See [`Store::upkeep`](crate::Store::upkeep).
pub trait Upkeep {
    /// Writes the write buffers to table files, so that the next open replays nothing.
    fn flush(&self) -> Result<()>;

    /// Flushes and compacts where that is worth it, for a store that nobody is writing to. True when there was something to do.
    /// `flush`: in any case.
    fn tidy(&self, flush: bool) -> Result<bool>;

    /// Removes every byte of `extent` that the write of this sequence ([`Store::latest`](crate::Store::latest)) or an earlier one
    /// deleted or replaced. Reads and writes go on.
    ///
    /// # Errors
    /// [`StoreError::Held`](crate::StoreError::Held) while a snapshot from before that write stays open.
    fn reclaim_before(&self, extent: Extent, sequence: u64) -> Result<()>;

    /// Returns the disk space that the store keeps for later writes. For a store that nobody uses for a while.
    fn empty_spare_logs(&self) -> Result<()>;

    /// The store as it is now, as files in `folder`, which must not exist. `None` from a store without files: copy its rows.
    ///
    /// # Errors
    /// `Corrupt`, naming the store's own file, when a small file that a store is opened with is damaged.
    fn checkpoint(&self, folder: &Path) -> Result<Option<Box<dyn Checkpoint>>>;

    /// Notes the checksums of the files written since the last call, for [`verify`](Self::verify). Cheap when there are none.
    fn record_checksums(&self) -> Result<()>;

    /// Reads every byte and names the files whose bytes are not the ones that were written.
    fn verify(&self) -> Result<Vec<Damage>>;

    /// Where opening cut the log, because a crash had left its end unfinished.
    fn torn_tail(&self) -> Option<&LogHole>;

    /// Bytes held in memory.
    fn memory(&self) -> Result<StoreMemory>;

    /// Drops the cached blocks that nobody is reading; unflushed writes stay.
    fn release_cache(&self);

    /// About how many bytes the keys in `from..to` take, and how many keys and bytes the whole table has, in the same measure.
    /// `None` from a store that estimates nothing: count.
    fn estimate(&self, table: Table, from: &[u8], to: &[u8]) -> Result<Option<Estimate>>;
}

/// Sizes from the store's own bookkeeping, which lags behind its writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Of the range that was asked for.
    pub bytes: u64,
    /// Keys of the whole table.
    pub table_keys: u64,
    /// Bytes of the whole table.
    pub table_bytes: u64,
}

/// A store as it was at one moment, in files of its own. Nothing writes to it.
pub trait Checkpoint: Reader {
    /// Bytes and CRC-32C of a table file, where the store noted them.
    fn checksum(&self, name: &str) -> Option<(u64, u32)>;

    /// Reads every block of these table files against its checksum, and calls `on_row` for each row; `false` from it ends the
    /// reading. The error names the file.
    fn verify_tables(&self, names: &[String], on_row: &mut dyn FnMut() -> bool) -> Result<()>;
}

/// Name and bytes of the checksums file that belongs to these immutable files, given by name with bytes and CRC-32C.
pub fn checksums_file(sums: &BTreeMap<String, (u64, u32)>) -> (&'static str, Vec<u8>) {
    let immutable = sums.iter().filter(|(name, _)| is_immutable(name)).map(|(name, sum)| (name.clone(), *sum));
    (CHECKSUMS, sealed_sums(&immutable.collect()))
}
