//! Why a file, or an entry of a walk, gave no text.

use std::path::{Path, PathBuf};

/// Why a file gave no passages.
#[derive(Debug, thiserror::Error)]
pub enum ExtractError {
    /// The file holds bytes that are no text, and no format that can be read.
    #[error("{} is binary ({why}); skipped, since it holds no text to index", path.display())]
    Binary {
        /// The file.
        path: PathBuf,
        /// Its media type, or the bytes that no text has.
        why: String,
    },

    /// A document format that nobody here reads, such as a word processor's.
    #[error("{} cannot be read yet ({what}); export it as PDF, HTML or text and add that", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// The format.
        what: String,
    },

    /// A text in another encoding.
    #[error("{} is not UTF-8 at byte {offset}; convert it, for example with: iconv -f LATIN1 -t UTF-8", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// Where the first byte stands that is no UTF-8, from 0.
        offset: u64,
    },

    /// The file is of a known format, and not as that format must be.
    #[error("{} is broken: {what}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// The problem with the file.
        what: String,
    },

    /// The file is larger than the caller wants to read.
    #[error("{} has {bytes} bytes, over the limit of {limit}; raise the limit or split the file", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The limit, in bytes: [`WalkOptions::max_file_bytes`](crate::WalkOptions).
        limit: u64,
    },

    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Its answer.
        source: std::io::Error,
    },

    /// An entry of a walk that cannot be followed: a loop of links, a malformed ignore file.
    #[error("{}: {what}", path.display())]
    Walk {
        /// The entry.
        path: PathBuf,
        /// The problem with the entry.
        what: String,
    },
}

impl ExtractError {
    /// The file or folder that it is about.
    pub fn path(&self) -> &Path {
        match self {
            Self::Binary { path, .. }
            | Self::Unsupported { path, .. }
            | Self::NotUtf8 { path, .. }
            | Self::Broken { path, .. }
            | Self::TooLarge { path, .. }
            | Self::Io { path, .. }
            | Self::Walk { path, .. } => path,
        }
    }
}
