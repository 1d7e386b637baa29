"""Server-sent events: the format in which models stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple


class Event(NamedTuple):
    """One event."""

    name: str
    """The kind; empty where none was sent."""
    data: str
    """The lines of data."""

    def json(self) -> Any:
        """The data as JSON; None where it is none."""
        try:
            return json.loads(self.data)
        except ValueError:
            return None


class Reader:
    """Reads events from the bytes of a stream, in pieces of any size.

    >>> reader = Reader()
    >>> [*reader.feed(b"data: {}"), *reader.feed(b"\\n\\nevent: end\\r\\ndata: 1\\r\\ndata: 2\\r\\n\\r\\n: comment\\n\\n")]
    [Event(name='', data='{}'), Event(name='end', data='1\\n2')]
    """

    def __init__(self) -> None:
        self._line = b""
        self._name = ""
        self._data: list[str] = []

    def feed(self, more: bytes) -> Iterator[Event]:
        """The events that are complete with these bytes."""
        *lines, self._line = (self._line + more).split(b"\n")
        for line in lines:
            text = line.removesuffix(b"\r").decode(errors="replace")
            if text:
                self._take(text)
            elif self._data:
                yield Event(self._name, "\n".join(self._data))
                self._name, self._data = "", []
            else:
                self._name = ""

    def _take(self, line: str) -> None:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            self._name = value
        elif field == "data":
            self._data.append(value)


def spelt(data: Any, name: str = "") -> bytes:
    """An event as it is sent.

    >>> spelt({"a": 1}, "start"), spelt("[DONE]")
    (b'event: start\\ndata: {"a":1}\\n\\n', b'data: [DONE]\\n\\n')
    """
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()


def pieces(text: str, lengths: list[int]) -> Iterator[str]:
    """A text in pieces of these lengths, and what is left over.

    >>> list(pieces("abcdef", [2, 3])), list(pieces("abc", [])), list(pieces("", [1]))
    (['ab', 'cde', 'f'], ['abc'], [])
    """
    at = 0
    for length in [*lengths, len(text)]:
        if piece := text[at : at + length]:
            yield piece
        at += length
