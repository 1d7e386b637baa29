"""Trees: files kept bit for bit under relative paths, with versions and named snapshots.

What it is: ``Database.tree`` gives a ``Tree``, for originals: getting back the very bytes that were put, as they are or as
they were, comparing states, and searching the bytes exactly or by their passages.
What it is not: a file system: nothing is mounted or locked.
Invariant: every write is one atomic batch; a file that is being read stays one version.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias

from . import arguments, changes, tree_entries, tree_grep
from .arguments import StrPath
from .changes import Fields
from .errors import InvalidError, NotFoundError
from .kv_entries import Bytes, as_bytes
from .queries import Further, Fusion, Mode, asked
from .tree_code import SymbolsImported, TreeCode
from .tree_entries import (
    AddedFolder,
    DamagedFile,
    PutFile,
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
from .tree_file import BUFFER_BYTES, PART_BYTES, TreeFile
from .tree_grep import GrepMatches, TreeIndex

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .cores import TreeCore
    from .results import Facet, Results
    from .vectors import Vector

#: Entries that an iteration reads at once.
_PAGE = 1000
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

_Entries: TypeAlias = "list[TreeEntry]"
_Changes: TypeAlias = "list[TreeChange]"
_Snapshots: TypeAlias = "list[TreeSnapshot]"
_Files: TypeAlias = "list[tuple[str, bytes, int, int]]"

FilesToPut: TypeAlias = "Mapping[str, Bytes] | Iterable[PutFile | Mapping[str, Any]]"
"""Paths with their bytes, ``PutFile``, or dicts of ``path``, ``data``, ``mode`` and ``modified``."""


class TreeReads:
    """Reading files, versions and snapshots: the common part of ``Tree`` and ``SnapshotTree``.

    ``as_of`` shows the tree as it was: the name of one of its snapshots, the ``sequence`` of a
    write, or a time (a datetime with a time zone, or text such as ``"2026-11-25T10:00:00Z"``).
    """

    __slots__ = ("_core",)

    _core: TreeCore

    def __init__(self, core: TreeCore) -> None:
        self._core = core

    @property
    def name(self) -> str:
        """The tree's name."""
        return self._core.name

    def info(self) -> TreeInfo:
        """Describes the tree. Raises NotFoundError when no file was ever put into a tree of this name."""
        return tree_entries.info(self._core.info())

    def get(self, path: str, *, as_of: AsOf | None = None, start: int = 0, end: int | None = None) -> bytes:
        """Returns the bytes of a file, from ``start`` to before ``end``; fewer where it ends.

        Raises NotFoundError when nothing stands there, and InvalidError for a folder or a link.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     tree = db.tree("notes")
        ...     _ = tree.put("a.txt", "hello")
        ...     tree.get("a.txt"), tree.get("a.txt", start=1, end=3)
        (b'hello', b'el')
        """
        file = self._file(path, as_of)
        at = arguments.whole("start", start)
        to = file.entry.bytes if end is None else min(arguments.whole("end", end), file.entry.bytes)
        parts = []
        while at < to:
            parts.append(file.read_part(at, min(to - at, PART_BYTES)))
            at += len(parts[-1])
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def open(self, path: str, *, as_of: AsOf | None = None) -> io.BufferedReader:
        """Opens a file for reading: a binary file object that can seek, and reads in parts.

        It stays the version that it is now, whatever is written meanwhile; when that version is
        erased or no longer kept, reading raises NotFoundError.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     _ = db.tree("notes").put("a.txt", "one\\ntwo\\n")
        ...     with db.tree("notes").open("a.txt") as file:
        ...         file.seek(4), file.readline()
        (4, b'two\\n')
        """
        file = self._file(path, as_of)
        return io.BufferedReader(TreeFile(file.entry, file.read_part), BUFFER_BYTES)

    def restore(
        self,
        folder: str | os.PathLike[str],
        *,
        as_of: AsOf | None = None,
        below: str = "",
        globs: str | Iterable[str] = (),
        dry_run: bool = False,
        overwrite: bool = False,
    ) -> RestoredFiles:
        """Writes files, folders and links into a folder: bytes, permission bits, times and targets.

        ``below``: only what lies there, which becomes the root of the folder. ``globs``: only paths
        that one of them matches; with ``!`` in front, all but those. A new folder appears whole or
        not at all; nothing is written outside of it.

        Raises ConflictError for a folder that has something in it, unless ``overwrite``; then files
        of the same path are replaced. Not over HTTP.

        >>> import nuthatch, tempfile, pathlib
        >>> with nuthatch.connect(":memory:") as db, tempfile.TemporaryDirectory() as home:
        ...     _ = db.tree("notes").put("sub/a.txt", "hello")
        ...     restored = db.tree("notes").restore(f"{home}/out")
        ...     restored.files, pathlib.Path(home, "out/sub/a.txt").read_text()
        (1, 'hello')
        """
        parts = self._core.restore_to(
            {
                "path": os.fspath(folder),
                "as_of": _moment(as_of),
                "below": arguments.text("below", below),
                "globs": arguments.texts("globs", [globs] if isinstance(globs, str) else globs),
                "dry_run": arguments.flag("dry_run", dry_run),
                "overwrite": arguments.flag("overwrite", overwrite),
            }
        )
        return tree_entries.restored_files(parts)

    def entry(self, path: str, *, as_of: AsOf | None = None) -> TreeEntry | None:
        """Returns what stands at a path; None when nothing does."""
        return tree_entries.optional_entry(self._core.entry(_moment(as_of), arguments.text("path", path)))

    def list(self, below: str = "", *, as_of: AsOf | None = None, where: str | None = None) -> Iterator[TreeEntry]:
        """Iterates over the files, folders and links at a path or below it, by path, page by page.

        ``where`` is a condition on their fields: those that ``update`` gave, and ``path``, ``name``,
        ``mode``, ``mtime``, ``sequence``, ``bytes`` and ``content``.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     _ = db.tree("code").put_many({"src/a.py": "a", "src/b.py": "b", "readme": "c"})
        ...     [entry.path for entry in db.tree("code").list("src")]
        ['src/a.py', 'src/b.py']
        """
        moment, place = _moment(as_of), arguments.text("below", below)
        return self._list(moment, place, arguments.optional_text("where", where))

    def _list(self, moment: str | None, below: str, where: str | None) -> Iterator[TreeEntry]:
        after = None
        while True:
            entries, after = self._page(moment, below, after, where)
            yield from entries
            if after is None:
                return

    def _page(
        self, moment: str | None, below: str, after: str | None, where: str | None
    ) -> tuple[_Entries, str | None]:
        found, cursor = self._core.list_entries(moment, below, after, _PAGE, where)
        return [TreeEntry(**parts) for parts in found], cursor

    def __iter__(self) -> Iterator[TreeEntry]:
        return self._list(None, "", None)

    def __contains__(self, path: object) -> bool:
        return self.entry(arguments.text("path", path)) is not None

    def versions(self, path: str) -> _Entries:
        """Returns all versions of a path that are kept, the newest first, those included that say that it is gone."""
        return [TreeEntry(**parts) for parts in self._core.versions(arguments.text("path", path))]

    def snapshots(self) -> _Snapshots:
        """Returns the named snapshots, the oldest first."""
        return [TreeSnapshot(**parts) for parts in self._core.snapshots()]

    def diff(
        self,
        from_: AsOf | None,
        to: AsOf | None = None,
        *,
        below: str = "",
        renames: bool = True,
        to_tree: str | None = None,
    ) -> _Changes:
        """Returns the differences between two states (None: now), by path. Times do not count.

        ``renames=False`` shows a file that moved as one removed and one added. ``to_tree`` is the
        tree of the later state, if that is another one.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     tree = db.tree("notes")
        ...     _ = tree.put("a.txt", "hello"), tree.snapshot("v1")
        ...     _ = tree.put("b.txt", "hello"), tree.remove("a.txt")
        ...     [(change.kind, change.before.path, change.path) for change in tree.diff("v1")]
        [('renamed', 'a.txt', 'b.txt')]
        """
        found = self._core.diff(
            {
                "from": _moment(from_),
                "to": _moment(to),
                "to_tree": arguments.optional_text("to_tree", to_tree),
                "below": arguments.text("below", below),
                "renames": arguments.flag("renames", renames),
            }
        )
        return [tree_entries.change(parts) for parts in found]

    def facets(
        self,
        fields: str | Iterable[str],
        *,
        where: str | None = None,
        as_of: AsOf | None = None,
        below: str = "",
        limit: int = 10,
    ) -> dict[str, Facet]:
        """Counts the values of fields among the files and links that pass ``where``, and returns for
        each field its most frequent ``limit`` values.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     tree = db.tree("notes")
        ...     _ = tree.put_many({"a.txt": "one", "b.txt": "two"})
        ...     _ = tree.update("a.txt", add={"tags": "draft"})
        ...     tree.facets("tags")["tags"].values, tree.facets("tags")["tags"].missing
        ([('draft', 1)], 1)
        """
        from .results import facets

        names = arguments.texts("fields", fields)
        condition, place = arguments.optional_text("where", where), arguments.text("below", below)
        return facets(self._core.facets(_moment(as_of), place, names, condition, arguments.whole("limit", limit)))

    def root(self, *, as_of: AsOf | None = None, below: str = "") -> TreeRoot:
        """Returns the root: one hash over all that ``diff`` compares, of the tree or of what lies
        below a folder of it. Two states have the same root exactly when they do not differ, also in
        two databases.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     one, other = db.tree("one"), db.tree("other")
        ...     _ = one.put("sub/a.txt", "hello"), other.put("a.txt", "hello")
        ...     one.root(below="sub") == other.root(), one.root().root == other.root().root
        (True, False)
        """
        return TreeRoot(**self._core.root(_moment(as_of), arguments.text("below", below)))

    def verify(self, *, as_of: AsOf | None = None, below: str = "") -> TreeVerified:
        """Reads every file, compares its chunks and its bytes with their hashes, and returns what is
        damaged, by path, with the root of what was read. Damage raises no error, and nothing is
        changed.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     _ = db.tree("notes").put("a.txt", "hello")
        ...     found = db.tree("notes").verify()
        ...     found.ok, found.files, found.bytes, found.root == db.tree("notes").root()
        (True, 1, 5, True)
        """
        moment, place = _moment(as_of), arguments.text("below", below)
        files, size, damaged = 0, 0, []
        after, root = None, None
        while True:
            page = self._core.verify(moment, place, after)
            files, size = files + page["files"], size + page["bytes"]
            damaged += [DamagedFile(**parts) for parts in page["damaged"]]
            root = page["root"] if after is None else root
            moment, after = page["as_of"], page["cursor"]
            if after is None:
                return TreeVerified(None if root is None else TreeRoot(**root), files, size, tuple(damaged))

    def grep(
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
    ) -> GrepMatches:
        """Searches the bytes of the files as ripgrep does, and iterates over the lines that match.

        ``pattern`` is a regular expression, or several, of which one has to match; the options are
        ripgrep's: ``-F``, ``-i``, ``-S``, ``-w``, ``-x``, ``-v``, ``-U``, ``-a``, ``-g``, ``-t``,
        ``-T``, ``-B``, ``-A`` and ``-m`` (lines of each file), in this order. ``history`` searches
        every kept version, each content of a path once. All pages of one search show the same
        state. The result's ``cut`` names the files that could not be searched to their end.

        ``index`` says whether the index tells which files to read: where few can match, never, or
        wherever it tells anything. The matches are the same; the result's ``read`` tells what was
        read.

        ``where`` is a condition on the files' fields, as in ``list``: only files that pass are searched.

        Raises InvalidError for a pattern, a glob or a type that ripgrep refuses.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     _ = db.tree("code").put_many({"a.py": "def one():\\n", "b.rs": "fn one() {}\\nfn two() {}\\n"})
        ...     [(found.path, found.line_number, found.spans) for found in db.tree("code").grep(r"\\bt\\w+", types="rust")]
        [('b.rs', 2, ((3, 6),))]
        """
        asked = {
            "request": tree_grep.request(
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
            ),
            "below": arguments.text("below", below),
            "as_of": _moment(as_of),
            "history": arguments.flag("history", history),
            "index": arguments.text("index", index),
            "where": arguments.optional_text("where", where),
        }

        def page(cursor: str | None) -> tree_grep.GrepParts:
            import json  # loads only for callers that search

            return self._core.grep(json.dumps({**asked, "cursor": cursor}))

        return GrepMatches(page, history)

    def index(self, *, wait: bool = False) -> TreeIndex:
        """How far the index is that ``grep`` uses; with ``wait``, after every file is in it.

        All trees of a tenant share it. It is made in the background, about a second after writes.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     _ = db.tree("code").put("a.py", "def one():\\n")
        ...     db.tree("code").index(wait=True).indexed
        1
        """
        return TreeIndex(**self._core.index(arguments.flag("wait", wait)))

    @property
    def code(self) -> TreeCode:
        """Questions about the source code among the files: definitions, callers, imports."""
        return TreeCode(self._core.code, _moment)

    def _file(self, path: str, as_of: AsOf | None) -> _File:
        moment = _moment(as_of)
        parts = self._core.entry(moment, arguments.text("path", path))
        if parts is None:
            error = NotFoundError(f"tree {self.name!r} has no file {path!r}")
            error.what, error.name = "file", path
            raise error
        entry = TreeEntry(**parts)
        if entry.content is None:
            raise InvalidError(f"{path!r} is a {entry.kind}, and only files have bytes; see its entry")
        return _File(self._core, moment, entry, entry.content)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} cannot be pickled or copied: it belongs to the process that opened it; "
            "send the folder's path and the name, and connect there"
        )


class _File:
    """A version of a file, and how it was found."""

    __slots__ = ("_content", "_core", "_moment", "entry")

    def __init__(self, core: TreeCore, moment: str | None, entry: TreeEntry, content: str) -> None:
        self._core = core
        self._moment = moment
        self._content = content
        self.entry = entry

    def read_part(self, offset: int, limit: int) -> bytes:
        entry = self.entry
        return self._core.read(self._moment, entry.path, entry.sequence, self._content, offset, limit)


class Tree(TreeReads):
    """Files under relative paths, kept bit for bit. ``Database.tree`` makes it; threads may share it.

    Its first file makes the tree. Paths have ``/`` between their parts and up to 4,096 bytes; none
    is empty, ``.`` or ``..``. A file that is put again leaves its earlier version behind: ``as_of``
    reads it, ``versions`` lists it. By default the last ten versions of each path are kept, and all
    of the last 30 days; see ``set_retention``. The same bytes are stored once, whatever has them.

    >>> import nuthatch
    >>> with nuthatch.connect(":memory:") as db:
    ...     tree = db.tree("notes")
    ...     _ = tree.put("a.txt", "one"), tree.snapshot("v1"), tree.put("a.txt", "two")
    ...     tree.get("a.txt"), tree.get("a.txt", as_of="v1"), [entry.path for entry in tree]
    (b'two', b'one', ['a.txt'])
    """

    __slots__ = ()

    def put(self, path: str, data: Bytes, *, mode: int = 0o644, modified: datetime | int | None = None) -> PutReport:
        """Puts a file of any size; a string is stored as UTF-8.

        ``mode``: permission bits. ``modified``: when it was changed last, as a datetime with a time
        zone or in nanoseconds since 1970; now by default. A file whose bytes, mode and time are
        those that the tree has is not written again.
        """
        return self.put_many([PutFile(path, data, mode, modified)])

    def put_many(self, files: FilesToPut, *, remove: Iterable[str] = ()) -> PutReport:
        """Puts files, and removes paths, as one write: all or nothing.

        ``files``: a mapping of paths to bytes or strings, or an iterable of ``PutFile`` or of dicts
        with its fields. ``remove``: each path by itself; what lies below it stays. Up to 10,000
        paths; a server also limits the bytes of one call.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     tree = db.tree("notes")
        ...     _ = tree.put("old.txt", "x")
        ...     report = tree.put_many({"a.txt": "one", "b/c.bin": b"\\x00"}, remove=["old.txt"])
        ...     report.added, report.gone, [entry.path for entry in tree]
        (2, 1, ['a.txt', 'b/c.bin'])
        """
        return PutReport(**self._core.put(_files(files), arguments.texts("remove", remove)))

    def add(
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
        """Makes the tree equal to a folder, or puts one file under its name.

        ``below``: where its contents go in the tree. ``hidden``: also names that begin with a dot.
        ``ignore=False``: also what ``.gitignore`` leaves out; with both, ``.git`` too. What the
        folder has no longer is removed, and its versions stay; ``keep_missing`` keeps it. Files of
        the size, time and mode that the tree knows are not read. All files of the folder get ``tags``
        (in the list "tags") and the fields of ``payload``, also those that are unchanged.

        Several writes may be under way in turn; name a snapshot afterwards for a state to rely on.
        Not over HTTP, where the server does not see the folder; see ``put_many``.

        >>> import nuthatch, tempfile, pathlib
        >>> with nuthatch.connect(":memory:") as db, tempfile.TemporaryDirectory() as home:
        ...     _ = pathlib.Path(home, "a.txt").write_text("hello")
        ...     db.tree("notes").add(home).added, db.tree("notes").get("a.txt")
        (1, b'hello')
        """
        parts = self._core.add_folder(
            {
                "path": os.fspath(path),
                "below": arguments.text("below", below),
                "hidden": arguments.flag("hidden", hidden),
                "ignore": arguments.flag("ignore", ignore),
                "keep_missing": arguments.flag("keep_missing", keep_missing),
                "fields": changes.of_file(tags, payload),
            }
        )
        return tree_entries.added_folder(parts)

    def update(
        self,
        paths: str | Iterable[str] = (),
        *,
        where: str | None = None,
        set: Fields | None = None,
        add: Fields | None = None,
        remove: Fields | None = None,
        unset: str | Iterable[str] = (),
    ) -> int:
        """Changes fields of files, and of all files below folders, without sending them again, and
        returns how many changed.

        ``where`` leaves out files that do not pass; without ``paths`` it chooses among all. Fields
        are named as in ``Collection.update``. A file keeps its fields when it is put again, and
        earlier versions keep those that they had. Fields that the tree says itself, such as "path"
        and "lang", cannot be changed.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     tree = db.tree("notes")
        ...     _ = tree.put("a.txt", "one"), tree.snapshot("v1")
        ...     tree.update("a.txt", set={"state": "read"}, add={"tags": "urgent"})
        ...     tree.entry("a.txt").fields, tree.entry("a.txt", as_of="v1").fields
        1
        ({'state': 'read', 'tags': ['urgent']}, {})
        """
        several = arguments.texts("paths", paths)
        condition = arguments.optional_text("where", where)
        if not several and condition is None:
            raise InvalidError("update got neither paths nor where; name the files, or say which ones")
        return self._core.update(several, condition, changes.change(set, add, remove, unset))

    def search(
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
        """Returns the best ``limit`` passages of the files, as they are or as they were: that many
        whenever that many match.

        Arguments are those of ``Collection.search``. ``where`` may name fields of passages
        (``kind``, ``lang``, ``heading``, ``page``) and of files (``path``, ``name``, ``mtime``,
        ``mode``, ``sequence``). A hit's ``payload`` has them, with the ``path`` of that moment; a
        content at several paths is one hit, with all of them in ``paths``. ``like`` takes the id of
        a hit. Passages that are not there yet are made first: see ``make_passages``.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     tree = db.tree("notes", embedder="none")
        ...     _ = tree.put("a.md", "Ospreys eat fish."), tree.snapshot("v1"), tree.put("a.md", "Ospreys nest on poles.")
        ...     [hit.payload["path"] for hit in tree.search("fish", as_of="v1")], len(tree.search("fish"))
        (['a.md'], 0)
        """
        one = asked(
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
            explain=explain,
            recall=recall,
            ef=ef,
            exact=exact,
            timeout=timeout,
            **further,
        )
        return self._core.search(_moment(as_of), arguments.text("below", below), one)

    def make_passages(self, *, as_of: AsOf | None = None) -> TreePassages:
        """Makes the passages that the files lack, so that no search has to. What could not be read
        is in ``unread``, with the reason.
        """
        return tree_entries.passages(self._core.make_passages(_moment(as_of), None))

    def remove(self, path: str) -> int:
        """Removes a file, or everything below a folder, and returns how many files, folders and
        links. Versions stay for as long as the tree keeps them.
        """
        return self._core.remove(_place("remove", path))

    def import_scip(self, index: StrPath | bytes, below: str = "") -> SymbolsImported:
        """Takes in an index of source code in SCIP's form, from a file or as bytes: what it says of
        names wins in the answers of ``code``.

        Indexers that know types make it, such as ``scip-python``, ``scip-typescript`` and
        ``rust-analyzer scip``. ``below`` is where in the tree the folder is that was indexed. Files
        whose text the index does not fit are left as they are, and named.
        """
        data = index if isinstance(index, bytes) else Path(index).read_bytes()
        found = self._core.import_scip(data, arguments.text("below", below))
        return SymbolsImported(found["files"], found["names"], tuple(found["missing"]), tuple(found["changed"]))

    def erase(self, path: str) -> TreeErased:
        """Erases every version of a file, or of everything below a folder, also those that
        snapshots show. The bytes leave the disk with the next ``Database.reclaim``.
        """
        return TreeErased(**self._core.erase(_place("erase", path)))

    def snapshot(self, name: str) -> TreeSnapshot:
        """Names the tree as it stands, which takes no time whatever its size. What the snapshot
        shows is kept until it is dropped.

        Raises ConflictError when the tree has a snapshot of that name.
        """
        return TreeSnapshot(**self._core.name_snapshot(arguments.text("name", name)))

    def drop_snapshot(self, name: str) -> bool:
        """Drops a named snapshot, and the versions that it alone has kept. Returns False when there is none."""
        return self._core.drop_snapshot(arguments.text("name", name))

    def set_retention(self, *, versions: int | None, days: float | timedelta | None) -> None:
        """Changes how long versions are kept that are no longer current and that no snapshot shows,
        and removes those that need not be kept any longer.

        A version goes when it is neither among the last ``versions`` of its path nor was current
        within ``days``. None keeps all.
        """
        kept = arguments.optional_whole("versions", versions)
        if kept is not None and not 0 < kept < 1 << 32:
            raise InvalidError(f"versions={kept}; give 1 to {(1 << 32) - 1}, or None for all")
        given = days.total_seconds() / 86_400 if isinstance(days, timedelta) else days
        found = arguments.optional_real("days", given)
        if found is not None and not 0 <= found <= 1e9:
            raise InvalidError(f"days={days!r}; give 0 to 1,000,000,000, or None for all")
        self._core.set_retention(kept, None if found is None else int(found * 86_400))


class SnapshotTree(TreeReads):
    """A tree in a snapshot of the database."""

    __slots__ = ()


AsOf: TypeAlias = "str | int | datetime"
"""The name of a snapshot, a sequence, or a time."""


def _moment(as_of: object) -> str | None:
    if as_of is None or isinstance(as_of, str):
        return arguments.optional_text("as_of", as_of)
    if isinstance(as_of, datetime):
        _check_zone("as_of", as_of)
        return as_of.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
    if isinstance(as_of, int) and not isinstance(as_of, bool):
        return str(arguments.whole("as_of", as_of))
    raise InvalidError(
        f"as_of={as_of!r} is of type {type(as_of).__name__}; give the name of a snapshot, a sequence or a datetime"
    )


def _check_zone(name: str, moment: datetime) -> None:
    if moment.tzinfo is None:
        raise InvalidError(f"{name}={moment!r} has no time zone; give it one, such as timezone.utc")


def _modified_ns(modified: object) -> int:
    if modified is None:
        return time.time_ns()
    if isinstance(modified, datetime):
        _check_zone("modified", modified)
        return arguments.integer("modified", (modified - _EPOCH) // timedelta(microseconds=1) * 1000)
    if isinstance(modified, int):
        return arguments.integer("modified", modified)
    raise InvalidError(
        f"modified={modified!r} is of type {type(modified).__name__}; give a datetime, or nanoseconds since 1970"
    )


def _place(call: str, path: object) -> str:
    found = arguments.text("path", path)
    if not found:
        raise InvalidError(
            f"{call} got an empty path, which is above every file; name a file or a folder, or drop the tree"
        )
    return found


def _files(files: object) -> _Files:
    if isinstance(files, Mapping):
        files = [PutFile(path, data) for path, data in files.items()]
    if isinstance(files, (str, bytes)) or not isinstance(files, Iterable):
        raise InvalidError(f"files is of type {type(files).__name__}; give a dict of paths and bytes, or PutFiles")
    return [_file(at, file) for at, file in enumerate(files)]


def _file(at: int, file: object) -> tuple[str, bytes, int, int]:
    if isinstance(file, Mapping):
        fields = sorted(map(str, file))
        try:
            file = PutFile(**file)
        except TypeError:
            raise InvalidError(f"files[{at}] has the fields {fields}; give path, data, mode and modified") from None
    if not isinstance(file, PutFile):
        raise InvalidError(
            f"files[{at}]={file!r} is of type {type(file).__name__}; give a PutFile, or a dict of its fields"
        )
    path, mode = arguments.text("path", file.path), arguments.whole("mode", file.mode)
    if mode > 0o7777:
        raise InvalidError(f"mode={mode:#o}; give permission bits, 0 to 0o7777")
    return path, as_bytes(f"the data of {path!r}", file.data), mode, _modified_ns(file.modified)
