"""The database: one folder, its collections, and files added to them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias, TypeVar

from . import _core, arguments, backups, reports, transfer, vector_fields
from .adding import AddOptions, as_given
from .arguments import Durability, StrPath
from .backups import BackupProgress, BackupReport
from .cache import Cache, CacheMode, Judge, ShareWhen, settings
from .changes import Fields
from .collection import Collection
from .cores import OverHttp
from .embedders import EmbedderLike, resolve
from .errors import ClosedError, ConflictError, InvalidError
from .facts import Facts
from .graph import Graph
from .kv import Keyspace
from .kv_entries import TimeToLive
from .reports import AddReport, CollectionInfo, Doctor, Holder, Progress, Receipt, Stats
from .snapshots import Snapshot
from .tenants import Tenants
from .transactions import Transaction
from .transfer import ExportFormat, ExportReport, ImportReport, TransferProgress
from .tree import Tree
from .vector_fields import VectorField
from .write_batch import Batch

if TYPE_CHECKING:
    from .cores import DatabaseCore
    from .remote.wire import ServerArguments

Metric: TypeAlias = Literal["cosine", "dot", "l2", "hamming"]
Elements: TypeAlias = Literal["f32", "f16", "int8", "uint8", "binary"]

T = TypeVar("T")

MEMORY = ":memory:"


def connect(
    path: StrPath,
    *,
    memory_budget: int | str | None = None,
    mapped: bool | None = None,
    build_memory: int | str | None = None,
    build_threads: int | None = None,
    sync_interval_ms: int | None = None,
    snapshot_age: TimeToLive | None = None,
    erasure_grace: TimeToLive | None = None,
    create: bool = True,
    exclusive: bool = False,
    program: str | None = None,
    api_key: str | None = None,
    tenant: str | None = None,
    timeout: float | None = None,
    ca: StrPath | None = None,
    client_cert: StrPath | tuple[StrPath, StrPath] | None = None,
) -> Database:
    """Opens a data folder, and creates a missing one; ``":memory:"`` opens a database that is gone
    when closed. Its rows stay in memory, on top of the budget; ``backup`` and ``export`` keep them.

    ``memory_budget`` (bytes, or text such as "256MiB"; default 64 MiB) limits what the engine
    holds: caches, write buffers, sealing and merging. An embedding model comes on top.
    ``mapped`` says whether the engine maps the indexes of large segments (True) or reads them
    (False). Mapped ones answer in about half the time, but mapped pages count as resident memory.
    By default the engine maps each index while twice its size is free. ``build_memory`` (default 224 MiB, or a quarter of
    the process's limit if that is less) limits the memory for building the vector graph of a large
    segment, outside the budget. A graph of more rows than fit takes longer to build.
    ``build_threads`` build it, by default half of the CPUs. ``sync_interval_ms`` (default
    100) is the longest time before a write with ``durability="interval"`` is on disk.
    ``snapshot_age`` (seconds or a timedelta; default ten minutes) is the maximum age of a snapshot
    or a transaction. ``erasure_grace`` (default ten seconds; at most a minute) is how long
    ``erase``, ``reclaim`` and dropping a tenant wait for earlier snapshots before they end them.
    ``create=False`` raises NotFoundError for a missing folder. ``exclusive=True`` opens the folder
    for this process alone: other processes are refused while it is open, and this call fails if one
    has it open. ``program`` describes this process to the others.

    ``path`` may be the address of a server instead, ``"http://host:7700"`` or ``"https://…"``.
    Then ``api_key`` is the key that ``nuthatch key create`` printed.
    ``tenant`` selects a tenant, for keys of an administrator (any other key belongs to one tenant
    already). ``timeout`` (seconds; default 60) limits each request. ``ca`` is a file of
    certificates (PEM) to trust instead of the system's. ``client_cert`` is a file with certificate
    and key, or a pair of files. The server has its own settings for the other options, which are
    refused here. Calls that a server does not offer raise InvalidError with an alternative.

    Raises ConflictError when another process has the folder open and does not share it, or runs
    another version; the message names its pid, program and start time. Raises CorruptError when the
    stored records are damaged, and InvalidError when the folder holds something else.

    >>> import nuthatch
    >>> db = nuthatch.connect(":memory:")
    >>> db.collection("notes", embedder="none").upsert([{"id": "a", "text": "hello"}])
    Upserted(inserted=1, replaced=0)
    >>> db.close()
    """
    if (url := server_address(path)) is not None:
        of_the_folder = (
            memory_budget,
            mapped is not None,
            build_memory,
            build_threads,
            sync_interval_ms,
            snapshot_age,
            erasure_grace,
        )
        return _ask_server(url, api_key, tenant, timeout, ca, client_cert, (*of_the_folder, exclusive, not create))
    if (api_key, tenant, timeout, ca, client_cert) != (None,) * 5:
        raise InvalidError(
            "api_key, tenant, timeout, ca and client_cert are for servers (http://…); a folder's tenant is Database.tenant"
        )
    folder = _folder(path)
    threads = arguments.optional_whole("build_threads", build_threads)
    if threads == 0:
        raise InvalidError("build_threads=0; give 1 or more, or None")
    asked: _core.OpenArguments = {
        "memory_budget_bytes": arguments.optional_size_bytes("memory_budget", memory_budget),
        "mapped": None if mapped is None else arguments.flag("mapped", mapped),
        "build_memory_bytes": arguments.optional_size_bytes("build_memory", build_memory),
        "build_threads": threads,
        "sync_interval_ms": arguments.optional_whole("sync_interval_ms", sync_interval_ms),
        "snapshot_age_seconds": arguments.time("snapshot_age", snapshot_age),
        "erasure_grace_seconds": arguments.time("erasure_grace", erasure_grace),
        "must_exist": not create,
        "exclusive": arguments.flag("exclusive", exclusive),
        "program": program or _program(),
        "model_dirs": [sys.prefix],
    }
    return Database(_core.Database(folder, asked))


class Database(Tenants):
    """An open data folder as one tenant sees it. ``connect`` makes it. Threads may share it. As a
    context manager, it closes itself.
    """

    __slots__ = ("_core", "_is_open", "_path")

    def __init__(self, core: DatabaseCore) -> None:
        self._core = core
        self._path = str(core.folder())
        self._is_open = True

    @property
    def path(self) -> str:
        """The data folder, or the server's address. For a database in memory: the folder of its
        files while it is open.
        """
        return self._path

    @property
    def holder(self) -> Holder:
        """The process that holds the folder now: this one, or the one that serves it.

        >>> import nuthatch, os
        >>> with nuthatch.connect(":memory:") as db:
        ...     db.holder.is_this, db.holder.pid == os.getpid()
        (True, True)
        """
        return Holder(*self._core.holder())

    def collection(
        self,
        name: str,
        *,
        dim: int | None = None,
        metric: Metric | None = None,
        elements: Elements | None = None,
        vectors: Mapping[str, VectorField] | None = None,
        embedder: EmbedderLike | None = None,
        language: str | None = None,
    ) -> Collection:
        """Returns the collection of that name, and creates a missing one with these options.

        ``dim``: components of a vector, 2 to 4096; by default those of the embedder or of the first
        vector. ``metric``: "cosine" (default), "dot", "l2" or, for binary vectors, "hamming".
        ``embedder``: "default" (the built-in model), "static" (much faster and weaker; installed with
        ``python -m nuthatch.model install static``), "none" (you bring the vectors), or one of
        ``nuthatch.embedders``. By default the collection's own; a new collection takes the built-in
        model as soon as you store a text without a vector. ``language``: of the texts, for stemming
        and stop words, default "english". ``elements``: the stored type of a component: "f32"
        (default), "f16" (half the space; rounded), "int8" and "uint8" (integers of that range), or
        "binary" (zeros and ones, eight to a byte, or numpy bools; metric "hamming"). Values that
        the type cannot hold are refused. Vectors always come back as floats. ``vectors``: named
        vector fields, each a dict of ``dim`` (required for a new one), ``metric`` and ``elements``.
        New fields are added, also to an existing collection; earlier records have no vector of
        them.

        Raises InvalidError when an option contradicts the stored one, naming both.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     bits = db.collection("bits", dim=4, elements="binary", embedder="none")
        ...     _ = bits.upsert(ids=["a", "b"], vectors=[[1, 0, 1, 0], [0, 1, 0, 0]])
        ...     [(hit.id, hit.score) for hit in bits.search(vector=[1, 0, 1, 1])]
        [('a', 1.0), ('b', 4.0)]
        >>> with nuthatch.connect(":memory:") as db:
        ...     fields = {"title": {"dim": 2}, "image": {"dim": 3, "metric": "dot", "elements": "f16"}}
        ...     docs = db.collection("docs", vectors=fields, embedder="none")
        ...     _ = docs.upsert(ids=["a", "b"], vectors={"title": [[1, 0], [0, 1]], "image": [[0, 2, 0], None]})
        ...     [[hit.id for hit in docs.search(vector=[1, 1, 1], using="image")], docs.info().vector_fields["title"].vectors]
        [['a'], 2]
        """
        core = self._core.collection(
            arguments.text("name", name),
            {
                "dim": arguments.optional_whole("dim", dim),
                "metric": arguments.optional_text("metric", metric),
                "elements": arguments.optional_text("elements", elements),
                "vectors": vector_fields.parts(vectors),
                "embedder": resolve(embedder),
                "language": arguments.optional_text("language", language),
            },
        )
        return Collection(core)

    def collections(self) -> list[CollectionInfo]:
        """Describes every collection and its contents, by name."""
        return [reports.info(parts) for parts in self._core.collections()]

    def drop_collection(self, name: str) -> bool:
        """Deletes a collection with everything in it. Returns False when there is none."""
        return self._core.drop_collection(arguments.text("name", name))

    def kv(self, name: str, *, create: bool = True, durability: Durability | None = None) -> Keyspace:
        """Returns the keyspace of that name, and creates a missing one; ``create=False`` raises
        NotFoundError instead.

        ``durability`` is the default for its writes: "commit" (default), "interval" or "os".

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     counters = db.kv("counters", durability="interval")
        ...     counters.increment("visits"), counters.increment("visits")
        (1, 2)
        """
        core = self._core.keyspace(
            arguments.text("name", name), arguments.flag("create", create), arguments.durability(durability)
        )
        return Keyspace(core)

    def keyspaces(self) -> list[str]:
        """Lists the names of all keyspaces, sorted."""
        return self._core.keyspace_names()

    def drop_keyspace(self, name: str) -> bool:
        """Deletes a keyspace with everything in it. Returns False when there is none."""
        return self._core.drop_keyspace(arguments.text("name", name))

    def graph(self, name: str, *, create: bool = True, durability: Durability | None = None) -> Graph:
        """Returns the graph of that name, and creates a missing one; ``create=False`` raises
        NotFoundError instead.

        ``durability`` is the default for its writes. Programs older than graphs refuse a folder
        that has one.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     db.graph("web").put_edge("home", "links", "about")
        ...     db.graphs(), [found.id for found in db.graph("web").neighbors("about", direction="in")]
        (['web'], ['home'])
        """
        core = self._core.graph(
            arguments.text("name", name), arguments.flag("create", create), arguments.durability(durability)
        )
        return Graph(core)

    def facts(self, name: str, *, create: bool = True, durability: Durability | None = None) -> Facts:
        """Returns the facts of that name, and creates missing ones; ``create=False`` raises
        NotFoundError instead.

        ``durability`` is the default for writes. Programs older than facts refuse a folder that has
        some.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     db.facts("people").add("Anna", "knows", "Ben")
        ...     db.fact_sets(), [fact.object for fact in db.facts("people").find("Anna")]
        1
        (['people'], ['Ben'])
        """
        core = self._core.facts(
            arguments.text("name", name), arguments.flag("create", create), arguments.durability(durability)
        )
        return Facts(core)

    def fact_sets(self) -> list[str]:
        """Lists the names of all facts, sorted."""
        return self._core.facts_names()

    def drop_facts(self, name: str) -> bool:
        """Deletes all facts of that name, with what extractors found. Returns False when there are
        none.
        """
        return self._core.drop_facts(arguments.text("name", name))

    def graphs(self) -> list[str]:
        """Lists the names of all graphs, sorted."""
        return self._core.graph_names()

    def drop_graph(self, name: str) -> bool:
        """Deletes a graph with everything in it. Returns False when there is none."""
        return self._core.drop_graph(arguments.text("name", name))

    def tree(
        self,
        name: str,
        *,
        create: bool = True,
        durability: Durability | None = None,
        embedder: EmbedderLike | None = None,
    ) -> Tree:
        """Returns the tree of that name, which its first file makes; ``create=False`` raises
        NotFoundError when there is none.

        ``durability`` is that of its writes. ``embedder`` makes the vectors of its passages and of
        the questions of ``Tree.search``, as for ``collection``: the first one that makes any is that
        of all trees. Programs older than trees refuse a folder that has
        one.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     _ = db.tree("notes").put("a.txt", "hello")
        ...     db.trees(), db.tree("notes").get("a.txt")
        (['notes'], b'hello')
        """
        core = self._core.tree(
            arguments.text("name", name),
            arguments.flag("create", create),
            arguments.durability(durability),
            resolve(embedder),
        )
        return Tree(core)

    def trees(self) -> list[str]:
        """Lists the names of all trees, sorted."""
        return self._core.tree_names()

    def drop_tree(self, name: str) -> bool:
        """Erases a tree with all versions and snapshots. Returns False when there is none."""
        return self._core.drop_tree(arguments.text("name", name))

    def cache(
        self,
        name: str,
        *,
        create: bool = True,
        budget: float | None = None,
        failure: float | None = None,
        judge: Judge | None = None,
        mode: CacheMode | None = None,
        ttl: timedelta | float | None = None,
        max_entries: int | None = None,
        max_bytes: int | str | None = None,
        scope: Sequence[str] | None = None,
        allowance: float | None = None,
        share_after: int | None = None,
        share_when: ShareWhen | None = None,
        user_max_entries: int | None = None,
        user_max_bytes: int | str | None = None,
        durability: Durability | None = None,
    ) -> Cache:
        """Returns the cache of answers of that name, and creates a missing one; ``create=False``
        raises NotFoundError instead.

        With a ``budget``, such as 0.01, the cache also answers by meaning: with probability
        1 - ``failure`` (0.05), at no time are more than ``budget`` x hits + ``allowance`` (1) of these
        answers wrong.
        ``judge(prompt, hit)`` returns whether an answer is right; without one, ``Cache.report`` takes
        the verdicts.

        Settings that are given are stored with the cache; the others stay as they are. ``ttl`` is in
        seconds. ``ttl``, ``max_entries`` and ``max_bytes`` of 0 mean for ever and no limit. ``scope``
        names the parts that every scope must have. Mode "shadow" counts and gives nothing; "off" does
        nothing. Programs older than caches refuse a folder that has one.

        With ``share_after=2``, an answer is given to its ``user`` only, until two users have it: they stored the same answer
        (``share_when="agreed"``), or any answer (``"asked"``), for a prompt of the same form.

        ``user_max_entries`` and ``user_max_bytes`` are the share of each user: beyond it, the user's own answers that were used
        longest ago make room, and nobody else's. They count what is stored from then on.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     answers = db.cache("answers", ttl=3600, max_entries=10_000, scope=["user"])
        ...     stored = answers.store("What is my name?", "Anna", scope={"user": "anna"})
        ...     answers.check("What is my name?", scope={"user": "ben"}) is None
        True
        """
        change = settings(
            budget=budget,
            failure=failure,
            mode=mode,
            ttl=ttl,
            max_entries=max_entries,
            max_bytes=max_bytes,
            scope=scope,
            allowance=allowance,
            share_after=share_after,
            share_when=share_when,
            user_max_entries=user_max_entries,
            user_max_bytes=user_max_bytes,
        )
        core = self._core.cache(
            arguments.text("name", name), arguments.flag("create", create), arguments.durability(durability)
        )
        cache = Cache(core, judge)
        if change:
            cache._configure(change)
        return cache

    def caches(self) -> list[str]:
        """Lists the names of all caches, sorted."""
        return self._core.cache_names()

    def drop_cache(self, name: str) -> bool:
        """Deletes a cache with everything in it, its ledger too. Returns False when there is none."""
        return self._core.drop_cache(arguments.text("name", name))

    def batch(self, *, durability: Durability | None = None) -> Batch:
        """Collects writes to keyspaces, graphs and collections into one atomic write at the end of
        a ``with`` block; see ``Batch``.
        """
        return Batch(self._core.batch(), durability)

    def snapshot(self) -> Snapshot:
        """Shows everything as of now, unchanged by later writes, in a ``with`` block; see
        ``Snapshot``.
        """
        return Snapshot(self._core.snapshot())

    def transaction(self, *, durability: Durability | None = None) -> Transaction:
        """Isolates reads and writes from all others, in a ``with`` block; see ``Transaction``."""
        return Transaction(self._core.transaction(), durability)

    def transact(
        self, function: Callable[[Transaction], T], *, retries: int = 10, durability: Durability | None = None
    ) -> T:
        """Runs ``function`` in a transaction, commits it, and returns its result.

        If another writer has changed something that it read, the function runs again in a new
        transaction, up to ``retries`` times; then ConflictError is raised. So it should only read
        and write the transaction that it is given.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     def add_note(transaction):
        ...         numbers = transaction.kv("numbers")
        ...         number = int(numbers.get("last", b"0")) + 1
        ...         numbers["last"] = str(number)
        ...         return number
        ...     db.transact(add_note), db.transact(add_note)
        (1, 2)
        """
        left = arguments.whole("retries", retries)
        while True:
            try:
                with self.transaction(durability=durability) as transaction:
                    return function(transaction)
            except ConflictError:
                if not left:
                    raise
                left -= 1

    def add(
        self,
        paths: StrPath | Iterable[StrPath],
        collection: str | Collection = "documents",
        *,
        prune: bool = False,
        on_progress: Callable[[Progress], object] | None = None,
        hidden: bool = False,
        follow_links: bool = False,
        respect_ignore: bool = True,
        max_file_bytes: int | str | None = None,
        passage_chars: int | None = None,
        overlap_chars: int | None = None,
        wait: bool = False,
        tags: str | Iterable[str] = (),
        payload: Fields | None = None,
        durability: Durability | None = None,
    ) -> AddReport:
        """Adds files and folders: reads new and changed files, splits them into passages, and
        stores these.

        Passages are found by their words when it returns. Their vectors may come later:
        ``AddReport.passages_pending`` counts them, and the process that holds the folder makes
        them. ``wait`` returns when they are there. An embedder of your own embeds before it
        returns.

        It reads Markdown, text, HTML, PDF, source code, Word (docx), RTF, slides (pptx),
        spreadsheets (xlsx, xlsb), OpenDocument (odt, odp, ods), EPUB, notebooks (ipynb), tables
        (csv, tsv) and mail (eml, mbox, maildirs) with what is attached. Binaries and unreadable
        files are listed in ``AddReport.skipped``. ``prune`` removes files that no longer exist.
        ``collection`` is a name (created when missing) or a collection. ``on_progress`` is called
        after each batch.

        All passages of these files get ``tags`` (in the list "tags") and the fields of
        ``payload``, also those of unchanged files. A file keeps them when it changes:
        ``Collection.update_files`` takes them away.

        You may interrupt it (Ctrl-C) and run it again: stored files stay, and the rest follows.

        >>> import nuthatch, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder, nuthatch.connect(":memory:") as db:
        ...     _ = pathlib.Path(folder, "note.md").write_text("# Keys\\n\\nThe spare key is under the blue pot.\\n")
        ...     report = db.add(folder, db.collection("documents", embedder="none"))
        ...     hit = db.collection("documents").search("where is the spare key")[0]
        ...     report.files_added, hit.payload["name"], hit.payload["start_line"]
        (1, 'note.md', 1)
        """
        options = AddOptions(
            prune=prune,
            on_progress=on_progress,
            hidden=hidden,
            follow_links=follow_links,
            respect_ignore=respect_ignore,
            max_file_bytes=max_file_bytes,
            passage_chars=passage_chars,
            overlap_chars=overlap_chars,
            wait=wait,
            tags=tags,
            payload=payload,
        )
        return self._add(None, paths, collection, options, durability)

    def _add(
        self,
        cancel: _core.CancelFlag | None,
        paths: StrPath | Iterable[StrPath],
        collection: str | Collection,
        options: AddOptions,
        durability: Durability | None,
    ) -> AddReport:
        given = as_given(paths, options, cancel, durability)
        into = collection if isinstance(collection, Collection) else self.collection(collection)
        return reports.add_report(into._core.add(given))

    def reclaim(self, collection: str | None = None) -> Receipt:
        """Rewrites every file that may hold deleted or replaced bytes, and removes the old files.

        Deleting hides data at once, but its bytes stay in files until background work removes them.
        After this call the folder contains none of them (of one ``collection``, or of everything).
        It takes as long as reading and writing the data; searches and writes go on. The receipt
        names the files, and the folder keeps it, see ``receipts``.

        Earlier snapshots and transactions, of every tenant and process, have ``erasure_grace`` of
        ``connect`` to end. Then the call ends them, and their next read raises ConflictError. The
        receipt counts them.

        Raises ConflictError if an earlier export or very long read takes more than a minute to
        finish.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     notes = db.collection("notes", embedder="none")
        ...     _ = notes.upsert([{"id": "a", "text": "a secret"}, {"id": "b", "text": "no secret"}])
        ...     _ = notes.delete("a")
        ...     receipt = db.reclaim()
        ...     len(receipt.removed) > 0, db.receipts() == [receipt]
        (True, True)
        """
        return reports.receipt(self._core.reclaim(arguments.optional_text("collection", collection)))

    def erase(
        self,
        collection: str,
        ids: str | Iterable[str] | None = None,
        *,
        where: str | None = None,
        prefix: str | None = None,
        files: StrPath | None = None,
    ) -> Receipt:
        """Deletes records and removes all their bytes from the folder: a delete, then ``reclaim``
        of the collection.

        Give ``ids``, or a condition ``where``, or a ``prefix`` of ids, or a path of added ``files``
        (or a folder of them).

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     notes = db.collection("notes", embedder="none")
        ...     _ = notes.upsert([{"id": f"ann/{n}", "text": "a note"} for n in range(3)])
        ...     db.erase("notes", prefix="ann/").deleted_records, len(notes)
        (3, 0)
        """
        name = arguments.text("collection", collection)
        if [ids, where, prefix, files].count(None) != 3:
            raise InvalidError("erase takes ids, where, prefix or files, one of them")
        if where is not None:
            parts = self._core.erase(name, "where", [arguments.text("where", where)])
        elif prefix is not None:
            parts = self._core.erase(name, "prefix", [arguments.text("prefix", prefix)])
        elif files is not None:
            is_document = isinstance(self._core, OverHttp)
            parts = self._core.erase(name, "files", [arguments.file_path("files", files, is_document=is_document)])
        else:
            parts = self._core.erase(name, "ids", arguments.ids(ids))
        return reports.receipt(parts)

    def receipts(self) -> list[Receipt]:
        """Lists the receipts of every ``reclaim`` and ``erase`` of this folder, oldest first; for a
        tenant's handle, its own.
        """
        return [reports.receipt(parts) for parts in self._core.receipts()]

    def stats(self) -> Stats:
        """Returns rows, bytes on disk and resident bytes, by part."""
        return reports.stats(self._core.stats())

    def doctor(self) -> Doctor:
        """Checks every byte of the folder against its checksums, and returns each damage with its
        remedy.
        """
        return reports.doctor(self._core.doctor())

    def backup(
        self,
        place: StrPath | None = None,
        *,
        indexes: bool = True,
        rate: int | str | None = None,
        on_progress: Callable[[BackupProgress], object] | None = None,
    ) -> BackupReport:
        """Backs up everything that the handle sees, as of one moment, to the folder ``place``
        (created when missing). A server has its own folder: leave ``place`` out there.

        It stores only what no earlier backup in ``place`` has, while reads and writes go on. It
        lists the backup after all of it is durable. ``indexes=False`` leaves the indexes out: the
        backup is smaller, and a restored folder rebuilds them. ``rate`` ("50MB", or bytes) limits
        what it reads per second. ``nuthatch.backups`` lists, verifies and deletes backups;
        ``nuthatch.restore`` restores one.

        Raises CorruptError when stored records are damaged, naming the file; ConflictError while
        another backup runs here or there; InvalidError when ``place`` has other files in it.

        >>> import nuthatch, tempfile
        >>> with tempfile.TemporaryDirectory() as place, nuthatch.connect(":memory:") as db:
        ...     _ = db.collection("notes", embedder="none").upsert([{"id": "a", "text": "hello"}])
        ...     report = db.backup(place)
        ...     report.backup.rows, report.backup.left_out
        (1, [])
        """
        how = (
            arguments.flag("indexes", indexes),
            arguments.optional_size_bytes("rate", rate),
            backups.telling(on_progress),
        )
        core = self._core
        if isinstance(core, OverHttp):
            return backups.report(core.backup(None if place is None else backups.folder("place", place), *how))
        if place is None:
            raise InvalidError("place is None; name the folder for backups")
        parts = core.backup(backups.folder("place", place), *how)
        return backups.report(parts)

    def export_to(
        self,
        folder: StrPath,
        *,
        format: ExportFormat = "jsonl",
        collection: str | None = None,
        on_progress: Callable[[TransferProgress], object] | None = None,
    ) -> ExportReport:
        """Exports everything, or one collection, into ``folder`` (new or empty) in an open format,
        as of one moment.

        "jsonl" writes one line of JSON per record. "parquet" needs pyarrow: vectors are lists of
        float32 of fixed size, and payload fields of a single type are columns of their own, next to
        the whole payload as JSON. It needs disk space for both formats while it works.

        >>> import nuthatch, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder, nuthatch.connect(":memory:") as db:
        ...     notes = db.collection("notes", embedder="none")
        ...     _ = notes.upsert([{"id": "a", "text": "hello", "vector": [1, 0.5], "payload": {"year": 2025}}])
        ...     report = db.export_to(pathlib.Path(folder, "export"))
        ...     print(pathlib.Path(folder, "export/collections/000-notes/records.jsonl").read_text().strip())
        {"id":"a","text":"hello","vector":[1.0,0.5],"payload":{"year":2025}}
        """
        name = arguments.optional_text("collection", collection)
        target = backups.folder("folder", folder)
        if format not in ("jsonl", "parquet"):
            raise InvalidError(f'format={format!r}; give "jsonl" or "parquet"')

        def lines(place: str) -> dict[str, Any]:
            return self._core.export(place, name, transfer.telling(on_progress))

        if format == "jsonl":
            return transfer.export_report(lines(target))
        return transfer.export_parquet(
            Path(target), lines, lambda name: reports.info(self._core.existing_collection(name).info()).fields
        )

    def import_from(
        self,
        folder: StrPath,
        *,
        collection: str | None = None,
        merge: bool = False,
        on_progress: Callable[[TransferProgress], object] | None = None,
    ) -> ImportReport:
        """Imports an export, in either format. It takes vectors as they are and embeds nothing.

        Existing collections and keyspaces are refused; ``merge`` replaces entries with the same id
        or key instead. Trees come as a whole or not at all, and an existing one is refused unless
        it is what the export has.

        >>> import nuthatch, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     target = pathlib.Path(folder, "export")
        ...     with nuthatch.connect(":memory:") as db:
        ...         _ = db.collection("notes", embedder="none").upsert([{"id": "a", "text": "hello"}])
        ...         _ = db.export_to(target)
        ...     with nuthatch.connect(":memory:") as other:
        ...         other.import_from(target).records, other.collection("notes").get("a").text
        (1, 'hello')
        """
        name = arguments.optional_text("collection", collection)
        source = backups.folder("folder", folder)
        arguments.flag("merge", merge)

        def lines(place: str) -> dict[str, Any]:
            return self._core.import_(place, name, merge, transfer.telling(on_progress))

        if transfer.is_parquet(Path(source)):
            return transfer.import_parquet(Path(source), lines)
        return transfer.import_report(lines(source))

    def close(self) -> None:
        """Finishes background work and closes the folder; another process that has it open takes
        over. A second call does nothing.

        On a tenant's handle, it closes only that handle.
        """
        self._core.close()
        self._is_open = False

    def __enter__(self) -> Database:
        if not self._is_open:
            raise ClosedError("the database is closed; connect again")
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        of = "" if self.tenant_name is None else f", tenant {self.tenant_name!r}"
        return f"Database({self._path!r}{of}{'' if self._is_open else ', closed'})"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Database cannot be pickled or copied: it belongs to the process that opened it; "
            "send the folder's path, and call nuthatch.connect there"
        )


def _folder(path: StrPath) -> str | None:
    try:
        given = os.fspath(path)
    except TypeError:
        raise InvalidError(f'path is of type {type(path).__name__}; give a folder, or ":memory:"') from None
    if not isinstance(given, str) or not given:
        raise InvalidError(f'path={given!r} names no folder; give one, or ":memory:"')
    if given == MEMORY:
        return None
    if "://" in given:
        raise InvalidError(f"path={given!r} is not a server address; give http://…, https://… or a folder")
    return os.path.expanduser(given)  # noqa: PTH111 (the text is kept as given)


def server_address(path: object) -> str | None:
    """The address of a server, where it is one."""
    return path if isinstance(path, str) and path.lower().startswith(("http://", "https://")) else None


def _ask_server(
    url: str,
    api_key: str | None,
    tenant: str | None,
    timeout: float | None,
    ca: StrPath | None,
    client_cert: StrPath | tuple[StrPath, StrPath] | None,
    of_the_folder: tuple[object, ...],
) -> Database:
    if any(of_the_folder):
        raise InvalidError(
            "memory_budget, mapped, build_memory, build_threads, sync_interval_ms, snapshot_age, erasure_grace, create and"
            " exclusive are for folders; a server has its own settings"
        )
    certificate, key = client_cert if isinstance(client_cert, tuple) else (client_cert, None)
    given: ServerArguments = {
        "api_key": arguments.optional_text("api_key", api_key),
        "tenant": arguments.optional_text("tenant", tenant),
        "timeout_seconds": arguments.seconds("timeout", timeout),
        "ca": None if ca is None else os.fspath(ca),
        "client_cert": None
        if certificate is None
        else (os.fspath(certificate), None if key is None else os.fspath(key)),
    }
    from . import remote  # its dependencies load only for callers that ask a server

    return Database(remote.connect(url, given))


def _program() -> str:
    """The running program: ``python app.py``, or just ``python``."""
    script = os.path.basename(sys.argv[0]) if getattr(sys, "argv", None) else ""  # noqa: PTH119 (no import for one name)
    return f"python {script}" if script and not script.startswith("-") else "python"
