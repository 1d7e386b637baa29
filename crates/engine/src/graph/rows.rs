//! Whatever rows of a graph are read of: the live state, a snapshot, or a transaction with its own writes.

use nuthatch_store::Reader;

use crate::Result;
use crate::kv::{KeyPage, KeyScan, Space};
use crate::process::SnapshotKeyspace;
use crate::transaction::TransactionKeyspace;

/// Rows as of one moment.
pub(crate) trait Rows {
    /// The values of several keys, in their order.
    fn values(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>>;

    fn page(&self, scan: &KeyScan) -> Result<KeyPage>;
}

/// Those of a keyspace, as `reader` has them. No page waits for room: who deletes nodes holds the commit lock.
pub(crate) struct Live<'r> {
    pub space: &'r Space,
    pub reader: &'r dyn Reader,
}

impl Rows for Live<'_> {
    fn values(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        self.space.multi_get(self.reader, keys, self.space.now_ms(), &mut self.space.shared.room_at_once())
    }

    fn page(&self, scan: &KeyScan) -> Result<KeyPage> {
        self.space.page(self.reader, scan, self.space.now_ms(), &mut self.space.shared.room_at_once())
    }
}

impl Rows for SnapshotKeyspace {
    fn values(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        self.multi_get(keys)
    }

    fn page(&self, scan: &KeyScan) -> Result<KeyPage> {
        self.scan(scan)
    }
}

impl Rows for TransactionKeyspace<'_> {
    fn values(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        self.multi_get(keys)
    }

    fn page(&self, scan: &KeyScan) -> Result<KeyPage> {
        self.scan(scan)
    }
}
