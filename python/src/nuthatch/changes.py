"""Changes of fields, as callers give them, in the engine's form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from . import arguments
from .errors import InvalidError

#: Values to set, to add and to remove, each by path; paths to unset.
ChangeParts: TypeAlias = "tuple[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any], list[str]]"
#: Fields by path; of ``add`` and ``remove``, one value or a list of them.
Fields: TypeAlias = "Mapping[str, Any]"

_PARTS = ("set", "add", "remove", "unset")


def change(
    set: Fields | None = None,
    add: Fields | None = None,
    remove: Fields | None = None,
    unset: str | Iterable[str] = (),
) -> ChangeParts:
    """One change.

    >>> change({"state": "read"}, add={"tags": "urgent"}, unset="draft")
    ({'state': 'read'}, {'tags': ['urgent']}, {}, ['draft'])
    """
    return _fields("set", set), _lists("add", add), _lists("remove", remove), arguments.texts("unset", unset)


def of_file(tags: str | Iterable[str], payload: Fields | None) -> ChangeParts | None:
    """The change that ``add`` makes to files; None if there is none."""
    names = arguments.texts("tags", tags)
    if not names and not payload:
        return None
    return change(payload, {"tags": names} if names else None)


def several(changes: Iterable[Mapping[str, Any]]) -> list[tuple[list[str], ChangeParts]]:
    """Changes of records, each a dict with ``id`` or ``ids`` and any of ``set``, ``add``, ``remove`` and ``unset``."""
    found = []
    for at, one in enumerate(changes):
        if not isinstance(one, Mapping):
            raise InvalidError(
                f"changes[{at}]={one!r} is not a dict, such as {{'id': 'a1', 'set': {{'state': 'read'}}}}"
            )
        if unknown := [name for name in one if name not in ("id", "ids", *_PARTS)]:
            raise InvalidError(
                f"changes[{at}] has {unknown[0]!r}; it may have 'id' or 'ids', and {', '.join(map(repr, _PARTS))}"
            )
        if ("id" in one) == ("ids" in one):
            raise InvalidError(f"changes[{at}] needs 'id' or 'ids', one of the two")
        ids = arguments.ids(one["ids"]) if "ids" in one else [arguments.text("id", one["id"])]
        found.append((ids, change(**{name: one[name] for name in _PARTS if name in one})))
    return found


def _fields(name: str, fields: Fields | None) -> dict[str, Any]:
    if fields is None:
        return {}
    if not isinstance(fields, Mapping):
        raise InvalidError(f"{name}={fields!r} is not a dict of fields, such as {name}={{'state': 'read'}}")
    return dict(fields)


def _lists(name: str, fields: Fields | None) -> dict[str, Any]:
    def listed(value: object) -> object:
        return list(value) if isinstance(value, (list, tuple, frozenset)) else [value]

    return {field: listed(value) for field, value in _fields(name, fields).items()}
