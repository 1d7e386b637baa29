"""The entries of a cache in a store of the caller's own, by mneme's protocol: the store is the truth, and a collection in memory
finds the nearest vectors of it.
"""

from __future__ import annotations

import json
import struct
import threading
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, cast

from ... import database as databases
from ...collection import Collection
from ...integrations.conditions import Test, filtered
from .entries import COUNTERS, ELEMENTS, Entry, Used, fitted
from .stores import Store
from .values import StoredEntry

_COUNTED = "nuthatch_counters"
#: Records that one call puts into the collection.
_AT_ONCE = 1_000


class StoredEntries:
    """What ``Entries`` does, on a store. What others write there is found by its text at once, and by meaning after opening."""

    def __init__(self, store: Store, made_with: dict[str, Any]) -> None:
        self.made_with = made_with
        self._store = cast("Store", _OneAtATime(store))
        self._store.open(made_with["fingerprint"], made_with["dim"])
        self._index = databases.connect(":memory:")
        try:
            self._vectors = self._filled(made_with["dtype"])
        except BaseException:
            self.close()
            raise

    def _filled(self, dtype: str) -> Collection:
        elements = ELEMENTS[dtype]
        vectors = self._index.collection(dtype, dim=self.made_with["dim"], elements=elements, embedder="none")
        every = iter(self._store.iter_all())
        while some := list(islice(every, _AT_ONCE)):
            vectors.upsert([_record(one.id, one.namespace, one.query_hash, _vector(one), dtype) for one in some])
        return vectors

    def close(self) -> None:
        """Closes the store."""
        self._index.close()
        self._store.close()

    def is_well(self) -> bool:
        """Whether the store says so."""
        return self._store.integrity_check()

    def requantize(self, dtype: str) -> bool:
        """Gives the vectors in memory other elements. Those of the store stay."""
        before, self._vectors = self._vectors, self._filled(dtype)
        self._index.drop_collection(before.name)
        self.made_with = {**self.made_with, "dtype": dtype}
        return True

    def get(self, namespace: str, hash: str) -> Entry | None:
        """The entry of a query."""
        stored = self._store.get_by_hash(namespace, hash)
        return None if stored is None else _entry(stored)

    def put(self, entry: Entry, hash: str, vector: Sequence[float], now_ms: int) -> None:
        """Stores an entry, and replaces that of the same query."""
        ttl = None if entry.expires_ms == 0 else (entry.expires_ms - entry.created_ms) // 1000
        new = StoredEntry(
            id=0,
            namespace=entry.namespace,
            query_hash=hash,
            query=entry.query,
            response=entry.response,
            embedding=struct.pack(f"<{len(vector)}f", *vector),
            metadata=entry.metadata,
            created_at=entry.created_ms // 1000,
            last_accessed_at=now_ms // 1000,
            ttl=ttl,
            access_count=0,
        )
        id = self._store.insert(new)
        self._vectors.upsert([_record(id, entry.namespace, hash, vector, self.made_with["dtype"])])

    def touch(self, entry: Entry, hash: str, now_ms: int) -> None:
        """Notes that an entry was used."""
        stored = self._store.get_by_hash(entry.namespace, hash)
        if stored is not None:
            self._store.update_access(stored.id, now_ms // 1000)

    def remove(self, found: Sequence[tuple[str, str]]) -> None:
        """Removes entries by namespace and hash."""
        for namespace, hash in found:
            stored = self._store.get_by_hash(namespace, hash)
            if stored is not None:
                self._store.delete_by_id(stored.id)
                self._vectors.delete([str(stored.id)])

    def compact(self) -> None:
        """Merges what the vectors are searched with, so that removed ones leave it."""
        self._vectors.optimize()

    def nearest(self, vector: Sequence[float], namespace: str, limit: int) -> list[tuple[str, float]]:
        """The nearest entries of a namespace: hashes with their cosines."""
        if not any(vector):
            return []
        asked = fitted(vector, self.made_with["dtype"])
        hits = filtered(
            self._vectors,
            Test(("namespace",), "=", namespace),
            lambda where: self._vectors.search(
                vector=asked, mode="vector", limit=limit, where=where, include=("payload",)
            ),
        )
        return [(str(hit.payload["hash"]), min(1.0, hit.score)) for hit in hits]

    def used(self, namespace: str | None = None) -> Iterator[Used]:
        """When the entries were used, of one namespace or of all."""
        for stored in self._store.iter_all():
            if namespace in (None, stored.namespace):
                expires = _entry(stored).expires_ms
                yield Used(stored.namespace, stored.query_hash, stored.last_accessed_at * 1000, expires)

    def all(self) -> Iterator[tuple[Entry, str, list[float]]]:
        """Every entry with its hash and its vector."""
        for stored in self._store.iter_all():
            yield _entry(stored), stored.query_hash, _vector(stored)

    def namespaces(self) -> list[str]:
        """The namespaces that have entries, sorted."""
        return sorted(self._store.list_namespaces())

    def count(self, namespace: str | None = None) -> int:
        """How many entries there are."""
        return self._store.count(namespace)

    def add(self, namespace: str, counted: dict[str, int]) -> None:
        """Adds to the counters of a namespace."""
        known = self._counted()
        before = known.get(namespace, {})
        known[namespace] = {name: before.get(name, 0) + counted.get(name, 0) for name in COUNTERS}
        self._store.write_meta(_COUNTED, json.dumps(known))

    def counters(self, namespace: str | None) -> dict[str, int]:
        """The counters of a namespace, or of all together."""
        of = [counted for known, counted in self._counted().items() if namespace in (None, known)]
        return {name: sum(counted.get(name, 0) for counted in of) for name in COUNTERS}

    def _counted(self) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = json.loads(self._store.read_meta(_COUNTED) or "{}")
        return found


class _OneAtATime:
    """A store whose calls come one after the other: as in mneme, it need not expect several threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.RLock()

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._store, name)

        def guarded(*args: Any) -> Any:
            with self._lock:
                found = call(*args)
                return list(found) if name == "iter_all" else found

        return guarded


def _record(id: int, namespace: str, hash: str, vector: Sequence[float], dtype: str) -> dict[str, Any]:
    record: dict[str, Any] = {"id": str(id), "payload": {"namespace": namespace, "hash": hash}}
    # A vector without a direction is near to nothing: such an entry is found by its text alone.
    return {**record, "vector": fitted(vector, dtype)} if any(vector) else record


def _vector(stored: StoredEntry) -> list[float]:
    return [x for (x,) in struct.iter_unpack("<f", stored.embedding)]


def _entry(stored: StoredEntry) -> Entry:
    expires = 0 if stored.ttl is None else (stored.created_at + stored.ttl) * 1000
    created = stored.created_at * 1000
    return Entry(stored.namespace, stored.query, stored.response, stored.metadata, created, expires)
