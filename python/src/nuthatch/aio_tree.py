"""Trees to be awaited: the names, arguments and answers of ``Tree``."""

from __future__ import annotations

import io
import os
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Literal, NoReturn, TypeAlias

from .arguments import StrPath
from .changes import Fields
from .kv_entries import Bytes
from .threads import in_thread
from .tree import _PAGE, AsOf, FilesToPut, SnapshotTree, Tree, TreeReads
from .tree_code import AsyncTreeCode, SymbolsImported
from .tree_entries import (
    AddedFolder,
    PutReport,
    RestoredFiles,
    TreeChange,
    TreeEntry,
    TreeErased,
    TreeInfo,
    TreePassages,
    TreeRoot,
    TreeSnapshot,
    TreeVerified,
)
from .tree_grep import GrepCut, GrepMatch, GrepMatches, GrepRead, TreeIndex

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .queries import Further, Fusion, Mode
    from .results import Facet, Results
    from .vectors import Vector

_Entries: TypeAlias = "list[TreeEntry]"
_Changes: TypeAlias = "list[TreeChange]"
_Snapshots: TypeAlias = "list[TreeSnapshot]"


class AsyncGrepMatches(AsyncIterator[GrepMatch]):
    """``GrepMatches`` for ``async for``. ``sync`` is the iterator underneath."""

    __slots__ = ("_left", "sync")

    def __init__(self, sync: GrepMatches) -> None:
        self.sync: GrepMatches = sync
        self._left: list[GrepMatch] = []

    def __aiter__(self) -> AsyncGrepMatches:
        return self

    async def __anext__(self) -> GrepMatch:
        while not self._left:
            if self.sync.has_ended:
                raise StopAsyncIteration
            self._left = (await in_thread(self.sync.page))[::-1]
        return self._left.pop()

    @property
    def searched(self) -> int:
        """As ``GrepMatches.searched``."""
        return self.sync.searched

    @property
    def cut(self) -> list[GrepCut]:
        """As ``GrepMatches.cut``."""
        return self.sync.cut

    @property
    def read(self) -> GrepRead:
        """As ``GrepMatches.read``."""
        return self.sync.read

    def __repr__(self) -> str:
        return f"Async{self.sync!r}"


class AsyncTreeReads:
    """``TreeReads`` whose calls are awaited; listings and searches are for ``async for``. ``sync`` is the object underneath."""

    __slots__ = ()

    sync: TreeReads

    @property
    def name(self) -> str:
        """As ``Tree.name``."""
        return self.sync.name

    async def info(self) -> TreeInfo:
        """As ``Tree.info``."""
        return await in_thread(self.sync.info)

    async def get(self, path: str, *, as_of: AsOf | None = None, start: int = 0, end: int | None = None) -> bytes:
        """As ``Tree.get``."""
        return await in_thread(self.sync.get, path, as_of=as_of, start=start, end=end)

    async def open(self, path: str, *, as_of: AsOf | None = None) -> io.BufferedReader:
        """As ``Tree.open``. The file object's own calls are not awaited: read it in a thread (``asyncio.to_thread``)."""
        return await in_thread(self.sync.open, path, as_of=as_of)

    async def restore(
        self,
        folder: str | os.PathLike[str],
        *,
        as_of: AsOf | None = None,
        below: str = "",
        globs: str | Iterable[str] = (),
        dry_run: bool = False,
        overwrite: bool = False,
    ) -> RestoredFiles:
        """As ``Tree.restore``."""
        return await in_thread(
            self.sync.restore,
            folder,
            as_of=as_of,
            below=below,
            globs=globs,
            dry_run=dry_run,
            overwrite=overwrite,
        )

    async def entry(self, path: str, *, as_of: AsOf | None = None) -> TreeEntry | None:
        """As ``Tree.entry``."""
        return await in_thread(self.sync.entry, path, as_of=as_of)

    async def list(
        self, below: str = "", *, as_of: AsOf | None = None, where: str | None = None
    ) -> AsyncIterator[TreeEntry]:
        """As ``Tree.list``."""
        entries = self.sync.list(below, as_of=as_of, where=where)
        while page := await in_thread(_some, entries):
            for entry in page:
                yield entry

    def __aiter__(self) -> AsyncIterator[TreeEntry]:
        return self.list()

    async def contains(self, path: str) -> bool:
        """Whether something stands at a path: ``path in tree``, which cannot be awaited."""
        return await in_thread(self.sync.__contains__, path)

    async def versions(self, path: str) -> _Entries:
        """As ``Tree.versions``."""
        return await in_thread(self.sync.versions, path)

    async def snapshots(self) -> _Snapshots:
        """As ``Tree.snapshots``."""
        return await in_thread(self.sync.snapshots)

    async def diff(
        self,
        from_: AsOf | None,
        to: AsOf | None = None,
        *,
        below: str = "",
        renames: bool = True,
        to_tree: str | None = None,
    ) -> _Changes:
        """As ``Tree.diff``."""
        return await in_thread(self.sync.diff, from_, to, below=below, renames=renames, to_tree=to_tree)

    async def grep(
        self,
        pattern: str | Iterable[str],
        *,
        fixed_strings: bool = False,
        ignore_case: bool = False,
        smart_case: bool = False,
        word: bool = False,
        line: bool = False,
        invert: bool = False,
        multiline: bool = False,
        text: bool = False,
        globs: str | Iterable[str] = (),
        types: str | Iterable[str] = (),
        types_not: str | Iterable[str] = (),
        before_context: int = 0,
        after_context: int = 0,
        max_count: int | None = None,
        below: str = "",
        as_of: AsOf | None = None,
        history: bool = False,
        index: Literal["auto", "never", "always"] = "auto",
        where: str | None = None,
    ) -> AsyncGrepMatches:
        """As ``Tree.grep``: ``async for found in await tree.grep("pattern"):``."""
        found = await in_thread(
            self.sync.grep,
            pattern,
            fixed_strings=fixed_strings,
            ignore_case=ignore_case,
            smart_case=smart_case,
            word=word,
            line=line,
            invert=invert,
            multiline=multiline,
            text=text,
            globs=globs,
            types=types,
            types_not=types_not,
            before_context=before_context,
            after_context=after_context,
            max_count=max_count,
            below=below,
            as_of=as_of,
            history=history,
            index=index,
            where=where,
        )
        return AsyncGrepMatches(found)

    async def facets(
        self,
        fields: str | Iterable[str],
        *,
        where: str | None = None,
        as_of: AsOf | None = None,
        below: str = "",
        limit: int = 10,
    ) -> dict[str, Facet]:
        """As ``Tree.facets``."""
        return await in_thread(self.sync.facets, fields, where=where, as_of=as_of, below=below, limit=limit)

    async def root(self, *, as_of: AsOf | None = None, below: str = "") -> TreeRoot:
        """As ``Tree.root``."""
        return await in_thread(self.sync.root, as_of=as_of, below=below)

    async def verify(self, *, as_of: AsOf | None = None, below: str = "") -> TreeVerified:
        """As ``Tree.verify``."""
        return await in_thread(self.sync.verify, as_of=as_of, below=below)

    async def index(self, *, wait: bool = False) -> TreeIndex:
        """As ``Tree.index``."""
        return await in_thread(self.sync.index, wait=wait)

    @property
    def code(self) -> AsyncTreeCode:
        """As ``Tree.code``; its calls are awaited."""
        return AsyncTreeCode(self.sync.code)

    def __repr__(self) -> str:
        return f"Async{self.sync!r}"

    def __reduce__(self) -> NoReturn:
        self.sync.__reduce__()


class AsyncTree(AsyncTreeReads):
    """A ``Tree`` whose calls are awaited. ``sync`` is the tree underneath.

    >>> import asyncio, nuthatch
    >>> async def main():
    ...     async with nuthatch.connect_async(":memory:") as db:
    ...         tree = await db.tree("notes")
    ...         await tree.put_many({"a.txt": "one", "b.txt": "two"})
    ...         return [entry.path async for entry in tree], [found.line async for found in await tree.grep("t")]
    >>> asyncio.run(main())
    (['a.txt', 'b.txt'], ['two'])
    """

    __slots__ = ("sync",)

    sync: Tree

    def __init__(self, sync: Tree) -> None:
        self.sync = sync

    async def put(
        self, path: str, data: Bytes, *, mode: int = 0o644, modified: datetime | int | None = None
    ) -> PutReport:
        """As ``Tree.put``."""
        return await in_thread(self.sync.put, path, data, mode=mode, modified=modified)

    async def put_many(self, files: FilesToPut, *, remove: Iterable[str] = ()) -> PutReport:
        """As ``Tree.put_many``."""
        return await in_thread(self.sync.put_many, files, remove=remove)

    async def add(
        self,
        path: str | os.PathLike[str],
        *,
        below: str = "",
        hidden: bool = False,
        ignore: bool = True,
        keep_missing: bool = False,
        tags: str | Iterable[str] = (),
        payload: Fields | None = None,
    ) -> AddedFolder:
        """As ``Tree.add``."""
        return await in_thread(
            self.sync.add,
            path,
            below=below,
            hidden=hidden,
            ignore=ignore,
            keep_missing=keep_missing,
            tags=tags,
            payload=payload,
        )

    async def update(
        self,
        paths: str | Iterable[str] = (),
        *,
        where: str | None = None,
        set: Fields | None = None,
        add: Fields | None = None,
        remove: Fields | None = None,
        unset: str | Iterable[str] = (),
    ) -> int:
        """As ``Tree.update``."""
        return await in_thread(self.sync.update, paths, where=where, set=set, add=add, remove=remove, unset=unset)

    async def search(
        self,
        text: str | None = None,
        *,
        as_of: AsOf | None = None,
        below: str = "",
        where: str | None = None,
        vector: Vector | None = None,
        like: str | None = None,
        limit: int = 10,
        offset: int = 0,
        cursor: str | None = None,
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
        """As ``Tree.search``."""
        return await in_thread(
            self.sync.search,
            text,
            as_of=as_of,
            below=below,
            where=where,
            vector=vector,
            like=like,
            limit=limit,
            offset=offset,
            cursor=cursor,
            mode=mode,
            fusion=fusion,
            weights=weights,
            include=include,
            explain=explain,
            recall=recall,
            ef=ef,
            exact=exact,
            timeout=timeout,
            **further,
        )

    async def make_passages(self, *, as_of: AsOf | None = None) -> TreePassages:
        """As ``Tree.make_passages``."""
        return await in_thread(self.sync.make_passages, as_of=as_of)

    async def remove(self, path: str) -> int:
        """As ``Tree.remove``."""
        return await in_thread(self.sync.remove, path)

    async def import_scip(self, index: StrPath | bytes, below: str = "") -> SymbolsImported:
        """As ``Tree.import_scip``."""
        return await in_thread(self.sync.import_scip, index, below)

    async def erase(self, path: str) -> TreeErased:
        """As ``Tree.erase``."""
        return await in_thread(self.sync.erase, path)

    async def snapshot(self, name: str) -> TreeSnapshot:
        """As ``Tree.snapshot``."""
        return await in_thread(self.sync.snapshot, name)

    async def drop_snapshot(self, name: str) -> bool:
        """As ``Tree.drop_snapshot``."""
        return await in_thread(self.sync.drop_snapshot, name)

    async def set_retention(self, *, versions: int | None, days: float | timedelta | None) -> None:
        """As ``Tree.set_retention``."""
        await in_thread(self.sync.set_retention, versions=versions, days=days)


class AsyncSnapshotTree(AsyncTreeReads):
    """A ``SnapshotTree`` whose calls are awaited."""

    __slots__ = ("sync",)

    sync: SnapshotTree

    def __init__(self, sync: SnapshotTree) -> None:
        self.sync = sync


def _some(entries: Iterator[TreeEntry]) -> _Entries:
    return list(islice(entries, _PAGE))
