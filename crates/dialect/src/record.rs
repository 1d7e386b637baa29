//! Records: as they are given, and as they come back.

use std::collections::BTreeMap;

use nuthatch_engine::{Error, Result, datetimes_of, payload_to_json, payload_with_datetimes};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::vector::{self, FieldVector, Vector, VectorFormat};

/// A record to store, with at least one of text, vector and payload.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Record {
    #[schema(min_length = 1, max_length = 1024)]
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Default: the embedder of the collection makes it from the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vector: Option<Vector>,
    /// Vectors of named fields.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub vectors: BTreeMap<String, FieldVector>,
    /// Named values: null, booleans, 64-bit integers, floats, strings, arrays and objects.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub payload: Map<String, Value>,
    /// Which strings of the payload are datetimes, as dotted paths (`events.0.at`); a datetime is written as `2025-01-31T12:30:00Z`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub datetimes: Vec<String>,
    /// Headings above the text; searched with it, but not part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The text is source code: identifiers are also indexed by their parts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub code: bool,
}

/// A record as the server returns it.
#[derive(Debug, Serialize, ToSchema)]
pub struct StoredRecord {
    id: String,
    text: Option<String>,
    #[schema(value_type = Object)]
    payload: Map<String, Value>,
    /// Dotted paths of the payload strings that are datetimes; absent if none are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    datetimes: Vec<String>,
    context: Option<String>,
    /// Only if the request asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    vector: Option<Vector>,
    /// Vectors of named fields, only if the request asked for them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    vectors: BTreeMap<String, FieldVector>,
}

impl Record {
    /// As the engine has it.
    ///
    /// # Errors
    /// `Invalid` with the record's id when a datetime is none.
    pub fn into_engine(self) -> Result<nuthatch_engine::Record> {
        let Self { id, text, vector, vectors, payload, datetimes, context, code } = self;
        let payload = payload_with_datetimes(payload, &datetimes);
        let payload = payload.map_err(|error| Error::invalid(format!("record {id:?}: {error}")))?;
        let vectors = vector::into_engine(vectors)
            .map_err(|error| Error::invalid(format!("record {id:?}: {}", error.message)))?;
        let vector = vector.map(Vector::into_engine);
        Ok(nuthatch_engine::Record { id, text, vector, vectors, payload, context, code })
    }

    /// How a client writes it.
    pub fn new(record: nuthatch_engine::Record, format: VectorFormat) -> Self {
        let nuthatch_engine::Record { id, text, vector, vectors, payload, context, code } = record;
        Self {
            id,
            text,
            vector: vector.map(|vector| format.write(vector)),
            vectors: format.write_all(vectors),
            datetimes: datetimes_of(&payload),
            payload: payload_to_json(&payload),
            context,
            code,
        }
    }
}

impl StoredRecord {
    /// How a server answers with it.
    pub fn new(record: nuthatch_engine::StoredRecord, format: VectorFormat) -> Self {
        let nuthatch_engine::StoredRecord { id, text, payload, context, vector, vectors } = record;
        Self {
            id,
            text,
            datetimes: datetimes_of(&payload),
            payload: payload_to_json(&payload),
            context,
            vector: vector.map(|vector| format.write(vector)),
            vectors: format.write_all(vectors),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_writes_of_a_record_is_what_a_server_reads() {
        let json = r#"{"id":"a","text":"words","vector":"AACAPw==","payload":{"at":"2025-01-31T12:30:00Z","n":1},"datetimes":["at"],"code":true}"#;
        let record: Record = serde_json::from_str(json).unwrap();
        let engine = record.into_engine().unwrap();
        assert_eq!(engine.vector, Some(vec![1.0]));
        assert_eq!(serde_json::to_string(&Record::new(engine, VectorFormat::Base64)).unwrap(), json);
        let least = Record::new(nuthatch_engine::Record::new("b").text("t"), VectorFormat::Base64);
        assert_eq!(serde_json::to_string(&least).unwrap(), r#"{"id":"b","text":"t"}"#);
        assert!(serde_json::from_str::<Record>(r#"{"id":"a","texts":"t"}"#).is_err());
    }
}
