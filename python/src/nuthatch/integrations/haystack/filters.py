"""Haystack's filters as conditions: ``{"field": "meta.year", "operator": ">=", "value": 2024}``."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from haystack.errors import FilterError

from ..conditions import All, Condition, Either, Not, Test, equals

_META = "meta."
#: Fields of a document outside its metadata, which the where language cannot see.
_NOT_FILTERED = ("id", "content", "blob", "score", "embedding", "sparse_embedding", "meta")
_ORDERED = (">", ">=", "<", "<=")
_OPERATORS = ("==", "!=", *_ORDERED, "in", "not in")


def condition(filters: Mapping[str, Any] | None) -> Condition | None:
    """The filters of a call; an empty dict means no filters."""
    return _of(filters) if filters else None


def _of(filters: object) -> Condition:
    if not isinstance(filters, Mapping):
        raise FilterError(f"a filter is of type {type(filters).__name__}; give a dict with field, operator and value")
    if "field" in filters:
        return _comparison(filters)
    operator = _part(filters, "operator")
    conditions = _part(filters, "conditions")
    if not isinstance(conditions, (list, tuple)):
        raise FilterError(f"conditions is of type {type(conditions).__name__}; give a list of filters")
    parts = tuple(map(_of, conditions))
    match operator:
        case "AND":
            return All(parts)
        case "OR":
            return Either(parts)
        case "NOT":
            return Not(All(parts))
    raise FilterError(f"a filter has the operator {operator!r} with conditions; there are 'AND', 'OR' and 'NOT'")


def _comparison(filters: Mapping[str, Any]) -> Condition:
    field, operator, value = path(filters["field"]), _part(filters, "operator"), _part(filters, "value")
    match operator:
        case "==":
            return equals(field, value)
        case "!=":
            return Not(equals(field, value))
        case ">" | ">=" | "<" | "<=":
            return _ordered(field, operator, value)
        case "in":
            return Test(field, "in", _values(operator, value))
        case "not in":
            return Not(Test(field, "in", _values(operator, value)))
    raise FilterError(f"a filter has the operator {operator!r}; there are {', '.join(_OPERATORS)}")


def _ordered(field: tuple[str, ...], operator: Any, value: object) -> Condition:
    if value is None:
        return Either(())  # nothing is more or less than nothing
    if isinstance(value, str):
        try:
            datetime.fromisoformat(value)
        except ValueError:
            raise FilterError(
                f"{operator} is given the text {value!r}; numbers and dates (ISO 8601) have an order here"
            ) from None
    elif isinstance(value, (list, tuple, set, dict)):
        raise FilterError(f"{operator} is given {value!r}; give one number or date")
    return Test(field, operator, value)


def _values(operator: str, value: object) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise FilterError(f"{operator} is given {value!r} of type {type(value).__name__}; give a list")
    return tuple(value)


def path(field: object) -> tuple[str, ...]:
    """The payload field of a name, with or without the prefix ``meta.``."""
    if not isinstance(field, str) or field in _NOT_FILTERED:
        raise FilterError(f"a filter names the field {field!r}; fields of a document's meta can be filtered by")
    return tuple(field.removeprefix(_META).split("."))


def _part(filters: Mapping[str, Any], name: str) -> Any:
    if name not in filters:
        raise FilterError(f"the filter {dict(filters)!r} has no {name!r}")
    return filters[name]
