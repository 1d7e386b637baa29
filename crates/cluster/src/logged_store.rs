//! A store whose every batch goes through the log of a group before it is durable.
//!
//! **Useful for** the owner of a group, whose folder is one copy of it. **Not for** followers, which apply entries to the store inside.
//!
//! **Invariant:** the store inside has the batches in the order of the log. `sync` waits for the log and not for the disk: what a
//! power cut takes from the copy, the log gives back.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nuthatch_store::{
    Batch, Checkpoint, Damage, Direction, Estimate, Extent, LogHole, OwnedSnapshot, Position, Reader, Result, Store,
    StoreError, StoreMemory, Table, Upkeep, Visit,
};
use parking_lot::Mutex;

use crate::checkpoint::{self, Published};
use crate::encoding::encode_batch;
use crate::owner::{Lost, Owner};
use crate::{ClusterError, End, Log};

/// See the module.
pub struct LoggedStore {
    inner: Arc<dyn Store>,
    owner: Arc<Owner>,
    log: Arc<dyn Log>,
    /// Held from the write to the copy until the batch is queued for the log, so that both have one order.
    order: Mutex<()>,
    /// Of the batches written here.
    logged_bytes: AtomicU64,
    /// One checkpoint at a time, in a folder of its own.
    capturing: Mutex<PathBuf>,
}

impl LoggedStore {
    /// `inner`: the copy, with everything that the owner's log has. `capture`: a folder on the same disk, for the links of a
    /// checkpoint; what is in it goes.
    pub fn new(inner: Arc<dyn Store>, owner: Arc<Owner>, log: Arc<dyn Log>, capture: &Path) -> Self {
        let capturing = Mutex::new(capture.to_path_buf());
        Self { inner, owner, log, order: Mutex::default(), logged_bytes: AtomicU64::new(0), capturing }
    }

    /// Stores a checkpoint of everything that is committed, keeps the newest `keep`, and trims the log. Writers wait
    /// until what they have written is committed; they go on during the upload.
    ///
    /// # Errors
    /// `Unreachable`, `Store`, `Io`: nothing is lost, and the next one does what is left.
    pub fn checkpoint(&self, keep: usize) -> crate::Result<Published> {
        let folder = self.capturing.lock();
        checkpoint::clear(&folder)?;
        let known = {
            let _order = self.order.lock();
            self.owner.committed(self.owner.written()).map_err(|lost| self.fenced(&lost))?;
            let known = self.owner.known();
            let upkeep = self.inner.upkeep().ok_or_else(no_files)?;
            upkeep.checkpoint(&folder.join("truth"))?.ok_or_else(no_files)?;
            known
        };
        let published = checkpoint::publish(&*self.log, &folder, &known, keep);
        checkpoint::clear(&folder)?;
        published
    }

    /// Bytes of the batches that were written since it was opened.
    pub fn logged_bytes(&self) -> u64 {
        self.logged_bytes.load(Ordering::Relaxed)
    }

    fn care(&self) -> Result<&dyn Upkeep> {
        self.inner.upkeep().ok_or(StoreError::Closed)
    }

    /// Maps the owner's loss to the error that a writer gets.
    fn fenced(&self, lost: &Lost) -> StoreError {
        match lost {
            Lost::Damaged(what) => StoreError::Corrupt { path: PathBuf::from(self.log.address()), what: what.clone() },
            Lost::CopyFailed(what) => StoreError::Stopped(what.clone()),
            lost => StoreError::Fenced { epoch: epoch_of(lost).max(self.owner.epoch()) },
        }
    }
}

fn epoch_of(lost: &Lost) -> u64 {
    match lost {
        Lost::Ended(End::Fenced(epoch)) => *epoch,
        _ => 0,
    }
}

fn no_files() -> ClusterError {
    ClusterError::Invalid("a store without files has no checkpoints".into())
}

impl Store for LoggedStore {
    fn write(&self, batch: Batch) -> Result<Position> {
        if batch.is_empty() {
            return Ok(Position(self.owner.written()));
        }
        let bytes: Arc<[u8]> = encode_batch(&batch).into();
        let _order = self.order.lock();
        self.owner.begin().map_err(|lost| self.fenced(&lost))?;
        if let Err(error) = self.inner.write(batch) {
            match error {
                StoreError::Full { .. } => self.owner.abandon(), // not done
                _ => self.owner.give_up(error.to_string()),
            }
            return Err(error);
        }
        self.logged_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.owner.write(bytes).map(Position).map_err(|lost| self.fenced(&lost))
    }

    fn sync(&self, position: Position) -> Result<()> {
        self.owner.committed(position.0).map_err(|lost| self.fenced(&lost))
    }

    fn sync_all(&self) -> Result<()> {
        self.sync(Position(self.owner.written()))
    }

    fn latest(&self) -> u64 {
        self.inner.latest()
    }

    fn snapshot(&self) -> Box<dyn Reader + '_> {
        self.inner.snapshot()
    }

    fn owned_snapshot(self: Arc<Self>) -> OwnedSnapshot {
        self.inner.clone().owned_snapshot()
    }

    fn get_cached(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.inner.get_cached(table, key)
    }

    fn scan_cached(
        &self,
        table: Table,
        from: &[u8],
        to: &[u8],
        direction: Direction,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        self.inner.scan_cached(table, from, to, direction, visit)
    }

    fn cached_snapshot(&self) -> Box<dyn Reader + '_> {
        self.inner.cached_snapshot()
    }

    fn upkeep(&self) -> Option<&dyn Upkeep> {
        self.inner.upkeep().map(|_| self as &dyn Upkeep)
    }
}

impl Reader for LoggedStore {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.inner.get(table, key)
    }

    fn multi_get(&self, table: Table, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        self.inner.multi_get(table, keys)
    }

    fn scan(&self, table: Table, from: &[u8], to: &[u8], direction: Direction, visit: &mut Visit<'_>) -> Result<()> {
        self.inner.scan(table, from, to, direction, visit)
    }

    fn scan_once(&self, table: Table, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> Result<()> {
        self.inner.scan_once(table, from, to, visit)
    }

    fn scan_through(&self, table: Table, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> Result<()> {
        self.inner.scan_through(table, from, to, visit)
    }
}

/// The store's inside, with one difference: what is reclaimed goes from the bucket, too.
impl Upkeep for LoggedStore {
    fn flush(&self) -> Result<()> {
        self.care()?.flush()
    }

    fn tidy(&self, flush: bool) -> Result<bool> {
        self.care()?.tidy(flush)
    }

    fn reclaim_before(&self, extent: Extent, sequence: u64) -> Result<()> {
        self.care()?.reclaim_before(extent, sequence)?;
        // The newest checkpoint has none of the bytes; the log up to it and all older checkpoints go.
        self.checkpoint(1).map(drop).map_err(|error| match error {
            ClusterError::Store(error) => error,
            error => StoreError::Held(format!("the bucket still has them: {error}")),
        })
    }

    fn empty_spare_logs(&self) -> Result<()> {
        self.care()?.empty_spare_logs()
    }

    fn checkpoint(&self, folder: &Path) -> Result<Option<Box<dyn Checkpoint>>> {
        self.care()?.checkpoint(folder)
    }

    fn record_checksums(&self) -> Result<()> {
        self.care()?.record_checksums()
    }

    fn verify(&self) -> Result<Vec<Damage>> {
        self.care()?.verify()
    }

    fn torn_tail(&self) -> Option<&LogHole> {
        self.inner.upkeep()?.torn_tail()
    }

    fn memory(&self) -> Result<StoreMemory> {
        self.care()?.memory()
    }

    fn release_cache(&self) {
        if let Some(care) = self.inner.upkeep() {
            care.release_cache();
        }
    }

    fn estimate(&self, table: Table, from: &[u8], to: &[u8]) -> Result<Option<Estimate>> {
        self.care()?.estimate(table, from, to)
    }
}

/// Brings an entry of the log into a copy.
///
/// # Errors
/// `Corrupt` for an entry of a newer program; those of the store.
pub fn apply(store: &dyn Store, log: &dyn Log, slot: u64, entry: &crate::Entry) -> crate::Result<()> {
    for bytes in entry.batches() {
        let batch = crate::encoding::decode_batch(bytes).map_err(|what| ClusterError::Corrupt {
            place: log.address().into(),
            object: format!("groups/0/log/{slot:020}"),
            what,
            remedy: "use a newer Nuthatch on this node",
        })?;
        store.write(batch)?;
    }
    Ok(())
}
