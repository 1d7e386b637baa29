//! The same value under another name.

use crate::call::Call;
use crate::entries::copied;
use crate::failure::{Failure, Outcome};
use crate::protocol::Reply;
use crate::value::Value;
use crate::vectors;
use crate::words::Words;

pub(crate) fn rename(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let [key, target] = call.arguments else { return Err(Failure::syntax()) };
    let (value, expires_at_ms) = call.context.value(key)?.ok_or_else(Failure::no_such_key)?;
    if key != target {
        call.context.put(target, value, expires_at_ms)?;
        call.context.leave(key);
    }
    Ok(Reply::OK)
}

pub(crate) fn renamenx(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let [key, target] = call.arguments else { return Err(Failure::syntax()) };
    let (value, expires_at_ms) = call.context.value(key)?.ok_or_else(Failure::no_such_key)?;
    if call.context.exists(target)?.is_some() {
        return Ok(Reply::Int(0));
    }
    call.context.put(target, value, expires_at_ms)?;
    call.context.leave(key);
    Ok(Reply::Int(1))
}

/// COPY source destination [REPLACE]
pub(crate) fn copy(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let (key, target) = (&call.arguments[0], &call.arguments[1]);
    let mut replace = false;
    let mut words = Words::new(&call.arguments[2..]);
    while !words.is_empty() {
        match words.option()?.as_str() {
            "REPLACE" => replace = true,
            "DB" if words.integer()? == call.context.space.number as i64 => {}
            "DB" => {
                return Err(Failure::error(
                    "COPY works within one database only; read the key and write it to the \
                other database",
                ));
            }
            _ => return Err(Failure::syntax()),
        }
    }
    if key == target {
        return Err(Failure::error("source and destination objects are the same"));
    }
    let Some((value, expires_at_ms)) = call.context.value(key)? else { return Ok(Reply::Int(0)) };
    if !replace && call.context.exists(target)?.is_some() {
        return Ok(Reply::Int(0));
    }
    let value = match value {
        Value::Set(set) => Value::Set(vectors::copied(call.context, target, set)?),
        Value::Aggregate(aggregate) => Value::Aggregate(copied(aggregate, call.context)?),
        Value::String(bytes) => Value::String(bytes),
    };
    call.context.put(target, value, expires_at_ms)?;
    Ok(Reply::Int(1))
}
