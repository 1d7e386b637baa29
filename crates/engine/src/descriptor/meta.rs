//! A collection's entry in the catalog.

use std::collections::BTreeMap;
use std::path::Path;

use nuthatch_segment::{read_sealed, write_sealed};
use nuthatch_vector::{Element, Metric};
use serde::{Deserialize, Serialize};

pub use crate::catalog::COUNTERS;
use crate::catalog::catalog_of;
pub(crate) use crate::catalog::{encode, last_id, listed, put_last_id, read};
use crate::descriptor::field::{Field, FieldId, UNNAMED};
use crate::embedder::EmbedderMeta;
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
    /// 0 where values are sparse.
    pub dim: usize,
    pub metric: String,
    pub element: String,
}

impl FieldMeta {
    pub fn field(&self) -> Result<Field> {
        let (metric, element) = (self.metric.parse()?, self.element.parse()?);
        Ok(Field { id: self.id, name: self.name.clone(), dim: Some(self.dim).filter(|dim| *dim > 0), metric, element })
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

/// The element type of collections that predate the choice.
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
    /// The bytes that count towards a tenant's limit; nothing is counted for the default tenant.
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

pub(crate) const SCHEMA: &[u8] = b"schema";

/// The key of a collection's [`Meta`].
pub(crate) fn meta_key(tenant: u32, name: &str) -> Vec<u8> {
    catalog_of(tenant).key(format!("collection/{name}").as_bytes())
}
