"""Facts: what is said of whom, when it is true, when that was known, and which passages say so.

What it is: ``Database.facts`` gives ``Facts``, for what an application learns of people, things and documents, and may have
to take back.
What it is not: a way to find passages; collections do that.
Invariant: a fact is believed until a declared rule, a call that names it, or the loss of its last source ends that; never because
another fact resembles it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias

from . import arguments, networks
from .errors import InvalidError
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
    Found,
    NewFact,
    Passage,
    Predicate,
    Recorded,
    Scalar,
    Source,
    Trace,
    When,
    fact_of,
    facts_of,
    failure_of,
    found_json,
    json_of,
    moment,
)

if TYPE_CHECKING:
    from .cores import BatchCore, FactsCore, TransactionCore

#: Facts that one call records, and that an iteration reads at once.
_AT_ONCE = 5_000
_PAGE = 1_000
#: Passages of one step through a collection, unless a batch is larger.
_PASSAGES = 64
#: Answers of one call at most, and after how long they are kept.
_PASSAGES_MAX = 1_000
_KEPT_AFTER_SECONDS = 0.5

#: What an extractor finds: facts, or triples of subject, predicate and object.
FoundOnes: TypeAlias = "Iterable[Found | Mapping[str, Any] | tuple[str, str, str]]"
#: Finds the facts of one passage.
Extractor: TypeAlias = "Callable[[Passage], FoundOnes]"
#: Finds those of several passages, in their order.
BatchExtractor: TypeAlias = "Callable[[list[Passage]], Sequence[FoundOnes]]"


class FactReads:
    """Reading facts: the common part of ``Facts`` and ``SnapshotFacts``."""

    __slots__ = ("_core",)

    _core: FactsCore

    def __init__(self, core: FactsCore) -> None:
        self._core = core

    @property
    def name(self) -> str:
        """The name of the facts."""
        return self._core.name

    def find(
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
        """Returns facts in the order in which they were recorded, at most ``limit``.

        A name finds facts by any of the entity's names. ``valid_at`` leaves out what was not true
        at that time; ``known_at`` answers as the facts were known then; both take ``"now"``.
        ``history`` also returns facts that are not believed any more.
        """
        question = _question(subject, predicate, object, value, valid_at, known_at, history)
        question["limit"] = arguments.whole("limit", limit)
        return list(facts_of(self._ask("list", question)["facts"]))

    def iterate(
        self,
        subject: str | None = None,
        predicate: str | None = None,
        object: str | None = None,
        *,
        value: Scalar | None = None,
        valid_at: When | None = None,
        known_at: When | None = None,
        history: bool = False,
    ) -> Iterator[Fact]:
        """Iterates over all such facts, as ``find`` selects them, page by page."""
        question = _question(subject, predicate, object, value, valid_at, known_at, history)
        while True:
            page = self._ask("list", question)
            yield from facts_of(page["facts"])
            if page["after"] is None:
                return
            question["after"] = page["after"]

    def history(self, subject: str, predicate: str | None = None) -> list[Fact]:
        """Returns everything that was ever said of an entity, in the order in which it was recorded."""
        return list(self.iterate(arguments.text("subject", subject), predicate, history=True))

    def why(self, number: int) -> FactWhy:
        """Returns a fact with what its sources say, the facts that it revises, and the one by which
        it ended. Raises NotFoundError when it is not there.
        """
        found = self._ask("why", {"number": arguments.whole("number", number)})
        ended_by = found["ended_by"]
        return FactWhy(
            fact_of(found["fact"]), facts_of(found["revises"]), None if ended_by is None else fact_of(ended_by)
        )

    def entities(self, prefix: str = "", *, like: str | None = None, limit: int = _PAGE) -> list[Entity]:
        """Returns entities in the order of their normal forms: those whose form begins as that of
        ``prefix``, or, with ``like``, those of the same form. These are candidates of one entity;
        ``Facts.alias`` says that they are.
        """
        question = {
            "prefix": arguments.text("prefix", prefix),
            "like": like,
            "limit": arguments.whole("limit", limit),
        }
        found = self._ask("entities", question)["entities"]
        return [Entity(one["name"], one["facts"], one["alias_of"], tuple(one["aliases"])) for one in found]

    def predicates(self) -> list[Predicate]:
        """Returns all relations by name, and what is declared of them."""
        return [Predicate(**found) for found in self._ask("predicates", {})["predicates"]]

    def stats(self) -> FactCounts:
        """Counts the facts, and those that ended."""
        return FactCounts(**self._ask("stats", {}))

    def trace(self, collection: str, ids: Iterable[str]) -> Trace:
        """Returns the believed facts that stand on records, such as the hits of a search, and the
        entities that they name.
        """
        question = {"collection": arguments.text("collection", collection), "ids": arguments.ids(ids)}
        found = self._ask("trace", question)
        entities = tuple((one["name"], one["facts"]) for one in found["entities"])
        return Trace(facts_of(found["facts"]), entities, found["truncated"])

    def failures(self, extractor: str, *, limit: int = 100) -> list[ExtractFailure]:
        """Returns what an extractor of that name failed at."""
        question = {"extractor": arguments.text("extractor", extractor), "limit": arguments.whole("limit", limit)}
        return [failure_of(found) for found in self._ask("failures", question)["failures"]]

    def paths(
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
        """Returns the cheapest paths between two entities, along facts whose objects are entities.
        The weight of a fact is its confidence.
        """
        return networks.paths(
            self._core,
            source,
            target,
            direction=direction,
            types=types,
            cost=cost,
            count=count,
            max_steps=max_steps,
            valid_at=moment("valid_at", valid_at),
            known_at=moment("known_at", known_at),
        )

    def rank(
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
        """Returns the entities of highest PageRank; with ``seeds``, those that matter most to them."""
        return networks.rank(
            self._core,
            seeds=seeds,
            direction=direction,
            types=types,
            damping=damping,
            limit=limit,
            valid_at=moment("valid_at", valid_at),
            known_at=moment("known_at", known_at),
        )

    def groups(
        self,
        by: Literal["components", "communities"] = "components",
        *,
        types: str | Iterable[str] | None = None,
        limit: int = 100,
        members: int = 100,
        valid_at: When | None = None,
        known_at: When | None = None,
    ) -> NodeGroups:
        """Returns the entities that belong together: by any path, or by having more facts among each
        other than by chance.
        """
        return networks.groups(
            self._core,
            by,
            types=types,
            limit=limit,
            members=members,
            valid_at=moment("valid_at", valid_at),
            known_at=moment("known_at", known_at),
        )

    def _ask(self, call: str, question: dict[str, Any]) -> dict[str, Any]:
        import json

        answer: dict[str, Any] = json.loads(self._core.ask(call, json.dumps(question)))
        return answer

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__} cannot be pickled or copied: open it from the database again")


class SnapshotFacts(FactReads):
    """Facts in a snapshot, with the passages as they were then."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"SnapshotFacts({self.name!r})"


class PendingFacts:
    """Facts that a batch or a transaction records, and takes back, when it is written.

    A source may be a record that the same batch or transaction writes. Facts cannot be read before.
    """

    __slots__ = ("_core", "_name")

    def __init__(self, core: BatchCore | TransactionCore, name: str) -> None:
        self._core = core
        self._name = name

    @property
    def name(self) -> str:
        """The name of the facts."""
        return self._name

    def add(
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
    ) -> None:
        """Records a fact, as ``Facts.add`` does."""
        new = NewFact(subject, predicate, object, value, valid_from, valid_to, sources, confidence, extractor, replaces)
        self.add_many([new])

    def add_many(self, facts: Iterable[NewFact | Mapping[str, Any]]) -> None:
        """Records facts; at most 10,000 in one batch or transaction."""
        import json

        self._core.record_facts(self._name, json.dumps({"facts": [json_of(fact) for fact in facts]}))

    def retract(self, *numbers: int) -> None:
        """Takes facts back; those that are not there or not believed then are ignored."""
        self._core.retract_facts(self._name, [arguments.whole("numbers", one) for one in numbers])

    def __repr__(self) -> str:
        return f"PendingFacts({self._name!r})"


class Facts(FactReads):
    """Facts with two times and their sources. Made by ``Database.facts``.

    >>> import nuthatch
    >>> with nuthatch.connect(":memory:") as db:
    ...     facts = db.facts("people")
    ...     facts.declare("works_at", functional=True)
    ...     facts.add("Anna", "works_at", "Acme", valid_from="2020-01-01")
    ...     facts.add("Anna", "works_at", "Initech", valid_from="2024-05-01")
    ...     [fact.object for fact in facts.find("Anna", valid_at="2022-01-01")]
    ...     [fact.object for fact in facts.find("Anna", valid_at="now")]
    True
    1
    2
    ['Acme']
    ['Initech']
    """

    __slots__ = ()

    def add(
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
        """Records a fact and returns its number; that of a fact that is believed already, which gets
        the sources that it lacks.

        ``sources`` are records, as pairs of a collection and an id: once the last of them is replaced
        or deleted, the fact is not believed any more. Without any, the caller stands for it.
        """
        new = NewFact(subject, predicate, object, value, valid_from, valid_to, sources, confidence, extractor, replaces)
        return self.add_many([new]).numbers[0]

    def add_many(self, facts: Iterable[NewFact | Mapping[str, Any]]) -> Recorded:
        """Records facts. Up to 5,000 are one atomic write."""
        all = [json_of(fact) for fact in facts]
        numbers, added, ended = [], 0, 0
        for at in range(0, len(all), _AT_ONCE):
            done = self._ask("record", {"facts": all[at : at + _AT_ONCE]})
            numbers += done["numbers"]
            added += done["added"]
            ended += done["ended"]
        return Recorded(tuple(numbers), added, ended)

    def retract(self, *numbers: int) -> int:
        """Takes facts back: they are not believed from now on. Returns how many were."""
        ended: int = self._ask("retract", {"numbers": [arguments.whole("numbers", one) for one in numbers]})["ended"]
        return ended

    def end(self, number: int, valid_to: When) -> int:
        """Says when a fact ended to be true. Returns the number of the fact that says so."""
        question = {"number": arguments.whole("number", number), "valid_to": moment("valid_to", valid_to)}
        revised: int = self._ask("end", question)["number"]
        return revised

    def declare(self, predicate: str, *, functional: bool) -> bool:
        """Declares of a relation whether a subject has one value of it at a time: then a value that
        begins later ends the one before. What is recorded already stays as it is. Returns whether
        that is new.
        """
        question = {
            "predicate": arguments.text("predicate", predicate),
            "functional": arguments.flag("functional", functional),
        }
        changed: bool = self._ask("declare", question)["changed"]
        return changed

    def alias(self, alias: str, name: str) -> bool:
        """Declares a name another name of an entity: facts with either are found by both. Facts keep
        the names that they were recorded with. Returns False when it was declared already.
        """
        question = {"alias": arguments.text("alias", alias), "name": arguments.text("name", name)}
        changed: bool = self._ask("alias", question)["changed"]
        return changed

    def remove_alias(self, alias: str) -> bool:
        """Takes an alias back. Returns False when it was none."""
        changed: bool = self._ask("remove_alias", {"alias": arguments.text("alias", alias)})["changed"]
        return changed

    def extract(
        self,
        collection: str,
        extractor: Literal["links", "mentions"] | Extractor = "links",
        *,
        name: str | None = None,
        retry: bool = False,
    ) -> ExtractReport:
        """Lets an extractor read the passages of a collection that it has not seen, and records what
        it finds.

        ``links`` finds links, addresses, issues, paths, symbols in backticks, dates, versions and
        headings; ``mentions`` finds which of these stand together. A function gets a ``Passage`` and
        returns what it found; it needs a ``name`` with a version, by which its answers are kept: it
        is called once for each text. When it raises, the passage has failed, and is passed over until
        ``retry``. An extraction that is stopped goes on where it was.
        """
        if isinstance(extractor, str):
            if name is not None or retry:
                raise InvalidError(f"the extractor {extractor!r} has a name, and does not fail; leave both out")
            return self._extract_built_in(arguments.text("collection", collection), extractor)
        one = extractor
        return self.extract_batches(collection, lambda passages: [_Each(one, it) for it in passages], name, 1, retry)

    def extract_batches(
        self,
        collection: str,
        extractor: BatchExtractor,
        name: str | None = None,
        size: int = 16,
        retry: bool = False,
    ) -> ExtractReport:
        """As ``extract``, for a function that gets ``size`` passages at a time and returns what it
        found in each of them. When it raises, all of these have failed.
        """
        if not name:
            raise InvalidError("give the extractor a name with a version, such as 'gliner:2.1': answers are kept by it")
        size = arguments.whole("size", size)
        if not 1 <= size <= 1000:
            raise InvalidError(f"size is {size}; give 1 to 1,000")
        question: dict[str, Any] = {
            "extractor": arguments.text("name", name),
            "collection": arguments.text("collection", collection),
            "limit": max(size, _PASSAGES),
            "retry": arguments.flag("retry", retry),
        }
        sums = dict.fromkeys(ExtractReport._fields, 0)
        while True:
            page = self._ask("work", question)
            sums["known"] += page["known"]
            sums["failed"] += page["failed"]
            self._extract_page(question, page["passages"], extractor, size, sums)
            if page["cursor"] is None:
                break
            question["cursor"] = page["cursor"]
        sums["ended"] += self.settle()
        return ExtractReport(**sums)

    def _extract_page(
        self,
        question: dict[str, Any],
        passages: list[dict[str, Any]],
        extractor: BatchExtractor,
        size: int,
        sums: dict[str, int],
    ) -> None:
        """Asks the extractor about each text of a page, and keeps its answers at least twice a second."""
        texts: dict[str, list[dict[str, Any]]] = {}
        for passage in passages:
            texts.setdefault(passage["hash"], []).append(passage)
        firsts = [same[0] for same in texts.values()]
        answered: list[dict[str, Any]] = []
        kept = time.monotonic()
        try:
            for at in range(0, len(firsts), size):
                some = firsts[at : at + size]
                for first, answer in zip(some, _asked(extractor, some), strict=True):
                    answered += [{"id": it["id"], "hash": it["hash"], **answer} for it in texts[first["hash"]]]
                if time.monotonic() - kept > _KEPT_AFTER_SECONDS:
                    self._learn(question, answered, sums)
                    kept = time.monotonic()
        finally:
            # Also when somebody stops it: answers may have cost money.
            self._learn(question, answered, sums)

    def settle(self) -> int:
        """Notes of facts whose last source is gone since when they are not believed. Reads know without
        it that they are not. Returns how many.
        """
        ended: int = self._ask("settle", {})["ended"]
        return ended

    def erase(self, collection: str, ids: Iterable[str]) -> FactsErased:
        """Erases what was taken from records: facts that stand on them alone, ended ones too, what
        extractors found there, and the records among the sources of other facts. ``Database.reclaim``
        then removes the bytes, with a receipt; it also erases what was taken from records that are
        gone or have changed.
        """
        question = {"collection": arguments.text("collection", collection), "ids": arguments.ids(ids)}
        return FactsErased(**self._ask("erase", question))

    def _extract_built_in(self, collection: str, extractor: str) -> ExtractReport:
        question: dict[str, Any] = {"extractor": extractor, "collection": collection}
        sums = dict.fromkeys(ExtractReport._fields, 0)
        while True:
            step = self._ask("extract", question)
            for field in sums:
                sums[field] += step[field]
            if step["cursor"] is None:
                break
            question["cursor"] = step["cursor"]
        sums["ended"] += self.settle()
        return ExtractReport(**sums)

    def _learn(self, question: dict[str, Any], answered: list[dict[str, Any]], sums: dict[str, int]) -> None:
        """Keeps answers, and forgets that they were to be kept."""
        while answered:
            some = answered[:_PASSAGES_MAX]
            learn = {"extractor": question["extractor"], "collection": question["collection"], "results": some}
            done = self._ask("learn", learn)
            del answered[: len(some)]
            for field in sums:
                sums[field] += done[field]

    def __repr__(self) -> str:
        return f"Facts({self.name!r})"


class _Each:
    """The findings of a function in one passage, computed on request."""

    __slots__ = ("extractor", "passage")

    def __init__(self, extractor: Extractor, passage: Passage) -> None:
        self.extractor = extractor
        self.passage = passage

    def __iter__(self) -> Iterator[Any]:
        return iter(self.extractor(self.passage))


def _asked(extractor: BatchExtractor, some: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The output of an extractor for some passages: facts, or why it failed."""
    passages = [Passage(it["id"], it["document"], it["text"], it["context"], it["code"]) for it in some]
    try:
        found = extractor(passages)
        if len(found) != len(passages):
            raise InvalidError(f"the extractor returned {len(found)} answers for {len(passages)} passages")
        return [
            {"facts": [found_json(passage, one) for one in ones]} for passage, ones in zip(passages, found, strict=True)
        ]
    except Exception as why:  # whatever a caller's function raises is kept with the passage, and shown by failures()
        return [{"failed": f"{type(why).__name__}: {why}"} for _ in passages]


def _question(
    subject: str | None,
    predicate: str | None,
    object: str | None,
    value: Scalar | None,
    valid_at: When | None,
    known_at: When | None,
    history: bool,
) -> dict[str, Any]:
    question: dict[str, Any] = {
        "subject": subject,
        "predicate": predicate,
        "object": object,
        "value": value,
        "valid_at": moment("valid_at", valid_at),
        "known_at": moment("known_at", known_at),
    }
    question = {name: given for name, given in question.items() if given is not None}
    question["history"] = arguments.flag("history", history)
    return question
