//! The schema of what is read.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use nuthatch_engine::{CollectionInfo, Element, Error, Result};

use crate::columns::{CONTEXT, ID, PAYLOAD, QUERY, SCORE, TEXT, VECTOR, vectors};

/// What a column is made of.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    Id,
    Text,
    Context,
    Payload,
    Vector { element: Element, dim: usize },
    Named { name: String, element: Element, dim: usize },
    Field { name: String, kind: FieldKind },
    Score,
    Query,
}

/// The type of a payload field's column: JSON, unless every value there has been of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum FieldKind {
    Bool,
    Int,
    Float,
    Text,
    Datetime,
    Json,
}

/// Columns that are read, and the schema that they make.
#[derive(Clone, Debug)]
pub struct Shape {
    pub schema: SchemaRef,
    pub(super) parts: Vec<Part>,
}

impl Shape {
    /// Of a scan: by default all that there is.
    ///
    /// # Errors
    /// `Invalid` for a column that the collection does not have, with those that it has.
    pub fn of_scan(info: &CollectionInfo, columns: Option<&[String]>) -> Result<Self> {
        let mut all = vec![ID.to_string(), TEXT.into(), CONTEXT.into(), PAYLOAD.into()];
        all.extend(info.dim.map(|_| VECTOR.to_string()));
        all.extend(info.vector_fields.iter().map(|field| field.name.clone()));
        Self::of(info, columns.unwrap_or(&all), &[])
    }

    /// Of a search's hits.
    ///
    /// # Errors
    /// As those of [`of_scan`](Self::of_scan).
    pub fn of_search(info: &CollectionInfo, columns: Option<&[String]>) -> Result<Self> {
        let all = [ID, SCORE, TEXT, PAYLOAD].map(str::to_string);
        Self::of(info, columns.unwrap_or(&all), &[SCORE])
    }

    /// Of the hits of many searches: `query` is always the first column.
    ///
    /// # Errors
    /// As those of [`of_scan`](Self::of_scan).
    pub fn of_searches(info: &CollectionInfo, columns: Option<&[String]>) -> Result<Self> {
        let all = [ID, SCORE].map(str::to_string);
        let columns = columns.unwrap_or(&all).iter().filter(|column| *column != QUERY);
        let columns: Vec<String> = std::iter::once(QUERY.to_string()).chain(columns.cloned()).collect();
        Self::of(info, &columns, &[SCORE, QUERY])
    }

    fn of(info: &CollectionInfo, columns: &[String], special: &[&str]) -> Result<Self> {
        if columns.is_empty() {
            return Err(Error::invalid("no columns; name at least one, or leave `columns` out"));
        }
        let mut parts = Vec::with_capacity(columns.len());
        for (at, name) in columns.iter().enumerate() {
            if columns[..at].contains(name) {
                return Err(Error::invalid(format!("column {name:?} is named twice")));
            }
            parts.push(part(info, name, special)?);
        }
        let fields: Vec<Field> = columns.iter().zip(&parts).map(|(name, part)| part.field(name)).collect();
        Ok(Self { schema: Arc::new(Schema::new(fields)), parts })
    }

    pub fn has_text(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Text | Part::Context))
    }

    pub fn has_payload(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Payload | Part::Field { .. }))
    }

    pub fn has_vectors(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Vector { .. } | Part::Named { .. }))
    }
}

fn part(info: &CollectionInfo, name: &str, special: &[&str]) -> Result<Part> {
    match name {
        ID => return Ok(Part::Id),
        TEXT => return Ok(Part::Text),
        CONTEXT => return Ok(Part::Context),
        PAYLOAD => return Ok(Part::Payload),
        SCORE if special.contains(&SCORE) => return Ok(Part::Score),
        QUERY if special.contains(&QUERY) => return Ok(Part::Query),
        VECTOR => {
            let dim =
                info.dim.ok_or_else(|| Error::invalid(format!("collection {:?} has no vectors yet", info.name)))?;
            return Ok(Part::Vector { element: info.element, dim });
        }
        _ => {}
    }
    if let Some(field) = info.vector_fields.iter().find(|field| field.name == name) {
        return Ok(Part::Named { name: name.into(), element: field.element, dim: field.dim });
    }
    match info.fields.iter().find(|(field, _)| field == name) {
        // Fields inside of maps are read with the map.
        Some((field, kinds)) if !field.contains('.') => {
            let kind = match kinds.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                ["bool"] => FieldKind::Bool,
                ["int"] => FieldKind::Int,
                ["float"] => FieldKind::Float,
                ["text"] => FieldKind::Text,
                ["datetime"] => FieldKind::Datetime,
                _ => FieldKind::Json,
            };
            Ok(Part::Field { name: name.into(), kind })
        }
        _ => {
            let mut known: Vec<&str> = vec![ID, TEXT, CONTEXT, PAYLOAD];
            known.extend(special);
            known.extend(info.dim.map(|_| VECTOR));
            known.extend(info.vector_fields.iter().map(|field| field.name.as_str()));
            known.extend(info.fields.iter().map(|(field, _)| field.as_str()).filter(|field| !field.contains('.')));
            Err(Error::invalid(format!(
                "no column {name:?} in collection {:?}; there are: {}",
                info.name,
                known.join(", ")
            )))
        }
    }
}

impl Part {
    fn field(&self, name: &str) -> Field {
        let (kind, nullable) = match self {
            Self::Id => (DataType::Utf8, false),
            Self::Score => (DataType::Float32, false),
            Self::Query => (DataType::UInt64, false),
            Self::Text | Self::Context | Self::Payload => (DataType::Utf8, true),
            Self::Vector { element, dim } | Self::Named { element, dim, .. } => (vectors::kind(*element, *dim), true),
            Self::Field { kind, .. } => (kind.data_type(), true),
        };
        Field::new(name, kind, nullable)
    }
}

impl FieldKind {
    fn data_type(self) -> DataType {
        match self {
            Self::Bool => DataType::Boolean,
            Self::Int => DataType::Int64,
            Self::Float => DataType::Float64,
            Self::Text | Self::Json => DataType::Utf8,
            Self::Datetime => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        }
    }
}
