"""Databases of sqlite-vec: the tables in which ``vec0`` keeps its rows, read without the extension.

``vec0`` packs the rows of a table into chunks. ``T_rowids`` says in which chunk a row lies and where; ``T_vector_chunks00``, …
have the vectors of a chunk, one table a vector column, ``T_metadatachunks00``, … its metadata, and ``T_auxiliary`` the rest.
"""

from __future__ import annotations

import re
import sqlite3
import struct
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..arguments import StrPath, optional_text
from ..database import Database, Elements, Metric
from ..errors import CorruptError, InvalidError
from . import _records, _sqlite
from ._importing import BATCH, Imported, Importing, OnProgress, counted

_TEXTS = ("text", "document", "content", "contents", "page_content")
_METRICS: dict[str, Metric] = {"l2": "l2", "cosine": "cosine", "hamming": "hamming"}
_METADATA = {
    "integer": "integer",
    "int": "integer",
    "float": "float",
    "double": "float",
    "boolean": "boolean",
    "text": "text",
}
_VECTOR = re.compile(
    r"(?P<name>\S+)\s+(?P<kind>float|f32|int8|i8|bit)\s*\[\s*(?P<dim>\d+)\s*\](?P<rest>.*)", re.I | re.S
)


@dataclass
class _Table:
    """A ``vec0`` table, by the statement that made it."""

    name: str
    id: str | None = None
    vectors: list[tuple[str, str, int, str]] = field(default_factory=list)
    partitions: list[str] = field(default_factory=list)
    metadata: list[tuple[str, str]] = field(default_factory=list)
    auxiliary: list[str] = field(default_factory=list)


def sqlite_vec(
    path: StrPath,
    db: Database,
    *,
    tables: Iterable[str] | None = None,
    vector: str | None = None,
    text: str | None = None,
    join: str | None = None,
    metric: Metric | None = None,
    batch: int = BATCH,
    on_progress: OnProgress = None,
) -> list[Imported]:
    """Imports the ``vec0`` tables of a database file of sqlite-vec, which need not be installed. ``tables`` names some of them.

    The primary key becomes the id; partition keys, metadata and auxiliary columns become the payload. ``text`` names the column
    that becomes the text; left out, one of text, document, content, contents and page_content. ``join`` names a table of the
    same file whose row ids are those of the vectors: its columns count as the vector table's. ``vector`` names one of several
    vector columns. The metric is that of the column. int8 and bit columns keep their types.
    """
    file, size = _records.existing_file(path), _records.batch_size(batch)
    asked = {"text": optional_text("text", text), "vector": optional_text("vector", vector)}
    with _sqlite.opened(file, "sqlite-vec") as connection, Importing(db, file, on_progress) as importing:
        made = _sqlite.tables(connection)
        found = {name: sql for name, sql in made.items() if re.search(r"using\s+vec0\b", sql, re.I)}
        if not found:
            raise InvalidError(f"{file} has no tables of sqlite-vec (made with `using vec0`)")
        if join is not None and join not in made:
            raise InvalidError(f"{file} has no table {join!r} to join; there are: {', '.join(made)}")
        imported = []
        for name in _records.chosen(tables, sorted(found), file):
            table = _declared(name, found[name])
            column = _column(table, asked["vector"])
            left_out: Counter[str] = Counter()
            rows = _rows(connection, table, column, join, file, left_out)
            imported.append(
                importing.collection(
                    name,
                    counted(_records_of(rows, table, asked["text"]), size),
                    metric=_metric(table, column, metric),
                    elements=_elements(table.vectors[column][1]),
                    dim=table.vectors[column][2],
                    left_out=left_out,
                    total=connection.execute(f"select count(*) from {_part(table, 'rowids')}").fetchone()[0],
                )
            )
        return imported


def _declared(name: str, sql: str) -> _Table:
    """The columns, in the order in which ``vec0`` numbers them."""
    table = _Table(name)
    inside = re.search(r"using\s+vec0\s*\((.*)\)\s*;?\s*$", sql, re.I | re.S)
    for part in _split(inside[1] if inside else ""):
        if not part or re.match(r"\w+\s*=", part):
            continue  # an option, such as chunk_size=256
        if match := _VECTOR.fullmatch(part):
            metric = re.search(r"distance_metric\s*=\s*(\w+)", match["rest"], re.I)
            kind = {"f32": "float", "i8": "int8"}.get(match["kind"].lower(), match["kind"].lower())
            by_default = "hamming" if kind == "bit" else "l2"
            table.vectors.append(
                (_bare(match["name"]), kind, int(match["dim"]), metric[1].lower() if metric else by_default)
            )
            continue
        words = part.lstrip("+").split()
        kind = words[1].lower() if len(words) > 1 else ""
        if part.startswith("+"):
            table.auxiliary.append(_bare(words[0]))
        elif re.search(r"\bprimary\s+key\b", part, re.I):
            table.id = _bare(words[0])
        elif re.search(r"\bpartition\s+key\b", part, re.I):
            table.partitions.append(_bare(words[0]))
        elif kind in _METADATA:
            table.metadata.append((_bare(words[0]), _METADATA[kind]))
        else:
            raise InvalidError(f"table {name!r} has a column that this version does not know: {part.strip()!r}")
    return table


def _split(inside: str) -> list[str]:
    """The columns of a statement: at commas that are in no brackets.

    >>> _split("a float[4] distance_metric=cosine, +b text")
    ['a float[4] distance_metric=cosine', '+b text']
    """
    return [re.sub(r"\s+", " ", part).strip() for part in re.split(r",(?![^\[(]*[\])])", inside)]


def _bare(name: str) -> str:
    return name[1:-1] if name[:1] in "\"'`[" and len(name) > 1 else name


def _column(table: _Table, asked: str | None) -> int:
    names = [name for name, _, _, _ in table.vectors]
    if asked is not None:
        if asked not in names:
            raise InvalidError(f"table {table.name!r} has no vector column {asked!r}; there are: {', '.join(names)}")
        return names.index(asked)
    if len(names) != 1:
        raise InvalidError(
            f"table {table.name!r} has several vector columns ({', '.join(names)}); name one with vector="
        )
    return 0


def _metric(table: _Table, column: int, asked: Metric | None) -> Metric:
    name, _, _, metric = table.vectors[column]
    if asked is not None:
        return asked
    if metric not in _METRICS:
        raise InvalidError(
            f"column {name!r} of table {table.name!r} compares with {metric!r}, which has no counterpart here; say metric="
        )
    return _METRICS[metric]


def _elements(kind: str) -> Elements:
    elements: dict[str, Elements] = {"float": "f32", "int8": "int8", "bit": "binary"}
    return elements[kind]


def _rows(
    connection: sqlite3.Connection,
    table: _Table,
    column: int,
    join: str | None,
    file: Path,
    left_out: Counter[str],
) -> Iterator[tuple[str, list[float], dict[str, Any]]]:
    """Each row's id, vector and other columns, chunk by chunk."""
    _, kind, dim, _ = table.vectors[column]
    row_bytes = {"float": 4 * dim, "int8": dim, "bit": dim // 8}[kind]
    more = _joined(connection, join)
    others = len(table.vectors) - 1
    here, chunk = -1, _Chunk()
    query = f"select rowid, id, chunk_id, chunk_offset from {_part(table, 'rowids')} order by chunk_id, chunk_offset"
    for rowid, id, chunk_id, offset in connection.execute(query):
        if chunk_id != here:
            here, chunk = chunk_id, _chunk(connection, table, column, chunk_id)
        packed = chunk.vectors[offset * row_bytes : (offset + 1) * row_bytes]
        if len(packed) != row_bytes:
            raise CorruptError(
                f"{file}: the vector of row {rowid} of table {table.name!r} is not whole; give a whole copy", file
            )
        values = dict(chunk.partitions)
        for (name, type), data, at in zip(table.metadata, chunk.metadata, range(len(table.metadata)), strict=True):
            values[name] = _metadata(connection, table, at, type, data, offset, rowid)
        if table.auxiliary:
            listed = ", ".join(f"value{at:02}" for at in range(len(table.auxiliary)))
            kept = connection.execute(
                f"select {listed} from {_part(table, 'auxiliary')} where rowid = ?", (rowid,)
            ).fetchone()
            values |= zip(table.auxiliary, kept or (), strict=False)
        values |= more(rowid)
        if others:
            left_out["vectors of other columns"] += others
        yield str(rowid if id is None else id), _unpacked(packed, kind), values


@dataclass
class _Chunk:
    vectors: bytes = b""
    partitions: dict[str, Any] = field(default_factory=dict)
    metadata: list[bytes] = field(default_factory=list)


def _chunk(connection: sqlite3.Connection, table: _Table, column: int, chunk_id: int) -> _Chunk:
    def blob(part: str, name: str) -> bytes:
        found = connection.execute(f"select {name} from {_part(table, part)} where rowid = ?", (chunk_id,)).fetchone()
        return bytes(found[0]) if found else b""

    chunk = _Chunk(blob(f"vector_chunks{column:02}", "vectors"))
    for at, name in enumerate(table.partitions):
        query = f"select partition{at:02} from {_part(table, 'chunks')} where chunk_id = ?"
        chunk.partitions[name] = connection.execute(query, (chunk_id,)).fetchone()[0]
    chunk.metadata = [blob(f"metadatachunks{at:02}", "data") for at in range(len(table.metadata))]
    return chunk


def _metadata(
    connection: sqlite3.Connection, table: _Table, at: int, type: str, data: bytes, offset: int, rowid: int
) -> Any:
    if type == "boolean":
        return bool(data[offset // 8] >> (offset % 8) & 1)
    if type in ("integer", "float"):
        return struct.unpack_from("<q" if type == "integer" else "<d", data, 8 * offset)[0]
    # 16 bytes: the length, then the text or, of a longer one, how it begins.
    length = struct.unpack_from("<i", data, 16 * offset)[0]
    if length <= 12:
        return data[16 * offset + 4 : 16 * offset + 4 + length].decode()
    query = f"select data from {_part(table, f'metadatatext{at:02}')} where rowid = ?"
    return connection.execute(query, (rowid,)).fetchone()[0]


def _unpacked(packed: bytes, kind: str) -> Any:
    if kind == "float":
        return array("f", packed)
    if kind == "int8":
        return [float(byte - 256 if byte > 127 else byte) for byte in packed]
    return [float(byte >> bit & 1) for byte in packed for bit in range(8)]


def _joined(connection: sqlite3.Connection, join: str | None) -> Any:
    if join is None:
        return lambda rowid: {}
    names = [row[1] for row in connection.execute(f"pragma table_info({_sqlite.quoted(join)})")]
    query = f"select * from {_sqlite.quoted(join)} where rowid = ?"

    def of(rowid: int) -> dict[str, Any]:
        found = connection.execute(query, (rowid,)).fetchone()
        return dict(zip(names, found, strict=True)) if found else {}

    return of


def _records_of(
    rows: Iterable[tuple[str, Any, dict[str, Any]]], table: _Table, text: str | None
) -> Iterator[dict[str, Any]]:
    for id, vector, values in rows:
        record: dict[str, Any] = {"id": id, "vector": vector}
        if text is not None and text not in values:
            raise InvalidError(f"table {table.name!r} has no column {text!r} for text; there are: {', '.join(values)}")
        for name in _TEXTS if text is None else (text,):
            if isinstance(values.get(name), str):
                record["text"] = values.pop(name)
                break
        present = {name: value for name, value in values.items() if value is not None}
        record["payload"] = _records.payload(present, f"record {id!r}")
        yield record


def _part(table: _Table, part: str) -> str:
    return _sqlite.quoted(f"{table.name}_{part}")
