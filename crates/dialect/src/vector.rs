//! Vectors in JSON: as numbers, or as the base64 of their bytes, which is a quarter of the size and quicker to read and write.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use nuthatch_engine::{NamedVectors, SparseVector, TokenVectors, VectorValue};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
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

    /// A value of whatever kind.
    pub fn write_value(self, value: VectorValue) -> FieldVector {
        match value {
            VectorValue::Dense(vector) => FieldVector::Dense(self.write(vector)),
            VectorValue::Sparse(vector) => {
                FieldVector::Sparse(Sparse { indices: vector.indices().to_vec(), values: vector.values().to_vec() })
            }
            VectorValue::Tokens(tokens) => {
                FieldVector::Tokens(tokens.rows().map(|row| self.write(row.to_vec())).collect())
            }
        }
    }

    pub fn write_all(self, vectors: NamedVectors) -> BTreeMap<String, FieldVector> {
        vectors.into_iter().map(|(field, value)| (field, self.write_value(value))).collect()
    }
}

/// The value of a vector field: a vector; for a sparse field its indices and values; for a field of token vectors one vector for each
/// token.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum FieldVector {
    Dense(Vector),
    Sparse(Sparse),
    Tokens(Vec<Vector>),
}

/// Weights of terms: as many values, finite and above 0, as indices, each of which occurs once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Sparse {
    pub indices: Vec<u32>,
    pub values: Vec<f32>,
}

impl FieldVector {
    /// As the engine has it.
    ///
    /// # Errors
    /// `Invalid` for weights and token vectors that cannot be stored.
    pub fn into_engine(self) -> nuthatch_engine::Result<VectorValue> {
        Ok(match self {
            Self::Dense(vector) => VectorValue::Dense(vector.into_engine()),
            Self::Sparse(Sparse { indices, values }) => VectorValue::Sparse(SparseVector::new(indices, values)?),
            Self::Tokens(rows) => VectorValue::Tokens(tokens_into_engine(rows)?),
        })
    }
}

/// The vectors of a record's or a query's tokens.
pub fn tokens_into_engine(rows: Vec<Vector>) -> nuthatch_engine::Result<TokenVectors> {
    TokenVectors::of_rows(rows.into_iter().map(Vector::into_engine).collect())
}

/// Of several fields.
///
/// # Errors
/// `Invalid`, with the field's name.
pub fn into_engine(vectors: BTreeMap<String, FieldVector>) -> nuthatch_engine::Result<NamedVectors> {
    let one = |(field, value): (String, FieldVector)| match value.into_engine() {
        Ok(value) => Ok((field, value)),
        Err(error) => {
            Err(nuthatch_engine::Error { message: format!("vector field {field:?}: {}", error.message), ..error })
        }
    };
    vectors.into_iter().map(one).collect()
}

impl<'de> Deserialize<'de> for FieldVector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyKind)
    }
}

struct AnyKind;

impl<'de> Visitor<'de> for AnyKind {
    type Value = FieldVector;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a vector, `indices` and `values`, or a list of vectors")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<FieldVector, A::Error> {
        let (mut numbers, mut rows) = (Vec::with_capacity(items.size_hint().unwrap_or(0)), Vec::new());
        while let Some(item) = items.next_element()? {
            match item {
                Item::Number(number) => numbers.push(number),
                Item::Row(row) => rows.push(row),
            }
        }
        match (rows.is_empty(), numbers.is_empty()) {
            (true, _) => Ok(FieldVector::Dense(Vector::Numbers(numbers))),
            (false, true) => Ok(FieldVector::Tokens(rows)),
            (false, false) => Err(A::Error::custom("numbers and vectors are mixed in one list")),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<FieldVector, E> {
        Either.visit_str(text).map(FieldVector::Dense)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<FieldVector, A::Error> {
        Sparse::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(FieldVector::Sparse)
    }
}

/// Of a list that is one vector, or of a list of vectors.
enum Item {
    Number(f32),
    Row(Vector),
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyItem)
    }
}

struct AnyItem;

impl<'de> Visitor<'de> for AnyItem {
    type Value = Item;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a number, or a vector")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Item, E> {
        Ok(Item::Number(number as f32))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Item, E> {
        Ok(Item::Number(number as f32))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Item, E> {
        Ok(Item::Number(number as f32))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, numbers: A) -> Result<Item, A::Error> {
        Either.visit_seq(numbers).map(Item::Row)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Item, E> {
        Either.visit_str(text).map(Item::Row)
    }
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
    fn a_field_takes_a_vector_weights_of_terms_or_a_vector_for_each_token() {
        let read = |json: &str| serde_json::from_str::<FieldVector>(json).map_err(|error| error.to_string());
        let engine = |json: &str| read(json).unwrap().into_engine().map_err(|error| error.message);
        assert_eq!(engine("[1, 0.5]"), Ok(VectorValue::Dense(vec![1.0, 0.5])));
        assert_eq!(engine("\"AACAPw==\""), Ok(VectorValue::Dense(vec![1.0])));
        let sparse = SparseVector::new(vec![3, 9], vec![0.5, 2.0]).unwrap();
        assert_eq!(engine(r#"{"indices": [9, 3], "values": [2, 0.5]}"#), Ok(VectorValue::Sparse(sparse.clone())));
        let tokens = TokenVectors::of_rows(vec![vec![1.0], vec![0.25]]).unwrap();
        assert_eq!(engine("[\"AACAPw==\", [0.25]]"), Ok(VectorValue::Tokens(tokens.clone())));
        for value in [VectorValue::Sparse(sparse), VectorValue::Tokens(tokens)] {
            for format in [VectorFormat::Numbers, VectorFormat::Base64] {
                let json = serde_json::to_string(&format.write_value(value.clone())).unwrap();
                assert_eq!(engine(&json), Ok(value.clone()), "{json}");
            }
        }
        for wrong in
            ["[1, [2]]", "{\"indices\": [1]}", "{\"indices\": [-1], \"values\": [1]}", "[[[1]]]", "1", "[null]"]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        for wrong in
            ["[[1], [1, 2]]", "{\"indices\": [1], \"values\": [0]}", "{\"indices\": [1, 1], \"values\": [1, 1]}"]
        {
            assert!(engine(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_no_vector_is_refused() {
        for wrong in ["1", "null", "{}", "[1, \"2\"]", "\"?\"", "\"AACA\"", "\"AACAPw\"", "true"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
