//! The open collections, keyspaces, tenants and snapshots of a folder, and their owners.
//!
//! **Useful for** finding one of them by its tenant and name, and for what concerns all that are open. **Not for** the store and the
//! memory that they share: that is the [`Runtime`]'s, which stands below them.
//!
//! **Invariant:** a thread that makes, opens or drops one holds the catalog's lock.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, RwLock};

use crate::Result;
use crate::collection::Core;
use crate::database::opened::Opened;
use crate::index::{self, MakeIndex};
use crate::kv::{Kind, Space};
use crate::runtime::{OpenCollections, Runtime};
use crate::snapshot::{Lookup, Snapshots};
use crate::tenant::{DEFAULT, Tenant, TenantLimits};

/// Fresh rows of a collection that are worth sealing at close: fewer are replayed faster than sealed.
pub(crate) const CLOSE_FLUSH_ROWS: usize = 512;

pub(crate) struct Registry {
    pub shared: Arc<Runtime>,
    pub collections: Mutex<Opened<Arc<Core>>>,
    pub spaces: Mutex<Opened<Arc<Space>>>,
    /// By number: the default tenant, and those that were used since opening. Dropped ones stay, so that no call
    /// recreates them.
    pub tenants: Mutex<HashMap<u32, Arc<Tenant>>>,
    /// One tenant is dropped at a time.
    pub dropping: Mutex<()>,
    /// Catalog changes, one at a time.
    pub catalog: Mutex<()>,
    /// One backup at a time.
    pub backing_up: Mutex<()>,
    pub snapshots: Snapshots,
    /// Constructors of a collection's indexes, called when it is opened.
    pub indexes: RwLock<Vec<MakeIndex>>,
}

impl Registry {
    pub fn new(shared: Runtime) -> Arc<Self> {
        let default_tenant = Tenant::new(DEFAULT, String::new(), TenantLimits::default());
        let registry = Arc::new(Self {
            shared: Arc::new(shared),
            collections: Mutex::default(),
            spaces: Mutex::default(),
            tenants: Mutex::new([(DEFAULT, Arc::new(default_tenant))].into()),
            dropping: Mutex::default(),
            catalog: Mutex::default(),
            backing_up: Mutex::default(),
            snapshots: Snapshots::default(),
            indexes: RwLock::new(index::OWN.to_vec()),
        });
        let open: Weak<dyn OpenCollections> = Arc::<Self>::downgrade(&registry);
        registry.shared.set_open(open);
        registry
    }

    pub fn open_collections(&self) -> Vec<Arc<Core>> {
        self.collections.lock().all()
    }

    pub fn close(&self) -> Result<()> {
        // While writes are still taken.
        let counted = if self.shared.check_open().is_ok() { self.write_counts() } else { Ok(()) };
        if !self.shared.begin_close() {
            return Ok(());
        }
        let outcome = self.settle().and(counted);
        self.snapshots.close(); // each holds the store open
        self.shared.store.close();
        self.collections.lock().clear();
        self.spaces.lock().clear();
        self.shared.release_folder();
        outcome
    }

    fn settle(&self) -> Result<()> {
        for core in self.open_collections() {
            if core.state.read().fresh_rows() >= CLOSE_FLUSH_ROWS {
                core.flush()?;
            }
        }
        self.shared.store.settle()
    }
}

impl OpenCollections for Registry {
    fn fresh_bytes(&self) -> u64 {
        self.open_collections().iter().map(|core| core.state.read().fresh_bytes()).sum()
    }

    fn flush(&self) -> Result<()> {
        self.open_collections().iter().try_for_each(|core| core.flush())
    }

    fn fit(&self) {
        self.fit_into(self.shared.memory.budget.rest_bytes, self.shared.memory.budget.lendable_bytes());
        self.shared.memory.fit_cache();
    }
}

impl Lookup for Registry {
    fn open_collections_of(&self, tenant: u32) -> Vec<Arc<Core>> {
        self.collections.lock().all_of(tenant)
    }

    fn collection(&self, tenant: &Arc<Tenant>, name: &str) -> Result<Arc<Core>> {
        self.existing_core(tenant, name)
    }

    fn keyspace(&self, tenant: &Arc<Tenant>, name: &str, kind: Kind, create: bool) -> Result<Arc<Space>> {
        self.space(tenant, name, kind, create)
    }
}
