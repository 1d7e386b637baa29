//! The values that a payload field may hold.

use std::collections::BTreeMap;

/// One value of a payload. Kinds never convert into each other silently; only [`Value::Int`] and [`Value::Float`] compare
/// with each other, by their exact numeric value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Known to be absent. A filter cannot tell it from a missing field.
    Null,
    /// True or false.
    Bool(bool),
    /// An integer of 64 bits.
    Int(i64),
    /// Finite in a validated payload.
    Float(f64),
    /// Compared byte by byte, with upper and lower case apart.
    Text(String),
    /// Microseconds since 1970-01-01T00:00:00Z.
    Datetime(i64),
    /// A filter looks at every element, at any depth.
    Array(Vec<Value>),
    /// A filter reaches inside with dots: `meta.author`.
    Map(BTreeMap<String, Value>),
}

/// The named values of one record. Nested maps are addressed by dots in filters, so no name contains a dot
/// ([`crate::validate`]).
pub type Payload = BTreeMap<String, Value>;

impl Value {
    /// The kind's name as errors and the schema spell it.
    pub fn kind_name(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Float(_) => "float",
            Value::Text(_) => "text",
            Value::Datetime(_) => "datetime",
            Value::Array(_) => "array",
            Value::Map(_) => "map",
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Value::Float(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Value::Text(value)
    }
}

impl<V: Into<Value>> From<Vec<V>> for Value {
    fn from(values: Vec<V>) -> Self {
        Value::Array(values.into_iter().map(Into::into).collect())
    }
}
