"""Reads of records and keys of a server, as they are, or as of the snapshot that the caller names."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from .. import _core
from ..cores import OverHttp
from ..errors import NotFoundError
from ..queries import cancel_of
from . import values
from .caller import Caller, address
from .values import bytes_json, bytes_of

if TYPE_CHECKING:
    from ..queries import Asked
    from ..records import RecordParts
    from ..results import Results
    from ..vectors import VectorColumn

#: A longer key would not fit into the head of a request.
KEY_IN_ADDRESS_BYTES_MAX = 4096
#: Searches of one request.
_SEARCHES_MAX = 1000
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Named(OverHttp):
    """An object with a name on the server."""

    def __init__(self, caller: Caller, name: str) -> None:
        self._caller = caller
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    def is_asked_by(self, caller: Caller) -> bool:
        """Whether it belongs to the same server and tenant as this caller."""
        return (self._caller.wire, self._caller.tenant) == (caller.wire, caller.tenant)


class RecordReads(Named):
    """Reading a collection."""

    def get_records(self, ids: list[str], vectors: bool) -> list[RecordParts | None]:
        asked = {"ids": ids, "vectors": vectors, "vector_format": "base64"}
        found = self._caller.read("POST", address("collections", self._name, "get"), asked)["records"]
        return [None if record is None else values.record(record) for record in found]

    def ask(self, name: str, question: str) -> Any:
        return self._caller.read("POST", address("collections", self._name, name), question.encode())

    def count(self, condition: str | None) -> int:
        found: int = self._caller.read("GET", address("collections", self._name, "count", where=condition))["count"]
        return found

    def search(self, asked: Asked) -> Results:
        body, limit = _core.search_json(asked)
        place = address("collections", self._name, "search")
        return values.answer(self._caller.read("POST", place, body, timeout_seconds=limit, cancel=cancel_of(asked)))

    def search_many(
        self, asked: Asked, count: int, texts: list[Any] | None, vectors: VectorColumn | None
    ) -> list[Results]:
        place = address("collections", self._name, "search-many")
        searches, limit = _core.searches_json(asked, count, texts, vectors)
        started = time.monotonic()
        found: list[Results] = []
        for start in range(0, count, _SEARCHES_MAX):
            some = b",".join(searches[start : start + _SEARCHES_MAX])
            body = b'{"searches":[' + some + b"]"
            if limit is not None:
                # One time limit for all of them; the server reports when it is up.
                left = max(limit - (time.monotonic() - started), 0.0) if start else limit
                body += b',"timeout_ms":%r' % (left * 1000)
            said = self._caller.read("POST", place, body + b"}", timeout_seconds=limit, cancel=cancel_of(asked))
            found += [values.answer(answer) for answer in said["answers"]]
        return found

    def scan(
        self, condition: str | None, limit: int, cursor: str | None, vectors: bool
    ) -> tuple[list[RecordParts], str | None]:
        asked = {"limit": limit, "cursor": cursor, "where": condition, "vectors": vectors, "vector_format": "base64"}
        page = self._caller.read("GET", address("collections", self._name, "records", **asked))
        return [values.record(record) for record in page["records"]], page["cursor"]

    def info(self) -> dict[str, Any]:
        return values.info(self._caller.read("GET", address("collections", self._name)))

    def files(self, prefix: str) -> list[tuple[str, int, int, str, int]]:
        found = self._caller.read("GET", address("collections", self._name, "files", path=prefix))["files"]
        return [
            (file["path"], file["bytes"], _nanoseconds(file["mtime"]), file["kind"], file["passages"]) for file in found
        ]


class KeyReads(Named):
    """Reading a keyspace."""

    def get_value(self, key: bytes) -> bytes | None:
        if not 0 < len(key) <= KEY_IN_ADDRESS_BYTES_MAX:
            return self.get_many([key])[0]
        try:
            return self._caller.ask("GET", self._key(key), is_read=True).body
        except NotFoundError as error:
            if error.what == "key":
                return None
            raise

    def get_many(self, keys: list[bytes]) -> list[bytes | None]:
        asked = {"keys": [bytes_json(key) for key in keys]}
        found = self._caller.read("POST", self._place("get"), asked)["values"]
        return [None if value is None else bytes_of(value) for value in found]

    def contains(self, key: bytes) -> bool:
        asked = {"from": bytes_json(key), "prefix": bytes_json(key), "limit": 1, "keys_only": True}
        entries = self._caller.read("POST", self._place("scan"), asked)["entries"]
        return bool(entries) and bytes_of(entries[0]["key"]) == key

    def scan(self, arguments: _core.ScanArguments) -> tuple[list[tuple[bytes, bytes]], str | None]:
        page = self._caller.read("POST", self._place("scan"), scan_json(arguments))
        entries = [(bytes_of(entry["key"]), bytes_of(entry.get("value", ""))) for entry in page["entries"]]
        return entries, page["cursor"]

    def ttl(self, key: bytes) -> tuple[bool, float | None]:
        found = self._caller.read("POST", self._place("ttl"), {"key": bytes_json(key)})
        left = found["expires_in_ms"]
        return found["found"], None if left is None else left / 1000

    def count_estimate(self, prefix: bytes) -> int:
        given = bytes_json(prefix)
        asked = {"prefix": given} if isinstance(given, str) else {"prefix_base64": given["base64"]}
        found: int = self._caller.read("GET", self._place("count", **asked))["count_estimate"]
        return found

    def _place(self, what: str, **parameters: object) -> str:
        return address("keyspaces", self._name, what, **parameters)

    def _key(self, key: bytes, **parameters: object) -> str:
        return address("keyspaces", self._name, "keys", key, **parameters)


def scan_json(arguments: _core.ScanArguments) -> dict[str, Any]:
    """Which keys to list, as the server reads it."""
    keys = {"prefix": arguments["prefix"], "from": arguments["start"], "to": arguments["stop"]}
    asked: dict[str, Any] = {name: bytes_json(key) for name, key in keys.items() if key is not None}
    for name in ("reverse", "limit", "cursor", "keys_only"):
        asked[name] = arguments[name]
    return asked


def _nanoseconds(mtime: str | None) -> int:
    moment = values.moment(mtime) if mtime is not None else None
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1000 if isinstance(moment, datetime) else 0
