//! Reading all of a collection that is larger than the store's cache: by the next pass the cache would hold none of it,
//! and the blocks that others read often would be gone.

use nuthatch_store::{Direction, Reader, Result, Table, Visit};

/// A reader whose forward scans leave no trace in the cache, and read large pieces.
pub(crate) struct UncachedReader<'r>(pub &'r dyn Reader);

impl Reader for UncachedReader<'_> {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.0.get(table, key)
    }

    fn multi_get(&self, table: Table, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        self.0.multi_get(table, keys)
    }

    fn scan(&self, table: Table, from: &[u8], to: &[u8], direction: Direction, visit: &mut Visit<'_>) -> Result<()> {
        match direction {
            Direction::Forward => self.0.scan_through(table, from, to, visit),
            Direction::Reverse => self.0.scan(table, from, to, direction, visit),
        }
    }
}
