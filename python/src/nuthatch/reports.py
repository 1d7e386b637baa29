"""Reports of calls: adding files, statistics, the doctor."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple


class Skipped(NamedTuple):
    """A file that gave no passages, and why."""

    path: Path
    why: str
    #: False for files that are skipped by design, such as binaries.
    is_error: bool


@dataclass(frozen=True, slots=True)
class AddReport:
    """The result of an ``add``."""

    files_added: int
    files_changed: int
    files_unchanged: int
    files_pruned: int
    skipped: list[Skipped]
    #: Parts of files that could not be read although the rest was.
    warnings: list[str]
    passages_added: int
    #: Of these, passages whose text was there before: their vectors were kept.
    passages_reused: int
    #: Of those added, passages whose vector is still to come. They are found by their words.
    passages_pending: int
    passages_removed: int
    bytes_read: int
    elapsed_seconds: float
    cancelled: bool


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of an ``add``."""

    files_total: int
    files_done: int
    bytes_total: int
    bytes_done: int
    passages: int
    #: Of these, passages whose vector is still to come.
    passages_pending: int
    elapsed_seconds: float
    #: Estimated from the bytes done; None at first.
    remaining_seconds: float | None
    current: Path | None


class BuildProgress(NamedTuple):
    """The progress of a vector graph under construction, and its estimated end."""

    #: Rows in the graph, and rows that it will have.
    done: int
    total: int
    rows_per_second: float
    #: None until there is a rate.
    seconds_left: float | None


class VectorFieldInfo(NamedTuple):
    """The options of a named vector field, and the number of records that have a vector of it."""

    #: 0 where values are sparse.
    dim: int
    metric: str
    elements: str
    vectors: int
    #: ``"dense"``, ``"sparse"`` or ``"tokens"``.
    kind: str = "dense"


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """The options and contents of a collection."""

    name: str
    #: Components of the vectors, once settled.
    dim: int | None
    metric: str
    #: Type of the vectors' components as they are stored.
    elements: str
    language: str
    #: Name of the embedder that made its vectors.
    embedder: str | None
    rows: int
    #: Unnamed ones.
    vectors: int
    #: Records whose unnamed vector is still to come.
    pending: int
    #: Named vector fields.
    vector_fields: dict[str, VectorFieldInfo]
    #: Rows that wait outside the indexes; searches see them.
    fresh_rows: int
    segments: int
    #: How many of them are large enough to have a vector graph.
    vector_graphs: int
    #: The graph that is being built, if one is.
    building: BuildProgress | None
    #: Why an index is not in use, one sentence each.
    degraded: list[str]
    #: Payload fields seen, with the kinds of their values.
    fields: dict[str, list[str]]

    @property
    def graphs(self) -> int:
        """Deprecated: the old name of ``vector_graphs``."""
        return _deprecated("graphs", "vector_graphs", self.vector_graphs)


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that holds a data folder, and serves the others that have it open."""

    pid: int
    program: str
    #: When it came to hold the folder, in UTC: ``2026-01-31T12:00:00Z``.
    since: str
    #: It is this very handle, not another process or another handle of this one.
    is_this: bool


@dataclass(frozen=True, slots=True)
class DiskStats:
    """Bytes of the data folder's files."""

    store_bytes: int
    indexes_bytes: int
    quarantine_bytes: int
    total_bytes: int

    @property
    def truth_bytes(self) -> int:
        """Deprecated: the old name of ``store_bytes``."""
        return _deprecated("truth_bytes", "store_bytes", self.store_bytes)


@dataclass(frozen=True, slots=True)
class MemoryStats:
    """Resident bytes by part. ``engine_bytes`` sums what ``budget_bytes`` limits,
    ``accounted_bytes`` all parts.
    """

    budget_bytes: int
    store_cache_bytes: int
    store_write_buffer_bytes: int
    store_table_reader_bytes: int
    block_cache_bytes: int
    fresh_bytes: int
    #: Estimated memory of searches, listings and reads in progress.
    answer_bytes: int
    text_index_bytes: int
    #: Row ids and dead rows of open segments.
    segment_bytes: int
    #: The vector graph that is being built, outside the budget.
    build_bytes: int
    #: Embedding models, outside the budget.
    embedder_bytes: int
    engine_bytes: int
    #: In use by none of the parts above: writes under way, and the program that the engine is in.
    heap_other_bytes: int
    #: Freed, and kept by the allocator.
    heap_free_bytes: int
    #: What Python's own allocator, and others, have of the system.
    foreign_bytes: int
    stack_bytes: int
    #: The program, its libraries, mapped index files.
    program_bytes: int
    accounted_bytes: int
    #: Heap and stacks of the whole process, as the system measures them; 0 where it does not tell.
    process_anonymous_bytes: int
    process_file_bytes: int

    @property
    def truth_cache_bytes(self) -> int:
        """Deprecated: the old name of ``store_cache_bytes``."""
        return _deprecated("truth_cache_bytes", "store_cache_bytes", self.store_cache_bytes)

    @property
    def truth_write_buffer_bytes(self) -> int:
        """Deprecated: the old name of ``store_write_buffer_bytes``."""
        return _deprecated("truth_write_buffer_bytes", "store_write_buffer_bytes", self.store_write_buffer_bytes)

    @property
    def truth_table_reader_bytes(self) -> int:
        """Deprecated: the old name of ``store_table_reader_bytes``."""
        return _deprecated("truth_table_reader_bytes", "store_table_reader_bytes", self.store_table_reader_bytes)


@dataclass(frozen=True, slots=True)
class Stats:
    """Rows, bytes on disk and bytes resident, by part."""

    collections: list[CollectionInfo]
    disk: DiskStats
    memory: MemoryStats
    #: Snapshots and transactions that hold on to data replaced since.
    snapshots: int
    #: How old the oldest of them is.
    snapshot_age_seconds: float


class RemovedFile(NamedTuple):
    """A file that was removed because it may have held deleted data."""

    #: Relative to the data folder.
    path: str
    bytes: int


class WrittenFile(NamedTuple):
    """A file that replaced another."""

    #: Relative to the data folder.
    path: str
    bytes: int
    #: Of the whole file, in hex.
    blake3: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of a reclaim: files and counts, but none of their contents. Kept in ``receipts/``
    of the data folder.
    """

    id: str
    started: str
    finished: str
    program: str
    #: The tenant whose data was reclaimed; None: the default tenant's, or the whole folder.
    tenant: str | None
    #: None: all of them.
    collection: str | None
    #: Records that ``erase`` or ``drop_tenant`` deleted first; None for a plain ``reclaim``.
    deleted_records: int | None
    #: Older snapshots and transactions, of any tenant, that the call ended. A server shows a tenant's key nothing of
    #: other tenants: this and the folder's bytes are None, and the files are those of the tenant's own indexes.
    ended_snapshots: int | None
    #: By collection, the last change that the new files account for.
    sequences: dict[str, int]
    removed: list[RemovedFile]
    written: list[WrittenFile]
    bytes_before: int | None
    bytes_after: int | None
    #: BLAKE3 of everything else in it.
    checksum: str


class Finding(NamedTuple):
    """One damage of a data folder, with its remedy."""

    #: Relative to the data folder.
    path: Path
    what: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Doctor:
    """The result of checking every byte of the folder."""

    findings: list[Finding]
    #: Repairs that opening made and that are no damage, such as the torn end of a log after a crash.
    notes: list[str]
    #: Indexes that are not in use now; they are rebuilt in the background.
    degraded: list[str]
    collections: int
    records: int

    @property
    def is_well(self) -> bool:
        """True when nothing is damaged."""
        return not self.findings and not self.degraded


def add_report(parts: dict[str, Any]) -> AddReport:
    """From what the extension module gives."""
    return AddReport(
        **{**parts, "skipped": [Skipped(Path(path), why, is_error) for path, why, is_error in parts["skipped"]]}
    )


def progress(parts: dict[str, Any]) -> Progress:
    """From what the extension module gives."""
    current = parts["current"]
    return Progress(**{**parts, "current": None if current is None else Path(current)})


def info(parts: dict[str, Any]) -> CollectionInfo:
    """From what the extension module gives."""
    building = parts["building"]
    made: dict[str, Any] = {
        "building": None if building is None else BuildProgress(*building),
        "vector_fields": {name: VectorFieldInfo(*field) for name, field in parts["vector_fields"].items()},
    }
    # A server sends both names.
    current = {name: value for name, value in parts.items() if name != "graphs"}
    return CollectionInfo(**{**current, **made})


def _deprecated(old: str, new: str, value: int) -> int:
    """The value under its old name, with a warning at the line that asked for it."""
    warnings.warn(f"{old} is deprecated; use {new}", DeprecationWarning, stacklevel=3)
    return value


def _renamed(parts: dict[str, int]) -> dict[str, int]:
    """Under the current names only: a server sends both names, and an older one the old ones."""
    return {name.replace("truth_", "store_", 1): value for name, value in parts.items()}


def stats(parts: dict[str, Any]) -> Stats:
    """From what the extension module gives."""
    collections = [info(collection) for collection in parts["collections"]]
    return Stats(
        collections,
        DiskStats(**_renamed(parts["disk"])),
        MemoryStats(**_renamed(parts["memory"])),
        parts["snapshots"],
        parts["snapshot_age_seconds"],
    )


def receipt(parts: dict[str, Any]) -> Receipt:
    """From what the extension module gives."""
    removed = [RemovedFile(**file) for file in parts["removed"]]
    written = [WrittenFile(**file) for file in parts["written"]]
    rest = {name: value for name, value in parts.items() if name != "version"}
    # Fields that a server does not show to a tenant.
    untold = {"ended_snapshots": None, "bytes_before": None, "bytes_after": None}
    return Receipt(**{**untold, **rest, "removed": removed, "written": written})


def doctor(parts: dict[str, Any]) -> Doctor:
    """From what the extension module gives."""
    findings = [Finding(Path(path), what, remedy) for path, what, remedy in parts["findings"]]
    return Doctor(**{**parts, "findings": findings})
