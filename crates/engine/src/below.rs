//! All files below a folder: finding and removing them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::{Error, Result};

/// A file as it was when the folder was looked through.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub bytes: u64,
    modified: Option<SystemTime>,
}

/// All files below a folder; none when it does not exist. Files that vanish during the walk are skipped.
pub(crate) fn files_below(folder: &Path) -> Result<BTreeMap<PathBuf, Seen>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = match std::fs::read_dir(&folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            entries => entries.map_err(|error| Error::io(&folder, &error))?,
        };
        for entry in entries.flatten() {
            match entry.metadata() {
                Ok(found) if found.is_dir() => folders.push(entry.path()),
                Ok(found) if found.is_file() => {
                    files.insert(entry.path(), Seen { bytes: found.len(), modified: found.modified().ok() });
                }
                _ => {}
            }
        }
    }
    Ok(files)
}

/// Removes a folder with everything in it, if it is there.
pub(crate) fn remove_below(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io(folder, &error)),
        _ => Ok(()),
    }
}
