"""One import: the only place where importers write.

What it is: ``Importing`` makes collections, keyspaces and caches in a database, in batches, and counts what could not be carried.
What it is not: a reader of files; each kind has a module for that.
Invariant: an import that fails leaves nothing behind. One that was killed leaves a note of what it was making, and the next import
of that name begins with removing it.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from ..database import Database, Elements, Metric
from ..errors import ConflictError, InvalidError, NuthatchError
from ..transfer import TransferProgress

if TYPE_CHECKING:
    from typing_extensions import Self

Target: TypeAlias = Literal["collection", "keyspace", "cache"]
OnProgress: TypeAlias = "Callable[[TransferProgress], object] | None"

#: Records read and stored at a time.
BATCH = 1000
#: Notes of what imports are making. It exists only while one runs, or after one was killed.
_NOTES = "nuthatch.imports"


class Imported(NamedTuple):
    """A collection, a keyspace or a cache that was imported."""

    name: str
    #: Records of a collection, keys of a keyspace, answers of a cache.
    records: int
    #: What could not be carried, with how often.
    left_out: dict[str, int] = {}  # noqa: RUF012 (a field of a tuple, which nothing changes)
    target: Target = "collection"


class Importing:
    """Everything that one call of an importer makes: all of it, or nothing."""

    def __init__(self, db: Database, source: object, on_progress: OnProgress = None) -> None:
        self._db = db
        self._source = str(source)
        self._on_progress = on_progress
        self._made: list[tuple[Target, str, bool]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._forget()
            return
        # A removal that fails leaves its note, and the next import of that name removes the rest.
        with contextlib.suppress(NuthatchError):
            for target, name, is_new in reversed(self._made):
                self._remove(target, name, is_new)
            self._forget()

    def collection(
        self,
        name: str,
        batches: Iterable[list[dict[str, Any]]],
        *,
        metric: Metric | None = None,
        dim: int | None = None,
        elements: Elements | None = None,
        left_out: Counter[str] | None = None,
        total: int = 0,
    ) -> Imported:
        """Stores batches of records in a collection of that name, which must be new or empty. ``left_out`` is read at the end."""
        self._begin("collection", name, name in {info.name for info in self._db.collections()})
        collection = self._db.collection(name, dim=dim, metric=metric, elements=elements, embedder="none")
        if len(collection):
            self._not_empty("collection", name)
        records, empty = 0, 0
        for given in batches:
            batch = [record for record in given if not _is_empty(record)]
            empty += len(given) - len(batch)
            if batch:
                # An id twice in one batch is an error of the engine's; twice in two batches would lose a record.
                records += self._inserted(name, collection.upsert(batch))
                self.tell(name, records, total)
        return Imported(name, records, _counts(left_out, {"records of an id alone": empty}))

    def cache(
        self,
        name: str,
        answers: Iterable[Mapping[str, Any]],
        *,
        budget: float | None = None,
        left_out: Counter[str] | None = None,
        total: int = 0,
    ) -> Imported:
        """Stores answers, given as the arguments of ``Cache.store``, in a cache of that name, which must be new or empty."""
        self._begin("cache", name, name in self._db.caches())
        cache = self._db.cache(name, budget=budget, durability="os")
        if cache.stats().entries:
            self._not_empty("cache", name)
        records = 0
        for answer in answers:
            records += cache.store(**answer).stored
            if records % BATCH == 0:
                self.tell(name, records, total)
        self.tell(name, records, total)
        return Imported(name, records, _counts(left_out), "cache")

    def keyspace(self, name: str) -> None:
        """Begins to make a keyspace, which must be new or empty; the caller fills it."""
        self._begin("keyspace", name, name in self._db.keyspaces())
        if name in self._db.keyspaces() and self._db.kv(name).scan(limit=1, keys_only=True):
            self._not_empty("keyspace", name)

    def _begin(self, target: Target, name: str, is_there: bool) -> None:
        """Notes what is about to be made. What a killed import left under that name goes first."""
        notes = self._db.kv(_NOTES)
        key = f"{target}/{name}"
        if (found := notes.get(key)) is not None:
            note = json.loads(found)
            if _is_running(note["process"]):
                raise ConflictError(
                    f"process {note['process']} is importing {note['source']} into {target} {name!r}; wait for its end"
                )
            self._remove(target, name, note["is_new"])
            is_there = not note["is_new"]
        self._made.append((target, name, not is_there))
        note = {"source": self._source, "is_new": not is_there, "process": _this_process()}
        notes.put(key, json.dumps(note))

    def _not_empty(self, target: Target, name: str) -> None:
        # It was there before: nothing of it may be undone.
        self._made = [made for made in self._made if made[:2] != (target, name)]
        self._db.kv(_NOTES).delete(f"{target}/{name}")
        raise InvalidError(f"{target} {name!r} exists and is not empty; drop it first, or use another data folder")

    def _inserted(self, name: str, upserted: tuple[int, int]) -> int:
        inserted, replaced = upserted
        if replaced:
            raise InvalidError(
                f"{self._source} has {replaced} ids more than once among the records of {name!r}; make them unique there,"
                " or choose another column for the ids"
            )
        return inserted

    def tell(self, name: str, done: int, total: int = 0) -> None:
        """Tells the caller how far the import is."""
        if self._on_progress is not None:
            self._on_progress(TransferProgress(name, done, total))

    def _forget(self) -> None:
        if _NOTES not in self._db.keyspaces():
            return
        notes = self._db.kv(_NOTES)
        # This write is durable, and with it all before it.
        notes.delete([f"{target}/{name}" for target, name, _ in self._made])
        if not notes.scan(limit=1, keys_only=True):
            self._db.drop_keyspace(_NOTES)

    def _remove(self, target: Target, name: str, is_new: bool) -> None:
        if target == "cache":
            if name in self._db.caches():
                self._db.drop_cache(name) if is_new else self._db.cache(name).clear()
        elif target == "keyspace":
            if name in self._db.keyspaces():
                self._db.drop_keyspace(name) if is_new else self._db.kv(name).clear()
        elif is_new:
            self._db.drop_collection(name)
        else:
            collection = self._db.collection(name)
            while page := list(collection.scan(limit=BATCH, include=())):
                collection.delete([record.id for record in page])


def _is_empty(record: dict[str, Any]) -> bool:
    """Whether there is nothing to store: no record is an id alone."""
    return record.get("vector") is None and record.get("text") is None and not record.get("payload")


def _counts(left_out: Counter[str] | None, more: Mapping[str, int] = {}) -> dict[str, int]:
    return {what: count for what, count in {**(left_out or {}), **more}.items() if count}


def counted(rows: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Rows in lists of that size."""
    part: list[Any] = []
    for row in rows:
        part.append(row)
        if len(part) == size:
            yield part
            part = []
    if part:
        yield part


def _this_process() -> str:
    return f"{os.getpid()} on {socket.gethostname()}"


def _is_running(process: str) -> bool:
    pid, _, host = process.partition(" on ")
    if process == _this_process() or host != socket.gethostname():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # somebody else's
    return True
