"""Reads of records: of a collection as it is, in a snapshot, in a transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, overload

from . import arguments, records, reports, results
from .cores import OverHttp
from .paging import all_of
from .queries import Asked, Further, Fusion, Mode, asked, renamed, several
from .records import FileInfo, Page, Record, RecordParts
from .reports import CollectionInfo
from .results import DuplicatePair, Facet, Results
from .vectors import SupportsArray, Vector, VectorColumn, Vectors

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Unpack


#: Records that an iteration reads at once.
_PAGE = 1000


class Source(Protocol):
    """Where records are read: one of the extension module's classes."""

    @property
    def name(self) -> str:
        """The collection's name."""

    def get_records(self, ids: list[str], vectors: bool) -> list[RecordParts | None]:
        """Records by id."""

    def ask(self, name: str, question: str) -> Any:
        """A read that every face answers by name; its arguments are JSON."""

    def count(self, condition: str | None) -> int:
        """Number of records."""

    def search(self, asked: Asked) -> Results:
        """One search."""

    def search_many(
        self, asked: Asked, count: int, texts: list[Any] | None, vectors: VectorColumn | None
    ) -> list[Results]:
        """Several searches."""

    def scan(
        self, condition: str | None, limit: int, cursor: str | None, vectors: bool
    ) -> tuple[list[RecordParts], str | None]:
        """A page, and its cursor."""

    def info(self) -> dict[str, Any]:
        """The properties and the contents of the collection."""

    def files(self, prefix: str) -> list[tuple[str, int, int, str, int]]:
        """Files that were added."""


class CollectionReads:
    """Reading records: the common part of ``Collection``, ``SnapshotCollection`` and ``TransactionCollection``."""

    __slots__ = ()

    _core: Source

    @property
    def name(self) -> str:
        """The collection's name."""
        return self._core.name

    @overload
    def get(self, ids: str, *, include: Sequence[str] = ...) -> Record | None: ...  # type: ignore[overload-overlap]
    @overload
    def get(self, ids: Iterable[str], *, include: Sequence[str] = ...) -> list[Record | None]: ...
    def get(
        self, ids: str | Iterable[str], *, include: Sequence[str] = ("text", "payload")
    ) -> Record | list[Record | None] | None:
        """Returns the record with this id, or None; for several ids, a list in their order."""
        text, payload, vector = arguments.include(include)
        found = self._core.get_records(arguments.ids(ids), vector)
        made = [None if parts is None else records.of_parts(parts, text, payload) for parts in found]
        return made[0] if isinstance(ids, str) else made

    def count(self, where: str | None = None) -> int:
        """Counts the records, or those that match a filter such as ``"year >= 2024 and team in
        ('core', 'ops')"``.
        """
        return self._core.count(arguments.optional_text("where", where))

    def duplicates(
        self,
        threshold: float = 0.95,
        *,
        where: str | None = None,
        neighbors: int = 10,
    ) -> list[DuplicatePair]:
        """Lists pairs of records whose vectors have at least that cosine, most alike first. Each record
        is compared with its nearest ``neighbors``. Nothing is merged or deleted.
        """
        import json

        asked: dict[str, Any] = {
            "threshold": threshold,
            "where": where,
            "neighbors": arguments.whole("neighbors", neighbors),
        }
        pairs: dict[tuple[str, str], float] = {}
        while True:
            page = self._core.ask("duplicates", json.dumps(asked))
            pairs.update(((one["first"], one["second"]), one["similarity"]) for one in page["pairs"])
            if page["cursor"] is None:
                break
            asked["cursor"] = page["cursor"]
        found = (DuplicatePair(first, second, similarity) for (first, second), similarity in pairs.items())
        return sorted(found, key=lambda pair: (-pair.similarity, pair.first, pair.second))

    def facets(self, fields: str | Iterable[str], *, where: str | None = None, limit: int = 10) -> dict[str, Facet]:
        """Counts the values of a field, or of several, among the records that match ``where``.

        Returns a ``Facet`` for each field: the ``limit`` most frequent values with their numbers of
        records, how many values there are, and how many records have none. Counts are exact. A
        list counts each of its elements once; 1 and 1.0 are two values. Nested fields are dotted
        paths.

        Raises ExhaustedError for a field with more than 200,000 values.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     notes = db.collection("notes", embedder="none")
        ...     teams = [{"team": "core"}, {"team": ["core", "ops"]}, {"year": 2025}]
        ...     _ = notes.upsert(ids=["a", "b", "c"], payloads=teams)
        ...     notes.facets("team")["team"]
        Facet(values=[('core', 2), ('ops', 1)], distinct=2, missing=1)
        """
        import json

        asked = {
            "fields": [arguments.text("fields", one) for one in ([fields] if isinstance(fields, str) else fields)],
            "where": arguments.optional_text("where", where),
            "limit": arguments.whole("limit", limit),
        }
        return results.facets(self._core.ask("facets", json.dumps(asked))["facets"])

    def search(
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
        """Returns the best ``limit`` records for a text, a vector, or both: that many whenever that
        many match.

        ``like`` searches with the vector of the record with this id, instead of ``vector``, and
        leaves that record out. ``using`` names the vector field of ``vector`` or ``like``; by
        default the unnamed vectors. ``vectors`` are further vectors by field, each a leg of its
        own. ``where`` filters all legs alike. ``mode`` is "hybrid", "text" or "vector"; by default
        every leg that the query and the collection allow. ``fusion`` makes one ranking of several
        legs: "rrf" (by rank), "weighted" (raw scores) or "normalised" (scores mapped to 0..1).
        ``weights`` is (text, each vector) or a dict of these. ``offset`` skips hits; so does the
        ``cursor`` of the previous page of the same query. ``include`` selects what hits carry:
        "text", "payload", "vector" (named ones, too).

        In large collections, choose the accuracy of the vector leg with one of these: ``recall``
        (0.5 to 0.999, the average share of the true nearest; default 0.99), ``ef`` (1 to
        100,000, the size of the search list) or ``exact=True`` (compares every row).
        ``timeout`` in seconds ends the search with UnavailableError.

        ``facets=["team"]`` also counts values among all records that pass ``where``, hits or not:
        ``Results.facets`` has the ten most frequent ones of each field. ``group_by="path"`` keeps
        the best hit of each value of a field and still fills the limit; records without a value are
        one group. ``phrases=["the very words"]`` keeps records whose text has these words one after
        another. ``fuzzy=True`` also finds words that differ by a letter or two from those of the
        text, and ``prefix=True`` takes its last word for the beginning of a word; such words count
        less than the very words. ``score_threshold`` leaves out hits with a worse ``score``: a
        lower one, or a greater distance. ``rerank={"using": "late", "tokens": matrix}`` orders the best
        hits by a field of token vectors (MaxSim), whose sum is then the ``score``.

        The next search sees a write at once. When an index is damaged or missing, the search reads
        the stored records, correct but slower, and ``Results.degraded`` says so.

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
        if further and "effort" in further:
            ef = renamed(further, ef)
        # The arguments go as they are: most of what a search costs over its index would be looking at them here.
        return self._core.search(
            (
                text,
                vector,
                like,
                using,
                vectors,
                limit,
                offset,
                cursor,
                where,
                mode,
                fusion,
                weights,
                include,
                explain,
                recall,
                ef,
                exact,
                timeout,
                None,
                further,
            )
        )

    def search_many(
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
        """Runs a search for each of ``texts``, of ``vectors``, or of both in parallel, on all CPUs,
        and returns the results in their order.

        ``vectors`` is a numpy matrix or a list, of the vector field ``using`` or unnamed. The other
        arguments are those of ``search`` and apply to every search; ``timeout`` covers all of them
        together. The first error ends the call.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     points = db.collection("points", metric="l2", embedder="none")
        ...     _ = points.upsert(ids=["a", "b", "c"], vectors=[[0, 0], [3, 4], [8, 9]])
        ...     [[hit.id for hit in found] for found in points.search_many(vectors=[[1, 1], [9, 9]], limit=2)]
        [['a', 'b'], ['c', 'b']]
        """
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
            explain=explain,
            **further,
        )
        return self._core.search_many(one, *several(texts, vectors))

    @overload
    def search_ids(
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
    def search_ids(
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
    def search_ids(
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
        """Runs a search for each of ``vectors`` in parallel, on all CPUs, and returns the ids and the
        scores of the hits, best first, without making objects of them.

        For a numpy matrix, both are numpy matrices with a row for each vector: ids as str objects,
        scores as float32; where fewer than ``limit`` records match, both have fewer columns. For a
        list of vectors, both are lists of lists. The arguments are those of ``search_many``.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     points = db.collection("points", metric="l2", embedder="none")
        ...     _ = points.upsert(ids=["a", "b", "c"], vectors=[[0, 0], [3, 4], [8, 9]])
        ...     points.search_ids([[0, 0], [8, 8]], limit=2)
        ([['a', 'b'], ['c', 'b']], [[0.0, 5.0], [1.0, 6.4031243324279785]])
        """
        one = asked(using=using, limit=limit, where=where, recall=recall, ef=ef, exact=exact, timeout=timeout)
        return self._search_ids(one, vectors)

    def _search_ids(self, one: Asked, vectors: object) -> tuple[Any, Any]:
        answers = self._core.search_many(one, *several(None, vectors))
        return results.ids_and_scores(answers, as_arrays=hasattr(vectors, "__array__"))

    def scan(
        self,
        *,
        where: str | None = None,
        limit: int = _PAGE,
        cursor: str | None = None,
        include: Sequence[str] = ("text", "payload"),
    ) -> Page:
        """Returns one page of all records, in the order of their last write; ``Page.cursor`` asks
        for the next.

        A record that is replaced between two pages comes again at the end. No record is left out.
        """
        text, payload, vector = arguments.include(include)
        found, next_cursor = self._core.scan(
            arguments.optional_text("where", where),
            arguments.whole("limit", limit),
            arguments.optional_text("cursor", cursor),
            vector,
        )
        return Page([records.of_parts(parts, text, payload) for parts in found], next_cursor)

    def files(self, prefix: arguments.StrPath = "") -> list[FileInfo]:
        """Lists the added files at or below ``prefix`` (an absolute path, or a document's name on a
        server); by default all.
        """
        return [FileInfo(*parts) for parts in self._core.files(self._file_path("prefix", prefix))]

    def _file_path(self, name: str, path: arguments.StrPath) -> str:
        return arguments.file_path(name, path, is_document=isinstance(self._core, OverHttp))

    def info(self) -> CollectionInfo:
        """Returns dimension, metric, type of the vectors, embedder, rows, fields, indexes and
        health.

        In a snapshot or a transaction: rows, vectors and fields of its moment, and the indexes
        that answer for it; ``building`` is what is being built now.
        """
        return reports.info(self._core.info())

    def __contains__(self, id: object) -> bool:
        # Without this, `in` would compare the id with every record.
        return self._core.get_records([arguments.text("id", id)], False)[0] is not None

    def __iter__(self) -> Iterator[Record]:
        yield from all_of(self.scan(), lambda cursor: self.scan(cursor=cursor))

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} cannot be pickled or copied: it belongs to the process that opened it; "
            "send the folder's path and the name, and connect there"
        )
