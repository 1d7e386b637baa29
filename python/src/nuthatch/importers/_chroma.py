"""Folders of Chroma's persistent client."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..arguments import StrPath
from ..database import Database, Metric
from ..errors import InvalidError
from . import _records
from ._importing import BATCH, Imported, Importing, OnProgress

_METRICS: dict[str, Metric] = {"cosine": "cosine", "l2": "l2", "ip": "dot"}


def chroma(
    path: StrPath,
    db: Database,
    *,
    collections: Iterable[str] | None = None,
    batch: int = BATCH,
    on_progress: OnProgress = None,
) -> list[Imported]:
    """Imports the collections of a folder of ``chromadb.PersistentClient(path)``: ids, embeddings,
    documents (as texts) and metadata (as payloads).

    ``collections`` names some of them; by default all.
    """
    chromadb = _records.package("chromadb", "chroma")
    folder, size = _records.existing(path), _records.batch_size(batch)
    if not (folder / "chroma.sqlite3").exists():
        raise InvalidError(f"{folder} is not a Chroma folder: it has no chroma.sqlite3")
    client = chromadb.PersistentClient(str(folder), settings=chromadb.Settings(anonymized_telemetry=False))
    try:
        names = [collection.name for collection in client.list_collections()]
        imported = []
        with Importing(db, folder, on_progress) as importing:
            for name in _records.chosen(collections, names, folder):
                source = client.get_collection(name, embedding_function=None)
                batches = _batches(source, size)
                imported.append(importing.collection(name, batches, metric=_metric(source), total=source.count()))
        return imported
    finally:
        # The client keeps the folder open for as long as the process lives, unless it is told to forget it.
        client.clear_system_cache()


def _metric(source: Any) -> Metric:
    configuration = source.configuration or {}
    parts = configuration.get("hnsw") or configuration.get("spann") or {}
    space = parts.get("space") or (source.metadata or {}).get("hnsw:space") or "l2"
    if space not in _METRICS:
        raise InvalidError(f"collection {source.name!r} compares with {space!r}, which has no counterpart here")
    return _METRICS[space]


def _batches(source: Any, size: int) -> Iterator[list[dict[str, Any]]]:
    offset = 0
    while True:
        found = source.get(include=["embeddings", "documents", "metadatas"], limit=size, offset=offset)
        ids = found["ids"]
        if not ids:
            return
        offset += len(ids)
        nothing = [None] * len(ids)
        columns = [
            found[name] if found[name] is not None else nothing for name in ("embeddings", "documents", "metadatas")
        ]
        yield [
            {
                "id": id,
                "vector": vector,
                "text": text,
                "payload": _records.payload(metadata or {}, f"record {id!r}"),
            }
            for id, vector, text, metadata in zip(ids, *columns, strict=True)
        ]
