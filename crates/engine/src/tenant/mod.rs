//! Tenants: several owners of data in one folder, each with collections and keyspaces of its own.
//!
//! **Useful for** services: thousands of customers who never see each other, most of them asleep; limits; dropping one of them
//! wholly.
//! **Not for** credentials and requests a second: those are the servers', which keep their settings here.
//!
//! **Invariant:** every key that a handle makes begins with the number of its tenant, so a scoped handle cannot name what is
//! another's; what a tenant stores never passes its limits, whatever the number of writers.

mod catalog;
mod limits;
mod quota;

use std::sync::atomic::{AtomicBool, Ordering};

use nuthatch_store::{Batch, Extent, Shard};
use parking_lot::{Mutex, RwLock};
use serde::{Deserialize, Serialize};

pub(crate) use catalog::{Record, last_number, put_last_number, record_in, record_key, records};
pub use limits::{TenantInfo, TenantLimits, TenantUsage};
pub(crate) use quota::{Delta, summed};

use crate::catalog::catalog_of;
use crate::{Error, Result, What};

/// The tenant that every folder has. It has no name and no limits, and its handle is the administrator's.
pub const DEFAULT: u32 = 0;

/// The state that all handles of one tenant share.
pub(crate) struct Tenant {
    pub number: u32,
    /// Empty for the default tenant.
    pub name: String,
    limits: RwLock<TenantLimits>,
    /// `None`: not added up yet.
    usage: Mutex<Option<TenantUsage>>,
    dropped: AtomicBool,
}

/// Which tenant, in another process: the number tells it from one of the same name that was made after it was dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenantPlace {
    /// The name that it had when it was found.
    pub name: String,
    /// Its number, which is never used again.
    pub number: u32,
}

impl Tenant {
    pub fn new(number: u32, name: String, limits: TenantLimits) -> Self {
        let limits = RwLock::new(limits);
        Self { number, name, limits, usage: Mutex::default(), dropped: AtomicBool::new(false) }
    }

    pub fn is_default(&self) -> bool {
        self.number == DEFAULT
    }

    pub fn place(&self) -> TenantPlace {
        TenantPlace { name: self.name.clone(), number: self.number }
    }

    /// Where its catalog entries lie.
    pub fn catalog(&self) -> Shard {
        catalog_of(self.number)
    }

    pub fn shard(&self, collection: u32) -> Shard {
        Shard { tenant: self.number, collection }
    }

    /// Whether a batch keeps to the tenant. The default tenant keeps the records of numbered requests of all tenants.
    pub fn owns(&self, batch: &Batch) -> bool {
        let shard = |key| Shard::of(key).filter(|shard| shard.tenant == self.number || *shard == catalog_of(DEFAULT));
        batch.keys().all(|key| shard(key).is_some())
    }

    /// Everything that is its own.
    pub fn extent(&self) -> Extent {
        Extent::Tenant(self.number)
    }

    pub fn limits(&self) -> TenantLimits {
        *self.limits.read()
    }

    /// For every write that begins afterwards.
    pub fn set_limits(&self, limits: TenantLimits) {
        *self.limits.write() = limits;
    }

    /// From here on it refuses everything.
    pub fn set_dropped(&self) {
        self.dropped.store(true, Ordering::SeqCst);
    }

    /// A dropped tenant refuses everything.
    pub fn check(&self) -> Result<()> {
        match self.dropped.load(Ordering::SeqCst) {
            true => Err(dropped(&self.name)),
            false => Ok(()),
        }
    }

    /// How a collection of it is called where those of several tenants stand side by side. Names have no slash in them.
    pub fn label(&self, collection: &str) -> String {
        match self.is_default() {
            true => collection.to_string(),
            false => format!("{}/{collection}", self.name),
        }
    }
}

pub(crate) fn dropped(name: &str) -> Error {
    Error::dropped(What::Tenant, name)
}
