//! Sizes and times as people write them, on every command line and in the configuration.

use std::time::Duration;

const SECOND_NS: u128 = 1_000_000_000;
/// Some thirty years.
const DURATION_NS_MAX: u128 = SECOND_NS * 1_000_000_000;
const FRACTION_DIGITS_MAX: usize = 18;

/// `64MiB`, `64M`, `1GiB`, `500MB` or plain bytes.
///
/// # Errors
/// A sentence that quotes the text and shows how a size is written.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not a size; write for example 64MiB, 1GiB or 67108864");
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..digits].parse().map_err(|_| wrong())?;
    let unit = match text[digits..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kib" => 1024.0,
        "m" | "mib" => 1_048_576.0,
        "g" | "gib" => 1_073_741_824.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        _ => return Err(wrong()),
    };
    Ok((number * unit) as u64)
}

/// `30s`, `10m`, `12h`, `7d`, `2w`, `500ms`, or seconds: above 0, up to thirty years.
///
/// # Errors
/// A sentence that quotes the text and shows how a time is written.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let unit_ns = match text[digits..].trim() {
        "ms" => 1_000_000,
        "" | "s" => SECOND_NS,
        "m" | "min" => 60 * SECOND_NS,
        "h" => 3600 * SECOND_NS,
        "d" => 86_400 * SECOND_NS,
        "w" => 604_800 * SECOND_NS,
        _ => 0,
    };
    nanoseconds(&text[..digits], unit_ns)
        // Less than a nanosecond is none.
        .filter(|ns| (1..=DURATION_NS_MAX).contains(ns))
        .and_then(|ns| u64::try_from(ns).ok())
        .map(Duration::from_nanos)
        .ok_or_else(|| format!("{text:?} is not a duration; write for example 30s, 10m, 12h or 7d"))
}

/// Returns the exact nanoseconds of a number of units: a time written in milliseconds reads back as the same time.
fn nanoseconds(number: &str, unit_ns: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    // Digits behind these are less than a nanosecond, whatever the unit.
    let fraction = &fraction[..fraction.len().min(FRACTION_DIGITS_MAX)];
    let read = |digits: &str| if digits.is_empty() { Some(0) } else { digits.parse::<u64>().map(u128::from).ok() };
    let parts = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    Some(read(whole)? * unit_ns + read(fraction)? * unit_ns / parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_they_are_written() {
        assert_eq!(parse_bytes("64MiB"), Ok(64 << 20));
        assert_eq!(parse_bytes("1.5g"), Ok(3 << 29));
        assert_eq!(parse_bytes("500 MB"), Ok(500_000_000));
        assert_eq!(parse_bytes("123"), Ok(123));
        for wrong in ["", "MiB", "12 parsecs", "-1", "1.2.3M"] {
            assert!(parse_bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn durations_are_read_as_they_are_written() {
        assert_eq!(parse_duration("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(parse_duration("1.5 h"), Ok(Duration::from_secs(5400)));
        assert_eq!(parse_duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse_duration("0.0000001w"), Ok(Duration::from_nanos(60_480_000)));
        assert_eq!(parse_duration("22222222222ms"), Ok(Duration::from_millis(22_222_222_222)), "to the millisecond");
        for wrong in ["", "0", "-1s", "soon", "10 parsecs", "1e9d", "400y", ".", "0.0000000001"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }
}
