"""Keyspaces to be awaited: the names, arguments and answers of ``Keyspace``."""

from __future__ import annotations

from collections.abc import Iterable

from .aio_reads import AsyncKeyReads
from .arguments import Durability
from .kv import Keyspace
from .kv_entries import Bytes, Entries, TimeToLive
from .threads import in_thread


class AsyncKeyspace(AsyncKeyReads):
    """A ``Keyspace`` whose calls are awaited; listings are for ``async for``. ``sync`` is the keyspace underneath.

    >>> import asyncio, nuthatch
    >>> async def main():
    ...     async with nuthatch.connect_async(":memory:") as db:
    ...         kv = await db.kv("settings")
    ...         await kv.put("theme", "dark")
    ...         return await kv.get("theme"), [key async for key in kv]
    >>> asyncio.run(main())
    (b'dark', [b'theme'])
    """

    __slots__ = ("sync",)

    sync: Keyspace

    def __init__(self, sync: Keyspace) -> None:
        self.sync = sync

    async def put(
        self, key: Bytes, value: Bytes, *, ttl: TimeToLive | None = None, durability: Durability | None = None
    ) -> None:
        """As ``Keyspace.put``."""
        await in_thread(self.sync.put, key, value, ttl=ttl, durability=durability)

    async def put_many(
        self, entries: Entries, *, ttl: TimeToLive | None = None, durability: Durability | None = None
    ) -> None:
        """As ``Keyspace.put_many``."""
        await in_thread(self.sync.put_many, entries, ttl=ttl, durability=durability)

    async def delete(self, keys: Bytes | Iterable[Bytes], *, durability: Durability | None = None) -> int:
        """As ``Keyspace.delete``."""
        return await in_thread(self.sync.delete, keys, durability=durability)

    async def delete_prefix(self, prefix: Bytes, *, durability: Durability | None = None) -> int:
        """As ``Keyspace.delete_prefix``."""
        return await in_thread(self.sync.delete_prefix, prefix, durability=durability)

    async def clear(self, *, durability: Durability | None = None) -> int:
        """As ``Keyspace.clear``."""
        return await in_thread(self.sync.clear, durability=durability)

    async def compare_and_set(
        self,
        key: Bytes,
        expected: Bytes | None,
        new: Bytes | None,
        *,
        ttl: TimeToLive | None = None,
        durability: Durability | None = None,
    ) -> bool:
        """As ``Keyspace.compare_and_set``."""
        return await in_thread(self.sync.compare_and_set, key, expected, new, ttl=ttl, durability=durability)

    async def increment(self, key: Bytes, by: int = 1, *, durability: Durability | None = None) -> int:
        """As ``Keyspace.increment``."""
        return await in_thread(self.sync.increment, key, by, durability=durability)

    async def append(self, key: Bytes, more: Bytes, *, durability: Durability | None = None) -> int:
        """As ``Keyspace.append``."""
        return await in_thread(self.sync.append, key, more, durability=durability)

    async def expire(self, key: Bytes, ttl: TimeToLive | None, *, durability: Durability | None = None) -> bool:
        """As ``Keyspace.expire``."""
        return await in_thread(self.sync.expire, key, ttl, durability=durability)
