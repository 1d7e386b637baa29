//! Entries of the catalog: the table of small JSON values that says what a folder holds.
//!
//! **Useful for** modules that keep an entry of their own: tenants, collections, keyspaces, sessions. **Not for** what an entry says: that is
//! its owner's.
//!
//! **Invariant:** every key begins with the number of its tenant.

use std::ops::ControlFlow;

use nuthatch_store::{Batch, Direction, Reader, Shard, Table, after_prefix};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::scan::until_error;
use crate::{Error, Result};

/// Under this key of its shard, a collection or keyspace keeps its counters in the catalog: each write changes them.
pub const COUNTERS: &[u8] = b"counters";

/// The last collection id given out among a tenant's: ids are never used again, not even after a drop.
const LAST_ID: &[u8] = b"last-collection";

/// A tenant's catalog entries lie in its collection 0.
pub(crate) fn catalog_of(tenant: u32) -> Shard {
    Shard { tenant, collection: 0 }
}

/// The last id of a collection or keyspace that a tenant was given.
pub(crate) fn last_id(reader: &dyn Reader, tenant: u32) -> Result<u32> {
    Ok(read(reader, &catalog_of(tenant).key(LAST_ID))?.unwrap_or(0))
}

pub(crate) fn put_last_id(batch: &mut Batch, tenant: u32, id: u32) {
    batch.put(Table::Catalog, catalog_of(tenant).key(LAST_ID), encode(&id));
}

pub(crate) fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).expect("catalog entries are plain JSON")
}

pub(crate) fn read<T: DeserializeOwned>(reader: &dyn Reader, key: &[u8]) -> Result<Option<T>> {
    let Some(bytes) = reader.get(Table::Catalog, key)? else {
        return Ok(None);
    };
    decode(&bytes).map(Some)
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes)
        .map_err(|error| Error::internal(format!("a catalog entry cannot be decoded: {error}")))
}

/// Visits the entries in `from..to` whose keys are wanted, in the order of the keys.
fn each<T: DeserializeOwned>(
    reader: &dyn Reader,
    (from, to): (&[u8], &[u8]),
    is_wanted: impl Fn(&[u8]) -> bool,
    mut visit: impl FnMut(&[u8], T),
) -> Result<()> {
    until_error(
        |visit| reader.scan(Table::Catalog, from, to, Direction::Forward, visit),
        |key, value| {
            if is_wanted(key) {
                visit(key, decode(value)?);
            }
            Ok(ControlFlow::Continue(()))
        },
    )
}

/// The entries whose keys begin with `prefix`, by what follows it.
pub(crate) fn listed<T: DeserializeOwned>(reader: &dyn Reader, prefix: &[u8]) -> Result<Vec<(String, T)>> {
    let mut found = Vec::new();
    each(
        reader,
        (prefix, &after_prefix(prefix)),
        |_| true,
        |key, entry| found.push((String::from_utf8_lossy(&key[prefix.len()..]).into_owned(), entry)),
    )?;
    Ok(found)
}

/// Visits the counters of the collections and keyspaces in `from..to`.
pub(crate) fn each_counters<T: DeserializeOwned>(
    reader: &dyn Reader,
    range: (&[u8], &[u8]),
    mut visit: impl FnMut(T),
) -> Result<()> {
    each(reader, range, |key| Shard::suffix(key) == COUNTERS, |_, counters| visit(counters))
}
