//! Looking into JSON whose form is not known yet: what is not there is null.

use serde_json::{Map, Value};

/// The fields of an object.
pub type Fields = Map<String, Value>;

/// A field of an object; null where there is none.
pub fn of<'v>(fields: &'v Fields, name: &str) -> &'v Value {
    fields.get(name).unwrap_or(&Value::Null)
}

/// A field that is text; empty where there is none.
pub fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

/// Whether Python would call it true: neither null, false, 0, "" nor empty.
pub fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(is) => *is,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

/// The items of an array; none where it is none.
pub fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Whether a text is a JSON document.
pub fn is_json(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok()
}

/// The fields that are not null and not among those that change no answer.
pub fn hashed(request: &Fields, ignored: &[&str]) -> Fields {
    let kept = request.iter().filter(|(name, value)| !value.is_null() && !ignored.contains(&name.as_str()));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Whether all names are among these.
pub fn has_only(fields: &Fields, known: &[&str]) -> bool {
    fields.keys().all(|name| known.contains(&name.as_str()))
}
