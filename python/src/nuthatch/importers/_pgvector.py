"""Dumps of PostgreSQL with pgvector's columns."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timezone
from typing import Any

from ..arguments import StrPath, optional_text
from ..database import Database, Elements, Metric
from ..errors import InvalidError
from . import _pg_dump, _records
from ._importing import BATCH, Imported, Importing, OnProgress, counted
from ._pg_dump import Table

_TEXTS = ("text", "document", "content", "contents", "page_content", "chunk", "body")
_IDS = ("id", "uuid", "key")
_METRICS: dict[str, Metric] = {"cosine": "cosine", "l2": "l2", "ip": "dot", "hamming": "hamming"}
_VECTOR = re.compile(r"(?:[\w$]+\.)?(?P<kind>vector|halfvec)(?:\((?P<dim>\d+)\))?")
_BITS = re.compile(r"bit\((?P<dim>\d+)\)")


def pgvector(
    path: StrPath,
    db: Database,
    *,
    tables: Iterable[str] | None = None,
    id: str | None = None,
    text: str | None = None,
    vector: str | None = None,
    metric: Metric | None = None,
    batch: int = BATCH,
    on_progress: OnProgress = None,
) -> list[Imported]:
    """Imports a dump that ``pg_dump`` wrote: plain SQL, or custom, directory or tar where ``pg_restore`` is installed.

    Without ``tables``, every table with a column of type vector or halfvec, or of bits that an index compares by hamming; the
    rows of other tables are counted. Tables of other schemas than public are "schema.table". ``id``, ``text`` and ``vector``
    name columns; left out: the primary key (several columns joined by "/"), one of text, document, content, contents,
    page_content, chunk and body, and the only column of vectors. Other columns become the payload, and null is left out. The
    metric is that of the column's index; where it has none, ``metric``, by default cosine.
    """
    file, size = _records.existing(path), _records.batch_size(batch)
    asked = {name: optional_text(name, given) for name, given in (("id", id), ("text", text), ("vector", vector))}
    known = {table.title: table for table in _pg_dump.tables(file)}
    having = [title for title, table in known.items() if _vector_columns(table)]
    if not having:
        raise InvalidError(f"{file} has no table with a column of pgvector; there are: {', '.join(known)}")
    with Importing(db, file, on_progress) as importing:
        imported = []
        for title in _records.chosen(tables, having, file):
            table = known[title]
            column = _column(table, asked["vector"])
            left_out: Counter[str] = Counter()
            imported.append(
                importing.collection(
                    title,
                    counted(_records_of(_pg_dump.rows(file, table), table, column, asked, left_out), size),
                    metric=_metric(table, column, metric),
                    elements=_elements(table, column),
                    left_out=left_out,
                    total=table.rows,
                )
            )
        if tables is None:
            others = [table for table in known.values() if table.title not in having and table.rows]
            imported += [Imported(table.title, 0, {"rows without vectors": table.rows}) for table in others]
        return imported


def _vector_columns(table: Table) -> list[str]:
    return [
        name
        for name, type in table.columns.items()
        if _VECTOR.fullmatch(type) or (_BITS.fullmatch(type) and table.metrics.get(name) == "hamming")
    ]


def _column(table: Table, asked: str | None) -> str:
    names = _vector_columns(table)
    if asked is not None:
        if asked not in names:
            raise InvalidError(
                f"table {table.title!r} has no column of vectors {asked!r}; there are: {', '.join(names)}"
            )
        return asked
    if len(names) != 1:
        raise InvalidError(
            f"table {table.title!r} has several columns of vectors ({', '.join(names)}); name one with vector="
        )
    return names[0]


def _metric(table: Table, column: str, asked: Metric | None) -> Metric:
    if asked is not None:
        return asked
    found = table.metrics.get(column, "cosine")
    if found not in _METRICS:
        raise InvalidError(
            f"column {column!r} of {table.title!r} is compared by {found}, which is not here; say metric="
        )
    return _METRICS[found]


def _elements(table: Table, column: str) -> Elements:
    type = table.columns[column]
    return "binary" if _BITS.fullmatch(type) else "f16" if "halfvec" in type else "f32"


def _records_of(
    rows: Iterable[dict[str, str | None]],
    table: Table,
    column: str,
    asked: dict[str, str | None],
    left_out: Counter[str],
) -> Iterator[dict[str, Any]]:
    for what in ("id", "text"):
        if asked[what] is not None and asked[what] not in table.columns:
            raise InvalidError(
                f"table {table.title!r} has no column {asked[what]!r} for {what}; it has {', '.join(table.columns)}"
            )
    ids = [asked["id"]] if asked["id"] else table.key or [name for name in _IDS if name in table.columns][:1]
    texts = [asked["text"]] if asked["text"] else [name for name in _TEXTS if _is_text(table.columns.get(name))][:1]
    read = {name: _reader(type) for name, type in table.columns.items()}
    is_bits = _BITS.fullmatch(table.columns[column]) is not None
    for at, row in enumerate(rows):
        parts = [row.pop(name) if name in row and len(ids) == 1 else row.get(name) for name in ids if name is not None]
        if None in parts:
            raise InvalidError(
                f"row {at + 1} of {table.title!r} has no {' and '.join(map(str, ids))} for its id; say id="
            )
        record: dict[str, Any] = {"id": "/".join(str(part) for part in parts) if ids else str(at)}
        if (found := row.pop(column, None)) is not None:
            record["vector"] = [float(bit) for bit in found] if is_bits else json.loads(found)
        for name in texts:
            if (found := row.pop(str(name), None)) is not None:
                record["text"] = found
        values: dict[str, Any] = {}
        for name, value in row.items():
            if value is None:
                continue
            reader = read[name]
            if reader is None:
                left_out[f"values of type {table.columns[name]}"] += 1
                continue
            try:
                values[name] = reader(value)
            except ValueError as error:
                raise InvalidError(
                    f"row {at + 1} of {table.title!r}: {name} is no {table.columns[name]}: {error}"
                ) from None
        record["payload"] = _records.payload(values, f"record {record['id']!r}")
        yield record


def _is_text(type: str | None) -> bool:
    return type is not None and (type in ("text", "name") or type.startswith(("character", "citext", "public.citext")))


def _reader(type: str) -> Callable[[str], Any] | None:
    """Reads a value of a column's type; None where a payload has no counterpart."""
    if type.endswith("[]"):
        of = _reader(type.removesuffix("[]"))
        return None if of is None else lambda value: _each(_pg_dump.array(value), of)
    if type in ("smallint", "integer", "bigint", "oid"):
        return int
    if type in ("real", "double precision") or type.startswith("numeric"):
        return _number
    if type == "boolean":
        return lambda value: value == "t"
    if type in ("json", "jsonb"):
        return json.loads
    if type == "date" or type.startswith("timestamp"):
        return _moment
    if type == "bytea":
        import base64

        return lambda value: base64.b64encode(bytes.fromhex(value.removeprefix("\\x"))).decode()
    if _VECTOR.fullmatch(type) or "sparsevec" in type:
        return None
    # Everything else is what PostgreSQL shows: uuid, inet, interval, ranges, enums and so on.
    return str


def _each(values: list[object], of: Callable[[str], Any]) -> list[Any]:
    return [
        None if value is None else _each(value, of) if isinstance(value, list) else of(str(value)) for value in values
    ]


def _number(value: str) -> Any:
    """A number, or its text where it is none that a payload has: not a finite one, or one with more digits."""
    if re.fullmatch(r"-?\d{1,18}", value):
        return int(value)
    number = float(value)
    return number if abs(number) != float("inf") and number == number and len(value.strip("-.0")) <= 17 else value


def _moment(value: str) -> Any:
    """A moment; those beyond Python's years stay texts."""
    # "2025-01-31 12:00:00.5+00": Python before 3.11 wants two digits more.
    fixed = re.sub(r"([+-]\d\d)$", r"\1:00", value) if ":" in value else value
    fixed = re.sub(r"\.(\d{1,5})(?=[+-]|$)", lambda match: "." + match[1].ljust(6, "0"), fixed)
    try:
        moment = datetime.fromisoformat(fixed)
    except ValueError:
        return value
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)
