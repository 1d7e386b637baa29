//! Small files that are replaced whole: manifests and their like.
//!
//! Layout: `nuthatch-sealed 1 <CRC-32C of the body, 8 hex digits>\n<body>`. Text bodies stay readable with `cat`.

use std::path::Path;

use crate::durable::replace_durably;
use crate::{Result, SegmentError};

const HEAD: &str = "nuthatch-sealed 1 ";
pub(crate) const HEAD_BYTES: usize = HEAD.len() + 9;

/// Replaces `path` atomically and durably: written under another name, synced, renamed, folder synced.
pub fn write_sealed(path: &Path, body: &[u8]) -> Result<()> {
    replace_durably(path, &[&head(crc32c::crc32c(body)), body])
}

/// Reads and verifies a sealed file; `None` when there is none.
#[allow(clippy::disallowed_methods, reason = "this is the door")]
pub fn read_sealed(path: &Path) -> Result<Option<Vec<u8>>> {
    match std::fs::read(path) {
        Ok(bytes) => unseal(path, &bytes).map(Some),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(SegmentError::io(path, source)),
    }
}

/// The bytes of a sealed file, for those who write it by themselves.
pub fn seal(body: &[u8]) -> Vec<u8> {
    let mut bytes = head(crc32c::crc32c(body));
    bytes.extend_from_slice(body);
    bytes
}

/// The body of the bytes of a sealed file; `path` is for the error.
pub fn unseal(path: &Path, bytes: &[u8]) -> Result<Vec<u8>> {
    let body = bytes.get(HEAD_BYTES..).unwrap_or_default();
    match bytes.get(..HEAD_BYTES) == Some(&head(crc32c::crc32c(body))) {
        true => Ok(body.to_vec()),
        false => Err(SegmentError::corrupt(path, "its checksum is wrong")),
    }
}

/// Whether a file that begins so means to be a sealed one.
pub(crate) fn is_head(bytes: &[u8]) -> bool {
    bytes.starts_with(HEAD.as_bytes())
}

/// Returns the head of a body with this CRC-32C.
pub(crate) fn head(body: u32) -> Vec<u8> {
    format!("{HEAD}{body:08x}\n").into_bytes()
}

/// Like [`read_sealed`], for checks that do not want the body.
pub fn verify_sealed(path: &Path) -> Result<()> {
    read_sealed(path).map(drop)
}
