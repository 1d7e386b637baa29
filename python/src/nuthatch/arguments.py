"""Checking what callers pass, with the argument's name in every message."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Literal, NoReturn, TypeAlias

from .errors import InvalidError

StrPath: TypeAlias = "str | os.PathLike[str]"

Durability: TypeAlias = Literal["commit", "interval", "os"]
"""The failures that a write survives once its call has returned.

"commit": it is on the disk. "interval": it is with the system, and on the disk within ``sync_interval_ms`` of ``connect``.
"os": it is with the system, which writes it when it likes.
"""

_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
_INCLUDES = ("text", "payload", "vector")
#: Thirty years: longer than anyone waits, and within every clock.
_SECONDS_MAX = 1e9


def size_bytes(name: str, size: int | str) -> int:
    """Bytes, or text such as ``"64MiB"``.

    >>> size_bytes("memory_budget", "64 MiB"), size_bytes("memory_budget", 100_000_000)
    (67108864, 100000000)
    """
    if not isinstance(size, str):
        return whole(name, size)
    text = size.strip().lower()
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyz ")
    unit = text[len(digits) :].strip()
    if unit not in _UNITS:
        raise InvalidError(f'{name}={size!r} is not a size; write for example "64MiB", "1GB" or a number of bytes')
    try:
        return int(float(digits) * _UNITS[unit])
    except (ValueError, OverflowError):
        raise InvalidError(
            f'{name}={size!r} is not a size; write for example "64MiB", "1GB" or a number of bytes'
        ) from None


def optional_size_bytes(name: str, size: int | str | None) -> int | None:
    """As ``size_bytes``, or None."""
    return None if size is None else size_bytes(name, size)


def whole(name: str, number: object) -> int:
    """A whole number from 0 up."""
    if type(number) is int and 0 <= number < 1 << 63:
        return number
    if isinstance(number, bool):
        _wrong(name, number, "a whole number from 0 up")
    try:
        found = operator.index(number)  # type: ignore[arg-type]
    except TypeError:
        _wrong(name, number, "a whole number from 0 up")
    if not 0 <= found < 1 << 63:
        raise InvalidError(f"{name}={found}; give a whole number from 0 up that fits 63 bits")
    return found


def integer(name: str, number: object) -> int:
    """A whole number of 64 bits."""
    if isinstance(number, bool) or not hasattr(number, "__index__"):
        _wrong(name, number, "a whole number")
    found = operator.index(number)
    if not -(1 << 63) <= found < 1 << 63:
        raise InvalidError(f"{name}={found}; give a whole number that fits 64 bits")
    return found


def optional_whole(name: str, number: object) -> int | None:
    """As ``whole``, or None."""
    return None if number is None else whole(name, number)


def flag(name: str, value: object) -> bool:
    """True or False."""
    return value if isinstance(value, bool) else _wrong(name, value, "True or False")


def accuracy(recall: object, ef: object, exact: object) -> tuple[float | None, int | None, bool]:
    """The accuracy of the vector leg: at most one of the three."""
    if type(recall) is float and ef is None and exact is False:
        return recall, None, False
    is_exact = flag("exact", exact)
    given = [
        name
        for name, is_given in (("recall", recall is not None), ("ef", ef is not None), ("exact", is_exact))
        if is_given
    ]
    if len(given) > 1:
        raise InvalidError(f"search got {' and '.join(given)}; give one of recall, ef and exact=True")
    return optional_real("recall", recall), optional_whole("ef", ef), is_exact


def seconds(name: str, value: object) -> float | None:
    """A time above 0, or None for as long as it takes."""
    found = optional_real(name, value)
    if found is not None and not 0 < found <= _SECONDS_MAX:
        raise InvalidError(f"{name}={value!r}; give seconds above 0 and up to {_SECONDS_MAX:.0f}, or None")
    return found


def time(name: str, value: object) -> float | None:
    """Seconds above 0, also as a timedelta; None for ever.

    >>> from datetime import timedelta
    >>> time("ttl", 1.5), time("ttl", timedelta(minutes=2))
    (1.5, 120.0)
    """
    return seconds(name, value.total_seconds() if isinstance(value, timedelta) else value)


def optional_real(name: str, value: object) -> float | None:
    """A number, or None."""
    return None if value is None else _real(name, value)


def _real(name: str, value: object) -> float:
    if isinstance(value, bool) or not hasattr(value, "__float__") or isinstance(value, str):
        _wrong(name, value, "a number")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        _wrong(name, value, "a number")


def text(name: str, value: object) -> str:
    """A string that UTF-8 can write."""
    if not isinstance(value, str):
        _wrong(name, value, "a string")
    try:
        value.isascii() or value.encode()
    except UnicodeEncodeError:
        raise InvalidError(f"{name}={value!r} has lone surrogates, which are not valid Unicode") from None
    return value


def optional_text(name: str, value: object) -> str | None:
    """A string, or None."""
    return None if value is None else text(name, value)


def durability(value: object) -> str | None:
    """A durability, or None for the handle's; the engine checks the name."""
    return optional_text("durability", value)


def ids(value: object) -> list[str]:
    """One id or several."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Iterable) or isinstance(value, (bytes, Mapping)):
        _wrong("ids", value, "a string or a list of strings")
    return [text(f"ids[{at}]", id) for at, id in enumerate(value)]


def texts(name: str, value: object) -> list[str]:
    """One string or several."""
    if isinstance(value, str):
        return [text(name, value)]
    if not isinstance(value, Iterable) or isinstance(value, (bytes, Mapping)):
        _wrong(name, value, "a string or a list of strings")
    return [text(f"{name}[{at}]", one) for at, one in enumerate(value)]


def paths(value: StrPath | Iterable[StrPath]) -> list[str]:
    """One path or several, with ``~`` resolved."""
    several = [value] if isinstance(value, (str, os.PathLike)) else list(value)
    found = [os.path.expanduser(os.fspath(path)) for path in several]  # noqa: PTH111 (the text is kept as given)
    if not found:
        raise InvalidError("no path was given; name at least one file or folder")
    return found


def file_path(name: str, value: StrPath, *, is_document: bool) -> str:
    """A path of ``files`` and ``remove_files``: absolute, as it was stored; "" for everything. A document's name is as it is."""
    try:
        path = os.fspath(value)
    except TypeError:
        _wrong(name, value, "a path")
    if not isinstance(path, str):
        _wrong(name, value, "a path as text")
    if is_document:
        return path.rstrip("/")
    return path and os.path.realpath(os.path.expanduser(path))  # noqa: PTH111 (the text is kept as given)


def include(value: Sequence[str] | str) -> tuple[bool, bool, bool]:
    """text, payload, vector."""
    if value == ("text", "payload"):
        return True, True, False
    if value == () or value == []:
        return False, False, False
    wanted = [value] if isinstance(value, str) else list(value)
    if unknown := [name for name in wanted if name not in _INCLUDES]:
        raise InvalidError(f"include names {unknown[0]!r}; it may name 'text', 'payload' and 'vector'")
    return "text" in wanted, "payload" in wanted, "vector" in wanted


def weights(value: Mapping[str, float] | Sequence[float] | None) -> tuple[float, float]:
    """Weight of the text leg, of the vector leg."""
    if value is None:
        return 1.0, 1.0
    try:
        if isinstance(value, Mapping):
            if unknown := [name for name in value if name not in ("text", "vector")]:
                raise InvalidError(f"weights names a leg {unknown[0]!r}; the legs are 'text' and 'vector'")
            return float(value.get("text", 1.0)), float(value.get("vector", 1.0))
        text, vector = value
        return float(text), float(vector)
    except (TypeError, ValueError) as error:
        if isinstance(error, InvalidError):
            raise
        raise InvalidError(f'weights={value!r}; give (text, vector), or {{"text": 1.0, "vector": 0.5}}') from None


def _wrong(name: str, value: object, wanted: str) -> NoReturn:
    raise InvalidError(f"{name}={value!r} is of type {type(value).__name__}; give {wanted}")
