//! A record: what a caller stores, and how it lies in the store.

use std::collections::BTreeMap;

use nuthatch_filter::Payload;
use nuthatch_store::Shard;
use serde::{Deserialize, Serialize};

use crate::vector_value::VectorValue;
use crate::{Error, Result};

/// Longest id in bytes.
pub const ID_BYTES_MAX: usize = 1024;
/// Longest text of one record in bytes.
pub const TEXT_BYTES_MAX: usize = 4 << 20;

/// Values of vector fields by the name of the field.
pub type NamedVectors = BTreeMap<String, VectorValue>;

/// A record as a caller passes it to [`crate::Collection::upsert`], with at least one of text, vector and payload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// 1 to 1,024 bytes.
    pub id: String,
    /// The text for word searches, also embedded where no vector is given.
    pub text: Option<String>,
    /// `dim` f32 components. Left out, it is made from the text where the collection has an embedder.
    pub vector: Option<Vec<f32>>,
    /// Vectors of named fields, which the collection must have.
    pub vectors: NamedVectors,
    /// Named values for filters; comes back with hits.
    #[serde(with = "crate::codec::payload")]
    pub payload: Payload,
    /// Headings or symbols that the text stands under: searched with the text, but not part of it.
    pub context: Option<String>,
    /// The text is source code: identifiers are also indexed by their parts.
    pub code: bool,
}

impl Record {
    /// Without anything but its id.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }

    /// With this text in place of another.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// With this vector in place of another.
    pub fn vector(mut self, vector: Vec<f32>) -> Self {
        self.vector = Some(vector);
        self
    }

    /// Its vector of a named field.
    pub fn named_vector(mut self, field: impl Into<String>, vector: impl Into<VectorValue>) -> Self {
        self.vectors.insert(field.into(), vector.into());
        self
    }

    /// With this payload in place of another.
    pub fn payload(mut self, payload: Payload) -> Self {
        self.payload = payload;
        self
    }

    /// Returns the text that is embedded and searched by words: the context, then the text.
    pub(crate) fn searchable(&self) -> Option<String> {
        searchable(self.context.as_deref(), self.text.as_deref())
    }

    /// The text whose vector is missing.
    pub fn text_to_embed(&self) -> Option<String> {
        if self.vector.is_some() { None } else { self.searchable().filter(|text| !text.trim().is_empty()) }
    }

    /// Whether it could be stored, as far as that can be said without a collection.
    ///
    /// # Errors
    /// `Invalid`, with the record's id.
    pub fn check(&self) -> Result<()> {
        let name = || format!("record {:?}", shortened(&self.id));
        if self.id.is_empty() {
            return Err(Error::invalid("a record has an empty id; give each record a non-empty string"));
        }
        if self.id.len() > ID_BYTES_MAX {
            return Err(Error::invalid(format!(
                "{}: its id has {} bytes; the limit is {ID_BYTES_MAX}",
                name(),
                self.id.len()
            )));
        }
        if let Some(text) = &self.text
            && text.len() > TEXT_BYTES_MAX
        {
            return Err(Error::invalid(format!(
                "{}: its text has {} bytes, and the limit is {TEXT_BYTES_MAX}; split it into passages",
                name(),
                text.len()
            )));
        }
        if self.text.is_none() && self.vector.is_none() && self.vectors.is_empty() && self.payload.is_empty() {
            return Err(Error::invalid(format!(
                "{} has no text, vector or payload; give at least one of them",
                name()
            )));
        }
        nuthatch_filter::validate(&self.payload).map_err(|error| Error::invalid(format!("{}: {error}", name())))
    }
}

/// A record as it comes back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredRecord {
    /// The id that it was written under.
    pub id: String,
    /// The text, if it has one.
    pub text: Option<String>,
    /// Empty when it has none.
    #[serde(with = "crate::codec::payload")]
    pub payload: Payload,
    /// Headings or symbols that the text stands under.
    pub context: Option<String>,
    /// The unnamed vector, if it was asked for and the record has one.
    pub vector: Option<Vec<f32>>,
    /// The vectors of named fields, if they were asked for.
    pub vectors: NamedVectors,
}

/// Version byte of an encoded row.
const ROW_VERSION: u8 = 1;

/// One row of the `records` table.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    pub id: String,
    pub text: Option<String>,
    pub context: Option<String>,
    pub code: bool,
    pub has_vector: bool,
    /// `nuthatch_filter::encode`
    pub payload: Vec<u8>,
}

/// The same where it lies.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct RowParts<'a> {
    pub id: &'a str,
    #[serde(borrow)]
    pub text: Option<&'a str>,
    #[serde(borrow)]
    pub context: Option<&'a str>,
    code: bool,
    has_vector: bool,
    pub payload: &'a [u8],
}

impl Row {
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_extend(self, vec![ROW_VERSION]).expect("strings, flags and bytes always encode")
    }

    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let RowParts { id, text, context, code, has_vector, payload } = RowParts::decode(bytes)?;
        Ok(Self {
            id: id.into(),
            text: text.map(str::to_string),
            context: context.map(str::to_string),
            code,
            has_vector,
            payload: payload.to_vec(),
        })
    }

    pub fn searchable(&self) -> Option<String> {
        searchable(self.context.as_deref(), self.text.as_deref())
    }

    pub fn payload(&self) -> Result<Payload> {
        Ok(nuthatch_filter::decode(&self.payload)?)
    }
}

impl<'a> RowParts<'a> {
    /// The text is source code.
    pub fn is_code(&self) -> bool {
        self.code
    }

    pub fn decode(bytes: &'a [u8]) -> Result<Self> {
        match bytes.split_first() {
            Some((&ROW_VERSION, rest)) => postcard::from_bytes(rest)
                .map_err(|error| Error::internal(format!("a stored record cannot be decoded: {error}"))),
            Some((version, _)) => Err(Error::internal(format!(
                "a stored record has version {version}, this program reads {ROW_VERSION}; use a newer Nuthatch"
            ))),
            None => Err(Error::internal("a stored record is empty")),
        }
    }
}

fn searchable(context: Option<&str>, text: Option<&str>) -> Option<String> {
    match (context.filter(|context| !context.is_empty()), text) {
        (Some(context), Some(text)) => Some(format!("{context}\n{text}")),
        (None, Some(text)) => Some(text.to_string()),
        (_, None) => None,
    }
}

/// An id short enough for a message.
pub(crate) fn shortened(id: &str) -> String {
    match id.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &id[..end]),
        None => id.to_string(),
    }
}

/// The row that a key ends with.
pub(crate) fn row_of(key: &[u8]) -> u64 {
    Shard::suffix(key).last_chunk().map_or(u64::MAX, |number| u64::from_be_bytes(*number))
}
