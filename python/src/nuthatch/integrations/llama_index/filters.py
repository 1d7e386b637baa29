"""LlamaIndex' metadata filters as conditions."""

from __future__ import annotations

from typing import Any

from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

from ...errors import InvalidError
from ..conditions import All, Condition, Either, Not, Test, equals, listed, path

_COMPARISONS: dict[FilterOperator, Any] = {
    FilterOperator.GT: ">",
    FilterOperator.GTE: ">=",
    FilterOperator.LT: "<",
    FilterOperator.LTE: "<=",
}


def condition(filters: MetadataFilters | None) -> Condition | None:
    """The filters of a query."""
    if filters is None or not filters.filters:
        return None
    parts = tuple(_one(part) for part in filters.filters)
    match filters.condition:
        case FilterCondition.OR:
            return Either(parts)
        case FilterCondition.NOT:
            # None of them holds.
            return Not(Either(parts))
    return All(parts)


def _one(part: MetadataFilter | MetadataFilters) -> Condition:
    if isinstance(part, MetadataFilters):
        return condition(part) or All(())
    field, value = path(part.key), part.value
    if part.operator in _COMPARISONS:
        return Test(field, _COMPARISONS[part.operator], value)
    match part.operator:
        case FilterOperator.EQ:
            return equals(field, value)
        case FilterOperator.NE:
            return Not(equals(field, value))
        case FilterOperator.IN | FilterOperator.ANY:
            return Test(field, "in", listed(part.operator.value, value))
        case FilterOperator.NIN:
            return Not(Test(field, "in", listed("nin", value)))
        case FilterOperator.ALL:
            return All(tuple(Test(field, "contains", wanted) for wanted in listed("all", value)))
        case FilterOperator.CONTAINS:
            return Test(field, "contains", value)
        case FilterOperator.IS_EMPTY:
            return Not(Test(field, "exists"))
        case FilterOperator.TEXT_MATCH if isinstance(value, str) and not set(value) & set("%_"):
            return Test(field, "like", f"%{value}%")
    raise InvalidError(
        f"a filter on {part.key!r} has the operator {part.operator.value!r} with {value!r}, which the where language cannot say;"
        " it can say == != > >= < <= in nin any all contains is_empty, and text_match of a text without % and _"
    )
