"""Batches, snapshots and transactions to be awaited."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

from .adding import AddOptions
from .aio_facts import AsyncSnapshotFacts
from .aio_graph import AsyncSnapshotGraph, AsyncTransactionGraph
from .aio_reads import AsyncCollectionReads, AsyncKeyReads
from .aio_tree import AsyncSnapshotTree
from .arguments import StrPath
from .collection import Records
from .facts import PendingFacts
from .graph import BatchGraph
from .kv_entries import Bytes, Entries, TimeToLive
from .reports import AddReport
from .snapshots import Snapshot, SnapshotCollection, SnapshotKeyspace
from .threads import cancellable, in_thread
from .transactions import Transaction, TransactionCollection, TransactionKeyspace
from .vectors import VectorsByField
from .write_batch import Batch, BatchCollection, BatchKeyspace

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .aio import AsyncCollection


class AsyncBatch:
    """A ``Batch`` for ``async with``. Keys and records are added at once, in memory; files and ``commit`` are awaited.

    >>> import asyncio, nuthatch
    >>> async def main():
    ...     async with nuthatch.connect_async(":memory:") as db:
    ...         async with db.batch() as batch:
    ...             batch.kv("one").put("a", "1")
    ...             batch.kv("two").put("a", "2")
    ...         return await (await db.kv("two")).get("a")
    >>> asyncio.run(main())
    b'2'
    """

    __slots__ = ("sync",)

    def __init__(self, sync: Batch) -> None:
        self.sync: Batch = sync

    def kv(self, name: str) -> BatchKeyspace:
        """As ``Batch.kv``."""
        return self.sync.kv(name)

    def graph(self, name: str) -> BatchGraph:
        """As ``Batch.graph``."""
        return self.sync.graph(name)

    def facts(self, name: str) -> PendingFacts:
        """As ``Batch.facts``."""
        return self.sync.facts(name)

    def collection(self, name: str) -> BatchCollection:
        """As ``Batch.collection``."""
        return self.sync.collection(name)

    async def add_files(
        self, paths: StrPath | Iterable[StrPath], collection: AsyncCollection, **options: Unpack[AddOptions]
    ) -> AddReport:
        """As ``Batch.add_files``; ``on_progress`` is called in another thread. Cancelling the task stops it, and adds nothing."""
        return await cancellable(lambda cancel: self.sync._add_files(cancel, paths, collection.sync, options))

    async def remove_files(self, path: StrPath, collection: AsyncCollection) -> int:
        """As ``Batch.remove_files``."""
        return await in_thread(self.sync.remove_files, path, collection.sync)

    async def commit(self) -> None:
        """As ``Batch.commit``."""
        await in_thread(self.sync.commit)

    async def rollback(self) -> None:
        """As ``Batch.rollback``."""
        await in_thread(self.sync.rollback)

    async def __aenter__(self) -> AsyncBatch:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exception: BaseException | None, trace: TracebackType | None
    ) -> None:
        await in_thread(self.sync.__exit__, kind, exception, trace)

    def __reduce__(self) -> NoReturn:
        self.sync.__reduce__()


class AsyncSnapshot:
    """A ``Snapshot`` whose calls are awaited. ``sync`` is the snapshot underneath."""

    __slots__ = ("sync",)

    def __init__(self, sync: Snapshot) -> None:
        self.sync: Snapshot = sync

    async def kv(self, name: str) -> AsyncSnapshotKeyspace:
        """As ``Snapshot.kv``."""
        return AsyncSnapshotKeyspace(await in_thread(self.sync.kv, name))

    async def graph(self, name: str) -> AsyncSnapshotGraph:
        """As ``Snapshot.graph``."""
        return AsyncSnapshotGraph(await in_thread(self.sync.graph, name))

    async def facts(self, name: str) -> AsyncSnapshotFacts:
        """As ``Snapshot.facts``."""
        return AsyncSnapshotFacts(await in_thread(self.sync.facts, name))

    async def tree(self, name: str) -> AsyncSnapshotTree:
        """As ``Snapshot.tree``."""
        return AsyncSnapshotTree(await in_thread(self.sync.tree, name))

    async def collection(self, name: str) -> AsyncSnapshotCollection:
        """As ``Snapshot.collection``."""
        return AsyncSnapshotCollection(await in_thread(self.sync.collection, name))

    @property
    def age(self) -> float:
        """As ``Snapshot.age``."""
        return self.sync.age

    async def close(self) -> None:
        """As ``Snapshot.close``."""
        await in_thread(self.sync.close)

    async def __aenter__(self) -> AsyncSnapshot:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exception: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"Async{self.sync!r}"

    def __reduce__(self) -> NoReturn:
        self.sync.__reduce__()


class AsyncSnapshotKeyspace(AsyncKeyReads):
    """A ``SnapshotKeyspace`` whose calls are awaited."""

    __slots__ = ("sync",)

    sync: SnapshotKeyspace

    def __init__(self, sync: SnapshotKeyspace) -> None:
        self.sync = sync


class AsyncSnapshotCollection(AsyncCollectionReads):
    """A ``SnapshotCollection`` whose calls are awaited."""

    __slots__ = ("sync",)

    sync: SnapshotCollection

    def __init__(self, sync: SnapshotCollection) -> None:
        self.sync = sync


class AsyncTransaction:
    """A ``Transaction`` whose calls are awaited. ``sync`` is the transaction underneath.

    >>> import asyncio, nuthatch
    >>> async def main():
    ...     async with nuthatch.connect_async(":memory:") as db:
    ...         async def count(transaction):
    ...             kv = await transaction.kv("numbers")
    ...             number = int(await kv.get("n", b"0")) + 1
    ...             await kv.put("n", str(number))
    ...             return number
    ...         return await asyncio.gather(*(db.transact(count) for _ in range(3)))
    >>> sorted(asyncio.run(main()))
    [1, 2, 3]
    """

    __slots__ = ("sync",)

    def __init__(self, sync: Transaction) -> None:
        self.sync: Transaction = sync

    async def kv(self, name: str) -> AsyncTransactionKeyspace:
        """As ``Transaction.kv``."""
        return AsyncTransactionKeyspace(await in_thread(self.sync.kv, name))

    async def graph(self, name: str) -> AsyncTransactionGraph:
        """As ``Transaction.graph``."""
        return AsyncTransactionGraph(await in_thread(self.sync.graph, name))

    async def facts(self, name: str) -> PendingFacts:
        """As ``Transaction.facts``. Its calls are not awaited: they keep facts in memory for the commit."""
        return self.sync.facts(name)

    async def collection(self, name: str) -> AsyncTransactionCollection:
        """As ``Transaction.collection``."""
        return AsyncTransactionCollection(await in_thread(self.sync.collection, name))

    async def commit(self) -> None:
        """As ``Transaction.commit``."""
        await in_thread(self.sync.commit)

    async def rollback(self) -> None:
        """As ``Transaction.rollback``."""
        await in_thread(self.sync.rollback)

    async def __aenter__(self) -> AsyncTransaction:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exception: BaseException | None, trace: TracebackType | None
    ) -> None:
        await in_thread(self.sync.__exit__, kind, exception, trace)

    def __reduce__(self) -> NoReturn:
        self.sync.__reduce__()


class AsyncTransactionKeyspace(AsyncKeyReads):
    """A ``TransactionKeyspace`` whose calls are awaited."""

    __slots__ = ("sync",)

    sync: TransactionKeyspace

    def __init__(self, sync: TransactionKeyspace) -> None:
        self.sync = sync

    async def put(self, key: Bytes, value: Bytes, *, ttl: TimeToLive | None = None) -> None:
        """As ``TransactionKeyspace.put``."""
        await in_thread(self.sync.put, key, value, ttl=ttl)

    async def put_many(self, entries: Entries, *, ttl: TimeToLive | None = None) -> None:
        """As ``TransactionKeyspace.put_many``."""
        await in_thread(self.sync.put_many, entries, ttl=ttl)

    async def delete(self, keys: Bytes | Iterable[Bytes]) -> None:
        """As ``TransactionKeyspace.delete``."""
        await in_thread(self.sync.delete, keys)


class AsyncTransactionCollection(AsyncCollectionReads):
    """A ``TransactionCollection`` whose calls are awaited."""

    __slots__ = ("sync",)

    sync: TransactionCollection

    def __init__(self, sync: TransactionCollection) -> None:
        self.sync = sync

    async def upsert(
        self,
        records: Records | None = None,
        *,
        ids: Iterable[str] | None = None,
        texts: Iterable[str | None] | None = None,
        vectors: VectorsByField | None = None,
        payloads: Iterable[Mapping[str, Any] | None] | None = None,
    ) -> None:
        """As ``TransactionCollection.upsert``."""
        await in_thread(self.sync.upsert, records, ids=ids, texts=texts, vectors=vectors, payloads=payloads)

    async def delete(self, ids: str | Iterable[str]) -> None:
        """As ``TransactionCollection.delete``."""
        await in_thread(self.sync.delete, ids)
