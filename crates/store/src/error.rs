use std::path::{Path, PathBuf};

/// The errors of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Bytes on disk are not what was written. Never silently skipped.
    #[error("{}: {what}; restore this folder from a backup, or salvage the rest with `nuthatch doctor --repair`", path.display())]
    Corrupt {
        /// The damaged file, or the folder that lacks one.
        path: PathBuf,
        /// How it differs from what was written.
        what: String,
    },
    /// The operating system, or RocksDB, refused; the bytes are not accused.
    #[error("{}: {what}", path.display())]
    Io {
        /// The file or folder at hand.
        path: PathBuf,
        /// The refusal, in the words of the one who refused.
        what: String,
    },
    /// The disk has no room for the write, and the write was not done.
    #[error(
        "the disk under {} is full: {what}; nothing was written, free some space and try again", path.display()
    )]
    Full {
        /// The file that RocksDB names, or the store's folder.
        path: PathBuf,
        /// RocksDB's message.
        what: String,
    },
    /// Another process has the files open: one that was killed, for the moment that its end takes.
    #[error("{}: another process has the store open: {what}; try again when it has ended", path.display())]
    Busy {
        /// The file that RocksDB names, or the store's folder.
        path: PathBuf,
        /// RocksDB's message.
        what: String,
    },
    /// An fsync failed: what the disk holds is unknown, so nothing more is accepted.
    #[error("the store has stopped writing after a failed sync ({0}); reopen it")]
    Stopped(String),
    /// Another holder has taken over. Later writes of this one are seen by nobody.
    #[error(
        "this store was fenced: another process took over with epoch {epoch}; write through that process, this one no \
        longer writes"
    )]
    Fenced {
        /// The epoch of the holder that took over.
        epoch: u64,
    },
    /// The data is not in memory, and the caller does not wait for the disk.
    #[error("the requested data is not in memory")]
    NotCached,
    /// Nobody waits any more for what is read.
    #[error("the read was stopped: its time was up, or it was cancelled")]
    Abandoned,
    /// Its owner has closed it.
    #[error("the store is closed")]
    Closed,
    /// Someone still reads what is to go.
    #[error("deleted bytes cannot be removed yet: {0}; close it, or try again later")]
    Held(String),
}

/// A value, or the error of this crate.
pub type Result<T> = std::result::Result<T, StoreError>;

impl StoreError {
    /// Returns a function that turns a failure on this file or folder into an error.
    pub(crate) fn io<E: std::fmt::Display>(path: &Path) -> impl FnOnce(E) -> Self + use<E> {
        let path = path.to_path_buf();
        move |error| Self::Io { path, what: error.to_string() }
    }

    pub(crate) fn old_snapshot() -> Self {
        let what = "an export or a backup of one tenant still reads an older state of the store";
        Self::Held(what.to_string())
    }

    /// RocksDB says everything in one string; its first word is the kind, and it names the file where it knows it.
    pub(crate) fn from_rocksdb(folder: &Path, error: rocksdb::Error) -> Self {
        let what = error.to_string();
        let path = what
            .split(|c: char| c.is_whitespace() || c == ',' || c == ';')
            .map(|word| word.trim_end_matches([':', '.']))
            .find(|word| Path::new(word).is_absolute() && Path::new(word).starts_with(folder))
            .map_or_else(|| folder.to_path_buf(), PathBuf::from);
        if what.contains("No space left") || what.contains("NoSpace") {
            return Self::Full { path, what };
        }
        if what.contains("While lock file") || what.contains("lock hold by current process") {
            return Self::Busy { path, what };
        }
        match error.kind() {
            rocksdb::ErrorKind::Corruption => Self::Corrupt { path, what },
            rocksdb::ErrorKind::Incomplete => Self::NotCached,
            _ => Self::Io { path, what },
        }
    }
}
