//! Numbers in strings.

use crate::commands::Call;
use crate::failure::{Failure, Outcome};
use crate::number;
use crate::protocol::{Reply, digits};
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
    let by = number::float(by)?;
    let (value, expires_at_ms) = call.unit.string(key)?.unwrap_or_else(|| (b"0".to_vec(), None));
    let sum = sum(&value, by, Failure::not_float())?;
    call.unit.put(key, Value::String(sum.clone()), expires_at_ms)?;
    Ok(Reply::Bulk(sum))
}

/// The sum of a number in digits and another, in digits.
pub(crate) fn sum(value: &[u8], by: f64, no_number: Failure) -> Outcome<Vec<u8>> {
    let sum = number::float(value).map_err(|_| no_number)? + by;
    match sum.is_finite() {
        true => Ok(digits(sum).into_bytes()),
        false => Err(Failure::error("increment would produce NaN or Infinity")),
    }
}

fn add(call: &mut Call<'_, '_>, by: i64) -> Outcome<Reply> {
    let key = &call.arguments[0];
    let (value, expires_at_ms) = call.unit.string(key)?.unwrap_or_else(|| (b"0".to_vec(), None));
    let sum = number::integer(&value)?.checked_add(by);
    let sum = sum.ok_or_else(|| Failure::error("increment or decrement would overflow"))?;
    call.unit.put(key, Value::String(sum.to_string().into_bytes()), expires_at_ms)?;
    Ok(Reply::Int(sum))
}
