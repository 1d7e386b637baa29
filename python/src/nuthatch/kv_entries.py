"""Keys and values as callers give them: strings and bytes, one or several, mappings and pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, TypeAlias

from .errors import InvalidError

Bytes: TypeAlias = "str | bytes | bytearray | memoryview"
"""Types of a key or a value; a string is stored as UTF-8."""

Entries: TypeAlias = "Mapping[Any, Bytes] | Iterable[tuple[Bytes, Bytes]]"
"""Keys with their values: a mapping, or pairs."""

TimeToLive: TypeAlias = "float | timedelta"
"""Seconds, or a timedelta."""


def as_bytes(name: str, given: object) -> bytes:
    """A key or a value; ``name`` is the argument's.

    >>> as_bytes("key", "ä"), as_bytes("key", bytearray(b"x"))
    (b'\\xc3\\xa4', b'x')
    """
    if isinstance(given, bytes):
        return given
    if isinstance(given, str):
        try:
            return given.encode()
        except UnicodeEncodeError:
            raise InvalidError(
                f"{name}={given!r} has lone surrogates, which are not valid Unicode; give bytes"
            ) from None
    if isinstance(given, (bytearray, memoryview)):
        return bytes(given)
    raise InvalidError(f"{name}={given!r} is of type {type(given).__name__}; give bytes or a string")


def several_keys(keys: object) -> list[bytes]:
    """Keys of a call that takes several."""
    if isinstance(keys, (str, bytes, bytearray, memoryview)) or not isinstance(keys, Iterable):
        raise InvalidError(f"keys={keys!r} is of type {type(keys).__name__}; give a list of keys")
    return [as_bytes(f"keys[{at}]", key) for at, key in enumerate(keys)]


def one_or_several_keys(keys: object) -> list[bytes]:
    """Keys of a call that takes one or several."""
    if isinstance(keys, Iterable) and not isinstance(keys, (str, bytes, bytearray, memoryview)):
        return several_keys(keys)
    return [as_bytes("keys", keys)]


def pairs(entries: object) -> list[tuple[bytes, bytes]]:
    """Keys with their values, from a mapping or from pairs."""
    if isinstance(entries, Mapping):
        entries = entries.items()
    if isinstance(entries, (str, bytes, bytearray, memoryview)) or not isinstance(entries, Iterable):
        raise InvalidError(f"entries is of type {type(entries).__name__}; give a dict, or pairs of key and value")
    found = []
    for at, entry in enumerate(entries):
        if not isinstance(entry, (tuple, list)) or len(entry) != 2:
            raise InvalidError(f"entries[{at}]={entry!r}; give a pair of key and value")
        key = as_bytes(f"the key of entries[{at}]", entry[0])
        found.append((key, as_bytes(f"the value of key {entry[0]!r}", entry[1])))
    return found
