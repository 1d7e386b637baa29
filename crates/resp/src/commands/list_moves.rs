//! Moving items between lists, and taking them from the first of several; and the same where a client waits until there is one.
//!
//! A command that found nothing answers "no list". The connection runs one that waits again, until something is there or its time is up.

use crate::call::Call;
use crate::commands::lists::taken;
use crate::entries::List;
use crate::failure::{Failure, Outcome};
use crate::protocol::Reply;
use crate::words::Words;

/// LMOVE source destination LEFT | RIGHT LEFT | RIGHT
pub(crate) fn lmove(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let [source, target, from, to, ..] = call.arguments else { return Err(Failure::syntax()) };
    let is_left = |word: &[u8]| left_of(&word.to_ascii_uppercase()).ok_or_else(Failure::syntax);
    let (from, to) = (is_left(from)?, is_left(to)?);
    moved(call, source, target, from, to).map(Reply::optional)
}

/// RPOPLPUSH source destination
pub(crate) fn rpoplpush(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let (source, target) = (&call.arguments[0], &call.arguments[1]);
    moved(call, source, target, false, true).map(Reply::optional)
}

/// LMPOP numkeys key … LEFT | RIGHT [COUNT n]
pub(crate) fn lmpop(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    taken_from_first(call, call.arguments)
}

/// BLPOP key … timeout
pub(crate) fn blpop(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    first_item(call, true)
}

/// BRPOP key … timeout
pub(crate) fn brpop(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    first_item(call, false)
}

/// BLMPOP timeout numkeys key … LEFT | RIGHT [COUNT n]
pub(crate) fn blmpop(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    taken_from_first(call, &call.arguments[1..])
}

/// `numkeys key … end [COUNT n]`: the keys, what `end_of` makes of the end in capitals, and how many are wanted.
pub(super) fn keys_end_and_count<T>(
    arguments: &[Vec<u8>],
    end_of: impl FnOnce(&[u8]) -> Option<T>,
) -> Outcome<(&[Vec<u8>], T, usize)> {
    let mut words = Words::new(arguments);
    let keys = words.numbered_keys()?;
    let end = end_of(&words.word()?.to_ascii_uppercase()).ok_or_else(Failure::syntax)?;
    let count = match words.is_empty() {
        true => 1,
        false if words.option()? == "COUNT" => words.positive("count")?,
        false => return Err(Failure::syntax()),
    };
    match words.is_empty() {
        true => Ok((keys, end, count)),
        false => Err(Failure::syntax()),
    }
}

/// Of a word in capitals.
fn left_of(word: &[u8]) -> Option<bool> {
    match word {
        b"LEFT" => Some(true),
        b"RIGHT" => Some(false),
        _ => None,
    }
}

fn moved(call: &mut Call<'_, '_>, source: &[u8], target: &[u8], from: bool, to: bool) -> Outcome<Option<Vec<u8>>> {
    let mut list = List::open(call.context, source)?;
    let Some(item) = list.pop(from)? else { return Ok(None) };
    if source == target {
        list.push(item.clone(), to)?;
        list.save()?;
        return Ok(Some(item));
    }
    list.save()?;
    let mut list = List::open(call.context, target)?;
    list.push(item.clone(), to)?;
    list.save()?;
    Ok(Some(item))
}

fn taken_from_first(call: &mut Call<'_, '_>, arguments: &[Vec<u8>]) -> Outcome<Reply> {
    let (keys, front, count) = keys_end_and_count(arguments, left_of)?;
    for key in keys {
        let list = List::open(call.context, key)?;
        if !list.is_empty() {
            let items = taken(list, front, count)?;
            return Ok(Reply::Array(vec![Reply::bulk(key.as_slice()), Reply::bulks(items)]));
        }
    }
    Ok(Reply::NullArray)
}

fn first_item(call: &mut Call<'_, '_>, front: bool) -> Outcome<Reply> {
    let Some((_, keys)) = call.arguments.split_last() else { return Err(Failure::syntax()) };
    for key in keys {
        let mut list = List::open(call.context, key)?;
        if let Some(item) = list.pop(front)? {
            list.save()?;
            return Ok(Reply::bulks([key.as_slice(), &item]));
        }
    }
    Ok(Reply::NullArray)
}
