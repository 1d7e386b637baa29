//! The one error that callers see. Its kind says what to do next; Python exceptions and exit codes come from this table.

use std::fmt;
use std::path::{Path, PathBuf};

use nuthatch_backup::BackupError;
use nuthatch_embed::EmbedError;
use nuthatch_extract::ExtractError;
use nuthatch_filter::FilterError;
use nuthatch_segment::SegmentError;
use nuthatch_sparse::SparseError;
use nuthatch_store::StoreError;
use nuthatch_text::TextError;
use nuthatch_vector::VectorError;
use serde::{Deserialize, Serialize};

use crate::subject::{Subject, What};

/// Names that an error lists, those that begin most alike.
const NAMES_MAX: usize = 10;

/// The kind of an error, by what the caller can do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ErrorKind {
    /// Someone else changed the same thing, or holds it: try again.
    Conflict,
    /// Something that is needed is not there now: try again later, or set it up.
    Unavailable,
    /// The call is wrong: fix it. Nothing was changed.
    Invalid,
    /// No such thing.
    NotFound,
    /// This file is damaged: restore or repair it.
    Corrupt {
        /// The damaged file or folder.
        #[serde(with = "crate::codec::path")]
        path: PathBuf,
    },
    /// The database is closed, or has stopped.
    Closed,
    /// Out of a resource: disk, or a limit.
    Exhausted,
    /// A defect of ours, or an operating system that refused.
    Internal,
}

impl ErrorKind {
    /// Lower-case name, the same on every face.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Conflict => "conflict",
            Self::Unavailable => "unavailable",
            Self::Invalid => "invalid",
            Self::NotFound => "not_found",
            Self::Corrupt { .. } => "corrupt",
            Self::Closed => "closed",
            Self::Exhausted => "exhausted",
            Self::Internal => "internal",
        }
    }
}

/// An error: what the caller can do, the thing that it is about, and a sentence that names the thing and the remedy.
///
/// A program decides by the kind and the subject. The sentence is for people, and its words may change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Error {
    /// The kind, which tells the caller what to do about it.
    pub kind: ErrorKind,
    /// `None` when the error is about the call as a whole, or about a thing without a name.
    pub subject: Option<Subject>,
    /// The thing, what is wrong with it, and what to do next.
    pub message: String,
}

/// A value, or the error of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// About the call as a whole; `about` names a thing.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, subject: None, message: message.into() }
    }

    /// The same error, about this thing.
    pub fn about(self, what: What, name: impl Into<String>) -> Self {
        Self { subject: Some(Subject { what, name: name.into() }), ..self }
    }

    /// True when a thing of this sort does not exist, or was dropped.
    pub fn is_missing(&self, what: What) -> bool {
        self.kind == ErrorKind::NotFound && self.subject.as_ref().is_some_and(|subject| subject.what == what)
    }

    /// The call is wrong.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// The thing that was named is not there.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// There is no such thing among the named ones of its kind.
    pub fn not_among(what: What, name: &str, names: &[String]) -> Self {
        let known = match names {
            [] => "this folder has none yet".to_string(),
            few if few.len() <= NAMES_MAX => format!("there are: {}", few.join(", ")),
            many => {
                let same =
                    |other: &str| name.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
                let mut near: Vec<&String> = many.iter().collect();
                near.sort_by_key(|other| std::cmp::Reverse(same(other)));
                let near: Vec<&str> = near.into_iter().take(NAMES_MAX).map(String::as_str).collect();
                format!("there are {}, including: {}", many.len(), near.join(", "))
            }
        };
        Self::not_found(format!("no {what} {name:?}; {known}")).about(what, name)
    }

    /// A handle is used after its thing was dropped.
    pub fn dropped(what: What, name: &str) -> Self {
        Self::not_found(format!("{what} {name:?} was dropped")).about(what, name)
    }

    /// The error for a folder that is not a Nuthatch data folder.
    pub(crate) fn no_data_folder(root: &Path, remedy: &str) -> Self {
        Self::not_found(format!("{} is not a Nuthatch data folder{remedy}", root.display())).about_path(root)
    }

    pub(crate) fn about_path(self, path: &Path) -> Self {
        self.about(What::Path, path.display().to_string())
    }

    /// A mistake of this program.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// Damage, with the file or folder that has it.
    pub fn corrupt(path: &Path, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt { path: path.to_path_buf() }, message).about_path(path)
    }

    /// The owner of the database has closed it.
    pub fn closed() -> Self {
        Self::new(ErrorKind::Closed, "the database is closed; open it again")
    }

    /// An error of the operating system about `path`.
    pub fn io(path: &Path, error: &std::io::Error) -> Self {
        let kind = match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => ErrorKind::Exhausted,
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            std::io::ErrorKind::PermissionDenied => ErrorKind::Unavailable,
            // Somebody's file lies where a folder has to be, or the other way round.
            std::io::ErrorKind::NotADirectory
            | std::io::ErrorKind::IsADirectory
            | std::io::ErrorKind::InvalidFilename => ErrorKind::Invalid,
            _ => ErrorKind::Internal,
        };
        Self::new(kind, format!("{}: {error}", path.display())).about_path(path)
    }

    /// True when derived files are damaged: the search can go on exactly, from the store.
    pub(crate) fn is_corrupt(&self) -> bool {
        matches!(self.kind, ErrorKind::Corrupt { .. })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let kind = match &error {
            StoreError::Corrupt { path, .. } => return Self::corrupt(path, error.to_string()),
            StoreError::Full { .. } => ErrorKind::Exhausted,
            StoreError::Busy { .. } => ErrorKind::Conflict,
            StoreError::Stopped(_) => ErrorKind::Closed,
            StoreError::Closed => return Self::closed(),
            StoreError::Io { .. } => ErrorKind::Internal,
            StoreError::NotCached | StoreError::Abandoned | StoreError::Fenced { .. } => ErrorKind::Unavailable,
            StoreError::Held(_) => ErrorKind::Conflict,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<SegmentError> for Error {
    fn from(error: SegmentError) -> Self {
        match &error {
            SegmentError::Corrupt { path, .. } => Self::corrupt(path, error.to_string()),
            SegmentError::Io { path, source } => Self::io(path, source),
        }
    }
}

impl From<BackupError> for Error {
    fn from(error: BackupError) -> Self {
        match &error {
            BackupError::Io { path, source } => Self::io(path, source),
            BackupError::Corrupt { path, .. } => Self::corrupt(path, error.to_string()),
            BackupError::NotFound(_) => Self::not_found(error.to_string()),
            BackupError::NoBackup { id, .. } => Self::not_found(error.to_string()).about(What::Backup, id),
            BackupError::Invalid(_) => Self::invalid(error.to_string()),
            BackupError::Held(_) => Self::new(ErrorKind::Conflict, error.to_string()),
        }
    }
}

impl From<FilterError> for Error {
    fn from(error: FilterError) -> Self {
        match &error {
            // A stored value that does not decode names no file, as with all other values of the store. Damaged columns do:
            // `columns_error` says which, before it comes to this.
            FilterError::Decode { .. } | FilterError::CorruptColumns { .. } | FilterError::Io(_) => {
                Self::internal(error.to_string())
            }
            _ => Self::invalid(error.to_string()),
        }
    }
}

impl From<VectorError> for Error {
    fn from(error: VectorError) -> Self {
        match error {
            VectorError::Segment(error) => error.into(),
            VectorError::Stopped => Self::new(ErrorKind::Unavailable, error.to_string()),
            other => Self::invalid(other.to_string()),
        }
    }
}

impl From<SparseError> for Error {
    fn from(error: SparseError) -> Self {
        match error {
            SparseError::File(error) => error.into(),
            SparseError::Stopped => VectorError::Stopped.into(),
            SparseError::Io(error) => Self::new(ErrorKind::Internal, error.to_string()),
            SparseError::Stored => Self::internal(error.to_string()),
            SparseError::Lengths { .. }
            | SparseError::TooMany(_)
            | SparseError::Twice(_)
            | SparseError::Weight { .. } => Self::invalid(error.to_string()),
        }
    }
}

impl From<TextError> for Error {
    fn from(error: TextError) -> Self {
        let error = match error {
            // The rows come from here: what reading them met is told as it was, so that a closed store is known for one.
            TextError::Rows(why) => match why.downcast::<Self>() {
                Ok(why) => return *why,
                Err(why) => TextError::Rows(why),
            },
            error => error,
        };
        match &error {
            TextError::Corrupt { path, .. } => Self::corrupt(path, error.to_string()),
            TextError::Io { path, source } => Self::io(path, source),
            TextError::UnknownLanguage { .. } | TextError::OtherLanguage { .. } => Self::invalid(error.to_string()),
            TextError::Rows(_) | TextError::Engine { .. } => Self::internal(error.to_string()),
        }
    }
}

impl From<EmbedError> for Error {
    fn from(error: EmbedError) -> Self {
        Self::new(ErrorKind::Unavailable, error.to_string())
    }
}

impl From<ExtractError> for Error {
    fn from(error: ExtractError) -> Self {
        match &error {
            ExtractError::Io { path, source } => Self::io(path, source),
            _ => Self::invalid(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_names_an_error_lists_a_few_that_are_near() {
        let names = |number: usize| (0..number).map(|at| format!("tenant-{at:05}")).collect::<Vec<_>>();
        let said = |number| Error::not_among(What::Tenant, "tenant-0712x", &names(number)).message;
        assert_eq!(said(0), "no tenant \"tenant-0712x\"; this folder has none yet");
        assert!(said(10).ends_with("tenant-00009") && said(10).contains("there are: tenant-00000, "));
        let many = said(10_000);
        assert!(many.contains("there are 10000, including: tenant-07120, tenant-07121, "), "{many}");
        assert!(many.len() < 300, "{many}");
    }

    #[test]
    fn a_damaged_file_is_named_and_a_value_without_one_names_none() {
        let path = Path::new("/data/segments/1/columns");
        let damaged = Error::from(SegmentError::Corrupt { path: path.into(), what: "a checksum".into() });
        assert_eq!(damaged.kind, ErrorKind::Corrupt { path: path.into() });
        assert_eq!(damaged.subject, Some(Subject { what: What::Path, name: path.display().to_string() }));
        let stored = Error::from(nuthatch_filter::decode(&[255]).unwrap_err());
        assert_eq!((stored.kind, stored.subject), (ErrorKind::Internal, None));
    }
}
