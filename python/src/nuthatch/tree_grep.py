"""Searching the bytes of a tree's files as ripgrep does."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from . import arguments

#: ripgrep's messages as lines of JSON, contents that were searched, those that were not to their end, cursor.
GrepParts: TypeAlias = "tuple[bytes, int, list[tuple[str, str]], str | None]"


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


class GrepMatches(Iterator[GrepMatch]):
    """The matches of a search, in the order of their paths; the search goes on as they are taken.

    ``searched`` and ``cut`` tell how many files (with ``history``, versions) were searched so far,
    and which of them not to their end.
    """

    __slots__ = ("_ask", "_cursor", "_first", "_has_ended", "_history", "_left", "cut", "searched")

    def __init__(self, ask: Callable[[str | None], GrepParts], history: bool) -> None:
        self._ask = ask
        self._history = history
        self._cursor: str | None = None
        self._has_ended = False
        self._left: Iterator[GrepMatch] = iter(())
        self.searched = 0
        self.cut: list[GrepCut] = []
        # What is wrong with a pattern is said at once, and not when the first match is taken.
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
        output, searched, cut, self._cursor = self._ask(self._cursor)
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
    """What to search for, as ripgrep's flags in JSON."""
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
    """What ripgrep writes as text, or as base64 where it is not UTF-8."""
    return found["text"].encode() if "text" in found else b64decode(found["bytes"])


def _span(raw: bytes, start: int, end: int, length: int) -> tuple[int, int]:
    """From bytes to characters."""
    first = len(raw[:start].decode(errors="replace"))
    last = first + len(raw[start:end].decode(errors="replace"))
    return min(first, length), min(last, length)
