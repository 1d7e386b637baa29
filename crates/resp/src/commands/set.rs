//! SET with its options, and the commands that are short for it.

use crate::call::Call;
use crate::commands::digests::Condition;
use crate::failure::{Failure, Outcome};
use crate::number;
use crate::protocol::Reply;
use crate::value::Value;
use crate::words::Words;

/// When something expires, as options say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expiry {
    Seconds(i64),
    Millis(i64),
    AtSeconds(i64),
    AtMillis(i64),
}

impl Expiry {
    /// Of an option and the word after it; `None` when the option is another one.
    pub fn parse(option: &str, words: &mut Words<'_>) -> Outcome<Option<Self>> {
        Ok(Some(match option {
            "EX" => Self::Seconds(words.integer()?),
            "PX" => Self::Millis(words.integer()?),
            "EXAT" => Self::AtSeconds(words.integer()?),
            "PXAT" => Self::AtMillis(words.integer()?),
            _ => return Ok(None),
        }))
    }

    fn number(self) -> i64 {
        let (Self::Seconds(number) | Self::Millis(number) | Self::AtSeconds(number) | Self::AtMillis(number)) = self;
        number
    }

    /// The moment in milliseconds since 1970; `None` when it is beyond counting.
    pub fn moment_ms(self, now_ms: u64) -> Option<i64> {
        let now = now_ms as i64;
        match self {
            Self::Seconds(seconds) => seconds.checked_mul(1000)?.checked_add(now),
            Self::Millis(millis) => millis.checked_add(now),
            Self::AtSeconds(seconds) => seconds.checked_mul(1000),
            Self::AtMillis(millis) => Some(millis),
        }
    }
}

/// A moment for a command that sets a value; only what is above zero is one.
pub(crate) fn expires_at(expiry: Expiry, now_ms: u64, command: &str) -> Outcome<u64> {
    let moment = expiry.moment_ms(now_ms).filter(|_| expiry.number() > 0).and_then(|at| u64::try_from(at).ok());
    moment.ok_or_else(|| Failure::error(format!("invalid expire time in '{command}' command")))
}

/// Whether SET with these options tells what was there: `GET` answers it, and a comparison answers a guess. Whatever may be read as
/// such an option counts as one.
pub(crate) fn tells_the_old_value(options: &[Vec<u8>]) -> bool {
    [&b"GET"[..], b"IFEQ", b"IFNE", b"IFDEQ", b"IFDNE"]
        .iter()
        .any(|name| options.iter().any(|word| word.eq_ignore_ascii_case(name)))
}

/// SET key value [NX | XX | IFEQ value | IFNE value | IFDEQ digest | IFDNE digest] [GET] [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL]
pub(crate) fn set(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let (key, value) = (&call.arguments[0], &call.arguments[1]);
    let (mut only_new, mut only_old, mut get, mut keep, mut expiry) = (false, false, false, false, None);
    let mut compared: Option<Condition<'_>> = None;
    let mut words = Words::new(&call.arguments[2..]);
    while !words.is_empty() {
        let option = words.option()?;
        match option.as_str() {
            "NX" => only_new = true,
            "XX" => only_old = true,
            "GET" => get = true,
            "KEEPTTL" => keep = true,
            "IFEQ" | "IFNE" | "IFDEQ" | "IFDNE" if compared.is_none() => {
                compared = Condition::parse(option.as_bytes(), words.word()?)?;
            }
            option => match Expiry::parse(option, &mut words)? {
                Some(given) if expiry.is_none() => expiry = Some(given),
                _ => return Err(Failure::syntax()),
            },
        }
    }
    if (only_new && only_old) || (compared.is_some() && (only_new || only_old)) || (keep && expiry.is_some()) {
        return Err(Failure::syntax());
    }
    let mut expires_at_ms = expiry.map(|expiry| expires_at(expiry, call.context.now_ms, "set")).transpose()?;
    let mut old = None;
    if get || compared.is_some() {
        let found = call.context.string(key)?;
        let value = found.as_ref().map(|(value, _)| value.as_slice());
        let is_wanted = compared.is_none_or(|condition| condition.holds(value));
        if !is_wanted || (only_new && found.is_some()) || (only_old && found.is_none()) {
            return Ok(Reply::optional(found.map(|(value, _)| value).filter(|_| get)));
        }
        if keep {
            expires_at_ms = found.as_ref().and_then(|(_, at)| *at);
        }
        old = found.map(|(value, _)| value);
    } else if only_new || only_old || keep {
        let found = call.context.exists(key)?;
        if (only_new && found.is_some()) || (only_old && found.is_none()) {
            return Ok(Reply::Null);
        }
        if keep {
            expires_at_ms = found.and_then(|(_, at)| at);
        }
    }
    call.context.put(key, Value::String(value.clone()), expires_at_ms)?;
    Ok(if get { Reply::optional(old) } else { Reply::OK })
}

/// SETEX key seconds value
pub(crate) fn setex(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    expiring(call, Expiry::Seconds, "setex")
}

/// PSETEX key milliseconds value
pub(crate) fn psetex(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    expiring(call, Expiry::Millis, "psetex")
}

/// MSETEX numkeys key value … [NX | XX] [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL]
pub(crate) fn msetex(call: &mut Call<'_, '_>) -> Outcome<Reply> {
    let mut words = Words::new(call.arguments);
    let count = words.positive("numkeys").map_err(|_| Failure::error("invalid numkeys value"))?;
    let pairs = words.take(count.saturating_mul(2)).map_err(|_| Failure::error("wrong number of key-value pairs"))?;
    let (mut only_new, mut only_old, mut keep, mut expiry) = (false, false, false, None);
    while !words.is_empty() {
        let option = words.option()?;
        match option.as_str() {
            "NX" if !only_old => only_new = true,
            "XX" if !only_new => only_old = true,
            "KEEPTTL" if expiry.is_none() => keep = true,
            option => match Expiry::parse(option, &mut words)? {
                Some(given) if expiry.is_none() && !keep => expiry = Some(given),
                _ => return Err(Failure::syntax()),
            },
        }
    }
    let at = expiry.map(|expiry| expires_at(expiry, call.context.now_ms, "msetex")).transpose()?;
    let mut moments = Vec::with_capacity(count);
    for pair in pairs.chunks_exact(2) {
        let found = match only_new || only_old || keep {
            true => call.context.exists(&pair[0])?,
            false => None,
        };
        if (only_new && found.is_some()) || (only_old && found.is_none()) {
            return Ok(Reply::Int(0));
        }
        moments.push(if keep { found.and_then(|(_, at)| at) } else { at });
    }
    for (pair, at) in pairs.chunks_exact(2).zip(moments) {
        call.context.put(&pair[0], Value::String(pair[1].clone()), at)?;
    }
    Ok(Reply::Int(1))
}

fn expiring(call: &mut Call<'_, '_>, unit: fn(i64) -> Expiry, command: &str) -> Outcome<Reply> {
    let [key, span, value] = call.arguments else { return Err(Failure::syntax()) };
    let at = expires_at(unit(number::integer(span)?), call.context.now_ms, command)?;
    call.context.put(key, Value::String(value.clone()), Some(at))?;
    Ok(Reply::OK)
}
