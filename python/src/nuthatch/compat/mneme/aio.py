"""mneme's cache to be awaited. The embedder is awaited outside of any lock."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .cache import SemanticCache
from .embedding import AsyncEmbedder
from .values import Health, Hit, Stats, VectorDtype


class _Unused:
    """Stands for the embedder where the caller has awaited it."""

    def __init__(self, embedder: AsyncEmbedder) -> None:
        self.dim = embedder.dim
        self.fingerprint = embedder.fingerprint

    def embed(self, text: str) -> Sequence[float]:
        raise RuntimeError("the embedder is to be awaited")


class AsyncSemanticCache:
    """``SemanticCache`` whose lookups and writes are awaited; its arguments are the same."""

    def __init__(self, path: str | Path | None = None, embedder: AsyncEmbedder | None = None, **options: Any) -> None:
        if embedder is None:
            raise ValueError("give an embedder: an object with dim, fingerprint and an embed to be awaited")
        self._embedder = embedder
        self._cache = SemanticCache(path, _Unused(embedder), **options)

    async def get(
        self,
        query: str,
        *,
        embedding: Sequence[float] | None = None,
        namespace: str = "default",
        bypass: bool = False,
    ) -> Hit | None:
        """As ``SemanticCache.get``."""
        known = await asyncio.to_thread(self._cache._known, query, namespace, bypass)
        if known is not None or bypass:
            return known
        if embedding is None:
            try:
                embedding = await self._embedder.embed(self._cache._text(query))
            except Exception as error:
                self._cache._failed(namespace, error)
                return None
        return await asyncio.to_thread(self._cache._near, embedding, namespace)

    async def put(
        self,
        query: str,
        response: str,
        *,
        embedding: Sequence[float] | None = None,
        namespace: str = "default",
        metadata: dict[str, Any] | None = None,
        ttl: int | None = None,
    ) -> None:
        """As ``SemanticCache.put``."""
        self._cache._check_open()
        self._cache._check_sizes(query, response, metadata or {})
        vector = await self._embedder.embed(self._cache._text(query)) if embedding is None else embedding
        await asyncio.to_thread(self._cache._put, query, response, vector, namespace, metadata, ttl)

    async def delete(self, query: str, *, namespace: str = "default") -> bool:
        """As ``SemanticCache.delete``."""
        return await asyncio.to_thread(self._cache.delete, query, namespace=namespace)

    async def vacuum(self, *, namespace: str | None = None, compact: bool = True) -> int:
        """As ``SemanticCache.vacuum``."""
        return await asyncio.to_thread(self._cache.vacuum, namespace=namespace, compact=compact)

    async def compact(self) -> int:
        """As ``SemanticCache.compact``."""
        return await asyncio.to_thread(self._cache.compact)

    async def dumps(self, dest: str | Path) -> None:
        """As ``SemanticCache.dumps``."""
        await asyncio.to_thread(self._cache.dumps, dest)

    @classmethod
    async def loads(
        cls, source: str | Path, path: str | Path, embedder: AsyncEmbedder, **kwargs: Any
    ) -> AsyncSemanticCache:
        """As ``SemanticCache.loads``."""
        made = cls.__new__(cls)
        made._embedder = embedder
        made._cache = await asyncio.to_thread(SemanticCache.loads, source, path, _Unused(embedder), **kwargs)
        return made

    def stats(self, *, namespace: str | None = None) -> Stats:
        """As ``SemanticCache.stats``; not awaited."""
        return self._cache.stats(namespace=namespace)

    def health(self) -> Health:
        """As ``SemanticCache.health``; not awaited."""
        return self._cache.health()

    def list_namespaces(self) -> list[str]:
        """As ``SemanticCache.list_namespaces``; not awaited."""
        return self._cache.list_namespaces()

    def clear_namespace(self, namespace: str) -> int:
        """As ``SemanticCache.clear_namespace``; not awaited."""
        return self._cache.clear_namespace(namespace)

    def clear(self) -> int:
        """As ``SemanticCache.clear``; not awaited."""
        return self._cache.clear()

    def requantize(self, dtype: VectorDtype) -> None:
        """As ``SemanticCache.requantize``; not awaited."""
        self._cache.requantize(dtype)

    def set_similarity_threshold(self, value: float) -> None:
        """As ``SemanticCache.set_similarity_threshold``; not awaited."""
        self._cache.set_similarity_threshold(value)

    @property
    def similarity_threshold(self) -> float:
        """As ``SemanticCache.similarity_threshold``."""
        return self._cache.similarity_threshold

    async def close(self) -> None:
        """As ``SemanticCache.close``."""
        await asyncio.to_thread(self._cache.close)

    async def __aenter__(self) -> AsyncSemanticCache:
        self._cache._check_open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
