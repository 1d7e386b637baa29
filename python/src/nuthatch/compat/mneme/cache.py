"""mneme's cache."""

from __future__ import annotations

import base64
import gzip
import json
import logging
import math
import struct
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ... import database as databases
from ...database import Database
from .embedding import Embedder
from .entries import COUNTERS, Entries, Entry, hash_of, normalized
from .errors import (
    CacheClosedError,
    CheckpointError,
    EmbedderDimensionError,
    EmbedderMismatchError,
    QuantizationError,
)
from .stored import StoredEntries
from .stores import MemoryStore, SQLiteStore, Store, missing
from .values import (
    ConfidenceFn,
    Health,
    Hit,
    MetricsHook,
    Stats,
    Validator,
    VectorDtype,
    default_confidence,
    default_validator,
)

_LOG = logging.getLogger("nuthatch.compat.mneme")
_BYTES = {"float32": 4, "float16": 2, "int8": 1}
#: Below this confidence nothing is given by meaning, as in mneme.
_CONFIDENCE_MIN = 0.7
#: Of how many nearest one may be given.
_NEAREST = 3
#: The share of entries that make room at once.
_EVICTED = 0.1
_CHECKPOINT = "nuthatch-mneme-checkpoint-1"


class SemanticCache:
    """Answers by their query, and by queries whose cosine is at least a threshold.

    ``path`` is a data folder of Nuthatch; ``database=`` takes an open one, also of a server, and ``name`` says under which name
    the entries lie there. ``store=`` takes a store of your own, too: see ``Store``. All other arguments are mneme's. Without
    effect are ``index_backend`` (``health`` tells it again), ``index_options``, ``multi_process_mode`` and
    ``stale_check_interval``: the index is Nuthatch's, and processes that share a folder see each other's writes at once.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        embedder: Embedder | None = None,
        *,
        store: MemoryStore | SQLiteStore | Store | None = None,
        similarity_threshold: float = 0.85,
        default_ttl: int | None = None,
        max_entries: int | None = None,
        namespace_quotas: dict[str, int] | None = None,
        confidence_fn: ConfidenceFn | None = None,
        validator: Validator | None = None,
        metrics_hook: MetricsHook | None = None,
        normalize: bool = True,
        index_backend: str = "auto",
        index_options: dict[str, Any] | None = None,
        vector_dtype: VectorDtype = "float32",
        multi_process_mode: str = "single",
        stale_check_interval: float = 0.0,
        max_query_bytes: int = 32 << 10,
        max_response_bytes: int = 4 << 20,
        max_metadata_bytes: int = 64 << 10,
        database: Database | None = None,
        name: str = "mneme",
    ) -> None:
        if sum(given is not None for given in (path, store, database)) != 1:
            raise ValueError("give exactly one of path, store and database")
        if embedder is None:
            raise ValueError("give an embedder: an object with dim, fingerprint and embed")
        if store is not None and not isinstance(store, (MemoryStore, SQLiteStore)) and (lacks := missing(store)):
            raise ValueError(f"store={store!r} is no store: it has no {', '.join(lacks)}; see Store, or give path")
        self.set_similarity_threshold(similarity_threshold)
        self._embedder = embedder
        self._ttl = default_ttl
        self._max_entries = max_entries
        self._quotas = dict(namespace_quotas or {})
        self._confidence = confidence_fn or default_confidence
        self._is_valid = validator or default_validator
        self._hook = metrics_hook
        self._normalize = normalize
        self._sizes = {"query": max_query_bytes, "response": max_response_bytes, "metadata": max_metadata_bytes}
        self._mode = multi_process_mode
        self._index = "nuthatch" if index_backend == "auto" else index_backend
        self._lock = threading.Lock()
        self._counted: dict[str, Counter[str]] = {}
        #: Answers that were removed since the last ``compact``.
        self._removed = 0
        self._is_closed = False
        self._store = SQLiteStore(path) if path is not None else store
        place = ":memory:" if isinstance(self._store, MemoryStore) else ""
        if isinstance(self._store, SQLiteStore):
            place = self._store.place
        wanted = {"fingerprint": embedder.fingerprint, "dim": embedder.dim, "dtype": vector_dtype}
        self._opened: Database | None = None
        self._entries: Entries | StoredEntries
        if self._store is not None and not isinstance(self._store, (MemoryStore, SQLiteStore)):
            self._backend = type(self._store).__name__.removesuffix("Store").lower()
            self._entries = StoredEntries(self._store, wanted)
        else:
            self._backend = "memory" if place == ":memory:" else "nuthatch"
            if database is None:
                database = self._opened = databases.connect(place)
            try:
                self._entries = Entries(database, name, wanted)
                self._check_made_with(wanted)
            except BaseException:
                if self._opened is not None:
                    self._opened.close()
                raise
        self._dtype = str(self._entries.made_with["dtype"])

    def _check_made_with(self, wanted: dict[str, Any]) -> None:
        made = self._entries.made_with
        if made["dim"] != wanted["dim"]:
            raise EmbedderDimensionError(
                f"the cache has vectors of dim {made['dim']}, and the embedder says {wanted['dim']};"
                " open it with the embedder that filled it, or use another path"
            )
        if made["fingerprint"] != wanted["fingerprint"]:
            raise EmbedderMismatchError(
                f"the cache was filled by {made['fingerprint']!r}, and the embedder is {wanted['fingerprint']!r};"
                " open it with the embedder that filled it, or use another path"
            )

    # Lookups and writes.

    def get(
        self,
        query: str,
        *,
        embedding: Sequence[float] | None = None,
        namespace: str = "default",
        bypass: bool = False,
    ) -> Hit | None:
        """Returns the answer to a query, or None. ``bypass`` makes it a miss."""
        known = self._known(query, namespace, bypass)
        if known is not None or bypass:
            return known
        if embedding is None:
            try:
                embedding = self._embedder.embed(self._text(query))
            except Exception as error:
                self._failed(namespace, error)
                return None
        return self._near(embedding, namespace)

    def _known(self, query: str, namespace: str, bypass: bool) -> Hit | None:
        """The answer to the very query."""
        self._check_open()
        if bypass:
            self._miss(namespace, "bypass")
            return None
        hash, now = self._hash(query), _now_ms()
        entry = self._entries.get(namespace, hash)
        if entry is None:
            return None
        if entry.is_expired(now):
            self._expire([(namespace, hash)])
            return None
        age = _age(entry, now)
        return self._hit(entry, hash, 1.0, self._confidence(1.0, age, entry.metadata), age, "exact")

    def _near(self, embedding: Sequence[float], namespace: str) -> Hit | None:
        """The answer to a query of nearly the same vector."""
        vector = [float(x) for x in embedding]
        if len(vector) != self._embedder.dim:
            self._miss(namespace, "dim_mismatch")
            return None
        reason, now = "no_match", _now_ms()
        for hash, similarity in self._entries.nearest(vector, namespace, _NEAREST):
            if similarity < self._threshold:
                reason = "below_threshold"
                break
            entry = self._entries.get(namespace, hash)
            if entry is None:
                continue
            if entry.is_expired(now):
                self._expire([(namespace, hash)])
                continue
            if not self._is_valid(entry.response):
                self._remove([(namespace, hash)])
                continue
            age = _age(entry, now)
            confidence = self._confidence(similarity, age, entry.metadata)
            if confidence >= _CONFIDENCE_MIN:
                return self._hit(entry, hash, similarity, confidence, age, "semantic")
        self._miss(namespace, reason)
        return None

    def put(
        self,
        query: str,
        response: str,
        *,
        embedding: Sequence[float] | None = None,
        namespace: str = "default",
        metadata: dict[str, Any] | None = None,
        ttl: int | None = None,
    ) -> None:
        """Stores an answer, and replaces that of the same query. ``ttl`` is in seconds."""
        self._check_open()
        self._check_sizes(query, response, metadata or {})
        vector = self._embedder.embed(self._text(query)) if embedding is None else embedding
        self._put(query, response, vector, namespace, metadata, ttl)

    def _put(
        self,
        query: str,
        response: str,
        embedding: Sequence[float],
        namespace: str,
        metadata: dict[str, Any] | None,
        ttl: int | None,
    ) -> None:
        vector = [float(x) for x in embedding]
        if len(vector) != self._embedder.dim:
            raise EmbedderDimensionError(
                f"the vector has dim {len(vector)}, and the embedder says {self._embedder.dim}; give one of that"
            )
        now, ttl = _now_ms(), self._ttl if ttl is None else ttl
        expires = 0 if ttl is None else now + int(ttl * 1000)
        entry = Entry(namespace, query, response, metadata or {}, now, expires)
        self._entries.put(entry, self._hash(query), vector, now)
        self._evict(namespace)

    def delete(self, query: str, *, namespace: str = "default") -> bool:
        """Removes an answer; False when there is none."""
        self._check_open()
        hash = self._hash(query)
        if self._entries.get(namespace, hash) is None:
            return False
        self._remove([(namespace, hash)])
        return True

    # Upkeep.

    def vacuum(self, *, namespace: str | None = None, compact: bool = True) -> int:
        """Removes expired answers, and returns how many."""
        self._check_open()
        now = _now_ms()
        dead = [(one.namespace, one.hash) for one in self._entries.used(namespace) if 0 < one.expires_ms <= now]
        self._expire(dead)
        if compact:
            self.compact()
        return len(dead)

    def compact(self) -> int:
        """Merges the index, so that removed answers leave it, and returns how many this object has removed since the last time.

        Without it, that happens in the background.
        """
        self._check_open()
        with self._lock:
            count = self._removed
        if count:
            self._entries.compact()
            with self._lock:
                self._removed -= count
        return count

    def list_namespaces(self) -> list[str]:
        """Lists the namespaces with answers, sorted."""
        self._check_open()
        return self._entries.namespaces()

    def clear_namespace(self, namespace: str) -> int:
        """Removes the answers of a namespace, and returns how many."""
        return self._clear(namespace)

    def clear(self) -> int:
        """Removes all answers, and returns how many."""
        return self._clear(None)

    def _clear(self, namespace: str | None) -> int:
        self._check_open()
        found = [(one.namespace, one.hash) for one in self._entries.used(namespace)]
        self._remove(found)
        return len(found)

    def stats(self, *, namespace: str | None = None) -> Stats:
        """Contents and activity of a namespace, or the whole cache. Bytes are those of vectors."""
        self._check_open()
        counted = self._entries.counters(namespace)
        with self._lock:
            for of, more in self._counted.items():
                if namespace in (None, of):
                    counted = {name: counted[name] + more[name] for name in COUNTERS}
            removed = self._removed
        entries = self._entries.count(namespace)
        size = entries * self._embedder.dim * _BYTES[self._dtype]
        return Stats(
            namespace=namespace,
            entries=entries,
            hits_exact=counted["hits_exact"],
            hits_semantic=counted["hits_semantic"],
            misses=counted["misses"],
            evictions=counted["evictions"],
            expirations=counted["expirations"],
            embedder_fingerprint=self._embedder.fingerprint,
            vector_dtype=self._dtype,
            memory_bytes_estimate=size,
            index_tombstone_count=removed,
        )

    def health(self) -> Health:
        """Whether the cache is in order. On disk, every byte of the folder is checked."""
        self._check_open()
        is_well = self._entries.is_well()
        used = list(self._entries.used())
        now = _now_ms()
        ages = [_age(entry, now) for one in used if (entry := self._entries.get(one.namespace, one.hash)) is not None]
        return Health(
            healthy=is_well,
            schema_version=1,
            integrity_ok=is_well,
            embedder_fingerprint_match=True,
            entries=len(used),
            namespaces=len({one.namespace for one in used}),
            oldest_entry_age_seconds=max(ages, default=None),
            index_backend=self._index,
            store_backend=self._backend,
            vector_dtype=self._dtype,
            multi_process_mode=self._mode,
        )

    def requantize(self, dtype: VectorDtype) -> None:
        """Gives the vectors other elements, by copying them. Others who use the cache meanwhile open it again."""
        self._check_open()
        if dtype not in _BYTES:
            raise QuantizationError(f"dtype={dtype!r} is none of {', '.join(_BYTES)}")
        if dtype == self._dtype:
            return
        if not self._entries.requantize(dtype):
            raise QuantizationError("another call has given the vectors other elements meanwhile; open the cache again")
        self._dtype = dtype

    @property
    def similarity_threshold(self) -> float:
        """The least cosine of an answer by meaning."""
        return self._threshold

    def set_similarity_threshold(self, value: float) -> None:
        """Sets the least cosine of an answer by meaning, from -1 to 1."""
        if not -1.0 <= value <= 1.0:
            raise ValueError(f"similarity_threshold={value!r} is not from -1 to 1")
        self._threshold = float(value)

    # Checkpoints.

    def dumps(self, dest: str | Path) -> None:
        """Writes all answers with their vectors to one file."""
        self._check_open()
        head = {"format": _CHECKPOINT, "fingerprint": self._embedder.fingerprint, "dim": self._embedder.dim}
        try:
            with gzip.open(dest, "wt", encoding="utf-8") as file:
                print(json.dumps(head), file=file)
                for entry, _, vector in self._entries.all():
                    packed = base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
                    told = [entry.namespace, entry.query, entry.response, entry.metadata]
                    print(json.dumps([*told, entry.created_ms, entry.expires_ms, packed]), file=file)
        except OSError as error:
            raise CheckpointError(f"the checkpoint {dest} cannot be written: {error}; check the path") from error

    @classmethod
    def loads(cls, source: str | Path, path: str | Path, embedder: Embedder, **kwargs: Any) -> SemanticCache:
        """Makes a cache in the folder ``path`` with the answers of a checkpoint."""
        if not Path(source).exists():
            raise CheckpointError(f"the checkpoint {source} does not exist; check the path")
        cache = cls(path=path, embedder=embedder, **kwargs)
        try:
            cache._load(Path(source))
        except (OSError, EOFError, ValueError, KeyError, struct.error) as error:
            cache.close()
            raise CheckpointError(f"{source} is no checkpoint of this cache: {error}; write one with dumps") from error
        except BaseException:
            cache.close()
            raise
        return cache

    def _load(self, source: Path) -> None:
        with gzip.open(source, "rt", encoding="utf-8") as file:
            head = json.loads(file.readline())
            if head["format"] != _CHECKPOINT:
                raise ValueError(f"its format is {head['format']!r}")
            told = (self._embedder.fingerprint, self._embedder.dim)
            if (head["fingerprint"], head["dim"]) != told:
                raise CheckpointError(
                    f"{source} was filled by {head['fingerprint']!r} (dim {head['dim']}), and the embedder is"
                    f" {told[0]!r} (dim {told[1]}); load it with the embedder that filled it"
                )
            for line in file:
                namespace, query, response, metadata, created, expires, packed = json.loads(line)
                entry = Entry(namespace, query, response, metadata, created, expires)
                vector = [x for (x,) in struct.iter_unpack("<f", base64.b64decode(packed))]
                self._entries.put(entry, self._hash(query), vector, created)

    # The end.

    def close(self) -> None:
        """Writes the counters, and closes the folder, unless it was given open. Closing again does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        with self._lock:
            for namespace, counted in self._counted.items():
                self._entries.add(namespace, counted)
            self._counted.clear()
        self._entries.close()
        if self._opened is not None:
            self._opened.close()

    def __enter__(self) -> SemanticCache:
        self._check_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Parts of the above.

    def _text(self, query: str) -> str:
        return normalized(query) if self._normalize else query

    def _hash(self, query: str) -> str:
        return hash_of(self._text(query))

    def _check_open(self) -> None:
        if self._is_closed:
            raise CacheClosedError("the cache is closed; open it again")

    def _check_sizes(self, query: str, response: str, metadata: dict[str, Any]) -> None:
        for name, text in (("query", query), ("response", response), ("metadata", json.dumps(metadata))):
            size = len(text.encode(errors="surrogatepass"))
            if size > self._sizes[name]:
                raise ValueError(f"the {name} has {size} bytes, more than max_{name}_bytes={self._sizes[name]}")

    def _hit(self, entry: Entry, hash: str, similarity: float, confidence: float, age: int, layer: Any) -> Hit:
        self._entries.touch(entry, hash, _now_ms())
        told = {"layer": layer, "similarity": similarity, "age_seconds": age}
        self._count(entry.namespace, f"hits_{layer}", "hit", told)
        return Hit(entry.response, similarity, confidence, age, layer, entry.namespace, entry.metadata)

    def _miss(self, namespace: str, reason: str) -> None:
        self._count(namespace, "misses", "miss", {"reason": reason})

    def _failed(self, namespace: str, error: Exception) -> None:
        _LOG.warning("Embedder failed, so the lookup is a miss: %s", error)
        self._miss(namespace, "embedder_failure")

    def _remove(self, found: list[tuple[str, str]]) -> None:
        if found:
            self._entries.remove(found)
            with self._lock:
                self._removed += len(found)

    def _expire(self, found: list[tuple[str, str]]) -> None:
        if found:
            self._remove(found)
            for namespace, count in Counter(namespace for namespace, _ in found).items():
                self._count(namespace, "expirations", "expired", {"count": count}, count)

    def _evict(self, namespace: str) -> None:
        quota = self._quotas.get(namespace)
        limit, of = (self._max_entries, None) if quota is None else (quota, namespace)
        if limit is None or self._entries.count(of) <= limit:
            return
        used = sorted(self._entries.used(of), key=lambda one: one.accessed_ms)
        count = max(len(used) - limit, math.floor(len(used) * _EVICTED), 1)
        gone = [(one.namespace, one.hash) for one in used[:count]]
        self._remove(gone)
        for space, many in Counter(space for space, _ in gone).items():
            self._count(space, "evictions", "eviction", {"count": many}, many)

    def _count(self, namespace: str, counter: str, event: str, told: dict[str, Any], by: int = 1) -> None:
        with self._lock:
            self._counted.setdefault(namespace, Counter())[counter] += by
        if self._hook is not None:
            try:
                self._hook(event, {"namespace": namespace, **told})
            except Exception:
                _LOG.exception("the metrics hook failed for %r", event)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _age(entry: Entry, now_ms: int) -> int:
    return max(0, now_ms - entry.created_ms) // 1000
