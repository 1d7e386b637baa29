"""A collection in a transaction on a server: as it was; reads by id also see the transaction's own writes."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .. import _core
from .moment import CallerThen
from .reads import RecordReads

if TYPE_CHECKING:
    from ..batch import Columns
    from ..queries import Asked
    from ..records import RecordParts
    from ..results import Results
    from ..vectors import VectorColumn


class RecordWork:
    """The reads and writes of a transaction in one collection."""

    def __init__(self, lock: threading.Lock) -> None:
        self.lock = lock
        self.read: set[str] = set()
        #: It was searched, counted or listed.
        self.is_read_whole = False
        #: The record as JSON and as it is read; None for one that is deleted.
        self.written: dict[str, tuple[bytes, RecordParts] | None] = {}

    def reads_json(self, collection: str) -> Iterator[bytes]:
        """The reads that the writes depend on, in the form that the server takes."""
        if self.read or self.is_read_whole:
            read = {"collection": collection, "ids": sorted(self.read), "all": self.is_read_whole}
            yield _json({"records": read})

    def writes_json(self, collection: str) -> Iterator[bytes]:
        """The writes, as the server reads them."""
        if self.written:
            gone = _json({"collection": collection, "delete": [id for id, one in self.written.items() if one is None]})
            upserted = b",".join(one[0] for one in self.written.values() if one is not None)
            yield b'{"records":' + gone[:-1] + b',"upsert":[' + upserted + b"]}}"


class TransactionCollection(RecordReads):
    """As the extension module's."""

    def __init__(self, caller: CallerThen, name: str, work: RecordWork) -> None:
        super().__init__(caller, name)
        self._moment = caller.moment
        self._work = work

    def get_records(self, ids: list[str], vectors: bool) -> list[RecordParts | None]:
        self._moment.check_open()
        with self._work.lock:
            own = {id: self._work.written[id] for id in ids if id in self._work.written}
            self._work.read.update(ids)
        others = [id for id in ids if id not in own]
        found = iter(super().get_records(others, vectors) if others else [])
        return [_read(own[id], vectors) if id in own else next(found) for id in ids]

    def ask(self, name: str, question: str) -> Any:
        self._depend_on_everything()
        return super().ask(name, question)

    def count(self, condition: str | None) -> int:
        self._depend_on_everything()
        return super().count(condition)

    def search(self, asked: Asked) -> Results:
        self._depend_on_everything()
        return super().search(asked)

    def search_many(
        self, asked: Asked, count: int, texts: list[Any] | None, vectors: VectorColumn | None
    ) -> list[Results]:
        self._depend_on_everything()
        return super().search_many(asked, count, texts, vectors)

    def scan(
        self, condition: str | None, limit: int, cursor: str | None, vectors: bool
    ) -> tuple[list[RecordParts], str | None]:
        self._depend_on_everything()
        return super().scan(condition, limit, cursor, vectors)

    def info(self) -> dict[str, Any]:
        self._depend_on_everything()
        return super().info()

    def files(self, prefix: str) -> list[tuple[str, int, int, str, int]]:
        self._depend_on_everything()
        return super().files(prefix)

    def _depend_on_everything(self) -> None:
        self._moment.check_open()
        with self._work.lock:
            self._work.is_read_whole = True

    def upsert(self, columns: Columns) -> None:
        self._moment.check_open()
        written = _core.records_apart(columns)
        with self._work.lock:
            self._work.written.update({one[1][0]: one for one in written})

    def delete(self, ids: list[str]) -> None:
        self._moment.check_open()
        with self._work.lock:
            self._work.written.update(dict.fromkeys(ids))


def _read(written: tuple[bytes, RecordParts] | None, vectors: bool) -> RecordParts | None:
    if written is None or vectors:
        return None if written is None else written[1]
    id, text, payload, context, *_ = written[1]
    return id, text, payload, context, None, {}


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
