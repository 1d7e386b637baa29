"""mneme's exceptions. Those that cannot happen here are there for the ``except`` clauses that name them."""

from __future__ import annotations


class MnemeError(Exception):
    """Every error of this interface. The remedy is in its text."""


class EmbedderMismatchError(MnemeError):
    """The cache was filled with another embedder: open it with that one, or use another folder."""


class EmbedderDimensionError(MnemeError):
    """A vector has another number of components than the embedder says: fix the embedder."""


class CorruptCacheError(MnemeError):
    """The folder is damaged: ``nuthatch doctor`` says where, and what to do."""


class SchemaMigrationError(MnemeError):
    """Does not happen: formats are those of the data folder."""


class CacheClosedError(MnemeError):
    """The cache is closed: open it again."""


class CheckpointError(MnemeError):
    """A checkpoint cannot be written or read: check the path and the embedder."""


class IndexBackendUnavailableError(MnemeError):
    """Does not happen: the index is Nuthatch's own. Leave ``index_backend`` out."""


class StoreBackendError(MnemeError):
    """The database refused a call: the cause says what to do."""


class NamespaceQuotaExceededError(MnemeError):
    """Does not happen: what was used longest ago makes room."""


class MultiProcessLockError(MnemeError):
    """Does not happen: processes share a folder. Leave ``multi_process_mode`` out."""


class QuantizationError(MnemeError):
    """The elements of vectors are fixed when a cache is made: choose ``vector_dtype`` then."""
