"""mneme's embedders: objects with ``dim``, ``fingerprint`` and ``embed``."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Embedder(Protocol):
    """Makes the vector of a text."""

    @property
    def dim(self) -> int:
        """Components of a vector."""

    @property
    def fingerprint(self) -> str:
        """The identity of the model."""

    def embed(self, text: str) -> Sequence[float]:
        """The vector of a text; an array of numpy will do."""


@runtime_checkable
class AsyncEmbedder(Protocol):
    """As ``Embedder``, with an ``embed`` to be awaited."""

    @property
    def dim(self) -> int:
        """Components of a vector."""

    @property
    def fingerprint(self) -> str:
        """The identity of the model."""

    async def embed(self, text: str) -> Sequence[float]:
        """The vector of a text; an array of numpy will do."""


class _Turned:
    def __init__(self, inner: Any) -> None:
        self.inner = inner

    @property
    def dim(self) -> int:
        dim: int = self.inner.dim
        return dim

    @property
    def fingerprint(self) -> str:
        fingerprint: str = self.inner.fingerprint
        return fingerprint


class _Awaited(_Turned):
    async def embed(self, text: str) -> Sequence[float]:
        vector: Sequence[float] = await asyncio.to_thread(self.inner.embed, text)
        return vector


class _Waiting(_Turned):
    def embed(self, text: str) -> Sequence[float]:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            pass
        else:
            raise RuntimeError(
                "this thread has a running event loop, which would stand still; await embed there instead"
            )
        vector: Sequence[float] = asyncio.run(self.inner.embed(text))
        return vector


def to_async_embedder(embedder: Embedder) -> AsyncEmbedder:
    """An embedder to be awaited, which embeds in a thread."""
    return _Awaited(embedder)


def to_sync_embedder(embedder: AsyncEmbedder) -> Embedder:
    """An embedder that waits for one to be awaited. Not in a thread that runs an event loop."""
    return _Waiting(embedder)
