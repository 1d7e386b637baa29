"""Checks the object that an integration works on, when it is passed and not when it is first used."""

from __future__ import annotations

from typing import Any, TypeVar

from ..errors import InvalidError

T = TypeVar("T")


def waiting(name: str, value: T, kind: type[Any]) -> T:
    """``value``, unless it is the awaited twin of what is needed: its calls would give coroutines where answers are expected.

    >>> import nuthatch
    >>> database = nuthatch.connect(":memory:")
    >>> waiting("database", database, nuthatch.Database) is database
    True
    >>> waiting("database", nuthatch.AsyncDatabase(database), nuthatch.Database)
    Traceback (most recent call last):
    nuthatch.errors.InvalidError: database is an AsyncDatabase; give its `sync`, which is the Database underneath
    >>> database.close()
    """
    if not isinstance(value, kind) and isinstance(getattr(value, "sync", None), kind):
        made = type(value).__name__
        raise InvalidError(f"{name} is an {made}; give its `sync`, which is the {kind.__name__} underneath")
    return value
