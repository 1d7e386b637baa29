"""Where a cache lies, by mneme's names. Both are data folders of Nuthatch; whatever has the methods of ``Store`` will do, too."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from .values import StoredEntry


class MemoryStore:
    """In memory, until the cache is closed."""

    place = ":memory:"


class SQLiteStore:
    """On disk, in the folder ``path``. The name is mneme's: nothing of it is SQLite's."""

    def __init__(self, path: str | Path) -> None:
        self.place: str = str(path)


class Store(Protocol):
    """A store of the caller's own: what a cache calls of mneme's protocol. Vectors are float32 in little endian, times seconds."""

    def open(self, embedder_fingerprint: str, embedder_dim: int) -> None:
        """Opens it, and refuses another embedder than the one that filled it."""

    def close(self) -> None:
        """Closes it."""

    def get_by_hash(self, namespace: str, query_hash: str) -> StoredEntry | None:
        """The entry of a query."""

    def count(self, namespace: str | None = None) -> int:
        """How many entries there are."""

    def list_namespaces(self) -> list[str]:
        """The namespaces that have entries."""

    def iter_all(self) -> Iterable[StoredEntry]:
        """All entries."""

    def insert(self, entry: StoredEntry) -> int:
        """Stores an entry, replaces that of the same query, and returns its number."""

    def update_access(self, id: int, now: int) -> None:
        """Notes that an entry was used."""

    def delete_by_id(self, id: int) -> bool:
        """Removes an entry; False when there is none."""

    def read_meta(self, key: str) -> str | None:
        """A text under a name."""

    def write_meta(self, key: str, value: str) -> None:
        """Stores a text under a name."""

    def integrity_check(self) -> bool:
        """Whether it is in order."""


def missing(store: object) -> list[str]:
    """The methods of a store that an object lacks."""
    names = [name for name, value in vars(Store).items() if callable(value) and not name.startswith("_")]
    return [name for name in names if not callable(getattr(store, name, None))]
