//! Where the datetimes of a payload are, kept next to its JSON form, which has none.
//!
//! **Useful for** JSON without loss: datetimes are written as RFC 3339 strings, and a list of dotted paths
//! (`events.0.at`) names those strings; together they restore the original values.

use serde_json::{Map, Value as Json};

use crate::{FilterError, Payload, Value, parse_datetime, payload_from_json};

/// Paths of all datetimes, in the order of the payload.
pub fn datetimes_of(payload: &Payload) -> Vec<String> {
    let mut found = Vec::new();
    for (name, value) in payload {
        find(name, value, &mut found);
    }
    found
}

/// The payload of a JSON object in which these paths lead to datetimes.
///
/// # Errors
/// As those of [`payload_from_json`], and [`FilterError::InvalidPayload`] for a path where no datetime can be.
pub fn payload_with_datetimes(json: Map<String, Json>, paths: &[String]) -> Result<Payload, FilterError> {
    let mut payload = payload_from_json(Json::Object(json))?;
    paths.iter().try_for_each(|path| make(&mut payload, path))?;
    Ok(payload)
}

fn find(path: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Datetime(_) => found.push(path.to_string()),
        Value::Array(values) => {
            for (at, value) in values.iter().enumerate() {
                find(&format!("{path}.{at}"), value, found);
            }
        }
        Value::Map(map) => {
            for (name, value) in map {
                find(&format!("{path}.{name}"), value, found);
            }
        }
        _ => {}
    }
}

fn make(payload: &mut Payload, path: &str) -> Result<(), FilterError> {
    let wrong = || FilterError::InvalidPayload {
        field: path.to_string(),
        reason: format!("`datetimes` names {path:?}, but the value there is not a datetime"),
    };
    let mut parts = path.split('.');
    let mut value = parts.next().and_then(|name| payload.get_mut(name)).ok_or_else(wrong)?;
    for part in parts {
        value = match value {
            Value::Map(map) => map.get_mut(part),
            Value::Array(values) => part.parse::<usize>().ok().and_then(|at| values.get_mut(at)),
            _ => None,
        }
        .ok_or_else(wrong)?;
    }
    *value = match value {
        Value::Text(text) => Value::Datetime(parse_datetime(text).ok_or_else(wrong)?),
        // Outside of the years that RFC 3339 can write.
        Value::Int(micros) => Value::Datetime(*micros),
        _ => return Err(wrong()),
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::payload_to_json;

    #[test]
    fn datetimes_come_back_as_what_they_were() {
        let at = |micros| Value::Datetime(micros);
        let inner = Payload::from([("at".to_string(), at(1_735_689_600_000_001)), ("as".into(), Value::from("text"))]);
        let payload = Payload::from([
            ("when".to_string(), at(0)),
            ("never".into(), at(i64::MAX)),
            ("events".into(), Value::Array(vec![Value::Map(inner), Value::from("2025-01-01")])),
        ]);
        let paths = datetimes_of(&payload);
        assert_eq!(paths, ["events.0.at", "never", "when"]);
        assert_eq!(payload_with_datetimes(payload_to_json(&payload), &paths).unwrap(), payload);
    }

    #[test]
    fn a_path_to_no_datetime_is_refused() {
        let Json::Object(payload) = json!({"a": "soon", "b": [true], "c": {"d": 1.5}}) else { unreachable!() };
        for path in ["a", "b.0", "b.1", "c.d", "c.x", "nothing", ""] {
            let error = payload_with_datetimes(payload.clone(), &[path.to_string()]).unwrap_err().to_string();
            assert!(error.contains("datetimes"), "{error}");
        }
    }
}
