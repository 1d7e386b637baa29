//! Getting, listing and dropping keyspaces.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use nuthatch_truth::{Batch, Direction, Extent, Reader, Shard, Table};
use serde::{Deserialize, Serialize};

use crate::collection::meta::{self, COUNTERS};
use crate::database::{Database, Shared, check_name};
use crate::durability::Durability;
use crate::kv::{Counters, Keyspace, Space};
use crate::process::{Done, caller};
use crate::tenant::{Delta, Tenant, catalog_of, records};
use crate::{Error, ErrorKind, Result};

/// What the catalog knows of a keyspace.
#[derive(Serialize, Deserialize)]
pub(crate) struct Meta {
    /// From the same numbers as the collections': it is the second half of the keys' prefix.
    id: u32,
    created: String,
}

impl Meta {
    pub fn new(id: u32) -> Self {
        Self { id, created: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string() }
    }
}

pub(crate) fn meta_key(tenant: u32, name: &str) -> Vec<u8> {
    catalog_of(tenant).key(format!("keyspace/{name}").as_bytes())
}

impl Database {
    /// The keyspace of that name, made when there is none.
    ///
    /// # Errors
    /// `Invalid` for a name that no keyspace can have.
    pub fn kv(&self, name: &str) -> Result<Keyspace> {
        Ok(Keyspace { space: self.inner.shared.space(&self.tenant, name, true)?, durability: Durability::default() })
    }

    /// The keyspace of that name.
    ///
    /// # Errors
    /// `NotFound`, with the names that there are.
    pub fn existing_keyspace(&self, name: &str) -> Result<Keyspace> {
        Ok(Keyspace { space: self.inner.shared.space(&self.tenant, name, false)?, durability: Durability::default() })
    }

    /// Names of all keyspaces, sorted.
    pub fn keyspace_names(&self) -> Result<Vec<String>> {
        self.check_open()?;
        Ok(self.inner.shared.keyspaces(self.tenant.number)?.into_iter().map(|(name, _)| name).collect())
    }

    /// Deletes a keyspace with everything in it. False when there is none.
    pub fn drop_keyspace(&self, name: &str) -> Result<bool> {
        let shared = &self.inner.shared;
        self.check_open()?;
        let tenant = &self.tenant;
        let _catalog = shared.catalog.lock();
        let key = meta_key(tenant.number, name);
        let Some(meta) = meta::read::<Meta>(&*shared.truth()?, &key)? else { return Ok(false) };
        let position = {
            let _commit = shared.commit.write();
            if let Some(space) = shared.spaces.lock().remove(tenant.number, name) {
                space.dropped.store(true, Ordering::SeqCst);
            }
            let shard = tenant.shard(meta.id);
            let counters: Counters = meta::read(&**shared, &shard.key(COUNTERS))?.unwrap_or_default();
            let mut batch = Batch::new();
            batch.delete(Table::Catalog, key);
            batch.delete(Table::Catalog, shard.key(COUNTERS));
            for table in [Table::Kv, Table::Blobs, Table::Expiry] {
                batch.delete_range(table, shard.prefix().to_vec(), shard.end());
            }
            caller::sign(&mut batch, Done { dropped: 1, ..Done::default() });
            let freed = tenant.reserve(&**shared, Delta::freeing(0, counters.bytes))?;
            let position = shared.write(batch)?;
            freed.keep();
            position
        };
        shared.shrunk.store(true, Ordering::SeqCst);
        shared.make_durable(position, Durability::Commit)?;
        Ok(true)
    }
}

impl Shared {
    /// What all handles of a keyspace share.
    pub(crate) fn space(self: &Arc<Self>, tenant: &Arc<Tenant>, name: &str, create: bool) -> Result<Arc<Space>> {
        self.check_open()?;
        if let Some(space) = self.spaces.lock().get(tenant.number, name) {
            return Ok(space.clone());
        }
        check_name("keyspace", name)?;
        let _catalog = self.catalog.lock();
        tenant.check()?;
        if let Some(space) = self.spaces.lock().get(tenant.number, name) {
            return Ok(space.clone());
        }
        let stored: Option<Meta> = meta::read(&*self.truth()?, &meta_key(tenant.number, name))?;
        let meta = match stored {
            Some(meta) => meta,
            None if create => self.create_keyspace(tenant.number, name)?,
            None => {
                let names: Vec<String> = self.keyspaces(tenant.number)?.into_iter().map(|(name, _)| name).collect();
                return Err(Error::not_among("keyspace", name, &names));
            }
        };
        let space = Space::open(self.clone(), tenant.clone(), meta.id, name)?;
        self.spaces.lock().insert(tenant.number, name.to_string(), space.clone());
        Ok(space)
    }

    fn create_keyspace(&self, tenant: u32, name: &str) -> Result<Meta> {
        let meta = Meta::new(meta::last_id(&*self.truth()?, tenant)? + 1);
        let mut batch = Batch::new();
        batch.put(Table::Catalog, meta_key(tenant, name), meta::encode(&meta));
        meta::put_last_id(&mut batch, tenant, meta.id);
        let position = self.write(batch)?;
        self.make_durable(position, Durability::Commit)?;
        Ok(meta)
    }

    /// Names and shards of a tenant's keyspaces, by name.
    pub(crate) fn keyspaces(&self, tenant: u32) -> Result<Vec<(String, Shard)>> {
        keyspaces(&*self.truth()?, tenant)
    }

    /// Removes what has expired, in every keyspace that is open.
    pub(crate) fn sweep_expired(&self) -> Result<()> {
        let spaces = self.spaces.lock().all();
        spaces.iter().try_for_each(|space| space.sweep().map(drop))
    }

    /// Opens the keyspaces in which something expires, so that sweeps see them, and sweeps. Looks at one entry of each of them.
    pub(crate) fn sweep_all_expired(self: &Arc<Self>, extent: Extent) -> Result<()> {
        let (mut from, to) = extent.bounds();
        let names: HashMap<u32, String> =
            records(&*self.truth()?)?.into_iter().map(|(name, record)| (record.id, name)).collect();
        loop {
            let mut found = None;
            self.truth()?.scan(Table::Expiry, &from, &to, Direction::Forward, &mut |key, _| {
                found = Shard::of(key);
                ControlFlow::Break(())
            })?;
            let Some(shard) = found else { break };
            from = shard.end();
            let Some(tenant) = self.tenant_numbered(shard.tenant, &names)? else { continue };
            if let Some((name, _)) = self.keyspaces(shard.tenant)?.into_iter().find(|(_, of)| *of == shard) {
                match self.space(&tenant, &name, false) {
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

/// Names and shards of a tenant's keyspaces that a reader sees, by name.
pub(crate) fn keyspaces(reader: &dyn Reader, tenant: u32) -> Result<Vec<(String, Shard)>> {
    let found = meta::listed::<Meta>(reader, &meta_key(tenant, ""))?;
    Ok(found.into_iter().map(|(name, meta)| (name, Shard { tenant, collection: meta.id })).collect())
}
