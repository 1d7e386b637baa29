//! The database: one folder, its collections, what they share.

mod borrowed;
mod cached;
mod collections;
mod doctor;
mod embedding;
mod grams;
mod idle;
mod index_memory;
mod keyspaces;
mod maintenance;
mod memory;
mod mend_keyspaces;
mod migrate;
mod opened;
mod reclaim;
mod registry;
mod repair;
mod sessions;
mod stats;
mod tenant_dropping;
mod tenants;
mod tree_passages;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use nuthatch_embed::Embedder;
use nuthatch_store::Store;
use parking_lot::Mutex;

pub use crate::runtime::WriteReservation;
pub use doctor::{Doctor, Finding};
pub use memory::ProcessMemory;
pub use migrate::{Migration, MigrationStep};
pub(crate) use reclaim::Reclaiming;
pub use reclaim::{Erase, Receipt, RemovedFile, WrittenFile};
pub(crate) use registry::Registry;
pub use repair::RepairOutcome;
pub use stats::{DiskStats, MemoryStats, Stats};

use crate::call::Call;
use crate::collection::Eagerness;
use crate::lock::FolderLock;
use crate::options::Options;
use crate::runtime::{Runtime, stores};
use crate::snapshot::{Lookup, Snapshot, View};
use crate::tenant::{DEFAULT, Tenant};
use crate::{Error, Result};

/// An open data folder, as one of its tenants sees it. Cheap to clone; closed by [`close`](Self::close) or with the last clone.
#[derive(Clone)]
pub struct Database {
    pub(crate) inner: Arc<Inner>,
    /// The tenant whose data it accesses. The default tenant's handle is also the administrator's.
    pub(crate) tenant: Arc<Tenant>,
    /// The call that it works for. Handles made from it work for the same one.
    pub(crate) call: Call,
}

pub(crate) struct Inner {
    pub shared: Arc<Runtime>,
    pub registry: Arc<Registry>,
    background: Mutex<Vec<JoinHandle<()>>>,
    /// The folder of a `:memory:` database goes with it.
    _temporary: Option<tempfile::TempDir>,
}

impl Database {
    /// Opens a data folder, creating it when it is missing.
    ///
    /// # Errors
    /// `Conflict` when another process (or handle) has it open, naming it; `Corrupt` when the store is damaged, naming the
    /// file; `Invalid` for a folder of something else, a newer format, or a budget under 32 MiB.
    pub fn open(folder: impl AsRef<Path>, options: Options) -> Result<Self> {
        Self::start(folder.as_ref().to_path_buf(), options, None, None, None)
    }

    /// Opens a data folder whose lock the caller has taken.
    pub fn open_locked(folder: &Path, options: Options, lock: FolderLock) -> Result<Self> {
        Self::start(folder.to_path_buf(), options, None, Some(lock), None)
    }

    /// A database that is gone when it is closed. Its rows are in memory, outside of the budget; its index files on a memory file
    /// system where there is one, else in the temporary folder.
    pub fn in_memory(options: Options) -> Result<Self> {
        Self::with_store(stores::in_memory(), options)
    }

    /// A database on the caller's own store, which outlives it. Its index files are as those of a database in memory,
    /// and are built again from the store's rows at the next opening. Nothing else may write to the store while the
    /// database is open.
    pub fn with_store(store: Arc<dyn Store>, options: Options) -> Result<Self> {
        let shm = Path::new("/dev/shm");
        let mut builder = tempfile::Builder::new();
        builder.prefix("nuthatch-");
        let temporary = match shm.is_dir() {
            true => builder.tempdir_in(shm).or_else(|_| builder.tempdir()),
            false => builder.tempdir(),
        }
        .map_err(|error| Error::io(&std::env::temp_dir(), &error))?;
        Self::start(temporary.path().to_path_buf(), options, Some(temporary), None, Some(store))
    }

    fn start(
        folder: PathBuf,
        options: Options,
        temporary: Option<tempfile::TempDir>,
        lock: Option<FolderLock>,
        store: Option<Arc<dyn Store>>,
    ) -> Result<Self> {
        options.check()?;
        let background = options.background;
        let registry = Registry::new(Runtime::open(&folder, options, lock, store)?);
        let inner =
            Inner { shared: registry.shared.clone(), registry, background: Mutex::default(), _temporary: temporary };
        if background {
            maintenance::start(&inner.registry, &mut inner.background.lock())?;
        }
        let tenant = inner.registry.tenants.lock()[&DEFAULT].clone();
        Ok(Self { inner: Arc::new(inner), tenant, call: Call::default() })
    }

    /// The same database, on behalf of somebody.
    pub fn on_behalf_of(&self, call: &Call) -> Self {
        Self { call: call.clone(), ..self.clone() }
    }

    /// Refuses when the database is closed, or the tenant was dropped.
    pub(crate) fn check_open(&self) -> Result<()> {
        self.inner.shared.check_open()?;
        self.tenant.check()
    }

    /// The data folder.
    pub fn folder(&self) -> &Path {
        self.inner.shared.folder.root()
    }

    /// Brings all fresh rows into the indexes and merges what is worth merging, now, in this thread.
    pub fn optimize(&self) -> Result<()> {
        self.check_open()?;
        for core in self.inner.registry.open_collections_of(self.tenant.number) {
            core.flush()?;
            while core.merge(Eagerness::All)? {}
        }
        Ok(())
    }

    /// Everything as it is now, whatever is written later.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let Inner { shared, registry, .. } = &*self.inner;
        let view = View::take(shared, registry.clone(), &registry.snapshots, &self.tenant)?;
        Ok(Snapshot { view, call: self.call.clone() })
    }

    /// When this returns, all earlier writes of every durability are on the disk.
    pub fn sync(&self) -> Result<()> {
        Ok(self.inner.shared.store()?.sync_all()?)
    }

    /// Says in the lock file where the folder is served, or why it is not.
    pub fn announce(&self, socket: std::result::Result<&str, String>) -> Result<()> {
        self.inner.shared.announce(socket)
    }

    /// Remembers an embedder that a caller gave, so that other handles of its collections find it.
    pub fn remember_embedder(&self, embedder: &Arc<dyn Embedder>) {
        self.inner.shared.embedders.remember(embedder);
    }

    /// Finishes background work, writes what is buffered and releases the folder. Calling it again does nothing. Every
    /// other use of this database and its collections says `Closed` from here on.
    pub fn close(&self) -> Result<()> {
        self.inner.close()
    }
}

impl Inner {
    fn close(&self) -> Result<()> {
        let threads = std::mem::take(&mut *self.background.lock());
        self.shared.background.stop();
        let joined = threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| Error::internal("a thread of background work panicked")));
        // The folder is released even if a thread failed.
        self.registry.close().and(joined)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Nobody is left to tell; what was acknowledged is durable either way, and the next open says what is wrong.
        self.close().ok();
    }
}
