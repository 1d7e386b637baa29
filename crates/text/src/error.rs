//! The errors of the text index, and the conversion from tantivy's errors.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nuthatch_segment::SegmentError;
use tantivy::TantivyError;
use tantivy::directory::error::{OpenDirectoryError, OpenReadError, OpenWriteError};

/// A value, or the error of this crate.
pub type Result<T> = std::result::Result<T, TextError>;

/// An error of the text index.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// The operating system refused; the file itself is not accused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder at hand.
        path: PathBuf,
        /// Its answer.
        source: Arc<std::io::Error>,
    },
    /// The index is damaged. It is derived: quarantine the folder, rebuild it from the store, and use
    /// [`scan`](crate::scan) until then.
    #[error("the text index file {} is damaged: {what}; rebuild the text index from the stored records", path.display())]
    Corrupt {
        /// The damaged file, or the index's folder.
        path: PathBuf,
        /// How it differs from what was written.
        what: String,
    },
    /// No stemmer goes by this name.
    #[error("unknown text language {asked:?}; choose one of {}", crate::analyzer::names())]
    UnknownLanguage {
        /// The name that was given.
        asked: String,
    },
    /// The folder was indexed with another analyzer, whose words do not match ours.
    #[error("the text index {} was built for {stored:?}, but {asked:?} was asked for; rebuild it or ask for {stored:?}", path.display())]
    OtherLanguage {
        /// The index's folder.
        path: PathBuf,
        /// The analyzer that the index was built for.
        stored: String,
        /// The analyzer that was asked for.
        asked: String,
    },
    /// The rows to be added could not be read; nothing of the commit was applied.
    #[error("reading the rows to index failed, nothing was committed: {0}")]
    Rows(Box<dyn std::error::Error + Send + Sync>),
    /// tantivy refused for a reason that is neither the disk's nor damage.
    #[error("the text index {}: {what}; reopen the index and try again", path.display())]
    Engine {
        /// The index's folder.
        path: PathBuf,
        /// tantivy's message.
        what: String,
    },
}

impl TextError {
    /// True when the index should be quarantined and rebuilt.
    pub fn is_corrupt(&self) -> bool {
        matches!(self, Self::Corrupt { .. })
    }

    pub(crate) fn corrupt(path: impl Into<PathBuf>, what: impl Into<String>) -> Self {
        Self::Corrupt { path: path.into(), what: what.into() }
    }

    /// `folder` names the culprit when tantivy does not.
    pub(crate) fn from_tantivy(folder: &Path, error: TantivyError) -> Self {
        match error {
            TantivyError::IoError(source)
            | TantivyError::OpenDirectoryError(OpenDirectoryError::IoError { io_error: source, .. }) => {
                Self::from_io(folder, source)
            }
            TantivyError::OpenReadError(OpenReadError::IoError { io_error, filepath })
            | TantivyError::OpenWriteError(OpenWriteError::IoError { io_error, filepath }) => {
                Self::from_io(&folder.join(filepath), io_error)
            }
            TantivyError::OpenReadError(OpenReadError::FileDoesNotExist(file)) => {
                Self::corrupt(folder.join(file), "it is missing")
            }
            TantivyError::OpenReadError(OpenReadError::IncompatibleIndex(why)) => {
                Self::corrupt(folder, format!("{why:?}"))
            }
            TantivyError::DataCorruption(what) => Self::corrupt(folder, format!("{what:?}")),
            other => Self::Engine { path: folder.to_path_buf(), what: other.to_string() },
        }
    }

    /// Takes our own error out again if it travelled through tantivy as an `io::Error`.
    pub(crate) fn from_io(path: &Path, source: Arc<std::io::Error>) -> Self {
        match source.get_ref().and_then(|inner| inner.downcast_ref::<SegmentError>()) {
            Some(SegmentError::Corrupt { path, what }) => Self::corrupt(path, what),
            Some(SegmentError::Io { path, source: inner }) => {
                Self::Io { path: path.clone(), source: Arc::new(std::io::Error::new(inner.kind(), inner.to_string())) }
            }
            // Checksums hold, yet tantivy cannot read the contents: written by something else.
            None if matches!(source.kind(), std::io::ErrorKind::InvalidData | std::io::ErrorKind::UnexpectedEof) => {
                Self::corrupt(path, source.to_string())
            }
            None => Self::Io { path: path.to_path_buf(), source },
        }
    }
}

impl From<SegmentError> for TextError {
    fn from(error: SegmentError) -> Self {
        match error {
            SegmentError::Io { path, source } => Self::Io { path, source: Arc::new(source) },
            SegmentError::Corrupt { path, what } => Self::Corrupt { path, what },
        }
    }
}

/// Runs what reads tantivy's files; a panic on contents that tantivy does not understand becomes damage, not a crash.
pub(crate) fn guarded<T>(folder: &Path, read: impl FnOnce() -> Result<T>) -> Result<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)).unwrap_or_else(|panic| {
        let what = panic
            .downcast_ref::<&str>()
            .map(|what| what.to_string())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "its contents are invalid".into());
        Err(TextError::corrupt(folder, what))
    })
}
