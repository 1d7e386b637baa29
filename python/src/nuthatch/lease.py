"""Leases on missing answers: one caller computes, and the others wait for its answer.

What it is: the waiting of ``Cache.get_or_compute`` and its awaited twin, and the renewing while they compute.
What it is not: a lock. A lease ends by its time, so that nobody waits for a process that has died.
Invariant: a lease that was granted ends with an answer that is stored, or is given back. It is renewed for ``longest`` at most, so
that nobody waits for ever for a computation that hangs.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .answers import CacheHit
from .errors import InvalidError, NuthatchError
from .threads import in_thread

if TYPE_CHECKING:
    from .cache import Cache

_LOG = logging.getLogger("nuthatch")
#: How long one call waits. A caller that waits longer asks again.
_STEP_SECONDS = 2.0
#: A lease is renewed so often in its time: one renewal may fail, and the next still comes in time.
_RENEWALS = 3
#: Seconds, unless the caller says otherwise: of a lease, and of the longest computation.
LEASE, LONGEST = 15.0, 600.0
_LEASE_MAX, _LONGEST_MAX = 3600.0, 86_400.0


class Lease:
    """The wish of one caller to compute an answer unless somebody else does.

    ``wait`` returns the answer that somebody else computed, or None: then the answer is computed within ``with``, and there within
    ``renewed``.
    """

    __slots__ = ("_asked", "_cache", "_granted", "longest", "seconds")

    def __init__(
        self,
        cache: Cache,
        prompt: str,
        scope: Mapping[str, str] | None,
        user: str | None,
        seconds: timedelta | float,
        longest: timedelta | float,
    ) -> None:
        self._cache = cache
        #: How long it lasts, unless it is renewed.
        self.seconds: float = _seconds("lease", seconds, _LEASE_MAX)
        #: How long it is renewed.
        self.longest: float = _seconds("longest", longest, _LONGEST_MAX)
        self._granted = False
        self._asked: dict[str, Any] = {"prompt": prompt, "owner": uuid.uuid4().hex}
        if scope is not None:
            self._asked["scope"] = dict(scope)
        if user is not None:
            self._asked["user"] = user

    def look(self, wait: float) -> tuple[bool, CacheHit | None]:
        """Asks once. True when there is nothing to wait for: an answer, or the caller is to compute."""
        found = self._cache._ask("lease", {**self._asked, "lease": self.seconds, "wait": wait})
        self._granted = found["state"] == "granted"
        hit = found["hit"]
        return found["state"] != "held", None if hit is None else CacheHit(**hit)

    @property
    def patience(self) -> float:
        """How many seconds a caller waits for others. Then it computes, too."""
        return self.longest + self.seconds

    def wait(self) -> CacheHit | None:
        """Waits for whoever computes, as long as that may take. Then the caller computes, too."""
        until = time.monotonic() + self.patience
        while True:
            left = until - time.monotonic()
            done, hit = self.look(min(max(left, 0.0), _STEP_SECONDS))
            if done or left <= 0:
                return hit

    @contextlib.contextmanager
    def renewed(self) -> Iterator[None]:
        """Renews the lease from a thread of its own while the caller computes."""
        if not self._granted:
            yield
            return
        done = threading.Event()
        thread = threading.Thread(target=self._renew_until, args=(done,), name="nuthatch-lease")
        thread.start()
        try:
            yield
        finally:
            # A renewal that came after the answer, or after the lease was given back, would take the lease again.
            done.set()
            thread.join()

    def _renew_until(self, done: threading.Event) -> None:
        until = time.monotonic() + self.longest
        while not done.wait(self._pause(until - time.monotonic())) and time.monotonic() < until and self._renew():
            pass

    @contextlib.asynccontextmanager
    async def renewed_awaited(self) -> AsyncIterator[None]:
        """As ``renewed``, from a task: a thousand answers that are awaited take no threads."""
        import asyncio

        if not self._granted:
            yield
            return
        done = asyncio.Event()
        task = asyncio.ensure_future(self._renew_until_awaited(done))
        try:
            yield
        finally:
            done.set()
            await asyncio.shield(task)

    async def _renew_until_awaited(self, done: Any) -> None:
        import asyncio

        until = time.monotonic() + self.longest
        while time.monotonic() < until:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(done.wait(), self._pause(until - time.monotonic()))
            if done.is_set() or not await in_thread(self._renew):
                return

    def _pause(self, left: float) -> float:
        return max(0.0, min(self.seconds / _RENEWALS, left))

    def _renew(self) -> bool:
        """Asks for the lease again. False when there is none to renew: somebody has stored an answer, or has the lease by now."""
        try:
            self.look(0.0)
        except NuthatchError as error:
            # The computation goes on. If the database stays out of reach, storing its answer says so to whoever waits for it.
            _LOG.warning("A lease on an answer could not be renewed, so it may be computed twice: %s", error)
            return True
        return self._granted

    def give_back(self) -> None:
        """Lets the next who waits compute."""
        if self._granted:
            self._granted = False
            self._cache._ask("release", self._asked)

    def __enter__(self) -> Lease:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._granted = False  # the answer that was stored has ended it
        else:
            self.give_back()


def _seconds(name: str, value: timedelta | float, most: float) -> float:
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds <= most:
        raise InvalidError(f"{name}={value!r} is not a number of seconds above 0 and up to {most:.0f}")
    return float(seconds)
