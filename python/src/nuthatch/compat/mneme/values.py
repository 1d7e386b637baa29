"""The results of mneme's calls, and the kinds of functions that they take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

HitLayer: TypeAlias = Literal["exact", "semantic"]
VectorDtype: TypeAlias = Literal["float32", "float16", "int8"]
#: Of a similarity, an age in seconds and metadata.
ConfidenceFn: TypeAlias = "Callable[[float, int, dict[str, Any]], float]"
#: Of a response: whether it may be given for another query.
Validator: TypeAlias = "Callable[[str], bool]"
#: Of an event (hit, miss, eviction, expired) and what it is about.
MetricsHook: TypeAlias = "Callable[[str, dict[str, Any]], None]"

#: In how many seconds the default confidence halves.
_HALF_LIFE = 24 * 3600
_ERRORS = ("[LLM Error]", "[ERROR]")


@dataclass(frozen=True, slots=True)
class Hit:
    """An answer."""

    response: str
    similarity: float
    confidence: float
    age_seconds: int
    layer: HitLayer
    namespace: str
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An answer as a store of the caller's own keeps it. Times are seconds; ``ttl`` is None for ever."""

    id: int
    namespace: str
    query_hash: str
    query: str
    response: str
    embedding: bytes
    metadata: dict[str, Any]
    created_at: int
    last_accessed_at: int
    ttl: int | None
    access_count: int


@dataclass(frozen=True, slots=True)
class Stats:
    """The contents and the activity of a namespace, or of the whole cache."""

    namespace: str | None
    entries: int
    hits_exact: int
    hits_semantic: int
    misses: int
    evictions: int
    expirations: int
    embedder_fingerprint: str
    vector_dtype: str
    memory_bytes_estimate: int
    index_memory_bytes: int | None = None
    index_tombstone_count: int | None = None


@dataclass(frozen=True, slots=True)
class Health:
    """Whether the cache is in order."""

    healthy: bool
    schema_version: int
    integrity_ok: bool
    embedder_fingerprint_match: bool
    entries: int
    namespaces: int
    oldest_entry_age_seconds: int | None
    index_backend: str
    store_backend: str
    vector_dtype: str
    multi_process_mode: str


def default_confidence(similarity: float, age_seconds: int, metadata: dict[str, Any]) -> float:
    """The similarity, halved with each day.

    >>> default_confidence(0.8, 24 * 3600, {})
    0.4
    """
    return float(similarity * 0.5 ** (age_seconds / _HALF_LIFE))


def default_validator(response: str) -> bool:
    """False for an empty response and for one that reports an error.

    >>> default_validator("Paris"), default_validator(" "), default_validator("[ERROR] timeout")
    (True, False, False)
    """
    return bool(response.strip()) and not response.startswith(_ERRORS)
