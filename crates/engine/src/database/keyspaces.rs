//! Getting, listing and dropping keyspaces, of whatever kind.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use nuthatch_store::{Batch, Extent, Table};

use crate::cache::Cache;
use crate::call::{Call, Outcome};
use crate::catalog::{self, COUNTERS};
use crate::database::{Database, Registry};
use crate::durability::Durability;
use crate::facts::Facts;
use crate::folder::{FORMAT_OF_CACHES, FORMAT_OF_FACTS, FORMAT_OF_GRAPHS, FORMAT_OF_TREES};
use crate::kv::{Counters, Keyspace, KeyspaceMeta, Kind, Listed, Space, keyspace_key, keyspaces};
use crate::name::check_name;
use crate::scan::first_shard;
use crate::tenant::{Delta, Tenant, records};
use crate::tree::TREES;
use crate::{Error, ErrorKind, Result};

impl Database {
    /// The keyspace of that name, made when there is none.
    ///
    /// # Errors
    /// `Invalid` for a name that no keyspace can have, or that a graph has.
    #[cfg(test)]
    pub fn kv(&self, name: &str) -> Result<Keyspace> {
        self.keyspace(name, Kind::Plain, false)
    }

    /// The graph of that name, made when there is none.
    #[cfg(test)]
    pub(crate) fn graph(&self, name: &str) -> Result<crate::graph::Graph> {
        Ok(crate::graph::Graph { keyspace: self.keyspace(name, Kind::Graph, false)? })
    }

    /// The keyspace of that name and kind, made when there is none, unless it must exist.
    pub fn keyspace(&self, name: &str, kind: Kind, must_exist: bool) -> Result<Keyspace> {
        let space = self.inner.registry.space(&self.tenant, name, kind, !must_exist)?;
        Ok(Keyspace { space, durability: Durability::default(), call: self.call.clone() })
    }

    /// The keyspace of the tenant's trees, made when there is none.
    pub fn trees(&self) -> Result<Keyspace> {
        self.keyspace(TREES, Kind::Trees, false)
    }

    /// Names of all keyspaces of a kind, sorted.
    pub fn names_of(&self, kind: Kind) -> Result<Vec<String>> {
        self.check_open()?;
        self.inner.registry.keyspace_names(self.tenant.number, kind)
    }

    /// Deletes all keyspaces of all kinds.
    pub(crate) fn drop_keyspaces(&self) -> Result<()> {
        for listed in self.inner.registry.keyspaces(self.tenant.number)? {
            self.drop_kind(&listed.name, listed.kind)?;
        }
        Ok(())
    }

    /// Deletes a keyspace of that kind with everything in it. False when there is none.
    ///
    /// # Errors
    /// `Invalid` for the name of one of another kind.
    pub fn drop_kind(&self, name: &str, kind: Kind) -> Result<bool> {
        let (shared, registry) = (&self.inner.shared, &self.inner.registry);
        self.check_open()?;
        let tenant = &self.tenant;
        let _catalog = registry.catalog.lock();
        let key = keyspace_key(tenant.number, name);
        let Some(meta) = catalog::read::<KeyspaceMeta>(&*shared.store()?, &key)? else { return Ok(false) };
        kind.check(name, meta.kind)?;
        let position = {
            let _commit = shared.store.commit.write();
            if let Some(space) = registry.spaces.lock().remove(tenant.number, name) {
                space.dropped.store(true, Ordering::SeqCst);
            }
            let shard = tenant.shard(meta.id);
            let counters: Counters = catalog::read(&shared.store, &shard.key(COUNTERS))?.unwrap_or_default();
            let mut batch = Batch::new();
            batch.delete(Table::Catalog, key);
            batch.delete(Table::Catalog, shard.key(COUNTERS));
            for table in [Table::Kv, Table::Blobs, Table::Expiry] {
                batch.delete_range(table, shard.prefix().to_vec(), shard.end());
            }
            self.call.sign(&mut batch, Outcome { dropped: 1, ..Outcome::default() });
            let freed = tenant.reserve(&shared.store, Delta::freeing(0, counters.bytes))?;
            let position = shared.write(batch)?;
            freed.keep();
            position
        };
        shared.background.shrunk.store(true, Ordering::SeqCst);
        shared.make_durable(position, Durability::Commit)?;
        Ok(true)
    }
}

impl Registry {
    /// Returns the state that all handles of a keyspace share.
    pub(crate) fn space(&self, tenant: &Arc<Tenant>, name: &str, kind: Kind, create: bool) -> Result<Arc<Space>> {
        self.shared.check_open()?;
        let known = || -> Result<Option<Arc<Space>>> {
            let Some(space) = self.spaces.lock().get(tenant.number, name).cloned() else { return Ok(None) };
            kind.check(name, space.kind).map(|()| Some(space))
        };
        if let Some(space) = known()? {
            return Ok(space);
        }
        if kind != Kind::Trees {
            check_name(kind.what().name(), name)?;
        }
        let _catalog = self.catalog.lock();
        tenant.check()?;
        if let Some(space) = known()? {
            return Ok(space);
        }
        let stored: Option<KeyspaceMeta> = catalog::read(&*self.shared.store()?, &keyspace_key(tenant.number, name))?;
        let meta = match stored {
            Some(meta) => meta,
            None if create => self.create_keyspace(tenant.number, name, kind)?,
            None => return Err(Error::not_among(kind.what(), name, &self.keyspace_names(tenant.number, kind)?)),
        };
        kind.check(name, meta.kind)?;
        let space = Space::open(self.shared.clone(), tenant.clone(), meta.id, name, kind)?;
        self.spaces.lock().insert(tenant.number, name.to_string(), space.clone());
        Ok(space)
    }

    fn create_keyspace(&self, tenant: u32, name: &str, kind: Kind) -> Result<KeyspaceMeta> {
        match kind {
            Kind::Plain => {}
            Kind::Graph => self.shared.folder.raise_format(FORMAT_OF_GRAPHS)?,
            Kind::Trees => self.shared.folder.raise_format(FORMAT_OF_TREES)?,
            Kind::Cache => self.shared.folder.raise_format(FORMAT_OF_CACHES)?,
            Kind::Facts => self.shared.folder.raise_format(FORMAT_OF_FACTS)?,
        }
        let meta = KeyspaceMeta::new(catalog::last_id(&*self.shared.store()?, tenant)? + 1, kind);
        let mut batch = Batch::new();
        batch.put(Table::Catalog, keyspace_key(tenant, name), catalog::encode(&meta));
        catalog::put_last_id(&mut batch, tenant, meta.id);
        let position = self.shared.write(batch)?;
        self.shared.make_durable(position, Durability::Commit)?;
        Ok(meta)
    }

    /// A tenant's keyspaces of all kinds, by name.
    pub(crate) fn keyspaces(&self, tenant: u32) -> Result<Vec<Listed>> {
        keyspaces(&*self.shared.store()?, tenant)
    }

    /// Names of a tenant's keyspaces of one kind, sorted.
    fn keyspace_names(&self, tenant: u32, kind: Kind) -> Result<Vec<String>> {
        let of_it = self.keyspaces(tenant)?.into_iter().filter(|listed| listed.kind == kind);
        Ok(of_it.map(|listed| listed.name).collect())
    }

    /// Removes what has expired, in every keyspace that is open.
    pub(crate) fn sweep_expired(&self) -> Result<()> {
        let spaces = self.spaces.lock().all();
        spaces.into_iter().try_for_each(|space| match space.kind {
            Kind::Cache => self.cache(space)?.sweep().map(drop),
            Kind::Plain | Kind::Graph | Kind::Trees | Kind::Facts => space.sweep().map(drop),
        })
    }

    /// Writes what the caches that are open have counted since their last write.
    pub(crate) fn write_counts(&self) -> Result<()> {
        let caches = self.spaces.lock().all().into_iter().filter(|space| space.kind == Kind::Cache);
        caches.map(|space| self.cache(space)?.write_counts()).try_for_each(|written| match written {
            Err(error) if error.kind == ErrorKind::NotFound => Ok(()), // dropped meanwhile
            written => written,
        })
    }

    /// Removes a tenant's answers and facts whose sources have changed, so that nothing of erased records is left in them.
    pub(crate) fn remove_outdated(&self, tenant: &Arc<Tenant>) -> Result<()> {
        let derived = |listed: &Listed| matches!(listed.kind, Kind::Cache | Kind::Facts);
        for listed in self.keyspaces(tenant.number)?.into_iter().filter(derived) {
            match self.space(tenant, &listed.name, listed.kind, false) {
                Ok(space) if listed.kind == Kind::Facts => self.facts(space).erase_gone().map(drop)?,
                Ok(space) => self.cache(space)?.remove_outdated().map(drop)?,
                Err(error) if error.kind != ErrorKind::NotFound => return Err(error),
                Err(_) => {} // dropped meanwhile
            }
        }
        Ok(())
    }

    fn facts(&self, space: Arc<Space>) -> Facts {
        Facts { keyspace: Keyspace { space, durability: Durability::Os, call: Call::default() } }
    }

    fn cache(&self, space: Arc<Space>) -> Result<Cache> {
        Cache::of(&Keyspace { space, durability: Durability::default(), call: Call::default() })
    }

    /// Opens the keyspaces in which something expires, so that sweeps see them, and sweeps. Looks at one entry of each of them.
    pub(crate) fn sweep_all_expired(&self, extent: Extent) -> Result<()> {
        let (mut from, to) = extent.bounds();
        let names: HashMap<u32, String> =
            records(&*self.shared.store()?)?.into_iter().map(|(name, record)| (record.id, name)).collect();
        while let Some(shard) = first_shard(&self.shared.store, Table::Expiry, &from, &to)? {
            from = shard.end();
            let Some(tenant) = self.tenant_numbered(shard.tenant, &names)? else { continue };
            if let Some(found) = self.keyspaces(shard.tenant)?.into_iter().find(|listed| listed.shard == shard) {
                match self.space(&tenant, &found.name, found.kind, false) {
                    Err(error) if error.kind != ErrorKind::NotFound => return Err(error),
                    _ => {} // dropped meanwhile
                }
            }
        }
        self.sweep_expired()
    }

    /// The tenant with this number; `None` when it is being dropped, or unknown.
    fn tenant_numbered(&self, number: u32, names: &HashMap<u32, String>) -> Result<Option<Arc<Tenant>>> {
        if let Some(known) = self.tenants.lock().get(&number) {
            return Ok(Some(known.clone()));
        }
        let Some(name) = names.get(&number) else { return Ok(None) };
        match self.tenant_record(name) {
            Ok(record) if record.id == number => Ok(Some(self.tenant_of(name, &record))),
            Err(error) if error.kind != ErrorKind::NotFound => Err(error),
            Ok(_) | Err(_) => Ok(None),
        }
    }
}
