"""Haystack's retrievers over the document store: by words, by an embedding, by both."""

from __future__ import annotations

from typing import Any

from haystack import component, default_from_dict, default_to_dict
from haystack.dataclasses import Document
from haystack.document_stores.types import FilterPolicy, apply_filter_policy

from .document_store import NuthatchDocumentStore


class _Retriever:
    """The base of the three retrievers."""

    def __init__(
        self,
        document_store: NuthatchDocumentStore,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        filter_policy: str | FilterPolicy = FilterPolicy.REPLACE,
    ) -> None:
        if not isinstance(document_store, NuthatchDocumentStore):
            raise TypeError(f"document_store is a {type(document_store).__name__}; give a NuthatchDocumentStore")
        self.document_store = document_store
        self.filters: dict[str, Any] = filters or {}
        self.top_k = top_k
        self.filter_policy: FilterPolicy = (
            FilterPolicy.from_str(filter_policy) if isinstance(filter_policy, str) else filter_policy
        )

    def to_dict(self) -> dict[str, Any]:
        """The component as a dict."""
        return default_to_dict(
            self,
            document_store=self.document_store.to_dict(),
            filters=self.filters,
            top_k=self.top_k,
            filter_policy=self.filter_policy.value,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """The component from its dict."""
        parameters = data["init_parameters"]
        if isinstance(parameters["document_store"], dict):
            parameters["document_store"] = NuthatchDocumentStore.from_dict(parameters["document_store"])
        return default_from_dict(cls, data)

    def _asked(self, filters: dict[str, Any] | None, top_k: int | None) -> dict[str, Any]:
        return {
            "filters": apply_filter_policy(self.filter_policy, self.filters, filters),
            "top_k": self.top_k if top_k is None else top_k,
        }


@component
class NuthatchBM25Retriever(_Retriever):
    """Retrieves the documents whose words match a query best."""

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Runs the retriever."""
        return {"documents": self.document_store.bm25_retrieval(query, **self._asked(filters, top_k))}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """As ``run``."""
        return {"documents": await self.document_store.bm25_retrieval_async(query, **self._asked(filters, top_k))}


@component
class NuthatchEmbeddingRetriever(_Retriever):
    """Retrieves the documents nearest to a query's embedding."""

    @component.output_types(documents=list[Document])
    def run(
        self, query_embedding: list[float], filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Runs the retriever."""
        found = self.document_store.embedding_retrieval(query_embedding, **self._asked(filters, top_k))
        return {"documents": found}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query_embedding: list[float], filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """As ``run``."""
        found = await self.document_store.embedding_retrieval_async(query_embedding, **self._asked(filters, top_k))
        return {"documents": found}


@component
class NuthatchHybridRetriever(_Retriever):
    """Retrieves the best documents by words and embedding together."""

    @component.output_types(documents=list[Document])
    def run(
        self,
        query: str,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
    ) -> dict[str, list[Document]]:
        """Runs the retriever."""
        found = self.document_store.hybrid_retrieval(query, query_embedding, **self._asked(filters, top_k))
        return {"documents": found}

    @component.output_types(documents=list[Document])
    async def run_async(
        self,
        query: str,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
    ) -> dict[str, list[Document]]:
        """As ``run``."""
        found = await self.document_store.hybrid_retrieval_async(query, query_embedding, **self._asked(filters, top_k))
        return {"documents": found}
