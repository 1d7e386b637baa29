//! The catalog's entries for keyspaces.

use nuthatch_store::{Reader, Shard};
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::catalog::{self, catalog_of};
use crate::clock::Clock;
use crate::kv::Kind;

/// The catalog's entry of a keyspace.
#[derive(Serialize, Deserialize)]
pub(crate) struct KeyspaceMeta {
    /// From the same numbers as the collections': it is the second half of the keys' prefix.
    pub id: u32,
    created: String,
    #[serde(default, skip_serializing_if = "Kind::is_plain")]
    pub kind: Kind,
}

impl KeyspaceMeta {
    pub fn new(id: u32, kind: Kind) -> Self {
        Self { id, created: Clock::system().stamp(), kind }
    }
}

/// A keyspace that the catalog names.
pub(crate) struct Listed {
    pub name: String,
    pub shard: Shard,
    pub kind: Kind,
}

pub(crate) fn keyspace_key(tenant: u32, name: &str) -> Vec<u8> {
    catalog_of(tenant).key(format!("keyspace/{name}").as_bytes())
}

/// A tenant's keyspaces of all kinds that a reader sees, by name.
pub(crate) fn keyspaces(reader: &dyn Reader, tenant: u32) -> Result<Vec<Listed>> {
    let found = catalog::listed::<KeyspaceMeta>(reader, &keyspace_key(tenant, ""))?.into_iter();
    let listed = |(name, meta): (String, KeyspaceMeta)| {
        let shard = Shard { tenant, collection: meta.id };
        Listed { name, shard, kind: meta.kind }
    };
    Ok(found.map(listed).collect())
}
