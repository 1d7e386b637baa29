"""Converts records to LangChain's documents, and scores to its scale."""

from __future__ import annotations

from collections.abc import Callable

from langchain_core.documents import Document

from ...collection import Collection
from ...records import Record
from ...results import Hit


def document(found: Record | Hit) -> Document:
    """A record or a hit as a document: its payload is the metadata."""
    return Document(id=found.id, page_content=found.text or "", metadata=found.payload)


def relevance(collection: Collection) -> Callable[[float], float]:
    """Maps a score of the collection's metric to 0..1, where 1 is nearest."""
    info = collection.info()
    if info.metric == "hamming":
        dim = info.dim or 1
        return lambda differing: 1.0 - differing / dim
    if info.metric == "l2":
        return lambda distance: 1.0 / (1.0 + distance)
    # A dot product of unit vectors is their cosine; of others it may lie outside.
    return lambda cosine: min(max((1.0 + cosine) / 2.0, 0.0), 1.0)
