//! Keys and values, which are bytes, in JSON, which has none.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

/// Bytes: a string when they are UTF-8, else `{"base64": "…"}`. Both are understood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum Bytes {
    Text(String),
    Encoded(Encoded),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Encoded {
    /// Base64 (RFC 4648, with padding).
    #[schema(pattern = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$")]
    base64: String,
}

impl Bytes {
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) => text.is_empty(),
            Self::Encoded(encoded) => encoded.base64.is_empty(),
        }
    }

    pub fn into_vec(self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.into_bytes(),
            // Checked when it was read.
            Self::Encoded(encoded) => STANDARD.decode(encoded.base64).unwrap_or_default(),
        }
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::Text(text),
            Err(error) => Self::Encoded(Encoded { base64: STANDARD.encode(error.as_bytes()) }),
        }
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Either)
    }
}

/// Not serde's own way of reading one of two: that takes an array for the object.
struct Either;

impl<'de> Visitor<'de> for Either {
    type Value = Bytes;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a string, or {\"base64\": \"…\"}")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Bytes, E> {
        self.visit_string(text.into())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Bytes, E> {
        Ok(Bytes::Text(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, values: A) -> Result<Bytes, A::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Object {
            base64: String,
        }
        let Object { base64 } = Object::deserialize(MapAccessDeserializer::new(values))?;
        match STANDARD.decode(&base64) {
            Ok(_) => Ok(Bytes::Encoded(Encoded { base64 })),
            Err(error) => Err(Error::custom(format!("not base64: {error}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_as_they_went_out() {
        for bytes in [b"plain".to_vec(), "grün".into(), vec![0xff, 0, 1], Vec::new()] {
            let json = serde_json::to_string(&Bytes::from(bytes.clone())).unwrap();
            assert_eq!(serde_json::from_str::<Bytes>(&json).unwrap().into_vec(), bytes, "{json}");
        }
        for wrong in ["1", "{}", "{\"base64\": \"?\"}", "{\"base64\": \"\", \"more\": 1}", "null", "[\"AA==\"]"] {
            assert!(serde_json::from_str::<Bytes>(wrong).is_err(), "{wrong}");
        }
    }
}
