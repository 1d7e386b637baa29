//! The conditions in the head of a request on the state of its target (RFC 9110, sections 13 and 14): entity tags, and
//! a range of bytes.
//!
//! **Not for** dates: a file's time is what its writer said, and an older file may replace a newer one. Only tags decide.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use nuthatch_link::ContentId;

/// The answer that a request for a file gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All of its bytes.
    Whole,
    /// The bytes from the first to before the second.
    Part(u64, u64),
    /// The client has them (304).
    Nothing,
    /// It is not the state that the client means (412).
    Other,
    /// It has none of the bytes (416).
    Beyond,
}

/// The tag of a content: the same bytes have the same one.
pub fn tag(content: &ContentId) -> String {
    format!("\"{content}\"")
}

/// Evaluates these headers for a file of `bytes` bytes.
pub fn wanted(headers: &HeaderMap, content: &ContentId, bytes: u64) -> Wanted {
    let tag = tag(content);
    if headers.contains_key(header::IF_MATCH) && !names(headers, &header::IF_MATCH, &tag, false) {
        return Wanted::Other;
    }
    if names(headers, &header::IF_NONE_MATCH, &tag, true) {
        return Wanted::Nothing;
    }
    // A range of another state is of no use: then all of this one.
    let is_meant = headers.get(header::IF_RANGE).is_none_or(|value| value.as_bytes() == tag.as_bytes());
    match headers.get(header::RANGE).filter(|_| is_meant).and_then(|value| range(value, bytes)) {
        None => Wanted::Whole,
        Some((from, to)) if from < to => Wanted::Part(from, to),
        Some(_) => Wanted::Beyond,
    }
}

/// Whether a list of tags names this one. A weak tag does only where that is said.
fn names(headers: &HeaderMap, name: &HeaderName, tag: &str, weak: bool) -> bool {
    let lists = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    // The tags asked for here have no commas.
    lists.flat_map(|list| list.split(',')).map(str::trim).any(|one| {
        let one = if weak { one.strip_prefix("W/").unwrap_or(one) } else { one };
        one == "*" || one == tag
    })
}

/// The bytes that a range of one part means. Any other range may be ignored, which `None` says.
fn range(value: &HeaderValue, bytes: u64) -> Option<(u64, u64)> {
    let (unit, range) = value.to_str().ok()?.split_once('=')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
        is_number.then(|| text.parse().unwrap_or(u64::MAX))
    };
    match range.trim().split_once('-')? {
        ("", last) => Some((bytes.saturating_sub(number(last)?), bytes)),
        (first, "") => Some((number(first)?.min(bytes), bytes)),
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then(|| (first.min(bytes), last.saturating_add(1).min(bytes)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(given: &[(HeaderName, &str)], bytes: u64) -> Wanted {
        let headers = given.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect();
        wanted(&headers, &ContentId([7; 32]), bytes)
    }

    #[test]
    fn a_range_is_one_part_within_the_file_or_none() {
        let range = |value: &str, bytes| of(&[(header::RANGE, value)], bytes);
        assert_eq!(range("bytes=0-3", 10), Wanted::Part(0, 4));
        assert_eq!(range("bytes=8-99", 10), Wanted::Part(8, 10));
        assert_eq!(range("Bytes=3-", 10), Wanted::Part(3, 10));
        assert_eq!(range("bytes=-4", 10), Wanted::Part(6, 10));
        assert_eq!(range("bytes=-40", 10), Wanted::Part(0, 10));
        assert_eq!(range("bytes=0-99999999999999999999999", 10), Wanted::Part(0, 10));
        for beyond in ["bytes=10-", "bytes=10-12", "bytes=-0", "bytes=99999999999999999999999-"] {
            assert_eq!(range(beyond, 10), Wanted::Beyond, "{beyond}");
        }
        assert_eq!(range("bytes=0-", 0), Wanted::Beyond);
        for ignored in ["bytes=0-1,3-4", "bytes=5-3", "bytes=+1-2", "bytes=-", "bytes=a-", "items=0-1", "bytes", ""] {
            assert_eq!(range(ignored, 10), Wanted::Whole, "{ignored}");
        }
    }

    #[test]
    fn tags_decide_before_the_range_does() {
        let (tag, weak) = (tag(&ContentId([7; 32])), format!("W/{}", tag(&ContentId([7; 32]))));
        let list = format!("\"x\", {tag}");
        let is = |name: HeaderName, value: &str| of(&[(name, value), (header::RANGE, "bytes=1-1")], 3);
        for same in [&tag, &weak, &list, "*"] {
            assert_eq!(is(header::IF_NONE_MATCH, same), Wanted::Nothing, "{same}");
        }
        assert_eq!(is(header::IF_NONE_MATCH, "\"x\""), Wanted::Part(1, 2));
        for same in [&tag, &list, "*"] {
            assert_eq!(is(header::IF_MATCH, same), Wanted::Part(1, 2), "{same}");
        }
        for other in ["\"x\"", &weak, ""] {
            assert_eq!(is(header::IF_MATCH, other), Wanted::Other, "{other}");
        }
        assert_eq!(is(header::IF_RANGE, &tag), Wanted::Part(1, 2));
        for other in [&weak, "\"x\"", "Wed, 25 Nov 2026 10:00:00 GMT"] {
            assert_eq!(is(header::IF_RANGE, other), Wanted::Whole, "{other}");
        }
    }
}
