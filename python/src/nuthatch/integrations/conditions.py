"""Filters of the frameworks as conditions, and conditions as text of the ``where`` language.

A condition is a tree of ``Test``, ``All``, ``Either`` and ``Not``. The language refuses a field that no record has had, and a value
of a kind that the field has never held, because in a filter typed by hand these are slips. For a framework they are ordinary:
such a test is then written as ``false``, which is what it comes to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from ..errors import InvalidError

T = TypeVar("T")

Operator: TypeAlias = Literal["=", "<", "<=", ">", ">=", "in", "contains", "like", "exists"]
Fields: TypeAlias = Mapping[str, Sequence[str]]
"""Fields of a collection with the kinds of their values, as ``CollectionInfo.fields``."""

#: The field kinds that a Python type can be compared with; a text compared with a datetime is parsed.
_KINDS: tuple[tuple[type | tuple[type, ...], tuple[str, ...]], ...] = (
    (bool, ("bool",)),
    ((int, float), ("int", "float")),
    (str, ("text", "datetime")),
    ((datetime, date), ("datetime",)),
)


@dataclass(frozen=True, slots=True)
class Test:
    """A test of one field, named by a path of names. "in" takes a sequence; "exists" ignores its value."""

    # Not one of pytest's.
    __test__ = False

    path: tuple[str, ...]
    operator: Operator
    value: Any = None


@dataclass(frozen=True, slots=True)
class All:
    """True if all of these hold, or if there are none."""

    of: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """True if one of these holds."""

    of: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """True if the condition does not hold."""

    of: Condition


Condition: TypeAlias = "Test | All | Either | Not"


class Described(Protocol):
    """An object that knows its fields, such as a collection."""

    def info(self) -> Any:
        """A ``CollectionInfo``."""


def filtered(collection: Described, condition: Condition | str | None, ask: Callable[[str | None], T]) -> T:
    """``ask`` with the condition's text. If refused, asks again with it adapted to the collection's fields.

    A text is passed on unchanged, and errors in it are raised: its author can correct them.
    """
    if condition is None or isinstance(condition, str):
        return ask(condition)
    plain = text(condition)
    try:
        return ask(plain)
    except InvalidError:
        known = text(condition, collection.info().fields)
        if known == plain:
            raise
        return ask(known)


def text(condition: Condition, fields: Fields | None = None) -> str:
    """The condition in the ``where`` language; with ``fields``, tests that can never hold are ``false``.

    >>> text(All((Test(("team",), "=", "o'core"), Not(Test(("meta", "odd name"), "in", [1, 2.5])))))
    '("team" = \\'o\\'\\'core\\' and not ("meta"."odd name" in (1, 2.5)))'
    >>> text(Test(("year",), ">=", 2024), {"team": ["text"]})
    'false'
    """
    if isinstance(condition, Test):
        return _test(condition, fields)
    if isinstance(condition, Not):
        return f"not ({text(condition.of, fields)})"
    empty, word = ("true", " and ") if isinstance(condition, All) else ("false", " or ")
    parts = [text(part, fields) for part in condition.of]
    return f"({word.join(parts)})" if parts else empty


def _test(test: Test, fields: Fields | None) -> str:
    name = field(test.path)
    kinds = None if fields is None else fields.get(".".join(test.path), ())
    if test.operator == "exists":
        return "false" if kinds is not None and not kinds else f"{name} is not null"
    if test.operator == "in":
        values = [value for value in test.value if _may_be(value, kinds)]
        return f"{name} in ({', '.join(map(literal, values))})" if values else "false"
    if not _may_be(test.value, kinds):
        return "false"
    return f"{name} {test.operator} {literal(test.value)}"


def _may_be(value: object, kinds: Sequence[str] | None) -> bool:
    """Returns whether a field of these kinds can be compared with the value."""
    if kinds is None:
        return True
    return any(kind in kinds for type_, found in _KINDS if isinstance(value, type_) for kind in _strict(value, found))


def _strict(value: object, kinds: tuple[str, ...]) -> tuple[str, ...]:
    # A bool is an int to Python, and none to the language.
    return ("bool",) if isinstance(value, bool) else kinds


def field(path: Sequence[str]) -> str:
    """A field's name, each part in quotes.

    >>> print(field(("meta", 'the "best" of')))
    "meta"."the ""best"" of"
    """
    if not path or not all(path):
        raise InvalidError(f"a filter names the field {'.'.join(path)!r}; names are not empty")
    return ".".join('"' + part.replace('"', '""') + '"' for part in path)


def literal(value: object) -> str:
    """A value as the language writes it.

    >>> [literal(value) for value in ("it's", True, 3, 1e30, datetime(2025, 1, 31, 12))]
    ["'it''s'", 'true', '3', '1e+30', "timestamp '2025-01-31T12:00:00'"]
    """
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        # Compares with the floats that such numbers are stored as, and with no integer.
        value = float(value)
    if isinstance(value, int):
        return repr(int(value))
    if isinstance(value, float) and math.isfinite(value):
        return repr(float(value))
    if isinstance(value, (datetime, date)):
        return f"timestamp '{value.isoformat()}'"
    raise InvalidError(
        f"a filter compares with {value!r} of type {type(value).__name__}; give a text, a finite number, a bool or a datetime"
    )


def path(name: object) -> tuple[str, ...]:
    """A field's name in the frameworks' notation, with dots between nested names."""
    if not isinstance(name, str):
        raise InvalidError(f"a filter names the field {name!r} of type {type(name).__name__}; give a string")
    return tuple(name.split("."))


def equals(path: tuple[str, ...], value: object) -> Condition:
    """The field is equal to the value; ``None``: it is null or missing."""
    return Not(Test(path, "exists")) if value is None else Test(path, "=", value)


def listed(what: str, value: object) -> tuple[Any, ...]:
    """The values of an "in"."""
    if not isinstance(value, (list, tuple, set, frozenset)):
        raise InvalidError(f"{what} is given {value!r} of type {type(value).__name__}; give a list")
    return tuple(value)
