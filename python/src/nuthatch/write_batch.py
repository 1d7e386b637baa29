"""Atomic writes to several keyspaces, graphs, collections and facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from . import arguments, batch, reports
from .adding import AddOptions, as_given
from .arguments import StrPath
from .collection import Collection, Records
from .cores import OverHttp
from .errors import InvalidError
from .facts import PendingFacts
from .graph import BatchGraph
from .kv_entries import Bytes, Entries, TimeToLive, as_bytes, one_or_several_keys, pairs
from .pending import BatchPart, Pending
from .reports import AddReport
from .vectors import VectorsByField

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from . import _core as extension
    from .cores import BatchCore


class Batch(Pending):
    """Collects writes until the block ends, then writes them atomically.

    ``Database.batch`` makes it. When the block raises, nothing is written. A batch cannot read; use
    a transaction for that. If a key or record changes several times, the last change wins.

    >>> import nuthatch
    >>> with nuthatch.connect(":memory:") as db:
    ...     notes = db.collection("notes", embedder="none")
    ...     with db.batch() as batch:
    ...         batch.kv("owners").put("a1", "anna")
    ...         batch.collection("notes").upsert([{"id": "a1", "text": "how to reset a password"}])
    ...     db.kv("owners")["a1"], notes.count()
    (b'anna', 1)
    """

    __slots__ = ()

    _core: BatchCore

    def kv(self, name: str) -> BatchKeyspace:
        """Returns a writer for the keyspace of that name, which is created when missing."""
        return BatchKeyspace(self._core, arguments.text("name", name))

    def graph(self, name: str) -> BatchGraph:
        """Returns a writer for the graph of that name, which is created when missing."""
        return BatchGraph(self._core, arguments.text("name", name))

    def facts(self, name: str) -> PendingFacts:
        """Returns a writer for the facts of that name, which are created when missing. They are
        recorded after everything else: a source may be a record of the batch.
        """
        return PendingFacts(self._core, arguments.text("name", name))

    def collection(self, name: str) -> BatchCollection:
        """Returns a writer for the collection of that name. ``commit`` raises NotFoundError when
        there is none.
        """
        return BatchCollection(self._core, arguments.text("name", name))

    def add_files(
        self, paths: StrPath | Iterable[StrPath], collection: Collection, **options: Unpack[AddOptions]
    ) -> AddReport:
        """Adds files and folders to a collection as part of the batch; takes the keywords of
        ``Database.add``.

        This process reads and splits the files at once and keeps them in memory; the report says
        what the batch will change. Raises InvalidError for a file that is already in the batch,
        ExhaustedError beyond 128 MiB. ``commit`` raises ConflictError when another writer has added
        or removed one of the files since. Over HTTP the server splits them; the whole batch is one
        request, limited by the server's ``body_max``.
        """
        return self._add_files(None, paths, collection, options)

    def _add_files(
        self,
        cancel: extension.CancelFlag | None,
        paths: StrPath | Iterable[StrPath],
        collection: Collection,
        options: AddOptions,
    ) -> AddReport:
        into, given = collection._core, as_given(paths, options, cancel)
        if isinstance(self._core, OverHttp):
            return reports.add_report(self._core.add_files(into, given))
        if isinstance(into, OverHttp):
            raise _another(collection)
        return reports.add_report(self._core.add_files(into, given))

    def remove_files(self, path: StrPath, collection: Collection) -> int:
        """Removes the file at ``path``, or all files below it, with their passages, and returns the
        number of files.
        """
        of = collection._core
        if isinstance(self._core, OverHttp):
            return self._core.remove_files(of, collection._file_path("path", path))
        if isinstance(of, OverHttp):
            raise _another(collection)
        return self._core.remove_files(of, arguments.file_path("path", path, is_document=False))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Batch cannot be pickled or copied: what it holds is written by the process that began it")


def _another(collection: Collection) -> InvalidError:
    return InvalidError(f"collection {collection.name!r} is of a server, and the batch of another database")


class BatchKeyspace(BatchPart):
    """The writes of a batch to one keyspace."""

    __slots__ = ()

    def put(self, key: Bytes, value: Bytes, *, ttl: TimeToLive | None = None) -> None:
        """Sets a key, for ever or for ``ttl`` (seconds, or a timedelta) from the commit on."""
        pair = (as_bytes("key", key), as_bytes("value", value))
        self._core.put_many(self._name, [pair], arguments.time("ttl", ttl))

    def put_many(self, entries: Entries, *, ttl: TimeToLive | None = None) -> None:
        """Sets several keys from a mapping or from pairs."""
        self._core.put_many(self._name, pairs(entries), arguments.time("ttl", ttl))

    def delete(self, keys: Bytes | Iterable[Bytes]) -> None:
        """Deletes one key or several; unknown ones are ignored."""
        self._core.delete(self._name, one_or_several_keys(keys))

    def __setitem__(self, key: Bytes, value: Bytes) -> None:
        self.put(key, value)

    def __delitem__(self, key: Bytes) -> None:
        self.delete([key])


class BatchCollection(BatchPart):
    """The writes of a batch to one collection."""

    __slots__ = ()

    def upsert(
        self,
        records: Records | None = None,
        *,
        ids: Iterable[str] | None = None,
        texts: Iterable[str | None] | None = None,
        vectors: VectorsByField | None = None,
        payloads: Iterable[Mapping[str, Any] | None] | None = None,
    ) -> None:
        """Inserts records and replaces those with the same id, as ``Collection.upsert``. The commit
        embeds texts.
        """
        self._core.upsert(self._name, batch.columns(records, ids, texts, vectors, payloads))

    def delete(self, ids: str | Iterable[str]) -> None:
        """Deletes records by id; unknown ones are ignored."""
        self._core.delete_records(self._name, arguments.ids(ids))
