"""A collection as LangChain's retriever: words and meaning together."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, field_validator

from ...collection import Collection
from ..conditions import filtered
from ..given import waiting
from .documents import document
from .filters import condition


class NuthatchRetriever(BaseRetriever):
    """Hybrid search of a collection. ``mode``: "hybrid", "text" or "vector"; default: every leg that the collection allows.

    With ``embedding`` the query's vector comes from there, without one from the collection's embedder. ``filter`` is a dict or a
    text of the ``where`` language; ``options`` are further arguments of ``Collection.search``, such as ``fusion`` and ``weights``.
    """

    collection: Any
    embedding: Embeddings | None = None
    k: int = 4
    mode: str | None = None
    filter: dict[str, Any] | str | None = None
    options: dict[str, Any] = {}  # noqa: RUF012 (pydantic copies a field's default)

    model_config: ClassVar[ConfigDict] = ConfigDict(arbitrary_types_allowed=True)

    @field_validator("collection")
    @classmethod
    def _is_waited_for(cls, collection: Any) -> Any:
        return waiting("collection", collection, Collection)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        vector = self.embedding.embed_query(query) if self._walks_vectors() and self.embedding else None
        return self._found(query, vector, **kwargs)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        vector = await self.embedding.aembed_query(query) if self._walks_vectors() and self.embedding else None
        return await asyncio.to_thread(self._found, query, vector, **kwargs)

    def _walks_vectors(self) -> bool:
        return self.mode != "text"

    def _found(
        self, query: str, vector: list[float] | None, k: int | None = None, filter: Any = None, **options: Any
    ) -> list[Document]:
        limit = self.k if k is None else k
        if limit < 1:
            return []
        asked = {**self.options, **options, "mode": self.mode, "vector": vector, "limit": limit}
        if not (self.mode == "vector" and vector is not None):
            asked["text"] = query
        hits = filtered(
            self.collection,
            condition(self.filter if filter is None else filter),
            lambda where: self.collection.search(**asked, where=where),
        )
        return [document(hit) for hit in hits]
