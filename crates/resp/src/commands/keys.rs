//! Keys, whatever they hold.

use nuthatch_link::KeyScan;

use crate::call::Call;
use crate::failure::Outcome;
use crate::pattern;
use crate::protocol::Reply;

/// Keys that are read at a time.
const KEYS_AT_ONCE: usize = 10_000;

pub(crate) fn del(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let mut deleted = 0;
    for key in call.arguments {
        if call.context.exists(key)?.is_some() {
            call.context.delete(key)?;
            deleted += 1;
        }
    }
    Ok(Reply::Int(deleted))
}

/// A key that is named twice counts twice.
pub(crate) fn exists(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let mut there = 0;
    for key in call.arguments {
        there += i64::from(call.context.exists(key)?.is_some());
    }
    Ok(Reply::Int(there))
}

pub(crate) fn kind(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let kind = call.context.exists(&call.arguments[0])?;
    Ok(Reply::Simple(kind.map_or("none", |(kind, _)| kind.name())))
}

pub(crate) fn keys(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let wanted = &call.arguments[0];
    let mut found = Vec::new();
    let mut scan = KeyScan { keys_only: true, limit: KEYS_AT_ONCE, ..KeyScan::prefix(pattern::prefix(wanted)) };
    loop {
        let page = call.context.scan(&scan)?;
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
    Ok(Reply::Int(call.context.space.keyspace.count_estimate("")? as i64))
}
