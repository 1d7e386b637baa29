//! Everything in an open format, out and in again: JSON lines and a small manifest.
//!
//! **Useful for** moving to another program or another version, and for reading with whatever reads JSON. The Python package makes
//! Parquet of the same files, and takes it back.
//! **Not for** backups (`backup` is faster, incremental, and keeps the indexes).
//!
//! **Invariant:** importing an export gives equal records, files, keys, nodes, edges, facts and options; row ids and change sequences are new. An export
//! is one moment. A folder without its manifest is no export.

mod export;
pub mod facts;
mod folder;
pub(crate) mod graph;
pub mod key;
mod make;
pub mod manifest;
pub mod record;
pub mod tree;

pub use export::Outlet;
pub use export::{ExportOptions, ExportReport};
pub use folder::ExportFolder;
pub use manifest::{CollectionEntry, Manifest};

use std::path::{Component, Path, PathBuf};
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use crate::backup::is_cancelled;
use crate::{Error, ErrorKind, Result};

/// Newest version of the layout of exports: from 2 on records may have named vectors, from 3 on there may be graphs, from 4 on
/// sparse and token vectors, from 5 on trees and facts. Each is written only where there are any.
pub const EXPORT_FORMAT_VERSION: u32 = 5;
const EXPORT_FORMAT_OF_FIELDS: u32 = 2;
const EXPORT_FORMAT_OF_GRAPHS: u32 = 3;
const EXPORT_FORMAT_OF_FIELD_KINDS: u32 = 4;
const EXPORT_FORMAT_OF_TREES: u32 = 5;
const EXPORT_FORMAT_OF_FACTS: u32 = 5;
/// Oldest version that is read.
pub const EXPORT_FORMAT_OLDEST_READABLE: u32 = 1;

/// Where an export or an import stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferProgress {
    /// The collection, keyspace or graph at hand.
    pub name: String,
    /// Records, files, keys, nodes and edges so far, and how many there are.
    pub done: u64,
    /// See `done`.
    pub total: u64,
}

/// Told after each batch.
pub type OnProgress<'a> = Option<&'a mut (dyn FnMut(&TransferProgress) + Send)>;

/// Ends a transfer that its caller cancelled.
pub fn refuse_when_cancelled(cancel: Option<&AtomicBool>) -> Result<()> {
    match is_cancelled(cancel) {
        true => Err(Error::new(ErrorKind::Unavailable, "cancelled")),
        false => Ok(()),
    }
}

/// A line that is not what an export writes.
pub fn bad_line(path: &Path, number: u64, what: impl std::fmt::Display) -> Error {
    Error::invalid(format!("{}, line {number}: {what}", path.display()))
}

/// A place in the export; one that leads out of it is refused.
pub fn inside(folder: &Path, path: &str) -> Result<PathBuf> {
    let relative = Path::new(path);
    match !path.is_empty() && relative.components().all(|part| matches!(part, Component::Normal(_))) {
        true => Ok(folder.join(relative)),
        false => Err(Error::invalid(format!("the export names {path:?}, which is outside of its folder"))),
    }
}
