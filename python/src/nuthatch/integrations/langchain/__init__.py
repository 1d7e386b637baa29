"""Nuthatch for LangChain: a vector store, a store of bytes, a retriever, a cache. ``pip install 'nuthatch[langchain]'``.

What it is: ``NuthatchVectorStore`` and ``NuthatchRetriever`` on a collection, ``NuthatchByteStore`` on a keyspace,
``NuthatchCache`` on a cache of answers. A document's metadata is the record's payload, its ``page_content`` the record's text, so
the same collection serves every other face.
"""

try:
    from .byte_store import NuthatchByteStore
    from .cache import NuthatchCache
    from .retriever import NuthatchRetriever
    from .vector_store import NuthatchVectorStore
except ImportError as _error:
    from .. import missing

    raise missing.package("langchain", "langchain", _error) from _error

__all__ = ["NuthatchByteStore", "NuthatchCache", "NuthatchRetriever", "NuthatchVectorStore"]
