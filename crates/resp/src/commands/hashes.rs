//! Hashes.

use crate::aggregate::Kind;
use crate::call::Call;
use crate::entries::Members;
use crate::failure::{Failure, Outcome};
use crate::number::signed_count;
use crate::protocol::Reply;

pub(crate) fn hset(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    Ok(Reply::count(set(call, "hset")?))
}

pub(crate) fn hmset(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    set(call, "hmset")?;
    Ok(Reply::OK)
}

pub(crate) fn hsetnx(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let [key, field, value] = call.arguments else { return Err(Failure::syntax()) };
    let mut hash = Members::open(call.context, key, Kind::Hash)?;
    if hash.get(field)?.is_some() {
        return Ok(Reply::Int(0));
    }
    hash.insert(field, value.clone())?;
    hash.save()?;
    Ok(Reply::Int(1))
}

pub(crate) fn hget(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let field = &call.arguments[1];
    Ok(Reply::optional(hash(call)?.get(field)?))
}

pub(crate) fn hmget(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let fields = call.arguments[1..].iter().map(Vec::as_slice);
    let values = hash(call)?.get_many(fields)?;
    Ok(Reply::Array(values.into_iter().map(Reply::optional).collect()))
}

pub(crate) fn hgetall(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let entries = hash(call)?.all()?.into_iter();
    Ok(Reply::Map(entries.map(|(field, value)| (Reply::Bulk(field), Reply::Bulk(value))).collect()))
}

pub(crate) fn hkeys(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    Ok(Reply::bulks(hash(call)?.all()?.into_iter().map(|(field, _)| field)))
}

pub(crate) fn hvals(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    Ok(Reply::bulks(hash(call)?.all()?.into_iter().map(|(_, value)| value)))
}

pub(crate) fn hlen(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    Ok(Reply::count(hash(call)?.len()))
}

pub(crate) fn hexists(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let field = &call.arguments[1];
    Ok(Reply::flag(hash(call)?.get(field)?.is_some()))
}

pub(crate) fn hstrlen(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let field = &call.arguments[1];
    Ok(Reply::count(hash(call)?.get(field)?.map_or(0, |value| value.len())))
}

/// The last field takes the key with it.
pub(crate) fn hdel(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let fields = &call.arguments[1..];
    Ok(Reply::count(hash(call)?.remove_all(fields)?))
}

/// HRANDFIELD key [count [WITHVALUES]]: fields differ when the count is positive, and may repeat when it is negative.
pub(crate) fn hrandfield(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let with_values = match &call.arguments[1..] {
        [] | [_] => false,
        [_, option] if option.eq_ignore_ascii_case(b"WITHVALUES") => true,
        _ => return Err(Failure::syntax()),
    };
    let protocol = call.protocol;
    let count = call.arguments.get(1).map(|word| signed_count(word)).transpose()?;
    let mut hash = hash(call)?;
    let Some(count) = count else {
        return Ok(Reply::optional(hash.sample(1)?.pop().map(|(field, _)| field)));
    };
    let chosen = hash.chosen(count)?;
    if !with_values {
        return Ok(Reply::bulks(chosen.into_iter().map(|(field, _)| field)));
    }
    let pairs = chosen.into_iter().map(|(field, value)| (Reply::Bulk(field), Reply::Bulk(value)));
    Ok(Reply::pairs(pairs, protocol))
}

fn hash<'c, 'u>(call: &'c mut Call<'_, 'u>) -> Outcome<Members<'c, 'u>> {
    Members::open(call.context, &call.arguments[0], Kind::Hash)
}

fn set(call: &mut Call<'_, '_>, command: &str) -> Outcome<usize> {
    let pairs = &call.arguments[1..];
    if !pairs.len().is_multiple_of(2) {
        return Err(Failure::arity(command));
    }
    let mut hash = hash(call)?;
    hash.expect(pairs.iter().step_by(2).map(Vec::as_slice))?;
    let mut new = 0;
    for pair in pairs.chunks_exact(2) {
        new += usize::from(hash.insert(&pair[0], pair[1].clone())?.is_none());
    }
    hash.save()?;
    Ok(new)
}
