//! The store while the folder is open, and the lock that orders its commits.
//!
//! **Invariant:** nothing is held between two reads, so closing waits for a read and no longer.

use std::sync::Arc;

use nuthatch_store::{Damage, Direction, OwnedSnapshot, Reader, Store, StoreError, Table, Visit};
use parking_lot::{MappedRwLockReadGuard, RwLock, RwLockReadGuard};

use crate::{Error, Result};

/// As a [`Reader`] it is the store as it is at each call.
pub(crate) struct OpenStore {
    /// `None` once closed. Readers share it; closing waits for them.
    store: RwLock<Option<Arc<dyn Store>>>,
    /// Held shared by a write to one collection or keyspace, from reading what it replaces until searches see it; held
    /// exclusively by operations on several: batches over them, snapshots, transactions.
    pub commit: RwLock<()>,
    /// Damage seen before opening that the store has put right itself since; for the doctor to tell.
    pub noticed: Vec<Damage>,
}

impl OpenStore {
    pub fn new(store: Arc<dyn Store>, noticed: Vec<Damage>) -> Self {
        Self { store: RwLock::new(Some(store)), commit: RwLock::default(), noticed }
    }

    /// The store, unless the database is closed.
    pub fn open(&self) -> nuthatch_store::Result<MappedRwLockReadGuard<'_, dyn Store>> {
        // Recursive: a call that reads inside another must not wait for a close that waits for it.
        RwLockReadGuard::try_map(self.store.read_recursive(), Option::as_deref).map_err(|_| StoreError::Closed)
    }

    /// A view of the store as it is now.
    pub fn owned_snapshot(&self) -> Result<OwnedSnapshot> {
        let store = self.store.read_recursive().clone();
        Ok(store.ok_or_else(Error::closed)?.owned_snapshot())
    }

    /// Writes out what the store holds back.
    pub fn settle(&self) -> Result<()> {
        let Some(store) = &*self.store.read_recursive() else { return Ok(()) };
        let Some(upkeep) = store.upkeep() else { return Ok(store.sync_all()?) };
        upkeep.flush()?;
        Ok(upkeep.record_checksums()?)
    }

    /// Waits for the readers of the store, and drops it.
    pub fn close(&self) {
        *self.store.write() = None;
    }
}

impl Reader for OpenStore {
    fn get(&self, table: Table, key: &[u8]) -> nuthatch_store::Result<Option<Vec<u8>>> {
        self.open()?.get(table, key)
    }

    fn multi_get(&self, table: Table, keys: &[Vec<u8>]) -> nuthatch_store::Result<Vec<Option<Vec<u8>>>> {
        self.open()?.multi_get(table, keys)
    }

    fn scan(
        &self,
        table: Table,
        from: &[u8],
        to: &[u8],
        direction: Direction,
        visit: &mut Visit<'_>,
    ) -> nuthatch_store::Result<()> {
        self.open()?.scan(table, from, to, direction, visit)
    }

    fn scan_once(&self, table: Table, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> nuthatch_store::Result<()> {
        self.open()?.scan_once(table, from, to, visit)
    }
}
