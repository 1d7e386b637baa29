//! Keys and values as of one moment: of now, of a snapshot, or of a transaction with its own writes.
//!
//! **Useful for** every read of a keyspace or a graph: each is written once, over this. **Not for** writing.
//!
//! **Invariant:** the answer of one call is of one moment.

use std::ops::ControlFlow;
use std::time::Duration;

use nuthatch_store::Reader;

use crate::call::Watched;
use crate::kv::{COUNTED_KEYS, Entry, KeyPage, KeyScan, Keyspace, Space};
use crate::runtime::Reservation;
use crate::{Error, Result};

/// Looks at a key and its value, and says whether to go on.
pub type EachRow<'v> = dyn FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>> + 'v;

/// Keys as of one moment: of now, of a snapshot or of a transaction.
pub trait Rows: Sync {
    /// The values of several keys with when they expire, in their order.
    fn entries(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Entry>>>;

    /// One page of a listing.
    fn page(&self, scan: &KeyScan) -> Result<KeyPage>;

    /// Goes through all of a listing, page by page, until the visit says `Break`.
    ///
    /// # Errors
    /// Those of the visit, the first of which ends it.
    fn each(&self, scan: KeyScan, visit: &mut EachRow<'_>) -> Result<()> {
        let mut scan = scan;
        loop {
            let page = self.page(&scan)?;
            for (key, value) in &page.entries {
                if visit(key, value)?.is_break() {
                    return Ok(());
                }
            }
            scan.cursor = page.cursor;
            if scan.cursor.is_none() {
                return Ok(());
            }
        }
    }

    /// The time against which keys expire, in milliseconds since 1970.
    fn now_ms(&self) -> u64;

    /// About how many keys begin so, when they are too many to be counted.
    fn estimate(&self, prefix: &[u8]) -> Result<u64>;

    /// The values of several keys, in their order.
    fn values(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        Ok(self.entries(keys)?.into_iter().map(|entry| entry.map(|entry| entry.value)).collect())
    }

    /// The row of a record of this tenant, as of the same moment.
    fn row_of(&self, collection: u32, id: &str) -> Result<Option<u64>> {
        let _ = (collection, id);
        Err(Error::internal("rows within a transaction know no rows of collections"))
    }

    /// The stored record of a row of this tenant, as of the same moment.
    fn record_bytes(&self, collection: u32, row: u64) -> Result<Option<Vec<u8>>> {
        let _ = (collection, row);
        Err(Error::internal("rows within a transaction know no rows of collections"))
    }

    /// The number of a collection of this tenant, as of the same moment.
    fn collection_number(&self, name: &str) -> Result<Option<u32>> {
        let _ = name;
        Err(Error::internal("rows within a transaction know no collections"))
    }

    /// Room for what an answer is made from.
    fn room(&self) -> Option<Reservation<'_>> {
        None
    }

    /// Values of the table `blobs`, by number, in their order.
    fn blobs(&self, numbers: &[u64]) -> Result<Vec<Option<Vec<u8>>>> {
        let _ = numbers;
        Err(Error::internal("rows within a transaction name nothing in the table of large values"))
    }

    /// Whether the key is there and has not expired.
    fn contains(&self, key: &[u8]) -> Result<bool> {
        let scan = KeyScan { limit: 1, keys_only: true, ..KeyScan::prefix(key) };
        Ok(self.page(&scan)?.entries.first().is_some_and(|(found, _)| found == key))
    }

    /// How long a key has to live: `None` when it is not there, `Some(None)` when it never expires.
    fn expires_in(&self, key: &[u8]) -> Result<Option<Option<Duration>>> {
        let now = self.now_ms();
        let found = self.entries(&[key.to_vec()])?.pop().flatten();
        Ok(found.map(|entry| entry.expires_at_ms.map(|at| Duration::from_millis(at.saturating_sub(now)))))
    }

    /// About how many keys begin so: exact up to 10,000.
    fn count_estimate(&self, prefix: &[u8]) -> Result<u64> {
        let limit = COUNTED_KEYS as usize;
        let page = self.page(&KeyScan { limit, keys_only: true, ..KeyScan::prefix(prefix) })?;
        match page.cursor {
            None => Ok(page.entries.len() as u64),
            Some(_) => Ok(self.estimate(prefix)?.max(COUNTED_KEYS + 1)),
        }
    }
}

/// Those of a keyspace, as `reader` has them. No page waits for room: a deletion of nodes holds the commit lock.
pub(crate) struct Live<'r> {
    /// The keyspace.
    pub space: &'r Space,
    /// The store, or a snapshot of it.
    pub reader: &'r dyn Reader,
}

impl Rows for Live<'_> {
    fn entries(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Entry>>> {
        self.space.entries(self.reader, keys, self.now_ms(), &mut self.space.shared.reservation_at_once())
    }

    fn page(&self, scan: &KeyScan) -> Result<KeyPage> {
        self.space.page(self.reader, scan, self.now_ms(), &mut self.space.shared.reservation_at_once())
    }

    fn now_ms(&self) -> u64 {
        self.space.now_ms()
    }

    fn estimate(&self, prefix: &[u8]) -> Result<u64> {
        self.space.estimate(prefix)
    }

    fn row_of(&self, collection: u32, id: &str) -> Result<Option<u64>> {
        self.space.row_of(self.reader, collection, id)
    }

    fn record_bytes(&self, collection: u32, row: u64) -> Result<Option<Vec<u8>>> {
        self.space.record_bytes(self.reader, collection, row)
    }

    fn collection_number(&self, name: &str) -> Result<Option<u32>> {
        self.space.collection_number(self.reader, name)
    }

    fn room(&self) -> Option<Reservation<'_>> {
        Some(self.space.shared.reservation_at_once())
    }

    fn blobs(&self, numbers: &[u64]) -> Result<Vec<Option<Vec<u8>>>> {
        self.space.blobs(self.reader, numbers)
    }
}

/// As it is at each call.
impl Rows for Keyspace {
    fn entries(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Entry>>> {
        Self::entries(self, keys)
    }

    fn page(&self, scan: &KeyScan) -> Result<KeyPage> {
        self.scan(scan)
    }

    fn now_ms(&self) -> u64 {
        self.space.now_ms()
    }

    fn estimate(&self, prefix: &[u8]) -> Result<u64> {
        self.space.estimate(prefix)
    }

    fn row_of(&self, collection: u32, id: &str) -> Result<Option<u64>> {
        self.at_once(|rows| rows.row_of(collection, id))
    }

    fn record_bytes(&self, collection: u32, row: u64) -> Result<Option<Vec<u8>>> {
        self.at_once(|rows| rows.record_bytes(collection, row))
    }

    fn collection_number(&self, name: &str) -> Result<Option<u32>> {
        self.at_once(|rows| rows.collection_number(name))
    }

    fn room(&self) -> Option<Reservation<'_>> {
        Some(self.space.shared.reservation_at_once())
    }

    fn blobs(&self, numbers: &[u64]) -> Result<Vec<Option<Vec<u8>>>> {
        self.at_once(|rows| rows.blobs(numbers))
    }

    fn contains(&self, key: &[u8]) -> Result<bool> {
        Self::contains(self, key)
    }

    fn count_estimate(&self, prefix: &[u8]) -> Result<u64> {
        Self::count_estimate(self, prefix)
    }
}

impl Keyspace {
    /// Reads several times as of one moment.
    pub fn at_once<T>(&self, read: impl FnOnce(&dyn Rows) -> Result<T>) -> Result<T> {
        let space = &*self.space;
        space.check_open()?;
        let store = space.shared.store()?;
        read(&Live { space, reader: &Watched::new(&*store.snapshot(), self.call.waits()) })
    }
}
