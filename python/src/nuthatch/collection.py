"""A collection: records of one kind, searched together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeAlias

from . import arguments, batch, changes
from .arguments import Durability
from .changes import Fields
from .collection_reads import CollectionReads
from .errors import InvalidError, NuthatchError
from .records import Record, Upserted
from .vectors import VectorsByField

if TYPE_CHECKING:
    from .cores import CollectionCore

Records: TypeAlias = "Iterable[Mapping[str, Any] | Record] | Any"
"""Dicts or records; or an Arrow table, a pandas data frame, or anything that exports an Arrow stream."""


class Collection(CollectionReads):
    """Records with text, vector and payload. ``Database.collection`` makes it; threads may share
    it.

    >>> import nuthatch
    >>> with nuthatch.connect(":memory:") as db:
    ...     places = db.collection("places", dim=2, metric="l2", embedder="none")
    ...     places.upsert([{"id": "here", "vector": [0, 0]}, {"id": "there", "vector": [3, 4]}])
    ...     [(hit.id, hit.score) for hit in places.search(vector=[0, 0])]
    Upserted(inserted=2, replaced=0)
    [('here', 0.0), ('there', 5.0)]
    """

    __slots__ = ("_core",)

    _core: CollectionCore

    def __init__(self, core: CollectionCore) -> None:
        self._core = core

    def upsert(
        self,
        records: Records | None = None,
        *,
        ids: Iterable[str] | None = None,
        texts: Iterable[str | None] | None = None,
        vectors: VectorsByField | None = None,
        payloads: Iterable[Mapping[str, Any] | None] | None = None,
        durability: Durability | None = None,
    ) -> Upserted:
        """Inserts records and replaces those with the same id: all or nothing, on disk when it
        returns.

        Give ``records``: any iterable of dicts with ``id`` and any of ``text``, ``vector``,
        ``vectors`` (a dict by vector field), ``payload``, ``context`` (headings above the text,
        searched with it) and ``code`` (True for source code). An Arrow table or pandas data frame
        works too: it needs a column ``id``, may have ``text``, ``vector`` and ``context``, and its
        other columns become the payload. Or give columns: ``ids`` with ``texts``, ``vectors`` (a
        numpy matrix or a list, or a dict of these by vector field, with "" for the unnamed vectors)
        and ``payloads``.

        One call is one atomic batch, even for a generator; send millions of records in several
        calls. A record is replaced with all its vectors. Payload values are None, bool, int (64
        bits), float (finite), str, datetime or date, and lists and dicts of these. A datetime
        without a time zone counts as UTC; all come back aware, in UTC. The collection's embedder,
        if any, embeds texts without a ``vector``. ``durability`` is "commit" by default; "interval"
        and "os" return sooner and survive less.

        Raises InvalidError, naming the record and the field, for a wrong dimension, NaN, a repeated
        id, an unknown key or an unusable value; then it has changed nothing.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     notes = db.collection("notes", embedder="none")
        ...     notes.upsert(ids=["a", "b"], texts=["one", "two"], vectors=[[1, 0], [0, 1]], payloads=[{"n": 1}, {"n": 2}])
        ...     notes.get("b")
        Upserted(inserted=2, replaced=0)
        Record(id='b', text='two', payload={'n': 2}, context=None, vector=None, vectors={})
        """
        columns = batch.columns(records, ids, texts, vectors, payloads)
        return Upserted(*self._core.upsert(columns, arguments.durability(durability)))

    def delete(
        self,
        ids: str | Iterable[str] | None = None,
        *,
        where: str | None = None,
        prefix: str | None = None,
        durability: Durability | None = None,
    ) -> int:
        """Deletes by ids (unknown ones are ignored), by a filter, or by a ``prefix`` of ids, and
        returns the number of deleted records.

        No search or read finds them any more. ``Database.reclaim`` removes their bytes from the
        files.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     notes = db.collection("notes", embedder="none")
        ...     _ = notes.upsert([{"id": f"n{n}", "payload": {"n": n}} for n in range(15)])
        ...     notes.delete("n0"), notes.delete(where="n >= 13"), notes.delete(prefix="n1"), notes.count()
        (1, 2, 4, 8)
        """
        if [ids, where, prefix].count(None) != 2:
            raise InvalidError(
                "delete takes ids, where or prefix, one of them; to delete everything, use Database.drop_collection"
            )
        if where is not None:
            return self._core.delete_where(arguments.text("where", where), arguments.durability(durability))
        if prefix is not None:
            return self._core.delete_prefix(arguments.text("prefix", prefix), arguments.durability(durability))
        return self._core.delete(arguments.ids(ids), arguments.durability(durability))

    def update(
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
        """Changes fields of payloads by ids (unknown ones are ignored) or by a filter, and returns
        the number of records that changed. Texts, vectors and other fields stay.

        ``set`` gives fields new values, and ``unset`` removes fields. ``add`` appends to lists the
        values that they lack; ``remove`` takes values out of lists. A path such as "meta.author"
        leads into a dict. No change that another writer makes at the same time is lost. Changes by
        ids are atomic; a change by a filter is made in batches.

        Raises InvalidError, naming the record and the field, for a path through a value that is no
        dict, and for values to add to something that is no list; then it has changed nothing.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     notes = db.collection("notes", embedder="none")
        ...     _ = notes.upsert([{"id": "a", "text": "one", "payload": {"n": 1}}, {"id": "b", "text": "two", "payload": {"n": 2}}])
        ...     notes.update("a", set={"state": "read"}, add={"tags": ["urgent"]}), notes.update(where="n > 0", unset="n")
        ...     notes.get("a").payload
        (1, 2)
        {'state': 'read', 'tags': ['urgent']}
        """
        change = changes.change(set, add, remove, unset)
        if (ids is None) == (where is None):
            raise InvalidError("update takes ids or where, one of them")
        if where is not None:
            return self._core.update_where(arguments.text("where", where), change, arguments.durability(durability))
        return self._core.update([(arguments.ids(ids), change)], arguments.durability(durability))

    def update_many(self, updates: Iterable[Mapping[str, Any]], *, durability: Durability | None = None) -> int:
        """Makes different changes of many records in one atomic batch, and returns the number of
        records that changed.

        Each is a dict with ``id`` or ``ids``, and any of ``set``, ``add``, ``remove`` and
        ``unset`` as ``update`` takes them.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     notes = db.collection("notes", embedder="none")
        ...     _ = notes.upsert(ids=["a", "b"], texts=["one", "two"])
        ...     notes.update_many([{"id": "a", "set": {"n": 1}}, {"id": "b", "set": {"n": 2}}])
        2
        """
        return self._core.update(changes.several(updates), arguments.durability(durability))

    def update_files(
        self,
        paths: arguments.StrPath | Iterable[arguments.StrPath],
        *,
        set: Fields | None = None,
        add: Fields | None = None,
        remove: Fields | None = None,
        unset: str | Iterable[str] = (),
        durability: Durability | None = None,
    ) -> int:
        """Changes fields of all passages of files, or of the files below folders, and returns the
        number of passages that changed. A file keeps these fields when it changes and is added
        again.

        Fields are named as in ``update``. Those that ``Database.add`` makes of a file, such as
        "path" and "page", cannot be changed.
        """
        several = [paths] if isinstance(paths, (str, PathLike)) else list(paths)
        stored = [self._file_path("paths", path) for path in several]
        change = changes.change(set, add, remove, unset)
        return self._core.update_files(stored, change, arguments.durability(durability))

    def __len__(self) -> int:
        return self.count()

    def __bool__(self) -> bool:
        # An empty collection is still a collection.
        return True

    def remove_files(self, path: arguments.StrPath) -> int:
        """Removes the file at ``path``, or all files below it, with their passages, and returns the
        number of files.
        """
        return self._core.remove_files(self._file_path("path", path))

    def wait_until_indexed(self, timeout: float | None = None) -> bool:
        """Waits until the indexes contain everything written before; returns False after
        ``timeout`` seconds.

        Searches are correct without it, and faster after it.
        """
        return self._core.wait_until_indexed(arguments.optional_real("timeout", timeout))

    def wait_until_embedded(self, timeout: float | None = None) -> bool:
        """Waits until every record written before has its vector, if it is to have one; returns
        False after ``timeout`` seconds.

        Until then, ``add``'s passages are found by their words, and ``Results.pending`` says how
        many have their vector.
        """
        return self._core.wait_until_embedded(arguments.optional_real("timeout", timeout))

    def optimize(self, timeout: float | None = None) -> bool:
        """Merges the segments into as few as are worth it, mostly one; returns False
        after ``timeout`` seconds.

        After a timeout the work goes on, and ``info().building`` shows its progress. Searches are
        correct without it, and faster after it.
        """
        return self._core.optimize(arguments.optional_real("timeout", timeout))

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
