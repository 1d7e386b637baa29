//! Dropping a tenant: gone for everybody at once, and then from every file.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use nuthatch_store::{Batch, Extent, Table};
use serde::Deserialize;

use crate::call::Outcome;
use crate::catalog;
use crate::database::{Database, Receipt, Reclaiming, Registry};
use crate::durability::Durability;
use crate::tenant::{DEFAULT, Record, Tenant, record_key, records};
use crate::{Error, Result, What};

/// Of the counters of a collection; those of keyspaces have none.
#[derive(Deserialize)]
struct Rows {
    #[serde(default)]
    rows: u64,
}

impl Database {
    /// Deletes a tenant with everything that it has, and leaves none of its bytes behind: it rewrites every file that
    /// may hold some, as [`reclaim`](Self::reclaim) does. The tenant's handles say `NotFound` from the beginning on.
    /// The receipt keeps the tenant's name, and earlier receipts keep names of its collections.
    ///
    /// # Errors
    /// `NotFound` for an unknown tenant; `Invalid` for a scoped handle; `Conflict` when an earlier export or a very
    /// long read is in the way. The data is deleted then, but its bytes may remain: a second call continues where it
    /// ended.
    pub fn drop_tenant(&self, name: &str) -> Result<Receipt> {
        let registry = self.administrator("dropping a tenant")?;
        let shared = &registry.shared;
        let _one_at_a_time = registry.dropping.lock();
        let stored: Option<Record> = catalog::read(&shared.store, &record_key(name))?;
        let Some(record) = stored else { return Err(Error::not_among(What::Tenant, name, &self.tenant_names()?)) };
        let tenant = registry.tenant_of(name, &record);
        let work = Reclaiming::begin(registry, Some(&tenant))?;
        let records = registry.delete_tenant(&tenant, name, record)?;
        let folder = shared.folder.indexes_of(tenant.number);
        match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(Error::io(&folder, &error)),
            _ => {}
        }
        let receipt = work.finish(tenant.extent(), None, Some(records))?;
        let mut batch = Batch::new();
        batch.delete(Table::Catalog, record_key(name));
        self.call.sign(&mut batch, Outcome { dropped: 1, ..Outcome::default() });
        let position = shared.write(batch)?;
        shared.make_durable(position, Durability::Commit)?;
        Ok(receipt)
    }

    /// Deletes every tenant but this one, and leaves none of their bytes behind. For a copy of a folder that is to hold one tenant.
    pub(crate) fn delete_other_tenants(&self, wanted: u32) -> Result<()> {
        let registry = self.administrator("dropping a tenant")?;
        let shared = &registry.shared;
        let mut batch = Batch::new();
        for (name, record) in records(&shared.store)?.into_iter().filter(|(_, record)| record.id != wanted) {
            let tenant = registry.tenant_of(&name, &record);
            registry.delete_tenant(&tenant, &name, record)?;
            batch.delete(Table::Catalog, record_key(&name));
        }
        let position = shared.write(batch)?;
        shared.make_durable(position, Durability::Commit)?;
        if wanted != DEFAULT {
            for name in self.collection_names()? {
                self.drop_collection(&name)?;
            }
            self.drop_keyspaces()?;
        }
        self.remove_orphans()?;
        let store = shared.store()?;
        match store.upkeep() {
            Some(upkeep) => Ok(upkeep.reclaim_before(Extent::Everything, store.latest())?),
            None => Ok(()),
        }
    }

    /// The receipt of the last time that a tenant of this name was dropped.
    pub(crate) fn receipt_of_drop(&self, name: &str) -> Result<Receipt> {
        let of_it = |receipt: &Receipt| receipt.tenant.as_deref() == Some(name) && receipt.deleted_records.is_some();
        let found = self.receipts()?.into_iter().rev().find(of_it);
        found.ok_or_else(|| {
            Error::not_found(format!("tenant {name:?} was dropped, and its receipt has been deleted"))
                .about(What::Receipt, name)
        })
    }
}

impl Registry {
    /// Deletes everything of a tenant in one batch; says how many records there were.
    fn delete_tenant(&self, tenant: &Arc<Tenant>, name: &str, record: Record) -> Result<u64> {
        let _catalog = self.catalog.lock();
        tenant.set_dropped();
        let cores = self.collections.lock().remove_all_of(tenant.number);
        // A merge that is under way ends at its next look round.
        cores.iter().for_each(|core| core.dropped.store(true, Ordering::SeqCst));
        for space in self.spaces.lock().remove_all_of(tenant.number) {
            space.dropped.store(true, Ordering::SeqCst);
        }
        self.snapshots.end_all_of(tenant);
        let _merging: Vec<_> = cores.iter().map(|core| core.index_work.merging.lock()).collect();
        let _work: Vec<_> = cores.iter().map(|core| core.index_work.work.lock()).collect();
        let position = {
            let _commit = self.shared.store.commit.write();
            let _writers: Vec<_> = cores.iter().map(|core| core.writer.lock()).collect();
            let records = record.dropping.unwrap_or(self.records_of(tenant)?);
            let mut batch = Batch::new();
            let (from, to) = tenant.extent().bounds();
            for table in Table::ALL {
                batch.delete_range(table, from.clone(), to.clone());
            }
            Record { dropping: Some(records), ..record }.put(&mut batch, name);
            (self.shared.write(batch)?, records)
        };
        self.shared.background.shrunk.store(true, Ordering::SeqCst);
        self.shared.make_durable(position.0, Durability::Commit)?;
        Ok(position.1)
    }

    /// Records of all collections of a tenant.
    fn records_of(&self, tenant: &Tenant) -> Result<u64> {
        let (from, to) = (tenant.catalog().end(), tenant.extent().bounds().1);
        let mut records = 0;
        catalog::each_counters(&self.shared.store, (&from, &to), |counters: Rows| records += counters.rows)?;
        Ok(records)
    }
}
