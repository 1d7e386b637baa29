//! Sizes and times as people write them, on every command line and in the configuration.

use std::time::Duration;

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
    let unit = match text[digits..].trim() {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        "w" => 604_800.0,
        _ => f64::NAN,
    };
    let seconds = text[..digits].parse::<f64>().ok().map(|number| number * unit);
    seconds
        .filter(|seconds| *seconds > 0.0 && *seconds <= 1e9)
        .map(Duration::from_secs_f64)
        // Less than a nanosecond is none.
        .filter(|time| !time.is_zero())
        .ok_or_else(|| format!("{text:?} is no time; write for example 30s, 10m, 12h or 7d"))
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
        for wrong in ["", "0", "-1s", "soon", "10 parsecs", "1e9d", "400y", ".", "0.0000000001"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }
}
