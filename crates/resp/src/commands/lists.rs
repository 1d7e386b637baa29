//! Lists.

use crate::call::Call;
use crate::entries::List;
use crate::failure::{Failure, Outcome};
use crate::number;
use crate::protocol::Reply;
use crate::words::Words;

pub(crate) fn lpush(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    push(call, true, false)
}

pub(crate) fn rpush(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    push(call, false, false)
}

pub(crate) fn lpushx(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    push(call, true, true)
}

pub(crate) fn rpushx(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    push(call, false, true)
}

pub(crate) fn lpop(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    pop(call, true)
}

pub(crate) fn rpop(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    pop(call, false)
}

pub(crate) fn llen(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    Ok(Reply::count(list(call)?.len()))
}

pub(crate) fn lindex(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let at = number::integer(&call.arguments[1])?;
    let mut list = list(call)?;
    match number::index(at, list.len()) {
        Some(at) => Ok(Reply::optional(list.get(at)?)),
        None => Ok(Reply::Null),
    }
}

pub(crate) fn lset(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let [_, at, item] = call.arguments else { return Err(Failure::syntax()) };
    let at = number::integer(at)?;
    let mut list = list(call)?;
    if list.is_empty() {
        return Err(Failure::no_such_key());
    }
    let at = number::index(at, list.len()).ok_or_else(|| Failure::error("index out of range"))?;
    list.set(at, item.clone())?;
    list.save()?;
    Ok(Reply::OK)
}

pub(crate) fn lrange(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let (first, last) = (number::integer(&call.arguments[1])?, number::integer(&call.arguments[2])?);
    let mut list = list(call)?;
    let range = number::range(first, last, list.len());
    Ok(Reply::bulks(list.range(range)?))
}

pub(crate) fn ltrim(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let (first, last) = (number::integer(&call.arguments[1])?, number::integer(&call.arguments[2])?);
    let mut list = list(call)?;
    let kept = number::range(first, last, list.len());
    if kept != (0..list.len()) {
        list.trim(kept)?;
        list.save()?;
    }
    Ok(Reply::OK)
}

/// LINSERT key BEFORE | AFTER pivot item
pub(crate) fn linsert(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let [_, side, pivot, item] = call.arguments else { return Err(Failure::syntax()) };
    let after = match side.to_ascii_uppercase().as_slice() {
        b"BEFORE" => false,
        b"AFTER" => true,
        _ => return Err(Failure::syntax()),
    };
    let mut list = list(call)?;
    if list.is_empty() {
        return Ok(Reply::Int(0));
    }
    let items = list.range(0..list.len())?;
    let Some(at) = items.iter().position(|other| other == pivot) else { return Ok(Reply::Int(-1)) };
    let at = at + usize::from(after);
    let behind = items.into_iter().skip(at);
    list.rewrite(at, std::iter::once(item.clone()).chain(behind).collect())?;
    let count = list.len();
    list.save()?;
    Ok(Reply::count(count))
}

/// LREM key count item: the first `count` occurrences, the last when it is negative, all when it is 0.
pub(crate) fn lrem(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let [_, count, item] = call.arguments else { return Err(Failure::syntax()) };
    let count = number::integer(count)?;
    let mut list = list(call)?;
    let items = list.range(0..list.len())?;
    let mut found: Vec<usize> = (0..items.len()).filter(|at| items[*at] == *item).collect();
    let most = if count == 0 { usize::MAX } else { count.unsigned_abs() as usize };
    match count < 0 {
        true => drop(found.drain(..found.len().saturating_sub(most))),
        false => found.truncate(most),
    }
    let Some(first) = found.first().copied() else { return Ok(Reply::Int(0)) };
    let kept = items.into_iter().enumerate().skip(first).filter(|(at, _)| found.binary_search(at).is_err());
    list.rewrite(first, kept.map(|(_, item)| item).collect())?;
    list.save()?;
    Ok(Reply::count(found.len()))
}

/// LPOS key item [RANK n] [COUNT n] [MAXLEN n]
pub(crate) fn lpos(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let item = &call.arguments[1];
    let (mut rank, mut count, mut looked_at) = (1, None, 0);
    let mut words = Words::new(&call.arguments[2..]);
    let natural = |number: i64, what: &str| {
        usize::try_from(number).map_err(|_| Failure::error(format!("{what} can't be negative")))
    };
    while !words.is_empty() {
        match words.option()?.as_str() {
            "RANK" => rank = words.integer()?,
            "COUNT" => count = Some(natural(words.integer()?, "COUNT")?),
            "MAXLEN" => looked_at = natural(words.integer()?, "MAXLEN")?,
            _ => return Err(Failure::syntax()),
        }
    }
    if rank == 0 {
        return Err(Failure::error(
            "RANK can't be zero: use 1 to start from the first match, 2 from the second ... \
             or use negative to start from the end of the list",
        ));
    }
    let mut list = list(call)?;
    let items = list.range(0..list.len())?;
    let looked_at = if looked_at == 0 { items.len() } else { looked_at.min(items.len()) };
    let most = match count {
        None => 1,
        Some(0) => usize::MAX,
        Some(count) => count,
    };
    let is_it = |at: &usize| items[*at] == *item;
    let skip = rank.unsigned_abs() as usize - 1;
    let found: Vec<usize> = match rank > 0 {
        true => (0..looked_at).filter(is_it).skip(skip).take(most).collect(),
        false => (items.len() - looked_at..items.len()).rev().filter(is_it).skip(skip).take(most).collect(),
    };
    Ok(match count {
        Some(_) => Reply::Array(found.into_iter().map(Reply::count).collect()),
        None => found.first().map_or(Reply::Null, |at| Reply::count(*at)),
    })
}

fn list<'c, 'u>(call: &'c mut Call<'_, 'u>) -> Outcome<List<'c, 'u>> {
    List::open(call.context, &call.arguments[0])
}

fn push(call: &mut Call<'_, '_>, front: bool, only_old: bool) -> Outcome<Reply> {
    let items = &call.arguments[1..];
    let mut list = list(call)?;
    if only_old && list.is_empty() {
        return Ok(Reply::Int(0));
    }
    items.iter().try_for_each(|item| list.push(item.clone(), front))?;
    let count = list.len();
    list.save()?;
    Ok(Reply::count(count))
}

fn pop(call: &mut Call<'_, '_>, front: bool) -> Outcome<Reply> {
    let count = match &call.arguments[1..] {
        [] => None,
        [count] => Some(natural(count)?),
        _ => return Err(Failure::arity(if front { "lpop" } else { "rpop" })),
    };
    let mut list = list(call)?;
    let Some(count) = count else {
        let Some(item) = list.pop(front)? else { return Ok(Reply::Null) };
        list.save()?;
        return Ok(Reply::Bulk(item));
    };
    if list.is_empty() {
        return Ok(Reply::NullArray);
    }
    Ok(Reply::bulks(taken(list, front, count)?))
}

/// Takes `count` items from one end.
pub(super) fn taken(mut list: List<'_, '_>, front: bool, count: usize) -> Outcome<Vec<Vec<u8>>> {
    let count = count.min(list.len());
    let mut items = Vec::with_capacity(count);
    for _ in 0..count {
        items.extend(list.pop(front)?);
    }
    if count > 0 {
        list.save()?;
    }
    Ok(items)
}

/// A number that is not negative.
pub(super) fn natural(word: &[u8]) -> Outcome<usize> {
    let wrong = || Failure::error("value is out of range, must be positive");
    usize::try_from(number::integer(word).map_err(|_| wrong())?).map_err(|_| wrong())
}
