"""Searching the bytes of a tree's files as ripgrep does."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from . import arguments

#: ripgrep's messages as lines of JSON, contents that were searched, those that were not to their end, cursor, what was read.
GrepParts: TypeAlias = "tuple[bytes, int, list[tuple[str, str]], str | None, dict[str, Any]]"


class GrepCut(NamedTuple):
    """A file that was not searched to its end, and why."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class GrepMatch:
    """A line that matches, or several that one match spans; or a line near one, where that was asked for."""

    path: str
    #: From 1; of the first line.
    line_number: int
    #: Without the last line's end. Bytes that are not UTF-8 are U+FFFD here.
    line: str
    #: Where it matches: first and end, in characters of ``line``.
    spans: tuple[tuple[int, int], ...]
    #: The write that made the version, where ``history`` was asked for.
    sequence: int | None = None
    #: False for a line of context.
    is_match: bool = True


@dataclass(frozen=True, slots=True)
class GrepRead:
    """The reads of a search so far."""

    #: Why every file was read; None where the index told which ones to read.
    scanned: str | None = None
    #: Files, or versions, whose bytes were searched.
    files: int = 0
    #: Bytes of contents that were read.
    bytes: int = 0
    #: Grams, three bytes in a row, that were looked up in the index.
    grams: int = 0
    #: Bytes of the index that were read.
    index_bytes: int = 0
    #: Contents that the index knows, of all versions of all trees.
    contents: int = 0
    #: Contents that can match by their grams, with those whose grams are not known.
    candidates: int = 0
    #: Contents that wait for the index.
    pending: int = 0


@dataclass(frozen=True, slots=True)
class TreeIndex:
    """How far the index of the files of all trees is."""

    #: Contents that are in it.
    indexed: int
    #: Contents that are not yet; a search reads them in any case.
    pending: int
    #: Bytes of the contents that are in it.
    indexed_bytes: int
    #: About how many bytes it has, before they are compressed.
    index_bytes: int


class GrepMatches(Iterator[GrepMatch]):
    """The matches of a search, in the order of their paths; the search goes on as they are taken.

    ``searched`` and ``cut`` tell how many files (with ``history``, versions) were searched so far,
    and which of them not to their end; ``read`` tells what was read for that.
    """

    __slots__ = ("_ask", "_cursor", "_first", "_has_ended", "_history", "_left", "cut", "read", "searched")

    def __init__(self, ask: Callable[[str | None], GrepParts], history: bool) -> None:
        self._ask = ask
        self._history = history
        self._cursor: str | None = None
        self._has_ended = False
        self._left: Iterator[GrepMatch] = iter(())
        self.searched: int = 0
        self.cut: list[GrepCut] = []
        self.read: GrepRead = GrepRead()
        # An invalid pattern is reported at once, and not when the first match is taken.
        self._first: list[GrepMatch] | None = self._search()

    def __iter__(self) -> GrepMatches:
        return self

    def __next__(self) -> GrepMatch:
        while (found := next(self._left, None)) is None:
            if self.has_ended:
                raise StopIteration
            self._left = iter(self.page())
        return found

    def page(self) -> list[GrepMatch]:
        """Searches on, and returns the matches that come next; none, too, before ``has_ended``."""
        first, self._first = self._first, None
        return self._search() if first is None else first

    def _search(self) -> list[GrepMatch]:
        output, searched, cut, self._cursor, read = self._ask(self._cursor)
        before = self.read
        self.read = GrepRead(**read)
        if before.files:
            self.read = replace(
                self.read,
                scanned=before.scanned or self.read.scanned,
                files=before.files + self.read.files,
                bytes=before.bytes + self.read.bytes,
                index_bytes=before.index_bytes + self.read.index_bytes,
            )
        self._has_ended = self._cursor is None
        self.searched += searched
        self.cut += [GrepCut(path, why) for path, why in cut]
        return _matches(output, self._history)

    @property
    def has_ended(self) -> bool:
        """Whether all pages were taken."""
        return self._has_ended and self._first is None

    def __repr__(self) -> str:
        return f"GrepMatches({self.searched} searched{'' if self._has_ended else ' so far'}, {len(self.cut)} cut)"


def request(
    pattern: str | Iterable[str],
    *,
    fixed_strings: bool,
    ignore_case: bool,
    smart_case: bool,
    word: bool,
    line: bool,
    invert: bool,
    multiline: bool,
    text: bool,
    globs: str | Iterable[str],
    types: str | Iterable[str],
    types_not: str | Iterable[str],
    before_context: int,
    after_context: int,
    max_count: int | None,
) -> dict[str, Any]:
    """The search options, as ripgrep's flags in JSON."""
    flags = {
        "fixed_strings": fixed_strings,
        "ignore_case": ignore_case,
        "smart_case": smart_case,
        "word": word,
        "line_regexp": line,
        "invert": invert,
        "multiline": multiline,
        "text": text,
    }
    several = {"patterns": pattern, "globs": globs, "types": types, "types_not": types_not}
    return {
        **{name: arguments.flag(name, value) for name, value in flags.items()},
        **{name: arguments.texts(name, value) for name, value in several.items()},
        "before_context": min(arguments.whole("before_context", before_context), (1 << 32) - 1),
        "after_context": min(arguments.whole("after_context", after_context), (1 << 32) - 1),
        "max_count": arguments.optional_whole("max_count", max_count),
        "output": "json",
    }


def _matches(output: bytes, history: bool) -> list[GrepMatch]:
    import json  # loads only for callers that search

    found = []
    for message in output.splitlines():
        said = json.loads(message)
        if (kind := said["type"]) not in ("match", "context"):
            continue
        data = said["data"]
        path, sequence = _bytes(data["path"]).decode(errors="replace"), None
        if history:
            path, _, number = path.rpartition("@")
            sequence = int(number)
        raw = _bytes(data["lines"])
        line = raw.decode(errors="replace").removesuffix("\n")
        spans = tuple(_span(raw, one["start"], one["end"], len(line)) for one in data["submatches"])
        found.append(GrepMatch(path, data["line_number"], line, spans, sequence, kind == "match"))
    return found


def _bytes(found: dict[str, str]) -> bytes:
    """Decodes bytes that ripgrep writes as text, or as base64 where they are not UTF-8."""
    return found["text"].encode() if "text" in found else b64decode(found["bytes"])


def _span(raw: bytes, start: int, end: int, length: int) -> tuple[int, int]:
    """From bytes to characters."""
    first = len(raw[:start].decode(errors="replace"))
    last = first + len(raw[start:end].decode(errors="replace"))
    return min(first, length), min(last, length)
