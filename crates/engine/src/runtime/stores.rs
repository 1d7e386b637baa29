//! The store under a database. No other module of the engine names an implementation.

use std::path::Path;
use std::sync::Arc;

use nuthatch_store::{Damage, MemoryStore, RocksStore, Store, StoreOptions, verify_small};

use crate::Result;
use crate::folder::Folder;
use crate::options::Budget;

/// Memory of a store that rows are copied into.
const COPYING: StoreOptions = StoreOptions { cache_bytes: 2 << 20, write_buffer_bytes: 2 << 20 };

/// The store of a data folder. Its caller holds the folder's lock.
pub(crate) fn open(folder: &Folder, budget: &Budget) -> Result<Arc<dyn Store>> {
    Ok(Arc::new(RocksStore::open(&folder.store(), budget.store)?))
}

/// The store of a `:memory:` database.
pub(crate) fn in_memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new())
}

/// Damage that opening the folder's store would repair silently.
pub(crate) fn damage_before_opening(folder: &Folder) -> Result<Vec<Damage>> {
    Ok(verify_small(&folder.store())?)
}

/// An empty store of files in `folder`, for rows of another one.
pub(crate) fn for_copy(folder: &Path) -> Result<Arc<dyn Store>> {
    Ok(Arc::new(RocksStore::open(folder, COPYING)?))
}
