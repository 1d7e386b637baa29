"""Calls of the awaited API, in threads: the event loop runs on while the engine works."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from . import _core

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """``call`` in a thread."""
    import asyncio

    return await asyncio.to_thread(call, *args, **kwargs)


async def cancellable(call: Callable[[_core.CancelFlag], T]) -> T:
    """``call`` in a thread. Cancelling the task sets the flag, and waits for the thread to end, which it soon does."""
    import asyncio

    cancel = _core.CancelFlag()
    work = asyncio.ensure_future(asyncio.to_thread(call, cancel))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        cancel.set()
        await asyncio.wait([work])
        if not work.cancelled():
            work.exception()  # what the call has come to is no longer asked for
        raise
