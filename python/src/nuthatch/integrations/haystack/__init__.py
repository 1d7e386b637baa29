"""Nuthatch for Haystack: a document store and three retrievers. ``pip install 'nuthatch[haystack]'``.

What it is: ``NuthatchDocumentStore`` keeps documents in a collection; the retrievers ask it by words, by an embedding, or by both.
"""

try:
    from .document_store import NuthatchDocumentStore
    from .retrievers import NuthatchBM25Retriever, NuthatchEmbeddingRetriever, NuthatchHybridRetriever
except ImportError as _error:
    from .. import missing

    raise missing.package("haystack", "haystack", _error) from _error

__all__ = [
    "NuthatchBM25Retriever",
    "NuthatchDocumentStore",
    "NuthatchEmbeddingRetriever",
    "NuthatchHybridRetriever",
]
