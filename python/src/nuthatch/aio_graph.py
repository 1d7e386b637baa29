"""Graphs to be awaited: the names, arguments and answers of ``Graph``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Iterable, Mapping
from typing import Any, Literal, NoReturn

from .arguments import Durability
from .graph import _PAGE, Graph, GraphReads, SnapshotGraph, TransactionGraph
from .networks import Cost, NodeGroups, Paths, Ranked
from .nodes import (
    Direction,
    Edge,
    EdgeId,
    GraphCounts,
    Neighbor,
    NeighborPage,
    Node,
    NodePage,
    NodesDeleted,
    Traversal,
)
from .paging import all_awaited
from .threads import in_thread


class AsyncGraphReads:
    """``GraphReads`` whose calls are awaited; listings are for ``async for``. ``sync`` is the object underneath."""

    __slots__ = ()

    sync: GraphReads

    @property
    def name(self) -> str:
        """As ``Graph.name``."""
        return self.sync.name

    async def get(self, id: str) -> Node | None:
        """As ``Graph.get``."""
        return await in_thread(self.sync.get, id)

    async def get_many(self, ids: Iterable[str]) -> list[Node | None]:
        """As ``Graph.get_many``."""
        return await in_thread(self.sync.get_many, ids)

    async def edge(self, source: str, type: str, target: str) -> Edge | None:
        """As ``Graph.edge``."""
        return await in_thread(self.sync.edge, source, type, target)

    async def neighbors(
        self,
        id: str,
        *,
        direction: Direction = "out",
        types: str | Iterable[str] | None = None,
        limit: int = _PAGE,
        cursor: str | None = None,
    ) -> NeighborPage:
        """As ``Graph.neighbors``."""
        return await in_thread(self.sync.neighbors, id, direction=direction, types=types, limit=limit, cursor=cursor)

    def edges(
        self, id: str, *, direction: Direction = "out", types: str | Iterable[str] | None = None
    ) -> AsyncIterator[Neighbor]:
        """As ``Graph.edges``."""
        kept = types if types is None or isinstance(types, str) else list(types)

        def page(cursor: str | None) -> Awaitable[NeighborPage]:
            return self.neighbors(id, direction=direction, types=kept, cursor=cursor)

        return all_awaited(page)

    async def list_nodes(
        self, *, type: str | None = None, prefix: str = "", limit: int = _PAGE, cursor: str | None = None
    ) -> NodePage:
        """As ``Graph.list_nodes``."""
        return await in_thread(self.sync.list_nodes, type=type, prefix=prefix, limit=limit, cursor=cursor)

    def nodes(self, *, type: str | None = None, prefix: str = "") -> AsyncIterator[Node]:
        """As ``Graph.nodes``."""

        def page(cursor: str | None) -> Awaitable[NodePage]:
            return self.list_nodes(type=type, prefix=prefix, cursor=cursor)

        return all_awaited(page)

    async def traverse(
        self,
        start: str | Iterable[str],
        *,
        direction: Direction = "out",
        types: str | Iterable[str] | None = None,
        max_depth: int = 2,
        limit: int = _PAGE,
    ) -> Traversal:
        """As ``Graph.traverse``."""
        return await in_thread(
            self.sync.traverse, start, direction=direction, types=types, max_depth=max_depth, limit=limit
        )

    async def paths(
        self,
        source: str,
        target: str,
        *,
        direction: Direction = "out",
        types: str | Iterable[str] | None = None,
        cost: Cost = "hops",
        count: int = 1,
        max_steps: int = 64,
    ) -> Paths:
        """As ``Graph.paths``."""
        return await in_thread(
            self.sync.paths,
            source,
            target,
            direction=direction,
            types=types,
            cost=cost,
            count=count,
            max_steps=max_steps,
        )

    async def rank(
        self,
        seeds: Iterable[str] = (),
        *,
        direction: Direction = "out",
        types: str | Iterable[str] | None = None,
        damping: float = 0.85,
        limit: int = 100,
    ) -> list[Ranked]:
        """As ``Graph.rank``."""
        return await in_thread(self.sync.rank, seeds, direction=direction, types=types, damping=damping, limit=limit)

    async def groups(
        self,
        by: Literal["components", "communities"] = "components",
        *,
        types: str | Iterable[str] | None = None,
        limit: int = 100,
        members: int = 100,
    ) -> NodeGroups:
        """As ``Graph.groups``."""
        return await in_thread(self.sync.groups, by, types=types, limit=limit, members=members)

    async def counts(self) -> GraphCounts:
        """As ``GraphReads.counts``."""
        return await in_thread(self.sync.counts)

    def __repr__(self) -> str:
        return f"Async{self.sync!r}"

    def __reduce__(self) -> NoReturn:
        self.sync.__reduce__()


class AsyncGraph(AsyncGraphReads):
    """A ``Graph`` whose calls are awaited; listings are for ``async for``. ``sync`` is the graph underneath.

    >>> import asyncio, nuthatch
    >>> async def main():
    ...     async with nuthatch.connect_async(":memory:") as db:
    ...         web = await db.graph("web")
    ...         await web.put_edge("home", "links", "about")
    ...         return [found.id async for found in web.edges("home")]
    >>> asyncio.run(main())
    ['about']
    """

    __slots__ = ("sync",)

    sync: Graph

    def __init__(self, sync: Graph) -> None:
        self.sync = sync

    async def put_node(
        self,
        id: str,
        type: str,
        properties: Mapping[str, Any] | None = None,
        *,
        durability: Durability | None = None,
    ) -> None:
        """As ``Graph.put_node``."""
        await in_thread(self.sync.put_node, id, type, properties, durability=durability)

    async def put_nodes(
        self, nodes: Iterable[Node | Mapping[str, Any]], *, durability: Durability | None = None
    ) -> None:
        """As ``Graph.put_nodes``."""
        await in_thread(self.sync.put_nodes, nodes, durability=durability)

    async def put_edge(
        self,
        source: str,
        type: str,
        target: str,
        *,
        weight: float = 1.0,
        properties: Mapping[str, Any] | None = None,
        durability: Durability | None = None,
    ) -> None:
        """As ``Graph.put_edge``."""
        await in_thread(
            self.sync.put_edge, source, type, target, weight=weight, properties=properties, durability=durability
        )

    async def put_edges(
        self, edges: Iterable[Edge | Mapping[str, Any]], *, durability: Durability | None = None
    ) -> None:
        """As ``Graph.put_edges``."""
        await in_thread(self.sync.put_edges, edges, durability=durability)

    async def delete_nodes(self, ids: str | Iterable[str], *, durability: Durability | None = None) -> NodesDeleted:
        """As ``Graph.delete_nodes``."""
        return await in_thread(self.sync.delete_nodes, ids, durability=durability)

    async def delete_edges(self, edges: Iterable[Edge | EdgeId], *, durability: Durability | None = None) -> int:
        """As ``Graph.delete_edges``."""
        return await in_thread(self.sync.delete_edges, edges, durability=durability)


class AsyncSnapshotGraph(AsyncGraphReads):
    """A ``SnapshotGraph`` whose calls are awaited."""

    __slots__ = ("sync",)

    sync: SnapshotGraph

    def __init__(self, sync: SnapshotGraph) -> None:
        self.sync = sync


class AsyncTransactionGraph(AsyncGraphReads):
    """A ``TransactionGraph`` whose calls are awaited."""

    __slots__ = ("sync",)

    sync: TransactionGraph

    def __init__(self, sync: TransactionGraph) -> None:
        self.sync = sync

    async def put_node(self, id: str, type: str, properties: Mapping[str, Any] | None = None) -> None:
        """As ``TransactionGraph.put_node``."""
        await in_thread(self.sync.put_node, id, type, properties)

    async def put_nodes(self, nodes: Iterable[Node | Mapping[str, Any]]) -> None:
        """As ``TransactionGraph.put_nodes``."""
        await in_thread(self.sync.put_nodes, nodes)

    async def put_edge(
        self,
        source: str,
        type: str,
        target: str,
        *,
        weight: float = 1.0,
        properties: Mapping[str, Any] | None = None,
    ) -> None:
        """As ``TransactionGraph.put_edge``."""
        await in_thread(self.sync.put_edge, source, type, target, weight=weight, properties=properties)

    async def put_edges(self, edges: Iterable[Edge | Mapping[str, Any]]) -> None:
        """As ``TransactionGraph.put_edges``."""
        await in_thread(self.sync.put_edges, edges)

    async def delete_nodes(self, ids: str | Iterable[str]) -> None:
        """As ``TransactionGraph.delete_nodes``."""
        await in_thread(self.sync.delete_nodes, ids)

    async def delete_edges(self, edges: Iterable[Edge | EdgeId]) -> None:
        """As ``TransactionGraph.delete_edges``."""
        await in_thread(self.sync.delete_edges, edges)
