//! Numbers in strings.

use crate::call::Call;
use crate::failure::{Failure, Outcome};
use crate::long_double::LongDouble;
use crate::number;
use crate::protocol::Reply;
use crate::value::Value;

pub(crate) fn incr(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    add(call, 1)
}

pub(crate) fn decr(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    add(call, -1)
}

pub(crate) fn incrby(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let by = number::integer(&call.arguments[1])?;
    add(call, by)
}

pub(crate) fn decrby(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let by = number::integer(&call.arguments[1])?;
    let by = by.checked_neg().ok_or_else(|| Failure::error("decrement would overflow"))?;
    add(call, by)
}

pub(crate) fn incrbyfloat(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let [key, by] = call.arguments else { return Err(Failure::syntax()) };
    let (value, expires_at_ms) = call.context.string(key)?.unwrap_or_else(|| (b"0".to_vec(), None));
    let value = LongDouble::parse(&value).ok_or_else(Failure::not_float)?;
    let sum = sum(value, LongDouble::parse(by).ok_or_else(Failure::not_float)?)?;
    call.context.put(key, Value::String(sum.clone()), expires_at_ms)?;
    Ok(Reply::Bulk(sum))
}

/// A sum in digits.
pub(crate) fn sum(value: LongDouble, by: LongDouble) -> Outcome<Vec<u8>> {
    let sum = value.plus(by).ok_or_else(|| Failure::error("increment would produce NaN or Infinity"))?;
    Ok(sum.digits().into_bytes())
}

fn add(call: &mut Call<'_, '_>, by: i64) -> Outcome<Reply> {
    let key = &call.arguments[0];
    let (value, expires_at_ms) = call.context.string(key)?.unwrap_or_else(|| (b"0".to_vec(), None));
    let sum = number::integer(&value)?.checked_add(by);
    let sum = sum.ok_or_else(|| Failure::error("increment or decrement would overflow"))?;
    call.context.put(key, Value::String(sum.to_string().into_bytes()), expires_at_ms)?;
    Ok(Reply::Int(sum))
}
