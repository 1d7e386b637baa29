//! The single values that a field holds, as they are counted: without arrays and maps, and in an order.

use serde::{Deserialize, Serialize};

use crate::columns::{float_of_key, key_of_float};
use crate::{Payload, Value};

/// One value. Values of different kinds differ, so that 1 and 1.0 are two; they ascend by kind and then by value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Scalar {
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// As a key that ascends as floats do.
    Float(u64),
    /// Microseconds since 1970-01-01T00:00:00Z.
    Datetime(i64),
    /// A string.
    Text(String),
}

impl Scalar {
    /// `None` of null, arrays and maps.
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(value) => Some(Self::Bool(*value)),
            Value::Int(value) => Some(Self::Int(*value)),
            Value::Float(value) => Some(Self::Float(key_of_float(*value))),
            Value::Datetime(micros) => Some(Self::Datetime(*micros)),
            Value::Text(text) => Some(Self::Text(text.clone())),
            Value::Null | Value::Array(_) | Value::Map(_) => None,
        }
    }

    /// Every value that a field of a payload holds, each once: elements of arrays one by one, as filters look at them.
    pub fn all_of(payload: &Payload, field: &str) -> Vec<Self> {
        let mut found = Vec::new();
        in_map(payload, field, &mut found);
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The value that it was made of.
    pub fn into_value(self) -> Value {
        match self {
            Self::Bool(value) => Value::Bool(value),
            Self::Int(value) => Value::Int(value),
            Self::Float(key) => Value::Float(float_of_key(key)),
            Self::Datetime(micros) => Value::Datetime(micros),
            Self::Text(text) => Value::Text(text),
        }
    }

    /// Bytes of memory besides its own size.
    pub fn heap_bytes(&self) -> usize {
        if let Self::Text(text) = self { text.len() } else { 0 }
    }
}

fn in_map(payload: &Payload, path: &str, found: &mut Vec<Scalar>) {
    let (name, rest) = match path.split_once('.') {
        Some((name, rest)) => (name, Some(rest)),
        None => (path, None),
    };
    if let Some(value) = payload.get(name) {
        in_value(value, rest, found);
    }
}

fn in_value(value: &Value, rest: Option<&str>, found: &mut Vec<Scalar>) {
    match (value, rest) {
        (Value::Array(values), _) => values.iter().for_each(|value| in_value(value, rest, found)),
        (Value::Map(map), Some(rest)) => in_map(map, rest, found),
        (_, Some(_)) => {}
        (value, None) => found.extend(Scalar::of(value)),
    }
}
