//! A snapshot that no scope binds.

use crate::{Direction, Reader, Result, Table, Visit};

/// A consistent view that keeps its store open for as long as it is held. See
/// [`Store::owned_snapshot`](crate::Store::owned_snapshot).
pub struct OwnedSnapshot {
    reader: Box<dyn Reader + Send + Sync>,
    latest: u64,
}

impl OwnedSnapshot {
    /// `latest`: the sequence of the last write that `reader` shows.
    pub fn new(reader: Box<dyn Reader + Send + Sync>, latest: u64) -> Self {
        Self { reader, latest }
    }

    /// Sequence of the last write that it shows; compare with [`Store::latest`](crate::Store::latest).
    pub fn latest(&self) -> u64 {
        self.latest
    }
}

impl Reader for OwnedSnapshot {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.reader.get(table, key)
    }

    fn multi_get(&self, table: Table, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        self.reader.multi_get(table, keys)
    }

    fn scan(&self, table: Table, from: &[u8], to: &[u8], direction: Direction, visit: &mut Visit<'_>) -> Result<()> {
        self.reader.scan(table, from, to, direction, visit)
    }

    fn scan_once(&self, table: Table, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> Result<()> {
        self.reader.scan_once(table, from, to, visit)
    }

    fn scan_through(&self, table: Table, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> Result<()> {
        self.reader.scan_through(table, from, to, visit)
    }
}
