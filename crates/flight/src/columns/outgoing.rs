//! Records and hits as batches.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float32Array, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray, UInt64Array,
};
use nuthatch_engine::{Error, Hit, NamedVectors, Payload, Result, StoredRecord, Value, payload_to_json};

use crate::columns::Shape;
use crate::columns::shape::{FieldKind, Part};
use crate::columns::vectors;

/// What a row of a batch is made of.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    id: &'a str,
    text: Option<&'a str>,
    context: Option<&'a str>,
    payload: &'a Payload,
    vector: Option<&'a [f32]>,
    vectors: &'a NamedVectors,
    score: f32,
    query: u64,
}

impl<'a> Row<'a> {
    pub fn of_record(record: &'a StoredRecord) -> Self {
        Self {
            id: &record.id,
            text: record.text.as_deref(),
            context: record.context.as_deref(),
            payload: &record.payload,
            vector: record.vector.as_deref(),
            vectors: &record.vectors,
            score: 0.0,
            query: 0,
        }
    }

    /// `query`: the number of the question that it answers.
    pub fn of_hit(hit: &'a Hit, query: u64) -> Self {
        Self {
            id: &hit.id,
            text: hit.text.as_deref(),
            context: hit.context.as_deref(),
            payload: &hit.payload,
            vector: hit.vector.as_deref(),
            vectors: &hit.vectors,
            score: hit.score,
            query,
        }
    }
}

impl Shape {
    /// # Errors
    /// `Internal` for rows that are not of this shape.
    pub fn batch(&self, rows: &[Row<'_>]) -> Result<RecordBatch> {
        let columns = self.parts.iter().map(|part| part.column(rows)).collect::<Result<Vec<_>>>()?;
        RecordBatch::try_new(self.schema.clone(), columns)
            .map_err(|error| Error::internal(format!("making a batch: {error}")))
    }
}

impl Part {
    fn column(&self, rows: &[Row<'_>]) -> Result<ArrayRef> {
        let rows = rows.iter();
        Ok(match self {
            Self::Id => Arc::new(StringArray::from_iter_values(rows.map(|row| row.id))),
            Self::Text => Arc::new(rows.map(|row| row.text).collect::<StringArray>()),
            Self::Context => Arc::new(rows.map(|row| row.context).collect::<StringArray>()),
            Self::Payload => Arc::new(rows.map(|row| json_of(row.payload)).collect::<StringArray>()),
            Self::Score => Arc::new(Float32Array::from_iter_values(rows.map(|row| row.score))),
            Self::Query => Arc::new(UInt64Array::from_iter_values(rows.map(|row| row.query))),
            Self::Vector { element, dim } => vectors::write(*element, *dim, rows.map(|row| row.vector))?,
            Self::Named { name, element, dim } => {
                vectors::write(*element, *dim, rows.map(|row| row.vectors.get(name).map(Vec::as_slice)))?
            }
            Self::Field { name, kind } => kind.column(rows.map(|row| row.payload.get(name))),
        })
    }
}

impl FieldKind {
    fn column<'a>(self, values: impl Iterator<Item = Option<&'a Value>>) -> ArrayRef {
        macro_rules! of {
            ($array:ty, $kind:ident) => {
                values
                    .map(|value| match value {
                        Some(Value::$kind(value)) => Some(value.clone()),
                        _ => None,
                    })
                    .collect::<$array>()
            };
        }
        match self {
            Self::Bool => Arc::new(of!(BooleanArray, Bool)),
            Self::Int => Arc::new(of!(Int64Array, Int)),
            Self::Float => Arc::new(of!(Float64Array, Float)),
            Self::Text => Arc::new(of!(StringArray, Text)),
            Self::Datetime => Arc::new(of!(TimestampMicrosecondArray, Datetime).with_timezone("UTC")),
            Self::Json => {
                Arc::new(values.map(|value| value.map(|value| value.to_json().to_string())).collect::<StringArray>())
            }
        }
    }
}

/// Nothing for an empty one.
fn json_of(payload: &Payload) -> Option<String> {
    (!payload.is_empty()).then(|| serde_json::Value::Object(payload_to_json(payload)).to_string())
}
