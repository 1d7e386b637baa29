"""Caches to be awaited: the names, arguments and answers of ``Cache``."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, ParamSpec, TypeVar

from .answers import CacheAudit, CacheExplanation, CacheHit, CacheStats, Miss, Source, StoredAnswer
from .cache import Cache, Scope, Warmed, called
from .calibration import Calibration, LabelledPair, Target
from .threads import in_thread

P = ParamSpec("P")
T = TypeVar("T")


class AsyncCache:
    """``Cache`` whose calls are awaited. ``sync`` is the object underneath."""

    __slots__ = ("last_miss", "sync")

    def __init__(self, sync: Cache) -> None:
        self.sync = sync
        #: Why the last ``check`` of this object returned None.
        self.last_miss: Miss | None = None

    @property
    def name(self) -> str:
        """As ``Cache.name``."""
        return self.sync.name

    async def check(
        self, prompt: str, *, scope: Scope = None, vector: Sequence[float] | None = None
    ) -> CacheHit | None:
        """As ``Cache.check``. A judge runs in the thread of the call."""
        hit, self.last_miss = await in_thread(_checked, self.sync, prompt, scope, vector)
        return hit

    get = check

    async def store(
        self,
        prompt: str,
        response: Any,
        *,
        scope: Scope = None,
        vector: Sequence[float] | None = None,
        sources: Iterable[Source | Mapping[str, str] | tuple[str, str]] = (),
        tags: Iterable[str] = (),
        ttl: timedelta | float | None = None,
    ) -> StoredAnswer:
        """As ``Cache.store``."""
        return await in_thread(
            self.sync.store, prompt, response, scope=scope, vector=vector, sources=sources, tags=tags, ttl=ttl
        )

    put = store

    async def warm(
        self,
        pairs: Iterable[Warmed],
        *,
        scope: Scope = None,
        tags: Iterable[str] = (),
        ttl: timedelta | float | None = None,
    ) -> int:
        """As ``Cache.warm``."""
        return await in_thread(self.sync.warm, pairs, scope=scope, tags=tags, ttl=ttl)

    async def get_or_compute(
        self,
        prompt: str,
        compute: Callable[[], Awaitable[T]],
        *,
        scope: Scope = None,
        vector: Sequence[float] | None = None,
        sources: Iterable[Source | Mapping[str, str] | tuple[str, str]] = (),
        tags: Iterable[str] = (),
        ttl: timedelta | float | None = None,
    ) -> T:
        """As ``Cache.get_or_compute``, but ``compute`` is awaited, and tasks do not wait for each other."""
        hit = await self.check(prompt, scope=scope, vector=vector)
        if hit is not None:
            found: T = hit.response
            return found
        answer = await compute()
        await self.store(prompt, answer, scope=scope, vector=vector, sources=sources, tags=tags, ttl=ttl)
        return answer

    def cached(self, function: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
        """As ``Cache.cached``, for functions to be awaited."""

        @functools.wraps(function)
        async def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
            prompt, scope = called(args, kwargs)
            return await self.get_or_compute(prompt, lambda: function(*args, **kwargs), scope=scope)

        return wrapped

    async def report(self, hit: CacheHit, *, wrong: bool) -> bool:
        """As ``Cache.report``."""
        return await in_thread(self.sync.report, hit, wrong=wrong)

    async def audits(self, limit: int = 100) -> list[CacheAudit]:
        """As ``Cache.audits``."""
        return await in_thread(self.sync.audits, limit)

    async def explain(
        self, prompt: str, *, scope: Scope = None, vector: Sequence[float] | None = None
    ) -> CacheExplanation:
        """As ``Cache.explain``."""
        return await in_thread(self.sync.explain, prompt, scope=scope, vector=vector)

    async def invalidate(
        self,
        *,
        entry: int | None = None,
        tag: str | None = None,
        source: Source | Mapping[str, str] | tuple[str, str] | None = None,
        scope: Mapping[str, str] | None = None,
    ) -> int:
        """As ``Cache.invalidate``."""
        return await in_thread(self.sync.invalidate, entry=entry, tag=tag, source=source, scope=scope)

    async def clear(self) -> int:
        """As ``Cache.clear``."""
        return await in_thread(self.sync.clear)

    async def stats(self) -> CacheStats:
        """As ``Cache.stats``."""
        return await in_thread(self.sync.stats)

    async def calibrate(
        self,
        pairs: Iterable[LabelledPair],
        *,
        embed: Callable[[str], Sequence[float]] | None = None,
        target: Target = "f1",
        min_precision: float | None = None,
        min_recall: float | None = None,
    ) -> Calibration:
        """As ``Cache.calibrate``. ``embed`` runs in the thread of the call."""
        return await in_thread(
            self.sync.calibrate,
            pairs,
            embed=embed,
            target=target,
            min_precision=min_precision,
            min_recall=min_recall,
        )

    async def report_html(self, *, audits: int = 50) -> str:
        """As ``Cache.report_html``."""
        return await in_thread(self.sync.report_html, audits=audits)


def _checked(
    cache: Cache, prompt: str, scope: Scope, vector: Sequence[float] | None
) -> tuple[CacheHit | None, Miss | None]:
    hit = cache.check(prompt, scope=scope, vector=vector)
    return hit, cache.last_miss
