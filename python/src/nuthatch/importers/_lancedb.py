"""Folders of LanceDB."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..arguments import StrPath, optional_text
from ..database import Database, Metric
from ..errors import InvalidError
from . import _records
from ._importing import BATCH, Imported, Importing, OnProgress

_IDS = ("id", "_id", "uuid", "key")
_TEXTS = ("text", "document", "content", "page_content")


def lancedb(
    path: StrPath,
    db: Database,
    *,
    tables: Iterable[str] | None = None,
    id: str | None = None,
    text: str | None = None,
    vector: str | None = None,
    metric: Metric = "cosine",
    batch: int = BATCH,
    on_progress: OnProgress = None,
) -> list[Imported]:
    """Imports the tables of a folder that ``lancedb.connect(path)`` keeps. ``tables`` names some of them; left out, all.

    ``vector``, ``text`` and ``id`` name columns; left out: the first column of lists of floats of fixed size, one of text,
    document, content and page_content, and one of id, _id, uuid and key. A table without ids gets "0", "1", … in its own order.
    All other columns become the payload. A table does not say how it is compared: ``metric`` does.
    """
    package = _records.package("lancedb", "lancedb")
    folder, size = _records.existing(path), _records.batch_size(batch)
    wanted = {name: optional_text(name, given) for name, given in (("id", id), ("text", text), ("vector", vector))}
    connection = package.connect(str(folder))
    names = _names(connection)
    if not names:
        raise InvalidError(f"{folder} has no LanceDB tables")
    imported = []
    with Importing(db, folder, on_progress) as importing:
        for name in _records.chosen(tables, names, folder):
            table = connection.open_table(name)
            batches = _batches(table, _columns(table.schema, name, wanted), size)
            imported.append(importing.collection(name, batches, metric=metric, total=table.count_rows()))
    return imported


def _names(connection: Any) -> list[str]:
    names: list[str] = []
    while True:
        page = list(connection.table_names(page_token=names[-1] if names else None, limit=100))
        names += [name for name in page if name not in names]
        if len(page) < 100:
            return names


def _columns(schema: Any, table: str, wanted: dict[str, str | None]) -> dict[str, str | None]:
    known = list(schema.names)
    for what, name in wanted.items():
        if name is not None and name not in known:
            raise InvalidError(f"table {table!r} has no column {name!r} for {what}; there are: {', '.join(known)}")

    def first(names: Iterable[str]) -> str | None:
        return next((name for name in names if name in known), None)

    def is_vector(name: str) -> bool:
        # By its words: no import of pyarrow for one question.
        return str(schema.field(name).type).startswith("fixed_size_list<") and "float" in str(schema.field(name).type)

    return {
        "id": wanted["id"] or first(_IDS),
        "text": wanted["text"] or first(_TEXTS),
        "vector": wanted["vector"] or next((name for name in known if is_vector(name)), None),
    }


def _batches(table: Any, columns: dict[str, str | None], size: int) -> Iterator[list[dict[str, Any]]]:
    row = 0
    for part in table.search().to_batches(size):
        # How many rows a part has is their choice.
        for start in range(0, part.num_rows, size):
            records = []
            for values in part.slice(start, size).to_pylist():
                id = values.pop(columns["id"]) if columns["id"] else row
                record: dict[str, Any] = {"id": str(id)}
                for name in ("text", "vector"):
                    if columns[name]:
                        record[name] = values.pop(columns[name])
                record["payload"] = _records.payload(values, f"record {record['id']!r}")
                records.append(record)
                row += 1
            yield records
