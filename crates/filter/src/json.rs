//! JSON in and out. A datetime goes out as an RFC 3339 string; from JSON a string stays text, whatever it looks like.

use serde_json::{Map, Number, Value as Json};

use crate::{FilterError, Payload, Value, format_datetime};

impl Value {
    /// # Errors
    /// [`FilterError::InvalidPayload`] for an integer outside of 64 bits: a float would change it silently.
    pub fn from_json(json: Json) -> Result<Self, FilterError> {
        from_json_at("value", json)
    }

    /// Every kind has a JSON form except floats that are not finite, which a validated payload does not hold: null.
    pub fn to_json(&self) -> Json {
        match self {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Int(value) => Json::from(*value),
            Value::Float(value) => Number::from_f64(*value).map_or(Json::Null, Json::Number),
            Value::Text(value) => Json::String(value.clone()),
            // Outside of the years that RFC 3339 can write, the bare microseconds are still the store.
            Value::Datetime(micros) => format_datetime(*micros).map_or_else(|| Json::from(*micros), Json::String),
            Value::Array(values) => values.iter().map(Value::to_json).collect(),
            Value::Map(map) => Json::Object(payload_to_json(map)),
        }
    }
}

/// # Errors
/// [`FilterError::InvalidPayload`] when the JSON is no object or holds an integer outside of 64 bits.
pub fn payload_from_json(json: Json) -> Result<Payload, FilterError> {
    match json {
        Json::Object(map) => {
            map.into_iter().map(|(name, json)| Ok((name.clone(), from_json_at(&name, json)?))).collect()
        }
        other => Err(FilterError::InvalidPayload {
            field: String::new(),
            reason: format!("a payload must be a JSON object of named values, not {}", json_kind(&other)),
        }),
    }
}

/// The payload as JSON. Kinds that JSON lacks turn into text: datetimes as RFC 3339.
pub fn payload_to_json(payload: &Payload) -> Map<String, Json> {
    payload.iter().map(|(name, value)| (name.clone(), value.to_json())).collect()
}

fn from_json_at(path: &str, json: Json) -> Result<Value, FilterError> {
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(value),
        Json::Number(number) => from_number(path, &number)?,
        Json::String(value) => Value::Text(value),
        Json::Array(values) => {
            Value::Array(values.into_iter().map(|json| from_json_at(path, json)).collect::<Result<_, _>>()?)
        }
        Json::Object(map) => Value::Map(
            map.into_iter()
                .map(|(name, json)| {
                    let value = from_json_at(&format!("{path}.{name}"), json)?;
                    Ok((name, value))
                })
                .collect::<Result<_, FilterError>>()?,
        ),
    })
}

fn from_number(path: &str, number: &Number) -> Result<Value, FilterError> {
    let fail = || FilterError::InvalidPayload {
        field: path.to_owned(),
        reason: format!("{number} does not fit 64 bits; store it as text or as a float ({number}.0)"),
    };
    match (number.as_i64(), number.as_u64()) {
        (Some(value), _) => Ok(Value::Int(value)),
        (None, Some(_)) => Err(fail()),
        (None, None) => number.as_f64().map(Value::Float).ok_or_else(fail),
    }
}

fn json_kind(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "an array",
        Json::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_comes_back_as_it_went_in() {
        let json = json!({"a": [1, -2.5, "x", null, true], "b": {"c": {}}, "d": i64::MIN, "e": "2025-01-01"});
        let payload = payload_from_json(json.clone()).unwrap();
        assert_eq!(payload["e"], Value::from("2025-01-01"));
        assert_eq!(Json::Object(payload_to_json(&payload)), json);
    }

    #[test]
    fn datetime_goes_out_as_rfc_3339() {
        assert_eq!(Value::Datetime(1_735_689_600_000_001).to_json(), json!("2025-01-01T00:00:00.000001Z"));
        assert_eq!(Value::Datetime(i64::MAX).to_json(), json!(i64::MAX));
    }

    #[test]
    fn integer_beyond_64_bits_is_refused_and_named() {
        let error = payload_from_json(json!({"meta": {"big": u64::MAX}})).unwrap_err().to_string();
        assert!(error.contains("meta.big") && error.contains("18446744073709551615"), "{error}");
        assert!(payload_from_json(json!([1])).unwrap_err().to_string().contains("an array"));
    }
}
