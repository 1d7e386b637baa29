//! The engine: one data folder, its collections, and everything that may be asked of them.
//!
//! **Useful for** embedding Nuthatch in a Rust program; the CLI and the Python module are thin faces over this crate.
//! **Not for** wire protocols, formats of files (`extract`), or how vectors and texts are indexed (`vector`, `text`).
//!
//! **Invariant:** the store is written first and is always right; indexes are derived, may be deleted at any time, and only
//! make answers faster. An answer says when it had to do without one.
//!
//! ```
//! use nuthatch_engine::{CollectionOptions, Database, EmbedderChoice, Options, Record, Search};
//!
//! let db = Database::in_memory(Options::default())?;
//! let options = CollectionOptions { embedder: EmbedderChoice::None, ..Default::default() };
//! let notes = db.collection("notes", options)?;
//! notes.upsert(vec![Record::new("a1").text("how to reset a password").vector(vec![1.0, 0.0])])?;
//! let answer = notes.search(&Search::text("password"))?;
//! assert_eq!(answer.hits[0].id, "a1");
//! db.close()?;
//! # Ok::<(), nuthatch_engine::Error>(())
//! ```

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::disallowed_methods))]

mod backup;
mod call;
mod clock;
mod codec;
mod collection;
mod database;
mod durability;
mod error;
mod files;
mod folder;
mod graph;
mod identity;
mod index;
mod kv;
mod lock;
mod ops;
mod options;
mod process;
mod record;
mod snapshot;
mod subject;
mod tenant;
mod transaction;
mod transfer;

pub use backup::{
    BackedUpCollection, BackedUpTenant, BackupCheck, BackupInfo, BackupOptions, BackupProgress, BackupReport, Backups,
    BackupsDeleted, DamagedObject, RestoreOptions, RestoreReport,
};
pub use clock::Clock;
pub use collection::{
    Answer, BuildProgress, CollectionInfo, CollectionOptions, Deleted, EmbedderChoice, Explain, Fusion, Hit, Include,
    Leg, Legs, Mode, NamedVectors, Page, Passing, PassingVector, Scan, Search, Upserted, VectorFieldInfo,
    VectorFieldOptions, Visitor, Wanted, Written,
};
pub use database::{
    DiskStats, Doctor, Erase, Finding, MemoryStats, Migration, MigrationStep, ProcessMemory, Receipt, RemovedFile,
    RepairOutcome, Stats, WrittenFile,
};
pub use durability::Durability;
pub use error::{Error, ErrorKind, Result};
pub use files::{AddOptions, AddReport, FILE_ABSENT, FileInfo, Progress, Skipped, citation};
pub use folder::{FORMAT_OLDEST_READABLE, FORMAT_VERSION};
pub use graph::{
    Edge, EdgeDirection, EdgeId, GraphCounts, GraphWrites, ListNodes, Neighbor, NeighborPage, Neighbors, Node,
    NodeOrEdge, NodePage, NodesDeleted, PROPERTIES_BYTES_MAX, TYPE_BYTES_MAX, Traversal, Traverse, Visited,
};
#[doc(hidden)]
pub use index::MoreIndexes;
pub use kv::{Entry, KEY_BYTES_MAX, KeyPage, KeyScan, KvOp, LivingValue, VALUE_BYTES_MAX};
pub use nuthatch_embed as embed;
pub use nuthatch_extract::{PassageOptions, WalkOptions, walk};
pub use nuthatch_filter::{
    Payload, Value, datetimes_of, format_datetime, parse_datetime, payload_from_json, payload_to_json,
    payload_with_datetimes,
};
pub use nuthatch_store::Damage;
pub use nuthatch_text::snippet as text_snippet;
pub use nuthatch_vector::{Accuracy, Element, Metric};
pub use options::{
    BUILD_MEMORY_DEFAULT_BYTES, ERASURE_GRACE_MAX, MEMORY_BUDGET_DEFAULT_BYTES, MEMORY_BUDGET_MIN_BYTES, Options,
};
pub use process::{
    Collection, Database, FolderHolder, Graph, Keys, Keyspace, Nodes, Records, Snapshot, SnapshotCollection,
    SnapshotGraph, SnapshotKeyspace,
};
pub use record::{ID_BYTES_MAX, Record, StoredRecord, TEXT_BYTES_MAX};
pub use subject::{Subject, What};
pub use tenant::{TenantInfo, TenantLimits, TenantUsage};
pub use transaction::{Transaction, TransactionCollection, TransactionGraph, TransactionKeyspace, WriteBatch};
pub use transfer::{
    EXPORT_FORMAT_OLDEST_READABLE, EXPORT_FORMAT_VERSION, ExportOptions, ExportReport, ImportOptions, ImportReport,
    TransferProgress,
};
