"""The entries of a cache: texts in a keyspace, vectors in a collection, both written in one batch.

Keys are ``e`` (the entry, as JSON) and ``a`` (last access and expiry, in milliseconds), each followed by namespace and hash; ``c``
with namespace and name is a counter, and ``m`` tells what the cache was made with. A vector's record has the namespace as payload.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ...collection import Collection
from ...database import Database, Elements
from ...integrations.conditions import Test, filtered
from ...integrations.keys import pack, unpack

_ENTRY, _ACCESS, _COUNTER, _META = b"e", b"a", b"c", b"m"
#: What stands for mneme's types of components.
ELEMENTS: dict[str, Elements] = {"float32": "f32", "float16": "f16", "int8": "int8"}
_TIMES = struct.Struct(">QQ")
COUNTERS = ("hits_exact", "hits_semantic", "misses", "evictions", "expirations")


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry."""

    namespace: str
    query: str
    response: str
    metadata: dict[str, Any]
    created_ms: int
    expires_ms: int
    """0: never."""

    def is_expired(self, now_ms: int) -> bool:
        """Whether its time is over."""
        return 0 < self.expires_ms <= now_ms


@dataclass(frozen=True, slots=True)
class Used:
    """When an entry was used, without its text."""

    namespace: str
    hash: str
    accessed_ms: int
    expires_ms: int


class Entries:
    """The entries under a name of a database."""

    def __init__(self, database: Database, name: str, made_with: Mapping[str, Any]) -> None:
        """``made_with`` are ``fingerprint``, ``dim`` and ``dtype`` of a new cache; an attribute says those that it has."""
        self._database = database
        self._name = name
        self._kv = database.kv(f"{name}-entries")
        spelt = json.dumps(made_with)
        self._kv.compare_and_set(_META, None, spelt)
        self.made_with: dict[str, Any] = json.loads(self._kv.get(_META) or spelt)
        self._vectors = self._collection(self.made_with)

    @classmethod
    def existing(cls, database: Database, name: str) -> Entries | None:
        """Those that a database has under a name; None where it has none, and nothing is made."""
        if f"{name}-entries" not in database.keyspaces():
            return None
        spelt = database.kv(f"{name}-entries").get(_META)
        return None if spelt is None else cls(database, name, json.loads(spelt))

    def close(self) -> None:
        """Does nothing: whoever has opened the database closes it."""

    def is_well(self) -> bool:
        """Whether all of the database is in order. On disk, every byte is checked."""
        return self._database.doctor().is_well

    def drop(self) -> None:
        """Removes all of it from the database. A call that is interrupted is made again."""
        self._database.drop_collection(self._vectors.name)
        self._database.drop_keyspace(self._kv.name)

    def _collection(self, made_with: Mapping[str, Any]) -> Collection:
        name, elements = made_with.get("vectors", self._name), ELEMENTS[made_with["dtype"]]
        return self._database.collection(name, dim=made_with["dim"], elements=elements, embedder="none")

    def requantize(self, dtype: str) -> bool:
        """Copies the vectors into a collection of other elements, and goes on with that. False when another call came first."""
        spelt = self._kv.get(_META)
        wanted = {**self.made_with, "dtype": dtype, "vectors": f"{self._name}-{dtype}"}
        self._database.drop_collection(wanted["vectors"])  # what an interrupted call has left
        target = self._collection(wanted)
        for entry, hash, vector in self.all():
            record = {"id": _id(entry.namespace, hash), "payload": {"namespace": entry.namespace, "hash": hash}}
            target.upsert([{**record, "vector": fitted(vector, dtype)} if any(vector) else record])
        if spelt is None or not self._kv.compare_and_set(_META, spelt, json.dumps(wanted)):
            return False
        self._database.drop_collection(self._vectors.name)
        self.made_with, self._vectors = wanted, target
        return True

    def _fitted(self, vector: Sequence[float]) -> list[float]:
        return fitted(vector, self.made_with["dtype"])

    def get(self, namespace: str, hash: str) -> Entry | None:
        """The entry of a query."""
        found = self._kv.get(_ENTRY + pack(namespace, hash))
        return None if found is None else Entry(**json.loads(found))

    def put(self, entry: Entry, hash: str, vector: Sequence[float], now_ms: int) -> None:
        """Stores an entry, and replaces that of the same query."""
        self.put_many([(entry, hash, vector, now_ms)])

    def put_many(self, entries: Sequence[tuple[Entry, str, Sequence[float], int]]) -> None:
        """Stores entries, each with its hash, its vector and when it was used: all or nothing."""
        with self._database.batch() as batch:
            keys, records = batch.kv(self._kv.name), []
            for entry, hash, vector, used_ms in entries:
                key = pack(entry.namespace, hash)
                keys.put(_ENTRY + key, json.dumps(asdict(entry)))
                keys.put(_ACCESS + key, _TIMES.pack(used_ms, entry.expires_ms))
                record = {"id": _id(entry.namespace, hash), "payload": {"namespace": entry.namespace, "hash": hash}}
                # A vector without a direction is near to nothing: such an entry is found by its text alone.
                records.append({**record, "vector": self._fitted(vector)} if any(vector) else record)
            batch.collection(self._vectors.name).upsert(records)

    def touch(self, entry: Entry, hash: str, now_ms: int) -> None:
        """Notes that an entry was used. A crash of the machine may lose that."""
        key = _ACCESS + pack(entry.namespace, hash)
        self._kv.put(key, _TIMES.pack(now_ms, entry.expires_ms), durability="os")

    def remove(self, found: Sequence[tuple[str, str]]) -> None:
        """Removes entries by namespace and hash."""
        keys = [pack(*one) for one in found]
        with self._database.batch() as batch:
            batch.kv(self._kv.name).delete([kind + key for key in keys for kind in (_ENTRY, _ACCESS)])
            batch.collection(self._vectors.name).delete([_id(*one) for one in found])

    def compact(self) -> None:
        """Merges what the vectors are searched with, so that removed ones leave it."""
        self._vectors.optimize()

    def nearest(self, vector: Sequence[float], namespace: str, limit: int) -> list[tuple[str, float]]:
        """The nearest entries of a namespace: hashes with their cosines."""
        if not any(vector):
            return []
        hits = filtered(
            self._vectors,
            Test(("namespace",), "=", namespace),
            lambda where: self._vectors.search(
                vector=self._fitted(vector), mode="vector", limit=limit, where=where, include=("payload",)
            ),
        )
        return [(str(hit.payload["hash"]), min(1.0, hit.score)) for hit in hits]

    def used(self, namespace: str | None = None) -> Iterator[Used]:
        """When the entries were used, of one namespace or of all."""
        prefix = _ACCESS if namespace is None else _ACCESS + pack(namespace)
        for key, value in self._kv.items(prefix=prefix):
            found, hash = unpack(key[1:])
            yield Used(found, hash, *_TIMES.unpack(value))

    def all(self) -> Iterator[tuple[Entry, str, list[float]]]:
        """Every entry with its hash and its vector; no components where it has none."""
        for one in list(self.used()):
            entry = self.get(one.namespace, one.hash)
            record = self._vectors.get(_id(one.namespace, one.hash), include=("vector",))
            if entry is not None:
                yield entry, one.hash, [float(x) for x in (record.vector or [])] if record is not None else []

    def namespaces(self) -> list[str]:
        """The namespaces that have entries, sorted."""
        found: list[str] = []
        start: bytes | None = None
        while page := self._kv.scan(prefix=_ACCESS, start=start, limit=1, keys_only=True):
            namespace = unpack(page.keys[0][1:])[0]
            found.append(namespace)
            # The bytes of a part end in 00 01, so nothing of this namespace begins with 00 02.
            start = _ACCESS + pack(namespace)[:-1] + b"\x02"
        return sorted(found)

    def count(self, namespace: str | None = None) -> int:
        """How many entries there are."""
        condition = None if namespace is None else Test(("namespace",), "=", namespace)
        return filtered(self._vectors, condition, lambda where: self._vectors.count(where))

    def add(self, namespace: str, counted: dict[str, int]) -> None:
        """Adds to the counters of a namespace."""
        for name, more in counted.items():
            if more:
                self._kv.increment(_COUNTER + pack(namespace, name), more)

    def counters(self, namespace: str | None) -> dict[str, int]:
        """The counters of a namespace, or of all together."""
        found = dict.fromkeys(COUNTERS, 0)
        prefix = _COUNTER if namespace is None else _COUNTER + pack(namespace)
        for key, value in self._kv.items(prefix=prefix):
            found[unpack(key[1:])[1]] += int(value)
        return found


def normalized(query: str) -> str:
    """A query without case and extra spaces: what is hashed and embedded, unless the cache is made with ``normalize=False``."""
    return " ".join(query.split()).casefold()


def hash_of(query: str) -> str:
    """The SHA-256 of a query, by which it is found."""
    return hashlib.sha256(query.encode(errors="surrogatepass")).hexdigest()


def fitted(vector: Sequence[float], dtype: str) -> list[float]:
    """A vector of the same direction whose components such elements hold."""
    if dtype != "int8":
        return [float(x) for x in vector]
    largest = max(abs(float(x)) for x in vector)
    return [float(round(float(x) / largest * 127)) for x in vector]


def _id(namespace: str, hash: str) -> str:
    return f"{hash_of(namespace)[:16]}-{hash}"
