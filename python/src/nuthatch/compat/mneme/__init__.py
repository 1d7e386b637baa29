"""mneme's interface on Nuthatch: change ``from mneme import …`` to ``from nuthatch.compat.mneme import …``.

What it is: ``SemanticCache`` and ``AsyncSemanticCache`` with mneme's arguments and semantics (one threshold of the cosine, a
confidence that falls with age), on a collection and a keyspace of a data folder, and ``tools.calibrate``.
What it is not: ``db.cache``, which bounds how many answers are wrong. With one threshold nothing is promised.
Invariant: an entry's text and its vector are written in one atomic batch.
"""

from .aio import AsyncSemanticCache
from .cache import SemanticCache
from .embedding import AsyncEmbedder, Embedder, to_async_embedder, to_sync_embedder
from .errors import (
    CacheClosedError,
    CheckpointError,
    CorruptCacheError,
    EmbedderDimensionError,
    EmbedderMismatchError,
    IndexBackendUnavailableError,
    MnemeError,
    MultiProcessLockError,
    NamespaceQuotaExceededError,
    QuantizationError,
    SchemaMigrationError,
    StoreBackendError,
)
from .stores import MemoryStore, SQLiteStore, Store
from .values import ConfidenceFn, Health, Hit, HitLayer, MetricsHook, Stats, StoredEntry, Validator, VectorDtype

__all__ = [
    "AsyncEmbedder",
    "AsyncSemanticCache",
    "CacheClosedError",
    "CheckpointError",
    "ConfidenceFn",
    "CorruptCacheError",
    "Embedder",
    "EmbedderDimensionError",
    "EmbedderMismatchError",
    "Health",
    "Hit",
    "HitLayer",
    "IndexBackendUnavailableError",
    "MemoryStore",
    "MetricsHook",
    "MnemeError",
    "MultiProcessLockError",
    "NamespaceQuotaExceededError",
    "QuantizationError",
    "SQLiteStore",
    "SchemaMigrationError",
    "SemanticCache",
    "Stats",
    "Store",
    "StoreBackendError",
    "StoredEntry",
    "Validator",
    "VectorDtype",
    "to_async_embedder",
    "to_sync_embedder",
]
