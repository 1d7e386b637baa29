"""A keyspace in a transaction on a server: as it was, with the transaction's own writes."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

from .. import _core
from .keyspace import milliseconds, puts
from .moment import CallerThen
from .reads import KeyReads, scan_json
from .values import bytes_json

#: Keys up to which they are counted one by one.
_COUNTED_KEYS = 10_000


class KeyWork:
    """The reads and writes of a transaction in one keyspace."""

    def __init__(self, lock: threading.Lock) -> None:
        self.lock = lock
        self.read: set[bytes] = set()
        #: Ranges, as JSON: where they begin, and the request.
        self.scanned: dict[bytes, None] = {}
        #: Value and time to live; None for a key that is deleted.
        self.written: dict[bytes, tuple[bytes, int | None] | None] = {}

    def reads_json(self, keyspace: str) -> Iterator[bytes]:
        """The reads that the writes depend on, in the form that the server takes."""
        if self.read or self.scanned:
            keys = {"keyspace": keyspace, "keys": [bytes_json(key) for key in sorted(self.read)]}
            yield b'{"keys":' + _json(keys)[:-1] + b',"scans":[' + b",".join(self.scanned) + b"]}}"

    def writes_json(self, keyspace: str) -> Iterator[bytes]:
        """The writes, as the server reads them."""
        changes: list[dict[str, Any]] = []
        for key, written in self.written.items():
            if written is None:
                changes.append({"delete": bytes_json(key)})
            else:
                value, ttl_ms = written
                changes += puts([(key, value)], ttl_ms)
        if changes:
            yield _json({"keys": {"keyspace": keyspace, "changes": changes}})


class TransactionKeyspace(KeyReads):
    """As the extension module's."""

    def __init__(self, caller: CallerThen, name: str, work: KeyWork) -> None:
        super().__init__(caller, name)
        self._moment = caller.moment
        self._kept = KeyReads(caller, name)
        self._work = work

    def get_value(self, key: bytes) -> bytes | None:
        self._moment.check_open()
        with self._work.lock:
            if key in self._work.written:
                return _value(self._work.written[key])
            self._work.read.add(key)
        return self._kept.get_value(key)

    def get_many(self, keys: list[bytes]) -> list[bytes | None]:
        self._moment.check_open()
        with self._work.lock:
            own = {key: self._work.written[key] for key in keys if key in self._work.written}
            self._work.read.update(key for key in keys if key not in own)
        others = [key for key in keys if key not in own]
        found = iter(self._kept.get_many(others) if others else [])
        return [_value(own[key]) if key in own else next(found) for key in keys]

    def contains(self, key: bytes) -> bool:
        return self.get_value(key) is not None

    def scan(self, arguments: _core.ScanArguments) -> tuple[list[tuple[bytes, bytes]], str | None]:
        self._moment.check_open()
        with self._work.lock:
            self._depend_on(arguments)
            own = dict(self._work.written)
        left = deque(_core.select_keys(arguments, list(own)))
        if not left:
            return self._kept.scan(arguments)
        keys_only, limit = arguments["keys_only"], arguments["limit"]
        entries: list[tuple[bytes, bytes]] = []

        def add_own() -> None:
            key = left.popleft()
            if (value := _value(own[key])) is not None:
                entries.append((key, b"" if keys_only else value))

        cursor = arguments["cursor"]
        while True:
            page, cursor = self._kept.scan({**arguments, "cursor": cursor})
            for key, value in page:
                while left and (left[0] > key if arguments["reverse"] else left[0] < key):
                    add_own()
                if left and left[0] == key:
                    add_own()
                else:
                    entries.append((key, value))
            if cursor is None:
                while left:
                    add_own()
            if cursor is None or len(entries) > limit:
                break
        has_more = cursor is not None or len(entries) > limit
        del entries[limit:]
        return entries, _core.cursor_after(entries[-1][0]) if has_more and entries else None

    def ttl(self, key: bytes) -> tuple[bool, float | None]:
        self._moment.check_open()
        with self._work.lock:
            if key in self._work.written:
                written = self._work.written[key]
                ttl_ms = None if written is None else written[1]
                return written is not None, None if ttl_ms is None else ttl_ms / 1000
            self._work.read.add(key)
        return self._kept.ttl(key)

    def count_estimate(self, prefix: bytes) -> int:
        asked: _core.ScanArguments = {
            "prefix": prefix,
            "start": None,
            "stop": None,
            "reverse": False,
            "limit": _COUNTED_KEYS,
            "cursor": None,
            "keys_only": True,
        }
        entries, cursor = self.scan(asked)
        return len(entries) if cursor is None else max(self._kept.count_estimate(prefix), _COUNTED_KEYS + 1)

    def _depend_on(self, arguments: _core.ScanArguments) -> None:
        asked = {**scan_json(arguments), "limit": 1, "keys_only": True}
        whole = _json({**asked, "cursor": None})
        # Later pages lie in the range that the first depends on.
        if whole not in self._work.scanned:
            self._work.scanned[_json(asked)] = None

    def put_many(self, entries: list[tuple[bytes, bytes]], ttl_seconds: float | None) -> None:
        self._moment.check_open()
        _core.check_puts(entries, ttl_seconds)
        ttl = milliseconds(ttl_seconds)
        with self._work.lock:
            self._work.written.update({key: (value, ttl) for key, value in entries})

    def delete(self, keys: list[bytes]) -> None:
        self._moment.check_open()
        _core.check_keys(keys)
        with self._work.lock:
            self._work.written.update(dict.fromkeys(keys))


def _value(written: tuple[bytes, int | None] | None) -> bytes | None:
    return None if written is None else written[0]


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
