"""How durable a write is to be."""

from __future__ import annotations

from .. import _core


def checked(durability: str | None) -> str | None:
    """A known durability, or None for the server's default."""
    if durability is not None:
        _core.check_durability(durability)
    return durability
