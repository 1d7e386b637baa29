//! Attributes of elements: JSON, kept as it was given, and read into the payload as far as filters can use it.

use nuthatch_link::{Payload, Record, Value};
use serde_json::Value as Json;

use crate::call::Call;
use crate::failure::{Failure, Outcome};
use crate::protocol::Reply;
use crate::vectors::as_given;
use crate::vectors::element::id_of;

/// Whole numbers beyond are not told apart by doubles, which is what filters compare.
const EXACT_MAX: i64 = 1 << 53;
/// The limits of payloads.
const FIELDS_MAX: usize = 1024;
const NAME_BYTES_MAX: usize = 256;
const TEXT_BYTES_MAX: usize = 1 << 20;

/// VGETATTR key element
pub(crate) fn vgetattr(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let Some((_, collection)) = call.context.set(&call.arguments[0])? else { return Ok(Reply::Null) };
    let record = call.context.record(&collection, &id_of(&call.arguments[1])?, false)?;
    Ok(Reply::optional(record.and_then(|record| record.context).map(String::into_bytes)))
}

/// VSETATTR key element json: the empty text removes them.
pub(crate) fn vsetattr(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let [key, element, attributes] = call.arguments else { return Err(Failure::syntax()) };
    let attributes = String::from_utf8(attributes.clone());
    let attributes = attributes.map_err(|_| Failure::error("attributes must be JSON in UTF-8"))?;
    let Some((set, collection)) = call.context.set(key)? else { return Ok(Reply::Bool(false)) };
    let tenant = call.context.tenant;
    let _element = tenant.lock_element(&set.collection, element);
    let Some(old) = call.context.record(&collection, &id_of(element)?, true)? else { return Ok(Reply::Bool(false)) };
    let attributes = Some(attributes).filter(|text| !text.is_empty());
    let payload = attributes.as_deref().map(payload_of).unwrap_or_default();
    let record = Record { payload, context: attributes, ..as_given(old) };
    call.context.upsert(&collection, vec![record])?;
    Ok(Reply::Bool(true))
}

/// Returns the attributes that filters can see: numbers, texts, booleans as 1 and 0, lists of numbers and texts. Values
/// other than JSON objects have none.
pub(crate) fn payload_of(attributes: &str) -> Payload {
    let Ok(Json::Object(fields)) = serde_json::from_str(attributes) else { return Payload::new() };
    let seen =
        fields.into_iter().filter(|(name, _)| !name.is_empty() && name.len() <= NAME_BYTES_MAX && !name.contains('.'));
    seen.filter_map(|(name, value)| Some((name, read(value)?))).take(FIELDS_MAX).collect()
}

fn read(json: Json) -> Option<Value> {
    match json {
        Json::Bool(yes) => Some(Value::Int(yes.into())),
        Json::Array(items) => {
            let scalars = items.into_iter().map(|item| match item {
                item @ (Json::Number(_) | Json::String(_)) => read(item),
                _ => None,
            });
            scalars.collect::<Option<_>>().map(Value::Array)
        }
        Json::Number(number) => match number.as_i64() {
            Some(whole) if whole.abs() <= EXACT_MAX => Some(Value::Int(whole)),
            _ => number.as_f64().filter(|number| number.is_finite()).map(Value::Float),
        },
        Json::String(text) => (text.len() <= TEXT_BYTES_MAX).then_some(Value::Text(text)),
        Json::Null | Json::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_filters_can_read_becomes_the_payload() {
        let payload = payload_of(
            r#"{"n": 5, "f": 1.5, "t": "x", "b": true, "l": [1, "a"], "m": {}, "z": null, "ll": [[1]], "a.b": 1}"#,
        );
        let names: Vec<&str> = payload.keys().map(String::as_str).collect();
        assert_eq!(names, ["b", "f", "l", "n", "t"]);
        assert_eq!(payload["b"], Value::Int(1));
        assert!(payload_of("[1]").is_empty() && payload_of("{").is_empty());
    }
}
