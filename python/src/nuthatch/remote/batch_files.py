"""Files of a batch on a server: previewed there at once, kept here, written with the rest of the batch.

Each file travels twice: first for a preview, so that ``add_files`` reports what the batch will change, then with the
commit. That names the revision that the preview saw, so that a change between the two is a conflict.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from .. import _core
from ..errors import ExhaustedError, InvalidError
from .caller import OCTETS, Caller, address
from .files import UNREADABLE, Sending, stored
from .values import bytes_json

#: The revision of a file that does not exist.
_ABSENT = "absent"
#: As many as a batch takes in this process.
_BYTES_MAX = 128 << 20


@dataclass(slots=True)
class Staged:
    """The part of a batch that one call adds."""

    #: Of the files that the batch will change.
    names: list[tuple[str, str]] = field(default_factory=list)
    #: To send with it.
    writes: list[bytes] = field(default_factory=list)
    size: int = 0


class Files:
    """The files that a batch adds and removes."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        #: Collection and path.
        self._names: set[tuple[str, str]] = set()
        self._bytes = 0

    def add(self, collection: str, arguments: _core.AddArguments) -> tuple[dict[str, Any], Staged]:
        """Returns the changes of the batch and the state to keep for it, or nothing if it was cancelled."""
        staging = _Staging(self._caller, collection, arguments, self)
        report = staging.run()
        return report, Staged() if report["cancelled"] else staging.staged

    def remove(self, collection: str, path: str) -> tuple[int, Staged]:
        """The number of files that the batch will remove, and the state to keep for it."""
        staged = Staged()
        for file in stored(self._caller, collection, path):
            staged.names.append((collection, file["path"]))
            staged.writes.append(_removal(collection, file["path"], file["revision"]))
        self.check(staged)
        return len(staged.names), staged

    def check(self, staged: Staged) -> None:
        """Refuses a file that is in the batch already, of which only the later reading would be complete; and too much."""
        for place in staged.names:
            if place in self._names:
                raise InvalidError(
                    f"{place[1]} is already in this batch; add or remove it once, or begin another batch"
                )
        if self._bytes + staged.size > _BYTES_MAX:
            raise ExhaustedError(
                f"the files of this batch exceed {_BYTES_MAX >> 20} MiB; add fewer at a time, or add them outside of a batch"
            )

    def keep(self, staged: Staged) -> list[bytes]:
        """Adds it to the batch: the data to send with it."""
        self.check(staged)
        self._names.update(staged.names)
        self._bytes += staged.size
        return staged.writes


class _Staging(Sending):
    """One ``add_files``."""

    def __init__(self, caller: Caller, collection: str, arguments: _core.AddArguments, files: Files) -> None:
        super().__init__(caller, collection, arguments)
        self._files = files
        self.staged = Staged()

    def take(self, name: str, content: bytes) -> dict[str, Any]:
        chars = {
            "passage_chars": self._arguments["target_chars"],
            "overlap_chars": self._arguments["overlap_chars"],
        }
        place = address("collections", self._collection, "files", "preview", path=name, **chars)
        found: dict[str, Any] = self._caller.ask("POST", place, content, media_type=OCTETS, is_read=True).json()
        match found["outcome"]:
            case "unchanged":
                pass
            case outcome if outcome == UNREADABLE:
                # Its previous content is no longer valid.
                if found["revision"] != _ABSENT:
                    self.drop(name, found["revision"])
            case _:
                self._note(name, len(content))
                given = {key: value for key, value in chars.items() if value is not None}
                file = {"path": name, "content": bytes_json(content), "revision": found["revision"], **given}
                self.staged.writes.append(_write(self._collection, "add", file))
        return found

    def drop(self, name: str, revision: str) -> None:
        self._note(name, 0)
        self.staged.writes.append(_removal(self._collection, name, revision))

    def _note(self, name: str, size: int) -> None:
        self.staged.names.append((self._collection, name))
        self.staged.size += size
        self._files.check(self.staged)


def _removal(collection: str, path: str, revision: str) -> bytes:
    """Removes one file, if it is as it was."""
    return _write(collection, "remove", {"path": path, "revision": revision})


def _write(collection: str, what: str, file: dict[str, Any]) -> bytes:
    return json.dumps({"files": {"collection": collection, what: [file]}}, ensure_ascii=False).encode()
