"""The same API to be awaited. Calls run in threads; the engine lets the interpreter go while it works.

Every method has the name, the arguments and the answer of its counterpart in ``Database`` and ``Collection``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, NoReturn, ParamSpec, TypeVar, overload

from . import _core
from .arguments import StrPath
from .backups import BackupProgress, BackupReport
from .collection import _PAGE, Collection, Records
from .database import Database, Elements, Metric, connect
from .embedders import EmbedderLike
from .queries import Fusion, Mode, query
from .records import FileInfo, Page, Record, Upserted
from .reports import AddReport, CollectionInfo, Doctor, Progress, Stats
from .results import Results
from .transfer import ExportFormat, ExportReport, ImportReport, TransferProgress
from .vectors import Vector, Vectors

P = ParamSpec("P")
T = TypeVar("T")


def connect_async(
    path: StrPath,
    *,
    memory_budget: int | str | None = None,
    mapped: bool = False,
    build_memory: int | str | None = None,
    build_threads: int | None = None,
    create: bool = True,
    program: str | None = None,
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
            create=create,
            program=program,
        )
    )


async def _in_thread(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    import asyncio

    return await asyncio.to_thread(call, *args, **kwargs)


async def _cancellable(call: Callable[[_core.CancelFlag], T]) -> T:
    """``call`` in a thread. Cancelling the task sets the flag, and waits for the thread to end, which it soon does."""
    import asyncio

    cancel = _core.CancelFlag()
    work = asyncio.ensure_future(asyncio.to_thread(call, cancel))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        cancel.set()
        await asyncio.wait([work])
        if not work.cancelled():
            work.exception()  # what the call has come to is no longer asked for
        raise


class Connecting:
    """What ``connect_async`` gives: to be awaited, or entered with ``async with``."""

    __slots__ = ("_database", "_open")

    def __init__(self, open: Callable[[], Database]) -> None:
        self._open = open
        self._database: AsyncDatabase | None = None

    def __await__(self) -> Generator[Any, None, AsyncDatabase]:
        return self._connect().__await__()

    async def _connect(self) -> AsyncDatabase:
        return AsyncDatabase(await _in_thread(self._open))

    async def __aenter__(self) -> AsyncDatabase:
        self._database = await self._connect()
        return self._database

    async def __aexit__(self, *exception: object) -> None:
        if self._database is not None:
            await self._database.close()


class AsyncDatabase:
    """A ``Database`` whose calls are awaited. ``sync`` is the database underneath."""

    __slots__ = ("sync",)

    def __init__(self, sync: Database) -> None:
        self.sync = sync

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
        embedder: EmbedderLike | None = None,
        language: str | None = None,
    ) -> AsyncCollection:
        """As ``Database.collection``."""
        made = await _in_thread(
            self.sync.collection,
            name,
            dim=dim,
            metric=metric,
            elements=elements,
            embedder=embedder,
            language=language,
        )
        return AsyncCollection(made)

    async def collections(self) -> list[CollectionInfo]:
        """As ``Database.collections``."""
        return await _in_thread(self.sync.collections)

    async def drop_collection(self, name: str) -> bool:
        """As ``Database.drop_collection``."""
        return await _in_thread(self.sync.drop_collection, name)

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
    ) -> AddReport:
        """As ``Database.add``. ``on_progress`` is called in the event loop; cancelling the task stops after a batch."""
        import asyncio

        loop = asyncio.get_running_loop()
        into = collection.sync if isinstance(collection, AsyncCollection) else collection
        tell: Callable[[Progress], object] | None = None
        if on_progress is not None:
            told = on_progress

            def tell(progress: Progress) -> None:
                loop.call_soon_threadsafe(told, progress)

        return await _cancellable(
            lambda cancel: self.sync._add(
                cancel,
                paths,
                into,
                prune,
                tell,
                hidden,
                follow_links,
                respect_ignore,
                max_file_bytes,
                passage_chars,
                overlap_chars,
            )
        )

    async def stats(self) -> Stats:
        """As ``Database.stats``."""
        return await _in_thread(self.sync.stats)

    async def doctor(self) -> Doctor:
        """As ``Database.doctor``."""
        return await _in_thread(self.sync.doctor)

    async def backup(
        self,
        place: StrPath,
        *,
        indexes: bool = True,
        rate: int | str | None = None,
        on_progress: Callable[[BackupProgress], object] | None = None,
    ) -> BackupReport:
        """As ``Database.backup``. ``on_progress`` is called in a thread of its own."""
        return await _in_thread(self.sync.backup, place, indexes=indexes, rate=rate, on_progress=on_progress)

    async def export_to(
        self,
        folder: StrPath,
        *,
        format: ExportFormat = "jsonl",
        collection: str | None = None,
        on_progress: Callable[[TransferProgress], object] | None = None,
    ) -> ExportReport:
        """As ``Database.export_to``. ``on_progress`` is called in a thread of its own."""
        return await _in_thread(
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
        return await _in_thread(
            self.sync.import_from, folder, collection=collection, merge=merge, on_progress=on_progress
        )

    async def close(self) -> None:
        """As ``Database.close``."""
        await _in_thread(self.sync.close)

    async def __aenter__(self) -> AsyncDatabase:
        self.sync.__enter__()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"Async{self.sync!r}"

    def __reduce__(self) -> NoReturn:
        self.sync.__reduce__()


class AsyncCollection:
    """A ``Collection`` whose calls are awaited. ``sync`` is the collection underneath."""

    __slots__ = ("sync",)

    def __init__(self, sync: Collection) -> None:
        self.sync = sync

    @property
    def name(self) -> str:
        """As ``Collection.name``."""
        return self.sync.name

    async def upsert(
        self,
        records: Records | None = None,
        *,
        ids: Iterable[str] | None = None,
        texts: Iterable[str | None] | None = None,
        vectors: Vectors | None = None,
        payloads: Iterable[Mapping[str, Any] | None] | None = None,
    ) -> Upserted:
        """As ``Collection.upsert``."""
        return await _in_thread(self.sync.upsert, records, ids=ids, texts=texts, vectors=vectors, payloads=payloads)

    @overload
    async def get(self, ids: str, *, include: Sequence[str] = ...) -> Record | None: ...  # type: ignore[overload-overlap]
    @overload
    async def get(self, ids: Iterable[str], *, include: Sequence[str] = ...) -> list[Record | None]: ...
    async def get(
        self, ids: str | Iterable[str], *, include: Sequence[str] = ("text", "payload")
    ) -> Record | list[Record | None] | None:
        """As ``Collection.get``."""
        return await _in_thread(self.sync.get, ids, include=include)

    async def delete(self, ids: str | Iterable[str] | None = None, *, where: str | None = None) -> int:
        """As ``Collection.delete``."""
        return await _in_thread(self.sync.delete, ids, where=where)

    async def count(self, where: str | None = None) -> int:
        """As ``Collection.count``."""
        return await _in_thread(self.sync.count, where)

    async def search(
        self,
        text: str | None = None,
        *,
        vector: Vector | None = None,
        like: str | None = None,
        limit: int = 10,
        offset: int = 0,
        cursor: str | None = None,
        where: str | None = None,
        mode: Mode | None = None,
        fusion: Fusion = "rrf",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        include: Sequence[str] = ("text", "payload"),
        explain: bool = False,
        recall: float | None = None,
        effort: int | None = None,
        exact: bool = False,
        timeout: float | None = None,
    ) -> Results:
        """As ``Collection.search``. Cancelling the task ends the search."""

        def search(cancel: _core.CancelFlag) -> Results:
            asked = query(
                text=text,
                vector=vector,
                like=like,
                limit=limit,
                offset=offset,
                cursor=cursor,
                where=where,
                mode=mode,
                fusion=fusion,
                weights=weights,
                include=include,
                recall=recall,
                effort=effort,
                exact=exact,
                timeout=timeout,
                cancel=cancel,
            )
            return self.sync._search(asked, explain)

        return await _cancellable(search)

    async def search_many(
        self,
        texts: Iterable[str] | None = None,
        *,
        vectors: Vectors | None = None,
        limit: int = 10,
        offset: int = 0,
        where: str | None = None,
        mode: Mode | None = None,
        fusion: Fusion = "rrf",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        include: Sequence[str] = ("text", "payload"),
        explain: bool = False,
        recall: float | None = None,
        effort: int | None = None,
        exact: bool = False,
        timeout: float | None = None,
    ) -> list[Results]:
        """As ``Collection.search_many``. Cancelling the task ends the searches."""

        def search(cancel: _core.CancelFlag) -> list[Results]:
            asked = query(
                limit=limit,
                offset=offset,
                where=where,
                mode=mode,
                fusion=fusion,
                weights=weights,
                include=include,
                recall=recall,
                effort=effort,
                exact=exact,
                timeout=timeout,
                cancel=cancel,
            )
            return self.sync._search_many(asked, texts, vectors, explain)

        return await _cancellable(search)

    async def scan(
        self,
        *,
        where: str | None = None,
        limit: int = _PAGE,
        cursor: str | None = None,
        include: Sequence[str] = ("text", "payload"),
    ) -> Page:
        """As ``Collection.scan``."""
        return await _in_thread(self.sync.scan, where=where, limit=limit, cursor=cursor, include=include)

    async def __aiter__(self) -> AsyncIterator[Record]:
        page = await self.scan()
        while True:
            for record in page:
                yield record
            if page.cursor is None:
                return
            page = await self.scan(cursor=page.cursor)

    async def files(self, prefix: StrPath = "") -> list[FileInfo]:
        """As ``Collection.files``."""
        return await _in_thread(self.sync.files, prefix)

    async def remove_files(self, path: StrPath) -> int:
        """As ``Collection.remove_files``."""
        return await _in_thread(self.sync.remove_files, path)

    async def wait_until_indexed(self, timeout: float | None = None) -> bool:
        """As ``Collection.wait_until_indexed``."""
        return await _in_thread(self.sync.wait_until_indexed, timeout)

    async def optimize(self, timeout: float | None = None) -> bool:
        """As ``Collection.optimize``."""
        return await _in_thread(self.sync.optimize, timeout)

    async def info(self) -> CollectionInfo:
        """As ``Collection.info``."""
        return await _in_thread(self.sync.info)

    def __repr__(self) -> str:
        return f"Async{self.sync!r}"

    def __reduce__(self) -> NoReturn:
        self.sync.__reduce__()
