"""The answers of a cache: hits, reasons of misses, statistics and explanations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

#: How an answer was found.
CacheTier: TypeAlias = Literal["exact", "canonical", "alias", "semantic"]


class Source(NamedTuple):
    """A record that an answer was made from."""

    collection: str
    id: str


def _sources(found: list[Any]) -> list[Source]:
    return [Source(one["collection"], one["id"]) for one in found]


@dataclass(frozen=True)
class CacheCost:
    """The cost of an answer."""

    tokens: int
    """Tokens of the question and of the answer."""
    usd: float
    """US dollars."""


@dataclass(frozen=True)
class CacheHit:
    """An answer out of the cache."""

    tier: CacheTier
    """How it was found: by the very prompt, by its form, by a prompt that was judged, or by meaning."""
    entry: int
    """Its number in the cache."""
    hit: int | None
    """The number under which a verdict is reported; None where the prompt itself was known."""
    prompt: str
    """The prompt that it was stored for."""
    response: Any
    """The answer."""
    similarity: float | None
    """The cosine of the vectors of both prompts."""
    risk: float | None
    """The estimated probability that it is wrong. The bound does not rest on it."""
    age: float
    """How old it is, in seconds."""
    audit: bool
    """Chance has chosen it to be judged. It counts as wrong until the verdict is reported."""
    sources: list[Source]
    """The records that it was made from."""
    tags: list[str]
    """Its tags."""
    saved: CacheCost
    """The cost that it saves."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "sources", _sources(self.sources))
        object.__setattr__(self, "saved", CacheCost(**self.saved) if isinstance(self.saved, dict) else self.saved)


@dataclass(frozen=True)
class Miss:
    """Why no answer was given."""

    reason: str
    """absent, off, shadow, vetoed, risky, unproven, stale; or wrong, by the judge."""
    veto: str | None
    """When vetoed: the difference on which the answer turns."""


@dataclass(frozen=True)
class StoredAnswer:
    """The outcome of storing an answer."""

    stored: bool
    """False when the cache is off."""
    entry: int | None
    """The number of the answer."""
    replaced: bool
    """An answer for the same prompt is gone."""
    evicted: int
    """Answers that had to make room."""
    private: bool = False
    """It is given to its user only, until more have it."""


@dataclass(frozen=True)
class CacheEntry:
    """An answer in the cache, with everything that is kept of it."""

    entry: int
    """Its number."""
    prompt: str
    """The prompt that it was stored for."""
    response: Any
    """The answer."""
    scope: str
    """The hash of its scope: a cache does not know the parts."""
    user: str | None
    """The hash of the user within the scope, if the answer is the user's own."""
    tags: list[str]
    """Its tags."""
    sources: list[Source]
    """The records that it was made from."""
    created_ms: int
    """When it was stored, in milliseconds since 1970."""
    expires_ms: int | None
    """When it expires; None: never."""
    cost: CacheCost
    """The cost of the answer."""

    @classmethod
    def of(cls, found: dict[str, Any]) -> CacheEntry:
        """From a call's answer."""
        known = {name: value for name, value in found.items() if name != "vector"}
        return cls(**{**known, "sources": _sources(found["sources"]), "cost": CacheCost(**found["cost"])})


@dataclass(frozen=True)
class CacheAudit:
    """An answer that waits for a verdict."""

    hit: int
    """The number under which it is reported."""
    entry: int
    """The number of the answer."""
    asked: str
    """The question that was asked."""
    prompt: str | None
    """The prompt that the answer was stored for; None when it is gone."""
    response: Any
    """The answer."""
    risk: float
    """The estimated probability that it is wrong."""
    served: bool
    """Whether somebody got it."""
    at_ms: int
    """When, in milliseconds since 1970."""


@dataclass(frozen=True)
class WrongShare:
    """The share of answers by meaning that are wrong."""

    share: float
    """Estimated from the verdicts, each weighed by the odds with which it was chosen."""
    low: float
    """The share known to be wrong."""
    high: float
    """With probability 1 - ``failure``, no more."""


@dataclass(frozen=True)
class CacheSavings:
    """The savings of a cache, and their cost."""

    tokens: int
    """Tokens that were not paid for again."""
    gross_usd: float
    """The cost that the answers given would have had."""
    wrong_usd: float
    """Of these, answers that turned out to be wrong."""
    judging_usd: float
    """The cost of verdicts, as reported with them."""
    embedding_usd: float
    """The cost of the vectors of questions, as reported by those who asked."""
    net_usd: float
    """The remainder."""


@dataclass(frozen=True)
class CacheLedger:
    """The evidence behind the promise."""

    hits: int
    """Answers by meaning that were given."""
    audited: int
    """Of these, those that chance has chosen to be judged."""
    pending: int
    """Of these, those without a verdict, which count as wrong."""
    known_wrong: int
    """Answers by meaning that are known to be wrong."""
    bound: float
    """With probability 1 - failure, at most this many answers by meaning are wrong."""
    allowed: float
    """How many may be."""
    audit_probability: float | None
    """The probability that the next one is to be judged; None: none may be given before a verdict comes."""
    verdicts: int
    """Verdicts that the risk was learned from; 0: its weights are those fitted on public sets."""
    wrong: WrongShare | None
    """The share of answers by meaning that are wrong; None before the first answer."""

    @classmethod
    def of(cls, found: dict[str, Any]) -> CacheLedger:
        """From a call's answer."""
        wrong = found["wrong"]
        return cls(**{**found, "wrong": None if wrong is None else WrongShare(**wrong)})


@dataclass(frozen=True)
class CacheStats:
    """The contents and the activity of a cache."""

    settings: Mapping[str, Any]
    """How it works."""
    entries: int
    """Answers in it."""
    bytes: int
    """Of these, with prompts and vectors."""
    counts: Mapping[str, int]
    """Hits by tier, misses, and what became of answers."""
    missed: Mapping[str, int]
    """Misses by their reason."""
    ledger: CacheLedger
    """The evidence behind the promise."""
    savings: CacheSavings
    """Money and tokens."""

    @classmethod
    def of(cls, found: dict[str, Any]) -> CacheStats:
        """From a call's answer."""
        counts = dict(found["counts"])
        parts = {"missed": counts.pop("missed"), "counts": counts, "savings": CacheSavings(**found["savings"])}
        return cls(**{**found, **parts, "ledger": CacheLedger.of(found["ledger"])})

    @property
    def hit_rate(self) -> float:
        """The share of lookups with an answer."""
        hits = sum(self.counts[tier] for tier in ("exact", "canonical", "alias", "semantic"))
        return hits / max(1, hits + self.counts["misses"])


@dataclass(frozen=True)
class CacheCandidate:
    """A stored prompt near to what was asked."""

    entry: int
    """The number of its answer."""
    prompt: str
    """The stored prompt."""
    similarity: float
    """The cosine of the vectors of both prompts."""
    risk: float
    """The estimated probability that its answer is wrong."""
    worth: bool
    """Answers of that risk are given under the budget."""
    veto: str | None
    """The difference on which the answer turns."""
    stale: bool
    """A source of the answer has changed."""


@dataclass(frozen=True)
class CacheExplanation:
    """How a cache would handle a prompt."""

    canonical: str
    """The form of the prompt."""
    tier: CacheTier | None
    """How the prompt itself is known."""
    entry: int | None
    """By which answer."""
    stale: bool
    """A source of that answer has changed."""
    compared: bool
    """Whether meanings were compared."""
    ledger: CacheLedger
    """The evidence behind the promise."""
    candidates: list[CacheCandidate] = field(default_factory=list)
    """The nearest prompts, the nearest first."""

    @classmethod
    def of(cls, found: dict[str, Any]) -> CacheExplanation:
        """From a call's answer."""
        candidates = [CacheCandidate(**one) for one in found["candidates"]]
        return cls(**{**found, "candidates": candidates, "ledger": CacheLedger.of(found["ledger"])})
