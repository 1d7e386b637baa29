"""A collection: records of one kind, searched together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias, overload

from . import arguments, batch, records, results
from .errors import InvalidError, NuthatchError
from .records import FileInfo, Page, Record, Upserted
from .reports import CollectionInfo
from .results import Results
from .vectors import Vector, Vectors, vector_bytes

if TYPE_CHECKING:
    from . import _core

Mode: TypeAlias = Literal["hybrid", "text", "vector"]
Fusion: TypeAlias = Literal["rrf", "weighted", "normalised"]
Records: TypeAlias = "Iterable[Mapping[str, Any] | Record] | Any"
"""Dicts or records; or an Arrow table, a pandas data frame, or anything that exports an Arrow stream."""

#: Records that an iteration reads at once.
_PAGE = 1000
_CURSOR = "after:"


class Collection:
    """Records with text, vector and payload. Made by ``Database.collection``; safe to share between threads.

    >>> import nuthatch
    >>> with nuthatch.connect(":memory:") as db:
    ...     places = db.collection("places", dim=2, metric="l2", embedder="none")
    ...     places.upsert([{"id": "here", "vector": [0, 0]}, {"id": "there", "vector": [3, 4]}])
    ...     [(hit.id, hit.score) for hit in places.search(vector=[0, 0])]
    Upserted(inserted=2, replaced=0)
    [('here', 0.0), ('there', 5.0)]
    """

    __slots__ = ("_core",)

    def __init__(self, core: _core.Collection) -> None:
        self._core = core

    @property
    def name(self) -> str:
        """The collection's name."""
        return self._core.name

    def upsert(
        self,
        records: Records | None = None,
        *,
        ids: Iterable[str] | None = None,
        texts: Iterable[str | None] | None = None,
        vectors: Vectors | None = None,
        payloads: Iterable[Mapping[str, Any] | None] | None = None,
    ) -> Upserted:
        """Inserts records, replacing those with the same id: all or nothing, on disk when it returns.

        Either ``records``: any iterable of dicts with ``id`` and any of ``text``, ``vector``, ``payload``, ``context``
        (headings above the text, searched with it) and ``code`` (True for source code); or an Arrow table or pandas data
        frame with an ``id`` column, optionally ``text``, ``vector`` and ``context``, and the other columns as payload. Or
        columns: ``ids`` with ``texts``, ``vectors`` (a numpy matrix, or a list) and ``payloads``.

        One call is one atomic batch, a generator included; send millions of records in several calls. Payload values are
        None, bool, int (64 bits), float (finite), str, datetime or date, and lists and dicts of these. A datetime without a
        time zone is taken as UTC; all come back aware, in UTC. Texts without a vector are embedded where the collection has
        an embedder.

        Raises InvalidError, naming the record and the field, for a wrong dimension, NaN, a repeated id, an unknown key or an
        unusable value: nothing is changed then.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     notes = db.collection("notes", embedder="none")
        ...     notes.upsert(ids=["a", "b"], texts=["one", "two"], vectors=[[1, 0], [0, 1]], payloads=[{"n": 1}, {"n": 2}])
        ...     notes.get("b")
        Upserted(inserted=2, replaced=0)
        Record(id='b', text='two', payload={'n': 2}, context=None, vector=None)
        """
        return Upserted(*self._core.upsert(batch.columns(records, ids, texts, vectors, payloads)))

    @overload
    def get(self, ids: str, *, include: Sequence[str] = ...) -> Record | None: ...  # type: ignore[overload-overlap]
    @overload
    def get(self, ids: Iterable[str], *, include: Sequence[str] = ...) -> list[Record | None]: ...
    def get(
        self, ids: str | Iterable[str], *, include: Sequence[str] = ("text", "payload")
    ) -> Record | list[Record | None] | None:
        """The record with this id, or None. For several ids a list in their order."""
        text, payload, vector = arguments.include(include)
        found = self._core.get_records(arguments.ids(ids), vector)
        made = [None if parts is None else records.of_parts(parts, text, payload) for parts in found]
        return made[0] if isinstance(ids, str) else made

    def delete(self, ids: str | Iterable[str] | None = None, *, where: str | None = None) -> int:
        """Deletes by ids (unknown ones are passed over) or by a filter; says how many records went.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     notes = db.collection("notes", embedder="none")
        ...     _ = notes.upsert([{"id": str(n), "payload": {"n": n}} for n in range(5)])
        ...     notes.delete("0"), notes.delete(where="n >= 3"), notes.count()
        (1, 2, 2)
        """
        if (ids is None) == (where is None):
            raise InvalidError(
                "delete takes ids or where, one of them; to delete everything, use Database.drop_collection"
            )
        if where is not None:
            return self._core.delete_where(arguments.text("where", where))
        return self._core.delete(arguments.ids(ids))

    def count(self, where: str | None = None) -> int:
        """Number of records, or of those that pass a filter such as ``"year >= 2024 and team in ('core', 'ops')"``."""
        return self._core.count(arguments.optional_text("where", where))

    def __len__(self) -> int:
        return self.count()

    def __bool__(self) -> bool:
        # An empty collection is still a collection.
        return True

    def search(
        self,
        text: str | None = None,
        *,
        vector: Vector | None = None,
        limit: int = 10,
        offset: int = 0,
        cursor: str | None = None,
        where: str | None = None,
        mode: Mode | None = None,
        fusion: Fusion = "rrf",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        include: Sequence[str] = ("text", "payload"),
        explain: bool = False,
    ) -> Results:
        """The best ``limit`` records for a text, a vector, or both: that many whenever that many match.

        ``where`` filters both legs alike. ``mode`` is "hybrid", "text" or "vector"; left out, every leg that the query and
        the collection allow. ``fusion`` makes one ranking of two legs: "rrf" (by rank), "weighted" (raw scores) or
        "normalised" (scores mapped to 0..1); ``weights`` is (text, vector) or a dict of these. ``offset`` skips hits;
        ``cursor``, of the page before with the same query, does the same. ``include`` names what hits carry: "text",
        "payload", "vector".

        A write is in the next answer. When an index is damaged or missing, the answer is made from the stored records, right
        but slower, and ``Results.degraded`` says so.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     notes = db.collection("notes", embedder="none")
        ...     _ = notes.upsert([{"id": "a", "text": "red fish", "vector": [1, 0]}, {"id": "b", "text": "blue", "vector": [0, 1]}])
        ...     hit = notes.search("fish", vector=[1, 0.1], limit=1)[0]
        ...     hit.id, hit.legs.text.rank, hit.legs.vector.rank
        ('a', 1, 1)
        """
        include_text, include_payload, include_vector = arguments.include(include)
        text_weight, vector_weight = arguments.weights(weights)
        answer = self._core.search(
            {
                "text": text,
                "vector": None if vector is None else vector_bytes(vector, "vector"),
                "mode": arguments.optional_text("mode", mode),
                "condition": arguments.optional_text("where", where),
                "limit": arguments.whole("limit", limit),
                "offset": _offset(offset, cursor),
                "include_text": include_text,
                "include_payload": include_payload,
                "include_vector": include_vector,
                "fusion": arguments.text("fusion", fusion),
                "text_weight": text_weight,
                "vector_weight": vector_weight,
            }
        )
        hits, degraded, next_offset, explained = answer
        next_cursor = None if next_offset is None else f"{_CURSOR}{next_offset}"
        return Results(
            [results.of_parts(parts) for parts in hits], next_cursor, degraded, explained if explain else None
        )

    def scan(
        self,
        *,
        where: str | None = None,
        limit: int = _PAGE,
        cursor: str | None = None,
        include: Sequence[str] = ("text", "payload"),
    ) -> Page:
        """One page of all records, in the order in which they were last written; ``Page.cursor`` asks for the next.

        A record that is replaced between two pages comes again, at the end; none is left out.
        """
        text, payload, vector = arguments.include(include)
        found, next_cursor = self._core.scan(
            arguments.optional_text("where", where),
            arguments.whole("limit", limit),
            arguments.optional_text("cursor", cursor),
            vector,
        )
        return Page([records.of_parts(parts, text, payload) for parts in found], next_cursor)

    def __iter__(self) -> Iterator[Record]:
        page = self.scan()
        yield from page
        while page.cursor is not None:
            page = self.scan(cursor=page.cursor)
            yield from page

    def files(self, prefix: arguments.StrPath = "") -> list[FileInfo]:
        """Files that were added at or below ``prefix`` (an absolute path; all when left out)."""
        return [FileInfo(*parts) for parts in self._core.files(arguments.file_path("prefix", prefix))]

    def remove_files(self, path: arguments.StrPath) -> int:
        """Removes the file at ``path``, or all files below it, with their passages; says how many files went."""
        return self._core.remove_files(arguments.file_path("path", path))

    def wait_until_indexed(self, timeout: float | None = None) -> bool:
        """Waits until everything written before is in the indexes; False when ``timeout`` seconds ran out first.

        Searches are right without it; they are faster after it.
        """
        return self._core.wait_until_indexed(timeout)

    def info(self) -> CollectionInfo:
        """Dimension, metric, embedder, rows, fields and health."""
        return CollectionInfo(**self._core.info())

    def __repr__(self) -> str:
        try:
            info = self.info()
        except NuthatchError as error:
            return f"Collection({self.name!r}, {type(error).__name__})"
        embedder = f", embedder={info.embedder!r}" if info.embedder else ""
        return f"Collection({info.name!r}, dim={info.dim}, metric={info.metric!r}{embedder}, rows={info.rows})"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Collection cannot be pickled or copied: it belongs to the process that opened it; "
            "send the folder's path and the name, and connect there"
        )


def _offset(offset: int, cursor: str | None) -> int:
    found = arguments.whole("offset", offset)
    if cursor is None:
        return found
    if found:
        raise InvalidError("search takes offset or cursor, not both")
    digits = arguments.text("cursor", cursor).removeprefix(_CURSOR)
    if digits == cursor or not (digits.isascii() and digits.isdigit()):
        raise InvalidError(f"cursor={cursor!r} is not a cursor; use Results.cursor of the page before")
    return int(digits)
