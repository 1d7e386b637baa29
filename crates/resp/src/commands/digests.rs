//! Writes that depend on what a string holds, also by its digest: XXH3 of 64 bits as 16 hexadecimal digits.

use xxhash_rust::xxh3::xxh3_64;

use crate::call::Call;
use crate::failure::{Failure, Outcome};
use crate::protocol::Reply;

/// The condition on a string under which a write happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Condition<'a> {
    pub is_equal: bool,
    pub is_digest: bool,
    pub word: &'a [u8],
}

impl<'a> Condition<'a> {
    /// Of an option and the word behind it; `None` when it is another option.
    pub fn parse(option: &[u8], word: &'a [u8]) -> Outcome<Option<Self>> {
        let (is_equal, is_digest) = match option.to_ascii_uppercase().as_slice() {
            b"IFEQ" => (true, false),
            b"IFNE" => (false, false),
            b"IFDEQ" => (true, true),
            b"IFDNE" => (false, true),
            _ => return Ok(None),
        };
        if is_digest && word.len() != 16 {
            return Err(Failure::error("must be exactly 16 hexadecimal characters"));
        }
        Ok(Some(Self { is_equal, is_digest, word }))
    }

    /// A key that is not there is equal to nothing.
    pub fn holds(&self, value: Option<&[u8]>) -> bool {
        let is_same = value.is_some_and(|value| match self.is_digest {
            true => digest_of(value).as_bytes().eq_ignore_ascii_case(self.word),
            false => value == self.word,
        });
        is_same == self.is_equal
    }
}

/// DIGEST key
pub(crate) fn digest(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let found = call.context.string(&call.arguments[0])?;
    Ok(Reply::optional(found.map(|(value, _)| digest_of(&value).into_bytes())))
}

/// DELEX key [IFEQ value | IFNE value | IFDEQ digest | IFDNE digest]
pub(crate) fn delex(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let key = &call.arguments[0];
    let condition = match &call.arguments[1..] {
        [] => None,
        [option, word] => Some(Condition::parse(option, word)?.ok_or_else(Failure::syntax)?),
        _ => return Err(Failure::syntax()),
    };
    let is_there = match condition {
        None => call.context.exists(key)?.is_some(),
        Some(condition) => match call.context.string(key)? {
            Some((value, _)) => condition.holds(Some(&value)),
            None => false,
        },
    };
    if is_there {
        call.context.delete(key)?;
    }
    Ok(Reply::flag(is_there))
}

fn digest_of(value: &[u8]) -> String {
    format!("{:016x}", xxh3_64(value))
}
