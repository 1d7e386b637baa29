//! Datetimes as text: RFC 3339 out, and the usual ways to write a date in.

use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp, Unit};

const EPOCH: DateTime = jiff::civil::date(1970, 1, 1).at(0, 0, 0, 0);
const NANOS_PER_DAY: i128 = 86_400_000_000_000;

/// RFC 3339 in UTC with as many digits of a second as needed; `None` outside of the years -9999 to 9999.
pub fn format_datetime(micros: i64) -> Option<String> {
    // By the calendar and not as a timestamp: a timestamp leaves out the last day of 9999, which stands for "never".
    let utc = EPOCH.checked_add(SignedDuration::from_micros(micros)).ok()?;
    Some(format!("{utc}Z"))
}

/// Microseconds since the epoch of `2025-01-31`, `2025-01-31 12:30`, `2025-01-31T12:30:00.5Z` or `…+02:00`. Without an
/// offset it is UTC; a bare date is its midnight. Digits below a microsecond are cut off.
pub fn parse_datetime(text: &str) -> Option<i64> {
    let nanos = parse_nanos(text)?;
    i64::try_from(nanos.div_euclid(1000)).ok()
}

/// As [`parse_datetime`], in nanoseconds: a filter compares exactly with a literal finer than what is stored.
pub(crate) fn parse_nanos(text: &str) -> Option<i128> {
    // The parsers take forms with week days, brackets and zone names as well; a filter language should not.
    let numeric = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | ':' | '.' | 'T' | 't' | 'Z' | 'z' | ' ');
    if !text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+') || !text.chars().all(numeric) {
        return None;
    }
    if let Ok(timestamp) = text.parse::<Timestamp>() {
        return Some(timestamp.as_nanosecond());
    }
    // The remaining forms are UTC. One with an offset is not: the calendar's parser would ignore the offset.
    let time = text.split(['T', 't', ' ']).nth(1).unwrap_or_default();
    if time.contains(['+', '-']) {
        return None;
    }
    nanos_since_epoch(text.strip_suffix(['Z', 'z']).unwrap_or(text).parse().ok()?)
}

fn nanos_since_epoch(utc: DateTime) -> Option<i128> {
    let days = EPOCH.date().until((Unit::Day, utc.date())).ok()?.get_days();
    let time = utc.time().duration_since(EPOCH.time()).as_nanos();
    Some(i128::from(days) * NANOS_PER_DAY + time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_in_the_usual_forms() {
        let midnight = Some(1_735_689_600_000_000);
        for text in [
            "2025-01-01",
            "2025-01-01T00:00",
            "2025-01-01 00:00:00",
            "2025-01-01T00:00:00Z",
            "2025-01-01T02:00:00+02:00",
        ] {
            assert_eq!(parse_datetime(text), midnight, "{text}");
        }
        assert_eq!(parse_datetime("1969-12-31T23:59:59.999999999Z"), Some(-1), "cut off towards the past");
        for text in [
            "",
            "2025",
            "yesterday",
            "2025-13-01",
            "2025-02-30",
            "2025-01-01ZZ",
            "9999-12-31T23:59+02:00",
            "x2025-01-01",
            "2025-01-01[UTC]",
        ] {
            assert_eq!(parse_datetime(text), None, "{text}");
        }
    }

    #[test]
    fn what_goes_out_comes_in() {
        // The last two are Python's smallest and largest datetime.
        for micros in [0, 1, -1, 1_735_689_600_123_456, -62_135_596_800_000_000, 253_402_300_799_999_999] {
            assert_eq!(parse_datetime(&format_datetime(micros).unwrap()), Some(micros));
            let text = format_datetime(micros).unwrap().replace('T', " ").replace('Z', "");
            assert_eq!(parse_datetime(&text), Some(micros), "{text}");
        }
    }
}
