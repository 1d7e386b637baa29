//! The handles that every face uses: many processes, one folder.
//!
//! **What it is.** [`Database`] and [`Collection`] as callers see them. The first process to open a folder holds its lock and
//! listens on a socket in it; the handles of the others send their calls there. When the holder ends, another process
//! takes the lock, opens the folder and serves; the rest connect to it and repeat the unanswered calls.
//! **Useful for** a notebook next to a service, workers of a pool, the command line next to a program.
//! **Not for** other machines: the socket is for processes of one user on one machine.
//!
//! **Invariant:** a call is answered once and a write is done once, however often the holder changes in between; no call of a
//! handle that holds the folder pays for this.
//!
//! [RFC 0012](../../../docs/rfcs/0012-many-processes.md) has the protocol and what was weighed.
//!
//! ```
//! use nuthatch_link::{CollectionOptions, Database, EmbedderChoice, Options, Record, Search};
//!
//! let db = Database::in_memory(Options::default())?;
//! let options = CollectionOptions { embedder: EmbedderChoice::None, ..Default::default() };
//! let notes = db.collection("notes", options)?;
//! notes.upsert(vec![Record::new("a1").text("how to reset a password").vector(vec![1.0, 0.0])])?;
//! let answer = notes.search(&Search::text("password"))?;
//! assert_eq!(answer.hits[0].id, "a1");
//! db.close()?;
//! # Ok::<(), nuthatch_link::Error>(())
//! ```

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::disallowed_methods, missing_docs))]

mod adding;
#[cfg(not(unix))]
mod alone;
mod answer;
mod cache;
mod cached;
#[cfg(unix)]
mod client;
mod collection;
#[cfg(unix)]
mod connection;
mod database;
mod facts;
mod find;
mod frame;
mod given;
mod graph;
#[cfg(unix)]
mod hello;
mod keyspace;
mod limits;
mod link;
mod long;
mod long_work;
mod meanwhile;
mod owned;
pub(crate) mod records;
mod remote;
mod request;
mod route;
pub(crate) mod rows;
#[cfg(unix)]
mod server;
mod side;
mod snapshot;
#[cfg(unix)]
mod socket;
mod tenants;
mod tether;
mod tethered;
mod transaction;
mod transfer;
mod tree;
mod whole_files;
mod work;

#[cfg(not(unix))]
use alone::{self as client, self as connection, self as server, self as socket};
pub use cache::Cache;
pub use collection::Collection;
pub use database::{Database, FolderHolder};
pub use facts::{Facts, Moments, Statements};
pub use graph::{Graph, Nodes};
pub use keyspace::{Keys, Keyspace};
pub use nuthatch_engine::call::Waits;
pub use nuthatch_engine::tree::{
    AskCode, CODE_DEPTH_MAX, CODE_LIMIT_MAX, ChangeKind, CodeAnswer, CodeClass, CodeCounts, CodeDefinition, CodeFiles,
    CodeImport, CodeKind, CodeLanguage, CodeQuestion, CodeReached, CodeSite, CodeTarget, CodeUse, ContentId, CountTree,
    DamagedFile, DiffTrees, EntryKind, FilePart, GREP_BYTES_MAX, GrepCut, GrepIndex, GrepOutput, GrepPage, GrepRead,
    GrepRequest, GrepTree, ListFiles, PUT_BYTES_MAX, PUT_PATHS_MAX, PassagesMade, PutFile, PutFiles, PutReport,
    PutWhat, READ_BYTES_MAX, ROOT_HEADER, Retention, SymbolsImported, Totals, TreeAt, TreeChange, TreeCheck, TreeEntry,
    TreeErased, TreeIndex, TreeInfo, TreePage, TreeRoot, TreeSnapshot, UPLOAD_BYTES_MAX, Unread, VerifyPage,
    check_path, check_tree, differences, lies_at,
};
pub use nuthatch_engine::wording;
pub use nuthatch_engine::{
    Accuracy, AddOptions, AddReport, Answer, BUILD_MEMORY_DEFAULT_BYTES, BackedUpCollection, BackedUpTenant,
    BackupCheck, BackupInfo, BackupOptions, BackupProgress, BackupReport, Backups, BackupsDeleted, BuildProgress,
    Clock, CollectionInfo, CollectionOptions, Damage, DamagedObject, Deleted, DiskStats, Doctor, Durability,
    ERASURE_GRACE_MAX, EXPORT_FORMAT_OLDEST_READABLE, EXPORT_FORMAT_VERSION, Edge, EdgeDirection, EdgeId, Element,
    EmbedderChoice, Entry, Erase, Error, ErrorKind, Explain, ExportOptions, ExportReport, FILE_ABSENT,
    FORMAT_OLDEST_READABLE, FORMAT_VERSION, FieldChange, FieldKind, FieldValues, FileInfo, Finding, Fusion,
    GraphCounts, GraphWrites, Hit, ID_BYTES_MAX, Include, KEY_BYTES_MAX, KeyPage, KeyScan, KvOp, Leg, Legs, ListNodes,
    LivingValue, MEMORY_BUDGET_DEFAULT_BYTES, MEMORY_BUDGET_MIN_BYTES, MemoryStats, Metric, Migration, MigrationStep,
    Mode, NamedVectors, Neighbor, NeighborPage, Neighbors, Node, NodeOrEdge, NodePage, NodesDeleted, Options,
    PROPERTIES_BYTES_MAX, Page, PassageOptions, Passing, PassingVector, Payload, Pending, PendingWrite, ProcessMemory,
    Progress, Receipt, Record, RecordChange, RemovedFile, RepairOutcome, Rerank, RestoreOptions, RestoreReport, Result,
    Scalar, Scan, Search, Skipped, SparseVector, Stats, StoreLayer, StoredRecord, Subject, TEXT_BYTES_MAX,
    TYPE_BYTES_MAX, TenantInfo, TenantLimits, TenantUsage, TextQuery, TokenVectors, TransferProgress, Traversal,
    Traverse, Upserted, VALUE_BYTES_MAX, Value, VectorFieldInfo, VectorFieldOptions, VectorValue, Visited, Visitor,
    WalkOptions, Wanted, What, WriteBatch, WrittenFile, citation, datetimes_of, embed, format_datetime, parse_datetime,
    payload_from_json, payload_to_json, payload_with_datetimes, text_snippet, walk,
};
pub use nuthatch_engine::{
    AnswersPage, AskCache, CacheAnswer, CacheAudit, CacheCandidate, CacheChange, CacheCost, CacheCounts, CacheEntries,
    CacheExplained, CacheHit, CacheLease, CacheLedger, CacheMode, CacheSettings, CacheStats, CacheTier, CacheVectors,
    EndLease, ImportAnswers, KeptAnswer, LeaseAnswer, ListAnswers, MissReason, Reembed, Reembedded, ShareWhen,
    SourceRef, StoreAnswer, StoredAnswer, Verdict, Veto, WrongShare,
};
pub use nuthatch_engine::{
    AskFacts, BUILT_IN, EndReason, Entity, EntityPage, ExtractBuiltIn, ExtractFailure, ExtractReport, Extracted,
    ExtractedObject, Extractor, Fact, FactPage, FactShown, FactSource, FactWhy, FactWrites, FactsErased, FactsReport,
    FactsStats, FindPaths, GroupBy, GroupNodes, Invalidated, Learn, Learned, ListEntities, NewFact, NodeGroup,
    NodeGroups, Object, PassageRef, PassageText, PathCost, PathFound, PathStep, PathsFound, Predicate, RankNodes,
    RankedNode, RankedNodes, Recorded, SourcePassage, SourceShown, Traced, TracedPassage, Work, WorkPage, WorkPassage,
};
pub use records::Records;
pub use snapshot::{Holder, KeepPolicy, KeptSnapshots, Listed, NotKept, Owner, Snapshot};
pub use transaction::{Transaction, TransactionCollection, TransactionFacts, TransactionGraph, TransactionKeyspace};
pub use transfer::{ImportOptions, ImportReport};
pub use tree::{Files, GrepReport, Tree};

/// Operations by their names, for faces that check who may ask them.
pub mod ops {
    pub use nuthatch_engine::ops::{Entry, Scope, find};
}

/// A collection of a [`Snapshot`].
pub type SnapshotCollection = Records<'static>;
/// A keyspace of a [`Snapshot`].
pub type SnapshotKeyspace = Keys<'static>;
/// Facts of a [`Snapshot`].
pub type SnapshotFacts = Statements<'static>;
/// A graph of a [`Snapshot`].
pub type SnapshotGraph = Nodes<'static>;
