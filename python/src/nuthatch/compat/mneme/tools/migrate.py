"""Carries the answers of a cache to another embedder: a new cache with the same answers and other vectors.

Answers keep their namespaces, metadata, expiry, and when they were made and used. Counters stay behind: they tell of the old
embedder.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from .... import database as databases
from ....database import Database
from ..embedding import AsyncEmbedder, Embedder
from ..entries import Entries, Entry, Used, hash_of, normalized

_BATCH = 64


def reembed(
    source_path: str | Path,
    dest_path: str | Path,
    new_embedder: Embedder,
    *,
    batch_size: int = _BATCH,
    progress: bool = False,
    namespaces: list[str] | None = None,
    name: str = "mneme",
) -> int:
    """Fills the cache in the folder ``dest_path`` from that in ``source_path``, and returns the number of answers.

    What the target has under this ``name`` is replaced. A call that was interrupted is made again from the start.
    """
    with _Move(source_path, dest_path, new_embedder, name, namespaces, progress=progress) as move:
        for part in move.parts(batch_size):
            move.put(part, [new_embedder.embed(_text_of(one, entry)) for one, entry in part])
        return move.done


async def areembed(
    source_path: str | Path,
    dest_path: str | Path,
    new_embedder: AsyncEmbedder,
    *,
    batch_size: int = _BATCH,
    progress: bool = False,
    concurrency: int = 8,
    namespaces: list[str] | None = None,
    name: str = "mneme",
) -> int:
    """As ``reembed``, with an embedder to be awaited, ``concurrency`` texts at a time."""
    limit = asyncio.Semaphore(max(1, concurrency))

    async def embedded(one: Used, entry: Entry) -> Sequence[float]:
        async with limit:
            return await new_embedder.embed(_text_of(one, entry))

    with await asyncio.to_thread(
        _Move, source_path, dest_path, new_embedder, name, namespaces, progress=progress
    ) as move:
        parts = move.parts(batch_size)
        while part := await asyncio.to_thread(next, parts, None):
            vectors = await asyncio.gather(*(embedded(one, entry) for one, entry in part))
            await asyncio.to_thread(move.put, part, vectors)
        return move.done


class _Move:
    """Both caches, open."""

    def __init__(
        self,
        source_path: str | Path,
        dest_path: str | Path,
        embedder: Embedder | AsyncEmbedder,
        name: str,
        namespaces: list[str] | None,
        *,
        progress: bool,
    ) -> None:
        if not Path(source_path).exists():
            raise FileNotFoundError(f"{source_path} does not exist; give the folder of the cache to carry over")
        if Path(source_path).resolve() == Path(dest_path).resolve():
            raise ValueError(f"source and target must differ; both are {source_path}")
        self._progress = progress
        self.done = 0
        self._open: list[Database] = []
        try:
            source, target = (self._connected(path) for path in (source_path, dest_path))
            if (found := Entries.existing(source, name)) is None:
                raise ValueError(f"{source_path} has no cache named {name!r}; give the folder of SemanticCache")
            self._source = found
            self._found = [one for one in found.used() if namespaces is None or one.namespace in namespaces]
            if (before := Entries.existing(target, name)) is not None:
                before.drop()
            made_with = {"fingerprint": embedder.fingerprint, "dim": embedder.dim, "dtype": "float32"}
            self._target = Entries(target, name, made_with)
        except BaseException:
            self._close()
            raise

    def _connected(self, path: str | Path) -> Database:
        database = databases.connect(path)
        self._open.append(database)
        return database

    def parts(self, size: int) -> Iterator[list[tuple[Used, Entry]]]:
        """The answers, so many at a time."""
        known = ((one, self._source.get(one.namespace, one.hash)) for one in self._found)
        found = ((one, entry) for one, entry in known if entry is not None)
        while part := list(islice(found, max(1, size))):
            yield part

    def put(self, part: Sequence[tuple[Used, Entry]], vectors: Sequence[Any]) -> None:
        """Stores answers with their new vectors."""
        pairs = zip(part, vectors, strict=True)
        self._target.put_many(
            [(entry, one.hash, [float(x) for x in vector], one.accessed_ms) for (one, entry), vector in pairs]
        )
        self.done += len(part)
        if self._progress:
            sys.stderr.write(f"\rreembed: {self.done}/{len(self._found)}")
            sys.stderr.write("\n" if self.done == len(self._found) else "")
            sys.stderr.flush()

    def _close(self) -> None:
        for database in self._open:
            database.close()

    def __enter__(self) -> _Move:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()


def _text_of(used: Used, entry: Entry) -> str:
    """The text that the cache embeds: which of the two, its hash tells."""
    text = normalized(entry.query)
    return text if hash_of(text) == used.hash else entry.query
