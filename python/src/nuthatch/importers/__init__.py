"""Imports what other programs wrote: folders, index files, databases, dumps and caches.

Each function reads one kind, and stores it under the names that it has there: ids, vectors, texts and payloads of collections, keys
of keyspaces, answers of caches. Nothing is embedded: vectors are taken as they are. What could not be carried is counted in
``Imported.left_out``. An import that fails, or is killed and begun again, leaves nothing half done.

Some kinds need the other program's own package (an extra: ``pip install "nuthatch[chroma]"``), which may write to the folder
while it has it open: give it a copy if that matters. The rest is read as it is, and not written to.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._chroma import chroma
    from ._faiss import faiss
    from ._gptcache import gptcache
    from ._importing import Imported
    from ._lancedb import lancedb
    from ._mneme import mneme
    from ._pgvector import pgvector
    from ._qdrant import qdrant
    from ._redis import redis
    from ._skeg import skeg
    from ._sqlite_vec import sqlite_vec

__all__ = [
    "Imported",
    "chroma",
    "faiss",
    "gptcache",
    "lancedb",
    "mneme",
    "pgvector",
    "qdrant",
    "redis",
    "skeg",
    "sqlite_vec",
]

#: The module of each name: they load when they are used, since what they need is heavy for a plain ``import nuthatch``.
_MODULES = {name: f"_{name}" for name in __all__} | {"Imported": "_importing"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    found = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = found
    return found
