//! A value as it is stored: its bytes, or where they are, and behind them when it expires.
//!
//! The description of a value comes after it, so that reading a value cuts off the end instead of moving everything:
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

impl Body {
    /// Of the value, wherever it is.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Inline(value) => value.len() as u64,
            Self::Large { bytes, .. } => *bytes,
        }
    }
}

/// The stored value of a key.
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
        let Layout { inline, large, expires_at_ms } = Layout::of(&bytes)?;
        let body = match large {
            Some((number, bytes)) => Body::Large { number, bytes },
            None => {
                bytes.truncate(inline);
                Body::Inline(bytes)
            }
        };
        Ok(Self { body, expires_at_ms })
    }

    /// Bytes that a limit counts for it and its key.
    pub fn counted_bytes(&self, key_bytes: usize) -> u64 {
        key_bytes as u64 + self.body.bytes()
    }

    pub fn is_expired(&self, now_ms: u64) -> bool {
        self.expires_at_ms.is_some_and(|at| at <= now_ms)
    }
}

/// A value that never expires and is not large, as it is stored.
pub(crate) fn stored_inline(value: Vec<u8>) -> Vec<u8> {
    Stored { body: Body::Inline(value), expires_at_ms: None }.encode()
}

/// The value of such a one; `None` for any other.
pub(crate) fn inline_value(stored: &[u8]) -> Option<&[u8]> {
    let layout = Layout::of(stored).ok()?;
    (layout.large.is_none() && layout.expires_at_ms.is_none()).then(|| &stored[..layout.inline])
}

/// Where things are in a stored value.
pub(crate) struct Layout {
    /// Bytes of the value, from the first; 0 of a large one.
    pub inline: usize,
    /// A large value's number and length.
    pub large: Option<(u64, u64)>,
    pub expires_at_ms: Option<u64>,
}

impl Layout {
    pub fn of(bytes: &[u8]) -> Result<Self> {
        let broken = || Error::internal("a stored value cannot be decoded");
        let (&flags, mut rest) =
            bytes.split_last().filter(|(flags, _)| **flags <= EXPIRES | LARGE).ok_or_else(broken)?;
        let mut number = || -> Result<u64> {
            let (before, number) = rest.split_last_chunk::<8>().ok_or_else(broken)?;
            rest = before;
            Ok(u64::from_be_bytes(*number))
        };
        let expires_at_ms = if flags & EXPIRES == 0 { None } else { Some(number()?) };
        if flags & LARGE == 0 {
            return Ok(Self { inline: rest.len(), large: None, expires_at_ms });
        }
        let (length, place) = (number()?, number()?);
        match rest.is_empty() {
            true => Ok(Self { inline: 0, large: Some((place, length)), expires_at_ms }),
            false => Err(broken()),
        }
    }

    pub fn is_expired(&self, now_ms: u64) -> bool {
        self.expires_at_ms.is_some_and(|at| at <= now_ms)
    }
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
