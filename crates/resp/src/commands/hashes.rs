//! Hashes.

use crate::call::Call;
use crate::failure::{Failure, Outcome};
use crate::number::signed_count;
use crate::protocol::{Protocol, Reply};
use crate::value::Value;

pub(crate) fn hset(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    Ok(Reply::count(set(call, "hset")?))
}

pub(crate) fn hmset(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    set(call, "hmset")?;
    Ok(Reply::OK)
}

pub(crate) fn hsetnx(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let [key, field, value] = call.arguments else { return Err(Failure::syntax()) };
    let (mut hash, expires_at_ms) = call.context.hash(key)?.unwrap_or_default();
    if hash.get(field).is_some() {
        return Ok(Reply::Int(0));
    }
    hash.set([(field.clone(), value.clone())]);
    call.context.put(key, Value::Hash(hash), expires_at_ms)?;
    Ok(Reply::Int(1))
}

pub(crate) fn hget(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let hash = call.context.hash(&call.arguments[0])?;
    Ok(Reply::optional(hash.and_then(|(hash, _)| hash.get(&call.arguments[1]).cloned())))
}

pub(crate) fn hmget(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let (hash, _) = call.context.hash(&call.arguments[0])?.unwrap_or_default();
    Ok(Reply::Array(call.arguments[1..].iter().map(|field| Reply::optional(hash.get(field).cloned())).collect()))
}

pub(crate) fn hgetall(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let (hash, _) = call.context.hash(&call.arguments[0])?.unwrap_or_default();
    Ok(Reply::Map(hash.fields.into_iter().map(|(field, value)| (Reply::Bulk(field), Reply::Bulk(value))).collect()))
}

pub(crate) fn hkeys(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let (hash, _) = call.context.hash(&call.arguments[0])?.unwrap_or_default();
    Ok(Reply::bulks(hash.fields.into_iter().map(|(field, _)| field)))
}

pub(crate) fn hvals(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let (hash, _) = call.context.hash(&call.arguments[0])?.unwrap_or_default();
    Ok(Reply::bulks(hash.fields.into_iter().map(|(_, value)| value)))
}

pub(crate) fn hlen(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    Ok(Reply::count(call.context.hash(&call.arguments[0])?.map_or(0, |(hash, _)| hash.fields.len())))
}

pub(crate) fn hexists(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let hash = call.context.hash(&call.arguments[0])?;
    Ok(Reply::flag(hash.is_some_and(|(hash, _)| hash.get(&call.arguments[1]).is_some())))
}

pub(crate) fn hstrlen(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let hash = call.context.hash(&call.arguments[0])?;
    Ok(Reply::count(hash.and_then(|(hash, _)| hash.get(&call.arguments[1]).map(Vec::len)).unwrap_or(0)))
}

/// The last field takes the key with it.
pub(crate) fn hdel(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let key = &call.arguments[0];
    let Some((mut hash, expires_at_ms)) = call.context.hash(key)? else { return Ok(Reply::Int(0)) };
    let removed = hash.remove(&call.arguments[1..]);
    match (removed, hash.fields.is_empty()) {
        (0, _) => {}
        (_, true) => call.context.delete(key)?,
        (_, false) => call.context.put(key, Value::Hash(hash), expires_at_ms)?,
    }
    Ok(Reply::count(removed))
}

/// HRANDFIELD key [count [WITHVALUES]]: fields differ when the count is positive, and may repeat when it is negative.
pub(crate) fn hrandfield(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let with_values = match &call.arguments[1..] {
        [] | [_] => false,
        [_, option] if option.eq_ignore_ascii_case(b"WITHVALUES") => true,
        _ => return Err(Failure::syntax()),
    };
    let count = call.arguments.get(1).map(|word| signed_count(word)).transpose()?;
    let (hash, _) = call.context.hash(&call.arguments[0])?.unwrap_or_default();
    let Some(count) = count else {
        return Ok(Reply::optional(fastrand::choice(hash.fields).map(|(field, _)| field)));
    };
    let chosen: Vec<(Vec<u8>, Vec<u8>)> = match count {
        count if count >= 0 => fastrand::choose_multiple(hash.fields, count as usize),
        _ if hash.fields.is_empty() => Vec::new(),
        count => (0..count.unsigned_abs()).map(|_| hash.fields[fastrand::usize(..hash.fields.len())].clone()).collect(),
    };
    if !with_values {
        return Ok(Reply::bulks(chosen.into_iter().map(|(field, _)| field)));
    }
    let pairs = chosen.into_iter().map(|(field, value)| [Reply::Bulk(field), Reply::Bulk(value)]);
    Ok(Reply::Array(match call.protocol {
        Protocol::Two => pairs.flatten().collect(),
        Protocol::Three => pairs.map(|pair| Reply::Array(pair.into())).collect(),
    }))
}

fn set(call: &mut Call<'_, '_>, command: &str) -> Outcome<usize> {
    let (key, pairs) = (&call.arguments[0], &call.arguments[1..]);
    if pairs.len() % 2 != 0 {
        return Err(Failure::arity(command));
    }
    let (mut hash, expires_at_ms) = call.context.hash(key)?.unwrap_or_default();
    let new = hash.set(pairs.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())));
    call.context.put(key, Value::Hash(hash), expires_at_ms)?;
    Ok(new)
}
