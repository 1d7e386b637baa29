//! What all collections of a database share: the store, the cache, the budget, the lock.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use nuthatch_embed::{Embedder, Model};
use nuthatch_segment::BlockCache;
use nuthatch_store::{Damage, Direction, OwnedSnapshot, Reader, Store, StoreError, Table, Visit};
use parking_lot::{Condvar, MappedRwLockReadGuard, Mutex, RwLock, RwLockReadGuard};

use crate::below::remove_below;
use crate::collection::Core;
use crate::database::opened::Opened;
use crate::database::pressure::Gauge;
use crate::database::priority::PriorityInheritance;
use crate::database::stores;
use crate::database::syncer::Syncer;
use crate::database::{MemoryPool, Reservation};
use crate::embedder::EmbedderMeta;
use crate::folder::Folder;
use crate::kv::Space;
use crate::lock::FolderLock;
use crate::options::{Budget, Options};
use crate::snapshot::Snapshots;
use crate::tenant::{DEFAULT, Tenant, TenantLimits};
use crate::{Error, ErrorKind, Result};

/// Dimension of the built-in default model; known without loading it.
const DEFAULT_MODEL_DIM: usize = 384;
/// Fresh rows of a collection that are worth sealing at close: fewer are replayed faster than sealed.
pub(crate) const CLOSE_FLUSH_ROWS: usize = 512;
/// How long a writer waits for room before it says so.
const ROOM_WAIT_MAX: Duration = Duration::from_secs(120);

pub(crate) struct Shared {
    pub folder: Folder,
    pub options: Options,
    pub budget: Budget,
    /// `None` once closed. Readers share it; closing waits for them.
    store: RwLock<Option<Arc<dyn Store>>>,
    /// Shared by a write to one collection or keyspace, from reading what it replaces until searches see it; held alone by what
    /// concerns several: batches over them, snapshots, transactions.
    pub commit: RwLock<()>,
    /// Damage seen before opening that the store has put right itself since; for the doctor to tell.
    pub noticed: Vec<Damage>,
    /// The default tenant's handle of the cache; of others, [`Self::cache_of`].
    pub cache: Arc<BlockCache>,
    /// Of the tenants that have a collection open.
    caches: Mutex<HashMap<u32, Weak<BlockCache>>>,
    pub collections: Mutex<Opened<Arc<Core>>>,
    pub spaces: Mutex<Opened<Arc<Space>>>,
    /// By number: the default tenant, and those that were asked for since opening. Dropped ones stay, so that nobody makes them anew.
    pub tenants: Mutex<HashMap<u32, Arc<Tenant>>>,
    /// One tenant is dropped at a time.
    pub dropping: Mutex<()>,
    /// Catalog changes, one at a time.
    pub catalog: Mutex<()>,
    embedders: RwLock<HashMap<String, Arc<dyn Embedder>>>,
    closed: AtomicBool,
    /// The same as [`Signal::stop`], for those who look often.
    pub stopping: AtomicBool,
    /// Somebody called since background work last looked.
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
    pub snapshots: Snapshots,
    lock: Mutex<Option<FolderLock>>,
    /// Held by whoever uses the share of the budget for work: a text commit or merge, the columns of a segment. Nothing is asked for while
    /// it is held.
    pub working: Mutex<()>,
    pub answer_memory: MemoryPool,
    /// What batches hold that are being written.
    pub write_memory: MemoryPool,
    /// By how much open indexes are over their share.
    pub index_memory_over_bytes: AtomicU64,
    /// One backup at a time.
    pub backing_up: Mutex<()>,
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
impl Reader for Shared {
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

impl Shared {
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
        let default_tenant = Tenant::new(DEFAULT, String::new(), TenantLimits::default());
        Ok(Self {
            cache: BlockCache::new(budget.block_cache_bytes),
            caches: Mutex::default(),
            store: RwLock::new(Some(store)),
            commit: RwLock::default(),
            noticed,
            folder,
            options,
            budget,
            collections: Mutex::default(),
            spaces: Mutex::default(),
            tenants: Mutex::new([(DEFAULT, Arc::new(default_tenant))].into()),
            dropping: Mutex::default(),
            catalog: Mutex::default(),
            embedders: RwLock::default(),
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
            snapshots: Snapshots::default(),
            lock: Mutex::new(Some(lock)),
            working: Mutex::new(()),
            answer_memory: MemoryPool::new(budget.answer_bytes()),
            write_memory: MemoryPool::new(budget.write_bytes()),
            index_memory_over_bytes: AtomicU64::new(0),
            backing_up: Mutex::new(()),
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

    pub fn open_collections(&self) -> Vec<Arc<Core>> {
        self.collections.lock().all()
    }

    pub fn open_collections_of(&self, tenant: u32) -> Vec<Arc<Core>> {
        self.collections.lock().all_of(tenant)
    }

    /// Dimension that a text query's vector would have without any other embedder.
    pub fn default_dim(&self) -> usize {
        DEFAULT_MODEL_DIM
    }

    /// The embedder that a collection was made with, or the built-in default for a new one.
    pub fn stored_embedder(&self, stored: Option<&EmbedderMeta>) -> Result<Arc<dyn Embedder>> {
        if let Some(stored) = stored
            && let Some(known) = self.embedders.read().get(&stored.fingerprint)
        {
            return Ok(known.clone());
        }
        let other = |stored: &EmbedderMeta| {
            Error::new(
                ErrorKind::Unavailable,
                format!(
                    "this collection was created with embedder {:?} (fingerprint {}), which is not built in; pass it \
                    when you open the collection",
                    stored.name, stored.fingerprint
                ),
            )
        };
        // By its name, so that a collection of the static model need not name it again.
        let named = stored.and_then(|stored| Model::named(&stored.name));
        match (self.installed_embedder(named.unwrap_or_default()), stored) {
            (Ok(installed), Some(stored)) if stored.fingerprint != installed.fingerprint() => Err(other(stored)),
            // Without the built-in model, what is missing is still the caller's embedder.
            (Err(_), Some(stored)) if named.is_none() => Err(other(stored)),
            (installed, _) => installed,
        }
    }

    /// An installed model, opened once for all collections.
    pub fn installed_embedder(&self, model: Model) -> Result<Arc<dyn Embedder>> {
        // No fingerprint is a model's name: it begins with the embedder's kind and a colon.
        if let Some(known) = self.embedders.read().get(model.name()) {
            return Ok(known.clone());
        }
        let mut embedders = self.embedders.write();
        if let Some(known) = embedders.get(model.name()) {
            return Ok(known.clone());
        }
        let embedder = model.open(&self.options.model_dirs)?;
        embedders.insert(model.name().into(), embedder.clone());
        Ok(embedder)
    }

    /// Remembers an embedder that a caller gave, so that other handles of its collections find it.
    pub fn remember_embedder(&self, embedder: &Arc<dyn Embedder>) {
        self.embedders.write().insert(embedder.fingerprint().to_string(), embedder.clone());
    }

    /// Bytes that loaded embedding models take, beside the budget.
    pub fn embedder_bytes(&self) -> u64 {
        let embedders = self.embedders.read();
        let mut seen: Vec<&str> = Vec::new();
        let mut bytes = 0;
        for embedder in embedders.values() {
            if !seen.contains(&embedder.fingerprint()) {
                seen.push(embedder.fingerprint());
                bytes += embedder.resident_bytes();
            }
        }
        bytes
    }

    /// Bytes of fresh rows over all open collections. The caller must hold no collection's state.
    pub fn fresh_bytes(&self) -> u64 {
        self.open_collections().iter().map(|core| core.state.read().fresh_bytes()).sum()
    }

    fn fresh_is_over(&self, core: &Core) -> bool {
        self.fresh_bytes() > self.budget.fresh_bytes || core.state.read().fresh_rows() > 2 * self.options.fresh_rows_max
    }

    /// Makes a writer wait while the fresh rows are over their share of the budget.
    pub fn wait_for_room(&self, core: &Core) -> Result<()> {
        if !self.fresh_is_over(core) {
            return Ok(());
        }
        if !self.options.background {
            return self.open_collections().iter().try_for_each(|core| core.flush());
        }
        let deadline = Instant::now() + ROOM_WAIT_MAX;
        let _waiting = self.sealer_priority.wait();
        let mut signal = self.signal.lock();
        let mut wakes = true;
        loop {
            // Not whenever there is news: the merging thread tells that it found nothing to do, and the two of them would take the
            // processors from the one that seals.
            if wakes {
                signal.wakes += 1;
                self.woken.notify_all();
            }
            wakes = self.relieved.wait_for(&mut signal, Duration::from_millis(200)).timed_out();
            if let Some(error) = &signal.seal_error {
                return Err(error.clone());
            }
            drop(signal);
            self.check_open()?;
            if !self.fresh_is_over(core) {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(Error::new(
                    ErrorKind::Exhausted,
                    format!(
                        "{} bytes of new rows wait for an index, more than their share of {} bytes of the memory \
                        budget, because indexing does not keep up; raise memory_budget or write more slowly",
                        self.fresh_bytes(),
                        self.budget.fresh_bytes
                    ),
                ));
            }
            signal = self.signal.lock();
        }
    }

    /// Room for a batch that changes these collections and is estimated to so many bytes. Its writer waits while fresh rows are over their
    /// share, and while batches under way are over theirs. Nobody has room for a batch while it waits for fresh rows to be sealed:
    /// others may have no need to.
    pub fn reserve_for_batch(&self, cores: &[&Core], bytes: u64) -> Result<Reservation<'_>> {
        loop {
            cores.iter().try_for_each(|core| self.wait_for_room(core))?;
            let reservation = self.reserve_to_write(bytes)?;
            // Others were written meanwhile.
            if !self.options.background || !cores.iter().any(|core| self.fresh_is_over(core)) {
                return Ok(reservation);
            }
        }
    }

    /// Tells maintenance when a collection's fresh rows are worth sealing.
    pub fn wake_maintenance_if_due(&self, core: &Core) {
        if self.fresh_bytes() * 2 > self.budget.fresh_bytes
            || core.state.read().fresh_rows() >= self.options.fresh_rows_max
        {
            self.wake_maintenance();
        }
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

    pub fn close(&self) -> Result<()> {
        if self.closed.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        let outcome = self.settle();
        self.snapshots.close(); // each holds the store open
        *self.store.write() = None;
        self.collections.lock().clear();
        self.spaces.lock().clear();
        self.cache.clear();
        *self.lock.lock() = None;
        self.relieved.notify_all();
        outcome
    }

    fn settle(&self) -> Result<()> {
        for core in self.open_collections() {
            if core.state.read().fresh_rows() >= CLOSE_FLUSH_ROWS {
                core.flush()?;
            }
        }
        let Some(store) = &*self.store.read_recursive() else { return Ok(()) };
        let Some(upkeep) = store.upkeep() else { return Ok(store.sync_all()?) };
        upkeep.flush()?;
        Ok(upkeep.record_checksums()?)
    }

    /// A place where tests that kill the process want to be hit: widened by the environment, free otherwise.
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
