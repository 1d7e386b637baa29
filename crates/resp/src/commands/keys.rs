//! Keys, whatever they hold.

use std::ops::Bound;

use nuthatch_engine::KeyScan;

use crate::commands::Call;
use crate::failure::Outcome;
use crate::pattern;
use crate::protocol::Reply;

/// Keys that are read at a time.
const KEYS_AT_ONCE: usize = 10_000;

pub(crate) fn del(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let mut deleted = 0;
    for key in call.arguments {
        if call.unit.exists(key)?.is_some() {
            call.unit.delete(key)?;
            deleted += 1;
        }
    }
    Ok(Reply::Int(deleted))
}

/// A key that is named twice counts twice.
pub(crate) fn exists(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let mut there = 0;
    for key in call.arguments {
        there += i64::from(call.unit.exists(key)?.is_some());
    }
    Ok(Reply::Int(there))
}

pub(crate) fn kind(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let kind = call.unit.exists(&call.arguments[0])?;
    Ok(Reply::Simple(kind.map_or("none", |(kind, _)| kind.name())))
}

pub(crate) fn keys(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let wanted = &call.arguments[0];
    let mut found = Vec::new();
    let mut scan = KeyScan { keys_only: true, limit: KEYS_AT_ONCE, ..KeyScan::prefix(pattern::prefix(wanted)) };
    loop {
        let page = call.unit.scan(&scan)?;
        let fitting = page.entries.into_iter().map(|(key, _)| key).filter(|key| pattern::fits(wanted, key));
        found.extend(fitting.map(Reply::Bulk));
        match page.cursor {
            Some(cursor) => scan.cursor = Some(cursor),
            None => return Ok(Reply::Array(found)),
        }
    }
}

/// Exact up to 10,000 keys, an estimate beyond.
pub(crate) fn dbsize(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    Ok(Reply::Int(call.unit.space.keyspace.count_estimate("")? as i64))
}

/// Any key, but not each as likely as the others: the first one after a random place between the first and the last.
pub(crate) fn randomkey(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let mut first = |scan: KeyScan| -> Outcome<Option<Vec<u8>>> {
        let page = call.unit.scan(&KeyScan { limit: 1, keys_only: true, ..scan })?;
        Ok(page.entries.into_iter().next().map(|(key, _)| key))
    };
    let Some(lowest) = first(KeyScan::default())? else { return Ok(Reply::Null) };
    let highest = first(KeyScan { reverse: true, ..KeyScan::default() })?.unwrap_or_else(|| lowest.clone());
    let from = between(&lowest, &highest);
    let found = first(KeyScan { from: Bound::Included(from), ..KeyScan::default() })?;
    Ok(Reply::Bulk(found.unwrap_or(lowest)))
}

/// A random place between two keys: behind what they have in common, eight bytes.
fn between(lowest: &[u8], highest: &[u8]) -> Vec<u8> {
    let common = lowest.iter().zip(highest).take_while(|(one, other)| one == other).count();
    let number = |key: &[u8]| {
        let mut bytes = [0; 8];
        let rest = &key[common..];
        let taken = rest.len().min(8);
        bytes[..taken].copy_from_slice(&rest[..taken]);
        u64::from_be_bytes(bytes)
    };
    let (low, high) = (number(lowest), number(highest));
    let mut place = lowest[..common].to_vec();
    place.extend_from_slice(&fastrand::u64(low.min(high)..=high.max(low)).to_be_bytes());
    place
}
