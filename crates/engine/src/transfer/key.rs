//! A key with its value, and a file that was added, as lines of JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::files::FileEntry;
use crate::{Error, Result};

/// Bytes that are UTF-8 stand as they are; others as base64 under the longer name.
#[derive(Default, Serialize, Deserialize)]
pub struct KeyLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key_base64: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value_base64: Option<String>,
    /// Milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<u64>,
}

impl KeyLine {
    /// The line of a key and its value.
    pub fn of(key: Vec<u8>, value: Vec<u8>, expires_at_ms: Option<u64>) -> Self {
        let (key, key_base64) = spelled(key);
        let (value, value_base64) = spelled(value);
        Self { key, key_base64, value, value_base64, expires_at_ms }
    }

    /// Key and value.
    pub fn into_parts(self) -> Result<(Vec<u8>, Vec<u8>)> {
        Ok((bytes("key", self.key, self.key_base64)?, bytes("value", self.value, self.value_base64)?))
    }
}

fn spelled(bytes: Vec<u8>) -> (Option<String>, Option<String>) {
    match String::from_utf8(bytes) {
        Ok(text) => (Some(text), None),
        Err(error) => (None, Some(STANDARD.encode(error.as_bytes()))),
    }
}

fn bytes(name: &str, text: Option<String>, base64: Option<String>) -> Result<Vec<u8>> {
    match (text, base64) {
        (Some(text), None) => Ok(text.into_bytes()),
        (None, Some(coded)) => {
            STANDARD.decode(coded).map_err(|error| Error::invalid(format!("{name}_base64 is not base64: {error}")))
        }
        _ => Err(Error::invalid(format!("give either {name} or {name}_base64"))),
    }
}

/// A file that was added: what is known of it, so that adding it again costs a stat.
#[derive(Serialize, Deserialize)]
pub struct FileLine {
    /// Of the file that was added.
    pub path: String,
    bytes: u64,
    mtime_ns: i64,
    /// BLAKE3 of the content, hexadecimal.
    hash: String,
    made_by: String,
    kind: String,
    /// The first halves of the BLAKE3 of its passages.
    passages: Vec<String>,
}

impl FileLine {
    /// The line of a file.
    pub fn of(path: String, entry: FileEntry) -> Self {
        Self {
            path,
            bytes: entry.bytes,
            mtime_ns: entry.mtime_ns,
            hash: hex(&entry.hash),
            made_by: entry.made_by,
            kind: entry.kind,
            passages: entry.passages.iter().map(|hash| hex(hash)).collect(),
        }
    }

    /// Its path, and what is stored for it.
    pub fn into_parts(self) -> Result<(String, FileEntry)> {
        let wrong = |what: &str| Error::invalid(format!("file {:?}: its {what} is not a hexadecimal hash", self.path));
        let passages = self.passages.iter().map(|digits| unhex(digits).ok_or_else(|| wrong("passage")));
        let entry = FileEntry {
            bytes: self.bytes,
            mtime_ns: self.mtime_ns,
            hash: unhex(&self.hash).ok_or_else(|| wrong("hash"))?,
            passages: passages.collect::<Result<_>>()?,
            made_by: self.made_by,
            kind: self.kind,
        };
        Ok((self.path, entry))
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn unhex<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if digits.len() != 2 * N || !digits.is_ascii() {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_of_any_bytes_come_back() {
        for (key, value) in [(&b"plain"[..], &b"text"[..]), (b"\xff\x00", b""), (b"k", b"\x80binary")] {
            let line = serde_json::to_string(&KeyLine::of(key.into(), value.into(), Some(5))).unwrap();
            let back: KeyLine = serde_json::from_str(&line).unwrap();
            assert_eq!(back.expires_at_ms, Some(5));
            assert_eq!(back.into_parts().unwrap(), (key.to_vec(), value.to_vec()));
        }
    }
}
