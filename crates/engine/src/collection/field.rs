//! Vector fields: what the vectors of each are, and where they lie in the truth.
//!
//! **Useful for** whoever reads, compares or indexes vectors: each does it for one field at a time.
//! **Not for** payload fields, which `filter` knows.
//!
//! **Invariant:** a field's number, metric and element type never change; its dimension once it is settled.

use nuthatch_truth::{Reader, Shard, Table};
use nuthatch_vector::{Element, Metric};

use crate::Result;
use crate::collection::fusion::Found;
use crate::collection::meta::Meta;

/// A field's number in its collection, given once.
pub(crate) type FieldId = u16;

/// The field that every collection has.
pub(crate) const UNNAMED: FieldId = 0;

/// One field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    pub id: FieldId,
    /// Components; `None` until the first vector settles it.
    pub dim: Option<usize>,
    pub metric: Metric,
    pub element: Element,
}

/// The fields of a collection, ascending by number.
#[derive(Clone, Debug)]
pub(crate) struct Fields {
    all: Vec<Field>,
}

/// The vectors of one row, by field.
pub(crate) type FieldVectors = Vec<(FieldId, Vec<f32>)>;

impl Field {
    /// The key of a row's vector in the table `vectors`.
    pub fn key(&self, shard: Shard, row: u64) -> Vec<u8> {
        shard.number_key(row)
    }

    /// Where the keys of this field begin, and the first one after them.
    pub fn range(&self, shard: Shard) -> (Vec<u8>, Vec<u8>) {
        (shard.prefix().to_vec(), shard.end())
    }

    /// Stored vectors of rows, in their order.
    pub fn stored(&self, reader: &dyn Reader, shard: Shard, rows: &[u64]) -> Result<Vec<Option<Vec<u8>>>> {
        let keys: Vec<Vec<u8>> = rows.iter().map(|row| self.key(shard, *row)).collect();
        Ok(reader.multi_get(Table::Vectors, &keys)?)
    }

    /// The components of a stored vector.
    pub fn decode(&self, bytes: &[u8]) -> Vec<f32> {
        let dim = match self.element {
            Element::Binary => self.dim.unwrap_or(bytes.len() * 8),
            Element::F32 => bytes.len() / 4,
            Element::F16 => bytes.len() / 2,
            Element::Int8 | Element::Uint8 => bytes.len(),
        };
        self.element.decode(bytes, dim)
    }

    /// A vector as it comes back once stored.
    pub fn as_stored(&self, vector: Vec<f32>) -> Result<Vec<f32>> {
        match self.element {
            Element::F16 => Ok(self.element.decode(&self.element.encode(&vector)?, vector.len())),
            Element::F32 | Element::Int8 | Element::Uint8 | Element::Binary => Ok(vector),
        }
    }

    /// A row and its exact similarity to a query.
    pub fn compare(&self, query: &[f32], row: u64, vector: &[f32]) -> Found {
        self.found(row, self.metric.similarity(query, vector))
    }

    pub fn found(&self, row: u64, similarity: f32) -> Found {
        Found { row, similarity, shown: self.metric.score(similarity) }
    }
}

impl Fields {
    pub fn of(meta: &Meta) -> Result<Self> {
        let unnamed = Field { id: UNNAMED, dim: meta.dim, metric: meta.metric()?, element: meta.element()? };
        Ok(Self { all: vec![unnamed] })
    }

    pub fn unnamed(&self) -> &Field {
        &self.all[0]
    }

    pub fn get(&self, id: FieldId) -> Option<&Field> {
        self.all.iter().find(|field| field.id == id)
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Field> {
        self.all.iter()
    }

    /// Most components of any field: graphs are built one after the other.
    pub fn dim_max(&self) -> usize {
        self.all.iter().filter_map(|field| field.dim).max().unwrap_or(0)
    }

    /// The stored vectors of rows, in their order: those that each has.
    pub fn vectors_of(&self, reader: &dyn Reader, shard: Shard, rows: &[u64]) -> Result<Vec<FieldVectors>> {
        let mut found = vec![FieldVectors::new(); rows.len()];
        for field in &self.all {
            for (row, stored) in found.iter_mut().zip(field.stored(reader, shard, rows)?) {
                row.extend(stored.map(|bytes| (field.id, field.decode(&bytes))));
            }
        }
        Ok(found)
    }
}
