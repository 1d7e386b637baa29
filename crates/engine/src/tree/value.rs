//! The rows of trees and their encoding: a byte for the version of the layout, then postcard.

use std::fmt;
use std::str::FromStr;

use nuthatch_filter::Payload;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::kv::row;
use crate::{Error, Result};

const LAYOUT: u8 = 1;

/// The BLAKE3 hash of a file's bytes. Its text form is 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentId(pub [u8; 32]);

impl ContentId {
    /// That of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

impl fmt::Display for ContentId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl FromStr for ContentId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || Error::invalid(format!("{text:?} is not a BLAKE3 hash, which has 64 hexadecimal digits"));
        let hash = blake3::Hash::from_hex(text).map_err(|_| wrong())?;
        Ok(Self(*hash.as_bytes()))
    }
}

/// As text in JSON, as 32 bytes elsewhere.
impl Serialize for ContentId {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        match to.is_human_readable() {
            true => to.collect_str(self),
            false => self.0.serialize(to),
        }
    }
}

impl<'d> Deserialize<'d> for ContentId {
    fn deserialize<D: Deserializer<'d>>(from: D) -> std::result::Result<Self, D::Error> {
        match from.is_human_readable() {
            true => String::deserialize(from)?.parse().map_err(D::Error::custom),
            false => Ok(Self(<[u8; 32]>::deserialize(from)?)),
        }
    }
}

/// A version of a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Spelt", into = "Spelt")]
pub(crate) struct Version {
    pub what: Held,
    /// Permission bits.
    pub mode: u32,
    /// Nanoseconds since 1970.
    pub modified_ns: i64,
    /// When it was written, in milliseconds since 1970.
    pub recorded_ms: u64,
    /// Fields that callers attach to it.
    pub fields: Payload,
}

/// A version as it is stored: one without fields as in folders that know none.
#[derive(Serialize, Deserialize)]
struct Spelt {
    what: SpeltHeld,
    mode: u32,
    modified_ns: i64,
    recorded_ms: u64,
}

/// Variants after the first four were added later.
#[derive(Serialize, Deserialize)]
enum SpeltHeld {
    Gone,
    File { content: ContentId, bytes: u64 },
    Folder,
    Link(String),
    WithFields(Held, #[serde(with = "crate::codec::payload")] Payload),
}

impl From<Spelt> for Version {
    fn from(Spelt { what, mode, modified_ns, recorded_ms }: Spelt) -> Self {
        let (what, fields) = match what {
            SpeltHeld::Gone => (Held::Gone, Payload::new()),
            SpeltHeld::File { content, bytes } => (Held::File { content, bytes }, Payload::new()),
            SpeltHeld::Folder => (Held::Folder, Payload::new()),
            SpeltHeld::Link(target) => (Held::Link(target), Payload::new()),
            SpeltHeld::WithFields(what, fields) => (what, fields),
        };
        Self { what, mode, modified_ns, recorded_ms, fields }
    }
}

impl From<Version> for Spelt {
    fn from(Version { what, mode, modified_ns, recorded_ms, fields }: Version) -> Self {
        let what = match what {
            what if !fields.is_empty() => SpeltHeld::WithFields(what, fields),
            Held::Gone => SpeltHeld::Gone,
            Held::File { content, bytes } => SpeltHeld::File { content, bytes },
            Held::Folder => SpeltHeld::Folder,
            Held::Link(target) => SpeltHeld::Link(target),
        };
        Self { what, mode, modified_ns, recorded_ms }
    }
}

/// `#[serde(with = "fields")]`: fields as an object in JSON, in their stored form elsewhere.
pub(crate) mod fields {
    use nuthatch_filter::{Payload, payload_from_json, payload_to_json};
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(fields: &Payload, to: S) -> std::result::Result<S::Ok, S::Error> {
        match to.is_human_readable() {
            true => payload_to_json(fields).serialize(to),
            false => crate::codec::payload::serialize(fields, to),
        }
    }

    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> std::result::Result<Payload, D::Error> {
        match from.is_human_readable() {
            true => payload_from_json(serde_json::Value::deserialize(from)?).map_err(D::Error::custom),
            false => crate::codec::payload::deserialize(from),
        }
    }
}

/// The entry of a version at its path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Held {
    /// Nothing any more.
    Gone,
    File {
        content: ContentId,
        bytes: u64,
    },
    Folder,
    /// A symbolic link, with its target.
    Link(String),
}

impl Held {
    pub fn content(&self) -> Option<&ContentId> {
        match self {
            Self::File { content, .. } => Some(content),
            _ => None,
        }
    }

    pub fn bytes(&self) -> u64 {
        match self {
            Self::File { bytes, .. } => *bytes,
            _ => 0,
        }
    }
}

/// A content, and how many versions have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Content {
    pub refs: u64,
    pub bytes: u64,
    pub place: Place,
}

/// Where a content's bytes are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Place {
    /// Here.
    Inline(#[serde(with = "crate::codec::bytes")] Vec<u8>),
    /// In one blob of its own.
    One(u64),
    /// In chunks, listed in this many rows.
    Many { parts: u32 },
}

/// A chunk that contents of several chunks share, and how often they name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Chunk {
    pub number: u64,
    pub refs: u64,
}

/// One entry of the list of a content's chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Piece {
    pub id: ContentId,
    pub number: u64,
    pub bytes: u32,
}

/// How long versions are kept that are no longer current and that no named snapshot holds. A version goes when both allow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retention {
    /// This many versions of a path, the current one included. `None`: all.
    pub versions: Option<u32>,
    /// Those that were current within this many seconds. `None`: all.
    pub seconds: Option<u64>,
}

impl Default for Retention {
    fn default() -> Self {
        Self { versions: Some(10), seconds: Some(30 * 24 * 3600) }
    }
}

impl Retention {
    /// Everything stays.
    pub const ALL: Self = Self { versions: None, seconds: None };
}

/// A tree, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tree {
    pub created_ms: u64,
    pub retention: Retention,
    /// Files of now, folders and links not counted.
    pub files: u64,
    /// Of these, as they were given.
    pub bytes: u64,
    /// Rows of versions.
    pub versions: u64,
}

/// A named snapshot, as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Named {
    pub sequence: u64,
    pub created_ms: u64,
}

/// The stored totals of all trees of a tenant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Different contents.
    pub contents: u64,
    /// Of these, as they were given.
    pub content_bytes: u64,
    /// Different chunks, those of contents of one chunk included.
    pub chunks: u64,
    /// Of these, before they are compressed.
    pub chunk_bytes: u64,
}

pub(crate) fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    row::encode(value, LAYOUT, "a tree")
}

pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    row::decode(bytes, LAYOUT, "a tree")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_and_foreign_bytes_are_refused() {
        let version = Version {
            what: Held::File { content: ContentId::of(b"x"), bytes: 1 },
            mode: 0o644,
            modified_ns: -5,
            recorded_ms: 7,
            fields: Payload::new(),
        };
        let stored = encode(&version).unwrap();
        assert_eq!(decode::<Version>(&stored).unwrap(), version);
        assert_eq!(
            stored[1..35],
            [&[1][..], &ContentId::of(b"x").0, &[1]].concat(),
            "as in folders that know no fields"
        );
        for what in [version.what.clone(), Held::Link("x".into())] {
            let fields = Payload::from([("tags".to_owned(), vec!["a"].into()), ("n".to_owned(), 1.5.into())]);
            let version = Version { what, fields, ..version.clone() };
            assert_eq!(decode::<Version>(&encode(&version).unwrap()).unwrap(), version);
        }
        for bytes in [&b""[..], &[2, 0, 0, 0, 0], &[1, 9]] {
            assert!(decode::<Version>(bytes).is_err());
        }
    }

    #[test]
    fn a_content_id_is_text_in_json_and_bytes_elsewhere() {
        let id = ContentId::of(b"abc");
        assert_eq!(id.to_string().parse::<ContentId>().unwrap(), id);
        assert_eq!(serde_json::to_string(&id).unwrap(), format!("\"{id}\""));
        assert_eq!(postcard::to_stdvec(&id).unwrap().len(), 32);
        assert!("abc".parse::<ContentId>().is_err());
    }
}
