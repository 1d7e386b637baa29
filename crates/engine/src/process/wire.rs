//! How the values that go over the socket are spelt, where their own types do not say it: payloads in their stored form,
//! metrics by name, filters as the text that gives them back, paths and answers as bytes.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use nuthatch_vector::Accuracy;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::collection::{CollectionOptions, Fusion, Include, Mode, NamedVectors, Scan, Search, VectorFieldOptions};
use crate::process::request::Choice;
use crate::{EmbedderChoice, Error, Result};

/// `#[serde(with = "payload")]`
pub(crate) mod payload {
    use nuthatch_filter::{Payload, decode, encode};

    use super::*;

    pub(crate) fn serialize<S: Serializer>(payload: &Payload, to: S) -> std::result::Result<S::Ok, S::Error> {
        bytes::serialize(&encode(payload), to)
    }

    // Its own decoder bounds how deep values are nested.
    pub(crate) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> std::result::Result<Payload, D::Error> {
        decode(&bytes::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

/// `#[serde(with = "named")]`: what has a name that gives it back.
pub(crate) mod named {
    use super::*;

    pub(crate) fn serialize<T: fmt::Display, S: Serializer>(value: &T, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    pub(crate) fn deserialize<'d, T, D>(from: D) -> std::result::Result<T, D::Error>
    where
        T: std::str::FromStr<Err: fmt::Display>,
        D: Deserializer<'d>,
    {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

/// `#[serde(with = "json")]`: what is written to files as JSON, where fields may be missing.
pub(crate) mod json {
    use serde::de::DeserializeOwned;
    use serde::ser::Error;

    use super::*;

    pub(crate) fn serialize<T: Serialize, S: Serializer>(value: &T, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.serialize_str(&serde_json::to_string(value).map_err(S::Error::custom)?)
    }

    pub(crate) fn deserialize<'d, T, D>(from: D) -> std::result::Result<T, D::Error>
    where
        T: DeserializeOwned,
        D: Deserializer<'d>,
    {
        serde_json::from_str(&String::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

/// `#[serde(with = "path")]`: any bytes that a file name may have.
pub(crate) mod path {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(path: &std::path::Path, to: S) -> std::result::Result<S::Ok, S::Error> {
        bytes::serialize(path.as_os_str().as_encoded_bytes(), to)
    }

    pub(crate) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> std::result::Result<PathBuf, D::Error> {
        let bytes = bytes::deserialize(from)?;
        #[cfg(unix)]
        return Ok(PathBuf::from(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes)));
        #[cfg(not(unix))]
        Ok(PathBuf::from(String::from_utf8_lossy(&bytes).into_owned()))
    }
}

/// `#[serde(with = "bytes")]`: a piece of bytes in one copy, instead of one by one.
pub(crate) mod bytes {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> std::result::Result<S::Ok, S::Error> {
        to.serialize_bytes(bytes)
    }

    pub(crate) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> std::result::Result<Vec<u8>, D::Error> {
        from.deserialize_byte_buf(Piece)
    }

    struct Piece;

    impl<'d> Visitor<'d> for Piece {
        type Value = Vec<u8>;

        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("bytes")
        }

        fn visit_bytes<E>(self, bytes: &[u8]) -> std::result::Result<Vec<u8>, E> {
            Ok(bytes.to_vec())
        }

        fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> std::result::Result<Vec<u8>, E> {
            Ok(bytes)
        }

        fn visit_seq<A: SeqAccess<'d>>(self, mut items: A) -> std::result::Result<Vec<u8>, A::Error> {
            let mut bytes = Vec::new();
            while let Some(byte) = items.next_element()? {
                bytes.push(byte);
            }
            Ok(bytes)
        }
    }
}

/// Keys and values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bytes(#[serde(with = "bytes")] pub Vec<u8>);

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// A search as it goes over the socket. Cancelling is a message of its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SearchAsk {
    text: Option<String>,
    vector: Option<Vec<f32>>,
    like: Option<String>,
    using: Option<String>,
    vectors: NamedVectors,
    mode: Option<Mode>,
    filter: Option<String>,
    limit: usize,
    offset: usize,
    include: Include,
    fusion: Fusion,
    accuracy: AccuracyAsk,
    time_limit: Option<Duration>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum AccuracyAsk {
    Recall(f32),
    Effort(usize),
    Exact,
}

impl From<&Search> for SearchAsk {
    fn from(search: &Search) -> Self {
        Self {
            text: search.text.clone(),
            vector: search.vector.clone(),
            like: search.like.clone(),
            using: search.using.clone(),
            vectors: search.vectors.clone(),
            mode: search.mode,
            filter: search.filter.as_ref().map(ToString::to_string),
            limit: search.limit,
            offset: search.offset,
            include: search.include,
            fusion: search.fusion,
            accuracy: match search.accuracy {
                Accuracy::Recall(recall) => AccuracyAsk::Recall(recall),
                Accuracy::Effort(effort) => AccuracyAsk::Effort(effort),
                Accuracy::Exact => AccuracyAsk::Exact,
            },
            time_limit: search.time_limit,
        }
    }
}

impl SearchAsk {
    pub fn search(self) -> Result<Search> {
        Ok(Search {
            text: self.text,
            vector: self.vector,
            like: self.like,
            using: self.using,
            vectors: self.vectors,
            mode: self.mode,
            filter: self.filter.map(|filter| nuthatch_filter::parse(&filter)).transpose()?,
            limit: self.limit,
            offset: self.offset,
            include: self.include,
            fusion: self.fusion,
            accuracy: match self.accuracy {
                AccuracyAsk::Recall(recall) => Accuracy::Recall(recall),
                AccuracyAsk::Effort(effort) => Accuracy::Effort(effort),
                AccuracyAsk::Exact => Accuracy::Exact,
            },
            time_limit: self.time_limit,
            cancel: None,
        })
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ScanAsk {
    cursor: Option<String>,
    limit: usize,
    filter: Option<String>,
    vectors: bool,
}

impl From<&Scan> for ScanAsk {
    fn from(scan: &Scan) -> Self {
        Self {
            cursor: scan.cursor.clone(),
            limit: scan.limit,
            filter: scan.filter.as_ref().map(ToString::to_string),
            vectors: scan.vectors,
        }
    }
}

impl ScanAsk {
    pub fn scan(self) -> Result<Scan> {
        let filter = self.filter.map(|filter| nuthatch_filter::parse(&filter)).transpose()?;
        Ok(Scan { cursor: self.cursor, limit: self.limit, filter, vectors: self.vectors })
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct OptionsAsk {
    dim: Option<usize>,
    metric: Option<String>,
    element: Option<String>,
    vectors: Vec<(String, FieldAsk)>,
    pub embedder: Choice,
    language: Option<String>,
}

/// Dimension, metric and element type.
type FieldAsk = (Option<usize>, Option<String>, Option<String>);

impl From<&CollectionOptions> for OptionsAsk {
    fn from(options: &CollectionOptions) -> Self {
        Self {
            dim: options.dim,
            metric: options.metric.map(|metric| metric.to_string()),
            element: options.element.map(|element| element.to_string()),
            vectors: options.vectors.iter().map(|(name, field)| (name.clone(), field_ask(field))).collect(),
            embedder: Choice::from(&options.embedder),
            language: options.language.clone(),
        }
    }
}

impl OptionsAsk {
    pub fn options(self, embedder: EmbedderChoice) -> Result<CollectionOptions> {
        Ok(CollectionOptions {
            dim: self.dim,
            metric: self.metric.map(|metric| metric.parse()).transpose().map_err(Error::from)?,
            element: self.element.map(|element| element.parse()).transpose().map_err(Error::from)?,
            vectors: self
                .vectors
                .into_iter()
                .map(|(name, ask)| Ok((name, field_options(ask)?)))
                .collect::<Result<_>>()?,
            embedder,
            language: self.language,
        })
    }
}

fn field_ask(field: &VectorFieldOptions) -> FieldAsk {
    (field.dim, field.metric.map(|metric| metric.to_string()), field.element.map(|element| element.to_string()))
}

fn field_options((dim, metric, element): FieldAsk) -> Result<VectorFieldOptions> {
    Ok(VectorFieldOptions {
        dim,
        metric: metric.map(|metric| metric.parse()).transpose().map_err(Error::from)?,
        element: element.map(|element| element.parse()).transpose().map_err(Error::from)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_survive_the_way() {
        for text in [
            "year >= 2024 and team in ('core', 'o''ps')",
            "not (tags contains 'a' or \"odd name\".x is null)",
            "when between '2024-01-01T00:00:00Z' and '2025-01-01T00:00:00Z'",
            "name like '50!%' escape '!' and starts_with(path, 'a/b') and x = 1.5e300",
        ] {
            let search = Search::text("words").filter(text).unwrap();
            let back = SearchAsk::from(&search).search().unwrap();
            assert_eq!(back.filter, search.filter, "{text}");
        }
    }

    #[test]
    fn a_payload_nested_too_deep_is_an_error() {
        #[derive(Serialize, Deserialize)]
        struct Holds(#[serde(with = "payload")] nuthatch_filter::Payload);
        let mut hostile = nuthatch_filter::encode(&[("a".to_string(), nuthatch_filter::Value::Null)].into());
        hostile.pop();
        hostile.extend([0x81; 200_000]); // lists of one list
        #[derive(Serialize)]
        struct Raw(#[serde(with = "bytes")] Vec<u8>);
        let frame = postcard::to_stdvec(&Raw(hostile)).unwrap();
        assert!(postcard::from_bytes::<Holds>(&frame).is_err());
    }
}
