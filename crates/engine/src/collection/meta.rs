//! What the catalog knows of a collection.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use nuthatch_segment::{read_sealed, write_sealed};
use nuthatch_store::{Batch, Direction, Reader, Shard, Table, after_prefix};
use nuthatch_vector::{Element, Metric};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::collection::field::{Field, FieldId, UNNAMED};
use crate::embedder::EmbedderMeta;
use crate::tenant::catalog_of;
use crate::{Error, Result};

/// Options that are fixed when a collection is made, except that `dim` and `embedder` may be settled by the first use.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Meta {
    pub id: u32,
    pub name: String,
    pub dim: Option<usize>,
    pub metric: String,
    /// Type of the vectors' components.
    #[serde(default = "default_element")]
    pub element: String,
    pub language: String,
    /// False: the caller brings every vector and texts are searched by words only, until vectors come.
    pub embeds: bool,
    pub embedder: Option<EmbedderMeta>,
    pub created: String,
    /// Named vector fields, ascending by number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldMeta>,
    /// Free for later versions; kept when rewritten.
    #[serde(flatten)]
    pub more: BTreeMap<String, serde_json::Value>,
}

/// A named vector field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FieldMeta {
    /// Given once in a collection.
    pub id: FieldId,
    pub name: String,
    pub dim: usize,
    pub metric: String,
    pub element: String,
}

impl FieldMeta {
    pub fn field(&self) -> Result<Field> {
        let (metric, element) = (self.metric.parse()?, self.element.parse()?);
        Ok(Field { id: self.id, name: self.name.clone(), dim: Some(self.dim), metric, element })
    }
}

/// The name of the copy of a [`Meta`] that lies in the collection's index folder. It is read by repairs alone, when the
/// catalog itself was lost.
const COPY_FILE: &str = "COLLECTION";

impl Meta {
    /// Keeps a sealed copy in the collection's index folder.
    pub fn write_copy(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder).map_err(|error| Error::io(folder, &error))?;
        Ok(write_sealed(&folder.join(COPY_FILE), &encode(self))?)
    }

    /// The copy, if it is there and sound.
    pub fn read_copy(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(COPY_FILE);
        let Some(body) = read_sealed(&path)? else { return Ok(None) };
        serde_json::from_slice(&body)
            .map(Some)
            .map_err(|error| Error::corrupt(&path, format!("{}: {error}", path.display())))
    }

    pub fn metric(&self) -> Result<Metric> {
        Ok(self.metric.parse()?)
    }

    pub fn element(&self) -> Result<Element> {
        Ok(self.element.parse()?)
    }
}

/// What collections had before they could choose.
fn default_element() -> String {
    Element::F32.to_string()
}

/// Numbers that every batch moves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counters {
    /// The next row id.
    pub next_row: u64,
    /// The last change.
    pub sequence: u64,
    pub rows: u64,
    /// Unnamed ones.
    pub vectors: u64,
    /// Of each named field.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub named: BTreeMap<FieldId, u64>,
    /// Rows whose unnamed vector is still to come: as many as there are to-do rows.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pending: u64,
    /// What a tenant's limit counts; nothing is counted of the default tenant.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Counters {
    /// How many vectors a field has.
    pub fn of_field(&self, field: FieldId) -> u64 {
        match field {
            UNNAMED => self.vectors,
            named => self.named.get(&named).copied().unwrap_or(0),
        }
    }

    pub fn of_field_mut(&mut self, field: FieldId) -> &mut u64 {
        match field {
            UNNAMED => &mut self.vectors,
            named => self.named.entry(named).or_default(),
        }
    }

    /// Vectors of all fields, those included that are still to come.
    pub fn all_vectors(&self) -> u64 {
        self.vectors + self.pending + self.named.values().sum::<u64>()
    }
}

/// Under this key of its shard, a collection keeps its counters in the catalog: each write changes them.
pub const COUNTERS: &[u8] = b"counters";
pub(crate) const SCHEMA: &[u8] = b"schema";

/// The last collection id given out among a tenant's: ids are never used again, not even after a drop.
const LAST_ID: &[u8] = b"last-collection";

/// The key of a collection's [`Meta`].
pub(crate) fn meta_key(tenant: u32, name: &str) -> Vec<u8> {
    catalog_of(tenant).key(format!("collection/{name}").as_bytes())
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
    let mut failed = None;
    reader.scan(Table::Catalog, from, to, Direction::Forward, &mut |key, value| {
        if !is_wanted(key) {
            return ControlFlow::Continue(());
        }
        match decode(value) {
            Ok(entry) => {
                visit(key, entry);
                ControlFlow::Continue(())
            }
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    failed.map_or(Ok(()), Err)
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
