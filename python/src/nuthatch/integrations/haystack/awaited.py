"""The awaitable calls of the document store: each runs in a thread and does not block the event loop."""

from __future__ import annotations

import asyncio
from typing import Any

from haystack.dataclasses import Document
from haystack.document_stores.types import DuplicatePolicy

Filters = dict[str, Any]


class Awaited:
    """The methods of ``NuthatchDocumentStore`` as coroutines; their names end with ``_async``."""

    # The calls themselves, which the document store has.
    count_documents: Any
    filter_documents: Any
    write_documents: Any
    delete_documents: Any
    delete_all_documents: Any
    delete_by_filter: Any
    update_by_filter: Any
    bm25_retrieval: Any
    embedding_retrieval: Any
    hybrid_retrieval: Any
    count_documents_by_filter: Any
    count_unique_metadata_by_filter: Any
    get_metadata_fields_info: Any
    get_metadata_field_min_max: Any
    get_metadata_field_unique_values: Any

    async def count_documents_async(self) -> int:
        """As ``count_documents``."""
        return await asyncio.to_thread(self.count_documents)

    async def filter_documents_async(self, filters: Filters | None = None) -> list[Document]:
        """As ``filter_documents``."""
        return await asyncio.to_thread(self.filter_documents, filters)

    async def write_documents_async(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """As ``write_documents``."""
        return await asyncio.to_thread(self.write_documents, documents, policy)

    async def delete_documents_async(self, document_ids: list[str]) -> None:
        """As ``delete_documents``."""
        await asyncio.to_thread(self.delete_documents, document_ids)

    async def delete_all_documents_async(self) -> None:
        """As ``delete_all_documents``."""
        await asyncio.to_thread(self.delete_all_documents)

    async def delete_by_filter_async(self, filters: Filters) -> int:
        """As ``delete_by_filter``."""
        return await asyncio.to_thread(self.delete_by_filter, filters)

    async def update_by_filter_async(self, filters: Filters, meta: dict[str, Any]) -> int:
        """As ``update_by_filter``."""
        return await asyncio.to_thread(self.update_by_filter, filters, meta)

    async def bm25_retrieval_async(self, *arguments: Any, **options: Any) -> list[Document]:
        """As ``bm25_retrieval``."""
        return await asyncio.to_thread(self.bm25_retrieval, *arguments, **options)

    async def embedding_retrieval_async(self, *arguments: Any, **options: Any) -> list[Document]:
        """As ``embedding_retrieval``."""
        return await asyncio.to_thread(self.embedding_retrieval, *arguments, **options)

    async def hybrid_retrieval_async(self, *arguments: Any, **options: Any) -> list[Document]:
        """As ``hybrid_retrieval``."""
        return await asyncio.to_thread(self.hybrid_retrieval, *arguments, **options)

    async def count_documents_by_filter_async(self, filters: Filters) -> int:
        """As ``count_documents_by_filter``."""
        return await asyncio.to_thread(self.count_documents_by_filter, filters)

    async def count_unique_metadata_by_filter_async(
        self, filters: Filters, metadata_fields: list[str]
    ) -> dict[str, int]:
        """As ``count_unique_metadata_by_filter``."""
        return await asyncio.to_thread(self.count_unique_metadata_by_filter, filters, metadata_fields)

    async def get_metadata_fields_info_async(self) -> dict[str, dict[str, str]]:
        """As ``get_metadata_fields_info``."""
        return await asyncio.to_thread(self.get_metadata_fields_info)

    async def get_metadata_field_min_max_async(self, metadata_field: str) -> dict[str, Any]:
        """As ``get_metadata_field_min_max``."""
        return await asyncio.to_thread(self.get_metadata_field_min_max, metadata_field)

    async def get_metadata_field_unique_values_async(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: Filters | None = None,
    ) -> tuple[list[Any], int]:
        """As ``get_metadata_field_unique_values``."""
        return await asyncio.to_thread(
            self.get_metadata_field_unique_values, metadata_field, search_term, from_, size, filters
        )
