"""A keyspace of a server."""

from __future__ import annotations

import math
from typing import Any

from .caller import OCTETS, Caller
from .durability import checked
from .reads import KEY_IN_ADDRESS_BYTES_MAX, KeyReads
from .values import bytes_json


class Keyspace(KeyReads):
    """As the extension module's."""

    def __init__(self, caller: Caller, name: str, durability: str | None) -> None:
        super().__init__(caller, name)
        self._durability = durability

    def put_many(self, entries: list[tuple[bytes, bytes]], ttl_seconds: float | None, durability: str | None) -> None:
        ttl = milliseconds(ttl_seconds)
        if len(entries) == 1 and 0 < len(entries[0][0]) <= KEY_IN_ADDRESS_BYTES_MAX:
            ((key, value),) = entries
            place = self._key(key, expires_in_ms=ttl, durability=self._durable(durability))
            self._caller.ask("PUT", place, value, media_type=OCTETS)
            return
        self._caller.ask("POST", self._write("write", durability), {"changes": puts(entries, ttl)})

    def delete(self, keys: list[bytes], durability: str | None) -> int:
        return self._delete({"keys": [bytes_json(key) for key in keys]}, durability)

    def delete_prefix(self, prefix: bytes, durability: str | None) -> int:
        # Every key begins with an empty prefix, so the request says explicitly that all are meant.
        return self._delete({"prefix": bytes_json(prefix)} if prefix else {"all": True}, durability)

    def _delete(self, what: dict[str, Any], durability: str | None) -> int:
        deleted: int = self._caller.write("POST", self._write("delete", durability), what)["deleted"]
        return deleted

    def compare_and_set(
        self,
        key: bytes,
        expected: bytes | None,
        new: bytes | None,
        ttl_seconds: float | None,
        durability: str | None,
    ) -> bool:
        asked = {
            "key": bytes_json(key),
            "expected": None if expected is None else bytes_json(expected),
            "new": None if new is None else bytes_json(new),
            "expires_in_ms": milliseconds(ttl_seconds),
        }
        was_set: bool = self._caller.write("POST", self._write("cas", durability), asked)["set"]
        return was_set

    def increment(self, key: bytes, by: int, durability: str | None) -> int:
        asked = {"key": bytes_json(key), "by": by}
        total: int = self._caller.write("POST", self._write("increment", durability), asked)["value"]
        return total

    def append(self, key: bytes, more: bytes, durability: str | None) -> int:
        asked = {"key": bytes_json(key), "more": bytes_json(more)}
        length: int = self._caller.write("POST", self._write("append", durability), asked)["bytes"]
        return length

    def expire(self, key: bytes, ttl_seconds: float | None, durability: str | None) -> bool:
        asked = {"key": bytes_json(key), "expires_in_ms": milliseconds(ttl_seconds)}
        found: bool = self._caller.write("POST", self._write("expire", durability), asked)["found"]
        return found

    def _write(self, what: str, durability: str | None) -> str:
        return self._place(what, durability=self._durable(durability))

    def _durable(self, durability: str | None) -> str | None:
        return self._durability if durability is None else checked(durability)


def puts(entries: list[tuple[bytes, bytes]], ttl_ms: int | None) -> list[dict[str, Any]]:
    """Changes that set keys."""
    more = {} if ttl_ms is None else {"expires_in_ms": ttl_ms}
    return [{"put": {"key": bytes_json(key), "value": bytes_json(value), **more}} for key, value in entries]


def milliseconds(seconds: float | None) -> int | None:
    """A time to live as the server counts it; never nothing."""
    return None if seconds is None else max(math.ceil(seconds * 1000), 1)
