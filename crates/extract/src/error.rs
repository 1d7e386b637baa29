//! Why a file, or an entry of a walk, gave no text.

use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum ExtractError {
    #[error("{} is binary ({why}); skipped, since it holds no text to index", path.display())]
    Binary { path: PathBuf, why: String },

    #[error("{} cannot be read yet ({what}); export it as PDF, HTML or text and add that", path.display())]
    Unsupported { path: PathBuf, what: String },

    #[error("{} is not UTF-8 at byte {offset}; convert it, for example with: iconv -f LATIN1 -t UTF-8", path.display())]
    NotUtf8 { path: PathBuf, offset: u64 },

    #[error("{} is broken: {what}", path.display())]
    Broken { path: PathBuf, what: String },

    #[error("{} has {bytes} bytes, over the limit of {limit}; raise the limit or split the file", path.display())]
    TooLarge { path: PathBuf, bytes: u64, limit: u64 },

    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },

    #[error("{}: {what}", path.display())]
    Walk { path: PathBuf, what: String },
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
