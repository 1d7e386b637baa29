//! Numbers in hashes.

use crate::call::Call;
use crate::commands::counters::sum;
use crate::failure::{Failure, Outcome};
use crate::long_double::LongDouble;
use crate::number;
use crate::protocol::Reply;
use crate::value::Value;

pub(crate) fn hincrby(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let [key, field, by] = call.arguments else { return Err(Failure::syntax()) };
    let by = number::integer(by)?;
    let (mut hash, expires_at_ms) = call.context.hash(key)?.unwrap_or_default();
    let old = match hash.get(field) {
        None => 0,
        Some(value) => number::integer(value).map_err(|_| Failure::error("hash value is not an integer"))?,
    };
    let sum = old.checked_add(by).ok_or_else(|| Failure::error("increment or decrement would overflow"))?;
    hash.set([(field.clone(), sum.to_string().into_bytes())]);
    call.context.put(key, Value::Hash(hash), expires_at_ms)?;
    Ok(Reply::Int(sum))
}

pub(crate) fn hincrbyfloat(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let [key, field, by] = call.arguments else { return Err(Failure::syntax()) };
    let by = LongDouble::parse(by).ok_or_else(Failure::not_float)?;
    if by.is_infinite() {
        return Err(Failure::error("value is NaN or Infinity"));
    }
    let (mut hash, expires_at_ms) = call.context.hash(key)?.unwrap_or_default();
    let old = hash.get(field).map_or(&b"0"[..], Vec::as_slice);
    let old = LongDouble::parse(old).ok_or_else(|| Failure::error("hash value is not a float"))?;
    let sum = sum(old, by)?;
    hash.set([(field.clone(), sum.clone())]);
    call.context.put(key, Value::Hash(hash), expires_at_ms)?;
    Ok(Reply::Bulk(sum))
}
