//! The doors by which files come into a folder: when one of these returns, bytes and name survive a power loss.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use crate::{Result, SegmentError};

/// Replaces a file by these parts in turn: writes them to a new file, syncs it, renames it, and syncs the folder.
#[allow(clippy::disallowed_methods, reason = "this is the door")]
pub fn replace_durably(path: &Path, parts: &[&[u8]]) -> Result<()> {
    let beside = path.with_extension("writing");
    let write = || -> std::io::Result<()> {
        let mut file = File::create(&beside)?;
        parts.iter().try_for_each(|part| file.write_all(part))?;
        file.sync_all()
    };
    write().map_err(|source| SegmentError::io(path, source))?;
    rename_durably(&beside, path)
}

/// Copies a file to where there is none, or one that may go.
#[allow(clippy::disallowed_methods, reason = "this is the door")]
pub fn copy_durably(from: &Path, to: &Path) -> Result<()> {
    std::fs::copy(from, to).map_err(|source| SegmentError::io(from, source))?;
    // By a handle that can write: without, not every system syncs.
    let copied = File::options().write(true).open(to).and_then(|file| file.sync_all());
    copied.map_err(|source| SegmentError::io(to, source))?;
    sync_folder(to.parent().unwrap_or(to))
}

/// Gives a file or a folder that its writer has synced its name, in place of what has that name. The name is durable
/// when this returns.
#[allow(clippy::disallowed_methods, reason = "this is the door")]
pub fn rename_durably(from: &Path, to: &Path) -> Result<()> {
    std::fs::rename(from, to).map_err(|source| SegmentError::io(to, source))?;
    let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty());
    sync_folder(parent.unwrap_or(Path::new(".")))
}

/// Makes the names in `folder` durable. (Windows has no such call; its file system journals names.)
pub fn sync_folder(folder: &Path) -> Result<()> {
    #[cfg(unix)]
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|source| SegmentError::io(folder, source))?;
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}
