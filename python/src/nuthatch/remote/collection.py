"""A collection of a server."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import _core
from ..errors import InvalidError
from .caller import address
from .durability import checked
from .files import add
from .reads import RecordReads

if TYPE_CHECKING:
    from ..batch import Columns
    from ..changes import ChangeParts

#: As long as the server waits at a time.
_WAIT_SECONDS = 5.0
#: Between two looks at whether all vectors are there.
_LOOK_EVERY_SECONDS = 0.25


class Collection(RecordReads):
    """As the extension module's."""

    def upsert(self, columns: Columns, durability: str | None) -> tuple[int, int]:
        body = b'{"records":' + _core.records_json(columns) + b"}"
        done = self._caller.write("POST", self._write("records", durability), body)
        return done["inserted"], done["replaced"]

    def update(self, changes: list[tuple[list[str], ChangeParts]], durability: str | None) -> int:
        return self._update(b'{"changes":' + _core.changes_json(changes) + b"}", durability)

    def update_where(self, condition: str, change: ChangeParts, durability: str | None) -> int:
        where = json.dumps(condition).encode()
        return self._update(b'{"where":' + where + b',"change":' + _core.change_json(change) + b"}", durability)

    def update_files(self, paths: list[str], change: ChangeParts, durability: str | None) -> int:
        body = b'{"paths":' + json.dumps(paths).encode() + b',"change":' + _core.change_json(change) + b"}"
        updated: int = self._caller.write("PATCH", self._write("files", durability), body)["updated"]
        return updated

    def _update(self, body: bytes, durability: str | None) -> int:
        updated: int = self._caller.write("PATCH", self._write("records", durability), body)["updated"]
        return updated

    def delete(self, ids: list[str], durability: str | None) -> int:
        return self._delete({"ids": ids}, durability)

    def delete_where(self, condition: str, durability: str | None) -> int:
        return self._delete({"where": condition}, durability)

    def delete_prefix(self, prefix: str, durability: str | None) -> int:
        return self._delete({"prefix": prefix}, durability)

    def _delete(self, what: dict[str, Any], durability: str | None) -> int:
        deleted: int = self._caller.write("POST", self._write("delete", durability), what)["deleted"]
        return deleted

    def _write(self, what: str, durability: str | None) -> str:
        return address("collections", self._name, what, durability=checked(durability))

    def add(self, arguments: _core.AddArguments) -> dict[str, Any]:
        report = add(self._caller, self._name, arguments)
        cancel = arguments["cancel"]
        while arguments["wait"] and report["passages_pending"] and not (cancel is not None and cancel.is_set()):
            if self.wait_until_embedded(_WAIT_SECONDS):
                report["passages_pending"] = 0
        return report

    def remove_files(self, path: str) -> int:
        place = address("collections", self._name, "files", path=path)
        removed: int = self._caller.write("DELETE", place)["removed"]
        return removed

    def wait_until_indexed(self, timeout_seconds: float | None) -> bool:
        def wait(ms: int) -> bool:
            asked = {"wait_ms": ms}
            place = address("collections", self._name, "wait-until-indexed")
            is_done: bool = self._caller.read("POST", place, asked, timeout_seconds=ms / 1000)["indexed"]
            return is_done

        return _in_slices(timeout_seconds, wait)

    def wait_until_embedded(self, timeout_seconds: float | None) -> bool:
        def wait(ms: int) -> bool:
            is_done: bool = self.info()["pending"] == 0
            if not is_done:
                time.sleep(min(ms / 1000, _LOOK_EVERY_SECONDS))
            return is_done

        return _in_slices(timeout_seconds, wait)

    def optimize(self, timeout_seconds: float | None) -> bool:
        def wait(ms: int) -> bool:
            place, asked = address("collections", self._name, "optimize"), {"wait_ms": ms}
            is_done: bool = self._caller.read("POST", place, asked, timeout_seconds=ms / 1000)["done"]
            return is_done

        return _in_slices(timeout_seconds, wait)


def _in_slices(timeout_seconds: float | None, wait: Callable[[int], bool]) -> bool:
    """Asks again and again until it is done, or the time is up."""
    if timeout_seconds is not None and not 0 <= timeout_seconds < float("inf"):
        raise InvalidError(f"a timeout of {timeout_seconds} seconds; give a number from 0 up, or None")
    deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
    while True:
        left = _WAIT_SECONDS if deadline is None else min(max(deadline - time.monotonic(), 0), _WAIT_SECONDS)
        if wait(int(left * 1000)):
            return True
        if deadline is not None and time.monotonic() >= deadline:
            return False
