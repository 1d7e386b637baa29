//! A value as it is stored: its bytes, or where they are, and behind them when it expires.
//!
//! What describes a value stands behind it, so that reading one cuts off the end instead of moving everything:
//!
//! | bytes | what |
//! |---|---|
//! | any | the value; of a large one its number in the table `blobs` and its length, 8 bytes each, big endian |
//! | 8, when it expires | milliseconds since 1970, big endian |
//! | 1 | flags: 1 = it expires, 2 = it is large |

use crate::{Error, Result};

const EXPIRES: u8 = 1;
const LARGE: u8 = 2;

/// A value, or where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    Inline(Vec<u8>),
    Large { number: u64, bytes: u64 },
}

/// What is stored for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub body: Body,
    pub expires_at_ms: Option<u64>,
}

impl Stored {
    pub fn encode(self) -> Vec<u8> {
        let (mut bytes, mut flags) = match self.body {
            Body::Inline(value) => (value, 0),
            Body::Large { number, bytes } => ([number.to_be_bytes(), bytes.to_be_bytes()].concat(), LARGE),
        };
        if let Some(at) = self.expires_at_ms {
            bytes.extend_from_slice(&at.to_be_bytes());
            flags |= EXPIRES;
        }
        bytes.push(flags);
        bytes
    }

    pub fn decode(mut bytes: Vec<u8>) -> Result<Self> {
        let broken = || Error::internal("a stored value does not decode");
        let flags = bytes.pop().filter(|flags| *flags <= EXPIRES | LARGE).ok_or_else(broken)?;
        let expires_at_ms = match flags & EXPIRES {
            0 => None,
            _ => Some(take_number(&mut bytes).ok_or_else(broken)?),
        };
        if flags & LARGE == 0 {
            return Ok(Self { body: Body::Inline(bytes), expires_at_ms });
        }
        let (length, number) = (take_number(&mut bytes), take_number(&mut bytes));
        match (number, length, bytes.is_empty()) {
            (Some(number), Some(bytes), true) => Ok(Self { body: Body::Large { number, bytes }, expires_at_ms }),
            _ => Err(broken()),
        }
    }

    /// Bytes that a limit counts for it and its key.
    pub fn counted_bytes(&self, key_bytes: usize) -> u64 {
        let value = match &self.body {
            Body::Inline(value) => value.len() as u64,
            Body::Large { bytes, .. } => *bytes,
        };
        key_bytes as u64 + value
    }

    pub fn is_expired(&self, now_ms: u64) -> bool {
        self.expires_at_ms.is_some_and(|at| at <= now_ms)
    }
}

fn take_number(bytes: &mut Vec<u8>) -> Option<u64> {
    let at = bytes.len().checked_sub(8)?;
    let number = bytes[at..].try_into().ok()?;
    bytes.truncate(at);
    Some(u64::from_be_bytes(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_comes_back() {
        for body in
            [Body::Inline(b"some value".to_vec()), Body::Inline(vec![]), Body::Large { number: 7, bytes: 1 << 26 }]
        {
            for expires_at_ms in [None, Some(0), Some(1_700_000_000_000)] {
                let stored = Stored { body: body.clone(), expires_at_ms };
                assert_eq!(Stored::decode(stored.clone().encode()).unwrap(), stored);
            }
        }
    }

    #[test]
    fn bytes_that_are_no_value_are_refused() {
        for bytes in [vec![], vec![4], vec![1], vec![1, 2, 3, 2], [vec![0; 17], vec![2]].concat()] {
            assert!(Stored::decode(bytes).is_err());
        }
    }
}
