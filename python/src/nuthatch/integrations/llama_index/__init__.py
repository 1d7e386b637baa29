"""Nuthatch for LlamaIndex: a vector store and a store of keys. ``pip install 'nuthatch[llama-index]'``.

What it is: ``NuthatchVectorStore`` on a collection, ``NuthatchKVStore`` on a keyspace; the framework's ``KVDocumentStore`` and
``KVIndexStore`` take the latter.
"""

try:
    from .key_value import NuthatchKVStore
    from .vector_store import NuthatchVectorStore
except ImportError as error:
    from .. import missing

    raise missing.package("llama_index", "llama-index", error) from error

__all__ = ["NuthatchKVStore", "NuthatchVectorStore"]
