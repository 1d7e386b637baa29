"""A collection of a server."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from .. import _core
from ..cores import OverHttp
from ..errors import InvalidError
from . import values
from .caller import Caller, address
from .durability import checked
from .files import add

if TYPE_CHECKING:
    from ..batch import Columns
    from ..records import RecordParts
    from ..results import AnswerParts
    from ..vectors import VectorColumn

#: Searches of one request.
_SEARCHES_MAX = 1000
#: As long as the server waits at a time.
_WAIT_SECONDS = 5.0
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Collection(OverHttp):
    """As the extension module's."""

    def __init__(self, caller: Caller, name: str) -> None:
        self._caller = caller
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    def info(self) -> dict[str, Any]:
        return info_parts(self._caller.read("GET", address("collections", self._name)))

    def upsert(self, columns: Columns, durability: str | None) -> tuple[int, int]:
        body = b'{"records":' + _core.records_json(columns) + b"}"
        done = self._caller.write("POST", self._write("records", durability), body)
        return done["inserted"], done["replaced"]

    def get_records(self, ids: list[str], vectors: bool) -> list[RecordParts | None]:
        asked = {"ids": ids, "vectors": vectors, "vector_format": "base64"}
        found = self._caller.read("POST", address("collections", self._name, "get"), asked)["records"]
        return [None if record is None else values.record(record) for record in found]

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

    def count(self, condition: str | None) -> int:
        found: int = self._caller.read("GET", address("collections", self._name, "count", where=condition))["count"]
        return found

    def search(self, query: _core.Query) -> AnswerParts:
        place, limit = address("collections", self._name, "search"), query["timeout_seconds"]
        return values.answer(self._caller.read("POST", place, _core.search_json(query), timeout_seconds=limit))

    def search_many(
        self, query: _core.Query, count: int, texts: list[Any] | None, vectors: VectorColumn | None
    ) -> list[AnswerParts]:
        place, limit = address("collections", self._name, "search-many"), query["timeout_seconds"]
        searches = _core.searches_json(query, count, texts, vectors)
        started = time.monotonic()
        found: list[AnswerParts] = []
        for start in range(0, count, _SEARCHES_MAX):
            some = b",".join(searches[start : start + _SEARCHES_MAX])
            body = b'{"searches":[' + some + b"]"
            if limit is not None:
                # One time for all of them; when it is up, the server is the one to say so.
                left = max(limit - (time.monotonic() - started), 0.0) if start else limit
                body += b',"timeout_ms":%r' % (left * 1000)
            answers = self._caller.read("POST", place, body + b"}", timeout_seconds=limit)["answers"]
            found += [values.answer(answer) for answer in answers]
        return found

    def scan(
        self, condition: str | None, limit: int, cursor: str | None, vectors: bool
    ) -> tuple[list[RecordParts], str | None]:
        asked = {"limit": limit, "cursor": cursor, "where": condition, "vectors": vectors, "vector_format": "base64"}
        page = self._caller.read("GET", address("collections", self._name, "records", **asked))
        return [values.record(record) for record in page["records"]], page["cursor"]

    def add(self, arguments: _core.AddArguments) -> dict[str, Any]:
        return add(self._caller, self._name, arguments, self.files)

    def files(self, prefix: str) -> list[tuple[str, int, int, str, int]]:
        found = self._caller.read("GET", address("collections", self._name, "files", path=prefix))["files"]
        return [
            (file["path"], file["bytes"], _nanoseconds(file["mtime"]), file["kind"], file["passages"]) for file in found
        ]

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

    def optimize(self, timeout_seconds: float | None) -> bool:
        def wait(ms: int) -> bool:
            place, asked = address("collections", self._name, "optimize"), {"wait_ms": ms}
            is_done: bool = self._caller.read("POST", place, asked, timeout_seconds=ms / 1000)["done"]
            return is_done

        return _in_slices(timeout_seconds, wait)


def info_parts(found: dict[str, Any]) -> dict[str, Any]:
    """What a collection is and holds, as the extension module gives it."""
    building = found["building"]
    return {
        **found,
        "building": None
        if building is None
        else (building["done"], building["total"], building["rows_per_second"], building["seconds_left"]),
        "vector_fields": {
            name: (field["dim"], field["metric"], field["elements"], field["vectors"])
            for name, field in found["vector_fields"].items()
        },
    }


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


def _nanoseconds(mtime: str | None) -> int:
    moment = values.moment(mtime) if mtime is not None else None
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1000 if isinstance(moment, datetime) else 0
