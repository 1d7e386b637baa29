//! The hash of a JSON value, whatever the order of its names: the same that the Python package makes, so that a proxy finds what a
//! wrapped client has stored.

use std::fmt::Write;

use serde_json::{Number, Value};
use sha2::{Digest, Sha256};

/// The SHA-256 of a value in hexadecimal digits.
pub fn digest(value: &Value) -> String {
    let mut spelt = String::new();
    spell(value, &mut spelt);
    Sha256::digest(spelt.as_bytes()).iter().fold(String::with_capacity(64), |mut hex, byte| {
        // Writing to a string does not fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// As Python's `json.dumps(value, sort_keys=True, separators=(",", ":"))`.
fn spell(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(is) => out.push_str(if *is { "true" } else { "false" }),
        Value::Number(number) => spell_number(number, out),
        Value::String(text) => spell_text(text, out),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                spell(item, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_by_key(|(name, _)| *name);
            out.push('{');
            for (at, (name, field)) in sorted.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                spell_text(name, out);
                out.push(':');
                spell(field, out);
            }
            out.push('}');
        }
    }
}

fn spell_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}

/// Integers as they are; others as Python's `repr`: the shortest digits, with an exponent below 1e-4 and from 1e16 on.
fn spell_number(number: &Number, out: &mut String) {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else {
        let _ = write!(out, "{number}");
        return;
    };
    let scientific = format!("{float:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) || float == 0.0 {
        let plain = format!("{float}");
        let dot = if plain.contains('.') { "" } else { ".0" };
        let _ = write!(out, "{plain}{dot}");
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "{digits}e{sign}{:02}", exponent.abs());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_spelt_as_python_spells_them() {
        let spelt = |json: &str| {
            let mut out = String::new();
            spell(&serde_json::from_str(json).unwrap(), &mut out);
            out
        };
        for (json, python) in [
            (r#"{"b": [1, null], "a": "ä😀\u0001\u007f"}"#, r#"{"a":"\u00e4\ud83d\ude00\u0001\u007f","b":[1,null]}"#),
            ("[0.1, 1.0, 1e-5, 1e16, 123456789012345.5, -0.0, 0.0001, 1.5e300]", ""),
            ("[18446744073709551615, -3]", "[18446744073709551615,-3]"),
            (r#""a\"\\/\n\t""#, r#""a\"\\/\n\t""#),
        ] {
            let wanted = match python {
                "" => "[0.1,1.0,1e-05,1e+16,123456789012345.5,-0.0,0.0001,1.5e+300]",
                python => python,
            };
            assert_eq!(spelt(json), wanted);
        }
    }
}
