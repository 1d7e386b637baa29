//! Deleting everything.

use nuthatch_link::KeyScan;

use crate::call::Call;
use crate::failure::{Failure, Outcome};
use crate::protocol::Reply;
use crate::purge;
use crate::session::Session;
use crate::tenant::keyspace_name;

const KEYS_AT_ONCE: usize = 10_000;

/// FLUSHDB [ASYNC | SYNC]
pub(crate) fn flushdb(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    check_option(call.arguments)?;
    if !call.context.flush()? {
        // Within a transaction: key by key, so that it is part of it.
        let mut scan = KeyScan { keys_only: true, limit: KEYS_AT_ONCE, ..KeyScan::default() };
        loop {
            let page = call.context.scan(&scan)?;
            page.entries.iter().try_for_each(|(key, _)| call.context.delete(key))?;
            match page.cursor {
                Some(cursor) => scan.cursor = Some(cursor),
                None => break,
            }
        }
    }
    Ok(Reply::OK)
}

/// FLUSHALL [ASYNC | SYNC]
pub(crate) fn flushall(session: &mut Session, arguments: &[Vec<u8>]) -> Outcome<Reply> {
    check_option(arguments)?;
    if session.within {
        return Err(Failure::error("FLUSHALL is not allowed in a transaction; use FLUSHDB"));
    }
    let tenant = session.tenant()?;
    let there = tenant.database.keyspace_names()?;
    let durability = session.write_durability();
    let mut numbers = (0..session.shared.settings.databases).filter(|number| there.contains(&keyspace_name(*number)));
    let flushed = numbers.try_for_each(|number| purge::flush(&*tenant.space(number)?, &tenant, durability));
    session.note_write();
    session.account("redis.flushall", "", flushed.as_ref().err());
    flushed.map(|()| Reply::OK)
}

fn check_option(arguments: &[Vec<u8>]) -> Outcome<()> {
    match arguments {
        [] => Ok(()),
        [option] if option.eq_ignore_ascii_case(b"ASYNC") || option.eq_ignore_ascii_case(b"SYNC") => Ok(()),
        _ => Err(Failure::syntax()),
    }
}
