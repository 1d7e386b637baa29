//! Sets.

use std::collections::HashSet;

use crate::aggregate::Kind;
use crate::call::Call;
use crate::commands::lists::natural;
use crate::entries::Members;
use crate::failure::{Failure, Outcome};
use crate::number::signed_count;
use crate::protocol::Reply;
use crate::words::Words;

pub(crate) fn sadd(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let members = &call.arguments[1..];
    let mut set = set(call)?;
    set.expect(members.iter().map(Vec::as_slice))?;
    let mut new = 0;
    for member in members {
        new += usize::from(set.insert(member, Vec::new())?.is_none());
    }
    if new > 0 {
        set.save()?;
    }
    Ok(Reply::count(new))
}

pub(crate) fn srem(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let members = &call.arguments[1..];
    Ok(Reply::count(set(call)?.remove_all(members)?))
}

pub(crate) fn sismember(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let member = &call.arguments[1];
    Ok(Reply::flag(set(call)?.get(member)?.is_some()))
}

pub(crate) fn smismember(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let members = call.arguments[1..].iter().map(Vec::as_slice);
    let found = set(call)?.get_many(members)?;
    Ok(Reply::Array(found.into_iter().map(|member| Reply::flag(member.is_some())).collect()))
}

pub(crate) fn smembers(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    Ok(Reply::Set(set(call)?.all()?.into_iter().map(|(member, _)| Reply::Bulk(member)).collect()))
}

pub(crate) fn scard(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    Ok(Reply::count(set(call)?.len()))
}

/// SPOP key [count]
pub(crate) fn spop(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let count = match &call.arguments[1..] {
        [] => None,
        [count] => Some(natural(count)?),
        _ => return Err(Failure::syntax()),
    };
    let mut set = set(call)?;
    let chosen: Vec<Vec<u8>> = set.sample(count.unwrap_or(1))?.into_iter().map(|(member, _)| member).collect();
    set.remove_all(&chosen)?;
    Ok(match count {
        None => Reply::optional(chosen.into_iter().next()),
        Some(_) => Reply::Set(chosen.into_iter().map(Reply::Bulk).collect()),
    })
}

/// SRANDMEMBER key [count]: members differ when the count is positive, and may repeat when it is negative.
pub(crate) fn srandmember(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let count = match &call.arguments[1..] {
        [] => None,
        [count] => Some(signed_count(count)?),
        _ => return Err(Failure::syntax()),
    };
    let mut set = set(call)?;
    let Some(count) = count else {
        return Ok(Reply::optional(set.sample(1)?.pop().map(|(member, _)| member)));
    };
    Ok(Reply::bulks(set.chosen(count)?.into_iter().map(|(member, _)| member)))
}

/// SMOVE source destination member
pub(crate) fn smove(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let [source, target, member] = call.arguments else { return Err(Failure::syntax()) };
    let mut from = Members::open(call.context, source, Kind::Set)?;
    if from.get(member)?.is_none() {
        return Ok(Reply::Int(0));
    }
    if source != target {
        from.remove(member)?;
        from.save()?;
        let mut to = Members::open(call.context, target, Kind::Set)?;
        to.insert(member, Vec::new())?;
        to.save()?;
    }
    Ok(Reply::Int(1))
}

/// How sets are put together.
#[derive(Clone, Copy)]
enum Together {
    Inter,
    Union,
    Diff,
}

pub(crate) fn sinter(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    answer(call, Together::Inter)
}

pub(crate) fn sunion(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    answer(call, Together::Union)
}

pub(crate) fn sdiff(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    answer(call, Together::Diff)
}

pub(crate) fn sinterstore(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    store(call, Together::Inter)
}

pub(crate) fn sunionstore(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    store(call, Together::Union)
}

pub(crate) fn sdiffstore(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    store(call, Together::Diff)
}

/// SINTERCARD numkeys key … [LIMIT n]
pub(crate) fn sintercard(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let mut words = Words::new(call.arguments);
    let keys = words.numbered_keys()?;
    let limit = card_limit(&mut words)?;
    let found = together(call, keys, Together::Inter)?.len();
    Ok(Reply::count(found.min(limit)))
}

/// `LIMIT n`; none, and 0, are no limit.
pub(super) fn card_limit(words: &mut Words<'_>) -> Outcome<usize> {
    if words.is_empty() {
        return Ok(usize::MAX);
    }
    if words.option()? != "LIMIT" {
        return Err(Failure::syntax());
    }
    let limit = usize::try_from(words.integer()?).map_err(|_| Failure::error("LIMIT can't be negative"))?;
    match words.is_empty() {
        true => Ok(if limit == 0 { usize::MAX } else { limit }),
        false => Err(Failure::syntax()),
    }
}

fn set<'c, 'u>(call: &'c mut Call<'_, 'u>) -> Outcome<Members<'c, 'u>> {
    Members::open(call.context, &call.arguments[0], Kind::Set)
}

fn answer(call: &mut Call<'_, '_>, how: Together) -> Outcome<Reply> {
    let members = together(call, call.arguments, how)?;
    Ok(Reply::Set(members.into_iter().map(Reply::Bulk).collect()))
}

fn store(call: &mut Call<'_, '_>, how: Together) -> Outcome<Reply> {
    let [target, keys @ ..] = call.arguments else { return Err(Failure::syntax()) };
    let members = together(call, keys, how)?;
    let mut set = Members::replacing(call.context, target, Kind::Set);
    set.expect(members.iter().map(Vec::as_slice))?;
    members.iter().try_for_each(|member| set.insert(member, Vec::new()).map(drop))?;
    set.save()?;
    Ok(Reply::count(members.len()))
}

fn together(call: &mut Call<'_, '_>, keys: &[Vec<u8>], how: Together) -> Outcome<Vec<Vec<u8>>> {
    // All of them first: a key of another type is an error, whatever the others hold.
    let mut sets = Vec::with_capacity(keys.len());
    for key in keys {
        sets.push(Members::open(call.context, key, Kind::Set)?.all()?.into_iter().map(|(member, _)| member));
    }
    let mut sets = sets.into_iter();
    let mut members: Vec<Vec<u8>> = sets.next().into_iter().flatten().collect();
    match how {
        Together::Union => {
            let mut seen: HashSet<Vec<u8>> = members.iter().cloned().collect();
            members.extend(sets.flatten().filter(|member| seen.insert(member.clone())));
        }
        Together::Inter | Together::Diff => {
            let kept = matches!(how, Together::Inter);
            for other in sets {
                let other: HashSet<Vec<u8>> = other.collect();
                members.retain(|member| other.contains(member) == kept);
            }
        }
    }
    Ok(members)
}
