"""Caches of mneme: what its ``SQLiteStore`` keeps, for ``nuthatch.compat.mneme``."""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..arguments import StrPath, text
from ..compat.mneme.entries import COUNTERS, Entries, Entry
from ..database import Database
from ..errors import CorruptError, InvalidError
from . import _records, _sqlite
from ._importing import BATCH, Imported, Importing, OnProgress, counted

_FILE = "cache.db"
#: The schema of mneme 1.
_SCHEMA = 1


def mneme(
    path: StrPath,
    db: Database,
    *,
    name: str = "mneme",
    batch: int = BATCH,
    on_progress: OnProgress = None,
) -> list[Imported]:
    """Imports a cache of mneme's ``SemanticCache(path)``: its file, or the folder with ``cache.db``.

    It becomes what ``nuthatch.compat.mneme.SemanticCache(database=db, name=name)`` opens, with the embedder that mneme had:
    queries, answers, vectors, namespaces, metadata, expiry, last use and counters. What has expired stays behind, and quotas of
    namespaces are arguments of the cache here; both are counted.
    """
    place, size, name = _records.existing(path), _records.batch_size(batch), text("name", name)
    file = place / _FILE if place.is_dir() else place
    if not file.is_file():
        raise InvalidError(f"{place} has no {_FILE}; give the path of mneme's SemanticCache")
    with _sqlite.opened(file, "mneme") as connection, Importing(db, file, on_progress) as importing:
        if not {"schema_meta", "entries"} <= _sqlite.tables(connection).keys():
            raise InvalidError(f"{file} is no cache of mneme: it has no table of entries")
        meta = dict(connection.execute("select key, value from schema_meta"))
        if (version := int(meta.get("schema_version", 0))) != _SCHEMA:
            raise InvalidError(f"{file} has schema {version} of mneme, and this version reads {_SCHEMA}; use mneme 1")
        dim = int(meta.get("embedder_dim") or 0)
        left_out: Counter[str] = Counter()
        importing.keyspace(f"{name}-entries")
        importing.collection(name, [], metric="cosine", dim=dim, elements="f32")
        made_with = {"fingerprint": meta.get("embedder_fingerprint", ""), "dim": dim, "dtype": "float32"}
        entries = Entries(db, name, made_with)
        records = 0
        for part in counted(_entries(connection, file, dim, left_out), size):
            entries.put_many(part)
            records += len(part)
            importing.tell(name, records)
        for namespace, counts in _counters(connection, meta).items():
            entries.add(namespace, counts)
        if quotas := connection.execute("select count(*) from namespace_quotas").fetchone()[0]:
            left_out["quotas of namespaces"] = quotas
        return [Imported(name, records, dict(left_out), "cache")]


def _entries(
    connection: sqlite3.Connection, file: Path, dim: int, left_out: Counter[str]
) -> Iterator[tuple[Entry, str, list[float], int]]:
    (now,) = connection.execute("select cast(strftime('%s', 'now') as integer)").fetchone()
    query = (
        "select namespace, query_hash, query, response, embedding, metadata, created_at, last_accessed_at, ttl"
        " from entries order by id"
    )
    for namespace, hash, asked, response, packed, metadata, created, used, ttl in connection.execute(query):
        if ttl is not None and created + ttl <= now:
            left_out["expired answers"] += 1
            continue
        vector = array("f", packed)
        if len(vector) != dim:
            raise CorruptError(f"{file}: the vector of {asked!r} has {len(vector)} components and not {dim}", file)
        expires_ms = 0 if ttl is None else 1000 * (created + ttl)
        entry = Entry(namespace, asked, response, json.loads(metadata), 1000 * created, expires_ms)
        yield entry, hash, vector.tolist(), 1000 * used


def _counters(connection: sqlite3.Connection, meta: dict[str, Any]) -> dict[str, dict[str, int]]:
    """The counters of each namespace, limited to the names known here."""
    found: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for key, value in json.loads(meta.get("counters") or "{}").items():
        namespace, _, name = key.rpartition(":")
        if name in COUNTERS:
            found[namespace][name] = int(value)
    for namespace, name, value in connection.execute("select namespace, name, value from cache_counters"):
        if name in COUNTERS:
            found[namespace][name] = int(value)
    return found
