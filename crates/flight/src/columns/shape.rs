//! The schema of what is read.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use nuthatch_filter::SCHEMA_FIELDS_MAX;
use nuthatch_link::{CollectionInfo, Element, Error, Result};

use crate::columns::mark::{self, Mark};
use crate::columns::{CODE, CONTEXT, DATETIMES, ID, OF_PAYLOAD, PAYLOAD, QUERY, SCORE, TEXT, VECTOR, values, vectors};

/// The contents of a column.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    Id,
    Text,
    Context,
    Payload,
    /// Which strings of the row's JSON are datetimes.
    Datetimes,
    Vector {
        element: Element,
        dim: usize,
    },
    Named {
        name: String,
        element: Element,
        dim: usize,
    },
    Sparse {
        name: String,
    },
    Tokens {
        name: String,
    },
    Field {
        name: String,
        kind: FieldKind,
    },
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
        all.extend(has_datetimes(info, None).then(|| DATETIMES.to_string()));
        all.extend(info.dim.map(|_| VECTOR.to_string()));
        all.extend(info.vector_fields.iter().map(|field| field.name.clone()));
        Self::of(info, columns.unwrap_or(&all), &[])
    }

    /// Of a search's hits.
    ///
    /// # Errors
    /// As those of [`of_scan`](Self::of_scan).
    pub fn of_search(info: &CollectionInfo, columns: Option<&[String]>) -> Result<Self> {
        let mut all = [ID, SCORE, TEXT, PAYLOAD].map(str::to_string).to_vec();
        all.extend(has_datetimes(info, None).then(|| DATETIMES.to_string()));
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
        let is_whole = parts.contains(&Part::Datetimes);
        let field = |(name, part): (&String, &Part)| match part.of_json().filter(|_| !is_whole) {
            Some(of) if has_datetimes(info, of) => mark::lacking_datetimes(part.field(name)),
            _ => part.field(name),
        };
        let fields: Vec<Field> = columns.iter().zip(&parts).map(field).collect();
        Ok(Self { schema: Arc::new(Schema::new(fields)), parts })
    }

    pub fn has_text(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Text | Part::Context))
    }

    pub fn has_payload(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Payload | Part::Datetimes | Part::Field { .. }))
    }

    /// Whether the value at a path of the payload is in a column of JSON.
    pub(super) fn is_in_json(&self, path: &str) -> bool {
        let outer = path.split('.').next().unwrap_or(path);
        self.parts.iter().filter_map(Part::of_json).any(|of| of.is_none_or(|field| field == outer))
    }

    pub fn has_vectors(&self) -> bool {
        self.parts.iter().any(|part| {
            matches!(part, Part::Vector { .. } | Part::Named { .. } | Part::Sparse { .. } | Part::Tokens { .. })
        })
    }
}

fn part(info: &CollectionInfo, name: &str, special: &[&str]) -> Result<Part> {
    match name {
        ID => return Ok(Part::Id),
        TEXT => return Ok(Part::Text),
        CONTEXT => return Ok(Part::Context),
        PAYLOAD => return Ok(Part::Payload),
        DATETIMES => return Ok(Part::Datetimes),
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
        let name = name.to_string();
        return Ok(match field.kind.as_str() {
            "sparse" => Part::Sparse { name },
            "tokens" => Part::Tokens { name },
            _ => Part::Named { name, element: field.element, dim: field.dim },
        });
    }
    let of_payload = name.strip_prefix(OF_PAYLOAD).unwrap_or(name);
    match info.fields.iter().find(|(field, _)| field == of_payload) {
        Some((field, _)) if name == CODE => Err(Error::invalid(format!(
            "column \"code\" is write-only; the payload field of that name is column \"{OF_PAYLOAD}{field}\""
        ))),
        Some((field, _)) if field.contains('.') => {
            let outer = field.split('.').next().unwrap_or(field);
            Err(Error::invalid(format!(
                "{field:?} is inside {outer:?}, but columns are whole fields; read {outer:?}, which is JSON"
            )))
        }
        Some((field, kinds)) => {
            let kind = match kinds.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                ["bool"] => FieldKind::Bool,
                ["int"] => FieldKind::Int,
                ["float"] => FieldKind::Float,
                ["text"] => FieldKind::Text,
                ["datetime"] => FieldKind::Datetime,
                _ => FieldKind::Json,
            };
            Ok(Part::Field { name: field.clone(), kind })
        }
        None => {
            let mut known: Vec<&str> = vec![ID, TEXT, CONTEXT, PAYLOAD, DATETIMES];
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

/// Whether JSON of the payload, or of one field of it, may have datetimes.
fn has_datetimes(info: &CollectionInfo, field: Option<&str>) -> bool {
    let is_in = |path: &str| match field {
        None => true,
        Some(field) => path == field || path.strip_prefix(field).is_some_and(|rest| rest.starts_with('.')),
    };
    // The contents of fields beyond these are unknown.
    info.fields.len() >= SCHEMA_FIELDS_MAX
        || info.fields.iter().any(|(path, kinds)| is_in(path) && kinds.iter().any(|kind| kind == "datetime"))
}

impl Part {
    /// Of JSON, which field it is; the whole payload is `Some(None)`.
    fn of_json(&self) -> Option<Option<&str>> {
        match self {
            Self::Payload => Some(None),
            Self::Field { name, kind: FieldKind::Json } => Some(Some(name)),
            _ => None,
        }
    }

    fn field(&self, name: &str) -> Field {
        let (kind, nullable) = match self {
            Self::Datetimes => (DataType::new_list(DataType::Utf8, true), true),
            Self::Id => (DataType::Utf8, false),
            Self::Score => (DataType::Float32, false),
            Self::Query => (DataType::UInt64, false),
            Self::Text | Self::Context | Self::Payload => (DataType::Utf8, true),
            Self::Vector { element, dim } | Self::Named { element, dim, .. } => (vectors::kind(*element, *dim), true),
            Self::Sparse { .. } => (values::sparse_kind(), true),
            Self::Tokens { .. } => (values::tokens_kind(), true),
            Self::Field { kind, .. } => (kind.data_type(), true),
        };
        let field = Field::new(name, kind, nullable);
        match self {
            Self::Score | Self::Query => Mark::Search.on(field),
            Self::Datetimes => Mark::Datetimes.on(field),
            Self::Field { kind: FieldKind::Json, .. } => Mark::Json.on(field),
            _ => field,
        }
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
