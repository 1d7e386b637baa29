"""LangChain's filters as conditions: ``{"year": {"$gte": 2024}, "team": "core"}``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import InvalidError
from ..conditions import All, Condition, Either, Not, Test, equals, listed, path

_COMPARISONS: dict[str, Any] = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_OPERATORS = (
    *("$eq", "$ne", *_COMPARISONS, "$in", "$nin", "$between", "$exists", "$like", "$contains", "$not"),
    *("$and", "$or"),
)


def condition(filter: object) -> Condition | str | None:
    """The filter of a search: a dict, a text in the ``where`` language, or None."""
    if filter is None or isinstance(filter, str):
        return filter or None
    if not isinstance(filter, Mapping):
        raise InvalidError(
            f"filter is of type {type(filter).__name__}; give a dict such as {{'year': {{'$gte': 2024}}}},"
            ' or a text such as "year >= 2024"'
        )
    return _of(filter) if filter else None


def _of(filter: Mapping[Any, Any]) -> Condition:
    return _joined([_entry(name, value) for name, value in filter.items()])


def _entry(name: object, value: object) -> Condition:
    if name in ("$and", "$or"):
        if not isinstance(value, (list, tuple)) or not all(isinstance(part, Mapping) for part in value):
            raise InvalidError(f"{name} is given {value!r}; give a list of filters")
        parts = tuple(_of(part) for part in value)
        return All(parts) if name == "$and" else Either(parts)
    if name == "$not":
        if not isinstance(value, Mapping):
            raise InvalidError(f"$not is given {value!r}; give a filter")
        return Not(_of(value))
    if isinstance(name, str) and name.startswith("$"):
        raise _unknown(name)
    field = path(name)
    if not isinstance(value, Mapping):
        return equals(field, value)
    return _joined([_test(field, operator, operand) for operator, operand in value.items()])


def _test(field: tuple[str, ...], operator: object, value: Any) -> Condition:
    if operator in _COMPARISONS:
        return Test(field, _COMPARISONS[operator], value)
    match operator:
        case "$eq":
            return equals(field, value)
        case "$ne":
            return Not(equals(field, value))
        case "$in":
            return Test(field, "in", listed("$in", value))
        case "$nin":
            return Not(Test(field, "in", listed("$nin", value)))
        case "$between":
            bounds = listed("$between", value)
            if len(bounds) != 2:
                raise InvalidError(f"$between is given {value!r}; give the lowest and the highest")
            return All((Test(field, ">=", bounds[0]), Test(field, "<=", bounds[1])))
        case "$exists":
            return Test(field, "exists") if value else Not(Test(field, "exists"))
        case "$like":
            return Test(field, "like", value)
        case "$contains":
            return Test(field, "contains", value)
        case "$not" if isinstance(value, Mapping):
            return Not(_joined([_test(field, inner, operand) for inner, operand in value.items()]))
    raise _unknown(operator)


def _joined(parts: list[Condition]) -> Condition:
    return parts[0] if len(parts) == 1 else All(tuple(parts))


def _unknown(operator: object) -> InvalidError:
    return InvalidError(f"a filter has the operator {operator!r}; there are {', '.join(_OPERATORS)}")
