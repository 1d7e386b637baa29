//! Making the remaining keyspaces consistent again after the store has lost a part.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;

use nuthatch_store::{Batch, Direction, Reader, Shard, Table};

use crate::Result;
use crate::cache;
use crate::catalog::{self, COUNTERS};
use crate::database::Registry;
use crate::durability::Durability;
use crate::facts;
use crate::graph;
use crate::kv::{Body, Counters, KeyspaceMeta, Kind, Stored, keyspace_key};
use crate::scan::{first_shard, until_error};
use crate::tenant::DEFAULT;
use crate::tree::{self, TREES};

/// Changes of one batch.
const MENDED_AT_ONCE: usize = 10_000;

impl Registry {
    /// Keyspaces whose catalog entry was lost come back as `recovered-N`. No later collection or keyspace gets their number.
    pub(crate) fn restore_keyspaces(&self) -> Result<()> {
        let mut batch = Batch::new();
        let mut lasts: BTreeMap<u32, u32> = BTreeMap::new();
        let mut from = Vec::new();
        while let Some(shard) = first_shard(&self.shared.store, Table::Kv, &from, &[])? {
            from = shard.end();
            if !self.keyspaces(shard.tenant)?.iter().any(|known| known.shard == shard) {
                let recovered = format!("recovered-{}", shard.collection);
                let (kind, name) = if tree::looks_like_trees(&self.shared.store, shard)? {
                    (Kind::Trees, TREES.to_string())
                } else if cache::looks_like_cache(&self.shared.store, shard)? {
                    (Kind::Cache, recovered)
                } else if facts::looks_like_facts(&self.shared.store, shard)? {
                    (Kind::Facts, recovered)
                } else if graph::looks_like_one(&self.shared.store, shard)? {
                    (Kind::Graph, recovered)
                } else {
                    (Kind::Plain, recovered)
                };
                let meta = KeyspaceMeta::new(shard.collection, kind);
                batch.put(Table::Catalog, keyspace_key(shard.tenant, &name), catalog::encode(&meta));
            }
            let last = lasts.entry(shard.tenant).or_insert(catalog::last_id(&self.shared.store, shard.tenant)?);
            *last = shard.collection.max(*last);
        }
        lasts.into_iter().for_each(|(tenant, last)| catalog::put_last_id(&mut batch, tenant, last));
        let position = self.shared.write(batch)?;
        self.shared.make_durable(position, Durability::Commit)
    }

    /// Removes keys whose large value was lost and large values whose key was, and makes expiring keys expire again.
    /// Returns how many keys it removed; keys that a lost file held cannot be counted.
    pub(crate) fn mend_keyspace(&self, shard: Shard, kind: Kind) -> Result<u64> {
        let mut batch = Batch::new();
        let (mut referenced, mut lost) = (HashSet::new(), 0);
        let mut counters = Counters::default();
        let (from, to) = (shard.prefix(), shard.end());
        let mut mend = |key: &[u8], value: &[u8]| -> Result<()> {
            let stored = Stored::decode(value.to_vec())?;
            if let Body::Large { number, .. } = stored.body {
                if self.shared.store.get(Table::Blobs, &shard.number_key(number))?.is_none() {
                    batch.delete(Table::Kv, key.to_vec());
                    lost += 1;
                    return self.write_when_long(&mut batch);
                }
                referenced.insert(number);
            }
            counters.keys += 1;
            counters.bytes += stored.counted_bytes(Shard::suffix(key).len());
            if let Some(at) = stored.expires_at_ms {
                let entry = [&shard.number_key(at), Shard::suffix(key)].concat();
                if self.shared.store.get(Table::Expiry, &entry)?.is_none() {
                    batch.put(Table::Expiry, entry, Vec::new());
                }
            }
            self.write_when_long(&mut batch)
        };
        until_error(
            |visit| self.shared.store.scan(Table::Kv, &from, &to, Direction::Forward, visit),
            |key, value| mend(key, value).map(ControlFlow::Continue),
        )?;
        self.shared.store.scan(Table::Blobs, &from, &to, Direction::Forward, &mut |key, value| {
            if kind == Kind::Trees {
                counters.bytes += value.len() as u64; // the trees have looked after these
                return ControlFlow::Continue(());
            }
            let number = Shard::suffix(key).try_into().map(u64::from_be_bytes);
            if !number.is_ok_and(|number| referenced.contains(&number)) {
                batch.delete(Table::Blobs, key.to_vec());
            }
            ControlFlow::Continue(())
        })?;
        if shard.tenant != DEFAULT {
            batch.put(Table::Catalog, shard.key(COUNTERS), catalog::encode(&counters));
        }
        let position = self.shared.write(batch)?;
        self.shared.make_durable(position, Durability::Commit)?;
        Ok(lost)
    }

    fn write_when_long(&self, batch: &mut Batch) -> Result<()> {
        match batch.len() < MENDED_AT_ONCE {
            true => Ok(()),
            false => self.shared.write(std::mem::take(batch)).map(drop),
        }
    }
}
