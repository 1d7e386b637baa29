//! When keys expire.

use crate::call::Call;
use crate::commands::set::Expiry;
use crate::failure::{Failure, Outcome};
use crate::number;
use crate::protocol::Reply;
use crate::words::Words;

pub(crate) fn expire(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    change(call, Expiry::Seconds, "expire")
}

pub(crate) fn pexpire(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    change(call, Expiry::Millis, "pexpire")
}

pub(crate) fn expireat(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    change(call, Expiry::AtSeconds, "expireat")
}

pub(crate) fn pexpireat(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    change(call, Expiry::AtMillis, "pexpireat")
}

pub(crate) fn ttl(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let now = call.context.now_ms;
    tell(call, |at| (at.saturating_sub(now) + 500) / 1000)
}

pub(crate) fn pttl(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let now = call.context.now_ms;
    tell(call, |at| at.saturating_sub(now))
}

pub(crate) fn expiretime(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    tell(call, |at| (at + 500) / 1000)
}

pub(crate) fn pexpiretime(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    tell(call, |at| at)
}

pub(crate) fn persist(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let key = &call.arguments[0];
    match call.context.value(key)? {
        Some((value, Some(_))) => {
            call.context.put(key, value, None)?;
            Ok(Reply::Int(1))
        }
        _ => Ok(Reply::Int(0)),
    }
}

/// A moment that has passed deletes the key.
fn change(call: &mut Call<'_, '_>, unit: fn(i64) -> Expiry, command: &str) -> Outcome<Reply> {
    let key = &call.arguments[0];
    let given = unit(number::integer(&call.arguments[1])?);
    let (mut new, mut old, mut greater, mut less) = (false, false, false, false);
    let mut words = Words::new(&call.arguments[2..]);
    while !words.is_empty() {
        let option = words.option()?;
        match option.as_str() {
            "NX" => new = true,
            "XX" => old = true,
            "GT" => greater = true,
            "LT" => less = true,
            other => return Err(Failure::error(format!("Unsupported option {other}"))),
        }
    }
    if new && (old || greater || less) {
        return Err(Failure::error("NX and XX, GT or LT options at the same time are not compatible"));
    }
    if greater && less {
        return Err(Failure::error("GT and LT options at the same time are not compatible"));
    }
    let moment = given.moment_ms(call.context.now_ms);
    let moment = moment.ok_or_else(|| Failure::error(format!("invalid expire time in '{command}' command")))?;
    let moment = u64::try_from(moment).unwrap_or(0);
    let Some((value, expires_at_ms)) = call.context.value(key)? else { return Ok(Reply::Int(0)) };
    let refused = match expires_at_ms {
        // A key that never expires lives longer than any other.
        None => old || greater,
        Some(at) => new || (greater && moment <= at) || (less && moment >= at),
    };
    if refused {
        return Ok(Reply::Int(0));
    }
    match moment <= call.context.now_ms {
        true => call.context.delete(key)?,
        false => call.context.put(key, value, Some(moment))?,
    }
    Ok(Reply::Int(1))
}

/// -2 when there is no key, -1 when it never expires.
fn tell(call: &mut Call<'_, '_>, show: impl FnOnce(u64) -> u64) -> Outcome<Reply> {
    Ok(Reply::Int(match call.context.exists(&call.arguments[0])? {
        None => -2,
        Some((_, None)) => -1,
        Some((_, Some(at))) => show(at) as i64,
    }))
}
