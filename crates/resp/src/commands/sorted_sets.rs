//! Sorted sets: members and their scores.

use crate::aggregate::Kind;
use crate::call::Call;
use crate::commands::list_moves::keys_end_and_count;
use crate::commands::lists::natural;
use crate::entries::{Members, Scored, Span, score_of, scored};
use crate::failure::{Failure, Outcome};
use crate::number::{self, signed_count};
use crate::protocol::{Protocol, Reply};
use crate::words::Words;

/// The options of ZADD.
#[derive(Default)]
pub(super) struct Adding {
    only_new: bool,
    only_old: bool,
    greater: bool,
    less: bool,
    counts_changes: bool,
    increments: bool,
}

impl Adding {
    /// The options, of those that there are; what is left are scores and members.
    pub fn parse(words: &mut Words<'_>, options: &[&str]) -> Outcome<Self> {
        let mut adding = Self::default();
        while let Some(word) = words.rest().first() {
            let option = String::from_utf8_lossy(word).to_uppercase();
            if !options.contains(&option.as_str()) {
                break;
            }
            match option.as_str() {
                "NX" => adding.only_new = true,
                "XX" => adding.only_old = true,
                "GT" => adding.greater = true,
                "LT" => adding.less = true,
                "CH" => adding.counts_changes = true,
                _ => adding.increments = true,
            }
            words.word()?;
        }
        if adding.only_new && adding.only_old {
            return Err(Failure::error("XX and NX options at the same time are not compatible"));
        }
        if (adding.greater && adding.less) || (adding.only_new && (adding.greater || adding.less)) {
            return Err(Failure::error("GT, LT, and/or NX options at the same time are not compatible"));
        }
        Ok(adding)
    }

    fn allows(&self, old: Option<f64>, new: f64) -> bool {
        match old {
            None => !self.only_old,
            Some(old) => !(self.only_new || (self.greater && new <= old) || (self.less && new >= old)),
        }
    }
}

/// ZADD key [NX | XX] [GT | LT] [CH] [INCR] score member …
pub(crate) fn zadd(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let mut words = Words::new(&call.arguments[1..]);
    let adding = Adding::parse(&mut words, &["NX", "XX", "GT", "LT", "CH", "INCR"])?;
    let pairs = words.rest();
    if pairs.is_empty() || !pairs.len().is_multiple_of(2) {
        return Err(Failure::syntax());
    }
    if adding.increments && pairs.len() > 2 {
        return Err(Failure::error("INCR option supports a single increment-element pair"));
    }
    let scored = pairs.chunks_exact(2).map(|pair| Ok((pair[1].as_slice(), number::float(&pair[0])?)));
    let scored = scored.collect::<Outcome<Vec<_>>>()?;
    added(set(call)?, &adding, &scored)
}

/// Adds members with their scores, as far as they may be.
pub(super) fn added(mut set: Members<'_, '_>, adding: &Adding, scored: &[(&[u8], f64)]) -> Outcome<Reply> {
    set.expect(scored.iter().map(|(member, _)| *member))?;
    let (mut new, mut changed, mut result) = (0, 0, None);
    for (member, given) in scored.iter().copied() {
        let old = set.score(member)?;
        let score = if adding.increments { sum(old.unwrap_or(0.0), given)? } else { given };
        if !adding.allows(old, score) {
            continue;
        }
        result = Some(score);
        if old != Some(score) {
            set.set_score(member, score)?;
            changed += 1;
            new += usize::from(old.is_none());
        }
    }
    if changed > 0 {
        set.save()?;
    }
    Ok(match adding {
        Adding { increments: true, .. } => result.map_or(Reply::Null, Reply::Double),
        Adding { counts_changes: true, .. } => Reply::count(changed),
        _ => Reply::count(new),
    })
}

pub(crate) fn zincrby(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let [_, by, member] = call.arguments else { return Err(Failure::syntax()) };
    let by = number::float(by)?;
    let mut set = set(call)?;
    let score = sum(set.score(member)?.unwrap_or(0.0), by)?;
    set.set_score(member, score)?;
    set.save()?;
    Ok(Reply::Double(score))
}

pub(crate) fn zrem(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let members = &call.arguments[1..];
    Ok(Reply::count(set(call)?.remove_all(members)?))
}

pub(crate) fn zscore(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let member = &call.arguments[1];
    Ok(set(call)?.score(member)?.map_or(Reply::Null, Reply::Double))
}

pub(crate) fn zmscore(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let members = call.arguments[1..].iter().map(Vec::as_slice);
    let scores = set(call)?.get_many(members)?;
    let shown = |score: Option<Vec<u8>>| match score {
        Some(score) => Ok(Reply::Double(score_of(&score)?)),
        None => Ok(Reply::Null),
    };
    Ok(Reply::Array(scores.into_iter().map(shown).collect::<Outcome<_>>()?))
}

pub(crate) fn zcard(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    Ok(Reply::count(set(call)?.len()))
}

/// ZRANK key member [WITHSCORE]
pub(crate) fn zrank(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    rank(call, false)
}

/// ZREVRANK key member [WITHSCORE]
pub(crate) fn zrevrank(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    rank(call, true)
}

/// ZPOPMIN key [count]
pub(crate) fn zpopmin(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    pop(call, false)
}

/// ZPOPMAX key [count]
pub(crate) fn zpopmax(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    pop(call, true)
}

/// BZPOPMIN key … timeout
pub(crate) fn bzpopmin(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    first_popped(call, false)
}

/// BZPOPMAX key … timeout
pub(crate) fn bzpopmax(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    first_popped(call, true)
}

/// ZMPOP numkeys key … MIN | MAX [COUNT n]
pub(crate) fn zmpop(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    popped_from_first(call, call.arguments)
}

/// BZMPOP timeout numkeys key … MIN | MAX [COUNT n]
pub(crate) fn bzmpop(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    popped_from_first(call, &call.arguments[1..])
}

/// ZRANDMEMBER key [count [WITHSCORES]]: members differ when the count is positive, and may repeat when it is negative.
pub(crate) fn zrandmember(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let with_scores = match &call.arguments[1..] {
        [] | [_] => false,
        [_, option] if option.eq_ignore_ascii_case(b"WITHSCORES") => true,
        _ => return Err(Failure::syntax()),
    };
    let protocol = call.protocol;
    let count = call.arguments.get(1).map(|word| signed_count(word)).transpose()?;
    let mut set = set(call)?;
    let Some(count) = count else {
        return Ok(Reply::optional(set.sample(1)?.pop().map(|(member, _)| member)));
    };
    Ok(shown(scored(set.chosen(count)?)?, with_scores, protocol))
}

/// Members, with their scores or without.
pub(super) fn shown(found: Scored, with_scores: bool, protocol: Protocol) -> Reply {
    match with_scores {
        false => Reply::bulks(found.into_iter().map(|(member, _)| member)),
        true => {
            Reply::pairs(found.into_iter().map(|(member, score)| (Reply::Bulk(member), Reply::Double(score))), protocol)
        }
    }
}

/// A sum of scores, which is a number.
pub(super) fn sum(one: f64, other: f64) -> Outcome<f64> {
    let sum = one + other;
    match sum.is_nan() {
        false => Ok(sum),
        true => Err(Failure::error("resulting score is not a number (NaN)")),
    }
}

pub(super) fn set<'c, 'u>(call: &'c mut Call<'_, 'u>) -> Outcome<Members<'c, 'u>> {
    Members::open(call.context, &call.arguments[0], Kind::Sorted)
}

fn rank(call: &mut Call<'_, '_>, reverse: bool) -> Outcome<Reply> {
    let with_score = match &call.arguments[2..] {
        [] => false,
        [option] if option.eq_ignore_ascii_case(b"WITHSCORE") => true,
        _ => return Err(Failure::syntax()),
    };
    let member = &call.arguments[1];
    Ok(match set(call)?.rank(member, reverse)? {
        None if with_score => Reply::NullArray,
        None => Reply::Null,
        Some((rank, score)) if with_score => Reply::Array(vec![Reply::count(rank), Reply::Double(score)]),
        Some((rank, _)) => Reply::count(rank),
    })
}

/// Takes `count` members from one end.
fn popped(mut set: Members<'_, '_>, from_end: bool, count: usize) -> Outcome<Scored> {
    let found = set.ordered(&Span::All, from_end, 0, count)?;
    let members: Vec<Vec<u8>> = found.iter().map(|(member, _)| member.clone()).collect();
    set.remove_all(&members)?;
    Ok(found)
}

fn pop(call: &mut Call<'_, '_>, from_end: bool) -> Outcome<Reply> {
    let count = match &call.arguments[1..] {
        [] => None,
        [count] => Some(natural(count)?),
        _ => return Err(Failure::syntax()),
    };
    // Without a count there is one pair, and no list around it.
    let protocol = if count.is_some() { call.protocol } else { Protocol::Two };
    Ok(shown(popped(set(call)?, from_end, count.unwrap_or(1))?, true, protocol))
}

fn first_popped(call: &mut Call<'_, '_>, from_end: bool) -> Outcome<Reply> {
    let Some((_, keys)) = call.arguments.split_last() else { return Err(Failure::syntax()) };
    for key in keys {
        let set = Members::open(call.context, key, Kind::Sorted)?;
        if let Some((member, score)) = popped(set, from_end, 1)?.pop() {
            return Ok(Reply::Array(vec![Reply::bulk(key.as_slice()), Reply::Bulk(member), Reply::Double(score)]));
        }
    }
    Ok(Reply::NullArray)
}

fn popped_from_first(call: &mut Call<'_, '_>, arguments: &[Vec<u8>]) -> Outcome<Reply> {
    let (keys, from_end, count) = keys_end_and_count(arguments, |end| match end {
        b"MIN" => Some(false),
        b"MAX" => Some(true),
        _ => None,
    })?;
    for key in keys {
        let set = Members::open(call.context, key, Kind::Sorted)?;
        let found = popped(set, from_end, count)?;
        if !found.is_empty() {
            let pairs = found.into_iter().map(|(member, score)| (Reply::Bulk(member), Reply::Double(score)));
            // Pairs are lists in both protocols.
            return Ok(Reply::Array(vec![Reply::bulk(key.as_slice()), Reply::pairs(pairs, Protocol::Three)]));
        }
    }
    Ok(Reply::NullArray)
}
