//! Records and hits as batches.

use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Float64Builder, Int64Builder, ListBuilder, StringBuilder, TimestampMicrosecondBuilder,
};
use arrow_array::{ArrayRef, Float32Array, RecordBatch, UInt64Array};
use nuthatch_link::{
    Error, Hit, Passing, PassingVector, Payload, Result, Value, VectorValue, Visitor, Wanted, datetimes_of,
    payload_to_json,
};

use crate::columns::shape::{FieldKind, Part};
use crate::columns::values::{Sparse, Tokens};
use crate::columns::vectors::Vectors;
use crate::columns::{Shape, UNNAMED};

/// About what an id has, to begin with.
const ID_BYTES: usize = 16;

/// A batch in the making. Records come into it from the store without being records in between.
pub struct Building<'s> {
    shape: &'s Shape,
    columns: Vec<Column>,
    rows: usize,
}

enum Column {
    Strings(StringBuilder),
    Paths(ListBuilder<StringBuilder>),
    Values(Values),
    Vectors(Vectors),
    Sparse(Sparse),
    Tokens(Tokens),
    Scores(Vec<f32>),
    Queries(Vec<u64>),
}

/// The values of a payload's field.
enum Values {
    Bool(BooleanBuilder),
    Int(Int64Builder),
    Float(Float64Builder),
    Text(StringBuilder),
    Datetime(TimestampMicrosecondBuilder),
    Json(StringBuilder),
}

impl Shape {
    /// Returns an empty batch with room for `rows` rows.
    pub fn begin(&self, rows: usize) -> Building<'_> {
        let columns = self.parts.iter().map(|part| part.column(rows)).collect();
        Building { shape: self, columns, rows: 0 }
    }

    /// Returns the parts of a record that the columns hold.
    pub fn wanted(&self) -> Wanted {
        let field = |part: &Part| match part {
            Part::Vector { .. } => Some(UNNAMED.to_string()),
            Part::Named { name, .. } | Part::Sparse { name } | Part::Tokens { name } => Some(name.clone()),
            _ => None,
        };
        Wanted {
            strings: self.parts.iter().any(|part| matches!(part, Part::Id | Part::Text | Part::Context)),
            payload: self.has_payload(),
            vectors: self.parts.iter().filter_map(field).collect(),
        }
    }
}

impl Building<'_> {
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Adds a hit. `query`: the number of the question that it answers.
    ///
    /// # Errors
    /// `Internal` for one that is not of this shape.
    pub fn hit(&mut self, hit: &Hit, query: u64) -> Result<()> {
        self.row(&hit.id, hit.text.as_deref(), hit.context.as_deref(), &hit.payload, (hit.score, query));
        let number = self.rows - 1;
        for (name, value) in &hit.vectors {
            let passing = value.dense().map_or(PassingVector::Value(value), PassingVector::Components);
            self.vector(number, name, passing)?;
        }
        hit.vector.as_ref().map_or(Ok(()), |vector| self.vector(number, UNNAMED, PassingVector::Components(vector)))
    }

    /// # Errors
    /// `Internal` for rows that are not of this shape.
    pub fn finish(self) -> Result<RecordBatch> {
        let rows = self.rows;
        let columns = self.columns.into_iter().map(|column| column.finish(rows)).collect::<Result<Vec<_>>>()?;
        RecordBatch::try_new(self.shape.schema.clone(), columns)
            .map_err(|error| Error::internal(format!("making a batch: {error}")))
    }

    fn row(
        &mut self,
        id: &str,
        text: Option<&str>,
        context: Option<&str>,
        payload: &Payload,
        (score, query): (f32, u64),
    ) {
        for (part, column) in self.shape.parts.iter().zip(&mut self.columns) {
            match (part, column) {
                (Part::Id, Column::Strings(ids)) => ids.append_value(id),
                (Part::Text, Column::Strings(texts)) => texts.append_option(text),
                (Part::Context, Column::Strings(contexts)) => contexts.append_option(context),
                (Part::Payload, Column::Strings(payloads)) => payloads.append_option(json_of(payload)),
                (Part::Datetimes, Column::Paths(paths)) => {
                    let found = datetimes_of(payload).into_iter().filter(|path| self.shape.is_in_json(path)).map(Some);
                    let found: Vec<Option<String>> = found.collect();
                    paths.append_option((!found.is_empty()).then_some(found));
                }
                (Part::Field { name, .. }, Column::Values(values)) => values.push(payload.get(name)),
                (_, Column::Scores(scores)) => scores.push(score),
                (_, Column::Queries(queries)) => queries.push(query),
                // Vectors come by themselves, and columns are made by their parts.
                _ => {}
            }
        }
        self.rows += 1;
    }
}

impl Visitor for Building<'_> {
    fn record(&mut self, record: Passing<'_>) -> Result<()> {
        self.row(record.id, record.text, record.context, &record.payload, (0.0, 0));
        Ok(())
    }

    fn vector(&mut self, number: usize, field: &str, vector: PassingVector<'_>) -> Result<()> {
        let is_of = |part: &Part| match part {
            Part::Vector { .. } => field == UNNAMED,
            Part::Named { name, .. } | Part::Sparse { name } | Part::Tokens { name } => field == name,
            _ => false,
        };
        let place = self.shape.parts.iter().position(is_of);
        match place.map(|at| &mut self.columns[at]) {
            Some(Column::Vectors(vectors)) => return vectors.push(number, vector),
            Some(Column::Sparse(column)) => {
                if let PassingVector::Value(VectorValue::Sparse(vector)) = vector {
                    column.push(number, vector);
                }
            }
            Some(Column::Tokens(column)) => {
                if let PassingVector::Value(VectorValue::Tokens(tokens)) = vector {
                    column.push(number, tokens);
                }
            }
            _ => {} // a hit has all its vectors
        }
        Ok(())
    }
}

impl Part {
    fn column(&self, rows: usize) -> Column {
        match self {
            Self::Id => Column::Strings(StringBuilder::with_capacity(rows, rows * ID_BYTES)),
            Self::Text | Self::Context | Self::Payload => Column::Strings(StringBuilder::with_capacity(rows, 0)),
            Self::Datetimes => Column::Paths(ListBuilder::with_capacity(StringBuilder::new(), rows)),
            Self::Vector { element, dim } | Self::Named { element, dim, .. } => {
                Column::Vectors(Vectors::new(*element, *dim, rows))
            }
            Self::Sparse { .. } => Column::Sparse(Sparse::new()),
            Self::Tokens { .. } => Column::Tokens(Tokens::new()),
            Self::Field { kind, .. } => Column::Values(kind.values(rows)),
            Self::Score => Column::Scores(Vec::with_capacity(rows)),
            Self::Query => Column::Queries(Vec::with_capacity(rows)),
        }
    }
}

impl Column {
    fn finish(self, rows: usize) -> Result<ArrayRef> {
        Ok(match self {
            Self::Strings(mut strings) => Arc::new(strings.finish()),
            Self::Paths(mut paths) => Arc::new(paths.finish()),
            Self::Values(values) => values.finish(),
            Self::Vectors(vectors) => return vectors.finish(rows),
            Self::Sparse(vectors) => return vectors.finish(rows),
            Self::Tokens(tokens) => tokens.finish(rows),
            Self::Scores(scores) => Arc::new(Float32Array::from(scores)),
            Self::Queries(queries) => Arc::new(UInt64Array::from(queries)),
        })
    }
}

impl FieldKind {
    fn values(self, rows: usize) -> Values {
        match self {
            Self::Bool => Values::Bool(BooleanBuilder::with_capacity(rows)),
            Self::Int => Values::Int(Int64Builder::with_capacity(rows)),
            Self::Float => Values::Float(Float64Builder::with_capacity(rows)),
            Self::Text => Values::Text(StringBuilder::with_capacity(rows, 0)),
            Self::Datetime => Values::Datetime(TimestampMicrosecondBuilder::with_capacity(rows).with_timezone("UTC")),
            Self::Json => Values::Json(StringBuilder::with_capacity(rows, 0)),
        }
    }
}

impl Values {
    fn push(&mut self, value: Option<&Value>) {
        match (self, value) {
            (Self::Bool(column), Some(Value::Bool(value))) => column.append_value(*value),
            (Self::Int(column), Some(Value::Int(value))) => column.append_value(*value),
            (Self::Float(column), Some(Value::Float(value))) => column.append_value(*value),
            (Self::Text(column), Some(Value::Text(value))) => column.append_value(value),
            (Self::Datetime(column), Some(Value::Datetime(value))) => column.append_value(*value),
            (Self::Json(column), Some(value)) => column.append_value(value.to_json().to_string()),
            (Self::Bool(column), _) => column.append_null(),
            (Self::Int(column), _) => column.append_null(),
            (Self::Float(column), _) => column.append_null(),
            (Self::Text(column) | Self::Json(column), _) => column.append_null(),
            (Self::Datetime(column), _) => column.append_null(),
        }
    }

    fn finish(self) -> ArrayRef {
        match self {
            Self::Bool(mut column) => Arc::new(column.finish()),
            Self::Int(mut column) => Arc::new(column.finish()),
            Self::Float(mut column) => Arc::new(column.finish()),
            Self::Text(mut column) | Self::Json(mut column) => Arc::new(column.finish()),
            Self::Datetime(mut column) => Arc::new(column.finish()),
        }
    }
}

/// Nothing for an empty one.
fn json_of(payload: &Payload) -> Option<String> {
    (!payload.is_empty()).then(|| serde_json::Value::Object(payload_to_json(payload)).to_string())
}
