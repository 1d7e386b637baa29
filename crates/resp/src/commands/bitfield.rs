//! BITFIELD: whole numbers of any width within a string.

use crate::call::Call;
use crate::commands::bits::{get, place, put};
use crate::failure::{Failure, Outcome};
use crate::number;
use crate::protocol::Reply;
use crate::value::Value;
use crate::words::Words;

/// How a number lies in a string.
#[derive(Clone, Copy)]
struct Form {
    bits: usize,
    is_signed: bool,
}

/// The treatment of a number that does not fit.
#[derive(Clone, Copy)]
enum Overflow {
    Wrap,
    Saturate,
    Fail,
}

enum Step {
    Get,
    Set(i64),
    Add(i64),
}

impl Form {
    fn parse(word: &[u8]) -> Outcome<Self> {
        let wrong = || {
            Failure::error(
                "Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
            )
        };
        let (is_signed, digits) = match word {
            [b'i', digits @ ..] => (true, digits),
            [b'u', digits @ ..] => (false, digits),
            _ => return Err(wrong()),
        };
        let bits = number::integer(digits).map_err(|_| wrong())?;
        let most = if is_signed { 64 } else { 63 };
        match (1..=most).contains(&bits) {
            true => Ok(Self { bits: bits as usize, is_signed }),
            false => Err(wrong()),
        }
    }

    /// Parses a place, or `#n`: the place after `n` numbers of this width.
    fn place(self, word: &[u8]) -> Outcome<usize> {
        let at = match word {
            [b'#', digits @ ..] => number::integer(digits).ok().and_then(|at| at.checked_mul(self.bits as i64)),
            digits => number::integer(digits).ok(),
        };
        let at = place(at)?;
        place(i64::try_from(at + self.bits - 1).ok())?;
        Ok(at)
    }

    fn least(self) -> i128 {
        if self.is_signed { -(1 << (self.bits - 1)) } else { 0 }
    }

    fn most(self) -> i128 {
        (1 << (self.bits - usize::from(self.is_signed))) - 1
    }

    fn read(self, bytes: &[u8], at: usize) -> i128 {
        let raw = i128::from(get(bytes, at, self.bits));
        if self.is_signed && raw > self.most() { raw - (1 << self.bits) } else { raw }
    }

    fn write(self, bytes: &mut Vec<u8>, at: usize, number: i128) {
        put(bytes, at, self.bits, number as u64);
    }

    /// The number that is stored for one that may not fit.
    fn fitted(self, number: i128, overflow: Overflow) -> Option<i128> {
        if (self.least()..=self.most()).contains(&number) {
            return Some(number);
        }
        match overflow {
            Overflow::Fail => None,
            Overflow::Saturate => Some(number.clamp(self.least(), self.most())),
            Overflow::Wrap => Some((number - self.least()).rem_euclid(1 << self.bits) + self.least()),
        }
    }
}

/// BITFIELD key [GET form place | [OVERFLOW WRAP | SAT | FAIL] SET form place number | INCRBY form place number] …
pub(crate) fn bitfield(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    run(call, true)
}

/// BITFIELD_RO key [GET form place] …
pub(crate) fn bitfield_ro(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    run(call, false)
}

fn run(call: &mut Call<'_, '_>, may_write: bool) -> Outcome<Reply> {
    let mut words = Words::new(&call.arguments[1..]);
    let (mut steps, mut overflow) = (Vec::new(), Overflow::Wrap);
    while !words.is_empty() {
        let name = words.option()?;
        if !may_write && name != "GET" {
            return Err(Failure::error("BITFIELD_RO only supports the GET subcommand"));
        }
        if name == "OVERFLOW" {
            overflow = match words.option()?.as_str() {
                "WRAP" => Overflow::Wrap,
                "SAT" => Overflow::Saturate,
                "FAIL" => Overflow::Fail,
                _ => return Err(Failure::error("Invalid OVERFLOW type specified")),
            };
            continue;
        }
        if !matches!(name.as_str(), "GET" | "SET" | "INCRBY") {
            return Err(Failure::syntax());
        }
        let form = Form::parse(words.word()?)?;
        let at = form.place(words.word()?)?;
        let step = match name.as_str() {
            "GET" => Step::Get,
            "SET" => Step::Set(words.integer()?),
            _ => Step::Add(words.integer()?),
        };
        steps.push((form, at, step, overflow));
    }
    let key = &call.arguments[0];
    let (mut bytes, expires_at_ms) = call.context.string(key)?.unwrap_or_default();
    let (mut replies, mut wrote) = (Vec::with_capacity(steps.len()), false);
    for (form, at, step, overflow) in steps {
        let old = form.read(&bytes, at);
        let (new, told) = match step {
            Step::Get => (None, Some(old)),
            Step::Set(number) => {
                let new = form.fitted(number.into(), overflow);
                (new, new.map(|_| old))
            }
            Step::Add(by) => {
                let new = form.fitted(old + i128::from(by), overflow);
                (new, new)
            }
        };
        if let Some(new) = new {
            form.write(&mut bytes, at, new);
            wrote = true;
        }
        replies.push(told.map_or(Reply::Null, |number| Reply::Int(number as i64)));
    }
    if wrote {
        call.context.put(key, Value::String(bytes), expires_at_ms)?;
    }
    Ok(Reply::Array(replies))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_wraps_saturates_or_fails() {
        let form = |text: &str| Form::parse(text.as_bytes()).unwrap();
        for (kind, number, wrapped, saturated) in [
            ("u2", 5, 1, 3),
            ("u2", -1, 3, 0),
            ("i8", 128, -128, 127),
            ("i8", -129, 127, -128),
            ("i64", 1 << 63, i128::from(i64::MIN), i128::from(i64::MAX)),
        ] {
            assert_eq!(form(kind).fitted(number, Overflow::Wrap), Some(wrapped), "{kind} {number}");
            assert_eq!(form(kind).fitted(number, Overflow::Saturate), Some(saturated), "{kind} {number}");
            assert_eq!(form(kind).fitted(number, Overflow::Fail), None, "{kind} {number}");
        }
        for wrong in ["u64", "i65", "u0", "x8", "i", "u1x"] {
            assert!(Form::parse(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn signed_numbers_come_back() {
        let mut bytes = Vec::new();
        for (text, number) in
            [("i5", -16), ("i5", 15), ("u63", (1 << 63) - 1), ("i64", i128::from(i64::MIN)), ("i1", -1)]
        {
            let form = Form::parse(text.as_bytes()).unwrap();
            form.write(&mut bytes, 13, number);
            assert_eq!(form.read(&bytes, 13), number, "{text}");
        }
    }
}
