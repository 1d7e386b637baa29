//! The engine: one data folder in one process, its collections, and everything that may be asked of them.
//!
//! **Useful for** the crate `link`, whose handles every face uses: they share a folder between processes.
//! **Not for** sockets between processes (`link`), wire protocols, formats of files (`extract`), or how vectors and texts are indexed (`vector`, `text`).
//!
//! **Invariant:** the store is written first and is always right; indexes are derived, may be deleted at any time, and only
//! make answers faster. An answer says when it had to do without one.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::disallowed_methods, missing_docs))]

pub mod backup;
mod below;
pub mod cache;
pub mod call;
mod catalog;
mod clock;
pub mod codec;
pub mod collection;
pub mod database;
mod descriptor;
pub mod durability;
pub mod embedder;
mod error;
pub mod facts;
mod file_entry;
pub mod files;
pub mod folder;
pub mod graph;
mod identity;
mod index;
pub mod kv;
pub mod lock;
mod name;
pub mod network;
pub mod ops;
pub mod options;
pub mod record;
mod runtime;
mod scan;
pub mod snapshot;
mod state;
mod subject;
pub mod tenant;
pub mod transaction;
pub mod transfer;
pub mod tree;
mod vector_value;
pub mod wording;

pub use backup::{
    BackedUpCollection, BackedUpTenant, BackupCheck, BackupInfo, BackupOptions, BackupProgress, BackupReport, Backups,
    BackupsDeleted, DamagedObject, RestoreOptions, RestoreReport,
};
pub use cache::{
    AnswersPage, AskCache, CacheAnswer, CacheAudit, CacheCandidate, CacheChange, CacheCost, CacheCounts, CacheEntries,
    CacheExplained, CacheHit, CacheLease, CacheLedger, CacheMode, CacheSettings, CacheStats, CacheTier, CacheVectors,
    EndLease, ImportAnswers, KeptAnswer, LeaseAnswer, ListAnswers, MissReason, Reembed, Reembedded, ShareWhen,
    SourceRef, StoreAnswer, StoredAnswer, Verdict, Veto, WrongShare,
};
pub use clock::Clock;
pub use collection::{
    Answer, BuildProgress, CollectionInfo, CollectionOptions, Deleted, Explain, FieldValues, Fusion, Hit, Include, Leg,
    Legs, Mode, Page, Passing, PassingVector, Pending, PendingWrite, RecordChange, Refine, Rerank, Scan, Search,
    Upserted, VectorFieldInfo, VectorFieldOptions, Visitor, Wanted,
};
pub use database::{
    DiskStats, Doctor, Erase, Finding, MemoryStats, Migration, MigrationStep, ProcessMemory, Receipt, RemovedFile,
    RepairOutcome, Stats, WrittenFile,
};
pub use descriptor::field::FieldKind;
pub use durability::Durability;
pub use embedder::EmbedderChoice;
pub use error::{Error, ErrorKind, Result};
pub use facts::{
    AskFacts, BUILT_IN, EndReason, Entity, EntityPage, ExtractBuiltIn, ExtractFailure, ExtractReport, Extracted,
    ExtractedObject, Extractor, Fact, FactPage, FactShown, FactSource, FactWhy, FactWrites, FactsErased, FactsPart,
    FactsReport, FactsStats, Invalidated, Learn, Learned, ListEntities, NewFact, Object, PassageRef, PassageText,
    Predicate, Recorded, SourcePassage, SourceShown, Traced, TracedPassage, Work, WorkPage, WorkPassage,
};
pub use file_entry::{FILE_ABSENT, FileInfo};
pub use files::{AddOptions, AddReport, Progress, Skipped, citation};
pub use folder::{FORMAT_OLDEST_READABLE, FORMAT_VERSION};
pub use graph::{
    Edge, EdgeDirection, EdgeId, GraphCounts, GraphWrites, ListNodes, Neighbor, NeighborPage, Neighbors, Node,
    NodeOrEdge, NodePage, NodesDeleted, PROPERTIES_BYTES_MAX, TYPE_BYTES_MAX, Traversal, Traverse, Visited,
};
pub use kv::{Entry, KEY_BYTES_MAX, KeyPage, KeyScan, KvOp, LivingValue, VALUE_BYTES_MAX};
pub use network::{
    FindPaths, GroupBy, GroupNodes, NodeGroup, NodeGroups, PathCost, PathFound, PathStep, PathsFound, RankNodes,
    RankedNode, RankedNodes,
};
pub use nuthatch_embed as embed;
pub use nuthatch_extract::{PassageOptions, WalkOptions, walk};
pub use nuthatch_filter::{
    FieldChange, Payload, Scalar, Value, datetimes_of, format_datetime, parse_datetime, payload_from_json,
    payload_to_json, payload_with_datetimes,
};
pub use nuthatch_sparse::{SparseVector, TERMS_MAX};
pub use nuthatch_store::Damage;
pub use nuthatch_text::{TextQuery, snippet as text_snippet};
pub use nuthatch_vector::{Accuracy, Element, Metric};
pub use options::{
    BUILD_MEMORY_DEFAULT_BYTES, ERASURE_GRACE_MAX, MEMORY_BUDGET_DEFAULT_BYTES, MEMORY_BUDGET_MIN_BYTES, Options,
    StoreLayer,
};
pub use record::{ID_BYTES_MAX, NamedVectors, Record, StoredRecord, TEXT_BYTES_MAX};
pub use subject::{Subject, What};
pub use tenant::{TenantInfo, TenantLimits, TenantUsage};
pub use transaction::WriteBatch;
pub use transfer::{
    EXPORT_FORMAT_OLDEST_READABLE, EXPORT_FORMAT_VERSION, ExportOptions, ExportReport, TransferProgress,
};
pub use vector_value::{TOKENS_MAX, TokenVectors, VectorValue};
