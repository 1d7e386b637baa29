"""Snapshots: everything as it was at one moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from . import arguments
from .collection_reads import CollectionReads
from .facts import SnapshotFacts
from .graph import SnapshotGraph
from .kv_reads import KeyReads
from .tree import SnapshotTree

if TYPE_CHECKING:
    from .cores import SnapshotCollectionCore, SnapshotCore, SnapshotKeyspaceCore


class Snapshot:
    """All keyspaces, graphs, facts, trees and collections as of the moment when it was taken.

    ``Database.snapshot`` makes it; it ends with its block. It keeps replaced data on disk, so it
    also ends when it is older than ``snapshot_age`` of ``connect`` (default ten minutes; on a
    server, the server's setting). After that it raises ConflictError. Threads may share it.

    >>> import nuthatch
    >>> with nuthatch.connect(":memory:") as db:
    ...     stock = db.kv("stock")
    ...     stock["apples"] = "5"
    ...     with db.snapshot() as snapshot:
    ...         stock["apples"] = "3"
    ...         snapshot.kv("stock")["apples"], stock["apples"]
    (b'5', b'3')
    """

    __slots__ = ("_core",)

    def __init__(self, core: SnapshotCore) -> None:
        self._core = core

    def kv(self, name: str) -> SnapshotKeyspace:
        """Returns the keyspace of that name as of the snapshot; an empty one when it did not exist."""
        return SnapshotKeyspace(self._core.kv(arguments.text("name", name)))

    def graph(self, name: str) -> SnapshotGraph:
        """Returns the graph of that name as of the snapshot; an empty one when it did not exist."""
        return SnapshotGraph(self._core.graph(arguments.text("name", name)))

    def facts(self, name: str) -> SnapshotFacts:
        """Returns the facts of that name as of the snapshot; none when they did not exist."""
        return SnapshotFacts(self._core.facts(arguments.text("name", name)))

    def tree(self, name: str) -> SnapshotTree:
        """Returns the tree of that name as of the snapshot. Its calls raise NotFoundError when it
        did not exist.
        """
        return SnapshotTree(self._core.tree(arguments.text("name", name)))

    def collection(self, name: str) -> SnapshotCollection:
        """Returns the collection of that name as of the snapshot. Raises NotFoundError when it did
        not exist.
        """
        return SnapshotCollection(self._core.collection(arguments.text("name", name)))

    @property
    def age(self) -> float:
        """Seconds since the snapshot was taken."""
        return self._core.age_seconds()

    def close(self) -> None:
        """Ends the snapshot and everything read from it, and releases its data. The end of the
        block does the same.
        """
        self._core.close()

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Snapshot({self.age:.1f} s old)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Snapshot cannot be pickled or copied: it belongs to the process that took it")


class SnapshotKeyspace(KeyReads):
    """A keyspace in a snapshot. Keys that had not expired then stay readable as long as the
    snapshot.
    """

    __slots__ = ("_core",)

    _core: SnapshotKeyspaceCore

    def __init__(self, core: SnapshotKeyspaceCore) -> None:
        self._core = core

    def __repr__(self) -> str:
        return f"SnapshotKeyspace({self.name!r})"


class SnapshotCollection(CollectionReads):
    """A collection in a snapshot: records, searches, counts, listings and files."""

    __slots__ = ("_core",)

    _core: SnapshotCollectionCore

    def __init__(self, core: SnapshotCollectionCore) -> None:
        self._core = core

    def __repr__(self) -> str:
        return f"SnapshotCollection({self.name!r})"
