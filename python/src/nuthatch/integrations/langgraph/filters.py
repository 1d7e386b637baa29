"""Filters of a store: their meaning, and the part of it that the collection can evaluate.

``matches`` decides. ``condition`` passes whatever ``matches`` passes, and usually nothing else: it keeps a search from walking
through records that do not match.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import InvalidError
from ..conditions import All, Condition, Either, Not, Test
from .items import Namespace, is_name, label_path, plain_value

_COMPARISONS: dict[str, Any] = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_OPERATORS = ("$eq", "$ne", *_COMPARISONS)


def matches(value: Mapping[str, Any], filter: Mapping[str, Any] | None) -> bool:
    """Returns whether an item's value matches: every entry equals the operand, or satisfies its operator."""
    return all(_passes(value.get(name), wanted) for name, wanted in (filter or {}).items())


def checked(filter: Mapping[str, Any] | None) -> None:
    """Refuses unknown operators, even if nothing is stored yet."""
    for wanted in (filter or {}).values():
        if isinstance(wanted, Mapping):
            for operator in wanted:
                if isinstance(operator, str) and operator.startswith("$") and operator not in _OPERATORS:
                    raise InvalidError(f"a filter has the operator {operator!r}; there are {', '.join(_OPERATORS)}")


def condition(namespace: Namespace, filter: Mapping[str, Any] | None) -> Condition | None:
    """Returns the part of the filter that the collection evaluates."""
    parts: list[Condition] = []
    if namespace:
        parts.append(Test(("under",), "=", label_path(namespace)))
    for name, wanted in (filter or {}).items():
        if is_name(name):
            operators = wanted if _is_operators(wanted) else {"$eq": wanted}
            parts += [
                Either((test, Test(("partial",), "=", True)))
                for operator, operand in operators.items()
                if (test := _test(("value", name), operator, operand)) is not None
            ]
    return All(tuple(parts)) if parts else None


def _test(path: tuple[str, ...], operator: str, operand: object) -> Condition | None:
    plain = plain_value(operand)
    if plain is None:
        return None
    if operator in _COMPARISONS:
        return Test(path, _COMPARISONS[operator], plain)
    # Values that are not plain are not in the payload, and so pass the test of being unlike.
    return Test(path, "=", plain) if operator == "$eq" else Not(Test(path, "=", plain))


def _passes(found: Any, wanted: Any) -> bool:
    if _is_operators(wanted):
        return all(_holds(found, operator, operand) for operator, operand in wanted.items())
    return _equal(found, wanted)


def _is_operators(wanted: object) -> bool:
    return isinstance(wanted, Mapping) and any(isinstance(name, str) and name.startswith("$") for name in wanted)


def _holds(found: Any, operator: str, operand: Any) -> bool:
    if operator in ("$eq", "$ne"):
        return _equal(found, operand) is (operator == "$eq")
    if not (_is_number(found) and _is_number(operand)) and not (isinstance(found, str) and isinstance(operand, str)):
        return False
    match operator:
        case "$gt":
            return bool(found > operand)
        case "$gte":
            return bool(found >= operand)
        case "$lt":
            return bool(found < operand)
        case "$lte":
            return bool(found <= operand)
    raise InvalidError(f"a filter has the operator {operator!r}; there are {', '.join(_OPERATORS)}")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _equal(found: Any, wanted: Any) -> bool:
    """Compares as JSON: a map must contain the wanted entries, and true is not 1."""
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(_passes(found.get(name), part) for name, part in wanted.items())
    if isinstance(wanted, (list, tuple)):
        is_list = isinstance(found, (list, tuple)) and len(found) == len(wanted)
        return is_list and all(map(_equal, found, wanted))
    return isinstance(found, bool) is isinstance(wanted, bool) and bool(found == wanted)
