//! Numbers as clients write them, and as they are written back.

use std::ops::Range;

use crate::failure::{Failure, Outcome};

/// Items that a negative count may ask for: they may repeat, so nothing else bounds them.
const REPEATED_MAX: i64 = 1 << 20;

/// A whole number of 64 bits in its shortest decimal form: no plus, no leading zeros, no spaces.
pub(crate) fn integer(text: &[u8]) -> Outcome<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let canonical = match digits {
        [] => false,
        [b'0'] => text.len() == 1,
        [first, ..] => *first != b'0' && digits.iter().all(u8::is_ascii_digit),
    };
    let number = canonical.then(|| std::str::from_utf8(text).ok()?.parse().ok()).flatten();
    number.ok_or_else(Failure::not_integer)
}

/// A finite number or an infinity; never what is not a number.
pub(crate) fn float(text: &[u8]) -> Outcome<f64> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok());
    number.filter(|number| !number.is_nan()).ok_or_else(Failure::not_float)
}

/// Returns a range of `items` items, from a first to a last one; negative numbers count from the end.
pub(crate) fn range(first: i64, last: i64, items: usize) -> Range<usize> {
    let from_start = |at: i64| if at < 0 { at.saturating_add(items as i64) } else { at };
    let start = from_start(first).max(0) as usize;
    let end = from_start(last).saturating_add(1).clamp(0, items as i64) as usize;
    start..end.max(start)
}

/// Returns an index among `items` items; negative numbers count from the end.
pub(crate) fn index(at: i64, items: usize) -> Option<usize> {
    let at = if at < 0 { at.saturating_add(items as i64) } else { at };
    usize::try_from(at).ok().filter(|at| *at < items)
}

/// A number of items; negative when they may repeat.
pub(crate) fn signed_count(word: &[u8]) -> Outcome<i64> {
    let count = integer(word)?;
    match count >= -REPEATED_MAX {
        true => Ok(count),
        false => Err(Failure::error("value is out of range")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_shortest_form_is_a_whole_number() {
        assert_eq!(integer(b"-17").unwrap(), -17);
        assert_eq!(integer(b"0").unwrap(), 0);
        assert_eq!(integer(b"9223372036854775807").unwrap(), i64::MAX);
        for wrong in ["", "-", "-0", "+1", "01", " 1", "1 ", "1.0", "9223372036854775808", "x"] {
            assert!(integer(wrong.as_bytes()).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn ranges_count_from_both_ends() {
        assert_eq!(range(0, -1, 3), 0..3);
        assert_eq!(range(-2, 100, 3), 1..3);
        assert_eq!(range(-100, 0, 3), 0..1);
        assert!(range(2, 1, 3).is_empty() && range(5, 9, 3).is_empty() && range(0, -1, 0).is_empty());
        assert_eq!((index(-1, 3), index(2, 3), index(3, 3), index(-4, 3)), (Some(2), Some(2), None, None));
    }

    #[test]
    fn floats_are_numbers() {
        assert_eq!(float(b"3.0e3").unwrap(), 3000.0);
        assert!(float(b"inf").unwrap().is_infinite());
        assert!(float(b"nan").is_err() && float(b"").is_err() && float(b"1x").is_err());
    }
}
