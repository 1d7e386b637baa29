"""Reading and then writing, with nobody between where the database can promise that.

A folder that this process or another one holds has transactions. A server over HTTP has none: there the reads are as of their own
moments, and the writes are one batch all the same. What may happen between them, each caller says for itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..arguments import Durability
from ..database import Database

T = TypeVar("T")


def together(database: Database, function: Callable[[Any], T], durability: Durability | None = None) -> T:
    """``function`` in a transaction, or on what has its calls ``kv`` and ``collection``.

    >>> import nuthatch
    >>> with nuthatch.connect(":memory:") as db:
    ...     together(db, lambda now: now.kv("counters").put("visits", "1"))
    ...     db.kv("counters")["visits"]
    b'1'
    """
    if not database.path.startswith(("http://", "https://")):
        return database.transact(function, durability=durability)
    with database.batch(durability=durability) as batch:
        return function(_Apart(database, batch))


class _Apart:
    """What reads from the database and writes to a batch."""

    def __init__(self, database: Database, batch: Any) -> None:
        self._database = database
        self._batch = batch

    def kv(self, name: str) -> _Both:
        """A keyspace."""
        return _Both(self._database.kv(name), self._batch.kv(name))

    def collection(self, name: str) -> _Both:
        """A collection."""
        return _Both(self._database.collection(name), self._batch.collection(name))


class _Both:
    """Calls that the batch has are the batch's, the others the database's."""

    def __init__(self, reads: Any, writes: Any) -> None:
        self._reads = reads
        self._writes = writes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._writes if hasattr(self._writes, name) else self._reads, name)

    def __contains__(self, key: object) -> bool:
        return key in self._reads
