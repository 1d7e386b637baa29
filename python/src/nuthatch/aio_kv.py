"""Keyspaces to be awaited: the names, arguments and answers of ``Keyspace``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import NoReturn, TypeVar, overload

from .arguments import Durability
from .kv import _PAGE, Bytes, Entries, KeyPage, Keyspace, TimeToLive
from .threads import in_thread

T = TypeVar("T")


class AsyncKeyspace:
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

    def __init__(self, sync: Keyspace) -> None:
        self.sync = sync

    @property
    def name(self) -> str:
        """As ``Keyspace.name``."""
        return self.sync.name

    @overload
    async def get(self, key: Bytes) -> bytes | None: ...
    @overload
    async def get(self, key: Bytes, default: T) -> bytes | T: ...
    async def get(self, key: Bytes, default: object = None) -> object:
        """As ``Keyspace.get``."""
        return await in_thread(self.sync.get, key, default)

    async def get_many(self, keys: Iterable[Bytes]) -> list[bytes | None]:
        """As ``Keyspace.get_many``."""
        return await in_thread(self.sync.get_many, keys)

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

    async def ttl(self, key: Bytes) -> float | None:
        """As ``Keyspace.ttl``."""
        return await in_thread(self.sync.ttl, key)

    async def scan(
        self,
        *,
        prefix: Bytes | None = None,
        start: Bytes | None = None,
        stop: Bytes | None = None,
        reverse: bool = False,
        limit: int = _PAGE,
        cursor: str | None = None,
        keys_only: bool = False,
    ) -> KeyPage:
        """As ``Keyspace.scan``."""
        return await in_thread(
            self.sync.scan,
            prefix=prefix,
            start=start,
            stop=stop,
            reverse=reverse,
            limit=limit,
            cursor=cursor,
            keys_only=keys_only,
        )

    async def items(
        self,
        *,
        prefix: Bytes | None = None,
        start: Bytes | None = None,
        stop: Bytes | None = None,
        reverse: bool = False,
    ) -> AsyncIterator[tuple[bytes, bytes]]:
        """As ``Keyspace.items``."""
        async for page in self._pages(prefix, start, stop, reverse, keys_only=False):
            for entry in page:
                yield entry

    async def keys(
        self,
        *,
        prefix: Bytes | None = None,
        start: Bytes | None = None,
        stop: Bytes | None = None,
        reverse: bool = False,
    ) -> AsyncIterator[bytes]:
        """As ``Keyspace.keys``."""
        async for page in self._pages(prefix, start, stop, reverse, keys_only=True):
            for key, _ in page:
                yield key

    async def values(
        self,
        *,
        prefix: Bytes | None = None,
        start: Bytes | None = None,
        stop: Bytes | None = None,
        reverse: bool = False,
    ) -> AsyncIterator[bytes]:
        """As ``Keyspace.values``."""
        async for page in self._pages(prefix, start, stop, reverse, keys_only=False):
            for _, value in page:
                yield value

    async def _pages(
        self, prefix: Bytes | None, start: Bytes | None, stop: Bytes | None, reverse: bool, *, keys_only: bool
    ) -> AsyncIterator[KeyPage]:
        cursor = None
        while True:
            page = await self.scan(
                prefix=prefix, start=start, stop=stop, reverse=reverse, cursor=cursor, keys_only=keys_only
            )
            yield page
            if (cursor := page.cursor) is None:
                return

    async def count_estimate(self, prefix: Bytes = b"") -> int:
        """As ``Keyspace.count_estimate``."""
        return await in_thread(self.sync.count_estimate, prefix)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self.keys()

    def __repr__(self) -> str:
        return f"Async{self.sync!r}"

    def __reduce__(self) -> NoReturn:
        self.sync.__reduce__()
