use std::path::{Path, PathBuf};

use nuthatch_segment::SegmentError;
use nuthatch_store::StoreError;

/// Errors of a cluster's bucket or log, or of a group's copy in a folder.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The bucket or the log did not answer, or refused. The request may still have been carried out.
    #[error("{place} does not answer for {object}: {what}; check the address, the credentials and the network")]
    Unreachable {
        /// The address of the bucket or of the log, without credentials.
        place: String,
        /// The object or row at hand.
        object: String,
        /// The answer, or why there is none.
        what: String,
    },
    /// Bytes in the bucket or in the log are not those that were written.
    #[error("{place}/{object} is damaged: {what}; {remedy}")]
    Corrupt {
        /// The address of the bucket or of the log.
        place: String,
        /// The damaged object or row.
        object: String,
        /// How it differs from what was written.
        what: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// The log was trimmed there, behind a checkpoint.
    #[error("slot {slot} of the log is behind a checkpoint; begin again from the newest one")]
    Trimmed {
        /// The slot that was asked for.
        slot: u64,
    },
    /// Something that the caller has to change.
    #[error("{0}")]
    Invalid(String),
    /// The bucket has no cluster, or no checkpoint.
    #[error("{0}")]
    NotFound(String),
    /// The local copy.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file of the local copy.
    #[error("{}: {what}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's message.
        what: String,
    },
}

/// A value, or the error of this crate.
pub type Result<T> = std::result::Result<T, ClusterError>;

impl ClusterError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |error| Self::Io { path, what: error.to_string() }
    }
}

impl From<SegmentError> for ClusterError {
    fn from(error: SegmentError) -> Self {
        match error {
            SegmentError::Io { path, source } => Self::Io { path, what: source.to_string() },
            SegmentError::Corrupt { path, what } => Self::Io { path, what },
        }
    }
}
