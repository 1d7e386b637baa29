use std::path::{Path, PathBuf};

use nuthatch_segment::SegmentError;

/// Errors of a blob store.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
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
    /// The given name of an object is invalid: objects are named by a BLAKE3 hash in hexadecimal digits.
    #[error("{0}")]
    Invalid(String),
}

/// A value, or the error of this crate.
pub type Result<T> = std::result::Result<T, BlobError>;

impl BlobError {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.to_path_buf(), source }
    }

    pub(crate) fn corrupt(path: &Path, what: impl Into<String>) -> Self {
        Self::Corrupt { path: path.to_path_buf(), what: what.into() }
    }
}

impl From<SegmentError> for BlobError {
    fn from(error: SegmentError) -> Self {
        match error {
            SegmentError::Io { path, source } => Self::Io { path, source },
            SegmentError::Corrupt { path, what } => Self::Corrupt { path, what },
        }
    }
}
