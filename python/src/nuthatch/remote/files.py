"""Adding files over HTTP: they are read here and sent one by one, and the server splits, embeds and stores them.

The server does not see this machine's folders, so a file is stored under a name: its path below the given one, with the
last part of that one in front (``notes/plan.md`` for ``add("/home/ann/notes")``). The server compares what it gets
with what it has, so an unchanged file costs its sending and nothing else.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from .. import _core
from ..errors import InvalidError, NotFoundError
from .caller import OCTETS, Caller, address
from .durability import checked

#: The outcome of a file that gives no passages; ``why`` says why.
UNREADABLE = "unreadable"

_OF_PASSAGES = ("passages_added", "passages_reused", "passages_pending", "passages_removed")
_COUNTS = ("files_added", "files_changed", "files_unchanged", "files_pruned", *_OF_PASSAGES, "bytes_read")


def add(caller: Caller, collection: str, arguments: _core.AddArguments) -> dict[str, Any]:
    """As ``add`` of the extension module's collection."""
    return _AtOnce(caller, collection, arguments).run()


class Sending:
    """One ``add``: reads files and reports progress. Subclasses decide how to store a file."""

    def __init__(self, caller: Caller, collection: str, arguments: _core.AddArguments) -> None:
        self._caller, self._collection, self._arguments = caller, collection, arguments
        self._started = time.monotonic()
        self._counts = dict.fromkeys(_COUNTS, 0)
        self._skipped: list[tuple[str, str, bool]] = []
        self._warnings: list[str] = []
        self._names: set[str] = set()
        self._unread: list[Path] = []
        self._files_total = self._files_done = self._bytes_total = self._bytes_done = 0
        self.is_cancelled: bool = False

    def take(self, name: str, content: bytes) -> dict[str, Any]:
        """Has a file added under a name; returns the server's report."""
        raise NotImplementedError

    def drop(self, name: str, revision: str) -> None:
        """Has a file removed that is not here any more."""
        raise NotImplementedError

    def run(self) -> dict[str, Any]:
        """Runs it, and reports as the extension module does."""
        arguments = self._arguments
        roots = [Path(path).resolve() for path in arguments["paths"]]
        for given, root in zip(arguments["paths"], roots, strict=True):
            if not root.exists():
                raise NotFoundError(f"{given}: no such file or folder")
        if len({root.name for root in roots}) < len(roots):
            raise InvalidError("two of the paths have the same name, so their files would collide; add them one by one")
        present = {root.name: self._walk(root) for root in roots}
        for root in roots:
            self._send(root, present[root.name])
        if arguments["prune"] and not self.is_cancelled:
            for root in roots:
                self._prune(root)
        return self._report()

    def _walk(self, root: Path) -> list[tuple[Path, int]]:
        """Files at or below it, with their bytes."""
        asked = self._arguments
        files, unreadable = _core.walk(
            str(root), asked["hidden"], asked["follow_links"], asked["respect_ignore"], asked["max_file_bytes"]
        )
        for path, why in unreadable:
            self._skip(path, why)
        self._files_total += len(files)
        self._bytes_total += sum(size for _, size in files)
        return [(Path(path), size) for path, size in files]

    def _send(self, root: Path, files: list[tuple[Path, int]]) -> None:
        """Reads and sends them."""
        for path, size in files:
            cancel = self._arguments["cancel"]
            if cancel is not None and cancel.is_set():
                self.is_cancelled = True
                return
            self._one(path, name_of(root, path))
            self._files_done += 1
            self._bytes_done += size
            self._tell(path)
        self._tell(None)

    def _one(self, path: Path, name: str) -> None:
        self._names.add(name)
        try:
            content = path.read_bytes()
        except OSError as error:
            self._skip(path, f"{path}: {error.strerror}")
            return
        self._counts["bytes_read"] += len(content)
        done = self.take(name, content)
        if done["outcome"] == UNREADABLE:
            # Binary, or broken: this file gives nothing, and the others go on.
            self._skip(path, done["why"])
        else:
            self._counts[f"files_{done['outcome']}"] += 1
        for name_of_count in _OF_PASSAGES:
            self._counts[name_of_count] += done.get(name_of_count, 0)  # a preview puts nothing off
        self._warnings += done["warnings"]

    def _prune(self, root: Path) -> None:
        """Removes stored files below it that no longer exist."""
        for file in stored(self._caller, self._collection, root.name):
            name = file["path"]
            path = root.parent / name
            if name not in self._names and not any(path.is_relative_to(unread) for unread in self._unread):
                self.drop(name, file["revision"])
                self._counts["files_pruned"] += 1
                self._counts["passages_removed"] += file["passages"]

    def _skip(self, path: str | Path, why: str) -> None:
        self._unread.append(Path(path))
        self._skipped.append((str(path), why, True))

    def _tell(self, current: Path | None) -> None:
        tell = self._arguments["on_progress"]
        if tell is None:
            return
        elapsed, done = time.monotonic() - self._started, self._bytes_done
        tell(
            {
                "files_total": self._files_total,
                "files_done": self._files_done,
                "bytes_total": self._bytes_total,
                "bytes_done": done,
                "passages": self._counts["passages_added"],
                "passages_pending": self._counts["passages_pending"],
                "elapsed_seconds": elapsed,
                "remaining_seconds": elapsed * (self._bytes_total - done) / done if done else None,
                "current": current,
            }
        )

    def _report(self) -> dict[str, Any]:
        return {
            **self._counts,
            "skipped": self._skipped,
            "warnings": self._warnings,
            "elapsed_seconds": time.monotonic() - self._started,
            "cancelled": self.is_cancelled,
        }


class _AtOnce(Sending):
    """Each file is written when it has arrived."""

    def __init__(self, caller: Caller, collection: str, arguments: _core.AddArguments) -> None:
        super().__init__(caller, collection, arguments)
        self._durability = checked(arguments["durability"])

    def take(self, name: str, content: bytes) -> dict[str, Any]:
        fields = self._arguments["fields"]
        place = address(
            *("collections", self._collection, "files"),
            path=name,
            passage_chars=self._arguments["target_chars"],
            overlap_chars=self._arguments["overlap_chars"],
            change=None if fields is None else _core.change_json(fields).decode(),
            durability=self._durability,
        )
        try:
            done: dict[str, Any] = self._caller.ask("PUT", place, content, media_type=OCTETS).json()
        except InvalidError as error:
            return {"outcome": UNREADABLE, "why": str(error), **dict.fromkeys(_OF_PASSAGES, 0), "warnings": []}
        return done

    def drop(self, name: str, revision: str) -> None:
        self._caller.write("DELETE", address("collections", self._collection, "files", path=name))


def stored(caller: Caller, collection: str, path: str) -> list[dict[str, Any]]:
    """The file ``path``, or all files below it, as the server lists them."""
    found: list[dict[str, Any]] = caller.read("GET", address("collections", collection, "files", path=path))["files"]
    return found


def name_of(root: Path, path: Path) -> str:
    """The path on the server of a file at or below ``root``.

    >>> name_of(Path("/home/ann/notes"), Path("/home/ann/notes/plans/a.md"))
    'notes/plans/a.md'
    """
    return path.relative_to(root.parent).as_posix()
