"""Everything in open formats: progress and reports of ``Database.export_to`` and ``Database.import_from``, and Parquet.

The engine writes and reads JSON lines. This module converts them to Parquet and back with pyarrow
(``nuthatch[arrow]``), a row group at a time.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from .errors import InvalidError, UnavailableError

if TYPE_CHECKING:
    import pyarrow

ExportFormat: TypeAlias = Literal["jsonl", "parquet"]
#: Payload fields of a collection with the kinds of their values.
FieldsOf: TypeAlias = "Callable[[str], dict[str, list[str]]]"

#: Rows of a row group: of 384 components, 15 MB of vectors.
_ROWS = 10_000
_MANIFEST = "export.json"


class TransferProgress(NamedTuple):
    """The progress of an export or an import."""

    #: The current collection, keyspace or graph.
    name: str
    done: int
    #: 0 where it is not known before.
    total: int


@dataclass(frozen=True, slots=True)
class ExportReport:
    """The result of an export."""

    folder: Path
    collections: int
    keyspaces: int
    graphs: int
    records: int
    files: int
    keys: int
    nodes: int
    edges: int
    #: Facts of how many names, and of all of them, believed or not.
    fact_sets: int
    facts: int
    trees: int
    #: Versions of the files of all trees.
    versions: int
    #: Bytes of JSON lines, also when Parquet was made of them.
    bytes: int
    elapsed_seconds: float


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The result of an import."""

    #: Names.
    collections: list[str]
    keyspaces: list[str]
    graphs: list[str]
    #: Names of facts.
    fact_sets: list[str]
    trees: list[str]
    records: int
    files: int
    keys: int
    nodes: int
    edges: int
    #: Of all names, believed or not.
    facts: int
    elapsed_seconds: float


def telling(on_progress: Callable[[TransferProgress], object] | None) -> Callable[..., object] | None:
    """The callback as the extension module calls it."""
    tell = on_progress
    return None if tell is None else lambda *parts: tell(TransferProgress(*parts))


def export_report(parts: dict[str, Any]) -> ExportReport:
    """From what the extension module gives."""
    return ExportReport(**{**parts, "folder": Path(parts["folder"])})


def import_report(parts: dict[str, Any]) -> ImportReport:
    """From what the extension module gives."""
    return ImportReport(**parts)


def export_parquet(folder: Path, write_lines: Callable[[str], dict[str, Any]], fields: FieldsOf) -> ExportReport:
    """Writes an export to ``folder``; ``write_lines`` makes a temporary one in JSON lines next to it."""
    _pyarrow()
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise InvalidError(f"{folder} is not empty; export into a new or an empty folder")
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as beside:
        lines = Path(beside, "lines")
        report = export_report(write_lines(str(lines)))
        manifest = _read_manifest(lines)
        for entry in manifest["collections"]:
            place = folder / entry["folder"]
            place.mkdir(parents=True)
            _write(
                place / "records.parquet",
                _record_schema(entry, fields(entry["name"])),
                _records,
                lines / entry["folder"] / "records.jsonl",
            )
            _write(place / "files.parquet", _file_schema(), _files, lines / entry["folder"] / "files.jsonl")
        for entry in manifest["keyspaces"]:
            path = folder / Path(entry["file"]).with_suffix(".parquet")
            path.parent.mkdir(exist_ok=True)
            _write(path, _key_schema(), _keys, lines / entry["file"])
            entry["file"] = f"{Path(entry['file']).with_suffix('.parquet').as_posix()}"
        # Lines of JSON in either format: properties are of every shape, and contents are bytes.
        for file in _kept_as_lines(manifest):
            (folder / file).parent.mkdir(exist_ok=True)
            shutil.move(lines / file, folder / file)
        manifest["format"] = "parquet"
        # Last: from here on the folder is an export.
        _write_manifest(folder, manifest)
    return ExportReport(
        folder,
        report.collections,
        report.keyspaces,
        report.graphs,
        report.records,
        report.files,
        report.keys,
        report.nodes,
        report.edges,
        report.fact_sets,
        report.facts,
        report.trees,
        report.versions,
        report.bytes,
        report.elapsed_seconds,
    )


def is_parquet(folder: Path) -> bool:
    """Whether this is an export in Parquet; the engine recognises the other formats."""
    import json

    try:
        return bool(json.loads((folder / _MANIFEST).read_text(encoding="utf-8")).get("format") == "parquet")
    except (OSError, ValueError, AttributeError):
        return False


def import_parquet(folder: Path, read_lines: Callable[[str], dict[str, Any]]) -> ImportReport:
    """``read_lines`` imports JSON lines, which are made of the Parquet files in a temporary folder."""
    _pyarrow()
    manifest = _read_manifest(folder)
    with tempfile.TemporaryDirectory(prefix="nuthatch-import-") as beside:
        lines = Path(beside)
        for entry in manifest["collections"]:
            source, target = _inside(folder, entry["folder"]), _inside(lines, entry["folder"])
            target.mkdir(parents=True)
            _read(source / "records.parquet", target / "records.jsonl", _record_line)
            _read(source / "files.parquet", target / "files.jsonl", lambda row: row)
        for entry in manifest["keyspaces"]:
            source = _inside(folder, entry["file"])
            entry["file"] = Path(entry["file"]).with_suffix(".jsonl").as_posix()
            target = _inside(lines, entry["file"])
            target.parent.mkdir(exist_ok=True)
            _read(source, target, _key_line)
        for file in _kept_as_lines(manifest):
            source, target = _inside(folder, file), _inside(lines, file)
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(source, target)
        manifest["format"] = "jsonl"
        _write_manifest(lines, manifest)
        return import_report(read_lines(str(lines)))


def _kept_as_lines(manifest: dict[str, Any]) -> list[str]:
    """Files of graphs, facts and trees."""
    contents = manifest.get("contents")
    kinds = [manifest.get(kind, ()) for kind in ("graphs", "facts", "trees")]
    entries = [*(entry for kind in kinds for entry in kind), *([contents] if contents else [])]
    return [entry["file"] for entry in entries]


def _record_schema(entry: dict[str, Any], fields: dict[str, list[str]]) -> pyarrow.Schema:
    pa = _pyarrow()
    columns = [("id", pa.string()), ("text", pa.string()), ("context", pa.string()), ("code", pa.bool_())]
    if entry["dim"] is not None:
        # Parquet's readers cannot tell a list of fixed size that is missing from one that is empty.
        size = entry["dim"] if entry["vectors"] == entry["records"] else -1
        columns.append(("vector", pa.list_(pa.field("item", pa.float32()), size)))
    for field in entry.get("vector_fields", ()):
        size = field["dim"] if field["vectors"] == entry["records"] else -1
        row = pa.list_(pa.field("item", pa.float32()))
        kind = {
            "sparse": pa.struct([("indices", pa.list_(pa.uint32())), ("values", row)]),
            "tokens": pa.list_(row),
        }.get(field.get("kind"), pa.list_(pa.field("item", pa.float32()), size))
        columns.append((f"vector.{field['name']}", kind))
    columns += [("payload", pa.string()), ("datetimes", pa.list_(pa.string()))]
    types = {
        "bool": pa.bool_(),
        "int": pa.int64(),
        "float": pa.float64(),
        "text": pa.string(),
        "datetime": pa.timestamp("us", tz="UTC"),
    }
    for name, kinds in sorted(fields.items()):
        known = [kind for kind in kinds if kind in types]
        if "." not in name and len(known) == 1:
            columns.append((f"payload.{name}", types[known[0]]))
    return pa.schema(columns)


def _records(schema: pyarrow.Schema, rows: list[dict[str, Any]]) -> list[pyarrow.Array]:
    import json
    from datetime import datetime

    pa = _pyarrow()
    arrays = []
    for field in schema:
        if field.name == "vector":
            arrays.append(_vectors(field.type, [row.get("vector") for row in rows]))
        elif field.name.startswith("vector."):
            name = field.name.removeprefix("vector.")
            arrays.append(_vectors(field.type, [row.get("vectors", {}).get(name) for row in rows]))
        elif field.name == "payload":
            texts = [json.dumps(row.get("payload", {}), ensure_ascii=False) for row in rows]
            arrays.append(pa.array(texts, field.type))
        elif field.name.startswith("payload."):
            name = field.name.removeprefix("payload.")
            values = [row.get("payload", {}).get(name) for row in rows]
            if pa.types.is_timestamp(field.type):
                marked = [name in row.get("datetimes", ()) for row in rows]
                # Only the JSON has years outside a datetime's range.
                values = [
                    datetime.fromisoformat(value) if is_one and isinstance(value, str) else None
                    for value, is_one in zip(values, marked, strict=True)
                ]
            else:
                wanted = {"bool": bool, "int64": int, "double": float, "string": str}[str(field.type)]
                values = [value if type(value) is wanted else None for value in values]
            arrays.append(pa.array(values, field.type))
        elif field.name == "code":
            arrays.append(pa.array([row.get("code", False) for row in rows], field.type))
        else:
            arrays.append(pa.array([row.get(field.name) for row in rows], field.type))
    return arrays


def _vectors(kind: pyarrow.DataType, vectors: list[Any]) -> pyarrow.Array:
    pa = _pyarrow()
    if not pa.types.is_fixed_size_list(kind):
        return pa.array(vectors, kind)
    flat = pa.array((x for vector in vectors if vector is not None for x in vector), pa.float32())
    return pa.FixedSizeListArray.from_arrays(flat, type=kind)


def _record_line(row: dict[str, Any]) -> dict[str, Any]:
    import json

    line = {name: row[name] for name in ("id", "text", "context", "vector") if row.get(name) is not None}
    named = {
        name.removeprefix("vector."): vector
        for name, vector in row.items()
        if name.startswith("vector.") and vector is not None
    }
    if named:
        line["vectors"] = named
    line["code"] = bool(row.get("code"))
    line["payload"] = json.loads(row.get("payload") or "{}")
    line["datetimes"] = row.get("datetimes") or []
    return line


def _file_schema() -> pyarrow.Schema:
    pa = _pyarrow()
    texts = [(name, pa.string()) for name in ("path", "hash", "made_by", "kind")]
    return pa.schema([*texts, ("bytes", pa.uint64()), ("mtime_ns", pa.int64()), ("passages", pa.list_(pa.string()))])


def _files(schema: pyarrow.Schema, rows: list[dict[str, Any]]) -> list[pyarrow.Array]:
    return [_pyarrow().array([row[field.name] for row in rows], field.type) for field in schema]


def _key_schema() -> pyarrow.Schema:
    pa = _pyarrow()
    return pa.schema([("key", pa.large_binary()), ("value", pa.large_binary()), ("expires_at_ms", pa.uint64())])


def _keys(schema: pyarrow.Schema, rows: list[dict[str, Any]]) -> list[pyarrow.Array]:
    from base64 import b64decode

    def plain(row: dict[str, Any], name: str) -> bytes:
        coded = row.get(f"{name}_base64")
        return str(row[name]).encode() if coded is None else b64decode(coded)

    columns: list[list[Any]] = [[plain(row, "key") for row in rows], [plain(row, "value") for row in rows]]
    columns.append([row.get("expires_at_ms") for row in rows])
    return [_pyarrow().array(column, field.type) for column, field in zip(columns, schema, strict=True)]


def _key_line(row: dict[str, Any]) -> dict[str, Any]:
    from base64 import b64encode

    line: dict[str, Any] = {f"{name}_base64": b64encode(row[name]).decode() for name in ("key", "value")}
    if row["expires_at_ms"] is not None:
        line["expires_at_ms"] = row["expires_at_ms"]
    return line


def _write(
    path: Path,
    schema: pyarrow.Schema,
    arrays: Callable[[pyarrow.Schema, list[dict[str, Any]]], list[pyarrow.Array]],
    lines: Path,
) -> None:
    from pyarrow import parquet

    with parquet.ParquetWriter(path, schema) as writer:
        for rows in _batches(lines):
            writer.write_batch(_pyarrow().record_batch(arrays(schema, rows), schema=schema))
    lines.unlink()


def _batches(lines: Path) -> Iterator[list[dict[str, Any]]]:
    import json

    rows: list[dict[str, Any]] = []
    with lines.open(encoding="utf-8", newline="\n") as source:
        for line in source:
            rows.append(json.loads(line))
            if len(rows) == _ROWS:
                yield rows
                rows = []
    if rows:
        yield rows


def _read(source: Path, lines: Path, line: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    import json

    from pyarrow import parquet

    with lines.open("w", encoding="utf-8", newline="\n") as target, parquet.ParquetFile(source) as file:
        wanted = [name for name in file.schema_arrow.names if not name.startswith("payload.")]
        for batch in file.iter_batches(1000, columns=wanted):
            for row in batch.to_pylist():
                target.write(json.dumps(line(row), ensure_ascii=False))
                target.write("\n")


def _read_manifest(folder: Path) -> dict[str, Any]:
    import json

    manifest: dict[str, Any] = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
    return manifest


def _write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    import json

    beside = folder / "export.writing"
    beside.write_text(json.dumps(manifest, indent=2, ensure_ascii=False), encoding="utf-8")
    shutil.move(beside, folder / _MANIFEST)


def _inside(folder: Path, path: str) -> Path:
    if not path or Path(path).is_absolute() or ".." in Path(path).parts:
        raise InvalidError(f"the export names {path!r}, which is outside of its folder")
    return folder / path


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UnavailableError('Parquet needs pyarrow; install it with `pip install "nuthatch[arrow]"`') from None
    return pyarrow
