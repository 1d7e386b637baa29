"""A collection as LangChain's vector store."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from ...arguments import Durability
from ...collection import Collection
from ...errors import InvalidError
from ...results import Hit
from ..conditions import filtered
from ..given import waiting
from .documents import document, relevance
from .filters import condition

Filter = dict[str, Any] | str


class NuthatchVectorStore(VectorStore):
    """Documents in a collection. ``embedding`` makes their vectors; without it, the collection's embedder does.

    Scores are those of the collection's metric: of "cosine" and "dot" more is nearer, of "l2" and "hamming" less. Relevance scores
    lie between 0 and 1, where 1 is nearest. A ``filter`` is a dict (``{"year": {"$gte": 2024}}``) or a text of the ``where``
    language.
    """

    def __init__(
        self, collection: Collection, embedding: Embeddings | None = None, *, durability: Durability | None = None
    ) -> None:
        self.collection: Collection = waiting("collection", collection, Collection)
        self._embedding = embedding
        self._durability: Durability | None = durability

    @property
    def embeddings(self) -> Embeddings | None:
        return self._embedding

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        collection: Collection | None = None,
        **kwargs: Any,
    ) -> NuthatchVectorStore:
        """Adds the texts to a store in ``collection`` and returns the store."""
        made = cls(_given(collection), embedding, **kwargs)
        made.add_texts(texts, metadatas, ids=ids)
        return made

    @classmethod
    async def afrom_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        collection: Collection | None = None,
        **kwargs: Any,
    ) -> NuthatchVectorStore:
        """As ``from_texts``."""
        made = cls(_given(collection), embedding, **kwargs)
        await made.aadd_texts(texts, metadatas, ids=ids)
        return made

    # Writing: one call is one atomic batch.

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Adds texts and replaces those with the same id; texts without an id get one. ``vectors=`` supplies vectors.

        ``batch_size``, which LangChain's indexing gives with each of its batches, is taken and changes nothing: a call is
        one write.
        """
        given = list(texts)
        vectors = kwargs.pop("vectors", None)
        if vectors is None and self._embedding is not None and given:
            vectors = self._embedding.embed_documents(given)
        return self._add(given, metadatas, ids, vectors, kwargs)

    async def aadd_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """As ``add_texts``."""
        given = list(texts)
        vectors = kwargs.pop("vectors", None)
        if vectors is None and self._embedding is not None and given:
            vectors = await self._embedding.aembed_documents(given)
        return await asyncio.to_thread(self._add, given, metadatas, ids, vectors, kwargs)

    def _add(
        self,
        texts: list[str],
        metadatas: list[dict[str, Any]] | None,
        ids: Sequence[str | None] | None,
        vectors: Any,
        unknown: dict[str, Any],
    ) -> list[str]:
        unknown.pop("batch_size", None)
        if unknown:
            raise InvalidError(f"add_texts has no argument {next(iter(unknown))!r}")
        if ids is not None and len(ids) != len(texts):
            raise InvalidError(f"ids has {len(ids)} entries for {len(texts)} texts; give one for each")
        named = [id or str(uuid.uuid4()) for id in (ids or [None] * len(texts))]
        if not named:
            return []
        # Of an id that comes twice the last text holds, and one call is one batch all the same.
        last = {id: at for at, id in enumerate(named)}
        if metadatas is not None and len(metadatas) != len(texts):
            raise InvalidError(f"metadatas has {len(metadatas)} entries for {len(texts)} texts; give one for each")
        rows = list(last.values())
        self.collection.upsert(
            ids=list(last),
            texts=[texts[at] for at in rows],
            payloads=None if metadatas is None else [metadatas[at] for at in rows],
            vectors=vectors if vectors is None or len(rows) == len(texts) else [vectors[at] for at in rows],
            durability=self._durability,
        )
        return named

    def delete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> bool:
        """Deletes by ids (unknown ids are ignored) or by ``filter``; without both, deletes everything."""
        filter = kwargs.pop("filter", None)
        if kwargs or (ids is not None and filter is not None):
            raise InvalidError("delete takes ids or filter, one of them")
        if ids is not None:
            self.collection.delete(list(ids), durability=self._durability)
        else:
            where = condition(filter) or "true"
            filtered(
                self.collection, where, lambda text: self.collection.delete(where=text, durability=self._durability)
            )
        return True

    async def adelete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> bool:
        """As ``delete``."""
        return await asyncio.to_thread(self.delete, ids, **kwargs)

    # Reading.

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Returns the documents with these ids, in order; unknown ids are ignored."""
        return [document(record) for record in self.collection.get(list(ids)) if record is not None]

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """As ``get_by_ids``."""
        return await asyncio.to_thread(self.get_by_ids, ids)

    def similarity_search(
        self, query: str, k: int = 4, *, filter: Filter | None = None, **kwargs: Any
    ) -> list[Document]:
        """Returns the ``k`` documents nearest to the query. Further arguments go to ``Collection.search``."""
        return _documents(self._nearest(self._vector(query), query, k, filter, kwargs))

    async def asimilarity_search(
        self, query: str, k: int = 4, *, filter: Filter | None = None, **kwargs: Any
    ) -> list[Document]:
        """As ``similarity_search``."""
        vector = await self._avector(query)
        return _documents(await asyncio.to_thread(self._nearest, vector, query, k, filter, kwargs))

    def similarity_search_with_score(
        self, query: str, k: int = 4, *, filter: Filter | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Like ``similarity_search``, with the scores of the collection's metric."""
        return _scored(self._nearest(self._vector(query), query, k, filter, kwargs))

    async def asimilarity_search_with_score(
        self, query: str, k: int = 4, *, filter: Filter | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """As ``similarity_search_with_score``."""
        vector = await self._avector(query)
        return _scored(await asyncio.to_thread(self._nearest, vector, query, k, filter, kwargs))

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, *, filter: Filter | None = None, **kwargs: Any
    ) -> list[Document]:
        """Returns the ``k`` documents nearest to a vector."""
        return _documents(self._nearest(embedding, "", k, filter, kwargs))

    async def asimilarity_search_by_vector(
        self, embedding: list[float], k: int = 4, *, filter: Filter | None = None, **kwargs: Any
    ) -> list[Document]:
        """As ``similarity_search_by_vector``."""
        return _documents(await asyncio.to_thread(self._nearest, embedding, "", k, filter, kwargs))

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Filter | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Returns ``k`` of the ``fetch_k`` nearest: ``lambda_mult`` 1 is similarity alone, 0 diversity alone. Needs numpy."""
        vector = self._embedder_of_queries().embed_query(query)
        return self.max_marginal_relevance_search_by_vector(vector, k, fetch_k, lambda_mult, filter=filter, **kwargs)

    async def amax_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Filter | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """As ``max_marginal_relevance_search``."""
        vector = await self._embedder_of_queries().aembed_query(query)
        return await self.amax_marginal_relevance_search_by_vector(
            vector, k, fetch_k, lambda_mult, filter=filter, **kwargs
        )

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Filter | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """As ``max_marginal_relevance_search``, from a vector."""
        import numpy
        from langchain_core.vectorstores.utils import maximal_marginal_relevance

        kwargs["include"] = ("text", "payload", "vector")
        hits = [hit for hit in self._nearest(embedding, "", fetch_k, filter, kwargs) if hit.vector is not None]
        chosen = maximal_marginal_relevance(
            numpy.asarray(embedding, dtype=numpy.float32), [hit.vector or [] for hit in hits], lambda_mult, k
        )
        return _documents([hits[at] for at in chosen])

    async def amax_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Filter | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """As ``max_marginal_relevance_search_by_vector``."""
        return await asyncio.to_thread(
            self.max_marginal_relevance_search_by_vector, embedding, k, fetch_k, lambda_mult, filter=filter, **kwargs
        )

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return relevance(self.collection)

    def _vector(self, query: str) -> list[float] | None:
        return None if self._embedding is None else self._embedding.embed_query(query)

    async def _avector(self, query: str) -> list[float] | None:
        return None if self._embedding is None else await self._embedding.aembed_query(query)

    def _embedder_of_queries(self) -> Embeddings:
        if self._embedding is None:
            raise InvalidError(
                "this store has no embedding, so its collection embeds queries by itself and never shows the vector;"
                " search with max_marginal_relevance_search_by_vector, or give the store an embedding"
            )
        return self._embedding

    def _nearest(
        self, vector: list[float] | None, query: str, k: int, filter: object, options: dict[str, Any]
    ) -> Sequence[Hit]:
        if k < 1:
            return []
        # A vector is searched with alone; a text without one is embedded by the collection.
        asked: dict[str, Any] = {"text": query} if vector is None else {"vector": vector}
        return filtered(
            self.collection,
            condition(filter),
            lambda where: self.collection.search(**asked, mode="vector", limit=k, where=where, **options),
        )


def _given(collection: Collection | None) -> Collection:
    if collection is None:
        raise InvalidError("from_texts needs collection=, such as nuthatch.connect(path).collection(name)")
    return collection


def _documents(hits: Sequence[Hit]) -> list[Document]:
    return [document(hit) for hit in hits]


def _scored(hits: Sequence[Hit]) -> list[tuple[Document, float]]:
    return [(document(hit), hit.score) for hit in hits]
