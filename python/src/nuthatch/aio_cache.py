"""Caches to be awaited: the names, arguments and answers of ``Cache``."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, ParamSpec, TypeVar

from .answers import CacheAudit, CacheEntry, CacheExplanation, CacheHit, CacheStats, Miss, Source, StoredAnswer
from .arguments import StrPath
from .cache import Cache, Cost, Scope, Warmed, called
from .calibration import Calibration, LabelledPair, Target
from .lease import LEASE, LONGEST, Lease
from .threads import in_thread

P = ParamSpec("P")
T = TypeVar("T")


class AsyncCache:
    """``Cache`` whose calls are awaited. ``sync`` is the object underneath."""

    __slots__ = ("last_miss", "sync")

    def __init__(self, sync: Cache) -> None:
        self.sync: Cache = sync
        #: Why the last ``check`` of this object returned None.
        self.last_miss: Miss | None = None

    @property
    def name(self) -> str:
        """As ``Cache.name``."""
        return self.sync.name

    async def check(
        self,
        prompt: str,
        *,
        scope: Scope = None,
        vector: Sequence[float] | None = None,
        user: str | None = None,
        avoids: Cost = None,
        spent: float | None = None,
    ) -> CacheHit | None:
        """As ``Cache.check``. A judge runs in the thread of the call."""
        hit, self.last_miss = await in_thread(_checked, self.sync, prompt, scope, vector, user, avoids, spent)
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
        user: str | None = None,
        shared: bool = False,
        cost: Cost = None,
    ) -> StoredAnswer:
        """As ``Cache.store``."""
        return await in_thread(
            self.sync.store,
            prompt,
            response,
            scope=scope,
            vector=vector,
            sources=sources,
            tags=tags,
            ttl=ttl,
            user=user,
            shared=shared,
            cost=cost,
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
        user: str | None = None,
        cost: Cost = None,
        lease: timedelta | float = LEASE,
        longest: timedelta | float = LONGEST,
    ) -> T:
        """As ``Cache.get_or_compute``, but ``compute`` is awaited. Tasks that wait take no thread."""
        hit = await self.check(prompt, scope=scope, vector=vector, user=user)
        if hit is None:
            taken = Lease(self.sync, prompt, scope, user, lease, longest)
            hit = await _waited(taken)
        if hit is not None:
            found: T = hit.response
            return found
        try:
            async with taken.renewed_awaited():
                answer = await compute()
            await self.store(
                prompt, answer, scope=scope, vector=vector, sources=sources, tags=tags, ttl=ttl, user=user, cost=cost
            )
        except BaseException:
            # Also when the task is cancelled: other callers must not wait for it.
            from asyncio import shield

            await shield(in_thread(taken.give_back))
            raise
        return answer

    def cached(self, function: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
        """As ``Cache.cached``, for functions to be awaited."""

        @functools.wraps(function)
        async def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
            prompt, scope = called(args, kwargs)
            return await self.get_or_compute(prompt, lambda: function(*args, **kwargs), scope=scope)

        return wrapped

    async def report(self, hit: CacheHit | CacheAudit, *, wrong: bool, spent: float | None = None) -> bool:
        """As ``Cache.report``."""
        return await in_thread(self.sync.report, hit, wrong=wrong, spent=spent)

    async def audits(self, limit: int = 100) -> list[CacheAudit]:
        """As ``Cache.audits``."""
        return await in_thread(self.sync.audits, limit)

    async def explain(
        self, prompt: str, *, scope: Scope = None, vector: Sequence[float] | None = None, user: str | None = None
    ) -> CacheExplanation:
        """As ``Cache.explain``."""
        return await in_thread(self.sync.explain, prompt, scope=scope, vector=vector, user=user)

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

    async def answers(self, *, scope: Scope = None, tag: str | None = None) -> list[CacheEntry]:
        """As ``Cache.answers``, all at once."""
        return await in_thread(lambda: list(self.sync.answers(scope=scope, tag=tag)))

    async def export_to(self, path: StrPath, *, vectors: bool = True) -> int:
        """As ``Cache.export_to``."""
        return await in_thread(self.sync.export_to, path, vectors=vectors)

    async def import_from(self, path: StrPath) -> int:
        """As ``Cache.import_from``."""
        return await in_thread(self.sync.import_from, path)

    async def reembed(self, embed: Callable[[str], Sequence[float]] | None = None, *, restart: bool = True) -> int:
        """As ``Cache.reembed``. ``embed`` runs in the thread of the call."""
        return await in_thread(self.sync.reembed, embed, restart=restart)

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
    cache: Cache,
    prompt: str,
    scope: Scope,
    vector: Sequence[float] | None,
    user: str | None,
    avoids: Cost,
    spent: float | None,
) -> tuple[CacheHit | None, Miss | None]:
    hit = cache.check(prompt, scope=scope, vector=vector, user=user, avoids=avoids, spent=spent)
    return hit, cache.last_miss


async def _waited(lease: Lease) -> CacheHit | None:
    """As ``Lease.wait``, without a thread that waits."""
    import asyncio  # not before somebody awaits

    loop = asyncio.get_running_loop()
    until, pause = loop.time() + lease.patience, 0.005
    while True:
        done, hit = await in_thread(lease.look, 0.0)
        left = until - loop.time()
        if done or left <= 0:
            return hit
        await asyncio.sleep(min(pause, left))
        pause = min(2 * pause, 0.1)
