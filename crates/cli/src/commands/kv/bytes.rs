//! Keys and values in and out: bytes on a line, in JSON, from standard input.
//!
//! On a line, what would be ambiguous or steer the terminal is written as in many languages: `\n`, `\t`, `\r`, `\\`, `\xff`.

use std::ffi::OsStr;
use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use nuthatch_link::{Error, Result, VALUE_BYTES_MAX};
use serde_json::{Map, Value};

/// The bytes of an argument.
pub fn typed(argument: &OsStr, escaped: bool) -> Result<Vec<u8>> {
    match escaped {
        true => unescaped(argument.as_encoded_bytes()),
        false => Ok(argument.as_encoded_bytes().to_vec()),
    }
}

/// All of standard input; a byte more than any value has is enough to be refused.
pub fn standard_input() -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(VALUE_BYTES_MAX as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Error::internal(format!("standard input: {error}")))?;
    Ok(bytes)
}

/// On one line, so that `unescaped` gives the bytes back.
pub fn escaped(bytes: &[u8]) -> String {
    let mut line = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => line += "\\\\",
                '\n' => line += "\\n",
                '\t' => line += "\\t",
                '\r' => line += "\\r",
                // Control characters outside of ASCII too: each of their bytes.
                c if c.is_control() => c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| line += &hex(byte)),
                c => line.push(c),
            }
        }
        chunk.invalid().iter().for_each(|byte| line += &hex(*byte));
    }
    line
}

fn hex(byte: u8) -> String {
    format!("\\x{byte:02x}")
}

fn unescaped(line: &[u8]) -> Result<Vec<u8>> {
    let wrong = || {
        Error::invalid(format!(
            "{:?} has an invalid escape; follow a backslash with n, t, r, x and two digits, or a backslash",
            String::from_utf8_lossy(line)
        ))
    };
    let mut bytes = Vec::with_capacity(line.len());
    let mut rest = line.iter().copied();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next().ok_or_else(wrong)? {
            b'\\' => b'\\',
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'x' => {
                let mut digit = || (rest.next()? as char).to_digit(16);
                let (high, low) = (digit().ok_or_else(wrong)?, digit().ok_or_else(wrong)?);
                (high * 16 + low) as u8
            }
            _ => return Err(wrong()),
        });
    }
    Ok(bytes)
}

/// Sets `name` to the text, or `name_base64` when it is none.
pub fn set_json(object: &mut Map<String, Value>, name: &str, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(text) => object.insert(name.into(), text.into()),
        Err(_) => object.insert(format!("{name}_base64"), STANDARD.encode(bytes).into()),
    };
}

/// A key, with its value if there is one.
pub fn entry_json(key: &[u8], value: Option<&[u8]>) -> Map<String, Value> {
    let mut object = Map::new();
    set_json(&mut object, "key", key);
    if let Some(value) = value {
        set_json(&mut object, "value", value);
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_comes_back_and_none_steers_the_terminal() {
        let all: Vec<u8> = (0..=255).chain("ä\u{9b}→\\x41".bytes()).collect();
        let line = escaped(&all);
        assert!(!line.chars().any(char::is_control), "{line}");
        assert_eq!(unescaped(line.as_bytes()).unwrap(), all);
        assert_eq!(escaped("naïve → a\tb".as_bytes()), "naïve → a\\tb");
        for wrong in ["\\", "\\q", "\\x", "\\x1", "\\xgg"] {
            assert!(unescaped(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
