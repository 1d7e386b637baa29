"""Facts as callers give them, and as they come back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from .errors import InvalidError

T = TypeVar("T")

#: A text, a number or a boolean.
Scalar: TypeAlias = "str | int | float | bool"
#: A time with a zone, a date, or RFC 3339. A time without a zone is UTC.
When: TypeAlias = "datetime | date | str"
#: A record of a collection, or that and from which character of its text to which.
Source: TypeAlias = "tuple[str, str] | Mapping[str, Any]"
#: Why a fact ended.
EndReason: TypeAlias = Literal["rule", "replaced", "retracted", "ended", "source"]


@dataclass(frozen=True, slots=True)
class NewFact:
    """A fact to record: with an ``object``, which is an entity, or a ``value``."""

    subject: str
    predicate: str
    object: str | None = None
    value: Scalar | None = None
    #: When it began, and ended, to be true.
    valid_from: When | None = None
    valid_to: When | None = None
    #: Records that say so, as pairs of a collection and an id, or as mappings that also have ``start`` and ``end`` in bytes.
    sources: Sequence[Source] = ()
    confidence: float = 1.0
    extractor: str = ""
    #: A fact that it takes the place of.
    replaces: int | None = None


@dataclass(frozen=True, slots=True)
class FactSource:
    """The source of a fact. Without a collection, a caller vouches for it."""

    collection: str | None
    id: str | None
    #: Bytes of the record's text.
    start: int | None
    end: int | None
    extractor: str
    confidence: float
    recorded: datetime
    #: Whether the passage is there as it was, and what it says; of ``Facts.why``.
    stands: bool | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class FactEnd:
    """That a fact is not believed any more."""

    at: datetime
    why: EndReason
    #: The fact by which.
    by: int | None


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact: who, which relation, to whom or what, when it was true, and when that was known."""

    number: int
    subject: str
    predicate: str
    #: The entity, or None when there is a value.
    object: str | None
    value: Scalar | None
    valid_from: datetime | None
    valid_to: datetime | None
    recorded: datetime
    #: Nobody ended it, and a source stands.
    believed: bool
    ended: FactEnd | None
    #: The fact that it repeats, with another end.
    revises: int | None
    #: The highest confidence of its sources.
    confidence: float
    sources: tuple[FactSource, ...]


@dataclass(frozen=True, slots=True)
class FactWhy:
    """Why a fact is believed, or is not."""

    #: Its sources say whether they stand, and what they say.
    fact: Fact
    #: The facts before it that it revises, the newest first.
    revises: tuple[Fact, ...]
    ended_by: Fact | None


@dataclass(frozen=True, slots=True)
class Recorded:
    """The outcome of recording facts."""

    #: The number of each fact; of one that was there, the number that it has.
    numbers: tuple[int, ...]
    added: int
    #: Facts that ended by it.
    ended: int


@dataclass(frozen=True, slots=True)
class Entity:
    """A name that facts use."""

    name: str
    #: Facts that name it, believed or not.
    facts: int
    alias_of: str | None
    aliases: tuple[str, ...]


class Predicate(NamedTuple):
    """A relation."""

    name: str
    #: One value at a time: a later one ends the one before.
    functional: bool
    #: Facts that have it, believed or not.
    facts: int


class FactCounts(NamedTuple):
    """How many facts there are."""

    facts: int
    #: Of these, facts that ended.
    ended: int


@dataclass(frozen=True, slots=True)
class Trace:
    """The facts and entities that rest on passages."""

    facts: tuple[Fact, ...]
    #: Each entity that they name, and by how many; the most frequent first.
    entities: tuple[tuple[str, int], ...]
    #: There are more facts.
    truncated: bool


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage as an extractor gets it."""

    id: str
    #: The path of its file, or the record's id.
    document: str
    text: str
    #: Headings or symbols that it stands under.
    context: str | None
    #: The text is source code.
    code: bool


@dataclass(frozen=True, slots=True)
class Found:
    """A fact that an extractor found. Without a ``subject`` it is about the document."""

    predicate: str
    object: str | None = None
    value: Scalar | None = None
    subject: str | None = None
    valid_from: When | None = None
    valid_to: When | None = None
    #: Characters of the passage's text that say so; without ``end``, to its end.
    start: int = 0
    end: int | None = None
    confidence: float = 1.0


class ExtractReport(NamedTuple):
    """The outcome of an extraction."""

    #: Texts that the extractor was called for.
    called: int
    #: Passages whose facts were recorded from what is known of their text.
    known: int
    #: Passages at which it failed, now or before; ``Facts.failures`` has the reasons.
    failed: int
    #: Facts that were not there.
    added: int
    #: Facts that ended: by a rule, or because no passage says so any more.
    ended: int
    #: Passages that changed meanwhile; the next call gets them.
    changed: int


class ExtractFailure(NamedTuple):
    """A failure of an extractor."""

    #: A record whose passage it failed at.
    id: str
    why: str
    calls: int
    at: datetime


class FactsErased(NamedTuple):
    """The counts of an erasure. ``Database.reclaim`` removes the bytes, with a receipt."""

    #: Facts that stood on these passages alone.
    facts: int
    #: Sources of facts that stand on others, too.
    sources: int
    #: What extractors had found in these passages.
    memos: int


def time_of(name: str, when: When | None) -> str | None:
    """A time as the engine takes it."""
    if when is None or isinstance(when, str):
        return when
    if isinstance(when, datetime):
        return (when if when.tzinfo is not None else when.replace(tzinfo=timezone.utc)).isoformat()
    if isinstance(when, date):
        return when.isoformat()
    raise InvalidError(f"{name} is {when!r}; give a datetime, a date or a text such as '2026-11-28'")


def moment(name: str, when: When | None) -> str | None:
    """The same, and ``"now"``."""
    return datetime.now(timezone.utc).isoformat() if when == "now" else time_of(name, when)


def _datetime(text: str | None) -> datetime | None:
    # Years beyond 9999 do not fit.
    return None if text is None else datetime.fromisoformat(text.replace("Z", "+00:00"))


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def json_of(fact: NewFact | Mapping[str, Any]) -> dict[str, Any]:
    """A fact to record as JSON."""
    if isinstance(fact, Mapping):
        fact = _made(NewFact, fact)
    found: dict[str, Any] = {"subject": fact.subject, "predicate": fact.predicate}
    optional = {
        "object": fact.object,
        "value": fact.value,
        "valid_from": time_of("valid_from", fact.valid_from),
        "valid_to": time_of("valid_to", fact.valid_to),
        "replaces": fact.replaces,
    }
    found.update((name, value) for name, value in optional.items() if value is not None)
    found["sources"] = [_source(source) for source in fact.sources]
    found["confidence"] = fact.confidence
    found["extractor"] = fact.extractor
    return found


def _made(type: Callable[..., T], fields: Mapping[str, Any]) -> T:
    try:
        return type(**fields)
    except TypeError as why:
        raise InvalidError(f"a fact: {why}") from None


def _source(source: Source) -> dict[str, Any]:
    if isinstance(source, Mapping):
        return dict(source)
    if isinstance(source, (tuple, list)) and len(source) == 2:
        return {"collection": source[0], "id": source[1]}
    raise InvalidError(f"a source is a pair of a collection and an id, not {source!r}")


def fact_of(found: dict[str, Any]) -> Fact:
    """A fact from its JSON."""
    sources = (FactSource(**{**source, "recorded": _time(source["recorded"])}) for source in found["sources"])
    ended = found["ended"]
    return Fact(
        **{
            **found,
            "valid_from": _datetime(found["valid_from"]),
            "valid_to": _datetime(found["valid_to"]),
            "recorded": _time(found["recorded"]),
            "ended": None if ended is None else FactEnd(_time(ended["at"]), ended["why"], ended["by"]),
            "sources": tuple(sources),
        }
    )


def facts_of(found: Iterable[dict[str, Any]]) -> tuple[Fact, ...]:
    """Several."""
    return tuple(fact_of(one) for one in found)


def failure_of(found: dict[str, Any]) -> ExtractFailure:
    """A failure from its JSON."""
    return ExtractFailure(found["id"], found["why"], found["calls"], _time(found["at"]))


def found_json(passage: Passage, found: Found | Mapping[str, Any] | tuple[str, str, str]) -> dict[str, Any]:
    """An extractor's finding as JSON. A triple is subject, predicate and object."""
    if isinstance(found, Mapping):
        found = _made(Found, found)
    elif isinstance(found, tuple) and len(found) == 3:
        found = Found(subject=found[0], predicate=found[1], object=found[2])
    elif not isinstance(found, Found):
        raise InvalidError(f"an extractor returned {found!r}; return Found, mappings or triples of texts")
    text = passage.text
    end = len(text) if found.end is None else found.end
    if not 0 <= found.start <= end <= len(text):
        raise InvalidError(f"characters {found.start} to {end} are no part of a text of {len(text)}")
    optional = {
        "subject": found.subject,
        "object": found.object,
        "value": found.value,
        "valid_from": time_of("valid_from", found.valid_from),
        "valid_to": time_of("valid_to", found.valid_to),
    }
    asked: dict[str, Any] = {name: value for name, value in optional.items() if value is not None}
    start = len(text[: found.start].encode())
    return {
        **asked,
        "predicate": found.predicate,
        "start": start,
        "end": start + len(text[found.start : end].encode()),
        "confidence": found.confidence,
    }
