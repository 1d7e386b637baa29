"""Nodes and edges of graphs: as callers give them, and as they come back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar, overload

from . import arguments
from .errors import InvalidError

T = TypeVar("T")

Direction: TypeAlias = Literal["out", "in", "both"]
"""Which edges of a node: those that it is the source of, those that it is the target of, or both."""

NodeParts: TypeAlias = "tuple[str, str, dict[str, Any]]"
EdgeParts: TypeAlias = "tuple[str, str, str, float, dict[str, Any]]"
EdgeId: TypeAlias = "tuple[str, str, str]"


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a graph. ``properties`` take the same values as a record's payload."""

    #: 1 to 1,024 bytes.
    id: str
    #: What it is: "document", "function", "person". 1 to 255 bytes.
    type: str
    properties: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge from one node to another. Two nodes have at most one edge of each type in each
    direction.
    """

    source: str
    #: What it says: "links", "calls", "knows". 1 to 255 bytes.
    type: str
    target: str
    #: Finite.
    weight: float = 1.0
    properties: dict[str, Any] = field(default_factory=dict)


class Neighbor(NamedTuple):
    """An edge of a node, and the id of the node at its other end."""

    id: str
    edge: Edge


@dataclass(frozen=True, slots=True)
class Visited:
    """A node that a traversal has reached."""

    id: str
    #: Edges on the shortest path from the start; 0 for the start nodes.
    depth: int
    #: The first edge that led there; None for the start nodes.
    via: Edge | None


class NodesDeleted(NamedTuple):
    """The numbers of deleted nodes and edges."""

    nodes: int
    edges: int


class GraphCounts(NamedTuple):
    """The numbers of nodes and edges. ``exact`` is False beyond 10,000: then they are estimated
    from file sizes.
    """

    nodes: int
    edges: int
    exact: bool


class _Several(Sequence[T], Generic[T]):
    """The results of a call, in order."""

    __slots__ = ("_found",)

    def __init__(self, found: list[T]) -> None:
        self._found = found

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> list[T]: ...
    def __getitem__(self, at: int | slice) -> T | list[T]:
        return self._found[at]

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[T]:
        return iter(self._found)


class NeighborPage(_Several[Neighbor]):
    """Edges of a node, outgoing ones first, by type, then by id; ``cursor`` continues it, and is
    None at the end.
    """

    __slots__ = ("cursor",)

    def __init__(self, found: list[Neighbor], cursor: str | None) -> None:
        super().__init__(found)
        self.cursor: str | None = cursor

    def __repr__(self) -> str:
        return f"NeighborPage({len(self)} edges, cursor={self.cursor!r})"


class NodePage(_Several[Node]):
    """Nodes by id; ``cursor`` continues it, and is None at the end.

    A page may have a cursor and yet fewer nodes than ``limit``, even none, if it skipped many nodes
    of other types.
    """

    __slots__ = ("cursor",)

    def __init__(self, found: list[Node], cursor: str | None) -> None:
        super().__init__(found)
        self.cursor: str | None = cursor

    def __repr__(self) -> str:
        return f"NodePage({len(self)} nodes, cursor={self.cursor!r})"


class Traversal(_Several[Visited]):
    """The nodes reached, each once, by depth; ``truncated`` says that there are, or may be, more."""

    __slots__ = ("truncated",)

    def __init__(self, found: list[Visited], truncated: bool) -> None:
        super().__init__(found)
        self.truncated: bool = truncated

    @property
    def ids(self) -> list[str]:
        """The ids of the nodes."""
        return [visited.id for visited in self]

    def __repr__(self) -> str:
        return f"Traversal({len(self)} nodes, truncated={self.truncated})"


def edge_of(parts: EdgeParts) -> Edge:
    """An edge from what the extension module gives."""
    return Edge(*parts)


def node_parts(nodes: Iterable[Node | Mapping[str, Any]]) -> list[NodeParts]:
    """Nodes as the extension module takes them."""
    if isinstance(nodes, (str, bytes, Mapping, Node)) or not isinstance(nodes, Iterable):
        raise InvalidError(f"nodes is of type {type(nodes).__name__}; give a list of nodes, or of dicts")
    return [_node_parts(f"nodes[{at}]", node) for at, node in enumerate(nodes)]


def edge_parts(edges: Iterable[Edge | Mapping[str, Any]]) -> list[EdgeParts]:
    """Edges as the extension module takes them."""
    if isinstance(edges, (str, bytes, Mapping, Edge)) or not isinstance(edges, Iterable):
        raise InvalidError(f"edges is of type {type(edges).__name__}; give a list of edges, or of dicts")
    return [_edge_parts(f"edges[{at}]", edge) for at, edge in enumerate(edges)]


def edge_ids(edges: Iterable[Edge | EdgeId]) -> list[EdgeId]:
    """Which edges: each an edge, or source, type and target."""
    if isinstance(edges, (str, bytes, Mapping, Edge)) or not isinstance(edges, Iterable):
        raise InvalidError(f"edges is of type {type(edges).__name__}; give a list of edges")
    return [_edge_id(f"edges[{at}]", edge) for at, edge in enumerate(edges)]


def types(given: str | Iterable[str] | None) -> list[str]:
    """One type or several; None for all. An empty list is an error: it would find nothing."""
    if given is None:
        return []
    found = [given] if isinstance(given, str) else [arguments.text("types", one) for one in given]
    if not found:
        raise InvalidError("types is empty, so nothing would be found; leave it out for all types")
    return [arguments.text("types", one) for one in found]


def _fields(name: str, given: Mapping[str, Any], known: tuple[str, ...]) -> Mapping[str, Any]:
    if unknown := [repr(key) for key in given if key not in known]:
        raise InvalidError(f"{name} has {', '.join(unknown)}; it may have {', '.join(known)}")
    return given


def _node_parts(name: str, node: object) -> NodeParts:
    if isinstance(node, Mapping):
        given = _fields(name, node, ("id", "type", "properties"))
        node = Node(given.get("id", ""), given.get("type", ""), given.get("properties") or {})
    if not isinstance(node, Node):
        raise InvalidError(f"{name} is of type {type(node).__name__}; give a Node or a dict")
    return (
        arguments.text(f"{name}.id", node.id),
        arguments.text(f"{name}.type", node.type),
        _properties(name, node.properties),
    )


def _edge_parts(name: str, edge: object) -> EdgeParts:
    if isinstance(edge, Mapping):
        given = _fields(name, edge, ("source", "type", "target", "weight", "properties"))
        ends = (given.get("source", ""), given.get("type", ""), given.get("target", ""))
        edge = Edge(*ends, given.get("weight", 1.0), given.get("properties") or {})
    if not isinstance(edge, Edge):
        raise InvalidError(f"{name} is of type {type(edge).__name__}; give an Edge or a dict")
    weight = arguments.optional_real(f"{name}.weight", edge.weight)
    ends = _edge_id(name, edge)
    return (*ends, 1.0 if weight is None else weight, _properties(name, edge.properties))


def _edge_id(name: str, edge: object) -> EdgeId:
    if isinstance(edge, Edge):
        edge = (edge.source, edge.type, edge.target)
    if not isinstance(edge, (tuple, list)) or len(edge) != 3:
        raise InvalidError(f"{name}={edge!r}; give an Edge, or source, type and target")
    source, kind, target = edge
    return (
        arguments.text(f"{name}.source", source),
        arguments.text(f"{name}.type", kind),
        arguments.text(f"{name}.target", target),
    )


def _properties(name: str, given: object) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise InvalidError(f"{name}: its properties are of type {type(given).__name__}; give a dict")
    return dict(given)
