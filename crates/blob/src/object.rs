//! Objects: pieces of files, named by their content.

use crate::{BlobError, BlobStore, Result};

/// Bytes of an object at most: a file is cut into pieces of this size.
///
/// Small enough that one fits into memory and is one request to object storage; large enough that a terabyte is a quarter of a
/// million of them.
pub const CHUNK_BYTES: usize = 4 << 20;

/// The name of an object: 64 hexadecimal digits.
pub fn name(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// Where an object lies. Names that no object can have are damage of whatever gave them.
pub fn key(name: &str) -> Option<String> {
    let is_hash = name.len() == 64 && name.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    is_hash.then(|| format!("objects/{}/{name}", &name[..2]))
}

/// An object's bytes, which are what its name says.
///
/// # Errors
/// `Corrupt` when the object is missing or its bytes are others, `Invalid` when no object can have this name.
pub fn read(store: &dyn BlobStore, name: &str) -> Result<Vec<u8>> {
    let key = key(name).ok_or_else(|| BlobError::Invalid(format!("{name:?} is not the name of an object")))?;
    let place = store.place(&key);
    let bytes = store.get(&key)?.ok_or_else(|| BlobError::corrupt(&place, "it is missing"))?;
    match self::name(&bytes) == name {
        true => Ok(bytes),
        false => Err(BlobError::corrupt(&place, "its bytes do not match the hash in its name")),
    }
}
