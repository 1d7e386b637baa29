"""Nuthatch: an embedded memory engine. Documents, passages and vectors in one folder, found by words and by meaning.

What it is: ``connect`` opens a data folder; a ``Collection`` keeps records (id, text, vector, payload) and answers hybrid
searches; ``Database.add`` fills a collection from files; a ``Keyspace`` keeps keys and values. ``connect_async`` gives the same
calls to be awaited. Processes on one machine may have a folder open together: the first holds it and serves the others.
``connect("http://…")`` asks a server (``nuthatch serve``), with the same calls.
Invariant: a call that returned is on disk (unless ``durability`` asked for less) and in the next answer; a call that raised
changed nothing.

>>> import nuthatch
>>> with nuthatch.connect(":memory:") as db:
...     notes = db.collection("notes", embedder="none")
...     _ = notes.upsert([{"id": "a1", "text": "how to reset a password", "payload": {"year": 2025}}])
...     [hit.id for hit in notes.search("password", where="year >= 2024")]
['a1']
"""

from . import backups, embedders, errors, importers
from ._core import __version__
from .aio import AsyncCollection, AsyncDatabase, connect_async
from .aio_cache import AsyncCache
from .aio_facts import AsyncFacts, AsyncSnapshotFacts
from .aio_graph import AsyncGraph, AsyncSnapshotGraph, AsyncTransactionGraph
from .aio_kv import AsyncKeyspace
from .aio_transactions import (
    AsyncBatch,
    AsyncSnapshot,
    AsyncSnapshotCollection,
    AsyncSnapshotKeyspace,
    AsyncTransaction,
    AsyncTransactionCollection,
    AsyncTransactionKeyspace,
)
from .aio_tree import AsyncGrepMatches, AsyncSnapshotTree, AsyncTree
from .answers import (
    CacheAudit,
    CacheCandidate,
    CacheExplanation,
    CacheHit,
    CacheLedger,
    CacheStats,
    Miss,
    Source,
    StoredAnswer,
)
from .backups import Backup, BackupCheck, BackupProgress, BackupReport, BackupsDeleted, RestoreReport, restore
from .cache import Cache
from .calibration import Calibration, CurvePoint
from .collection import Collection
from .database import Database, connect
from .errors import (
    ClosedError,
    ConflictError,
    CorruptError,
    ExhaustedError,
    ForbiddenError,
    InternalError,
    InvalidError,
    MissingKeyError,
    NotFoundError,
    NuthatchError,
    UnavailableError,
)
from .facts import Facts, SnapshotFacts
from .graph import BatchGraph, Graph, SnapshotGraph, TransactionGraph
from .kv import Keyspace
from .kv_reads import KeyPage
from .networks import NodeGroup, NodeGroups, Path, Paths, PathStep, Ranked
from .nodes import (
    Edge,
    GraphCounts,
    Neighbor,
    NeighborPage,
    Node,
    NodePage,
    NodesDeleted,
    Traversal,
    Visited,
)
from .records import FileInfo, Page, Record, Upserted
from .reports import (
    AddReport,
    BuildProgress,
    CollectionInfo,
    DiskStats,
    Doctor,
    Finding,
    Holder,
    MemoryStats,
    Progress,
    Receipt,
    RemovedFile,
    Skipped,
    Stats,
    VectorFieldInfo,
    WrittenFile,
)
from .results import DuplicatePair, Facet, Hit, Leg, Legs, Results
from .snapshots import Snapshot, SnapshotCollection, SnapshotKeyspace
from .statements import (
    Entity,
    ExtractFailure,
    ExtractReport,
    Fact,
    FactCounts,
    FactEnd,
    FactsErased,
    FactSource,
    FactWhy,
    Found,
    NewFact,
    Passage,
    Predicate,
    Recorded,
    Trace,
)
from .tenants import Tenant, TenantLimits, TenantUsage
from .transactions import Transaction, TransactionCollection, TransactionKeyspace
from .transfer import ExportReport, ImportReport, TransferProgress
from .tree import SnapshotTree, Tree
from .tree_code import (
    AsyncTreeCode,
    CodeAnswer,
    CodeCounts,
    CodeDefinition,
    CodeFiles,
    CodeImport,
    CodeReached,
    CodeSite,
    CodeTarget,
    TreeCode,
)
from .tree_entries import (
    AddedFolder,
    PutFile,
    PutReport,
    RestoredFiles,
    SkippedPath,
    TreeChange,
    TreeEntry,
    TreeErased,
    TreeInfo,
    TreeRetention,
    TreeSnapshot,
    TreeTotals,
)
from .tree_grep import GrepCut, GrepMatch, GrepMatches
from .vector_fields import VectorField
from .wrapping import wrap
from .write_batch import Batch, BatchCollection, BatchKeyspace

__all__ = [
    "AddReport",
    "AddedFolder",
    "AsyncBatch",
    "AsyncCache",
    "AsyncCollection",
    "AsyncDatabase",
    "AsyncFacts",
    "AsyncGraph",
    "AsyncGrepMatches",
    "AsyncKeyspace",
    "AsyncSnapshot",
    "AsyncSnapshotCollection",
    "AsyncSnapshotFacts",
    "AsyncSnapshotGraph",
    "AsyncSnapshotKeyspace",
    "AsyncSnapshotTree",
    "AsyncTransaction",
    "AsyncTransactionCollection",
    "AsyncTransactionGraph",
    "AsyncTransactionKeyspace",
    "AsyncTree",
    "AsyncTreeCode",
    "Backup",
    "BackupCheck",
    "BackupProgress",
    "BackupReport",
    "BackupsDeleted",
    "Batch",
    "BatchCollection",
    "BatchGraph",
    "BatchKeyspace",
    "BuildProgress",
    "Cache",
    "CacheAudit",
    "CacheCandidate",
    "CacheExplanation",
    "CacheHit",
    "CacheLedger",
    "CacheStats",
    "Calibration",
    "ClosedError",
    "CodeAnswer",
    "CodeCounts",
    "CodeDefinition",
    "CodeFiles",
    "CodeImport",
    "CodeReached",
    "CodeSite",
    "CodeTarget",
    "Collection",
    "CollectionInfo",
    "ConflictError",
    "CorruptError",
    "CurvePoint",
    "Database",
    "DiskStats",
    "Doctor",
    "DuplicatePair",
    "Edge",
    "Entity",
    "ExhaustedError",
    "ExportReport",
    "ExtractFailure",
    "ExtractReport",
    "Facet",
    "Fact",
    "FactCounts",
    "FactEnd",
    "FactSource",
    "FactWhy",
    "Facts",
    "FactsErased",
    "FileInfo",
    "Finding",
    "ForbiddenError",
    "Found",
    "Graph",
    "GraphCounts",
    "GrepCut",
    "GrepMatch",
    "GrepMatches",
    "Hit",
    "Holder",
    "ImportReport",
    "InternalError",
    "InvalidError",
    "KeyPage",
    "Keyspace",
    "Leg",
    "Legs",
    "MemoryStats",
    "Miss",
    "MissingKeyError",
    "Neighbor",
    "NeighborPage",
    "NewFact",
    "Node",
    "NodeGroup",
    "NodeGroups",
    "NodePage",
    "NodesDeleted",
    "NotFoundError",
    "NuthatchError",
    "Page",
    "Passage",
    "Path",
    "PathStep",
    "Paths",
    "Predicate",
    "Progress",
    "PutFile",
    "PutReport",
    "Ranked",
    "Receipt",
    "Record",
    "Recorded",
    "RemovedFile",
    "RestoreReport",
    "RestoredFiles",
    "Results",
    "Skipped",
    "SkippedPath",
    "Snapshot",
    "SnapshotCollection",
    "SnapshotFacts",
    "SnapshotGraph",
    "SnapshotKeyspace",
    "SnapshotTree",
    "Source",
    "Stats",
    "StoredAnswer",
    "Tenant",
    "TenantLimits",
    "TenantUsage",
    "Trace",
    "Transaction",
    "TransactionCollection",
    "TransactionGraph",
    "TransactionKeyspace",
    "TransferProgress",
    "Traversal",
    "Tree",
    "TreeChange",
    "TreeCode",
    "TreeEntry",
    "TreeErased",
    "TreeInfo",
    "TreeRetention",
    "TreeSnapshot",
    "TreeTotals",
    "UnavailableError",
    "Upserted",
    "VectorField",
    "VectorFieldInfo",
    "Visited",
    "WrittenFile",
    "__version__",
    "backups",
    "connect",
    "connect_async",
    "embedders",
    "errors",
    "importers",
    "restore",
    "wrap",
]
