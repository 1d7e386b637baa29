//! Getting, listing and dropping keyspaces.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use nuthatch_truth::{Batch, Direction, Reader, Shard, Table};
use serde::{Deserialize, Serialize};

use crate::collection::meta::{self, LAST_ID, TENANT_SHARD};
use crate::database::{Database, Shared, check_name};
use crate::durability::Durability;
use crate::kv::{Keyspace, Space};
use crate::process::{Done, caller};
use crate::{Error, Result};

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

pub(crate) fn meta_key(name: &str) -> Vec<u8> {
    TENANT_SHARD.key(format!("keyspace/{name}").as_bytes())
}

impl Database {
    /// The keyspace of that name, made when there is none.
    ///
    /// # Errors
    /// `Invalid` for a name that no keyspace can have.
    pub fn kv(&self, name: &str) -> Result<Keyspace> {
        Ok(Keyspace { space: self.inner.shared.space(name, true)?, durability: Durability::default() })
    }

    /// The keyspace of that name.
    ///
    /// # Errors
    /// `NotFound`, with the names that there are.
    pub fn existing_keyspace(&self, name: &str) -> Result<Keyspace> {
        Ok(Keyspace { space: self.inner.shared.space(name, false)?, durability: Durability::default() })
    }

    /// Names of all keyspaces, sorted.
    pub fn keyspace_names(&self) -> Result<Vec<String>> {
        self.inner.shared.check_open()?;
        Ok(self.inner.shared.keyspaces()?.into_iter().map(|(name, _)| name).collect())
    }

    /// Deletes a keyspace with everything in it. False when there is none.
    pub fn drop_keyspace(&self, name: &str) -> Result<bool> {
        let shared = &self.inner.shared;
        shared.check_open()?;
        let _catalog = shared.catalog.lock();
        let Some(meta) = meta::read::<Meta>(&*shared.truth()?, &meta_key(name))? else { return Ok(false) };
        let position = {
            let _commit = shared.commit.write();
            if let Some(space) = shared.spaces.lock().remove(name) {
                space.dropped.store(true, Ordering::SeqCst);
            }
            let shard = Shard { tenant: 0, collection: meta.id };
            let mut batch = Batch::new();
            batch.delete(Table::Catalog, meta_key(name));
            for table in [Table::Kv, Table::Blobs, Table::Expiry] {
                batch.delete_range(table, shard.prefix().to_vec(), shard.end());
            }
            caller::sign(&mut batch, Done { dropped: 1, ..Done::default() });
            shared.write(batch)?
        };
        shared.shrunk.store(true, Ordering::SeqCst);
        shared.make_durable(position, Durability::Commit)?;
        Ok(true)
    }
}

impl Shared {
    /// What all handles of a keyspace share.
    pub(crate) fn space(self: &Arc<Self>, name: &str, create: bool) -> Result<Arc<Space>> {
        self.check_open()?;
        if let Some(space) = self.spaces.lock().get(name) {
            return Ok(space.clone());
        }
        check_name("keyspace", name)?;
        let _catalog = self.catalog.lock();
        if let Some(space) = self.spaces.lock().get(name) {
            return Ok(space.clone());
        }
        let stored: Option<Meta> = meta::read(&*self.truth()?, &meta_key(name))?;
        let meta = match stored {
            Some(meta) => meta,
            None if create => self.create_keyspace(name)?,
            None => {
                let names: Vec<String> = self.keyspaces()?.into_iter().map(|(name, _)| name).collect();
                return Err(Error::not_among("keyspace", name, &names));
            }
        };
        let space = Space::open(self.clone(), Shard { tenant: 0, collection: meta.id }, name)?;
        self.spaces.lock().insert(name.to_string(), space.clone());
        Ok(space)
    }

    fn create_keyspace(&self, name: &str) -> Result<Meta> {
        let last: u32 = meta::read(&*self.truth()?, &TENANT_SHARD.key(LAST_ID))?.unwrap_or(0);
        let meta = Meta::new(last + 1);
        let mut batch = Batch::new();
        batch.put(Table::Catalog, meta_key(name), meta::encode(&meta));
        batch.put(Table::Catalog, TENANT_SHARD.key(LAST_ID), meta::encode(&meta.id));
        let position = self.write(batch)?;
        self.make_durable(position, Durability::Commit)?;
        Ok(meta)
    }

    /// Names and shards of all keyspaces, by name.
    pub(crate) fn keyspaces(&self) -> Result<Vec<(String, Shard)>> {
        keyspaces(&*self.truth()?)
    }

    /// Removes what has expired, in every keyspace. `all`: also in those that nobody has opened yet.
    pub(crate) fn sweep_expired(self: &Arc<Self>, all: bool) -> Result<()> {
        if all {
            for (name, shard) in self.keyspaces()? {
                let mut expires = false;
                self.truth()?.scan(Table::Expiry, &shard.prefix(), &shard.end(), Direction::Forward, &mut |_, _| {
                    expires = true;
                    ControlFlow::Break(())
                })?;
                if expires {
                    self.space(&name, true)?;
                }
            }
        }
        let spaces: Vec<_> = self.spaces.lock().values().cloned().collect();
        spaces.iter().try_for_each(|space| space.sweep().map(drop))
    }
}

/// Names and shards of all keyspaces that a reader sees, by name.
pub(crate) fn keyspaces(reader: &dyn Reader) -> Result<Vec<(String, Shard)>> {
    let from = meta_key("");
    let to = TENANT_SHARD.key(b"keyspace0"); // '0' follows '/'
    let (mut found, mut failed) = (Vec::new(), None);
    reader.scan(
        Table::Catalog,
        &from,
        &to,
        Direction::Forward,
        &mut |key, value| match serde_json::from_slice::<Meta>(value) {
            Ok(meta) => {
                let name = String::from_utf8_lossy(&key[from.len()..]).into_owned();
                found.push((name, Shard { tenant: 0, collection: meta.id }));
                ControlFlow::Continue(())
            }
            Err(error) => {
                failed = Some(Error::internal(format!("a catalog entry does not decode: {error}")));
                ControlFlow::Break(())
            }
        },
    )?;
    failed.map_or(Ok(found), Err)
}
