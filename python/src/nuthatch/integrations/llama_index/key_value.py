"""A keyspace as LlamaIndex' store of keys."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from llama_index.core.storage.kvstore.types import DEFAULT_BATCH_SIZE, DEFAULT_COLLECTION, BaseKVStore

from ...kv import Keyspace
from ..given import waiting
from ..keys import pack


class NuthatchKVStore(BaseKVStore):
    """Values in JSON, by collection and key, in one keyspace. ``put_all`` is one atomic write, whatever ``batch_size`` says."""

    def __init__(self, keyspace: Keyspace) -> None:
        self.keyspace: Keyspace = waiting("keyspace", keyspace, Keyspace)

    def put(self, key: str, val: dict[str, Any], collection: str = DEFAULT_COLLECTION) -> None:
        """Sets a key."""
        self.put_all([(key, val)], collection)

    def put_all(
        self,
        kv_pairs: list[tuple[str, dict[str, Any]]],
        collection: str = DEFAULT_COLLECTION,
        batch_size: int = DEFAULT_BATCH_SIZE,
    ) -> None:
        """Sets several keys atomically."""
        before = pack(collection)
        self.keyspace.put_many([(before + key.encode(), json.dumps(value)) for key, value in kv_pairs])

    def get(self, key: str, collection: str = DEFAULT_COLLECTION) -> dict[str, Any] | None:
        """Returns the value of a key."""
        found = self.keyspace.get(pack(collection) + key.encode())
        return None if found is None else _value(found)

    def get_all(self, collection: str = DEFAULT_COLLECTION) -> dict[str, dict[str, Any]]:
        """Returns all values of a collection."""
        before = pack(collection)
        return {key[len(before) :].decode(): _value(value) for key, value in self.keyspace.items(prefix=before)}

    def delete(self, key: str, collection: str = DEFAULT_COLLECTION) -> bool:
        """Deletes a key; returns False if it does not exist."""
        return self.keyspace.delete([pack(collection) + key.encode()]) == 1

    async def aput(self, key: str, val: dict[str, Any], collection: str = DEFAULT_COLLECTION) -> None:
        """As ``put``."""
        await asyncio.to_thread(self.put, key, val, collection)

    async def aput_all(
        self,
        kv_pairs: list[tuple[str, dict[str, Any]]],
        collection: str = DEFAULT_COLLECTION,
        batch_size: int = DEFAULT_BATCH_SIZE,
    ) -> None:
        """As ``put_all``."""
        await asyncio.to_thread(self.put_all, kv_pairs, collection)

    async def aget(self, key: str, collection: str = DEFAULT_COLLECTION) -> dict[str, Any] | None:
        """As ``get``."""
        return await asyncio.to_thread(self.get, key, collection)

    async def aget_all(self, collection: str = DEFAULT_COLLECTION) -> dict[str, dict[str, Any]]:
        """As ``get_all``."""
        return await asyncio.to_thread(self.get_all, collection)

    async def adelete(self, key: str, collection: str = DEFAULT_COLLECTION) -> bool:
        """As ``delete``."""
        return await asyncio.to_thread(self.delete, key, collection)


def _value(found: bytes) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(found)
    return value
