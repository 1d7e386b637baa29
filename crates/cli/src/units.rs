//! Sizes, counts and times, as people read and type them.

use std::time::Duration;

use nuthatch_server::config::parse_boolean;
pub use nuthatch_server::config::{parse_bytes, parse_duration};

/// A flag or a variable that switches something on; an empty variable is as good as none.
pub fn parse_switch(text: &str) -> Result<bool, String> {
    if text.is_empty() { Ok(false) } else { parse_boolean(text) }
}

/// Seconds above 0, up to thirty years: `2`, `0.5`.
pub fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds > 0.0 && *seconds <= 1e9);
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| format!("{text:?} is not a duration; write seconds above 0, for example 2 or 0.5"))
}

/// `512 B`, `3.4 KiB`, `12 MiB`.
pub fn bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut unit = "B";
    for larger in ["KiB", "MiB", "GiB", "TiB"] {
        if value < 1024.0 {
            break;
        }
        (value, unit) = (value / 1024.0, larger);
    }
    match unit {
        "B" => format!("{bytes} B"),
        _ if value < 10.0 => format!("{value:.1} {unit}"),
        _ => format!("{value:.0} {unit}"),
    }
}

/// `3.2 s`, `1:05`, `2:03:04`.
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{:.1} s", duration.as_secs_f64()),
        60..3600 => format!("{}:{:02}", seconds / 60, seconds % 60),
        _ => format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60),
    }
}

/// `1 file`, `2 files`, `12,345 files`.
pub fn count(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", thousands(number), if number == 1 { "" } else { "s" })
}

pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Things per second; 0 when no time passed.
pub fn rate(number: u64, elapsed: Duration) -> f64 {
    match elapsed.is_zero() {
        true => 0.0,
        false => number as f64 / elapsed.as_secs_f64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_above_zero() {
        assert_eq!(parse_seconds("0.5"), Ok(Duration::from_millis(500)));
        for wrong in ["", "0", "-1", "NaN", "inf", "1e300", "soon"] {
            assert!(parse_seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn figures_are_short() {
        assert_eq!([bytes(0), bytes(1023), bytes(1536), bytes(64 << 20)], ["0 B", "1023 B", "1.5 KiB", "64 MiB"]);
        assert_eq!(duration(Duration::from_millis(3210)), "3.2 s");
        assert_eq!(duration(Duration::from_secs(65)), "1:05");
        assert_eq!(duration(Duration::from_secs(7384)), "2:03:04");
        assert_eq!(
            [count(1, "file"), count(12345, "file"), count(100, "file")],
            ["1 file", "12,345 files", "100 files"]
        );
    }
}
