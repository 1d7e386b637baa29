"""Finds the namespaces of a store by jumping from one to the next, without reading items."""

from __future__ import annotations

from collections.abc import Iterator

from langgraph.store.base import ListNamespacesOp, MatchCondition

from ...kv import Keyspace
from . import items
from .items import Namespace


def listed(kv: Keyspace, op: ListNamespacesOp) -> list[Namespace]:
    """Returns the namespaces that match an operation, in order."""
    conditions = op.match_conditions or ()
    found: set[Namespace] = set()
    for namespace in _all(kv, _common(conditions)):
        if all(_matches(condition, namespace) for condition in conditions):
            found.add(namespace if op.max_depth is None else namespace[: op.max_depth])
    return sorted(found)[op.offset : op.offset + op.limit]


def _all(kv: Keyspace, below: Namespace) -> Iterator[Namespace]:
    prefix = items.prefix(below)
    start: bytes | None = None
    while page := kv.scan(prefix=prefix, start=start, limit=1, keys_only=True):
        namespace, _ = items.named(page.keys[0])
        yield namespace
        start = items.after(namespace)


def _common(conditions: tuple[MatchCondition, ...]) -> Namespace:
    """Returns the labels that all requested namespaces start with."""
    for condition in conditions:
        if condition.match_type == "prefix":
            path = tuple(condition.path)
            return path[: path.index("*")] if "*" in path else path
    return ()


def _matches(condition: MatchCondition, namespace: Namespace) -> bool:
    path = tuple(condition.path)
    if len(path) > len(namespace):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))
