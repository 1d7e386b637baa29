//! The manifest of a backup: which files it has, and which objects each of them consists of.

use serde::{Deserialize, Serialize};

use crate::BACKUP_FORMAT_VERSION;
use crate::clock;

/// One backup.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// Layout of this manifest.
    pub version: u32,
    /// `<number>-<time>`, so that names sort as the backups were made, whatever the clock says.
    pub id: String,
    /// One more than the greatest number that the place had; the first has 1.
    pub number: u64,
    /// UTC, RFC 3339.
    pub created: String,
    /// A description of what was backed up, in its owner's words.
    pub about: serde_json::Value,
    /// Bytes of all files.
    pub bytes: u64,
    /// Of these, bytes that no earlier backup had.
    pub new_bytes: u64,
    /// Every file of the backup, in the order in which they were taken in.
    pub files: Vec<FileEntry>,
}

/// One file of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Relative, with slashes.
    pub path: String,
    /// The file's length; its objects together have as many.
    pub bytes: u64,
    /// When the source was changed last: with path and size it says that a file is the same as in the backup before.
    pub mtime_ns: i64,
    /// Names of its objects, in order.
    pub objects: Vec<String>,
}

impl Manifest {
    pub(crate) fn new(number: u64, about: serde_json::Value, new_bytes: u64, files: Vec<FileEntry>) -> Self {
        let now = clock::now();
        Self {
            version: BACKUP_FORMAT_VERSION,
            id: format!("{number:06}-{}", now.strftime("%Y%m%dT%H%M%SZ")),
            number,
            created: clock::stamp(now),
            about,
            bytes: files.iter().map(|file| file.bytes).sum(),
            new_bytes,
            files,
        }
    }

    /// The file at `path`.
    pub fn file(&self, path: &str) -> Option<&FileEntry> {
        self.files.iter().find(|file| file.path == path)
    }
}

impl FileEntry {
    /// Its objects, and the bytes that each must have.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = (&str, u64)> {
        let last = self.objects.len().saturating_sub(1);
        self.objects.iter().enumerate().map(move |(at, name)| {
            let whole = crate::CHUNK_BYTES as u64;
            (name.as_str(), if at == last { self.bytes.saturating_sub(whole * last as u64) } else { whole })
        })
    }
}
