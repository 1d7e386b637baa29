"""Reading keys and records, to be awaited: the names, arguments and answers of ``KeyReads`` and ``CollectionReads``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, overload

from . import _core, arguments
from .collection_reads import _PAGE as _RECORDS
from .collection_reads import CollectionReads
from .kv_entries import Bytes
from .kv_reads import _PAGE, KeyPage, KeyReads
from .paging import all_awaited
from .queries import Further, Fusion, Mode, asked, several
from .records import FileInfo, Page, Record
from .reports import CollectionInfo
from .results import DuplicatePair, Facet, Results
from .threads import cancellable, in_thread
from .vectors import SupportsArray, Vector, Vectors

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Unpack

T = TypeVar("T")


class AsyncKeyReads:
    """``KeyReads`` whose calls are awaited; listings are for ``async for``. ``sync`` is the object underneath."""

    __slots__ = ()

    sync: KeyReads

    @property
    def name(self) -> str:
        """As ``Keyspace.name``."""
        return self.sync.name

    @overload
    async def get(self, key: Bytes) -> bytes | None: ...
    @overload
    async def get(self, key: Bytes, default: T) -> bytes | T: ...
    async def get(self, key: Bytes, default: object = None) -> object:
        """As ``Keyspace.get``."""
        return await in_thread(self.sync.get, key, default)

    async def get_many(self, keys: Iterable[Bytes]) -> list[bytes | None]:
        """As ``Keyspace.get_many``."""
        return await in_thread(self.sync.get_many, keys)

    async def scan(
        self,
        *,
        prefix: Bytes | None = None,
        start: Bytes | None = None,
        stop: Bytes | None = None,
        reverse: bool = False,
        limit: int = _PAGE,
        cursor: str | None = None,
        keys_only: bool = False,
    ) -> KeyPage:
        """As ``Keyspace.scan``."""
        return await in_thread(
            self.sync.scan,
            prefix=prefix,
            start=start,
            stop=stop,
            reverse=reverse,
            limit=limit,
            cursor=cursor,
            keys_only=keys_only,
        )

    async def ttl(self, key: Bytes) -> float | None:
        """As ``KeyReads.ttl``."""
        return await in_thread(self.sync.ttl, key)

    async def count_estimate(self, prefix: Bytes = b"") -> int:
        """As ``KeyReads.count_estimate``."""
        return await in_thread(self.sync.count_estimate, prefix)

    async def items(
        self,
        *,
        prefix: Bytes | None = None,
        start: Bytes | None = None,
        stop: Bytes | None = None,
        reverse: bool = False,
    ) -> AsyncIterator[tuple[bytes, bytes]]:
        """As ``Keyspace.items``."""
        async for entry in self._all(prefix, start, stop, reverse, keys_only=False):
            yield entry

    async def keys(
        self,
        *,
        prefix: Bytes | None = None,
        start: Bytes | None = None,
        stop: Bytes | None = None,
        reverse: bool = False,
    ) -> AsyncIterator[bytes]:
        """As ``Keyspace.keys``."""
        async for key, _ in self._all(prefix, start, stop, reverse, keys_only=True):
            yield key

    async def values(
        self,
        *,
        prefix: Bytes | None = None,
        start: Bytes | None = None,
        stop: Bytes | None = None,
        reverse: bool = False,
    ) -> AsyncIterator[bytes]:
        """As ``Keyspace.values``."""
        async for _, value in self._all(prefix, start, stop, reverse, keys_only=False):
            yield value

    def _all(
        self, prefix: Bytes | None, start: Bytes | None, stop: Bytes | None, reverse: bool, *, keys_only: bool
    ) -> AsyncIterator[tuple[bytes, bytes]]:
        def page(cursor: str | None) -> Awaitable[KeyPage]:
            return self.scan(prefix=prefix, start=start, stop=stop, reverse=reverse, cursor=cursor, keys_only=keys_only)

        return all_awaited(page)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self.keys()

    def __repr__(self) -> str:
        return f"Async{self.sync!r}"

    def __reduce__(self) -> NoReturn:
        self.sync.__reduce__()


class AsyncCollectionReads:
    """``CollectionReads`` whose calls are awaited. ``sync`` is the object underneath."""

    __slots__ = ()

    sync: CollectionReads

    @property
    def name(self) -> str:
        """As ``Collection.name``."""
        return self.sync.name

    @overload
    async def get(self, ids: str, *, include: Sequence[str] = ...) -> Record | None: ...  # type: ignore[overload-overlap]
    @overload
    async def get(self, ids: Iterable[str], *, include: Sequence[str] = ...) -> list[Record | None]: ...
    async def get(
        self, ids: str | Iterable[str], *, include: Sequence[str] = ("text", "payload")
    ) -> Record | list[Record | None] | None:
        """As ``Collection.get``."""
        return await in_thread(self.sync.get, ids, include=include)

    async def count(self, where: str | None = None) -> int:
        """As ``Collection.count``."""
        return await in_thread(self.sync.count, where)

    async def duplicates(
        self, threshold: float = 0.95, *, where: str | None = None, neighbors: int = 10
    ) -> list[DuplicatePair]:
        """As ``Collection.duplicates``."""
        return await in_thread(self.sync.duplicates, threshold, where=where, neighbors=neighbors)

    async def facets(
        self, fields: str | Iterable[str], *, where: str | None = None, limit: int = 10
    ) -> dict[str, Facet]:
        """As ``Collection.facets``."""
        return await in_thread(self.sync.facets, fields, where=where, limit=limit)

    async def search(
        self,
        text: str | None = None,
        *,
        vector: Vector | None = None,
        like: str | None = None,
        using: str | None = None,
        vectors: Mapping[str, Vector] | None = None,
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
        ef: int | None = None,
        exact: bool = False,
        timeout: float | None = None,
        **further: Unpack[Further],
    ) -> Results:
        """As ``Collection.search``. Cancelling the task ends the search."""

        def search(cancel: _core.CancelFlag) -> Results:
            one = asked(
                text=text,
                vector=vector,
                like=like,
                using=using,
                vectors=vectors,
                limit=limit,
                offset=offset,
                cursor=cursor,
                where=where,
                mode=mode,
                fusion=fusion,
                weights=weights,
                include=include,
                recall=recall,
                ef=ef,
                exact=exact,
                timeout=timeout,
                cancel=cancel,
                explain=explain,
                **further,
            )
            return self.sync._core.search(one)

        return await cancellable(search, of=self.sync._core)

    async def search_many(
        self,
        texts: Iterable[str] | None = None,
        *,
        vectors: Vectors | None = None,
        using: str | None = None,
        limit: int = 10,
        offset: int = 0,
        where: str | None = None,
        mode: Mode | None = None,
        fusion: Fusion = "rrf",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        include: Sequence[str] = ("text", "payload"),
        explain: bool = False,
        recall: float | None = None,
        ef: int | None = None,
        exact: bool = False,
        timeout: float | None = None,
        **further: Unpack[Further],
    ) -> list[Results]:
        """As ``Collection.search_many``. Cancelling the task ends the searches."""

        def search(cancel: _core.CancelFlag) -> list[Results]:
            one = asked(
                using=using,
                limit=limit,
                offset=offset,
                where=where,
                mode=mode,
                fusion=fusion,
                weights=weights,
                include=include,
                recall=recall,
                ef=ef,
                exact=exact,
                timeout=timeout,
                cancel=cancel,
                explain=explain,
                **further,
            )
            return self.sync._core.search_many(one, *several(texts, vectors))

        return await cancellable(search, of=self.sync._core)

    @overload
    async def search_ids(
        self,
        vectors: SupportsArray,
        *,
        using: str | None = ...,
        limit: int = ...,
        where: str | None = ...,
        recall: float | None = ...,
        ef: int | None = ...,
        exact: bool = ...,
        timeout: float | None = ...,
    ) -> tuple[NDArray[Any], NDArray[Any]]: ...
    @overload
    async def search_ids(
        self,
        vectors: Sequence[Vector],
        *,
        using: str | None = ...,
        limit: int = ...,
        where: str | None = ...,
        recall: float | None = ...,
        ef: int | None = ...,
        exact: bool = ...,
        timeout: float | None = ...,
    ) -> tuple[list[list[str]], list[list[float]]]: ...
    async def search_ids(
        self,
        vectors: SupportsArray | Sequence[Vector],
        *,
        using: str | None = None,
        limit: int = 10,
        where: str | None = None,
        recall: float | None = None,
        ef: int | None = None,
        exact: bool = False,
        timeout: float | None = None,
    ) -> tuple[Any, Any]:
        """As ``Collection.search_ids``. Cancelling the task ends the searches."""

        def search(cancel: _core.CancelFlag) -> tuple[Any, Any]:
            one = asked(
                using=using,
                limit=limit,
                where=where,
                recall=recall,
                ef=ef,
                exact=exact,
                timeout=timeout,
                cancel=cancel,
            )
            return self.sync._search_ids(one, vectors)

        return await cancellable(search, of=self.sync._core)

    async def scan(
        self,
        *,
        where: str | None = None,
        limit: int = _RECORDS,
        cursor: str | None = None,
        include: Sequence[str] = ("text", "payload"),
    ) -> Page:
        """As ``Collection.scan``."""
        return await in_thread(self.sync.scan, where=where, limit=limit, cursor=cursor, include=include)

    async def files(self, prefix: arguments.StrPath = "") -> list[FileInfo]:
        """As ``CollectionReads.files``."""
        return await in_thread(self.sync.files, prefix)

    async def info(self) -> CollectionInfo:
        """As ``CollectionReads.info``."""
        return await in_thread(self.sync.info)

    def __aiter__(self) -> AsyncIterator[Record]:
        return all_awaited(lambda cursor: self.scan(cursor=cursor))

    def __repr__(self) -> str:
        return f"Async{self.sync!r}"

    def __reduce__(self) -> NoReturn:
        self.sync.__reduce__()
