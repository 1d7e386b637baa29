//! A record as a line of JSON, without loss.
//!
//! Payloads are plain JSON, which has no datetimes: those are RFC 3339 strings, and `datetimes` lists where they are, as dotted paths
//! (`events.0.at`), so that they come back as what they were.

use std::borrow::Cow;

use nuthatch_filter::{datetimes_of, payload_with_datetimes};
use serde::{Deserialize, Serialize};
use serde_json::Map;

use crate::Result;
use crate::record::NamedVectors;
use crate::record::{Record, Row};

/// A record as a line of JSON.
#[derive(Serialize, Deserialize)]
pub struct Line<'l> {
    /// The record's id.
    #[serde(borrow)]
    pub id: Cow<'l, str>,
    /// The record's text.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Cow<'l, str>>,
    /// Headings or symbols that the text stands under.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Cow<'l, str>>,
    /// The text is source code.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub code: bool,
    /// The unnamed vector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector: Option<Vec<f32>>,
    /// Its vector is still to come.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pending: bool,
    /// Of named fields.
    #[serde(default, skip_serializing_if = "NamedVectors::is_empty")]
    pub vectors: NamedVectors,
    /// Kinds that JSON lacks are written as text.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub payload: Map<String, serde_json::Value>,
    /// Paths of the fields in `payload` whose texts are datetimes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub datetimes: Vec<String>,
}

impl<'l> Line<'l> {
    pub(crate) fn of(row: &'l Row, (vector, vectors): (Option<Vec<f32>>, NamedVectors)) -> Result<Self> {
        let payload = row.payload()?;
        Ok(Self {
            id: Cow::Borrowed(&row.id),
            text: row.text.as_deref().map(Cow::Borrowed),
            context: row.context.as_deref().map(Cow::Borrowed),
            code: row.code,
            vector,
            pending: false,
            vectors,
            payload: nuthatch_filter::payload_to_json(&payload),
            datetimes: datetimes_of(&payload),
        })
    }

    /// The record that it was made of.
    pub fn into_record(self) -> Result<Record> {
        let payload = payload_with_datetimes(self.payload, &self.datetimes)?;
        Ok(Record {
            id: self.id.into_owned(),
            text: self.text.map(Cow::into_owned),
            context: self.context.map(Cow::into_owned),
            code: self.code,
            vector: self.vector,
            vectors: self.vectors,
            payload,
        })
    }
}

#[cfg(test)]
mod tests {
    use nuthatch_filter::{Payload, Value};

    use super::*;

    #[test]
    fn a_record_comes_back_with_every_kind_of_value() {
        let inner = Payload::from([("at".to_string(), Value::Datetime(1_735_689_600_000_001))]);
        let payload = Payload::from([
            ("when".to_string(), Value::Datetime(i64::MIN)),
            ("looks".to_string(), Value::Text("2025-01-01T00:00:00Z".into())),
            ("many".to_string(), Value::Array(vec![Value::Map(inner), Value::Null, Value::Bool(true)])),
            ("exact".to_string(), Value::Float(0.1 + 0.2)),
            ("small".to_string(), Value::Float(5e-324)),
            ("whole".to_string(), Value::Float(3.0)),
            ("int".to_string(), Value::Int(i64::MAX)),
        ]);
        let row = Row {
            id: "a \"quoted\" \u{1}id".into(),
            text: Some("line\nline".into()),
            context: Some(String::new()),
            code: true,
            has_vector: true,
            payload: nuthatch_filter::encode(&payload),
        };
        let vector = vec![0.1, -0.0, f32::MIN_POSITIVE / 3.0, f32::MAX, 1.0 / 3.0];
        let named = NamedVectors::from([("title".to_string(), vec![0.1, 1.0 / 3.0].into())]);
        let line = serde_json::to_string(&Line::of(&row, (Some(vector.clone()), named.clone())).unwrap()).unwrap();
        let record = serde_json::from_str::<Line<'_>>(&line).unwrap().into_record().unwrap();
        assert_eq!((record.id, record.text, record.context, record.code), (row.id, row.text, row.context, true));
        assert_eq!(record.payload, payload);
        let bits = |vector: &[f32]| vector.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&record.vector.unwrap()), bits(&vector));
        assert_eq!(record.vectors, named);
    }

    #[test]
    fn a_path_that_leads_nowhere_is_named() {
        for path in ["b", "a.0", "a.b", ""] {
            let line = format!(r#"{{"id": "x", "payload": {{"a": "2025-01-01T00:00:00Z"}}, "datetimes": [{path:?}]}}"#);
            let error = serde_json::from_str::<Line<'_>>(&line).unwrap().into_record().unwrap_err();
            assert!(error.message.contains(&format!("{path:?}")), "{error}");
        }
    }
}
