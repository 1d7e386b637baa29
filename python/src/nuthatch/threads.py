"""Calls of the awaited API, in threads: the event loop runs on while the engine works."""

from __future__ import annotations

from collections.abc import Callable, Generator
from types import TracebackType
from typing import Any, Generic, ParamSpec, Protocol, TypeVar

from . import _core
from .cores import OverHttp

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """``call`` in a thread."""
    import asyncio

    return await asyncio.to_thread(call, *args, **kwargs)


async def cancellable(call: Callable[[_core.CancelFlag], T], *, of: object = None) -> T:
    """``call`` in a thread. Cancelling the task sets the flag, and waits for the thread, which soon ends; where ``of``
    asks a server, its request is cut off, and no one waits for the thread.
    """
    import asyncio

    cancel = _core.CancelFlag()
    work = asyncio.ensure_future(asyncio.to_thread(call, cancel))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        cancel.set()
        # No one needs the call's outcome any more.
        work.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        if not isinstance(of, OverHttp):
            await asyncio.wait([work])
        raise


class Entered(Protocol):
    """The object that ``async with`` enters."""

    async def __aexit__(
        self, kind: type[BaseException] | None, exception: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends it."""


S = TypeVar("S")
A = TypeVar("A", bound=Entered)


class Entering(Generic[S, A]):
    """An object that starts when it is awaited or entered with ``async with``."""

    __slots__ = ("_begin", "_begun", "_wrap")

    def __init__(self, begin: Callable[[], S], wrap: Callable[[S], A]) -> None:
        self._begin = begin
        self._wrap = wrap
        self._begun: A | None = None

    def __await__(self) -> Generator[Any, None, A]:
        return self._start().__await__()

    async def _start(self) -> A:
        return self._wrap(await in_thread(self._begin))

    async def __aenter__(self) -> A:
        self._begun = await self._start()
        return self._begun

    async def __aexit__(
        self, kind: type[BaseException] | None, exception: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._begun is not None:
            await self._begun.__aexit__(kind, exception, trace)
