//! Parts of strings.

use nuthatch_link::VALUE_BYTES_MAX;

use crate::call::Call;
use crate::failure::{Failure, Outcome};
use crate::number;
use crate::protocol::Reply;
use crate::value::Value;

/// GETRANGE key start end: both included, from the end when negative.
pub(crate) fn getrange(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let [key, start, end] = call.arguments else { return Err(Failure::syntax()) };
    let (start, end) = (number::integer(start)?, number::integer(end)?);
    let (value, _) = call.context.string(key)?.unwrap_or_default();
    let length = value.len() as i64;
    let place = |at: i64| if at < 0 { at.saturating_add(length).max(0) } else { at };
    if start < 0 && end < 0 && start > end {
        return Ok(Reply::bulk([]));
    }
    let (start, end) = (place(start), place(end).min(length - 1));
    Ok(match start <= end {
        true => Reply::bulk(&value[start as usize..=end as usize]),
        false => Reply::bulk([]),
    })
}

/// SETRANGE key offset value: zeros before it where the string is shorter.
pub(crate) fn setrange(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let [key, offset, part] = call.arguments else { return Err(Failure::syntax()) };
    let offset = usize::try_from(number::integer(offset)?).map_err(|_| Failure::error("offset is out of range"))?;
    let found = call.context.string(key)?;
    if part.is_empty() {
        return Ok(Reply::count(found.map_or(0, |(value, _)| value.len())));
    }
    let end = offset.checked_add(part.len()).filter(|end| *end <= VALUE_BYTES_MAX);
    let end = end.ok_or_else(|| Failure::error("string exceeds maximum allowed size (64 MiB)"))?;
    let (mut value, expires_at_ms) = found.unwrap_or_default();
    if value.len() < end {
        value.resize(end, 0);
    }
    value[offset..end].copy_from_slice(part);
    let length = value.len();
    call.context.put(key, Value::String(value), expires_at_ms)?;
    Ok(Reply::count(length))
}
