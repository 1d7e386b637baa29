//! Numbers in hashes.

use crate::aggregate::Kind;
use crate::call::Call;
use crate::commands::counters::sum;
use crate::entries::Members;
use crate::failure::{Failure, Outcome};
use crate::long_double::LongDouble;
use crate::number;
use crate::protocol::Reply;

pub(crate) fn hincrby(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let [key, field, by] = call.arguments else { return Err(Failure::syntax()) };
    let by = number::integer(by)?;
    let mut hash = Members::open(call.context, key, Kind::Hash)?;
    let old = match hash.get(field)? {
        None => 0,
        Some(value) => number::integer(&value).map_err(|_| Failure::error("hash value is not an integer"))?,
    };
    let sum = old.checked_add(by).ok_or_else(|| Failure::error("increment or decrement would overflow"))?;
    hash.insert(field, sum.to_string().into_bytes())?;
    hash.save()?;
    Ok(Reply::Int(sum))
}

pub(crate) fn hincrbyfloat(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let [key, field, by] = call.arguments else { return Err(Failure::syntax()) };
    let by = LongDouble::parse(by).ok_or_else(Failure::not_float)?;
    if by.is_infinite() {
        return Err(Failure::error("value is NaN or Infinity"));
    }
    let mut hash = Members::open(call.context, key, Kind::Hash)?;
    let old = hash.get(field)?.unwrap_or_else(|| b"0".to_vec());
    let old = LongDouble::parse(&old).ok_or_else(|| Failure::error("hash value is not a float"))?;
    let sum = sum(old, by)?;
    hash.insert(field, sum.clone())?;
    hash.save()?;
    Ok(Reply::Bulk(sum))
}
