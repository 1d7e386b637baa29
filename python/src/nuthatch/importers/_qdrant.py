"""Folders of Qdrant: of its Python client's local mode, and of Qdrant Edge shards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..arguments import StrPath, optional_text
from ..database import Database, Metric
from ..errors import InvalidError
from . import _records
from ._importing import BATCH, Imported, Importing, OnProgress

_METRICS: dict[str, Metric] = {"cosine": "cosine", "euclid": "l2", "dot": "dot"}
_TEXTS = ("document", "text", "content", "page_content")


def qdrant(
    path: StrPath,
    db: Database,
    *,
    collections: Iterable[str] | None = None,
    text: str | None = None,
    vector: str | None = None,
    batch: int = BATCH,
    on_progress: OnProgress = None,
) -> list[Imported]:
    """Imports the collections of a folder that ``QdrantClient(path=…)`` keeps, or the one of a shard of Qdrant Edge, which gets the
    folder's name. ``collections`` names some of them; left out, all.

    ``vector`` names one of a collection's vectors; left out, the unnamed or the only one. ``text`` names the payload field that
    becomes the text; left out, one of document, text, content and page_content. Numbers and UUIDs become ids as text. Vectors
    compared by cosine come normalised, as Qdrant keeps them.
    """
    folder, size = _records.existing(path), _records.batch_size(batch)
    names = optional_text("text", text), optional_text("vector", vector)
    with Importing(db, folder, on_progress) as importing:
        if (folder / "edge_config.json").exists():
            return _edge(folder, importing, collections, *names, size)
        if (folder / "meta.json").exists():
            return _local(folder, importing, collections, *names, size)
    raise InvalidError(
        f"{folder} is no folder of QdrantClient(path=…) (it has no meta.json), and no shard of Qdrant Edge (no edge_config.json)"
    )


def _local(
    folder: Path, importing: Importing, asked: Iterable[str] | None, text: str | None, vector: str | None, size: int
) -> list[Imported]:
    client = _records.package("qdrant_client", "qdrant").QdrantClient(path=str(folder))
    try:
        names = [collection.name for collection in client.get_collections().collections]
        imported = []
        for name in _records.chosen(asked, names, folder):
            params = client.get_collection(name).config.params.vectors
            kinds = params if isinstance(params, dict) else {"": params}
            key = _vector_name(name, list(kinds), vector)
            metric = _metric(name, kinds[key].distance.value)

            def pages(name: str = name) -> Iterator[list[Any]]:
                offset = None
                while True:
                    points, offset = client.scroll(
                        name, limit=size, offset=offset, with_payload=True, with_vectors=True
                    )
                    yield points
                    if offset is None:
                        return

            imported.append(importing.collection(name, _batches(pages(), key, text), metric=metric))
        return imported
    finally:
        client.close()


def _edge(
    folder: Path, importing: Importing, asked: Iterable[str] | None, text: str | None, vector: str | None, size: int
) -> list[Imported]:
    import json

    edge = _records.package("qdrant_edge", "qdrant-edge")
    kinds = json.loads((folder / "edge_config.json").read_text(encoding="utf-8"))["vectors"]
    name = _records.chosen(asked, [folder.name], folder)[0]
    key = _vector_name(name, list(kinds), vector)
    metric = _metric(name, kinds[key]["distance"])
    shard = edge.EdgeShard.load(str(folder))
    try:

        def pages() -> Iterator[list[Any]]:
            offset = None
            while True:
                asking = edge.ScrollRequest(offset=offset, limit=size, with_payload=True, with_vector=True)
                points, offset = shard.scroll(asking)
                yield points
                if offset is None:
                    return

        return [importing.collection(name, _batches(pages(), key, text), metric=metric)]
    finally:
        shard.close()


def _vector_name(collection: str, names: list[str], asked: str | None) -> str:
    if asked is not None:
        if asked not in names:
            raise InvalidError(f"collection {collection!r} has no vector {asked!r}; there are: {', '.join(names)}")
        return asked
    if "" in names:
        return ""
    if len(names) != 1:
        raise InvalidError(f"collection {collection!r} has several vectors ({', '.join(names)}); name one with vector=")
    return names[0]


def _metric(collection: str, distance: str) -> Metric:
    metric = _METRICS.get(distance.lower())
    if metric is None:
        raise InvalidError(f"collection {collection!r} compares with {distance!r}, which has no counterpart here")
    return metric


def _batches(pages: Iterable[list[Any]], key: str, text: str | None) -> Iterator[list[dict[str, Any]]]:
    for points in pages:
        records = []
        for point in points:
            values = dict(point.payload or {})
            record: dict[str, Any] = {"id": str(point.id)}
            found = point.vector
            if isinstance(found, dict):
                found = found.get(key)
            if found is not None:
                record["vector"] = found
            for name in _TEXTS if text is None else (text,):
                if isinstance(values.get(name), str):
                    record["text"] = values.pop(name)
                    break
            record["payload"] = _records.payload(values, f"record {record['id']!r}")
            records.append(record)
        yield records
