"""A keyspace as LangChain's store of bytes, for caches of embeddings, documents of parents, and the like."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence

from langchain_core.stores import BaseStore

from ...kv import Keyspace
from ...kv_entries import TimeToLive
from ..given import waiting


class NuthatchByteStore(BaseStore[str, bytes]):
    """Bytes by key, in a keyspace; with ``ttl`` (seconds, or a timedelta) they expire. ``mset`` is one atomic write."""

    def __init__(self, keyspace: Keyspace, *, ttl: TimeToLive | None = None) -> None:
        self.keyspace: Keyspace = waiting("keyspace", keyspace, Keyspace)
        self._ttl = ttl

    def mget(self, keys: Sequence[str]) -> list[bytes | None]:
        """Returns the values of the keys, in order."""
        return self.keyspace.get_many(keys)

    async def amget(self, keys: Sequence[str]) -> list[bytes | None]:
        """As ``mget``."""
        return await asyncio.to_thread(self.mget, keys)

    def mset(self, key_value_pairs: Sequence[tuple[str, bytes]]) -> None:
        """Sets the keys atomically."""
        self.keyspace.put_many(key_value_pairs, ttl=self._ttl)

    async def amset(self, key_value_pairs: Sequence[tuple[str, bytes]]) -> None:
        """As ``mset``."""
        await asyncio.to_thread(self.mset, key_value_pairs)

    def mdelete(self, keys: Sequence[str]) -> None:
        """Deletes the keys atomically; unknown keys are ignored."""
        self.keyspace.delete(keys)

    async def amdelete(self, keys: Sequence[str]) -> None:
        """As ``mdelete``."""
        await asyncio.to_thread(self.mdelete, keys)

    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        """Yields the keys that start with ``prefix``, in byte order."""
        return (key.decode() for key in self.keyspace.keys(prefix=prefix))

    async def ayield_keys(self, *, prefix: str | None = None) -> AsyncIterator[str]:
        """As ``yield_keys``, page by page."""
        cursor: str | None = None
        while True:
            page = await asyncio.to_thread(self.keyspace.scan, prefix=prefix, cursor=cursor, keys_only=True)
            for key in page.keys:
                yield key.decode()
            cursor = page.cursor
            if cursor is None:
                return
