//! The resources of everything that is open in a folder: the store, memory, background work's signals, and the folder's
//! lock.
//!
//! **Useful for** collections and keyspaces, which reach the store and share memory through it. **Not for** finding one of them: that is
//! the registry's, in `database/`.
//!
//! **Invariant:** it knows no collection and no keyspace. Its requests to all open collections go through
//! [`OpenCollections`].

mod background;
mod embedders;
mod memory;
mod memory_pool;
mod open_store;
mod pressure;
mod priority;
mod prompt_signs;
pub(crate) mod stores;
mod syncer;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use nuthatch_store::Store;
use parking_lot::{MappedRwLockReadGuard, Mutex};

pub(crate) use background::Signal;
pub use memory_pool::WriteReservation;
pub(crate) use memory_pool::{MemoryPool, Reservation, RowLength, SMALL_BYTES_MAX, in_memory, in_the_end};
pub(crate) use pressure::Throttle;
pub(crate) use priority::yield_to_others;
pub(crate) use prompt_signs::PromptSigns;
pub(crate) use syncer::start as start_syncer;

use crate::below::remove_below;
use crate::folder::Folder;
use crate::lock::FolderLock;
use crate::options::{Budget, Options, StoreLayer};
use crate::runtime::background::Background;
use crate::runtime::embedders::Embedders;
use crate::runtime::memory::Memory;
use crate::runtime::open_store::OpenStore;
use crate::{Error, Result};

/// The operations on all open collections together.
pub(crate) trait OpenCollections: Send + Sync {
    /// Bytes of their fresh rows.
    fn fresh_bytes(&self) -> u64;

    /// Brings everything fresh into their indexes.
    fn flush(&self) -> Result<()>;

    /// Brings what their indexes hold back into the budget.
    fn fit(&self);
}

/// The resources that everything open in a folder works with.
pub(crate) struct Runtime {
    pub folder: Folder,
    pub options: Options,
    pub store: OpenStore,
    pub memory: Memory,
    pub background: Background,
    pub embedders: Embedders,
    lock: Mutex<Option<FolderLock>>,
    closed: AtomicBool,
    /// A call came in since background work last looked.
    pub used: AtomicBool,
    /// The collections that are open, which stand above.
    open: OnceLock<Weak<dyn OpenCollections>>,
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
        if options.store_layer.is_none() {
            folder.refuse_copy()?;
        }
        let lock = match lock {
            Some(lock) => lock,
            None => FolderLock::take(root, &options.program)?,
        };
        // Removes the remains of a backup that was killed.
        remove_below(&folder.backing_up())?;
        let (noticed, store) = match given {
            Some(store) => (Vec::new(), store),
            None => {
                let open = options.store_layer.as_ref().and_then(StoreLayer::take_open);
                let (noticed, store) = match open {
                    Some(store) => (Vec::new(), store),
                    None => (stores::damage_before_opening(&folder)?, stores::open(&folder, &budget)?),
                };
                (noticed, options.store_layer.iter().fold(store, |store, layer| layer.over(store)))
            }
        };
        Ok(Self {
            folder,
            store: OpenStore::new(store, noticed),
            memory: Memory::new(budget),
            background: Background::default(),
            embedders: Embedders::new(options.model_dirs.clone()),
            options,
            lock: Mutex::new(Some(lock)),
            closed: AtomicBool::new(false),
            used: AtomicBool::new(false),
            open: OnceLock::new(),
        })
    }

    /// The store, unless the database is closed.
    pub fn store(&self) -> Result<MappedRwLockReadGuard<'_, dyn Store>> {
        Ok(self.store.open()?)
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

    /// Releases memory whose contents can be read again.
    pub fn release_caches(&self) -> Result<()> {
        self.memory.cache.clear();
        if let Some(upkeep) = self.store()?.upkeep() {
            upkeep.release_cache();
        }
        nuthatch_heap::give_back();
        Ok(())
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

    /// Says in the lock file where the folder is served, or why it is not.
    pub fn announce(&self, socket: std::result::Result<&str, String>) -> Result<()> {
        match &mut *self.lock.lock() {
            Some(lock) => lock.announce(socket),
            None => Err(Error::closed()),
        }
    }

    /// Refuses new calls from here on; false when it does already.
    pub fn begin_close(&self) -> bool {
        !self.closed.swap(true, Ordering::SeqCst)
    }

    /// Releases the folder, so that another process may hold it.
    pub fn release_folder(&self) {
        self.memory.cache.clear();
        *self.lock.lock() = None;
        self.background.relieved.notify_all();
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
