"""The instructions of a single request to the cache, in its headers."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from urllib.parse import unquote

from ...answers import Source
from ...errors import InvalidError

#: The headers of a request, which do not leave this process.
_PREFIX = "x-nuthatch-"


@dataclass(frozen=True)
class Control:
    """The instructions of a request to the cache."""

    reads: bool = True
    """It may be answered from the cache."""
    stores: bool = True
    """Its answer may be stored."""
    asks: bool = True
    """It may be asked of the model."""
    by_meaning: bool = True
    """It may be answered by meaning."""
    ttl: float | None = None
    """How long its answer lives, in seconds."""
    tags: tuple[str, ...] = ()
    """The tags of its answer."""
    sources: tuple[Source, ...] = ()
    """The records that its answer is made from."""
    scope: Mapping[str, str] | None = None
    """Further parts of its scope."""


def taken(headers: MutableMapping[str, str]) -> Control:
    """Reads the control of a request, and takes its headers away.

    >>> headers = {"x-nuthatch-tags": "a, b", "x-nuthatch-sources": "notes/a%2C1", "accept": "*/*"}
    >>> control = taken(headers)
    >>> control.tags, control.sources, headers
    (('a', 'b'), (Source(collection='notes', id='a,1'),), {'accept': '*/*'})
    """
    given = {name: headers.pop(f"{_PREFIX}{name}", "") for name in ("cache", "ttl", "tags", "sources", "scope")}
    words = {word.strip().lower() for word in headers.get("cache-control", "").split(",")}
    mode = given["cache"].strip().lower()
    if mode not in ("", "off", "exact", "refresh"):
        raise InvalidError(f"{_PREFIX}cache: {mode!r}; there are off, exact and refresh")
    return Control(
        reads=mode not in ("off", "refresh") and "no-cache" not in words,
        stores=mode != "off" and "no-store" not in words,
        asks="only-if-cached" not in words,
        by_meaning=mode != "exact",
        ttl=_seconds(given["ttl"]) if given["ttl"] else None,
        tags=tuple(unquote(tag) for tag in _listed(given["tags"])),
        sources=tuple(map(_source, _listed(given["sources"]))),
        scope=dict(map(_part, _listed(given["scope"]))) or None,
    )


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidError(f"{_PREFIX}ttl: {text!r} is not a number of seconds") from None


def _source(text: str) -> Source:
    collection, slash, id = text.partition("/")
    if not slash:
        raise InvalidError(f"{_PREFIX}sources: {text!r}; give collection/id, with commas in between")
    return Source(unquote(collection), unquote(id))


def _part(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidError(f"{_PREFIX}scope: {text!r}; give part=value, with commas in between")
    return unquote(name), unquote(value)
