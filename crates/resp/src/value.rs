//! The value of a key: a string, an aggregate (a hash, a list, a set, a sorted set) or a vector set, as the bytes of
//! one value of a keyspace.
//!
//! A string lies there as it is, so every face reads and writes the same bytes. The others begin with four bytes that a string
//! would not; a string that does so all the same is put behind the mark of strings.
//!
//! | bytes | what |
//! |---|---|
//! | `00 'n' 'h'` | the mark |
//! | 1 | `s` a string follows, `v` a vector set (JSON); the letters of aggregates are theirs |

use nuthatch_link::Entry;

use crate::aggregate::{Aggregate, Kind};
use crate::failure::{Failure, Outcome};
use crate::vector_set::Set;

const MARK: &[u8; 3] = b"\0nh";

/// A value by its type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    String(Vec<u8>),
    Aggregate(Aggregate),
    Set(Set),
}

/// The types, without their values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    String,
    Aggregate(Kind),
    Set,
}

impl Type {
    /// Of stored bytes, without decoding them.
    pub fn of(stored: &[u8]) -> Self {
        match stored.strip_prefix(MARK).and_then(|rest| rest.first()) {
            Some(b'v') => Self::Set,
            Some(letter) => Kind::of(*letter).map_or(Self::String, |(kind, _)| Self::Aggregate(kind)),
            None => Self::String,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Aggregate(Kind::Hash) => "hash",
            Self::Aggregate(Kind::List) => "list",
            Self::Aggregate(Kind::Set) => "set",
            Self::Aggregate(Kind::Sorted) => "zset",
            Self::Set => "vectorset",
        }
    }
}

impl Value {
    pub fn decode(stored: Vec<u8>) -> Outcome<Self> {
        let broken = || Failure::error("the stored value cannot be decoded; another program wrote this key");
        match stored.strip_prefix(MARK) {
            None => Ok(Self::String(stored)),
            Some([b's', rest @ ..]) => Ok(Self::String(rest.to_vec())),
            Some([b'v', rest @ ..]) => Ok(Self::Set(serde_json::from_slice(rest).map_err(|_| broken())?)),
            Some([letter, rest @ ..]) => {
                let (kind, has_rows) = Kind::of(*letter).ok_or_else(broken)?;
                Ok(Self::Aggregate(Aggregate::decode(kind, has_rows, rest).ok_or_else(broken)?))
            }
            Some([]) => Err(broken()),
        }
    }

    pub fn encode(self) -> Vec<u8> {
        let marked = |kind: u8| [MARK.as_slice(), &[kind]].concat();
        match self {
            Self::String(bytes) if !bytes.starts_with(MARK) => bytes,
            Self::String(bytes) => [marked(b's'), bytes].concat(),
            Self::Aggregate(aggregate) => aggregate.encode(MARK.to_vec()),
            Self::Set(set) => {
                let json = serde_json::to_vec(&set).expect("names and numbers always encode");
                [marked(b'v'), json].concat()
            }
        }
    }
}

/// The id of the rows that an entry names.
pub(crate) fn rows_of(entry: Option<&Entry>) -> Outcome<Option<u64>> {
    match entry {
        Some(entry) if matches!(Type::of(&entry.value), Type::Aggregate(_)) => {
            match Value::decode(entry.value.clone())? {
                Value::Aggregate(aggregate) => Ok(aggregate.rows().map(|head| head.id)),
                _ => Ok(None),
            }
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_lie_as_they_are_unless_they_look_like_something_else() {
        let stored = |bytes: &[u8]| Value::String(bytes.to_vec()).encode();
        assert_eq!(stored(b"plain"), b"plain");
        for odd in [&b"\0nhh"[..], b"\0nhs", b"\0nh", b""] {
            assert_eq!(Value::decode(stored(odd)).unwrap(), Value::String(odd.to_vec()));
            assert_eq!(Type::of(&stored(odd)), Type::String);
        }
    }

    #[test]
    fn bytes_that_are_no_value_are_an_error() {
        for broken in [&b"\0nhh\xff"[..], b"\0nhv{", b"\0nhx", b"\0nh"] {
            assert!(Value::decode(broken.to_vec()).is_err());
        }
    }
}
