"""Nuthatch for LlamaIndex: a vector store, a store of keys and a cached model. ``pip install 'nuthatch[llama-index]'``.

What it is: ``NuthatchVectorStore`` on a collection, ``NuthatchKVStore`` on a keyspace (the framework's ``KVDocumentStore`` and
``KVIndexStore`` take it), ``NuthatchCachedLLM`` round a model, on a cache of answers.
"""

try:
    from .key_value import NuthatchKVStore
    from .llm import NuthatchCachedLLM
    from .vector_store import NuthatchVectorStore
except ImportError as _error:
    from .. import missing

    raise missing.package("llama_index", "llama-index", _error) from _error

__all__ = ["NuthatchCachedLLM", "NuthatchKVStore", "NuthatchVectorStore"]
