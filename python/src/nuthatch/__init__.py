"""Nuthatch: an embedded memory engine. Documents, passages and vectors in one folder, found by words and by meaning.

What it is: ``connect`` opens a data folder; a ``Collection`` keeps records (id, text, vector, payload) and answers hybrid
searches; ``Database.add`` fills a collection from files. ``connect_async`` gives the same calls to be awaited.
What it is not: a server, or a client of one. One process at a time has a folder open.
Invariant: a call that returned is on disk and in the next answer; a call that raised changed nothing.

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
from .backups import Backup, BackupCheck, BackupProgress, BackupReport, BackupsDeleted, RestoreReport, restore
from .collection import Collection
from .database import Database, connect
from .errors import (
    ClosedError,
    ConflictError,
    CorruptError,
    ExhaustedError,
    InternalError,
    InvalidError,
    NotFoundError,
    NuthatchError,
    UnavailableError,
)
from .records import FileInfo, Page, Record, Upserted
from .reports import (
    AddReport,
    BuildProgress,
    CollectionInfo,
    DiskStats,
    Doctor,
    Finding,
    MemoryStats,
    Progress,
    Skipped,
    Stats,
)
from .results import Hit, Leg, Legs, Results
from .transfer import ExportReport, ImportReport, TransferProgress

__all__ = [
    "AddReport",
    "AsyncCollection",
    "AsyncDatabase",
    "Backup",
    "BackupCheck",
    "BackupProgress",
    "BackupReport",
    "BackupsDeleted",
    "BuildProgress",
    "ClosedError",
    "Collection",
    "CollectionInfo",
    "ConflictError",
    "CorruptError",
    "Database",
    "DiskStats",
    "Doctor",
    "ExhaustedError",
    "ExportReport",
    "FileInfo",
    "Finding",
    "Hit",
    "ImportReport",
    "InternalError",
    "InvalidError",
    "Leg",
    "Legs",
    "MemoryStats",
    "NotFoundError",
    "NuthatchError",
    "Page",
    "Progress",
    "Record",
    "RestoreReport",
    "Results",
    "Skipped",
    "Stats",
    "TransferProgress",
    "UnavailableError",
    "Upserted",
    "__version__",
    "backups",
    "connect",
    "connect_async",
    "embedders",
    "errors",
    "importers",
    "restore",
]
