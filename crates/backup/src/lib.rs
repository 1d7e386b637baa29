//! A place for backups: many backups of many files, each content kept once.
//!
//! **Useful for** keeping what a set of files was at several moments, verifying it, getting it back, and forgetting the oldest.
//! **Not for** deciding which files belong together, or whether their bytes are sound before they come (the engine does both), and
//! not for compression or encryption.
//!
//! **Invariant:** a backup is listed only once every byte of it is durable; an object's name is the BLAKE3 of its bytes, so damage
//! shows when it is read, and is never handed out; an object goes only when no backup names it.
//!
//! The layout is drawn in `docs/internals/backup-folder.md`.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::disallowed_methods, missing_docs))]

mod clock;
mod collect;
mod error;
mod manifest;
mod repository;
mod restore;
mod verify;
mod writer;

pub use nuthatch_blob::CHUNK_BYTES;

pub use collect::Collected;
pub use error::{BackupError, Result};
pub use manifest::{FileEntry, Manifest};
pub use repository::{Guard, Repository};
pub use restore::Restored;
pub use verify::{DamagedObject, Verified};
pub use writer::{Stored, Writer};

/// Version of the layout that is written.
pub const BACKUP_FORMAT_VERSION: u32 = 1;
/// The oldest layout that is read.
pub const BACKUP_FORMAT_OLDEST_READABLE: u32 = 1;
