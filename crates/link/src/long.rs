//! Requests that take long and concern everything: backups and exports, which report progress before their answer.
//! A caller that hangs up ends a backup or an export.
//!
//! The holder writes a backup, because it is made of links in the data folder. An export goes over the connection, and
//! the process that asked writes the files: paths, permissions and file systems are its own.

use std::path::{Path, PathBuf};

use nuthatch_engine::backup::BackupProgress;
use nuthatch_engine::codec::{Bytes, json};
use nuthatch_engine::transfer::{ExportReport, Manifest, TransferProgress};
use nuthatch_engine::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Long {
    /// Answered with a [`BackupReport`](nuthatch_engine::backup::BackupReport).
    Backup { place: SeenFolder, indexes: bool, rate_bytes_per_second: Option<u64> },
    /// Answered with [`Exported`].
    Export { collection: Option<String> },
}

/// The report of an export, and the manifest that completes it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Exported {
    pub report: ExportReport,
    #[serde(with = "json")]
    pub manifest: Manifest,
}

/// The progress of a long request, before its answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Told {
    Backup(BackupProgress),
    Transfer(TransferProgress),
    /// An export begins, perhaps another time: what came before is void.
    Begins,
    /// From here on lines belong to this file of the export.
    File(String),
    Lines(Bytes),
    /// The file is whole.
    FileEnds,
}

/// The receiver of the progress, which may go away.
pub(crate) trait Listener {
    fn tell(&mut self, told: Told) -> Result<()>;

    /// An error when the caller no longer waits for the answer.
    fn check_there(&self) -> Result<()>;
}

/// A folder, and which one that is: another process may see another one under the same path.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SeenFolder {
    #[serde(with = "nuthatch_engine::codec::path")]
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl SeenFolder {
    /// The folder, made when it is missing.
    pub fn make(path: &Path) -> Result<Self> {
        let path = std::path::absolute(path).map_err(|error| Error::io(path, &error))?;
        std::fs::create_dir_all(&path).map_err(|error| Error::io(&path, &error))?;
        let (device, inode) = identity(&path).map_err(|error| Error::io(&path, &error))?;
        Ok(Self { path, device, inode })
    }

    /// The folder, if it is the same one here.
    pub fn found(&self) -> Result<&Path> {
        match identity(&self.path) {
            Ok(found) if found == (self.device, self.inode) => Ok(&self.path),
            _ => Err(Error::new(
                ErrorKind::Unavailable,
                format!(
                    "pid {} holds the data folder and writes its backups, but {} is not the same folder there as in \
                    this process (is it in another container?); run the backup there, or choose a folder that both \
                    processes see under one path",
                    std::process::id(),
                    self.path.display()
                ),
            )),
        }
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> std::io::Result<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> std::io::Result<(u64, u64)> {
    std::fs::metadata(path).map(|_| (0, 0))
}
