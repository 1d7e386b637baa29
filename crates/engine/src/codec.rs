//! How values are spelt in postcard where their own types do not say it: payloads in their stored form, names as text, paths and
//! keys as one piece of bytes.
//!
//! **Useful for** `#[serde(with = "crate::codec::payload")]` and its like on a field. **Not for** types of the engine's own.
//!
//! **Invariant:** what a helper writes, it reads back as the same value, or reading ends with an error; memory grows with the bytes
//! that there are.

use std::fmt;
use std::path::PathBuf;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// `#[serde(with = "payload")]`
pub(crate) mod payload {
    use nuthatch_filter::{Payload, decode, encode};

    use super::*;

    /// As the store keeps it.
    pub fn serialize<S: Serializer>(payload: &Payload, to: S) -> std::result::Result<S::Ok, S::Error> {
        bytes::serialize(&encode(payload), to)
    }

    // Its own decoder bounds how deep values are nested.
    /// Of what [`serialize`] wrote.
    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> std::result::Result<Payload, D::Error> {
        decode(&bytes::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

/// `#[serde(with = "change")]`
pub(crate) mod change {
    use nuthatch_filter::{FieldChange, Payload};

    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Parts(
        #[serde(with = "payload")] Payload,
        #[serde(with = "payload")] Payload,
        #[serde(with = "payload")] Payload,
        Vec<String>,
    );

    /// Its payloads in their stored form.
    pub fn serialize<S: Serializer>(change: &FieldChange, to: S) -> std::result::Result<S::Ok, S::Error> {
        let FieldChange { set, add, remove, unset } = change.clone();
        Parts(set, add, remove, unset).serialize(to)
    }

    /// Of what [`serialize`] wrote.
    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> std::result::Result<FieldChange, D::Error> {
        let Parts(set, add, remove, unset) = Deserialize::deserialize(from)?;
        Ok(FieldChange { set, add, remove, unset })
    }
}

/// `#[serde(with = "named")]`: what has a name that gives it back.
pub(crate) mod named {
    use super::*;

    /// As its name.
    pub fn serialize<T: fmt::Display, S: Serializer>(value: &T, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    /// Of what [`serialize`] wrote.
    pub fn deserialize<'d, T, D>(from: D) -> std::result::Result<T, D::Error>
    where
        T: std::str::FromStr<Err: fmt::Display>,
        D: Deserializer<'d>,
    {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

/// `#[serde(with = "json")]`: what is written to files as JSON, where fields may be missing.
pub mod json {
    use serde::de::DeserializeOwned;
    use serde::ser::Error;

    use super::*;

    /// As one string.
    pub fn serialize<T: Serialize, S: Serializer>(value: &T, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.serialize_str(&serde_json::to_string(value).map_err(S::Error::custom)?)
    }

    /// Of what [`serialize`] wrote.
    pub fn deserialize<'d, T, D>(from: D) -> std::result::Result<T, D::Error>
    where
        T: DeserializeOwned,
        D: Deserializer<'d>,
    {
        serde_json::from_str(&String::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

/// `#[serde(with = "condition")]`: a filter as the text that gives it back.
pub(crate) mod condition {
    use nuthatch_filter::{Filter, parse};

    use super::*;

    /// As the text of the filter.
    pub fn serialize<S: Serializer>(filter: &Option<Filter>, to: S) -> std::result::Result<S::Ok, S::Error> {
        filter.as_ref().map(ToString::to_string).serialize(to)
    }

    /// Of what [`serialize`] wrote.
    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> std::result::Result<Option<Filter>, D::Error> {
        let text: Option<String> = Deserialize::deserialize(from)?;
        text.map(|text| parse(&text)).transpose().map_err(serde::de::Error::custom)
    }
}

/// `#[serde(with = "path")]`: any bytes that a file name may have.
pub mod path {
    use super::*;

    /// As the bytes of the system's name.
    pub fn serialize<S: Serializer>(path: &std::path::Path, to: S) -> std::result::Result<S::Ok, S::Error> {
        bytes::serialize(path.as_os_str().as_encoded_bytes(), to)
    }

    /// Of what [`serialize`] wrote.
    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> std::result::Result<PathBuf, D::Error> {
        let bytes = bytes::deserialize(from)?;
        #[cfg(unix)]
        return Ok(PathBuf::from(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes)));
        #[cfg(not(unix))]
        Ok(PathBuf::from(String::from_utf8_lossy(&bytes).into_owned()))
    }
}

/// `#[serde(with = "bytes")]`: a piece of bytes in one copy, instead of one by one.
pub mod bytes {
    use super::*;

    /// As one piece.
    pub fn serialize<S: Serializer>(bytes: &[u8], to: S) -> std::result::Result<S::Ok, S::Error> {
        to.serialize_bytes(bytes)
    }

    /// Of what [`serialize`] wrote.
    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> std::result::Result<Vec<u8>, D::Error> {
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
pub struct Bytes(#[serde(with = "bytes")] pub Vec<u8>);

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_survive_the_way() {
        #[derive(Serialize, Deserialize)]
        struct Holds(#[serde(with = "condition")] Option<nuthatch_filter::Filter>);
        for text in [
            "year >= 2024 and team in ('core', 'o''ps')",
            "not (tags contains 'a' or \"odd name\".x is null)",
            "when between '2024-01-01T00:00:00Z' and '2025-01-01T00:00:00Z'",
            "name like '50!%' escape '!' and starts_with(path, 'a/b') and x = 1.5e300",
        ] {
            let filter = Some(nuthatch_filter::parse(text).unwrap());
            let sent = postcard::to_stdvec(&Holds(filter.clone())).unwrap();
            assert_eq!(postcard::from_bytes::<Holds>(&sent).unwrap().0, filter, "{text}");
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
