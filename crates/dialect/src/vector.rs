//! Vectors in JSON: as numbers, or as the base64 of their bytes, which is a quarter of the size and quicker to read and write.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use nuthatch_engine::NamedVectors;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

/// A vector: numbers, or the base64 (RFC 4648, with padding) of 32-bit floats, little-endian. Both are understood.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum Vector {
    Numbers(Vec<f32>),
    Base64(String),
}

/// The encoding of vectors in an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum VectorFormat {
    #[default]
    Numbers,
    Base64,
}

impl Vector {
    pub fn into_engine(self) -> Vec<f32> {
        match self {
            Self::Numbers(numbers) => numbers,
            // Checked when it was read.
            Self::Base64(text) => floats(&STANDARD.decode(text).unwrap_or_default()),
        }
    }
}

impl VectorFormat {
    pub fn write(self, vector: Vec<f32>) -> Vector {
        match self {
            Self::Numbers => Vector::Numbers(vector),
            Self::Base64 => {
                let bytes: Vec<u8> = vector.into_iter().flat_map(f32::to_le_bytes).collect();
                Vector::Base64(STANDARD.encode(bytes))
            }
        }
    }

    pub fn write_all(self, vectors: NamedVectors) -> BTreeMap<String, Vector> {
        vectors.into_iter().map(|(field, vector)| (field, self.write(vector))).collect()
    }
}

/// Of several fields.
pub fn into_engine(vectors: BTreeMap<String, Vector>) -> NamedVectors {
    vectors.into_iter().map(|(field, vector)| (field, vector.into_engine())).collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|x| f32::from_le_bytes([x[0], x[1], x[2], x[3]])).collect()
}

impl<'de> Deserialize<'de> for Vector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Either)
    }
}

/// Reads numbers one by one as they come: a derived reader of either form would keep them all first.
struct Either;

impl<'de> Visitor<'de> for Either {
    type Value = Vector;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a vector: numbers, or base64 of 32-bit floats")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<Vector, A::Error> {
        let mut vector = Vec::with_capacity(numbers.size_hint().unwrap_or(0));
        while let Some(number) = numbers.next_element()? {
            vector.push(number);
        }
        Ok(Vector::Numbers(vector))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vector, E> {
        let bytes = STANDARD.decode(text).map_err(|error| E::custom(format!("not base64: {error}")))?;
        match bytes.len() % 4 {
            0 => Ok(Vector::Numbers(floats(&bytes))),
            _ => Err(E::custom(format!("{} bytes in base64, which are no 32-bit floats", bytes.len()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Vec<f32>, String> {
        serde_json::from_str::<Vector>(json).map(Vector::into_engine).map_err(|error| error.to_string())
    }

    #[test]
    fn both_forms_are_the_same_vector() {
        let vector = vec![0.1, -0.0, f32::MAX, 1.0 / 3.0];
        for format in [VectorFormat::Numbers, VectorFormat::Base64] {
            let json = serde_json::to_string(&format.write(vector.clone())).unwrap();
            let bits = |vector: &[f32]| vector.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&read(&json).unwrap()), bits(&vector), "{json}");
        }
        assert_eq!(serde_json::to_string(&VectorFormat::Base64.write(vec![1.0])).unwrap(), "\"AACAPw==\"");
        assert_eq!(read("[]"), Ok(vec![]));
        assert_eq!(read("\"\""), Ok(vec![]));
    }

    #[test]
    fn what_is_no_vector_is_refused() {
        for wrong in ["1", "null", "{}", "[1, \"2\"]", "\"?\"", "\"AACA\"", "\"AACAPw\"", "true"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
