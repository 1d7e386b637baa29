"""Transactions: reads and writes isolated from all others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from . import arguments, batch
from .collection import Records
from .collection_reads import CollectionReads
from .facts import PendingFacts
from .graph import TransactionGraph
from .kv_entries import Bytes, Entries, TimeToLive, as_bytes, one_or_several_keys, pairs
from .kv_reads import KeyReads
from .pending import Pending
from .vectors import VectorsByField

if TYPE_CHECKING:
    from .cores import TransactionCollectionCore, TransactionCore, TransactionKeyspaceCore


class Transaction(Pending):
    """Reads everything as of its beginning, plus its own writes, and writes atomically at the end
    of the block.

    It locks nothing. If another writer has changed something that it has read or is about to write,
    the end of the block raises ConflictError and writes nothing: start again, or use
    ``Database.transact``. When the block raises, nothing is written. A transaction that only reads
    never conflicts.

    ``Database.transaction`` makes it. It ends with ConflictError when it is older than
    ``snapshot_age`` of ``connect``.

    >>> import nuthatch
    >>> with nuthatch.connect(":memory:") as db:
    ...     db.kv("accounts").put_many({"anna": "10", "ben": "0"})
    ...     with db.transaction() as transaction:
    ...         accounts = transaction.kv("accounts")
    ...         accounts["anna"] = str(int(accounts["anna"]) - 4)
    ...         accounts["ben"] = str(int(accounts["ben"]) + 4)
    ...     dict(db.kv("accounts").items())
    {b'anna': b'6', b'ben': b'4'}
    """

    __slots__ = ()

    _core: TransactionCore

    def kv(self, name: str) -> TransactionKeyspace:
        """Returns the keyspace of that name, and creates a missing one."""
        return TransactionKeyspace(self._core.kv(arguments.text("name", name)))

    def graph(self, name: str) -> TransactionGraph:
        """Returns the graph of that name, and creates a missing one."""
        return TransactionGraph(self._core.graph(arguments.text("name", name)))

    def facts(self, name: str) -> PendingFacts:
        """Returns a writer for the facts of that name, which the commit creates when missing. They
        are recorded by the rules, and from the records, that there are at the commit, and conflict
        with nothing.
        """
        return PendingFacts(self._core, arguments.text("name", name))

    def collection(self, name: str) -> TransactionCollection:
        """Returns the collection of that name. Raises NotFoundError when it did not exist at the
        beginning.
        """
        return TransactionCollection(self._core.collection(arguments.text("name", name)))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Transaction cannot be pickled or copied: it belongs to the process that began it")


class TransactionKeyspace(KeyReads):
    """A keyspace in a transaction: its state at the beginning, plus the transaction's own writes."""

    __slots__ = ("_core",)

    _core: TransactionKeyspaceCore

    def __init__(self, core: TransactionKeyspaceCore) -> None:
        self._core = core

    def put(self, key: Bytes, value: Bytes, *, ttl: TimeToLive | None = None) -> None:
        """Sets a key, for ever or for ``ttl`` (seconds, or a timedelta) from the commit on."""
        self._core.put_many([(as_bytes("key", key), as_bytes("value", value))], arguments.time("ttl", ttl))

    def put_many(self, entries: Entries, *, ttl: TimeToLive | None = None) -> None:
        """Sets several keys from a mapping or from pairs."""
        self._core.put_many(pairs(entries), arguments.time("ttl", ttl))

    def delete(self, keys: Bytes | Iterable[Bytes]) -> None:
        """Deletes one key or several; unknown ones are ignored."""
        self._core.delete(one_or_several_keys(keys))

    def __setitem__(self, key: Bytes, value: Bytes) -> None:
        self.put(key, value)

    def __delitem__(self, key: Bytes) -> None:
        if key not in self:
            self._missing(key)
        self.delete([key])

    def __repr__(self) -> str:
        return f"TransactionKeyspace({self.name!r})"


class TransactionCollection(CollectionReads):
    """A collection in a transaction.

    ``get`` sees the transaction's own writes. Searches, counts and listings show the beginning, and
    conflict with any later change of the collection.
    """

    __slots__ = ("_core",)

    _core: TransactionCollectionCore

    def __init__(self, core: TransactionCollectionCore) -> None:
        self._core = core

    def upsert(
        self,
        records: Records | None = None,
        *,
        ids: Iterable[str] | None = None,
        texts: Iterable[str | None] | None = None,
        vectors: VectorsByField | None = None,
        payloads: Iterable[Mapping[str, Any] | None] | None = None,
    ) -> None:
        """Inserts records and replaces those with the same id, as ``Collection.upsert``. The commit
        embeds texts.
        """
        self._core.upsert(batch.columns(records, ids, texts, vectors, payloads))

    def delete(self, ids: str | Iterable[str]) -> None:
        """Deletes records by id; unknown ones are ignored."""
        self._core.delete(arguments.ids(ids))

    def __repr__(self) -> str:
        return f"TransactionCollection({self.name!r})"
