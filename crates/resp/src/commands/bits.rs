//! Strings as rows of bits: the first bit is the highest of the first byte.

use std::ops::Range;

use nuthatch_link::VALUE_BYTES_MAX;

use crate::call::Call;
use crate::failure::{Failure, Outcome};
use crate::number;
use crate::protocol::Reply;
use crate::value::Value;

pub(crate) fn setbit(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let [key, at, bit] = call.arguments else { return Err(Failure::syntax()) };
    let at = place(number::integer(at).ok())?;
    let bit = bit_of(bit).map_err(|_| Failure::error("bit is not an integer or out of range"))?;
    let (mut bytes, expires_at_ms) = call.context.string(key)?.unwrap_or_default();
    let old = get(&bytes, at, 1);
    put(&mut bytes, at, 1, u64::from(bit));
    call.context.put(key, Value::String(bytes), expires_at_ms)?;
    Ok(Reply::Int(old as i64))
}

pub(crate) fn getbit(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let at = place(number::integer(&call.arguments[1]).ok())?;
    let (bytes, _) = call.context.string(&call.arguments[0])?.unwrap_or_default();
    Ok(Reply::Int(get(&bytes, at, 1) as i64))
}

/// BITCOUNT key [start end [BYTE | BIT]]
pub(crate) fn bitcount(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let part = match &call.arguments[1..] {
        [] => None,
        [first, last, unit @ ..] => Some((number::integer(first)?, number::integer(last)?, in_bits(unit)?)),
        _ => return Err(Failure::syntax()),
    };
    let (bytes, _) = call.context.string(&call.arguments[0])?.unwrap_or_default();
    let bits = part.map_or(0..8 * bytes.len(), |(first, last, in_bits)| bits_between(first, last, in_bits, &bytes));
    Ok(Reply::count(ones(&bytes, bits)))
}

/// BITPOS key bit [start [end [BYTE | BIT]]]
pub(crate) fn bitpos(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let [key, bit, part @ ..] = call.arguments else { return Err(Failure::syntax()) };
    let bit = bit_of(bit).map_err(|_| Failure::error("The bit argument must be 1 or 0."))?;
    let (first, last, unit) = match part {
        [] => (0, None, &[][..]),
        [first] => (number::integer(first)?, None, &[][..]),
        [first, last, unit @ ..] => (number::integer(first)?, Some(number::integer(last)?), unit),
    };
    let in_bits = in_bits(unit)?;
    let Some((bytes, _)) = call.context.string(key)? else { return Ok(Reply::Int(if bit { -1 } else { 0 })) };
    let bits = bits_between(first, last.unwrap_or(-1), in_bits, &bytes);
    let end = bits.end;
    let is_empty = bits.is_empty();
    match bits.into_iter().find(|at| (get(&bytes, *at, 1) == 1) == bit) {
        Some(at) => Ok(Reply::count(at)),
        // Behind the last byte there are zeros, where no end was given.
        None if !bit && last.is_none() && !is_empty => Ok(Reply::count(end)),
        None => Ok(Reply::Int(-1)),
    }
}

/// BITOP AND | OR | XOR | NOT | DIFF | DIFF1 | ANDOR | ONE destination key …
pub(crate) fn bitop(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let [operation, target, keys @ ..] = call.arguments else { return Err(Failure::syntax()) };
    let name = String::from_utf8_lossy(operation).to_uppercase();
    // Combines a byte of the first string with the bits of the others: those set in any of them, in all, in an odd
    // number, in exactly one.
    let of: fn(u8, &Others) -> u8 = match (name.as_str(), keys.len()) {
        ("AND", _) => |first, others| first & others.all,
        ("OR", _) => |first, others| first | others.any,
        ("XOR", _) => |first, others| first ^ others.odd,
        ("ONE", _) => |first, others| (first & !others.any) | (!first & others.one),
        ("NOT", 1) => |first, _| !first,
        ("NOT", _) => return Err(Failure::error("BITOP NOT must be called with a single source key.")),
        ("DIFF" | "DIFF1" | "ANDOR", 1) => {
            return Err(Failure::error(format!("BITOP {name} must be called with at least two source keys.")));
        }
        ("DIFF", _) => |first, others| first & !others.any,
        ("DIFF1", _) => |first, others| !first & others.any,
        ("ANDOR", _) => |first, others| first & others.any,
        _ => return Err(Failure::syntax()),
    };
    let mut strings = Vec::with_capacity(keys.len());
    for key in keys {
        strings.push(call.context.string(key)?.unwrap_or_default().0);
    }
    let length = strings.iter().map(Vec::len).max().unwrap_or(0);
    let mut result = Vec::with_capacity(length);
    for at in 0..length {
        let byte = |string: &Vec<u8>| string.get(at).copied().unwrap_or(0);
        result.push(of(byte(&strings[0]), &Others::of(strings[1..].iter().map(byte))));
    }
    match result.is_empty() {
        true => call.context.delete(target)?,
        false => call.context.put(target, Value::String(result), None)?,
    }
    Ok(Reply::count(length))
}

/// Several bytes, combined bit by bit.
struct Others {
    any: u8,
    all: u8,
    odd: u8,
    one: u8,
}

impl Others {
    fn of(bytes: impl Iterator<Item = u8>) -> Self {
        let mut others = Self { any: 0, all: u8::MAX, odd: 0, one: 0 };
        for byte in bytes {
            others.one = (others.one & !byte) | (byte & !others.any);
            others.any |= byte;
            others.all &= byte;
            others.odd ^= byte;
        }
        others
    }
}

/// A place among bits that a string may have.
pub(super) fn place(at: Option<i64>) -> Outcome<usize> {
    let at = at.and_then(|at| usize::try_from(at).ok()).filter(|at| at / 8 < VALUE_BYTES_MAX);
    at.ok_or_else(|| Failure::error("bit offset is not an integer or out of range"))
}

/// Returns `count` bits, 64 at most, from a place on; behind the last byte there are zeros.
pub(super) fn get(bytes: &[u8], at: usize, count: usize) -> u64 {
    let bit = |at: usize| bytes.get(at / 8).map_or(0, |byte| u64::from(byte >> (7 - at % 8) & 1));
    (at..at + count).fold(0, |number, at| number << 1 | bit(at))
}

/// Sets `count` bits from a place on; bytes are added where there are none.
pub(super) fn put(bytes: &mut Vec<u8>, at: usize, count: usize, number: u64) {
    let length = (at + count).div_ceil(8);
    if bytes.len() < length {
        bytes.resize(length, 0);
    }
    for (at, shift) in (at..at + count).zip((0..count).rev()) {
        let mask = 1 << (7 - at % 8);
        match number >> shift & 1 {
            1 => bytes[at / 8] |= mask,
            _ => bytes[at / 8] &= !mask,
        }
    }
}

fn ones(bytes: &[u8], bits: Range<usize>) -> usize {
    let (from, to) = (bits.start.div_ceil(8), bits.end / 8);
    if from >= to {
        return bits.filter(|at| get(bytes, *at, 1) == 1).count();
    }
    let whole: u32 = bytes[from..to].iter().map(|byte| byte.count_ones()).sum();
    let ends = (bits.start..8 * from).chain(8 * to..bits.end);
    whole as usize + ends.filter(|at| get(bytes, *at, 1) == 1).count()
}

fn bits_between(first: i64, last: i64, in_bits: bool, bytes: &[u8]) -> Range<usize> {
    match in_bits {
        true => number::range(first, last, 8 * bytes.len()),
        false => {
            let bytes = number::range(first, last, bytes.len());
            8 * bytes.start..8 * bytes.end
        }
    }
}

fn bit_of(word: &[u8]) -> Outcome<bool> {
    match number::integer(word)? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Failure::not_integer()),
    }
}

fn in_bits(unit: &[Vec<u8>]) -> Outcome<bool> {
    match unit {
        [] => Ok(false),
        [unit] if unit.eq_ignore_ascii_case(b"BYTE") => Ok(false),
        [unit] if unit.eq_ignore_ascii_case(b"BIT") => Ok(true),
        _ => Err(Failure::syntax()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_counted_whatever_the_ends() {
        let mut dice = fastrand::Rng::with_seed(3);
        let bytes: Vec<u8> = (0..20).map(|_| dice.u8(..)).collect();
        for start in 0..160 {
            for end in start..=160 {
                let naive = (start..end).filter(|at| get(&bytes, *at, 1) == 1).count();
                assert_eq!(ones(&bytes, start..end), naive, "{start}..{end}");
            }
        }
    }

    #[test]
    fn numbers_come_back_from_any_place() {
        let mut dice = fastrand::Rng::with_seed(4);
        let mut bytes = vec![0xa5; 4];
        for _ in 0..1000 {
            let (at, count) = (dice.usize(..200), dice.usize(1..=64));
            let number = dice.u64(..) >> (64 - count);
            let before = bytes.clone();
            put(&mut bytes, at, count, number);
            assert_eq!(get(&bytes, at, count), number);
            let outside = |bytes: &[u8]| (get(bytes, 0, at.min(64)), get(bytes, at + count, 64));
            assert_eq!(outside(&bytes), outside(&before));
        }
    }
}
