//! Changes of some fields of payloads.

use nuthatch_engine::{Error, Payload, Result, Value, datetimes_of, payload_to_json, payload_with_datetimes};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use utoipa::ToSchema;

/// Which fields of a payload change, and how; the others stay. A path such as `meta.author` leads into a map.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FieldChange {
    /// New values by path. Maps that a path leads through are made where they are missing.
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub set: Map<String, Json>,
    /// Lists by path: the list gets those of the values that it lacks. A missing list is made.
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub add: Map<String, Json>,
    /// Lists by path: the list loses these values, and goes when it is empty.
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub remove: Map<String, Json>,
    /// Paths of fields to remove.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unset: Vec<String>,
    /// Which strings of `set`, `add` and `remove` are datetimes, as dotted paths.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub datetimes: Vec<String>,
}

/// A change of some records.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordChange {
    /// The records; missing ids are ignored.
    pub ids: Vec<String>,
    pub change: FieldChange,
}

impl FieldChange {
    /// As the engine has it.
    ///
    /// # Errors
    /// `Invalid` for a datetime that is none.
    pub fn into_engine(self) -> Result<nuthatch_engine::FieldChange> {
        let Self { set, add, remove, unset, datetimes } = self;
        let values = |map| values(map, &datetimes);
        Ok(nuthatch_engine::FieldChange { set: values(set)?, add: values(add)?, remove: values(remove)?, unset })
    }

    /// How a client writes it.
    pub fn new(change: &nuthatch_engine::FieldChange) -> Self {
        let nuthatch_engine::FieldChange { set, add, remove, unset } = change;
        Self {
            datetimes: [set, add, remove].into_iter().flat_map(datetimes_of).collect(),
            set: payload_to_json(set),
            add: payload_to_json(add),
            remove: payload_to_json(remove),
            unset: unset.clone(),
        }
    }
}

impl RecordChange {
    /// As the engine has it.
    ///
    /// # Errors
    /// `Invalid` for a datetime that is none.
    pub fn into_engine(self) -> Result<nuthatch_engine::RecordChange> {
        Ok(nuthatch_engine::RecordChange { ids: self.ids, change: self.change.into_engine()? })
    }
}

/// Values by path. The paths may have dots, which in a payload's datetimes lead into a map.
fn values(map: Map<String, Json>, datetimes: &[String]) -> Result<Payload> {
    const VALUE: &str = "value";
    let one = |(path, value): (String, Json)| -> Result<(String, Value)> {
        let inside = datetimes.iter().filter_map(|datetime| datetime.strip_prefix(path.as_str()));
        let inside: Vec<String> = inside
            .filter(|rest| rest.is_empty() || rest.starts_with('.'))
            .map(|rest| format!("{VALUE}{rest}"))
            .collect();
        let payload = payload_with_datetimes(Map::from_iter([(VALUE.to_string(), value)]), &inside);
        let mut payload = payload.map_err(|error| Error::invalid(format!("field {path:?}: {error}")))?;
        Ok((path, payload.remove(VALUE).unwrap_or(Value::Null)))
    };
    map.into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_writes_of_a_change_is_what_a_server_reads() {
        let json = r#"{"set":{"meta.at":"2025-01-31T12:30:00Z","n":1},"add":{"seen":["2025-01-31T12:30:00Z"]},"unset":["old"],"datetimes":["meta.at","seen.0"]}"#;
        let change: FieldChange = serde_json::from_str(json).unwrap();
        let engine = change.into_engine().unwrap();
        assert!(matches!(engine.set["meta.at"], Value::Datetime(_)));
        assert_eq!(serde_json::to_string(&FieldChange::new(&engine)).unwrap(), json);
        assert!(serde_json::from_str::<FieldChange>(r#"{"sets":{}}"#).is_err());
    }
}
