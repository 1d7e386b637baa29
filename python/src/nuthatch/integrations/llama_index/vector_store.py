"""A collection as LlamaIndex' vector store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.indices.query.embedding_utils import get_top_k_mmr_embeddings
from llama_index.core.schema import BaseNode, MetadataMode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)
from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict

from ...arguments import Durability
from ...collection import Collection
from ...errors import InvalidError
from ...records import Record
from ...results import Hit
from ..conditions import All, Condition, Test, filtered
from ..given import waiting
from .filters import condition

#: A node's own id in its payload, so that a query can be limited to some nodes.
_NODE_ID = "_node_id"

#: Of how many nearest the unlike ones are chosen, for each that is asked for.
_MMR_POOL = 4

_MODES = {
    VectorStoreQueryMode.DEFAULT: "vector",
    VectorStoreQueryMode.MMR: "vector",
    VectorStoreQueryMode.HYBRID: "hybrid",
    VectorStoreQueryMode.TEXT_SEARCH: "text",
    VectorStoreQueryMode.SPARSE: "text",
}


class NuthatchVectorStore(BasePydanticVectorStore):
    """Nodes in a collection: the text of a node is the text of its record, the metadata is the payload.

    Query modes: default, hybrid (``alpha`` 0 is words alone, 1 vectors alone), text_search and sparse (words), mmr.
    ``similarities`` are better when higher: distances d of the metrics "l2" and "hamming" are given as 1 / (1 + d).
    """

    stores_text: bool = True
    is_embedding_query: bool = True
    flat_metadata: bool = False

    _collection: Collection = PrivateAttr()
    _durability: Durability | None = PrivateAttr()
    _is_distance: bool = PrivateAttr()

    def __init__(self, collection: Collection, *, durability: Durability | None = None) -> None:
        super().__init__(stores_text=True)
        self._collection = waiting("collection", collection, Collection)
        self._durability = durability
        self._is_distance = collection.info().metric in ("l2", "hamming")

    @classmethod
    def class_name(cls) -> str:
        """The name that the framework uses for it."""
        return "NuthatchVectorStore"

    @property
    def client(self) -> Collection:
        """The collection."""
        return self._collection

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Adds nodes with their embeddings, replacing those with the same id: one atomic write."""
        last = {node.node_id: node for node in nodes}
        if last:
            self._collection.upsert(
                ids=list(last),
                texts=[node.get_content(metadata_mode=MetadataMode.NONE) or "" for node in last.values()],
                vectors=[node.get_embedding() for node in last.values()],
                payloads=[{**node_to_metadata_dict(node, remove_text=True), _NODE_ID: id} for id, node in last.items()],
                durability=self._durability,
            )
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Deletes the nodes of a document."""
        self._delete_where(Test(("ref_doc_id",), "=", ref_doc_id))

    def delete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **delete_kwargs: Any
    ) -> None:
        """Deletes nodes by id, by filters, or by both: ids that also match the filters."""
        wanted = condition(filters)
        if wanted is None:
            self._collection.delete(node_ids or [], durability=self._durability)
        elif node_ids is None:
            self._delete_where(wanted)
        else:
            found = [node.node_id for node in self.get_nodes(node_ids, filters)]
            self._collection.delete(found, durability=self._durability)

    def clear(self) -> None:
        """Deletes all nodes."""
        self._collection.delete(where="true", durability=self._durability)

    def get_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None) -> list[BaseNode]:
        """Returns nodes by id, by filters, or by both: ids that also match the filters."""
        wanted = condition(filters)
        if wanted is None and node_ids is not None:
            return [_node(record) for record in self._collection.get(node_ids) if record is not None]
        records = self._scan(wanted)
        if node_ids is None:
            return [_node(record) for record in records]
        by_id = {record.id: record for record in records if record.id in set(node_ids)}
        return [_node(by_id[id]) for id in node_ids if id in by_id]

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Returns the nodes nearest to the query. Further arguments go to ``Collection.search``."""
        if query.mode not in _MODES:
            raise InvalidError(f"the query mode {query.mode.value!r} is not there; there are {', '.join(_MODES)}")
        mode = _MODES[query.mode]
        limit = query.similarity_top_k
        if query.mode is VectorStoreQueryMode.HYBRID and query.hybrid_top_k is not None:
            limit = query.hybrid_top_k
        threshold = kwargs.pop("mmr_threshold", None)
        asked: dict[str, Any] = {"mode": mode, "limit": limit, **kwargs}
        if mode != "text":
            asked["vector"] = query.query_embedding
        if mode != "vector":
            asked["text"] = query.query_str or ""
        if mode == "hybrid" and query.alpha is not None:
            asked |= {"fusion": "normalised", "weights": (1.0 - query.alpha, query.alpha)}
        if query.mode is VectorStoreQueryMode.MMR:
            asked |= {"limit": limit * _MMR_POOL, "include": ("text", "payload", "vector")}
        if limit < 1:
            return VectorStoreQueryResult(nodes=[], similarities=[], ids=[])
        hits = filtered(
            self._collection, _where(query), lambda where: list(self._collection.search(**asked, where=where))
        )
        if query.mode is VectorStoreQueryMode.MMR:
            return self._unlike(query, hits, threshold)
        by_distance = mode == "vector" and self._is_distance
        scores = [1.0 / (1.0 + hit.score) if by_distance else hit.score for hit in hits]
        return VectorStoreQueryResult(nodes=[_node(hit) for hit in hits], similarities=scores, ids=[h.id for h in hits])

    # The same, awaited.

    async def async_add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """As ``add``."""
        return await asyncio.to_thread(self.add, nodes, **kwargs)

    async def adelete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """As ``delete``."""
        await asyncio.to_thread(self.delete, ref_doc_id, **delete_kwargs)

    async def adelete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **delete_kwargs: Any
    ) -> None:
        """As ``delete_nodes``."""
        await asyncio.to_thread(self.delete_nodes, node_ids, filters, **delete_kwargs)

    async def aclear(self) -> None:
        """As ``clear``."""
        await asyncio.to_thread(self.clear)

    async def aget_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """As ``get_nodes``."""
        return await asyncio.to_thread(self.get_nodes, node_ids, filters)

    async def aquery(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """As ``query``."""
        return await asyncio.to_thread(self.query, query, **kwargs)

    def _delete_where(self, wanted: Condition) -> None:
        filtered(
            self._collection, wanted, lambda where: self._collection.delete(where=where, durability=self._durability)
        )

    def _scan(self, wanted: Condition | None) -> list[Record]:
        def all_of(where: str | None) -> list[Record]:
            page = self._collection.scan(where=where)
            found = list(page)
            while page.cursor is not None:
                page = self._collection.scan(where=where, cursor=page.cursor)
                found += page
            return found

        ask: Callable[[str | None], list[Record]] = all_of
        return filtered(self._collection, wanted, ask)

    def _unlike(self, query: VectorStoreQuery, hits: Sequence[Hit], threshold: float | None) -> VectorStoreQueryResult:
        by_id = {hit.id: hit for hit in hits if hit.vector is not None}
        scores, ids = get_top_k_mmr_embeddings(
            query.query_embedding or [],
            [hit.vector or [] for hit in by_id.values()],
            similarity_top_k=query.similarity_top_k,
            embedding_ids=list(by_id),
            mmr_threshold=query.mmr_threshold if threshold is None else threshold,
        )
        return VectorStoreQueryResult(nodes=[_node(by_id[id]) for id in ids], similarities=scores, ids=ids)


def _where(query: VectorStoreQuery) -> Condition | None:
    parts = [wanted for wanted in (condition(query.filters),) if wanted is not None]
    # The framework asks with empty lists where it does not limit.
    if query.doc_ids:
        parts.append(Test(("ref_doc_id",), "in", tuple(query.doc_ids)))
    if query.node_ids:
        parts.append(Test((_NODE_ID,), "in", tuple(query.node_ids)))
    return All(tuple(parts)) if parts else None


def _node(found: Record | Hit) -> BaseNode:
    return metadata_dict_to_node(found.payload, text=found.text)
