"""Everything that ``upsert`` takes, as columns: dicts, columns, Arrow tables and data frames."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, cast

from . import vectors as _vectors
from .errors import InvalidError
from .records import Record

if TYPE_CHECKING:
    import pyarrow


class Columns(TypedDict):
    """A batch as the engine takes it: each column as long as the ids, or None."""

    ids: list[Any]
    texts: list[Any] | None
    vectors: _vectors.VectorColumn | None
    named_vectors: dict[str, _vectors.ValueColumn] | None
    payloads: list[Any] | None
    contexts: list[Any] | None
    codes: list[Any] | None


_KEYS = ("id", "text", "vector", "vectors", "payload", "context", "code")


def columns(records: object, ids: object, texts: object, vectors: object, payloads: object) -> Columns:
    """One batch from ``upsert``'s arguments."""
    if records is None:
        return _of_columns(ids, texts, vectors, payloads)
    named = {"ids": ids, "texts": texts, "vectors": vectors, "payloads": payloads}
    if given := [name for name, value in named.items() if value is not None]:
        raise InvalidError(f"upsert takes records or columns, not both: leave out {' and '.join(given)}")
    if _is_pandas(records):
        return _of_frame(records)
    if hasattr(records, "__arrow_c_stream__"):
        return _of_arrow(records)
    if isinstance(records, (Mapping, Record, str, bytes)) or not isinstance(records, Iterable):
        raise InvalidError(f"upsert takes a list of records, not one {type(records).__name__}; put it into a list")
    return _of_records(records)


def _of_records(records: Iterable[object]) -> Columns:
    ids: list[object] = []
    texts: list[object] = []
    vectors: list[bytes | None] = []
    named: dict[str, dict[int, _vectors.ValueParts]] = {}
    payloads: list[object] = []
    contexts: list[object] = []
    codes: list[object] = []
    for at, given in enumerate(records):
        record = given.to_dict() if isinstance(given, Record) else given
        if not isinstance(record, Mapping):
            raise InvalidError(
                f"record {at} is of type {type(record).__name__}; give a dict with the keys {_listed(_KEYS)}"
            )
        id = record.get("id")
        for key in record:
            if key not in _KEYS:
                raise InvalidError(f"record {_name(id, at)} has an unknown key {key!r}{_did_you_mean(key)}")
        vector = record.get("vector")
        ids.append(id)
        texts.append(record.get("text"))
        vectors.append(None if vector is None else _vectors.vector_bytes(vector, f"record {_name(id, at)}: its vector"))
        if (of_fields := record.get("vectors")) is not None:
            for name, found in _vectors.by_field(of_fields, f"record {_name(id, at)}: its vectors").items():
                named.setdefault(name, {})[at] = found
        payloads.append(record.get("payload"))
        contexts.append(record.get("context"))
        codes.append(record.get("code"))
    return Columns(
        ids=ids,
        texts=texts,
        vectors=vectors,
        named_vectors={name: [rows.get(at) for at in range(len(ids))] for name, rows in named.items()} or None,
        payloads=payloads,
        contexts=contexts,
        codes=codes,
    )


def _of_columns(ids: object, texts: object, vectors: object, payloads: object) -> Columns:
    if ids is None:
        raise InvalidError(
            "upsert got neither records nor ids; give a list of dicts, or ids= with texts=, vectors= or payloads="
        )
    id_list = _column("ids", ids)
    count = len(id_list)

    def optional(name: str, values: object) -> list[Any] | None:
        if values is None:
            return None
        found = _column(name, values)
        if len(found) != count:
            raise InvalidError(f"{name} has {len(found)} entries for {count} ids; give one for each, in the same order")
        return found

    unnamed, named = vectors, {}
    if isinstance(vectors, Mapping):
        named = {_vectors.field_name(name, "vectors"): rows for name, rows in vectors.items()}
        unnamed = named.pop("", None)
    return Columns(
        ids=id_list,
        texts=optional("texts", texts),
        vectors=None if unnamed is None else _vectors.column(unnamed, count),
        named_vectors={name: _vectors.values(rows, count, f"vectors {name!r}") for name, rows in named.items()} or None,
        payloads=optional("payloads", payloads),
        contexts=None,
        codes=None,
    )


def _column(name: str, values: object) -> list[Any]:
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise InvalidError(f"{name} is of type {type(values).__name__}; give a list")
    found = values.tolist() if hasattr(values, "tolist") else list(values)
    return cast("list[Any]", found)


def _of_arrow(stream: object) -> Columns:
    try:
        import pyarrow
    except ImportError as error:
        raise InvalidError(
            f"{type(stream).__name__} is read through Arrow, which needs pyarrow: pip install pyarrow"
        ) from error
    table: pyarrow.Table = pyarrow.table(stream)
    names = _unique(table.column_names)
    rest = [name for name in names if name not in ("id", "text", "vector", "context")]
    ids = table.column("id").to_pylist()
    text = table.column("text").to_pylist() if "text" in names else None
    context = table.column("context").to_pylist() if "context" in names else None
    vector = _arrow_vectors(table.column("vector")) if "vector" in names else None
    payloads = _payloads({name: _arrow_values(table.column(name)) for name in rest}, len(ids))
    return _plain(ids, text, vector, payloads, context)


def _arrow_values(values: pyarrow.ChunkedArray) -> list[Any]:
    import pyarrow

    if pyarrow.types.is_timestamp(values.type) and values.type.unit == "ns":
        # Python's datetime has microseconds; nanoseconds would need pandas.
        values = values.cast(pyarrow.timestamp("us", values.type.tz), safe=False)
    return cast("list[Any]", values.to_pylist())


def _arrow_vectors(values: pyarrow.ChunkedArray) -> _vectors.VectorColumn:
    import pyarrow
    import pyarrow.compute

    types = pyarrow.types
    if not (types.is_list(values.type) or types.is_large_list(values.type) or types.is_fixed_size_list(values.type)):
        raise InvalidError(f"column 'vector' is of Arrow type {values.type}; give lists of floats")
    lengths = pyarrow.compute.list_value_length(values)
    bounds = pyarrow.compute.min_max(lengths).as_py()
    flat = (
        values.flatten()
        if isinstance(values, pyarrow.Array)
        else pyarrow.chunked_array([chunk.flatten() for chunk in values.chunks], values.type.value_type)
    )
    if len(values) == 0 or values.null_count or flat.null_count or bounds["min"] != bounds["max"]:
        return _vectors.column(values.to_pylist(), len(values))
    floats = pyarrow.concat_arrays([chunk.cast(pyarrow.float32(), safe=False) for chunk in flat.chunks])
    start = floats.offset * 4
    data = memoryview(floats.buffers()[1])[start : start + len(floats) * 4]
    if sys.byteorder == "big":
        return _vectors.column(values.to_pylist(), len(values))
    return data.tobytes(), int(bounds["min"])


def _plain(
    ids: list[Any],
    texts: list[Any] | None,
    vectors: _vectors.VectorColumn | None,
    payloads: list[Any] | None,
    contexts: list[Any] | None,
) -> Columns:
    return Columns(
        ids=ids, texts=texts, vectors=vectors, named_vectors=None, payloads=payloads, contexts=contexts, codes=None
    )


def _is_pandas(records: object) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(records, pandas.DataFrame)


def _of_frame(frame: Any) -> Columns:
    import pandas

    names = _unique(list(frame.columns))

    def values(name: str) -> list[Any]:
        # Missing values have several faces in a data frame; a record has None.
        return [
            None if pandas.api.types.is_scalar(value) and pandas.isna(value) else value
            for value in frame[name].tolist()
        ]

    rest = [name for name in names if name not in ("id", "text", "vector", "context")]
    ids = values("id")
    vector = _vectors.column(values("vector"), len(ids)) if "vector" in names else None
    text = values("text") if "text" in names else None
    context = values("context") if "context" in names else None
    payloads = _payloads({name: values(name) for name in rest}, len(ids))
    return _plain(ids, text, vector, payloads, context)


def _unique(names: Sequence[Any]) -> list[str]:
    """Column names, checked."""
    for name in names:
        if not isinstance(name, str):
            raise InvalidError(f"column {name!r} is named by {type(name).__name__}; name columns by strings")
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise InvalidError(f"column {doubled[0]!r} occurs twice; rename one of them")
    if "id" not in names:
        raise InvalidError(f"there is no column 'id' among {_listed(names)}; name the column of the ids so")
    return list(names)


def _payloads(fields: dict[str, list[Any]], count: int) -> list[Any] | None:
    """Columns as one dict per row; a missing value is a missing field."""
    if not fields:
        return None
    return [{name: values[at] for name, values in fields.items() if values[at] is not None} for at in range(count)]


def _name(id: object, at: int) -> str:
    return repr(id) if isinstance(id, str) else str(at)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names)


def _did_you_mean(key: object) -> str:
    import difflib

    close = difflib.get_close_matches(str(key), _KEYS, 1)
    plural = str(key)[:-1] if str(key).endswith("s") and str(key)[:-1] in _KEYS else None
    if meant := plural or (close[0] if close else None):
        return f"; did you mean {meant!r}?"
    return f"; the keys are {_listed(_KEYS)}: put other fields into 'payload'"
