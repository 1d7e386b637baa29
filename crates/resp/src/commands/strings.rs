//! Strings as wholes.

use crate::call::Call;
use crate::commands::set::{Expiry, expires_at};
use crate::failure::{Failure, Outcome};
use crate::protocol::Reply;
use crate::value::Value;
use crate::words::Words;

pub(crate) fn get(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    Ok(Reply::optional(call.context.string(&call.arguments[0])?.map(|(value, _)| value)))
}

pub(crate) fn getdel(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let key = &call.arguments[0];
    let Some((value, _)) = call.context.string(key)? else { return Ok(Reply::Null) };
    call.context.delete(key)?;
    Ok(Reply::Bulk(value))
}

/// GETEX key [EX s | PX ms | EXAT s | PXAT ms | PERSIST]
pub(crate) fn getex(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let key = &call.arguments[0];
    let mut words = Words::new(&call.arguments[1..]);
    let mut wanted = None;
    while !words.is_empty() {
        let option = words.option()?;
        let expiry = match option.as_str() {
            "PERSIST" => None,
            option => Some(Expiry::parse(option, &mut words)?.ok_or_else(Failure::syntax)?),
        };
        if wanted.replace(expiry).is_some() {
            return Err(Failure::syntax());
        }
    }
    let wanted = match wanted {
        Some(Some(expiry)) => Some(Some(expires_at(expiry, call.context.now_ms, "getex")?)),
        Some(None) => Some(None),
        None => None,
    };
    let Some((value, _)) = call.context.string(key)? else { return Ok(Reply::Null) };
    if let Some(expires_at_ms) = wanted {
        call.context.put(key, Value::String(value.clone()), expires_at_ms)?;
    }
    Ok(Reply::Bulk(value))
}

pub(crate) fn getset(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let [key, value] = call.arguments else { return Err(Failure::syntax()) };
    let old = call.context.string(key)?.map(|(value, _)| value);
    call.context.put(key, Value::String(value.clone()), None)?;
    Ok(Reply::optional(old))
}

/// Keys that hold something else are as if they were not there.
pub(crate) fn mget(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let found = call.context.entries(call.arguments)?.into_iter().map(|entry| {
        let Some(entry) = entry else { return Ok(Reply::Null) };
        Ok(match Value::decode(entry.value)? {
            Value::String(bytes) => Reply::Bulk(bytes),
            Value::Aggregate(_) | Value::Set(_) => Reply::Null,
        })
    });
    Ok(Reply::Array(found.collect::<Outcome<_>>()?))
}

pub(crate) fn mset(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    for (key, value) in pairs(call.arguments, "mset")? {
        call.context.put(key, Value::String(value.clone()), None)?;
    }
    Ok(Reply::OK)
}

pub(crate) fn msetnx(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let pairs = pairs(call.arguments, "msetnx")?;
    for (key, _) in &pairs {
        if call.context.exists(key)?.is_some() {
            return Ok(Reply::Int(0));
        }
    }
    for (key, value) in pairs {
        call.context.put(key, Value::String(value.clone()), None)?;
    }
    Ok(Reply::Int(1))
}

pub(crate) fn setnx(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let [key, value] = call.arguments else { return Err(Failure::syntax()) };
    if call.context.exists(key)?.is_some() {
        return Ok(Reply::Int(0));
    }
    call.context.put(key, Value::String(value.clone()), None)?;
    Ok(Reply::Int(1))
}

pub(crate) fn strlen(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    Ok(Reply::count(call.context.string(&call.arguments[0])?.map_or(0, |(value, _)| value.len())))
}

pub(crate) fn append(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let [key, more] = call.arguments else { return Err(Failure::syntax()) };
    let (mut value, expires_at_ms) = call.context.string(key)?.unwrap_or_default();
    value.extend_from_slice(more);
    let length = value.len();
    call.context.put(key, Value::String(value), expires_at_ms)?;
    Ok(Reply::count(length))
}

fn pairs<'a>(arguments: &'a [Vec<u8>], command: &str) -> Outcome<Vec<(&'a Vec<u8>, &'a Vec<u8>)>> {
    match arguments.len() % 2 {
        0 => Ok(arguments.chunks_exact(2).map(|pair| (&pair[0], &pair[1])).collect()),
        _ => Err(Failure::arity(command)),
    }
}
