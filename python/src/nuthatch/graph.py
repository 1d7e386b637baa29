"""Graphs: typed nodes and edges, next to collections and keyspaces.

What it is: ``Database.graph`` gives a ``Graph``, for links between documents, calls between functions, any question of
the form "what is connected to this".
What it is not: a way to search by content or by properties; collections do that.
Invariant: every write is one atomic batch; an edge is there in both directions or in neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from . import arguments, networks, nodes
from .arguments import Durability
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
    Visited,
    edge_of,
    node_parts,
)
from .paging import all_of
from .pending import BatchPart

if TYPE_CHECKING:
    from .cores import GraphCore

#: Nodes or edges that an iteration reads at once.
_PAGE = 1000


class GraphReads:
    """Reading nodes and edges: the common part of ``Graph``, ``SnapshotGraph`` and ``TransactionGraph``."""

    __slots__ = ("_core",)

    _core: GraphCore

    def __init__(self, core: GraphCore) -> None:
        self._core = core

    @property
    def name(self) -> str:
        """The graph's name."""
        return self._core.name

    def get(self, id: str) -> Node | None:
        """Returns the node with that id; None when it was never put, even if it has edges."""
        return self.get_many([id])[0]

    def get_many(self, ids: Iterable[str]) -> list[Node | None]:
        """Returns nodes by id, in the order of the ids, with None for missing ones."""
        found = self._core.get_nodes(arguments.ids(ids))
        return [None if parts is None else Node(*parts) for parts in found]

    def edge(self, source: str, type: str, target: str) -> Edge | None:
        """Returns the edge of that type from one node to another, or None."""
        [asked] = nodes.edge_ids([(source, type, target)])
        parts = self._core.get_edge(asked)
        return None if parts is None else edge_of(parts)

    def neighbors(
        self,
        id: str,
        *,
        direction: Direction = "out",
        types: str | Iterable[str] | None = None,
        limit: int = _PAGE,
        cursor: str | None = None,
    ) -> NeighborPage:
        """Returns one page of a node's edges, as of one moment; ``NeighborPage.cursor`` asks for
        the next.

        Outgoing edges come before incoming ones, sorted by type, then by the id at the other end.
        ``types`` restricts the types; ``limit`` is 1 to 10,000. An edge from a node to itself is
        listed once.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     web = db.graph("web")
        ...     web.put_edge("home", "links", "about")
        ...     web.put_edge("blog", "links", "home", weight=3)
        ...     [(found.id, found.edge.weight) for found in web.neighbors("home", direction="both")]
        [('about', 1.0), ('blog', 3.0)]
        """
        found, next_cursor = self._core.neighbors(
            arguments.text("id", id),
            {
                "direction": arguments.text("direction", direction),
                "types": nodes.types(types),
                "limit": arguments.whole("limit", limit),
                "cursor": arguments.optional_text("cursor", cursor),
            },
        )
        return NeighborPage([Neighbor(other, edge_of(parts)) for other, parts in found], next_cursor)

    def edges(
        self, id: str, *, direction: Direction = "out", types: str | Iterable[str] | None = None
    ) -> Iterator[Neighbor]:
        """Iterates over all edges of a node, page by page; the arguments of ``neighbors``."""
        asked = nodes.types(types) or None

        def page(cursor: str | None) -> NeighborPage:
            return self.neighbors(id, direction=direction, types=asked, cursor=cursor)

        return all_of(page(None), page)

    def list_nodes(
        self, *, type: str | None = None, prefix: str = "", limit: int = _PAGE, cursor: str | None = None
    ) -> NodePage:
        """Returns one page of nodes by id; ``NodePage.cursor`` asks for the next. With ``type``, it
        reads all nodes to find those.
        """
        found, next_cursor = self._core.list_nodes(
            arguments.optional_text("type", type),
            arguments.text("prefix", prefix),
            arguments.whole("limit", limit),
            arguments.optional_text("cursor", cursor),
        )
        return NodePage([Node(*parts) for parts in found], next_cursor)

    def nodes(self, *, type: str | None = None, prefix: str = "") -> Iterator[Node]:
        """Iterates over all nodes that were put, page by page; the arguments of ``list_nodes``."""

        def page(cursor: str | None) -> NodePage:
            return self.list_nodes(type=type, prefix=prefix, cursor=cursor)

        return all_of(page(None), page)

    def traverse(
        self,
        start: str | Iterable[str],
        *,
        direction: Direction = "out",
        types: str | Iterable[str] | None = None,
        max_depth: int = 2,
        limit: int = _PAGE,
    ) -> Traversal:
        """Follows edges breadth first from some nodes, and returns each node once, with the first
        edge that led to it.

        It starts from 1 to 1,000 nodes, follows up to ``max_depth`` (1 to 64) edges, and returns up
        to ``limit`` (1 to 10,000) nodes, including the start. ``Traversal.truncated`` says that
        there are, or may be, more.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     code = db.graph("code")
        ...     code.put_edges([{"source": "main", "type": "calls", "target": "parse"},
        ...                     {"source": "parse", "type": "calls", "target": "next_token"}])
        ...     [(found.id, found.depth) for found in code.traverse("main")]
        [('main', 0), ('parse', 1), ('next_token', 2)]
        """
        found, truncated = self._core.traverse(
            {
                "start": arguments.ids(start),
                "direction": arguments.text("direction", direction),
                "types": nodes.types(types),
                "max_depth": min(arguments.whole("max_depth", max_depth), 1 << 31),
                "limit": arguments.whole("limit", limit),
            }
        )
        reached = [Visited(id, depth, None if via is None else edge_of(via)) for id, depth, via in found]
        return Traversal(reached, truncated)

    def paths(
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
        """Returns the cheapest paths between two nodes, at most ``count`` of them (up to 16). No path
        meets a node twice. An edge costs 1 (``hops``), its ``weight``, or 1 divided by that
        (``strength``).
        """
        return networks.paths(
            self._core,
            source,
            target,
            direction=direction,
            types=types,
            cost=cost,
            count=count,
            max_steps=max_steps,
        )

    def rank(
        self,
        seeds: Iterable[str] = (),
        *,
        direction: Direction = "out",
        types: str | Iterable[str] | None = None,
        damping: float = 0.85,
        limit: int = 100,
    ) -> list[Ranked]:
        """Returns the nodes of highest PageRank; with ``seeds``, those that matter most to them. Up to
        a million edges are read into memory.
        """
        return networks.rank(self._core, seeds=seeds, direction=direction, types=types, damping=damping, limit=limit)

    def groups(
        self,
        by: Literal["components", "communities"] = "components",
        *,
        types: str | Iterable[str] | None = None,
        limit: int = 100,
        members: int = 100,
    ) -> NodeGroups:
        """Returns the nodes that belong together: by any path, or by having more edges among each other
        than by chance. Up to a million edges are read into memory.
        """
        return networks.groups(self._core, by, types=types, limit=limit, members=members)

    def counts(self) -> GraphCounts:
        """Counts nodes and edges: exactly up to 10,000, beyond that estimated from file sizes.

        A server does not count within a transaction.
        """
        return GraphCounts(*self._core.counts())

    def __contains__(self, id: object) -> bool:
        return self.get(arguments.text("id", id)) is not None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} cannot be pickled or copied: it belongs to the process that opened it; "
            "send the folder's path and the name, and connect there"
        )


class Graph(GraphReads):
    """Typed nodes and edges. ``Database.graph`` makes it; threads may share it.

    An edge may name a node that was never put. Ids have up to 1,024 bytes, types 255, properties 32
    KiB. Writes take ``durability`` as those of a ``Keyspace`` do; each call is one atomic batch.

    >>> import nuthatch
    >>> with nuthatch.connect(":memory:") as db:
    ...     people = db.graph("people")
    ...     people.put_node("anna", "person", {"born": 1980})
    ...     people.put_edge("anna", "knows", "ben", weight=0.5)
    ...     people.get("anna").properties, people.get("ben"), people.edge("anna", "knows", "ben").weight
    ({'born': 1980}, None, 0.5)
    """

    __slots__ = ()

    def put_node(
        self,
        id: str,
        type: str,
        properties: Mapping[str, Any] | None = None,
        *,
        durability: Durability | None = None,
    ) -> None:
        """Puts a node, and replaces an existing one; its edges stay."""
        self.put_nodes([Node(id, type, dict(properties or {}))], durability=durability)

    def put_nodes(self, nodes: Iterable[Node | Mapping[str, Any]], *, durability: Durability | None = None) -> None:
        """Puts nodes, or dicts of ``id``, ``type`` and ``properties``, all or nothing."""
        self._core.put_nodes(node_parts(nodes), arguments.durability(durability))

    def put_edge(
        self,
        source: str,
        type: str,
        target: str,
        *,
        weight: float = 1.0,
        properties: Mapping[str, Any] | None = None,
        durability: Durability | None = None,
    ) -> None:
        """Puts an edge, and replaces an existing one with the same ends and type."""
        self.put_edges([Edge(source, type, target, weight, dict(properties or {}))], durability=durability)

    def put_edges(self, edges: Iterable[Edge | Mapping[str, Any]], *, durability: Durability | None = None) -> None:
        """Puts edges, or dicts of ``source``, ``type``, ``target``, ``weight`` and ``properties``, all or nothing."""
        self._core.put_edges(nodes.edge_parts(edges), arguments.durability(durability))

    def delete_nodes(self, ids: str | Iterable[str], *, durability: Durability | None = None) -> NodesDeleted:
        """Deletes nodes with all their edges in both directions, and returns how many of both
        existed.

        Up to 100,000 edges are one batch. A node with more loses its edges in several batches, and
        goes with the last one.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     web = db.graph("web")
        ...     web.put_edge("home", "links", "about")
        ...     web.put_edge("blog", "links", "home")
        ...     web.delete_nodes("home"), web.counts().edges
        (NodesDeleted(nodes=0, edges=2), 0)
        """
        return NodesDeleted(*self._core.delete_nodes(arguments.ids(ids), arguments.durability(durability)))

    def delete_edges(self, edges: Iterable[Edge | EdgeId], *, durability: Durability | None = None) -> int:
        """Deletes edges, each given as an ``Edge`` or as source, type and target, and returns how
        many existed.
        """
        return self._core.delete_edges(nodes.edge_ids(edges), arguments.durability(durability))


class SnapshotGraph(GraphReads):
    """A graph in a snapshot."""

    __slots__ = ()


class _Puts:
    """Single writes of batches and transactions."""

    __slots__ = ()

    def put_node(self, id: str, type: str, properties: Mapping[str, Any] | None = None) -> None:
        """Puts a node, and replaces an existing one; its edges stay."""
        self.put_nodes([Node(id, type, dict(properties or {}))])

    def put_nodes(self, nodes: Iterable[Node | Mapping[str, Any]]) -> None:
        """Puts nodes, or dicts of them."""
        raise NotImplementedError

    def put_edge(
        self,
        source: str,
        type: str,
        target: str,
        *,
        weight: float = 1.0,
        properties: Mapping[str, Any] | None = None,
    ) -> None:
        """Puts an edge, and replaces an existing one with the same ends and type."""
        self.put_edges([Edge(source, type, target, weight, dict(properties or {}))])

    def put_edges(self, edges: Iterable[Edge | Mapping[str, Any]]) -> None:
        """Puts edges, or dicts of them."""
        raise NotImplementedError


class TransactionGraph(_Puts, GraphReads):
    """A graph in a transaction: its state at the beginning, plus the transaction's own writes.

    Listing edges also records which ones are absent: the commit conflicts if another writer has put
    an edge there.
    """

    __slots__ = ()

    def put_nodes(self, nodes: Iterable[Node | Mapping[str, Any]]) -> None:
        """Puts nodes, or dicts of them: all or nothing."""
        self._core.put_nodes(node_parts(nodes), None)

    def put_edges(self, edges: Iterable[Edge | Mapping[str, Any]]) -> None:
        """Puts edges, or dicts of them: all or nothing."""
        self._core.put_edges(nodes.edge_parts(edges), None)

    def delete_nodes(self, ids: str | Iterable[str]) -> None:
        """Deletes nodes with all their edges in both directions; the commit conflicts if they have
        gained an edge since.
        """
        self._core.delete_nodes(arguments.ids(ids), None)

    def delete_edges(self, edges: Iterable[Edge | EdgeId]) -> None:
        """Deletes edges; unknown ones are ignored."""
        self._core.delete_edges(nodes.edge_ids(edges), None)


class BatchGraph(_Puts, BatchPart):
    """The nodes and edges of one graph that a batch writes."""

    __slots__ = ()

    def put_nodes(self, nodes: Iterable[Node | Mapping[str, Any]]) -> None:
        """Puts nodes, or dicts of them: all or nothing."""
        self._core.put_nodes(self._name, node_parts(nodes))

    def put_edges(self, edges: Iterable[Edge | Mapping[str, Any]]) -> None:
        """Puts edges, or dicts of them: all or nothing."""
        self._core.put_edges(self._name, nodes.edge_parts(edges))

    def delete_nodes(self, ids: str | Iterable[str]) -> None:
        """Deletes nodes with all edges that they have when the batch is written, and with those
        that the batch put before this call.
        """
        self._core.delete_nodes(self._name, arguments.ids(ids))

    def delete_edges(self, edges: Iterable[Edge | EdgeId]) -> None:
        """Deletes edges; unknown ones are ignored."""
        self._core.delete_edges(self._name, nodes.edge_ids(edges))
