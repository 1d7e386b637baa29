//! What the catalog knows of a collection.

use std::collections::BTreeMap;

use nuthatch_truth::{Reader, Shard, Table};
use nuthatch_vector::Metric;
use serde::{Deserialize, Serialize};
use serde::de::DeserializeOwned;

use crate::{Error, Result};

/// Options that are fixed when a collection is made, except that `dim` and `embedder` may be settled by the first use.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Meta {
    pub id: u32,
    pub name: String,
    pub dim: Option<usize>,
    pub metric: String,
    pub language: String,
    /// False: the caller brings every vector and texts are searched by words only, until vectors come.
    pub embeds: bool,
    pub embedder: Option<EmbedderMeta>,
    pub created: String,
    /// Free for later versions; kept when rewritten.
    #[serde(flatten)]
    pub more: BTreeMap<String, serde_json::Value>,
}

/// The embedder that made a collection's vectors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EmbedderMeta {
    pub name: String,
    pub dim: usize,
    pub fingerprint: String,
}

impl Meta {
    pub fn metric(&self) -> Result<Metric> {
        Ok(self.metric.parse()?)
    }
}

/// Numbers that every batch moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counters {
    /// The next row id.
    pub next_row: u64,
    /// The last change.
    pub sequence: u64,
    pub rows: u64,
    pub vectors: u64,
}

pub(crate) const COUNTERS: &[u8] = b"counters";
pub(crate) const SCHEMA: &[u8] = b"schema";

/// Catalog entries of the tenant itself lie in collection 0.
pub(crate) const TENANT_SHARD: Shard = Shard { tenant: 0, collection: 0 };

/// The key of a collection's [`Meta`].
pub(crate) fn meta_key(name: &str) -> Vec<u8> {
    TENANT_SHARD.key(format!("collection/{name}").as_bytes())
}

pub(crate) fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).expect("catalog entries are plain JSON")
}

pub(crate) fn read<T: DeserializeOwned>(reader: &dyn Reader, key: &[u8]) -> Result<Option<T>> {
    let Some(bytes) = reader.get(Table::Catalog, key)? else {
        return Ok(None);
    };
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|error| Error::internal(format!("a catalog entry does not decode: {error}")))
}
