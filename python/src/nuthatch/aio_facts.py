"""Facts to be awaited: the names, arguments and answers of ``Facts``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, Literal, NoReturn

from .facts import _PAGE, BatchExtractor, Extractor, FactReads, Facts, SnapshotFacts, _question
from .networks import Cost, NodeGroups, Paths, Ranked
from .nodes import Direction
from .statements import (
    Entity,
    ExtractFailure,
    ExtractReport,
    Fact,
    FactCounts,
    FactsErased,
    FactWhy,
    NewFact,
    Predicate,
    Recorded,
    Scalar,
    Source,
    Trace,
    When,
    facts_of,
)
from .threads import in_thread


class AsyncFactReads:
    """``FactReads`` whose calls are awaited; iterations are for ``async for``. ``sync`` is the object underneath."""

    __slots__ = ()

    sync: FactReads

    @property
    def name(self) -> str:
        """As ``Facts.name``."""
        return self.sync.name

    async def find(
        self,
        subject: str | None = None,
        predicate: str | None = None,
        object: str | None = None,
        *,
        value: Scalar | None = None,
        valid_at: When | None = None,
        known_at: When | None = None,
        history: bool = False,
        limit: int = _PAGE,
    ) -> list[Fact]:
        """As ``Facts.find``."""
        return await in_thread(
            self.sync.find,
            subject,
            predicate,
            object,
            value=value,
            valid_at=valid_at,
            known_at=known_at,
            history=history,
            limit=limit,
        )

    async def history(self, subject: str, predicate: str | None = None) -> list[Fact]:
        """As ``Facts.history``."""
        return await in_thread(self.sync.history, subject, predicate)

    async def why(self, number: int) -> FactWhy:
        """As ``Facts.why``."""
        return await in_thread(self.sync.why, number)

    async def entities(self, prefix: str = "", *, like: str | None = None, limit: int = _PAGE) -> list[Entity]:
        """As ``Facts.entities``."""
        return await in_thread(self.sync.entities, prefix, like=like, limit=limit)

    async def predicates(self) -> list[Predicate]:
        """As ``Facts.predicates``."""
        return await in_thread(self.sync.predicates)

    async def stats(self) -> FactCounts:
        """As ``Facts.stats``."""
        return await in_thread(self.sync.stats)

    async def trace(self, collection: str, ids: Iterable[str]) -> Trace:
        """As ``Facts.trace``."""
        return await in_thread(self.sync.trace, collection, ids)

    async def failures(self, extractor: str, *, limit: int = 100) -> list[ExtractFailure]:
        """As ``Facts.failures``."""
        return await in_thread(self.sync.failures, extractor, limit=limit)

    async def paths(
        self,
        source: str,
        target: str,
        *,
        direction: Direction = "both",
        types: str | Iterable[str] | None = None,
        cost: Cost = "hops",
        count: int = 1,
        max_steps: int = 64,
        valid_at: When | None = None,
        known_at: When | None = None,
    ) -> Paths:
        """As ``Facts.paths``."""
        return await in_thread(
            self.sync.paths,
            source,
            target,
            direction=direction,
            types=types,
            cost=cost,
            count=count,
            max_steps=max_steps,
            valid_at=valid_at,
            known_at=known_at,
        )

    async def rank(
        self,
        seeds: Iterable[str] = (),
        *,
        direction: Direction = "both",
        types: str | Iterable[str] | None = None,
        damping: float = 0.85,
        limit: int = 100,
        valid_at: When | None = None,
        known_at: When | None = None,
    ) -> list[Ranked]:
        """As ``Facts.rank``."""
        return await in_thread(
            self.sync.rank,
            seeds,
            direction=direction,
            types=types,
            damping=damping,
            limit=limit,
            valid_at=valid_at,
            known_at=known_at,
        )

    async def groups(
        self,
        by: Literal["components", "communities"] = "components",
        *,
        types: str | Iterable[str] | None = None,
        limit: int = 100,
        members: int = 100,
        valid_at: When | None = None,
        known_at: When | None = None,
    ) -> NodeGroups:
        """As ``Facts.groups``."""
        return await in_thread(
            self.sync.groups, by, types=types, limit=limit, members=members, valid_at=valid_at, known_at=known_at
        )

    async def iterate(
        self,
        subject: str | None = None,
        predicate: str | None = None,
        object: str | None = None,
        *,
        value: Scalar | None = None,
        valid_at: When | None = None,
        known_at: When | None = None,
        history: bool = False,
    ) -> AsyncIterator[Fact]:
        """As ``Facts.iterate``."""
        question = _question(subject, predicate, object, value, valid_at, known_at, history)
        while True:
            page = await in_thread(self.sync._ask, "list", question)
            for fact in facts_of(page["facts"]):
                yield fact
            if page["after"] is None:
                return
            question["after"] = page["after"]

    def __repr__(self) -> str:
        return f"Async{self.sync!r}"

    def __reduce__(self) -> NoReturn:
        self.sync.__reduce__()


class AsyncSnapshotFacts(AsyncFactReads):
    """A ``SnapshotFacts`` whose calls are awaited."""

    __slots__ = ("sync",)

    sync: SnapshotFacts

    def __init__(self, sync: SnapshotFacts) -> None:
        self.sync = sync


class AsyncFacts(AsyncFactReads):
    """``Facts`` whose calls are awaited. An extractor runs in the thread of the call. ``sync`` are the facts underneath.

    >>> import asyncio, nuthatch
    >>> async def main():
    ...     async with nuthatch.connect_async(":memory:") as db:
    ...         facts = await db.facts("people")
    ...         await facts.add("Anna", "knows", "Ben")
    ...         return [fact.object for fact in await facts.find("Anna")]
    >>> asyncio.run(main())
    ['Ben']
    """

    __slots__ = ("sync",)

    sync: Facts

    def __init__(self, sync: Facts) -> None:
        self.sync = sync

    async def add(
        self,
        subject: str,
        predicate: str,
        object: str | None = None,
        *,
        value: Scalar | None = None,
        valid_from: When | None = None,
        valid_to: When | None = None,
        sources: Sequence[Source] = (),
        confidence: float = 1.0,
        extractor: str = "",
        replaces: int | None = None,
    ) -> int:
        """As ``Facts.add``."""
        return await in_thread(
            self.sync.add,
            subject,
            predicate,
            object,
            value=value,
            valid_from=valid_from,
            valid_to=valid_to,
            sources=sources,
            confidence=confidence,
            extractor=extractor,
            replaces=replaces,
        )

    async def add_many(self, facts: Iterable[NewFact | Mapping[str, Any]]) -> Recorded:
        """As ``Facts.add_many``."""
        return await in_thread(self.sync.add_many, facts)

    async def retract(self, *numbers: int) -> int:
        """As ``Facts.retract``."""
        return await in_thread(self.sync.retract, *numbers)

    async def end(self, number: int, valid_to: When) -> int:
        """As ``Facts.end``."""
        return await in_thread(self.sync.end, number, valid_to)

    async def declare(self, predicate: str, *, functional: bool) -> bool:
        """As ``Facts.declare``."""
        return await in_thread(self.sync.declare, predicate, functional=functional)

    async def alias(self, alias: str, name: str) -> bool:
        """As ``Facts.alias``."""
        return await in_thread(self.sync.alias, alias, name)

    async def remove_alias(self, alias: str) -> bool:
        """As ``Facts.remove_alias``."""
        return await in_thread(self.sync.remove_alias, alias)

    async def extract(
        self,
        collection: str,
        extractor: Literal["links", "mentions"] | Extractor = "links",
        *,
        name: str | None = None,
        retry: bool = False,
    ) -> ExtractReport:
        """As ``Facts.extract``."""
        return await in_thread(self.sync.extract, collection, extractor, name=name, retry=retry)

    async def extract_batches(
        self,
        collection: str,
        extractor: BatchExtractor,
        name: str | None = None,
        size: int = 16,
        retry: bool = False,
    ) -> ExtractReport:
        """As ``Facts.extract_batches``."""
        return await in_thread(self.sync.extract_batches, collection, extractor, name, size, retry)

    async def settle(self) -> int:
        """As ``Facts.settle``."""
        return await in_thread(self.sync.settle)

    async def erase(self, collection: str, ids: Iterable[str]) -> FactsErased:
        """As ``Facts.erase``."""
        return await in_thread(self.sync.erase, collection, ids)
