//! Reads of records that every face answers by their names: `NH.COUNT`, and whatever else the dialect lists.

use nuthatch_dialect::operations::Operation;
use serde_json::Value;

use crate::call::Call;
use crate::failure::{Failure, Outcome};
use crate::protocol::Reply;

/// NH.<OPERATION> collection [word …] [FIELD value …], or NH.<OPERATION> collection json
pub(crate) fn ask(operation: &Operation, call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let name = String::from_utf8_lossy(&call.arguments[0]);
    let word = |word: &'_ Vec<u8>| {
        String::from_utf8(word.clone()).map_err(|_| Failure::error("names, conditions and values are UTF-8"))
    };
    let words: Vec<String> = call.arguments[1..].iter().map(word).collect::<Outcome<_>>()?;
    let question = operation.read(&words.iter().map(String::as_str).collect::<Vec<_>>())?;
    let collection = call.context.tenant.collection(&name)?;
    Ok(reply(call.context.ask(&collection, operation, question)?))
}

/// JSON in the types of the protocol.
pub(crate) fn reply(json: Value) -> Reply {
    match json {
        Value::Null => Reply::Null,
        Value::Bool(value) => Reply::Bool(value),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => Reply::Int(whole),
            None => Reply::Double(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Reply::bulk(text),
        Value::Array(values) => Reply::Array(values.into_iter().map(reply).collect()),
        Value::Object(map) => {
            Reply::Map(map.into_iter().map(|(name, value)| (Reply::bulk(name), reply(value))).collect())
        }
    }
}
