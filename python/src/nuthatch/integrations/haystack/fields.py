"""Queries about the fields of documents' meta: their types, bounds and distinct values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from .filters import path

#: Our kinds by the framework's names of types.
_TYPES = {"bool": "boolean", "int": "int", "float": "float"}


def name(field: str) -> str:
    """A field's name without ``meta.``."""
    return ".".join(path(field))


def type_of(kinds: Iterable[str]) -> str:
    """The framework's name for what a field holds."""
    found = [_TYPES.get(kind, "keyword") for kind in kinds]
    return found[0] if len(set(found)) == 1 else "keyword"


def value(payload: Mapping[str, Any], field: str) -> Any:
    """A field's value, of nested ones, too."""
    found: Any = payload
    for part in path(field):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def bounds(values: Iterable[Any]) -> dict[str, Any]:
    """The least and the greatest; of values that have no order among them, neither."""
    found = [value for value in values if isinstance(value, (int, float, str))]
    try:
        return {"min": min(found, default=None), "max": max(found, default=None)}
    except TypeError:
        return {"min": None, "max": None}


def different(values: Iterable[Any]) -> list[Any]:
    """Each value once, in the order of their texts; 1, 1.0, "1" and True are four."""
    found: dict[tuple[str, str, str], Any] = {}
    for value in values:
        if value is not None:
            as_json = json.dumps(value, sort_keys=True, default=str)
            found.setdefault((str(value), type(value).__name__, as_json), value)
    return [found[key] for key in sorted(found)]
