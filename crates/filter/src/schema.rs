//! Which fields a collection has had, and of which kinds.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::compare::Literal;
use crate::time::parse_nanos;
use crate::{Filter, FilterError, Payload, Value};

/// Most field paths that are remembered. A collection that uses data as field names goes past it; from then on an unknown
/// field is not an error any more, and the schema grows no further.
pub const SCHEMA_FIELDS_MAX: usize = 4096;
/// Names further than this from every known field are not called a misspelling of it (Jaro-Winkler, 0 to 1).
const SIMILAR_MIN: f64 = 0.8;

/// The kinds of value that a field has held; an array counts as itself and as the kinds of its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// True or false.
    Bool,
    /// An integer of 64 bits.
    Int,
    /// A 64-bit floating-point number.
    Float,
    /// A text in UTF-8.
    Text,
    /// A moment in UTC, in microseconds.
    Datetime,
    /// A list of values, of any kinds.
    Array,
    /// Named values.
    Map,
}

impl Kind {
    /// Lower-case name, as in messages and listings.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Bool => "bool",
            Kind::Int => "int",
            Kind::Float => "float",
            Kind::Text => "text",
            Kind::Datetime => "datetime",
            Kind::Array => "array",
            Kind::Map => "map",
        }
    }
}

/// Dotted field path → kinds seen, gathered from every payload that was written. It only grows: deleting rows does not
/// shrink it. A field that was always null has no kinds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    fields: BTreeMap<String, BTreeSet<Kind>>,
    /// Fields were left out at [`SCHEMA_FIELDS_MAX`].
    #[serde(default)]
    open: bool,
    /// A payload was observed, be it an empty one: from then on fields that were never seen are unknown. Schemas that were
    /// stored before there was this flag lack it; what fields they hold says the same.
    #[serde(default)]
    observed: bool,
}

impl Schema {
    /// Adds the payload's fields; whether that changed anything.
    pub fn observe(&mut self, payload: &Payload) -> bool {
        let first = !std::mem::replace(&mut self.observed, true);
        let mut path = String::new();
        self.observe_map(&mut path, payload) | first
    }

    /// Adds what the other one has seen; whether that changed anything.
    pub fn merge(&mut self, other: &Schema) -> bool {
        let mut changed = (other.open && !self.open) || (other.observed && !self.observed);
        self.open |= other.open;
        self.observed |= other.observed;
        for (path, kinds) in &other.fields {
            changed |= self.add(path, None);
            for kind in kinds {
                changed |= self.add(path, Some(*kind));
            }
        }
        changed
    }

    /// Whether no field was ever seen.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Every known field path with its kinds, in order of the paths.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &BTreeSet<Kind>)> {
        self.fields.iter().map(|(path, kinds)| (path.as_str(), kinds))
    }

    /// JSON.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_else(|error| unreachable!("strings and sets always serialise: {error}"))
    }

    /// # Errors
    /// [`FilterError::Decode`] for bytes that [`Schema::to_bytes`] did not write.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FilterError> {
        serde_json::from_slice(bytes).map_err(|error| FilterError::Decode { what: "schema", reason: error.to_string() })
    }

    fn observe_map(&mut self, path: &mut String, map: &Payload) -> bool {
        let parent_len = path.len();
        let mut changed = false;
        for (name, value) in map {
            if parent_len > 0 {
                path.push('.');
            }
            path.push_str(name);
            changed |= self.observe_value(path, value);
            path.truncate(parent_len);
        }
        changed
    }

    fn observe_value(&mut self, path: &mut String, value: &Value) -> bool {
        let changed = self.add(path, kind_of(value));
        changed
            | match value {
                Value::Array(values) => {
                    values.iter().fold(false, |changed, value| changed | self.observe_value(path, value))
                }
                Value::Map(map) => self.observe_map(path, map),
                _ => false,
            }
    }

    fn add(&mut self, path: &str, kind: Option<Kind>) -> bool {
        if let Some(kinds) = self.fields.get_mut(path) {
            return kind.is_some_and(|kind| kinds.insert(kind));
        }
        if self.fields.len() >= SCHEMA_FIELDS_MAX {
            return !std::mem::replace(&mut self.open, true);
        }
        self.fields.insert(path.to_owned(), kind.into_iter().collect());
        true
    }

    fn kinds(&self, field: &str) -> Result<Option<&BTreeSet<Kind>>, FilterError> {
        match self.fields.get(field) {
            Some(kinds) => Ok(Some(kinds)),
            None if self.open || (!self.observed && self.is_empty()) => Ok(None),
            None => Err(FilterError::UnknownField {
                field: field.to_owned(),
                suggestion: self.most_similar(field),
                known: self.fields.keys().cloned().collect(),
            }),
        }
    }

    fn most_similar(&self, field: &str) -> Option<String> {
        let wanted = field.to_lowercase();
        let similarity = |path: &String| strsim::jaro_winkler(&wanted, &path.to_lowercase());
        let scored = self.fields.keys().map(|path| (similarity(path), path));
        let (score, path) = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
        (score >= SIMILAR_MIN).then(|| path.clone())
    }
}

impl Filter {
    /// Whether the filter can mean something for rows of this schema. One that has observed no payload accepts everything: in a
    /// collection without records no field is misspelt. Where every payload was empty, every field is unknown.
    ///
    /// # Errors
    /// [`FilterError::UnknownField`] for a field that no row has had; [`FilterError::KindMismatch`] for a literal that no
    /// kind of the field can ever equal or be ordered with, such as `year = '2024'` where every year is an int.
    pub fn check(&self, schema: &Schema) -> Result<(), FilterError> {
        match self {
            Filter::True => Ok(()),
            Filter::And(parts) | Filter::Or(parts) => parts.iter().try_for_each(|part| part.check(schema)),
            Filter::Not(inner) => inner.check(schema),
            Filter::Exists { field } => schema.kinds(field).map(drop),
            Filter::Among { .. } => Ok(()),
            Filter::Compare { field, value, .. } => check_values(schema, field, [value]),
            Filter::In { field, values } => check_values(schema, field, values),
            Filter::Between { field, low, high } => check_values(schema, field, [low, high]),
            Filter::Like { field, pattern: text, .. } | Filter::Prefix { field, prefix: text } => {
                match schema.kinds(field)? {
                    Some(kinds) if !kinds.is_empty() && !kinds.contains(&Kind::Text) => Err(mismatch(
                        field,
                        kinds,
                        &Value::from(text.as_str()),
                        "patterns are for text; compare with =, <, >",
                    )),
                    _ => Ok(()),
                }
            }
            Filter::Contains { field, value } => match schema.kinds(field)? {
                // Taken for a substring, it would silently mean equality.
                Some(kinds) if !kinds.is_empty() && !kinds.contains(&Kind::Array) => Err(mismatch(
                    field,
                    kinds,
                    value,
                    "CONTAINS looks for an element of an array; for a part of a text write LIKE '%…%'",
                )),
                _ => check_values(schema, field, [value]),
            },
        }
    }
}

fn check_values<'a>(
    schema: &Schema,
    field: &str,
    values: impl IntoIterator<Item = &'a Value>,
) -> Result<(), FilterError> {
    let Some(kinds) = schema.kinds(field)? else { return Ok(()) };
    if kinds.is_empty() {
        return Ok(());
    }
    for value in values {
        let fits = |kind: &Kind| match Literal::new(value) {
            Literal::Bool(_) => *kind == Kind::Bool,
            Literal::Int(_) | Literal::Float(_) => matches!(kind, Kind::Int | Kind::Float),
            Literal::Text(text) => *kind == Kind::Text || (*kind == Kind::Datetime && parse_nanos(text).is_some()),
            Literal::Datetime(_) => *kind == Kind::Datetime,
            Literal::Incomparable => false,
        };
        if !kinds.iter().any(fits) {
            return Err(mismatch(field, kinds, value, remedy(kinds, value)));
        }
    }
    Ok(())
}

fn remedy(kinds: &BTreeSet<Kind>, value: &Value) -> &'static str {
    let holds = |kind| kinds.contains(&kind);
    match value {
        Value::Text(_) if holds(Kind::Datetime) => "write a datetime: '2025-01-31' or '2025-01-31T12:30:00Z'",
        Value::Text(_) if holds(Kind::Int) || holds(Kind::Float) => "write the number without quotes",
        Value::Int(_) | Value::Float(_) if holds(Kind::Text) => "write the value in single quotes",
        Value::Datetime(_) if holds(Kind::Text) => "leave out TIMESTAMP: text compares with text",
        _ if holds(Kind::Map) => "name a field inside of it with a dot",
        _ => "compare with a value of its kind",
    }
}

fn mismatch(field: &str, kinds: &BTreeSet<Kind>, value: &Value, remedy: &str) -> FilterError {
    let names: Vec<String> = kinds.iter().map(|kind| format!("{kind:?}").to_lowercase()).collect();
    FilterError::KindMismatch {
        field: field.to_owned(),
        kinds: names.join(", "),
        literal: format!("the {} {}", value.kind_name(), crate::display::clipped_literal(value)),
        remedy: remedy.to_owned(),
    }
}

fn kind_of(value: &Value) -> Option<Kind> {
    match value {
        Value::Null => None,
        Value::Bool(_) => Some(Kind::Bool),
        Value::Int(_) => Some(Kind::Int),
        Value::Float(_) => Some(Kind::Float),
        Value::Text(_) => Some(Kind::Text),
        Value::Datetime(_) => Some(Kind::Datetime),
        Value::Array(_) => Some(Kind::Array),
        Value::Map(_) => Some(Kind::Map),
    }
}
