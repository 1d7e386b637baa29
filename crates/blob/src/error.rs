use std::path::{Path, PathBuf};

use nuthatch_segment::SegmentError;

/// What can go wrong with a store of blobs.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    /// Bytes that are kept are not what was stored.
    #[error("{} is damaged: {what}", path.display())]
    Corrupt { path: PathBuf, what: String },
    #[error("{0}")]
    Invalid(String),
}

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
