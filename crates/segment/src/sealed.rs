//! Small files that are replaced whole: manifests and their like.
//!
//! Layout: `nuthatch-sealed 1 <CRC-32C of the body, 8 hex digits>\n<body>`. Text bodies stay readable with `cat`.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use crate::{Result, SegmentError};

const HEAD: &str = "nuthatch-sealed 1 ";
const HEAD_BYTES: usize = HEAD.len() + 9;

/// Replaces `path` atomically and durably: written beside, synced, renamed, folder synced.
pub fn write_sealed(path: &Path, body: &[u8]) -> Result<()> {
    let beside = path.with_extension("writing");
    let write = || -> std::io::Result<()> {
        let mut file = File::create(&beside)?;
        writeln!(file, "{HEAD}{:08x}", crc32c::crc32c(body))?;
        file.write_all(body)?;
        file.sync_all()?;
        std::fs::rename(&beside, path)
    };
    write().map_err(|source| SegmentError::io(path, source))?;
    sync_folder(path.parent().unwrap_or(Path::new(".")))
}

/// Reads and verifies a sealed file; `None` when there is none.
pub fn read_sealed(path: &Path) -> Result<Option<Vec<u8>>> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(SegmentError::io(path, source)),
    };
    let body = bytes.get(HEAD_BYTES..).unwrap_or_default();
    let head = format!("{HEAD}{:08x}\n", crc32c::crc32c(body));
    if bytes.get(..HEAD_BYTES) != Some(head.as_bytes()) {
        return Err(SegmentError::corrupt(path, "its checksum is wrong"));
    }
    Ok(Some(body.to_vec()))
}

/// Like [`read_sealed`], for checks that do not want the body.
pub fn verify_sealed(path: &Path) -> Result<()> {
    read_sealed(path).map(drop)
}

/// Makes the names in `folder` durable. (Windows has no such call; its file system journals names.)
pub fn sync_folder(folder: &Path) -> Result<()> {
    #[cfg(unix)]
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|source| SegmentError::io(folder, source))?;
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}
