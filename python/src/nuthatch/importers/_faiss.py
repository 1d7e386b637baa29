"""Index files of FAISS: flat, IVF-flat and HNSW-flat, with or without ids of one's own."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..arguments import StrPath, optional_text
from ..database import Database, Metric
from ..errors import CorruptError, InvalidError
from . import _records
from ._importing import BATCH, Imported, Importing, OnProgress


def faiss(
    path: StrPath,
    db: Database,
    *,
    name: str | None = None,
    records: StrPath | None = None,
    metric: Metric | None = None,
    batch: int = BATCH,
    on_progress: OnProgress = None,
) -> list[Imported]:
    """Imports an index that ``faiss.write_index`` wrote into the collection ``name``, by default that of the file.

    Ids become texts. An index without ids gets "0", "1", … by position. FAISS keeps vectors alone: ``records`` names a file
    of JSON lines that has the rest, ``{"id": 7, "text": …, "payload": {…}}``. A line without "id" belongs to the vector at its
    own position. Lines of no vector are left out and counted. ``metric`` is needed where vectors were normalised and compared
    by inner product: "cosine" then finds the same; by default it is that of the index.

    Indexes that keep codes in place of vectors (PQ, SQ) are refused: import the vectors that they were made of.
    """
    package = _records.package("faiss", "faiss")
    file, size = _records.existing_file(path), _records.batch_size(batch)
    name = optional_text("name", name) or file.stem
    try:
        index = package.read_index(str(file))
    except RuntimeError as error:
        raise CorruptError(f"FAISS cannot read {file}; give a whole file of faiss.write_index", file) from error
    ids, stored = _unwrapped(package, index, file)
    left_out: Counter[str] = Counter()
    others = _Others(_records.existing_file(records)) if records is not None else None
    with Importing(db, file, on_progress) as importing:
        parts = _vectors(package, stored, ids, size)
        made = importing.collection(
            name,
            _batches(parts, others),
            metric=metric or _metric(package, stored, file),
            dim=int(stored.d),
            left_out=left_out,
            total=int(stored.ntotal),
        )
        if others is not None and (unused := others.unused()):
            made.left_out["lines of no vector"] = unused
        return [made]


def _unwrapped(package: Any, index: Any, file: Path) -> tuple[Any, Any]:
    """The ids that are in front of an index, if any, and the index that has the vectors."""
    ids = None
    index = package.downcast_index(index)
    while isinstance(index, (package.IndexIDMap, package.IndexIDMap2)):
        ids = package.vector_to_array(index.id_map)
        index = package.downcast_index(index.index)
    known = (package.IndexFlat, package.IndexHNSWFlat, package.IndexIVFFlat)
    if isinstance(index, known) and not isinstance(index, getattr(package, "IndexIVFFlatDedup", ())):
        return ids, index
    raise InvalidError(
        f"{file} has an index of type {type(index).__name__}, which does not keep its vectors as they were; flat, IVF-flat and"
        " HNSW-flat do, each also with ids (IDMap). Import the vectors that it was made of"
    )


def _metric(package: Any, index: Any, file: Path) -> Metric:
    metrics: dict[Any, Metric] = {package.METRIC_L2: "l2", package.METRIC_INNER_PRODUCT: "dot"}
    if index.metric_type not in metrics:
        raise InvalidError(
            f"{file} compares with FAISS's metric {index.metric_type}, which has no counterpart here; say metric="
        )
    return metrics[index.metric_type]


def _vectors(package: Any, index: Any, ids: Any, size: int) -> Iterator[tuple[list[int], Any]]:
    """Ids with a matrix of their vectors, ``size`` at a time."""
    if isinstance(index, package.IndexIVFFlat):
        yield from _of_lists(package, index, ids, size)
        return
    for start in range(0, index.ntotal, size):
        count = min(size, index.ntotal - start)
        known = range(start, start + count) if ids is None else ids[start : start + count]
        yield [int(id) for id in known], index.reconstruct_n(start, count)


def _of_lists(package: Any, index: Any, ids: Any, size: int) -> Iterator[tuple[list[int], Any]]:
    lists = index.invlists
    for at in range(index.nlist):
        length = lists.list_size(at)
        if not length:
            continue
        # The arrays are FAISS's own memory, which is there while the index is.
        positions = package.rev_swig_ptr(lists.get_ids(at), length)
        codes = package.rev_swig_ptr(lists.get_codes(at), length * index.code_size)
        matrix = codes.view("<f4").reshape(length, index.d)
        for start in range(0, length, size):
            part = positions[start : start + size]
            known = part if ids is None else ids[part]
            yield [int(id) for id in known], matrix[start : start + size].copy()


class _Others:
    """Texts and payloads next to the vectors: a file of JSON lines, whose lines are found by id."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lines: dict[str, dict[str, Any]] = {}
        with file.open(encoding="utf-8") as lines:
            for at, line in enumerate(lines):
                if line.strip():
                    self._note(at, line)

    def _note(self, at: int, line: str) -> None:
        try:
            found = json.loads(line)
        except ValueError as error:
            raise InvalidError(f"{self._file}, line {at + 1}: not JSON: {error}") from None
        if not isinstance(found, dict) or not found.keys() <= {"id", "text", "payload"}:
            raise InvalidError(
                f'{self._file}, line {at + 1}: a line is an object with any of "id", "text" and "payload"'
            )
        id = str(found.pop("id", at))
        if id in self._lines:
            raise InvalidError(f"{self._file}, line {at + 1}: a second line for the id {id!r}")
        self._lines[id] = found

    def take(self, id: str) -> dict[str, Any]:
        """Returns the values for an id; nothing the second time."""
        found = self._lines.pop(id, {})
        return {name: value for name, value in found.items() if value is not None}

    def unused(self) -> int:
        return len(self._lines)


def _batches(parts: Iterator[tuple[list[int], Any]], others: _Others | None) -> Iterator[list[dict[str, Any]]]:
    for ids, matrix in parts:
        records: list[dict[str, Any]] = [
            {"id": str(id), "vector": vector} for id, vector in zip(ids, matrix, strict=True)
        ]
        if others is not None:
            for record in records:
                record |= others.take(record["id"])
                if "payload" in record:
                    record["payload"] = _records.payload(record["payload"], f"record {record['id']!r}")
        yield records
