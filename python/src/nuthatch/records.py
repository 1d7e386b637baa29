"""Records as they come back: by id, and in pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple, TypeAlias, overload

from .vectors import ReadValue

RecordParts: TypeAlias = "tuple[str, str | None, dict[str, Any], str | None, list[float] | None, dict[str, ReadValue]]"


class Upserted(NamedTuple):
    """The outcome of an ``upsert``."""

    inserted: int
    replaced: int


@dataclass(frozen=True, slots=True)
class Record:
    """A stored record. ``payload`` values are None, bool, int, float, str, aware datetime (UTC), list and dict."""

    id: str
    text: str | None = None
    payload: dict[str, Any] = field(default_factory=dict)
    #: Headings that the text stands under: searched with it, not part of it.
    context: str | None = None
    #: Only where it was asked for with ``include``.
    vector: list[float] | None = None
    #: Of named vector fields; likewise.
    vectors: dict[str, ReadValue] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """As ``upsert`` takes it, without absent values.

        >>> Record("a1", "hello", {"year": 2025}).to_dict()
        {'id': 'a1', 'text': 'hello', 'payload': {'year': 2025}}
        """
        parts: dict[str, Any] = {"id": self.id}
        for name in ("text", "context", "vector"):
            if getattr(self, name) is not None:
                parts[name] = getattr(self, name)
        if self.vectors:
            parts["vectors"] = self.vectors
        if self.payload:
            parts["payload"] = self.payload
        return parts


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A file that was added to a collection."""

    path: str
    bytes: int
    mtime_ns: int
    kind: str
    passages: int

    @property
    def mtime(self) -> datetime:
        """When the file was last changed, to the microsecond."""
        return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=self.mtime_ns // 1000)


class Page(Sequence[Record]):
    """Records of one page of a listing; ``cursor`` continues it, and is None at the end."""

    __slots__ = ("_records", "cursor")

    def __init__(self, records: list[Record], cursor: str | None) -> None:
        self._records = records
        self.cursor: str | None = cursor

    @overload
    def __getitem__(self, at: int) -> Record: ...
    @overload
    def __getitem__(self, at: slice) -> list[Record]: ...
    def __getitem__(self, at: int | slice) -> Record | list[Record]:
        return self._records[at]

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    def __repr__(self) -> str:
        return f"Page({len(self)} records, cursor={self.cursor!r})"


def of_parts(parts: RecordParts, text: bool = True, payload: bool = True) -> Record:
    """A record from the extension module's form of it."""
    id, found_text, found_payload, context, vector, vectors = parts
    return Record(
        id, found_text if text else None, found_payload if payload else {}, context if text else None, vector, vectors
    )
