use std::path::{Path, PathBuf};

/// An error of an index file.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    /// The operating system refused; the file itself is not accused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder at hand.
        path: PathBuf,
        /// Its answer.
        source: std::io::Error,
    },
    /// The bytes are not what was written. The index is derived: it can be rebuilt.
    #[error("{} is damaged: {what}; run `nuthatch doctor --repair` to quarantine and rebuild it", path.display())]
    Corrupt {
        /// The damaged file.
        path: PathBuf,
        /// How it differs from what was written.
        what: String,
    },
}

/// A value, or the error of this crate.
pub type Result<T> = std::result::Result<T, SegmentError>;

impl SegmentError {
    /// The operating system's refusal, with the file that it is about.
    pub fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.to_path_buf(), source }
    }

    /// Damage, with the file that has it.
    pub fn corrupt(path: &Path, what: impl Into<String>) -> Self {
        Self::Corrupt { path: path.to_path_buf(), what: what.into() }
    }

    /// The file that the error is about.
    pub fn path(&self) -> &Path {
        match self {
            Self::Io { path, .. } | Self::Corrupt { path, .. } => path,
        }
    }

    /// True when the bytes are wrong, as against an operating system that refused.
    pub fn is_corrupt(&self) -> bool {
        matches!(self, Self::Corrupt { .. })
    }
}

/// tantivy hands our errors through as `io::Error`; the original stays inside and can be taken out again by downcasting.
impl From<SegmentError> for std::io::Error {
    fn from(error: SegmentError) -> Self {
        match error {
            SegmentError::Io { path, source } => std::io::Error::new(source.kind(), SegmentError::Io { path, source }),
            corrupt => std::io::Error::new(std::io::ErrorKind::InvalidData, corrupt),
        }
    }
}
