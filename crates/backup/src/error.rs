use std::path::{Path, PathBuf};

use nuthatch_blob::BlobError;
use nuthatch_segment::SegmentError;

/// Errors of a place for backups.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The operating system refused; the bytes are not accused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder at hand.
        path: PathBuf,
        /// Its answer.
        source: std::io::Error,
    },
    /// Bytes that are kept are not what was stored.
    #[error("{} is damaged: {what}", path.display())]
    Corrupt {
        /// The damaged file.
        path: PathBuf,
        /// How it differs from what was stored.
        what: String,
    },
    /// The place itself holds none.
    #[error("{0}")]
    NotFound(String),
    /// The place has no backup of this id.
    #[error("no backup {id:?}; {known}")]
    NoBackup {
        /// The requested id.
        id: String,
        /// Which backups there are, as a phrase.
        known: String,
    },
    /// A folder, a format or a path that cannot be used; the text says why.
    #[error("{0}")]
    Invalid(String),
    /// Somebody else is writing there.
    #[error("{0}")]
    Held(String),
}

/// A value, or the error of this crate.
pub type Result<T> = std::result::Result<T, BackupError>;

impl BackupError {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.to_path_buf(), source }
    }

    pub(crate) fn corrupt(path: &Path, what: impl Into<String>) -> Self {
        Self::Corrupt { path: path.to_path_buf(), what: what.into() }
    }
}

impl From<SegmentError> for BackupError {
    fn from(error: SegmentError) -> Self {
        match error {
            SegmentError::Io { path, source } => Self::Io { path, source },
            SegmentError::Corrupt { path, what } => Self::Corrupt { path, what },
        }
    }
}

impl From<BlobError> for BackupError {
    fn from(error: BlobError) -> Self {
        match error {
            BlobError::Io { path, source } => Self::Io { path, source },
            BlobError::Corrupt { path, what } => Self::Corrupt { path, what },
            BlobError::Invalid(what) => Self::Invalid(what),
        }
    }
}
