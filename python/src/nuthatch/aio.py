"""The same API for asyncio. Calls run in threads, and the engine releases the interpreter lock
while it works.

Every method has the name, the arguments and the result of its counterpart in ``Database`` and
``Collection``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, NoReturn, TypeVar

from . import arguments
from .adding import AddOptions
from .aio_cache import AsyncCache
from .aio_facts import AsyncFacts
from .aio_graph import AsyncGraph
from .aio_kv import AsyncKeyspace
from .aio_reads import AsyncCollectionReads
from .aio_tenants import AsyncTenants
from .aio_transactions import AsyncBatch, AsyncSnapshot, AsyncTransaction
from .aio_tree import AsyncTree
from .arguments import Durability, StrPath
from .backups import BackupProgress, BackupReport
from .cache import CacheMode, Judge, ShareWhen
from .changes import Fields
from .collection import Collection, Records
from .database import Database, Elements, Metric, connect
from .embedders import EmbedderLike
from .errors import ConflictError
from .kv_entries import TimeToLive
from .records import Upserted
from .reports import AddReport, CollectionInfo, Doctor, Holder, Progress, Receipt, Stats
from .snapshots import Snapshot
from .threads import Entering, cancellable, in_thread
from .transactions import Transaction
from .transfer import ExportFormat, ExportReport, ImportReport, TransferProgress
from .vector_fields import VectorField
from .vectors import VectorsByField

T = TypeVar("T")


def connect_async(
    path: StrPath,
    *,
    memory_budget: int | str | None = None,
    mapped: bool | None = None,
    build_memory: int | str | None = None,
    build_threads: int | None = None,
    sync_interval_ms: int | None = None,
    snapshot_age: TimeToLive | None = None,
    erasure_grace: TimeToLive | None = None,
    create: bool = True,
    exclusive: bool = False,
    program: str | None = None,
    api_key: str | None = None,
    tenant: str | None = None,
    timeout: float | None = None,
    ca: StrPath | None = None,
    client_cert: StrPath | tuple[StrPath, StrPath] | None = None,
) -> Connecting:
    """As ``nuthatch.connect``: ``db = await connect_async(path)``, or ``async with connect_async(path) as db:``.

    >>> import asyncio, nuthatch
    >>> async def main():
    ...     async with nuthatch.connect_async(":memory:") as db:
    ...         notes = await db.collection("notes", embedder="none")
    ...         await notes.upsert([{"id": "a1", "text": "how to reset a password"}])
    ...         return [hit.id for hit in await notes.search("password")]
    >>> asyncio.run(main())
    ['a1']
    """
    return Connecting(
        lambda: connect(
            path,
            memory_budget=memory_budget,
            mapped=mapped,
            build_memory=build_memory,
            build_threads=build_threads,
            sync_interval_ms=sync_interval_ms,
            snapshot_age=snapshot_age,
            erasure_grace=erasure_grace,
            create=create,
            exclusive=exclusive,
            program=program,
            api_key=api_key,
            tenant=tenant,
            timeout=timeout,
            ca=ca,
            client_cert=client_cert,
        )
    )


class Connecting:
    """The result of ``connect_async``: await it, or enter it with ``async with``."""

    __slots__ = ("_database", "_open")

    def __init__(self, open: Callable[[], Database]) -> None:
        self._open = open
        self._database: AsyncDatabase | None = None

    def __await__(self) -> Generator[Any, None, AsyncDatabase]:
        return self._connect().__await__()

    async def _connect(self) -> AsyncDatabase:
        return AsyncDatabase(await in_thread(self._open))

    async def __aenter__(self) -> AsyncDatabase:
        self._database = await self._connect()
        return self._database

    async def __aexit__(self, *exception: object) -> None:
        if self._database is not None:
            await self._database.close()


class AsyncDatabase(AsyncTenants):
    """A ``Database`` whose calls are awaited. ``sync`` is the database underneath."""

    __slots__ = ("sync",)

    def __init__(self, sync: Database) -> None:
        self.sync: Database = sync

    @property
    def path(self) -> str:
        """As ``Database.path``."""
        return self.sync.path

    async def collection(
        self,
        name: str,
        *,
        dim: int | None = None,
        metric: Metric | None = None,
        elements: Elements | None = None,
        vectors: Mapping[str, VectorField] | None = None,
        embedder: EmbedderLike | None = None,
        language: str | None = None,
    ) -> AsyncCollection:
        """As ``Database.collection``."""
        made = await in_thread(
            self.sync.collection,
            name,
            dim=dim,
            metric=metric,
            elements=elements,
            vectors=vectors,
            embedder=embedder,
            language=language,
        )
        return AsyncCollection(made)

    async def collections(self) -> list[CollectionInfo]:
        """As ``Database.collections``."""
        return await in_thread(self.sync.collections)

    async def drop_collection(self, name: str) -> bool:
        """As ``Database.drop_collection``."""
        return await in_thread(self.sync.drop_collection, name)

    async def kv(self, name: str, *, create: bool = True, durability: Durability | None = None) -> AsyncKeyspace:
        """As ``Database.kv``."""
        return AsyncKeyspace(await in_thread(self.sync.kv, name, create=create, durability=durability))

    async def keyspaces(self) -> list[str]:
        """As ``Database.keyspaces``."""
        return await in_thread(self.sync.keyspaces)

    async def drop_keyspace(self, name: str) -> bool:
        """As ``Database.drop_keyspace``."""
        return await in_thread(self.sync.drop_keyspace, name)

    async def cache(
        self,
        name: str,
        *,
        create: bool = True,
        budget: float | None = None,
        failure: float | None = None,
        judge: Judge | None = None,
        mode: CacheMode | None = None,
        ttl: timedelta | float | None = None,
        max_entries: int | None = None,
        max_bytes: int | str | None = None,
        scope: Sequence[str] | None = None,
        allowance: float | None = None,
        share_after: int | None = None,
        share_when: ShareWhen | None = None,
        user_max_entries: int | None = None,
        user_max_bytes: int | str | None = None,
        durability: Durability | None = None,
    ) -> AsyncCache:
        """As ``Database.cache``."""
        cache = await in_thread(
            self.sync.cache,
            name,
            create=create,
            budget=budget,
            failure=failure,
            judge=judge,
            mode=mode,
            ttl=ttl,
            max_entries=max_entries,
            max_bytes=max_bytes,
            scope=scope,
            allowance=allowance,
            share_after=share_after,
            share_when=share_when,
            user_max_entries=user_max_entries,
            user_max_bytes=user_max_bytes,
            durability=durability,
        )
        return AsyncCache(cache)

    async def caches(self) -> list[str]:
        """As ``Database.caches``."""
        return await in_thread(self.sync.caches)

    async def drop_cache(self, name: str) -> bool:
        """As ``Database.drop_cache``."""
        return await in_thread(self.sync.drop_cache, name)

    async def graph(self, name: str, *, create: bool = True, durability: Durability | None = None) -> AsyncGraph:
        """As ``Database.graph``."""
        return AsyncGraph(await in_thread(self.sync.graph, name, create=create, durability=durability))

    async def facts(self, name: str, *, create: bool = True, durability: Durability | None = None) -> AsyncFacts:
        """As ``Database.facts``."""
        return AsyncFacts(await in_thread(self.sync.facts, name, create=create, durability=durability))

    async def fact_sets(self) -> list[str]:
        """As ``Database.fact_sets``."""
        return await in_thread(self.sync.fact_sets)

    async def drop_facts(self, name: str) -> bool:
        """As ``Database.drop_facts``."""
        return await in_thread(self.sync.drop_facts, name)

    async def graphs(self) -> list[str]:
        """As ``Database.graphs``."""
        return await in_thread(self.sync.graphs)

    async def drop_graph(self, name: str) -> bool:
        """As ``Database.drop_graph``."""
        return await in_thread(self.sync.drop_graph, name)

    async def tree(
        self,
        name: str,
        *,
        create: bool = True,
        durability: Durability | None = None,
        embedder: EmbedderLike | None = None,
    ) -> AsyncTree:
        """As ``Database.tree``."""
        return AsyncTree(await in_thread(self.sync.tree, name, create=create, durability=durability, embedder=embedder))

    async def trees(self) -> list[str]:
        """As ``Database.trees``."""
        return await in_thread(self.sync.trees)

    async def drop_tree(self, name: str) -> bool:
        """As ``Database.drop_tree``."""
        return await in_thread(self.sync.drop_tree, name)

    def batch(self, *, durability: Durability | None = None) -> AsyncBatch:
        """As ``Database.batch``, for ``async with``."""
        return AsyncBatch(self.sync.batch(durability=durability))

    def snapshot(self) -> Entering[Snapshot, AsyncSnapshot]:
        """As ``Database.snapshot``: ``async with db.snapshot() as snapshot:``, or ``snapshot = await db.snapshot()``."""
        return Entering(self.sync.snapshot, AsyncSnapshot)

    def transaction(self, *, durability: Durability | None = None) -> Entering[Transaction, AsyncTransaction]:
        """As ``Database.transaction``: ``async with db.transaction() as transaction:``, or ``await db.transaction()``."""
        return Entering(lambda: self.sync.transaction(durability=durability), AsyncTransaction)

    async def transact(
        self,
        function: Callable[[AsyncTransaction], Awaitable[T]],
        *,
        retries: int = 10,
        durability: Durability | None = None,
    ) -> T:
        """As ``Database.transact``, with a function to be awaited."""
        left = arguments.whole("retries", retries)
        while True:
            try:
                async with self.transaction(durability=durability) as transaction:
                    return await function(transaction)
            except ConflictError:
                if not left:
                    raise
                left -= 1

    async def add(
        self,
        paths: StrPath | Iterable[StrPath],
        collection: str | AsyncCollection = "documents",
        *,
        prune: bool = False,
        on_progress: Callable[[Progress], object] | None = None,
        hidden: bool = False,
        follow_links: bool = False,
        respect_ignore: bool = True,
        max_file_bytes: int | str | None = None,
        passage_chars: int | None = None,
        overlap_chars: int | None = None,
        wait: bool = False,
        tags: str | Iterable[str] = (),
        payload: Fields | None = None,
        durability: Durability | None = None,
    ) -> AddReport:
        """As ``Database.add``. The event loop calls ``on_progress``; cancelling the task stops
        after a batch.
        """
        import asyncio

        loop = asyncio.get_running_loop()
        into = collection.sync if isinstance(collection, AsyncCollection) else collection
        tell: Callable[[Progress], object] | None = None
        if on_progress is not None:
            told = on_progress

            def tell(progress: Progress) -> None:
                loop.call_soon_threadsafe(told, progress)

        options = AddOptions(
            prune=prune,
            on_progress=tell,
            hidden=hidden,
            follow_links=follow_links,
            respect_ignore=respect_ignore,
            max_file_bytes=max_file_bytes,
            passage_chars=passage_chars,
            overlap_chars=overlap_chars,
            wait=wait,
            tags=tags,
            payload=payload,
        )
        return await cancellable(lambda cancel: self.sync._add(cancel, paths, into, options, durability))

    async def holder(self) -> Holder:
        """As ``Database.holder``."""
        return await in_thread(lambda: self.sync.holder)

    async def reclaim(self, collection: str | None = None) -> Receipt:
        """As ``Database.reclaim``."""
        return await in_thread(self.sync.reclaim, collection)

    async def erase(
        self,
        collection: str,
        ids: str | Iterable[str] | None = None,
        *,
        where: str | None = None,
        prefix: str | None = None,
        files: StrPath | None = None,
    ) -> Receipt:
        """As ``Database.erase``."""
        return await in_thread(self.sync.erase, collection, ids, where=where, prefix=prefix, files=files)

    async def receipts(self) -> list[Receipt]:
        """As ``Database.receipts``."""
        return await in_thread(self.sync.receipts)

    async def stats(self) -> Stats:
        """As ``Database.stats``."""
        return await in_thread(self.sync.stats)

    async def doctor(self) -> Doctor:
        """As ``Database.doctor``."""
        return await in_thread(self.sync.doctor)

    async def backup(
        self,
        place: StrPath | None = None,
        *,
        indexes: bool = True,
        rate: int | str | None = None,
        on_progress: Callable[[BackupProgress], object] | None = None,
    ) -> BackupReport:
        """As ``Database.backup``. ``on_progress`` is called in a thread of its own."""
        return await in_thread(self.sync.backup, place, indexes=indexes, rate=rate, on_progress=on_progress)

    async def export_to(
        self,
        folder: StrPath,
        *,
        format: ExportFormat = "jsonl",
        collection: str | None = None,
        on_progress: Callable[[TransferProgress], object] | None = None,
    ) -> ExportReport:
        """As ``Database.export_to``. ``on_progress`` is called in a thread of its own."""
        return await in_thread(
            self.sync.export_to, folder, format=format, collection=collection, on_progress=on_progress
        )

    async def import_from(
        self,
        folder: StrPath,
        *,
        collection: str | None = None,
        merge: bool = False,
        on_progress: Callable[[TransferProgress], object] | None = None,
    ) -> ImportReport:
        """As ``Database.import_from``. ``on_progress`` is called in a thread of its own."""
        return await in_thread(
            self.sync.import_from, folder, collection=collection, merge=merge, on_progress=on_progress
        )

    async def close(self) -> None:
        """As ``Database.close``."""
        await in_thread(self.sync.close)

    async def __aenter__(self) -> AsyncDatabase:
        self.sync.__enter__()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"Async{self.sync!r}"

    def __reduce__(self) -> NoReturn:
        self.sync.__reduce__()


class AsyncCollection(AsyncCollectionReads):
    """A ``Collection`` whose calls are awaited. ``sync`` is the collection underneath."""

    __slots__ = ("sync",)

    sync: Collection

    def __init__(self, sync: Collection) -> None:
        self.sync = sync

    async def upsert(
        self,
        records: Records | None = None,
        *,
        ids: Iterable[str] | None = None,
        texts: Iterable[str | None] | None = None,
        vectors: VectorsByField | None = None,
        payloads: Iterable[Mapping[str, Any] | None] | None = None,
        durability: Durability | None = None,
    ) -> Upserted:
        """As ``Collection.upsert``."""
        return await in_thread(
            self.sync.upsert,
            records,
            ids=ids,
            texts=texts,
            vectors=vectors,
            payloads=payloads,
            durability=durability,
        )

    async def delete(
        self,
        ids: str | Iterable[str] | None = None,
        *,
        where: str | None = None,
        prefix: str | None = None,
        durability: Durability | None = None,
    ) -> int:
        """As ``Collection.delete``."""
        return await in_thread(self.sync.delete, ids, where=where, prefix=prefix, durability=durability)

    async def update(
        self,
        ids: str | Iterable[str] | None = None,
        *,
        where: str | None = None,
        set: Fields | None = None,
        add: Fields | None = None,
        remove: Fields | None = None,
        unset: str | Iterable[str] = (),
        durability: Durability | None = None,
    ) -> int:
        """As ``Collection.update``."""
        return await in_thread(
            self.sync.update,
            ids,
            where=where,
            set=set,
            add=add,
            remove=remove,
            unset=unset,
            durability=durability,
        )

    async def update_many(self, updates: Iterable[Mapping[str, Any]], *, durability: Durability | None = None) -> int:
        """As ``Collection.update_many``."""
        return await in_thread(self.sync.update_many, updates, durability=durability)

    async def update_files(
        self,
        paths: StrPath | Iterable[StrPath],
        *,
        set: Fields | None = None,
        add: Fields | None = None,
        remove: Fields | None = None,
        unset: str | Iterable[str] = (),
        durability: Durability | None = None,
    ) -> int:
        """As ``Collection.update_files``."""
        return await in_thread(
            self.sync.update_files, paths, set=set, add=add, remove=remove, unset=unset, durability=durability
        )

    async def remove_files(self, path: StrPath) -> int:
        """As ``Collection.remove_files``."""
        return await in_thread(self.sync.remove_files, path)

    async def wait_until_embedded(self, timeout: float | None = None) -> bool:
        """As ``Collection.wait_until_embedded``."""
        return await in_thread(self.sync.wait_until_embedded, timeout)

    async def wait_until_indexed(self, timeout: float | None = None) -> bool:
        """As ``Collection.wait_until_indexed``."""
        return await in_thread(self.sync.wait_until_indexed, timeout)

    async def optimize(self, timeout: float | None = None) -> bool:
        """As ``Collection.optimize``."""
        return await in_thread(self.sync.optimize, timeout)
