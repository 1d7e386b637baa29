//! The stored entry of an added file.

use nuthatch_filter::FieldChange;
use serde::{Deserialize, Serialize};

use crate::{Error, ErrorKind, Result, What};

const FILE_VERSION: u8 = 1;
/// The fields of a passage's payload that are made of its file.
pub(crate) const OWN_FIELDS: [&str; 16] = [
    "path",
    "name",
    "kind",
    "lang",
    "mime",
    "bytes",
    "mtime",
    "passage",
    "start_line",
    "end_line",
    "start_byte",
    "end_byte",
    "title",
    "heading",
    "page",
    "place",
];

/// The stored entry of an added file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Size of the file.
    pub bytes: u64,
    /// When the file was changed last, in nanoseconds since 1970 in UTC.
    pub mtime_ns: i64,
    /// BLAKE3 of the content.
    pub hash: [u8; 32],
    /// The splitter and embedder that processed it: files are read again when this changes.
    pub made_by: String,
    /// The format that it was read as: `markdown`, `text`, `html`, `pdf`, `code`, `document`, `slides`, `sheet`, `book`, `notebook` or `mail`.
    pub kind: String,
    /// BLAKE3 of each passage with its context, in order: unchanged ones keep their vectors.
    pub passages: Vec<[u8; 16]>,
}

/// A file in a collection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileInfo {
    /// Absolute; of a document without a file, the name that its caller gave.
    pub path: String,
    /// Size of the file.
    pub bytes: u64,
    /// When the file was changed last, in nanoseconds since 1970 in UTC.
    pub mtime_ns: i64,
    /// The format that it was read as: `markdown`, `text`, `html`, `pdf`, `code`, `document`, `slides`, `sheet`, `book`, `notebook` or `mail`.
    pub kind: String,
    /// Passages that the collection has of it.
    pub passages: usize,
    /// Changes each time the file is added; a batch may depend on it.
    pub revision: String,
}

/// The revision of a file that there is not.
pub const FILE_ABSENT: &str = "absent";
const REVISION_DIGITS: usize = 32;

impl FileEntry {
    /// As the table of files keeps it.
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_extend(self, vec![FILE_VERSION]).expect("numbers and strings always encode")
    }

    /// Of what [`encode`](Self::encode) wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        match bytes.split_first() {
            Some((&FILE_VERSION, rest)) => postcard::from_bytes(rest)
                .map_err(|error| Error::internal(format!("a file entry cannot be decoded: {error}"))),
            _ => Err(Error::internal("a file entry has a version that this program cannot read; use a newer Nuthatch")),
        }
    }

    /// Of what is stored of a file, if it is.
    pub fn revision(stored: Option<&Self>) -> String {
        stored.map_or_else(
            || FILE_ABSENT.to_string(),
            |entry| blake3::hash(&entry.encode()).to_hex()[..REVISION_DIGITS].to_string(),
        )
    }

    /// Makes the next `add` take the file for a changed one, because some of its passages were lost.
    pub fn read_again(&mut self) {
        (self.mtime_ns, self.hash) = (i64::MIN, [0; 32]);
    }

    /// Ids of its passages, in order.
    pub fn ids(&self, path: &str) -> impl Iterator<Item = String> + use<> {
        let path = path.to_string();
        (0..self.passages.len()).map(move |number| passage_id(&path, number))
    }
}

/// Refuses a change of what adding files says itself.
pub(crate) fn check_fields(change: &FieldChange) -> Result<()> {
    if change.is_empty() {
        return Ok(());
    }
    change.check()?;
    match change.paths().find(|path| OWN_FIELDS.contains(path)) {
        Some(own) => Err(Error::invalid(format!("adding files sets the field {own:?} itself; choose another name"))),
        None => Ok(()),
    }
}

pub fn passage_id(path: &str, number: usize) -> String {
    format!("{path}#{number}")
}

/// The file is not as it was when the batch was made.
pub fn changed_meanwhile(path: &str) -> Error {
    Error::new(ErrorKind::Conflict, format!("{path} was added or removed after this batch read it; repeat the batch"))
        .about(What::File, path)
}
