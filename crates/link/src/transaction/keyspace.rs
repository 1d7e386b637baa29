//! A keyspace inside a transaction.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use nuthatch_engine::Result;
use nuthatch_engine::kv::{KeyScan, KvOp};

use crate::Keys;
use crate::rows::{self, Within};

/// A keyspace as the transaction sees it: as it was at the beginning, with the transaction's own writes. Reads are
/// those of [`Keys`].
pub struct TransactionKeyspace<'t> {
    keys: Keys<'t>,
    rows: Arc<Within<'t>>,
}

impl<'t> Deref for TransactionKeyspace<'t> {
    type Target = Keys<'t>;

    fn deref(&self) -> &Keys<'t> {
        &self.keys
    }
}

impl<'t> TransactionKeyspace<'t> {
    pub(crate) fn of(rows: Within<'t>) -> Self {
        let rows = Arc::new(rows);
        Self { keys: Keys { from: rows::From::Within(rows.clone()) }, rows }
    }

    /// Depends on these keys as reading them does: the commit conflicts when one of them has changed.
    pub fn depend_on_keys<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<()> {
        self.rows.depend_on_keys(keys)
    }

    /// Depends on these keys as listing them does, up to the end of their range.
    ///
    /// # Errors
    /// `Invalid` for a cursor that is none.
    pub fn depend_on_scan(&self, scan: &KeyScan) -> Result<()> {
        self.rows.depend_on_scan(scan)
    }

    /// Writes a key that never expires.
    pub fn put(&self, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) -> Result<()> {
        self.multi_put(vec![KvOp::Put { key: key.into(), value: value.into(), expires_in: None }])
    }

    /// Writes a key that expires after that time; it begins when the transaction commits.
    pub fn put_expiring(&self, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>, expires_in: Duration) -> Result<()> {
        self.multi_put(vec![KvOp::Put { key: key.into(), value: value.into(), expires_in: Some(expires_in) }])
    }

    /// Removes a key; one that is not there is no error.
    pub fn delete(&self, key: impl Into<Vec<u8>>) -> Result<()> {
        self.multi_put(vec![KvOp::Delete { key: key.into() }])
    }

    /// Sets and deletes several keys; none of them if one is invalid.
    pub fn multi_put(&self, ops: Vec<KvOp>) -> Result<()> {
        self.rows.write(ops)
    }
}
