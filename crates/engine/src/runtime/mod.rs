//! What everything that is open in a folder works with: the store, the cache, the budget, the lock, and the wake-ups of background work.
//!
//! **Useful for** collections and keyspaces, which reach the store and share memory through it. **Not for** finding one of them: that is
//! the registry's, in `database/`.
//!
//! **Invariant:** it knows no collection and no keyspace. What it asks of all open collections goes through [`OpenCollections`].

mod embedders;
mod memory_pool;
mod pressure;
mod priority;
pub(crate) mod stores;
mod syncer;

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use nuthatch_segment::BlockCache;
use nuthatch_store::{Damage, Direction, OwnedSnapshot, Reader, Store, StoreError, Table, Visit};
use parking_lot::{Condvar, MappedRwLockReadGuard, Mutex, RwLock, RwLockReadGuard};

pub use memory_pool::WriteReservation;
pub(crate) use memory_pool::{MemoryPool, Reservation, RowLength, SMALL_BYTES_MAX, in_memory, in_the_end};
pub(crate) use pressure::Throttle;
pub(crate) use priority::yield_to_others;
pub(crate) use syncer::start as start_syncer;

use crate::below::remove_below;
use crate::folder::Folder;
use crate::lock::FolderLock;
use crate::options::{Budget, Options};
use crate::runtime::embedders::Embedders;
use crate::runtime::pressure::Gauge;
use crate::runtime::priority::PriorityInheritance;
use crate::runtime::syncer::Syncer;
use crate::tenant::DEFAULT;
use crate::{Error, Result};

/// What the collections that are open answer together.
pub(crate) trait OpenCollections: Send + Sync {
    /// Bytes of their fresh rows.
    fn fresh_bytes(&self) -> u64;

    /// Brings everything fresh into their indexes.
    fn flush(&self) -> Result<()>;

    /// Brings what their indexes hold back into the budget.
    fn fit(&self);
}

/// What everything that is open in a folder works with.
pub(crate) struct Runtime {
    pub folder: Folder,
    pub options: Options,
    pub budget: Budget,
    /// `None` once closed. Readers share it; closing waits for them.
    store: RwLock<Option<Arc<dyn Store>>>,
    /// Held shared by a write to one collection or keyspace, from reading what it replaces until searches see it; held
    /// exclusively by operations on several: batches over them, snapshots, transactions.
    pub commit: RwLock<()>,
    /// Damage seen before opening that the store has put right itself since; for the doctor to tell.
    pub noticed: Vec<Damage>,
    /// The default tenant's handle of the cache; of others, [`Self::cache_of`].
    pub cache: Arc<BlockCache>,
    /// Of the tenants that have a collection open.
    caches: Mutex<HashMap<u32, Weak<BlockCache>>>,
    pub embedders: Embedders,
    closed: AtomicBool,
    /// The same as [`Signal::stop`], for those who look often.
    pub stopping: AtomicBool,
    /// A call came in since background work last looked.
    pub used: AtomicBool,
    /// Much was deleted at once: the store is worth tidying.
    pub shrunk: AtomicBool,
    pub gauge: Gauge,
    pub sealer_priority: PriorityInheritance,
    pub signal: Mutex<Signal>,
    pub woken: Condvar,
    /// Told after every round of maintenance.
    pub relieved: Condvar,
    pub syncer: Syncer,
    lock: Mutex<Option<FolderLock>>,
    /// Held by the one user of the budget's share for work: a text commit or merge, the columns of a segment. Its
    /// holder waits for nothing else.
    pub working: Mutex<()>,
    pub answer_memory: MemoryPool,
    /// What batches hold that are being written.
    pub write_memory: MemoryPool,
    /// By how much open indexes are over their share.
    pub index_memory_over_bytes: AtomicU64,
    /// The collections that are open, which stand above.
    open: OnceLock<Weak<dyn OpenCollections>>,
    /// While above 0, no change is trimmed from any log: a backup needs those that its copies of the indexes lack.
    pub log_pins: AtomicUsize,
}

/// What maintenance waits for.
#[derive(Default)]
pub(crate) struct Signal {
    /// Times that there was something to look at.
    pub wakes: u64,
    pub stop: bool,
    /// The last error of sealing or rebuilding, until a round of it succeeds.
    pub seal_error: Option<Error>,
    /// The same of merging.
    pub merge_error: Option<Error>,
    /// The same of making vectors.
    pub embed_error: Option<Error>,
}

/// The store as it is at each call: nothing is held between two of them, so closing waits for a read and no longer.
impl Reader for Runtime {
    fn get(&self, table: Table, key: &[u8]) -> nuthatch_store::Result<Option<Vec<u8>>> {
        self.open_store()?.get(table, key)
    }

    fn multi_get(&self, table: Table, keys: &[Vec<u8>]) -> nuthatch_store::Result<Vec<Option<Vec<u8>>>> {
        self.open_store()?.multi_get(table, keys)
    }

    fn scan(
        &self,
        table: Table,
        from: &[u8],
        to: &[u8],
        direction: Direction,
        visit: &mut Visit<'_>,
    ) -> nuthatch_store::Result<()> {
        self.open_store()?.scan(table, from, to, direction, visit)
    }

    fn scan_once(&self, table: Table, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> nuthatch_store::Result<()> {
        self.open_store()?.scan_once(table, from, to, visit)
    }
}

impl Runtime {
    /// `lock`: the folder's, when the caller has taken it already. `given`: what the rows are in, when that is not the folder.
    pub fn open(
        root: &Path,
        options: Options,
        lock: Option<FolderLock>,
        given: Option<Arc<dyn Store>>,
    ) -> Result<Self> {
        nuthatch_heap::keep_little();
        let budget = Budget::split(options.memory_budget_bytes);
        // The folder's identity is read before the lock is written, so that a foreign folder stays as it was.
        let folder = Folder::open(root, options.must_exist)?;
        let lock = match lock {
            Some(lock) => lock,
            None => FolderLock::take(root, &options.program)?,
        };
        // What a backup that was killed left.
        remove_below(&folder.backing_up())?;
        let (noticed, store) = match given {
            Some(store) => (Vec::new(), store),
            None => (stores::damage_before_opening(&folder)?, stores::open(&folder, &budget)?),
        };
        Ok(Self {
            cache: BlockCache::new(budget.block_cache_bytes),
            caches: Mutex::default(),
            store: RwLock::new(Some(store)),
            commit: RwLock::default(),
            noticed,
            folder,
            embedders: Embedders::new(options.model_dirs.clone()),
            options,
            budget,
            closed: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            used: AtomicBool::new(false),
            shrunk: AtomicBool::new(false),
            gauge: Gauge::default(),
            sealer_priority: PriorityInheritance::default(),
            signal: Mutex::default(),
            woken: Condvar::new(),
            relieved: Condvar::new(),
            syncer: Syncer::default(),
            lock: Mutex::new(Some(lock)),
            working: Mutex::new(()),
            answer_memory: MemoryPool::new(budget.answer_bytes()),
            write_memory: MemoryPool::new(budget.write_bytes()),
            index_memory_over_bytes: AtomicU64::new(0),
            open: OnceLock::new(),
            log_pins: AtomicUsize::new(0),
        })
    }

    /// The store, unless the database is closed.
    pub fn store(&self) -> Result<MappedRwLockReadGuard<'_, dyn Store>> {
        Ok(self.open_store()?)
    }

    fn open_store(&self) -> nuthatch_store::Result<MappedRwLockReadGuard<'_, dyn Store>> {
        // Recursive: a call that reads inside another must not wait for a close that waits for it.
        RwLockReadGuard::try_map(self.store.read_recursive(), Option::as_deref).map_err(|_| StoreError::Closed)
    }

    /// A view of the store as it is now.
    pub fn owned_snapshot(&self) -> Result<OwnedSnapshot> {
        let store = self.store.read_recursive().clone();
        Ok(store.ok_or_else(Error::closed)?.owned_snapshot())
    }

    pub fn check_open(&self) -> Result<()> {
        // Read first: a line of memory that many threads write would slow them all.
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
        match self.closed.load(Ordering::SeqCst) {
            true => Err(Error::closed()),
            false => Ok(()),
        }
    }

    /// A tenant's handle of the cache: what its collections read through it counts as its own.
    pub fn cache_of(&self, tenant: u32) -> Arc<BlockCache> {
        if tenant == DEFAULT {
            return self.cache.clone();
        }
        let mut caches = self.caches.lock();
        if let Some(cache) = caches.get(&tenant).and_then(Weak::upgrade) {
            return cache;
        }
        caches.retain(|_, cache| cache.strong_count() > 0);
        let cache = self.cache.for_another();
        caches.insert(tenant, Arc::downgrade(&cache));
        cache
    }

    /// To be told of what is open, once.
    pub fn set_open(&self, open: Weak<dyn OpenCollections>) {
        self.open.set(open).ok(); // there is one registry
    }

    fn open_collections(&self) -> Option<Arc<dyn OpenCollections>> {
        self.open.get()?.upgrade()
    }

    /// Bytes of fresh rows over all open collections. The caller must hold no collection's state.
    pub fn fresh_bytes(&self) -> u64 {
        self.open_collections().map_or(0, |open| open.fresh_bytes())
    }

    /// Brings everything fresh into the indexes, in this thread.
    pub fn flush(&self) -> Result<()> {
        self.open_collections().map_or(Ok(()), |open| open.flush())
    }

    /// Brings the memory of open collections back into the budget. Call it when that may have grown.
    pub fn fit(&self) {
        if let Some(open) = self.open_collections() {
            open.fit();
        }
    }

    /// Gives the cache the part of its share that no one else has.
    pub fn fit_cache(&self) {
        let lent = self.answer_memory.lent_bytes().saturating_add(self.write_memory.lent_bytes());
        let over = self.index_memory_over_bytes.load(Ordering::Relaxed).saturating_add(lent);
        self.cache.set_capacity(self.budget.block_cache_bytes - over.min(self.budget.lendable_bytes()));
    }

    /// Releases memory whose contents can be read again.
    pub fn release_caches(&self) -> Result<()> {
        self.cache.clear();
        if let Some(upkeep) = self.store()?.upkeep() {
            upkeep.release_cache();
        }
        nuthatch_heap::give_back();
        Ok(())
    }

    pub fn wake_maintenance(&self) {
        self.signal.lock().wakes += 1;
        self.woken.notify_all();
    }

    /// Moves a damaged index folder aside, with a note; a missing one is fine.
    #[allow(clippy::disallowed_methods, reason = "a move that a power loss undoes is found necessary again")]
    pub fn quarantine(&self, folder: &Path, why: &str) -> Result<()> {
        let is_empty = || std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
        if !folder.exists() || is_empty() {
            return Ok(());
        }
        let inside = folder.strip_prefix(self.folder.indexes()).unwrap_or(folder);
        let name = inside.to_string_lossy().replace(['/', '\\'], "-");
        let when = self.options.clock.stamp_for_name();
        let aside = self.folder.quarantine().join(format!("{name}-{when}"));
        let io = |error: std::io::Error| Error::io(&aside, &error);
        std::fs::create_dir_all(self.folder.quarantine()).map_err(io)?;
        std::fs::rename(folder, &aside).map_err(io)?;
        std::fs::write(
            aside.join("WHY.txt"),
            format!(
                "{}\nmoved here from {}\nIt can be deleted: the index is rebuilt from the stored records.\n",
                why,
                folder.display()
            ),
        )
        .map_err(io)
    }

    /// True when background work is to end soon.
    pub fn is_stopping(&self) -> bool {
        self.signal.lock().stop
    }

    /// Says in the lock file where the folder is served, or why it is not.
    pub fn announce(&self, socket: std::result::Result<&str, String>) -> Result<()> {
        match &mut *self.lock.lock() {
            Some(lock) => lock.announce(socket),
            None => Err(Error::closed()),
        }
    }

    /// Ends background work and refuses new calls.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.signal.lock().stop = true;
        self.woken.notify_all();
        self.syncer.stop();
    }

    /// Refuses new calls from here on; false when it does already.
    pub fn begin_close(&self) -> bool {
        !self.closed.swap(true, Ordering::SeqCst)
    }

    /// Writes out what the store holds back.
    pub fn settle(&self) -> Result<()> {
        let Some(store) = &*self.store.read_recursive() else { return Ok(()) };
        let Some(upkeep) = store.upkeep() else { return Ok(store.sync_all()?) };
        upkeep.flush()?;
        Ok(upkeep.record_checksums()?)
    }

    /// Waits for the readers of the store, and lets it go.
    pub fn close_store(&self) {
        *self.store.write() = None;
    }

    /// Releases the folder, so that another process may hold it.
    pub fn release_folder(&self) {
        self.cache.clear();
        *self.lock.lock() = None;
        self.relieved.notify_all();
    }

    /// A place at which tests kill the process: an environment variable makes it wait there; otherwise it costs
    /// nothing.
    pub fn crash_point(&self, place: &str) {
        if let Some(millis) = std::env::var("NUTHATCH_TEST_PAUSE").ok().as_deref().and_then(|text| pause(text, place)) {
            std::thread::sleep(Duration::from_millis(millis));
        }
    }
}

/// `seal=5,merge=20` -> the milliseconds of a place.
fn pause(text: &str, place: &str) -> Option<u64> {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs.filter(|(name, _)| *name == place).find_map(|(_, millis)| millis.parse().ok())
}
