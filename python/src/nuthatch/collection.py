"""A collection: records of one kind, searched together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, overload

from . import arguments, batch, records, reports, results
from .arguments import Durability
from .errors import InvalidError, NuthatchError
from .queries import Fusion, Mode, query, several
from .records import FileInfo, Page, Record, Upserted
from .reports import CollectionInfo
from .results import Results
from .vectors import Vector, Vectors

if TYPE_CHECKING:
    from . import _core

Records: TypeAlias = "Iterable[Mapping[str, Any] | Record] | Any"
"""Dicts or records; or an Arrow table, a pandas data frame, or anything that exports an Arrow stream."""

#: Records that an iteration reads at once.
_PAGE = 1000


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
        durability: Durability | None = None,
    ) -> Upserted:
        """Inserts records, replacing those with the same id: all or nothing, on disk when it returns.

        Either ``records``: any iterable of dicts with ``id`` and any of ``text``, ``vector``, ``payload``, ``context``
        (headings above the text, searched with it) and ``code`` (True for source code); or an Arrow table or pandas data
        frame with an ``id`` column, optionally ``text``, ``vector`` and ``context``, and the other columns as payload. Or
        columns: ``ids`` with ``texts``, ``vectors`` (a numpy matrix, or a list) and ``payloads``.

        One call is one atomic batch, a generator included; send millions of records in several calls. Payload values are
        None, bool, int (64 bits), float (finite), str, datetime or date, and lists and dicts of these. A datetime without a
        time zone is taken as UTC; all come back aware, in UTC. Texts without a vector are embedded where the collection has
        an embedder. ``durability`` is "commit" unless you say "interval" or "os", which return sooner and survive less.

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
        columns = batch.columns(records, ids, texts, vectors, payloads)
        return Upserted(*self._core.upsert(columns, arguments.durability(durability)))

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

    def delete(
        self,
        ids: str | Iterable[str] | None = None,
        *,
        where: str | None = None,
        durability: Durability | None = None,
    ) -> int:
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
            return self._core.delete_where(arguments.text("where", where), arguments.durability(durability))
        return self._core.delete(arguments.ids(ids), arguments.durability(durability))

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
        """The best ``limit`` records for a text, a vector, or both: that many whenever that many match.

        ``like`` is the id of a record whose vector is searched with, instead of ``vector``; it is not among the hits itself.
        ``where`` filters both legs alike. ``mode`` is "hybrid", "text" or "vector"; left out, every leg that the query and
        the collection allow. ``fusion`` makes one ranking of two legs: "rrf" (by rank), "weighted" (raw scores) or
        "normalised" (scores mapped to 0..1); ``weights`` is (text, vector) or a dict of these. ``offset`` skips hits;
        ``cursor``, of the page before with the same query, does the same. ``include`` names what hits carry: "text",
        "payload", "vector".

        How good the vector leg has to be in large collections is one of ``recall`` (0.5 to 0.999, the share of the true
        nearest that is found on average; default 0.99), ``effort`` (1 to 100,000, how many rows a walk of the graph keeps in
        view) and ``exact=True`` (every row is compared). ``timeout`` in seconds ends the search with UnavailableError.

        A write is in the next answer. When an index is damaged or missing, the answer is made from the stored records, right
        but slower, and ``Results.degraded`` says so.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     notes = db.collection("notes", embedder="none")
        ...     _ = notes.upsert([{"id": "a", "text": "red fish", "vector": [1, 0]}, {"id": "b", "text": "blue", "vector": [0, 1]}])
        ...     hit = notes.search("fish", vector=[1, 0.1], limit=1)[0]
        ...     hit.id, hit.legs.text.rank, hit.legs.vector.rank
        ...     [hit.id for hit in notes.search(like="a", exact=True)]
        ('a', 1, 1)
        ['b']
        """
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
        )
        return self._search(asked, explain)

    def _search(self, asked: _core.Query, explain: bool) -> Results:
        return results.of_parts(self._core.search(asked), explain)

    def search_many(
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
        """A search for each of ``texts``, of ``vectors``, or of both side by side, on all CPUs; the answers in their order.

        ``vectors`` is a numpy matrix or a list. The other arguments are those of ``search`` and hold for every search;
        ``timeout`` is for all of them together. The first error ends the call.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     points = db.collection("points", metric="l2", embedder="none")
        ...     _ = points.upsert(ids=["a", "b", "c"], vectors=[[0, 0], [3, 4], [8, 9]])
        ...     [[hit.id for hit in found] for found in points.search_many(vectors=[[1, 1], [9, 9]], limit=2)]
        [['a', 'b'], ['c', 'b']]
        """
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
        )
        return self._search_many(asked, texts, vectors, explain)

    def _search_many(self, asked: _core.Query, texts: object, vectors: object, explain: bool) -> list[Results]:
        answers = self._core.search_many(asked, *several(texts, vectors))
        return [results.of_parts(parts, explain) for parts in answers]

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
        return self._core.wait_until_indexed(arguments.optional_real("timeout", timeout))

    def optimize(self, timeout: float | None = None) -> bool:
        """Merges the segments into as few as ``build_memory`` of ``connect`` allows; False when ``timeout`` seconds ran out first.

        The work then goes on, and ``info().building`` tells how far it is. Searches are right without it; after a large load
        they are faster.
        """
        return self._core.optimize(arguments.optional_real("timeout", timeout))

    def info(self) -> CollectionInfo:
        """Dimension, metric, type of the vectors, embedder, rows, fields, indexes and health."""
        return reports.info(self._core.info())

    def __repr__(self) -> str:
        try:
            info = self.info()
        except NuthatchError as error:
            return f"Collection({self.name!r}, {type(error).__name__})"
        embedder = f", embedder={info.embedder!r}" if info.embedder else ""
        elements = "" if info.elements == "f32" else f", elements={info.elements!r}"
        return (
            f"Collection({info.name!r}, dim={info.dim}, metric={info.metric!r}{elements}{embedder}, rows={info.rows})"
        )

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Collection cannot be pickled or copied: it belongs to the process that opened it; "
            "send the folder's path and the name, and connect there"
        )
