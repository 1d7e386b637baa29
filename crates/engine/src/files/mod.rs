//! Files: folders of documents kept as passages in a collection.
//!
//! **Useful for** `add` (incremental: unchanged files cost a stat), `files`, `remove_files`.
//! **Not for** keeping the files' bytes (objects will) and not for deciding how a format is read (`extract` does).
//!
//! **Invariant:** a file's passages and its entry change in one batch, so an interrupted `add` leaves every file either as it
//! was or as it is now, and running it again finishes the rest.

mod add;
mod citation;
pub mod staged;

pub use crate::file_entry::{FILE_ABSENT, FileEntry, FileInfo};
pub use add::{Add, Embedding, PassageSink, Shelved};
pub use add::{AddOptions, AddReport, Progress, Skipped};
pub(crate) use add::{COMMIT_PASSAGES, passage_hash, records_of};
pub use citation::citation;
