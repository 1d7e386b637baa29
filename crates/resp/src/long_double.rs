//! Sums of decimal numbers as Redis has them: `long double` of x86-64, which has 64 bits of precision, and 17 digits after the point.
//!
//! **Useful for** INCRBYFLOAT and HINCRBYFLOAT, on any processor. **Not for** vectors and scores: those are floats.
//!
//! **Invariant:** what is read, added and written is what Redis on x86-64 reads, adds and writes, digit by digit: each step is exact
//! and then rounded once, to the nearest and to the even one of two.

use num_bigint::{BigInt, BigUint, Sign};

/// Longest text that Redis reads as a number.
const TEXT_BYTES_MAX: usize = 5 * 1024 - 1;
/// Digits after the point.
const DIGITS: usize = 17;
/// Bits of a significand, and the exponents of its last bit that there are.
const PRECISION: i64 = 64;
const EXPONENT_MIN: i64 = -16_445;
/// No number is as large as this power of two.
const TOO_LARGE_LOG2: i64 = 16_384;

/// A number, or an infinity.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LongDouble {
    /// The significand times that power of two.
    Finite {
        is_negative: bool,
        significand: u64,
        exponent: i64,
    },
    Infinity,
}

impl LongDouble {
    /// Parses a whole text as C does: decimal or hexadecimal digits, or an infinity. Returns `None` for anything else,
    /// and for numbers too large or too small for the format.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok().filter(|text| text.len() <= TEXT_BYTES_MAX)?;
        let (is_negative, unsigned) = match text.as_bytes() {
            [b'-', ..] => (true, &text[1..]),
            [b'+', ..] => (false, &text[1..]),
            _ => (false, text),
        };
        match unsigned.as_bytes() {
            [b'0', b'x' | b'X', ..] => hexadecimal(is_negative, &unsigned[2..]),
            [b'0'..=b'9' | b'.', ..] => decimal(is_negative, unsigned),
            _ if ["inf", "infinity"].iter().any(|name| unsigned.eq_ignore_ascii_case(name)) => Some(Self::Infinity),
            _ => None,
        }
    }

    pub fn is_infinite(self) -> bool {
        matches!(self, Self::Infinity)
    }

    /// The sum, unless that is an infinity or no number.
    pub fn plus(self, other: Self) -> Option<Self> {
        let (Self::Finite { exponent: one, .. }, Self::Finite { exponent: two, .. }) = (self, other) else {
            return None;
        };
        let exponent = one.min(two);
        let (sign, magnitude) = (self.in_units_of(exponent) + other.in_units_of(exponent)).into_parts();
        rounded(sign == Sign::Minus, magnitude, exponent, false)
    }

    /// With 17 digits after the point, less the zeros at the end: `%.17Lf`, trimmed.
    pub fn digits(self) -> String {
        let Self::Finite { is_negative, significand, exponent } = self else { return "inf".into() };
        let scaled = significand * BigUint::from(10_u8).pow(DIGITS as u32);
        let units = match u64::try_from(-exponent) {
            Ok(bits) => without_last_bits(scaled, bits, false),
            Err(_) => scaled << exponent,
        };
        let padded = format!("{:0>width$}", units.to_string(), width = DIGITS + 1);
        let (whole, fraction) = padded.split_at(padded.len() - DIGITS);
        let fraction = fraction.trim_end_matches('0');
        let point = if fraction.is_empty() { "" } else { "." };
        let digits = format!("{whole}{point}{fraction}");
        let sign = if is_negative && digits != "0" { "-" } else { "" };
        format!("{sign}{digits}")
    }

    fn is_zero(&self) -> bool {
        matches!(self, Self::Finite { significand: 0, .. })
    }

    /// As a multiple of a power of two that is not above its own; an infinity as 0.
    fn in_units_of(self, unit: i64) -> BigInt {
        let Self::Finite { is_negative, significand, exponent } = self else { return BigInt::ZERO };
        let sign = if is_negative { Sign::Minus } else { Sign::Plus };
        BigInt::from_biguint(sign, BigUint::from(significand) << (exponent - unit))
    }
}

/// Digits with a point and an exponent of ten, as far as they are there.
fn decimal(is_negative: bool, text: &str) -> Option<LongDouble> {
    // The same grammar.
    text.parse::<f64>().ok()?;
    let (written, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (digits, behind_point) = significant(written);
    let number: BigUint = digits.parse().ok()?;
    let exponent = whole(exponent)?.saturating_sub(behind_point);
    // Far beyond what there is, and few enough digits to go on with.
    let size = exponent.saturating_add(digits.trim_start_matches('0').len() as i64);
    if number == BigUint::ZERO || !(-5_000..=5_000).contains(&size) {
        return (number == BigUint::ZERO).then_some(LongDouble::Finite { is_negative, significand: 0, exponent: 0 });
    }
    let ten = |power: i64| BigUint::from(10_u8).pow(power as u32);
    if exponent >= 0 {
        return rounded(is_negative, number * ten(exponent), 0, false);
    }
    // As many bits of the quotient as are kept, and some by which they are rounded.
    let divisor = ten(-exponent);
    let more = (PRECISION + 2 + divisor.bits() as i64 - number.bits() as i64).max(0);
    let number = number << more;
    let quotient = &number / &divisor;
    let has_rest = &quotient * &divisor != number;
    rounded(is_negative, quotient, -more, has_rest).filter(|number| !number.is_zero())
}

/// Digits behind `0x`, with a point and an exponent of two, as far as they are there.
fn hexadecimal(is_negative: bool, text: &str) -> Option<LongDouble> {
    let (written, exponent) = text.split_once(['p', 'P']).unwrap_or((text, "0"));
    let (digits, behind_point) = significant(written);
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let number = BigUint::parse_bytes(digits.as_bytes(), 16)?;
    let exponent = whole(exponent)?.saturating_sub(4 * behind_point);
    if number == BigUint::ZERO {
        return Some(LongDouble::Finite { is_negative, significand: 0, exponent: 0 });
    }
    rounded(is_negative, number, exponent, false).filter(|number| !number.is_zero())
}

/// Digits without their point, and how many were behind it.
fn significant(written: &str) -> (String, i64) {
    let (before, behind) = written.split_once('.').unwrap_or((written, ""));
    (format!("{before}{behind}"), behind.len() as i64)
}

/// An exponent; one that no 64 bits hold is as good as the largest.
fn whole(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let number = digits.parse().unwrap_or(i64::MAX / 4).min(i64::MAX / 4);
    Some(if text.starts_with('-') { -number } else { number })
}

/// A number of any precision in the form; `None` when it is too large. `has_more`: it is a little more than is given.
fn rounded(is_negative: bool, magnitude: BigUint, exponent: i64, has_more: bool) -> Option<LongDouble> {
    let bits = magnitude.bits() as i64;
    let size = bits.saturating_add(exponent);
    if !(EXPONENT_MIN..=TOO_LARGE_LOG2).contains(&size) {
        // Less than half of the smallest number there is.
        return (size < EXPONENT_MIN).then_some(LongDouble::Finite { is_negative, significand: 0, exponent: 0 });
    }
    let dropped = (bits - PRECISION).max(EXPONENT_MIN - exponent).max(0);
    let mut kept = without_last_bits(magnitude, dropped as u64, has_more);
    let mut exponent = exponent + dropped;
    if kept.bits() as i64 > PRECISION {
        kept >>= 1_u8;
        exponent += 1;
    }
    let significand = u64::try_from(&kept).expect("the bits beyond were dropped");
    let is_too_large = kept.bits() as i64 + exponent > TOO_LARGE_LOG2;
    (!is_too_large).then_some(LongDouble::Finite { is_negative, significand, exponent })
}

/// The number over that power of two, rounded.
fn without_last_bits(number: BigUint, bits: u64, has_more: bool) -> BigUint {
    if bits == 0 {
        return number;
    }
    let kept = &number >> bits;
    let rest = number - (&kept << bits);
    let half = BigUint::from(1_u8) << (bits - 1);
    let is_up = rest > half || (rest == half && (has_more || kept.bit(0)));
    if is_up { kept + 1_u8 } else { kept }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sum(one: &str, other: &str) -> Option<String> {
        let read = |text: &str| LongDouble::parse(text.as_bytes()).unwrap_or_else(|| panic!("{text:?}"));
        read(one).plus(read(other)).map(LongDouble::digits)
    }

    /// Each asked of a Redis server 7.0 on x86-64.
    #[test]
    fn sums_are_those_of_redis() {
        for (one, other, redis) in REDIS {
            assert_eq!(sum(one, other).as_deref(), *redis, "{one} + {other}");
        }
    }

    #[test]
    fn what_redis_reads_as_a_number_is_read_and_nothing_else() {
        for number in READ {
            assert!(LongDouble::parse(number.as_bytes()).is_some(), "{number:?}");
        }
        for other in REFUSED {
            assert!(LongDouble::parse(other.as_bytes()).is_none(), "{other:?}");
        }
        assert!(LongDouble::parse(&[b'1'; TEXT_BYTES_MAX + 1]).is_none());
        assert!(LongDouble::parse(b"\xff").is_none());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[-+0-9a-fA-Fxpn.Ii]{0,12}") {
            if let Some(sum) = LongDouble::parse(text.as_bytes()).and_then(|number| number.plus(number)) {
                prop_assert!(LongDouble::parse(sum.digits().as_bytes()).is_some());
            }
        }

        #[test]
        fn whole_numbers_are_added_exactly(one in -(1_i64 << 62)..1 << 62, other in -(1_i64 << 62)..1 << 62) {
            prop_assert_eq!(sum(&one.to_string(), &other.to_string()), Some((one + other).to_string()));
        }
    }

    /// Two numbers, and what Redis makes of them; none where it refuses the sum.
    const REDIS: &[(&str, &str, Option<&str>)] = &[
        ("9007199254740993", "0", Some("9007199254740993")),
        ("0.1", "0.2", Some("0.3")),
        ("3.0e3", "200", Some("3200")),
        ("10.50", "0.1", Some("10.6")),
        ("5.0e3", "2.0e2", Some("5200")),
        ("1", "-1", Some("0")),
        ("-0.5", "0.5", Some("0")),
        ("0", "-0", Some("0")),
        ("-1e-18", "0", Some("0")),
        ("1e-17", "0", Some("0.00000000000000001")),
        ("4.5e-18", "0", Some("0")),
        ("5e-18", "0", Some("0")),
        ("5.1e-18", "0", Some("0.00000000000000001")),
        ("18446744073709551615", "1", Some("18446744073709551616")),
        ("18446744073709551616", "1", Some("18446744073709551616")),
        ("18446744073709551617", "0", Some("18446744073709551616")),
        ("1e30", "1", Some("1000000000000000000024696061952")),
        ("123456789012345678901234567890", "0.5", Some("123456789012345678899921813504")),
        ("-1e4932", "-1e4932", None),
        ("3.14159265358979323846264338327950288", "0", Some("3.14159265358979324")),
        ("0.12345678901234567890", "0", Some("0.12345678901234568")),
        ("2.675", "0", Some("2.675")),
        ("1e-4940", "0", Some("0")),
        ("0x10", "0x1.8p1", Some("19")),
        ("-0X.8", "0", Some("-0.5")),
        ("inf", "1", None),
        ("-Infinity", "inf", None),
        ("+1.", "+.5", Some("1.5")),
        ("1e22", "1e-22", Some("10000000000000000000000")),
        ("99999999999999.999999", "0.000001", Some("100000000000000")),
        ("0.00000000000000001", "0.00000000000000002", Some("0.00000000000000003")),
        ("-7.25", "3", Some("-4.25")),
        ("100", "1e-5", Some("100.00001")),
        ("1e17", "0.1", Some("100000000000000000.1015625")),
        ("79228162514264337593543950335", "0.1", Some("79228162514264337593543950336")),
        ("-0.003523", "3.018689460797075e-11", Some("-0.00352299996981311")),
        ("0.00064", "1655.7601180671022", Some("1655.76075806710219995")),
        ("-0.000057", "-1.6365569725848107e-06", Some("-0.00005863655697258")),
        ("-8185740", "6.537042493440761e-10", Some("-8185739.99999999934607331")),
        ("89489940141497.5000000000", "1.659938089208146e-12", Some("89489940141497.5")),
        ("154206", "9.525102111858401e-12", Some("154206.00000000000952127")),
        ("0.0011", "-16172.19128570695", Some("-16172.19018570694999948")),
        ("-764.41552384", "6.322527182400628e-08", Some("-764.41552377677472813")),
        ("-793888575112.8172607422", "-6.24257946425713e-10", Some("-793888575112.8172607421875")),
        ("0.000009549", "-8.807976600675347e-07", Some("0.00000866820233993")),
        ("-717100977.301643", "55.4457549961614", Some("-717100921.85588800383266062")),
        ("17112372.70153", "-4.0046600627263525e-08", Some("17112372.70152995995340461")),
        ("4.0", "1488.4742051734202", Some("1492.47420517342019997")),
        ("-97.67280889489", "-1023316.1914441347", Some("-1023413.86425302959003147")),
    ];
    const READ: &[&str] = &[
        "1",
        "-1",
        "+1",
        "1.",
        ".5",
        "-.5",
        "1e5",
        "1E+5",
        "1e-5",
        "0x10",
        "0X1P-2",
        "0x.8",
        "inf",
        "INF",
        "+inf",
        "-infinity",
        "Infinity",
        "1e4932",
        "1e-4950",
        "0e99999999999",
    ];
    const REFUSED: &[&str] = &[
        "1e-4951",
        "1e4933",
        "",
        "-",
        "+",
        ".",
        "e5",
        "1e",
        "1e+",
        "nan",
        "NAN",
        "-nan",
        " 1",
        "1 ",
        "1,5",
        "1_000",
        "--1",
        "0x",
        "0xg",
        "0x1p",
        "0x.p1",
        "infinit",
        "1x",
        "1\n",
        "1e99999999999",
        "1e-99999999999",
        "0x1p99999",
        "1.5.5",
        "١",
    ];
}
