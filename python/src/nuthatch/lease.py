"""Leases on missing answers: one caller computes, and the others wait for its answer.

What it is: the waiting of ``Cache.get_or_compute`` and its awaited twin.
What it is not: a lock. A lease ends by its time, so that nobody waits for a process that has died.
Invariant: a lease that was granted ends with an answer that is stored, or is given back.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .answers import CacheHit
from .errors import InvalidError

if TYPE_CHECKING:
    from .cache import Cache

#: How long one call waits. Whoever waits longer asks again.
_STEP_SECONDS = 2.0


class Lease:
    """The wish of one caller to compute an answer unless somebody else does.

    ``wait`` returns the answer that somebody else computed, or None: then the answer is computed within ``with``.
    """

    __slots__ = ("_asked", "_cache", "_granted", "seconds")

    def __init__(
        self,
        cache: Cache,
        prompt: str,
        scope: Mapping[str, str] | None,
        user: str | None,
        seconds: timedelta | float,
    ) -> None:
        seconds = seconds.total_seconds() if isinstance(seconds, timedelta) else seconds
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds <= 3600:
            raise InvalidError(f"lease={seconds!r} is not a number of seconds above 0 and up to 3600")
        self._cache = cache
        #: How long it lasts.
        self.seconds: float = float(seconds)
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

    def wait(self) -> CacheHit | None:
        """Waits for whoever computes, as long as a lease lasts. Then the caller computes, too."""
        until = time.monotonic() + self.seconds
        while True:
            left = until - time.monotonic()
            done, hit = self.look(min(max(left, 0.0), _STEP_SECONDS))
            if done or left <= 0:
                return hit

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
