"""Iterating over the pages of an answer.

What it is: the loop behind every iteration over keys, records, nodes and edges, and the same for pages that are awaited.
What it is not: for listings whose pages have more than their entries and a cursor.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Protocol, TypeVar

T_co = TypeVar("T_co", covariant=True)


class Page(Protocol[T_co]):
    """Part of a listing; ``cursor`` continues it, and is None at the end."""

    cursor: str | None

    def __iter__(self) -> Iterator[T_co]: ...


def all_of(page: Page[T_co], further: Callable[[str], Page[T_co]]) -> Iterator[T_co]:
    """Yields the entries of ``page`` and of the pages after it; ``further`` reads the page at a cursor."""
    yield from page
    while page.cursor is not None:
        page = further(page.cursor)
        yield from page


async def all_awaited(page: Callable[[str | None], Awaitable[Page[T_co]]]) -> AsyncIterator[T_co]:
    """Yields the entries of all pages. ``page`` reads the page at a cursor (None: the first)."""
    cursor: str | None = None
    while True:
        held = await page(cursor)
        for one in held:
            yield one
        if (cursor := held.cursor) is None:
            return
