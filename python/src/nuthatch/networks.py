"""Paths, ranks and groups of graphs and of facts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from . import arguments
from .nodes import Direction

#: What an edge costs: 1, its weight, or 1 divided by it.
Cost: TypeAlias = Literal["hops", "weight", "strength"]


class PathStep(NamedTuple):
    """An edge of a path, in the direction in which it is gone."""

    source: str
    type: str
    target: str
    weight: float
    #: The edge leads the other way.
    reversed: bool
    #: The number of the fact that says so; None in graphs.
    fact: int | None


@dataclass(frozen=True, slots=True)
class Path:
    """A path between two nodes, which meets no node twice."""

    #: The sum of its edges' costs.
    cost: float
    steps: tuple[PathStep, ...]

    @property
    def nodes(self) -> list[str]:
        """The nodes from its beginning to its end; none when it has no step."""
        return [step.source for step in self.steps] + [step.target for step in self.steps[-1:]]


@dataclass(frozen=True, slots=True)
class Paths:
    """Paths, the cheapest first."""

    paths: tuple[Path, ...]
    #: The search ended early: there may be further, and cheaper paths.
    truncated: bool


class Ranked(NamedTuple):
    """A node and its rank; all ranks sum up to 1."""

    id: str
    rank: float


class NodeGroup(NamedTuple):
    """Nodes that belong together."""

    size: int
    #: The first of them by id.
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NodeGroups:
    """Groups, the largest first."""

    groups: tuple[NodeGroup, ...]
    groups_total: int
    #: Of communities: how many more edges they have inside than by chance, below 1.
    modularity: float | None


class _Asked(Protocol):
    def ask(self, call: str, question: str) -> str: ...


def types_of(types: str | Iterable[str] | None) -> list[str]:
    """Types of edges as the engine takes them."""
    if types is None:
        return []
    return [types] if isinstance(types, str) else [arguments.text("types", type) for type in types]


def paths(
    core: _Asked,
    source: str,
    target: str,
    *,
    direction: Direction,
    types: str | Iterable[str] | None,
    cost: Cost,
    count: int,
    max_steps: int,
    **more: Any,
) -> Paths:
    """The cheapest paths."""
    question = {
        "from": arguments.text("source", source),
        "to": arguments.text("target", target),
        "direction": direction,
        "types": types_of(types),
        "cost": cost,
        "count": arguments.whole("count", count),
        "max_steps": arguments.whole("max_steps", max_steps),
    }
    found = _ask(core, "paths", question, more)
    path = [
        Path(
            one["cost"],
            tuple(
                PathStep(step["from"], step["type"], step["to"], step["weight"], step["reversed"], step.get("fact"))
                for step in one["steps"]
            ),
        )
        for one in found["paths"]
    ]
    return Paths(tuple(path), found["truncated"])


def rank(
    core: _Asked,
    *,
    seeds: Iterable[str],
    direction: Direction,
    types: str | Iterable[str] | None,
    damping: float,
    limit: int,
    **more: Any,
) -> list[Ranked]:
    """The nodes that matter most."""
    question = {
        "seeds": [seeds] if isinstance(seeds, str) else [arguments.text("seeds", seed) for seed in seeds],
        "direction": direction,
        "types": types_of(types),
        "damping": damping,
        "limit": arguments.whole("limit", limit),
    }
    return [Ranked(one["id"], one["rank"]) for one in _ask(core, "rank", question, more)["nodes"]]


def groups(
    core: _Asked,
    by: Literal["components", "communities"],
    *,
    types: str | Iterable[str] | None,
    limit: int,
    members: int,
    **more: Any,
) -> NodeGroups:
    """The nodes that belong together."""
    question = {
        "by": by,
        "types": types_of(types),
        "limit": arguments.whole("limit", limit),
        "members": arguments.whole("members", members),
    }
    found = _ask(core, "groups", question, more)
    named = (NodeGroup(one["size"], tuple(one["members"])) for one in found["groups"])
    return NodeGroups(tuple(named), found["groups_total"], found["modularity"])


def _ask(core: _Asked, call: str, question: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    import json

    question.update((name, value) for name, value in more.items() if value is not None)
    answer: dict[str, Any] = json.loads(core.ask(call, json.dumps(question)))
    return answer
