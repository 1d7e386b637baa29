"""A keyspace as LangGraph's cache of nodes: what a node has returned for an input is not computed again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from langgraph.cache.base import BaseCache, FullKey, Namespace
from langgraph.checkpoint.serde.base import SerializerProtocol

from ...arguments import Durability
from ...database import Database
from ..given import waiting
from ..keys import pack
from . import layout

ValueT = TypeVar("ValueT")

#: Ends a namespace, so that those below it do not begin with it.
_END = b"\x00\x00"


class NuthatchNodeCache(BaseCache[ValueT], Generic[ValueT]):
    """Results of nodes in the keyspace ``keyspace`` of a database: ``compile(cache=NuthatchNodeCache(db))``.

    Keys are hashes of inputs, so nothing is compared by meaning. A result expires after the ``ttl`` of its node's
    ``CachePolicy``, in seconds. One call of ``set`` is one atomic write. ``durability`` is "interval" unless you say
    "commit", which waits for the disk, or "os": a result can be computed again.
    """

    def __init__(
        self,
        database: Database,
        *,
        keyspace: str = "node_cache",
        serde: SerializerProtocol | None = None,
        durability: Durability | None = "interval",
    ) -> None:
        super().__init__(serde=serde)
        self._database = waiting("database", database, Database)
        # Over HTTP a keyspace's durability is the server's.
        self._durability: Durability | None = durability
        self._kv = database.kv(keyspace)

    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        """Returns the results of the keys that have one."""
        found = self._kv.get_many([_key(key) for key in keys]) if keys else []
        return {
            (tuple(namespace), key): self.serde.loads_typed(layout.typed(value))
            for (namespace, key), value in zip(keys, found, strict=True)
            if value is not None
        }

    def set(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        """Stores results, each for its time to live in seconds; None keeps it for ever."""
        with self._database.batch(durability=self._durability) as batch:
            for key, (value, ttl) in pairs.items():
                if ttl is None or ttl > 0:
                    packed = layout.packed_typed(self.serde.dumps_typed(value))
                    batch.kv(self._kv.name).put(_key(key), packed, ttl=ttl)
                else:
                    batch.kv(self._kv.name).delete(_key(key))

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Removes the results of these namespaces, or all of them."""
        if namespaces is None:
            self._kv.clear(durability=self._durability)
        else:
            for namespace in namespaces:
                self._kv.delete_prefix(pack(*namespace) + _END, durability=self._durability)

    async def aget(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        """As ``get``."""
        return await asyncio.to_thread(self.get, keys)

    async def aset(self, pairs: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        """As ``set``."""
        await asyncio.to_thread(self.set, pairs)

    async def aclear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """As ``clear``."""
        await asyncio.to_thread(self.clear, namespaces)


def _key(key: FullKey | tuple[Any, str]) -> bytes:
    namespace, name = key
    return pack(*namespace) + _END + name.encode()
