//! Vector fields: the type of each field's vectors, and where they lie in the store.
//!
//! **Useful for** reading, comparing and indexing vectors, which is done for one field at a time.
//! **Not for** payload fields, which `filter` knows.
//!
//! **Invariant:** a field's number, metric and element type never change; its dimension once it is settled.

use std::ops::ControlFlow;

use nuthatch_sparse::SparseVector;
use nuthatch_store::{Direction, Reader, Shard, Table};
use nuthatch_vector::{Element, Metric, VectorError, validate};

use crate::descriptor::meta::Meta;
use crate::record::{NamedVectors, row_of};
use crate::vector_value::{TokenVectors, VectorValue};
use crate::{Error, Result};

/// A row found by a leg: row id, what ranks it (higher is better), and the score to show.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScoredRow {
    pub row: u64,
    pub similarity: f32,
    pub shown: f32,
}

/// A field's number in its collection, given once.
pub(crate) type FieldId = u16;

/// The field that every collection has.
pub(crate) const UNNAMED: FieldId = 0;

/// The first numbers of the fields of each kind: a key tells the kind of its value, whatever became of the catalog.
const SPARSE_FROM: FieldId = 0x8000;
const TOKENS_FROM: FieldId = 0xC000;
/// Before the components of a stored value of several vectors: how many each has.
const TOKENS_HEAD_BYTES: usize = 2;

/// Sizes for which memory is reserved before values are read: about those of passages.
const TERMS_GUESSED: usize = 150;
const TOKENS_GUESSED: usize = 180;

/// The kind of a field's values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FieldKind {
    /// A vector.
    #[default]
    Dense,
    /// Weights of terms, compared by their dot product.
    Sparse,
    /// A vector for each token, compared by the sum of the greatest similarities (MaxSim).
    Tokens,
}

impl FieldKind {
    /// Of the field that has a number.
    pub(crate) fn of(id: FieldId) -> Self {
        match id {
            TOKENS_FROM.. => Self::Tokens,
            SPARSE_FROM.. => Self::Sparse,
            _ => Self::Dense,
        }
    }

    /// The first number that a field may have.
    pub(crate) fn first_id(self) -> FieldId {
        match self {
            Self::Dense => UNNAMED + 1,
            Self::Sparse => SPARSE_FROM,
            Self::Tokens => TOKENS_FROM,
        }
    }

    /// `dense`, `sparse` or `tokens`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dense => "dense",
            Self::Sparse => "sparse",
            Self::Tokens => "tokens",
        }
    }
}

impl std::str::FromStr for FieldKind {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "dense" => Ok(Self::Dense),
            "sparse" => Ok(Self::Sparse),
            "tokens" => Ok(Self::Tokens),
            _ => Err(Error::invalid(format!(
                "unknown kind {name:?} of a vector field; use \"dense\", \"sparse\" or \"tokens\""
            ))),
        }
    }
}

/// The byte before the field's number in the keys of named fields: higher than the first byte of any row id.
const NAMED: u8 = 0xFF;

/// Rows that a scan may skip for each wanted one, before reading each by itself is cheaper.
const BETWEEN_MAX: u64 = 4;

/// One field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    pub id: FieldId,
    /// Empty for the unnamed one.
    pub name: String,
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
pub(crate) type FieldVectors = Vec<(FieldId, VectorValue)>;

impl Field {
    /// The key of a row's vector in the table `vectors`.
    pub fn key(&self, shard: Shard, row: u64) -> Vec<u8> {
        match self.id {
            UNNAMED => shard.number_key(row),
            id => shard.key(&[&[NAMED][..], &id.to_be_bytes(), &row.to_be_bytes()].concat()),
        }
    }

    /// Where the keys of this field begin, and the first one after them.
    pub fn range(&self, shard: Shard) -> (Vec<u8>, Vec<u8>) {
        let from = match self.id {
            UNNAMED => shard.prefix().to_vec(),
            id => shard.key(&[&[NAMED][..], &id.to_be_bytes()].concat()),
        };
        (from, Self::end_of(shard, self.id))
    }

    /// The first key after those of a field.
    pub fn end_of(shard: Shard, id: FieldId) -> Vec<u8> {
        match id.checked_add(1) {
            Some(_) if id == UNNAMED => shard.key(&[NAMED]),
            Some(next) => shard.key(&[&[NAMED][..], &next.to_be_bytes()].concat()),
            None => shard.end(),
        }
    }

    /// The number of the named field that a key of the table `vectors` belongs to.
    pub fn number_of(key: &[u8]) -> Option<FieldId> {
        let rest = Shard::suffix(key).strip_prefix(&[NAMED])?;
        rest.first_chunk().map(|number| FieldId::from_be_bytes(*number))
    }

    /// Returns the kind of its values.
    pub fn kind(&self) -> FieldKind {
        FieldKind::of(self.id)
    }

    /// Refuses a value that cannot be stored.
    pub fn check(&self, value: &VectorValue) -> Result<()> {
        self.check_kind(value)?;
        match value {
            VectorValue::Dense(vector) => self.check_with(vector, self.dim.unwrap_or(vector.len())),
            // Checked when it was made.
            VectorValue::Sparse(_) => Ok(()),
            VectorValue::Tokens(tokens) => {
                tokens.rows().try_for_each(|row| self.check_with(row, self.dim.unwrap_or(row.len())))
            }
        }
    }

    fn check_kind(&self, value: &VectorValue) -> Result<()> {
        let kind = self.kind();
        if value.kind() == kind.as_str() {
            return Ok(());
        }
        let form = match kind {
            FieldKind::Dense => "one list of numbers",
            FieldKind::Sparse => "indices and values",
            FieldKind::Tokens => "one list of numbers for each token",
        };
        Err(Error::invalid(format!(
            "vector field {:?} is {}, and the value given is {}; give {form}",
            self.name,
            kind.as_str(),
            value.kind()
        )))
    }

    /// The same where the dimension is about to be settled.
    pub fn check_with(&self, vector: &[f32], dim: usize) -> Result<()> {
        let checked = validate(vector, dim, self.metric).and_then(|()| self.element.check(vector));
        checked.map_err(|error| self.refusal(&error))
    }

    /// As [`check_query`](Self::check_query), of a value of whatever kind the field is.
    pub fn check_query_value(&self, value: &VectorValue) -> Result<()> {
        self.check_kind(value)?;
        match value {
            VectorValue::Dense(vector) => self.check_query(vector),
            VectorValue::Sparse(_) => Ok(()),
            VectorValue::Tokens(tokens) => tokens.rows().try_for_each(|row| self.check_query(row)),
        }
    }

    /// Refuses a vector that cannot be used as a query. Its components need not be of the field's type: they are
    /// compared in 32 bits.
    pub fn check_query(&self, vector: &[f32]) -> Result<()> {
        let Some(dim) = self.dim else { return Ok(()) };
        let checked = validate(vector, dim, self.metric).and_then(|()| match self.metric {
            // Distances are counts of components only between zeros and ones.
            Metric::Hamming => self.element.check(vector),
            Metric::Cosine | Metric::Dot | Metric::L2 => Ok(()),
        });
        checked.map_err(|error| Error::invalid(format!("query vector: {}", self.refusal(&error).message)))
    }

    fn refusal(&self, error: &VectorError) -> Error {
        let what = match (self.id, error) {
            (UNNAMED, error) => error.to_string(),
            (_, VectorError::WrongDimension { expected, found }) => {
                format!("vector field {:?} has {expected} dimensions, but the vector has {found}", self.name)
            }
            (_, error) => format!("vector field {:?}: {error}", self.name),
        };
        Error::invalid(what)
    }

    /// Stored vectors of rows, in their order.
    pub fn stored(&self, reader: &dyn Reader, shard: Shard, rows: &[u64]) -> Result<Vec<Option<Vec<u8>>>> {
        let keys: Vec<Vec<u8>> = rows.iter().map(|row| self.key(shard, *row)).collect();
        Ok(reader.multi_get(Table::Vectors, &keys)?)
    }

    /// Shows the stored vectors of rows that ascend, with their place among the rows. Where few others lie between them, they are
    /// read in one go.
    pub fn visit_ascending(
        &self,
        reader: &dyn Reader,
        shard: Shard,
        rows: &[u64],
        show: &mut dyn FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return Ok(()) };
        if (last - first) / rows.len() as u64 > BETWEEN_MAX {
            let mut stored = self.stored(reader, shard, rows)?.into_iter().enumerate();
            return stored.try_for_each(|(at, bytes)| bytes.map_or(Ok(()), |bytes| show(at, &bytes)));
        }
        let (mut at, mut shown) = (0, Ok(()));
        let end = self.key(shard, last.saturating_add(1));
        reader.scan(Table::Vectors, &self.key(shard, *first), &end, Direction::Forward, &mut |key, bytes| {
            let row = row_of(key);
            at += rows[at..].iter().take_while(|wanted| **wanted < row).count();
            if rows.get(at) == Some(&row) {
                shown = show(at, bytes);
            }
            if shown.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        shown
    }

    /// Vectors of one value.
    fn rows_guessed(&self) -> usize {
        if self.kind() == FieldKind::Tokens { TOKENS_GUESSED } else { 1 }
    }

    /// Terms of one value.
    fn terms_guessed(&self) -> usize {
        if self.kind() == FieldKind::Sparse { TERMS_GUESSED } else { 0 }
    }

    /// Bytes of a stored value: exact for dense vectors, 0 before the first one; a guess for others.
    pub fn row_bytes(&self) -> usize {
        self.element.row_bytes(self.dim.unwrap_or(0)) * self.rows_guessed() + self.terms_guessed() * size_of::<f32>()
    }

    /// A value as it lies in the store.
    pub fn encode(&self, value: &VectorValue) -> Result<Vec<u8>> {
        match value {
            VectorValue::Dense(vector) => Ok(self.element.encode(vector)?),
            VectorValue::Sparse(vector) => Ok(vector.encode()),
            VectorValue::Tokens(tokens) => {
                let mut bytes = (tokens.dim() as u16).to_le_bytes().to_vec();
                for row in tokens.rows() {
                    bytes.extend(self.element.encode(row)?);
                }
                Ok(bytes)
            }
        }
    }

    /// A stored value.
    ///
    /// # Errors
    /// `Internal` for bytes that are none.
    pub fn value(&self, bytes: &[u8]) -> Result<VectorValue> {
        match self.kind() {
            FieldKind::Dense => Ok(VectorValue::Dense(self.decode(bytes))),
            FieldKind::Sparse => Ok(VectorValue::Sparse(self.sparse(bytes)?)),
            FieldKind::Tokens => Ok(VectorValue::Tokens(self.tokens(bytes)?)),
        }
    }

    /// A stored sparse vector.
    pub fn sparse(&self, bytes: &[u8]) -> Result<SparseVector> {
        SparseVector::decode(bytes).map_err(|error| self.undecodable(&error))
    }

    /// Stored vectors of tokens.
    pub fn tokens(&self, bytes: &[u8]) -> Result<TokenVectors> {
        let wrong = || self.undecodable(&"its length is wrong");
        let (dim, rows) = bytes.split_first_chunk::<TOKENS_HEAD_BYTES>().ok_or_else(wrong)?;
        let dim = usize::from(u16::from_le_bytes(*dim));
        let row_bytes = self.element.row_bytes(dim);
        if row_bytes == 0 || !rows.len().is_multiple_of(row_bytes) {
            return Err(wrong());
        }
        let components = rows.chunks_exact(row_bytes).flat_map(|row| self.element.decode(row, dim)).collect();
        TokenVectors::new(dim, components).map_err(|error| self.undecodable(&error.message))
    }

    fn undecodable(&self, why: &dyn std::fmt::Display) -> Error {
        Error::internal(format!("a stored value of vector field {:?} cannot be decoded: {why}", self.name))
    }

    /// The components of a stored dense vector.
    pub fn decode(&self, bytes: &[u8]) -> Vec<f32> {
        let dim = match self.element {
            Element::Binary => self.dim.unwrap_or(bytes.len() * 8),
            Element::F32 => bytes.len() / 4,
            Element::F16 => bytes.len() / 2,
            Element::Int8 | Element::Uint8 => bytes.len(),
        };
        self.element.decode(bytes, dim)
    }

    /// A value as it comes back once stored.
    pub fn as_stored(&self, value: VectorValue) -> Result<VectorValue> {
        match self.element {
            Element::F16 => self.value(&self.encode(&value)?),
            Element::F32 | Element::Int8 | Element::Uint8 | Element::Binary => Ok(value),
        }
    }

    /// The sum over the vectors of a query of the greatest similarity to any of a record's (late interaction: Khattab and Zaharia,
    /// "ColBERT", SIGIR 2020).
    pub fn max_sim(&self, query: &TokenVectors, tokens: &TokenVectors) -> f32 {
        let greatest = |of_query: &[f32]| {
            tokens.rows().map(|row| self.metric.similarity(of_query, row)).fold(f32::NEG_INFINITY, f32::max)
        };
        query.rows().map(greatest).sum()
    }

    /// A row and its exact similarity to a query.
    pub fn compare(&self, query: &[f32], row: u64, vector: &[f32]) -> ScoredRow {
        self.found(row, self.metric.similarity(query, vector))
    }

    pub fn found(&self, row: u64, similarity: f32) -> ScoredRow {
        ScoredRow { row, similarity, shown: self.metric.score(similarity) }
    }
}

impl Fields {
    pub fn of(meta: &Meta) -> Result<Self> {
        let (metric, element) = (meta.metric()?, meta.element()?);
        let mut all = vec![Field { id: UNNAMED, name: String::new(), dim: meta.dim, metric, element }];
        for field in &meta.fields {
            all.push(field.field()?);
        }
        if !all.is_sorted_by(|field, next| field.id < next.id) {
            return Err(Error::internal("the catalog has two vector fields of one number"));
        }
        Ok(Self { all })
    }

    /// Whether all that is settled of `before` is so here.
    pub fn continues(&self, before: &Self) -> bool {
        before.all.iter().all(|old| {
            let is_same = |new: &Field| (new.metric, new.element) == (old.metric, old.element);
            self.get(old.id).is_some_and(|new| is_same(new) && (old.dim.is_none() || new.dim == old.dim))
        })
    }

    pub fn unnamed(&self) -> &Field {
        &self.all[0]
    }

    /// The field of that name; of the empty one, the unnamed field.
    ///
    /// # Errors
    /// As [`named`](Self::named).
    pub fn by_name(&self, name: &str) -> Result<&Field> {
        if name.is_empty() { Ok(self.unnamed()) } else { self.named(name) }
    }

    pub fn get(&self, id: FieldId) -> Option<&Field> {
        self.all.iter().find(|field| field.id == id)
    }

    /// The field of that name.
    ///
    /// # Errors
    /// `Invalid`, with the names that there are.
    pub fn named(&self, name: &str) -> Result<&Field> {
        let mut named = self.iter_named();
        named.find(|field| field.name == name).ok_or_else(|| {
            let names: Vec<String> = self.iter_named().map(|field| format!("{:?}", field.name)).collect();
            Error::invalid(match names.is_empty() {
                true => {
                    format!("vector field {name:?} does not exist; open the collection with this field and its dimension first")
                }
                false => format!("vector field {name:?} does not exist; the collection has: {}", names.join(", ")),
            })
        })
    }

    pub fn iter_named(&self) -> impl Iterator<Item = &Field> {
        self.all.iter().filter(|field| field.id != UNNAMED)
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Field> {
        self.all.iter()
    }

    /// Most components of any field: graphs are built one after the other.
    pub fn dim_max(&self) -> usize {
        self.all
            .iter()
            .filter(|field| field.kind() == FieldKind::Dense)
            .filter_map(|field| field.dim)
            .max()
            .unwrap_or(0)
    }

    /// The stored vectors of rows, in their order: those that each has.
    pub fn vectors_of(&self, reader: &dyn Reader, shard: Shard, rows: &[u64]) -> Result<Vec<FieldVectors>> {
        let mut found = vec![FieldVectors::new(); rows.len()];
        for field in &self.all {
            for (row, stored) in found.iter_mut().zip(field.stored(reader, shard, rows)?) {
                if let Some(bytes) = stored {
                    row.push((field.id, field.value(&bytes)?));
                }
            }
        }
        Ok(found)
    }

    /// Returns the memory that one vector of each field takes, as it is read.
    pub fn components_bytes(&self) -> usize {
        let of_field = |field: &Field| field.dim.unwrap_or(0) * field.rows_guessed() + 2 * field.terms_guessed();
        self.all.iter().map(|field| of_field(field) * size_of::<f32>()).sum()
    }

    /// The unnamed vector, and the others by name.
    pub fn split(&self, vectors: FieldVectors) -> (Option<Vec<f32>>, NamedVectors) {
        let (mut unnamed, mut named) = (None, NamedVectors::new());
        for (id, vector) in vectors {
            match self.get(id) {
                Some(Field { id: UNNAMED, .. }) => unnamed = vector.into_dense(),
                Some(field) => drop(named.insert(field.name.clone(), vector)),
                None => {}
            }
        }
        (unnamed, named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(id: FieldId) -> Field {
        Field { id, name: format!("f{id}"), dim: Some(2), metric: Metric::L2, element: Element::F32 }
    }

    #[test]
    fn keys_of_each_field_are_a_range_of_their_own() {
        let shard = Shard { tenant: 3, collection: 7 };
        for id in [UNNAMED, 1, 255, 256, SPARSE_FROM, TOKENS_FROM, FieldId::MAX] {
            let (from, to) = field(id).range(shard);
            for other in [UNNAMED, 1, 2, 255, 256, 257, SPARSE_FROM - 1, SPARSE_FROM, TOKENS_FROM, FieldId::MAX] {
                for row in [0, 1, u64::MAX >> 8] {
                    let key = field(other).key(shard, row);
                    assert_eq!(key >= from && key < to, other == id, "field {other} row {row} in the range of {id}");
                    assert_eq!(Field::number_of(&key), (other != UNNAMED).then_some(other));
                    assert_eq!(row_of(&key), row);
                    assert!(key < shard.end());
                }
            }
        }
    }
}
