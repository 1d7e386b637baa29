"""Caches of answers: what was answered once is not paid for twice, with a bound on how often it is wrong.

What it is: ``Database.cache`` gives a ``Cache``. It finds an answer by its prompt, by a prompt of the same form, and, with a
``budget``, by a prompt of the same meaning.
What it is not: a place for what only it knows. Answers go when they expire, when there is no room, and when their sources change.
Invariant: with probability 1 - ``failure``, at no time are more than ``budget`` x hits + 1 of the answers by meaning wrong.
This rests on the verdicts of the judges.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeAlias, TypeVar, cast

from . import arguments
from .answers import CacheAudit, CacheEntry, CacheExplanation, CacheHit, CacheStats, Miss, Source, StoredAnswer
from .cache_transfer import exported, imported, listed, reembedded
from .calibration import Calibration, LabelledPair, Target, measured
from .errors import InvalidError
from .lease import LEASE, LONGEST, Lease

if TYPE_CHECKING:
    from .arguments import StrPath
    from .cores import CacheCore

P = ParamSpec("P")
T = TypeVar("T")

#: Whether a cache gives answers.
CacheMode: TypeAlias = Literal["serve", "shadow", "off"]
#: When users have the same answer.
ShareWhen: TypeAlias = Literal["agreed", "asked"]
#: Says whether ``hit.response`` is right for a prompt.
Judge: TypeAlias = "Callable[[str, CacheHit], bool]"
#: The parts of a scope, or a value for its only part.
Scope: TypeAlias = "Mapping[str, str] | None"
#: US dollars, or a mapping with ``tokens`` and ``usd``.
Cost: TypeAlias = "Mapping[str, float] | float | None"
#: A prompt with its answer, or the arguments of ``Cache.store`` by their names.
Warmed: TypeAlias = "tuple[str, Any] | Mapping[str, Any]"


class Cache:
    """Answers to prompts. Made by ``Database.cache``; ``check`` looks one up, ``store`` keeps one."""

    __slots__ = ("_core", "_judge", "_miss")

    def __init__(self, core: CacheCore, judge: Judge | None) -> None:
        self._core = core
        self._judge = judge
        self._miss = threading.local()

    @property
    def name(self) -> str:
        """The cache's name."""
        return self._core.name

    @property
    def last_miss(self) -> Miss | None:
        """Why this thread's last ``check`` returned None; None when it returned an answer."""
        return getattr(self._miss, "why", None)

    def check(
        self,
        prompt: str,
        *,
        scope: Scope = None,
        vector: Sequence[float] | None = None,
        user: str | None = None,
        avoids: Cost = None,
        spent: float | None = None,
    ) -> CacheHit | None:
        """Returns the answer to a prompt, or None; ``last_miss`` then says why.

        An answer is given within the same ``scope`` only. With a judge, an answer that chance has
        chosen, or that may not be given yet, is judged first, and given if it is right. Without one,
        ``hit.audit`` says that the verdict on it is wanted: see ``report``.

        ``user`` is who asks, in a cache with ``share_after``. ``avoids`` is what computing the answer would cost now, where that
        is not what it cost when it was stored; ``spent`` is what ``vector`` has cost, in US dollars.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     cache = db.cache("answers")
        ...     cache.store("What is the capital of France?", "Paris").replaced
        ...     cache.check("what's the capital of France").response
        False
        'Paris'
        """
        judge = self._judge
        asked = _question(prompt, scope, vector, judged=judge is not None, user=user)
        if avoids is not None:
            asked["avoids"] = _cost("avoids", avoids)
        if spent is not None:
            asked["spent"] = arguments.optional_real("spent", spent)
        found = self._ask("lookup", asked)
        hit, candidate = found["hit"], found["candidate"]
        self._miss.why = None if hit is not None else Miss(found["miss"], found["veto"])
        if judge is None:
            return None if hit is None else CacheHit(**hit)
        if hit is not None and not hit["audit"]:
            return CacheHit(**hit)
        given = hit if hit is not None else candidate
        if given is None:
            return None
        judged = CacheHit(**given)
        right = judge(prompt, judged)
        if not isinstance(right, bool):
            raise InvalidError(
                f"the judge returned {right!r}; it returns True for a right answer and False for a wrong one"
            )
        in_shadow = found["miss"] == "shadow"
        self._report(judged, wrong=not right, served=right and not in_shadow)
        if in_shadow:
            return None
        self._miss.why = None if right else Miss("wrong", None)
        return judged if right else None

    get = check

    def store(
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
        """Keeps an answer: any JSON value. One for the same prompt in the same scope is replaced.

        ``sources`` are records, as pairs of a collection and an id: once one of them is replaced or deleted, the answer is not
        given any more. ``ttl`` is in seconds; 0 keeps the answer for ever. ``cost`` is what the answer has cost, as US dollars or
        as ``{"tokens": 321, "usd": 0.0042}``; ``stats`` sums up what giving it again has saved.

        A cache with ``share_after`` wants a ``user``, whose answer it is until enough users have it, or ``shared=True``. Where
        users have shares (``user_max_entries``), it lies in the share of that user, or of the scope's part ``user``.
        """
        asked = _question(prompt, scope, vector, user=user)
        if arguments.flag("shared", shared):
            asked["shared"] = True
        if cost is not None:
            asked["cost"] = _cost("cost", cost)
        asked["response"] = response
        asked["sources"] = [_source(source) for source in sources]
        asked["tags"] = [tags] if isinstance(tags, str) else [arguments.text("tags", tag) for tag in tags]
        if ttl is not None:
            asked["ttl"] = _seconds("ttl", ttl)
        return StoredAnswer(**self._ask("store", asked))

    put = store

    def warm(
        self,
        pairs: Iterable[Warmed],
        *,
        scope: Scope = None,
        tags: Iterable[str] = (),
        ttl: timedelta | float | None = None,
    ) -> int:
        """Stores answers that are known, such as those of a list of frequent questions, and returns how many.

        ``pairs`` are prompts with their answers, or mappings with the arguments of ``store``, which then hold in place of
        those given here. Each is stored by itself: an error leaves those before it.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     cache = db.cache("answers")
        ...     cache.warm([("What is DNS?", "names"), {"prompt": "What is BGP?", "response": "routes", "ttl": 60}])
        ...     cache.check("what's BGP").response
        2
        'routes'
        """
        given: dict[str, Any] = {"scope": scope, "tags": [tags] if isinstance(tags, str) else list(tags), "ttl": ttl}
        return sum(self.store(**{**given, **_warmed(at, pair)}).stored for at, pair in enumerate(pairs))

    def get_or_compute(
        self,
        prompt: str,
        compute: Callable[[], T],
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
        """Returns the answer to a prompt, and computes and stores a missing one.

        Concurrent calls for the same prompt and scope, in any thread or process, await the answer.
        The one who computes says so again and again, every third of ``lease`` seconds. If its process dies, another computes
        once ``lease`` seconds are over; after ``longest`` seconds, another does in any case.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     cache = db.cache("answers")
        ...     [cache.get_or_compute("What is 6 x 7?", lambda: 42), cache.get_or_compute("What is 6 x 7?", lambda: 0)]
        [42, 42]
        """
        hit = self.check(prompt, scope=scope, vector=vector, user=user)
        if hit is None:
            taken = Lease(self, prompt, scope, user, lease, longest)
            hit = taken.wait()
        if hit is not None:
            found: T = hit.response
            return found
        with taken:
            with taken.renewed():
                answer = compute()
            self.store(
                prompt, answer, scope=scope, vector=vector, sources=sources, tags=tags, ttl=ttl, user=user, cost=cost
            )
        return answer

    def cached(self, function: Callable[P, T]) -> Callable[P, T]:
        """Decorates a function whose first argument is a prompt. Its other arguments are the scope.

        A function to be awaited stays one. Calls for the same prompt and scope wait for the first of them, as in
        ``get_or_compute``.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     @db.cache("answers").cached
        ...     def shout(prompt: str, *, model: str = "small") -> str:
        ...         print("computing")
        ...         return prompt.upper()
        ...     shout("Say it"), shout("say it"), shout("Say it", model="large")
        computing
        computing
        ('SAY IT', 'SAY IT', 'SAY IT')
        """

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                from .aio_cache import AsyncCache

                prompt, scope = called(args, kwargs)
                return await AsyncCache(self).get_or_compute(prompt, lambda: function(*args, **kwargs), scope=scope)

            return cast("Callable[P, T]", awaited)

        @functools.wraps(function)
        def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
            prompt, scope = called(args, kwargs)
            return self.get_or_compute(prompt, lambda: function(*args, **kwargs), scope=scope)

        return wrapped

    def report(self, hit: CacheHit | CacheAudit, *, wrong: bool, spent: float | None = None) -> bool:
        """Takes a verdict on an answer. Returns False when it was known.

        A right answer becomes one for the prompt that was asked. A wrong one is never given for that
        prompt again; one that was found by its very prompt is removed. ``spent`` is what the verdict has cost, in US dollars.
        """
        served = not isinstance(hit, CacheAudit) or hit.served
        return self._report(hit, wrong=arguments.flag("wrong", wrong), served=served, spent=spent)

    def _report(self, hit: CacheHit | CacheAudit, *, wrong: bool, served: bool, spent: float | None = None) -> bool:
        verdict: dict[str, Any] = {"hit": hit.hit, "entry": hit.entry, "wrong": wrong, "served": served}
        if spent is not None:
            verdict["spent"] = arguments.optional_real("spent", spent)
        new: bool = self._ask("report", verdict)["new"]
        return new

    def audits(self, limit: int = 100) -> list[CacheAudit]:
        """Lists answers that wait for a verdict, the oldest first. ``report`` takes each of them, too."""
        return [
            CacheAudit(**found) for found in self._ask("audits", {"limit": arguments.whole("limit", limit)})["waiting"]
        ]

    def explain(
        self, prompt: str, *, scope: Scope = None, vector: Sequence[float] | None = None, user: str | None = None
    ) -> CacheExplanation:
        """Tells what ``check`` would find, and counts nothing: the prompt's form, every near prompt
        with its risk and what rules it out, and the ledger.
        """
        return CacheExplanation.of(self._ask("explain", _question(prompt, scope, vector, user=user)))

    def invalidate(
        self,
        *,
        entry: int | None = None,
        tag: str | None = None,
        source: Source | Mapping[str, str] | tuple[str, str] | None = None,
        scope: Mapping[str, str] | None = None,
    ) -> int:
        """Removes answers: one by its number, or those with a tag, of a source, or of a scope. Returns how many."""
        given = {
            "entry": entry,
            "tag": tag,
            "source": None if source is None else _source(source),
            "scope": None if scope is None else dict(scope),
        }
        return self._removed({name: value for name, value in given.items() if value is not None})

    def clear(self) -> int:
        """Removes all answers, and returns how many. The ledger stays: what was given was given."""
        return self._removed({"all": True})

    def _removed(self, which: dict[str, Any]) -> int:
        removed: int = self._ask("invalidate", which)["removed"]
        return removed

    def answers(self, *, scope: Scope = None, tag: str | None = None) -> Iterator[CacheEntry]:
        """Lists the answers, by their numbers, page by page: all of them, or those of a scope or with a tag.

        >>> import nuthatch
        >>> with nuthatch.connect(":memory:") as db:
        ...     cache = db.cache("answers")
        ...     cache.warm([("What is DNS?", "names"), ("What is BGP?", "routes")])
        ...     [answer.prompt for answer in cache.answers()]
        2
        ['What is DNS?', 'What is BGP?']
        """
        scope = None if scope is None else dict(scope)
        for found in listed(self._ask, scope=scope, tag=arguments.optional_text("tag", tag)):
            yield CacheEntry.of(found)

    def export_to(self, path: StrPath, *, vectors: bool = True) -> int:
        """Writes all answers to a file of JSON lines, and returns how many. Settings and ledger stay here."""
        return exported(self._ask, Path(path), vectors=arguments.flag("vectors", vectors))

    def import_from(self, path: StrPath) -> int:
        """Keeps the answers of an exported file, and returns how many: those that have expired are left out.

        One for the same prompt in the same scope is replaced. Sources must be there; an answer counts as made from
        what they are now.
        """
        return imported(self._ask, Path(path))

    def reembed(self, embed: Callable[[str], Sequence[float]] | None = None, *, restart: bool = True) -> int:
        """Gives all answers other vectors, of another model, and returns how many got one.

        ``embed`` makes them; without it, the model that is installed. Until an answer has its new vector, it is found by
        its prompt, form and aliases only. After an interruption, ``restart=False`` goes on.
        """
        return reembedded(self._ask, embed, restart=arguments.flag("restart", restart))

    def stats(self) -> CacheStats:
        """Returns what the cache holds and has done, and what its promise stands on."""
        return CacheStats.of(self._ask("stats", {}))

    def calibrate(
        self,
        pairs: Iterable[LabelledPair],
        *,
        embed: Callable[[str], Sequence[float]] | None = None,
        target: Target = "f1",
        min_precision: float | None = None,
        min_recall: float | None = None,
    ) -> Calibration:
        """Measures labelled pairs of prompts: what a threshold of the cosine would have done with them, and which of them a
        difference rules out.

        A pair is two prompts and whether one answer is right for both. ``embed`` makes their vectors; without it, the model
        that is installed here. A cosine below 0.5 counts as 0: no cache compares such prompts. Nothing is stored in this
        cache, and nothing of it changes. Its answers need no threshold; the curve says how well vectors alone could have
        told the pairs apart. Raises InvalidError if no threshold reaches ``min_precision`` and ``min_recall``.

        >>> import nuthatch
        >>> pairs = [("reset my password", "reset the password", True), ("reset my password", "close my account", False)]
        >>> vectors = {"reset my password": [1, 0], "reset the password": [0.9, 0.1], "close my account": [0.2, 1]}
        >>> with nuthatch.connect(":memory:") as db:
        ...     found = db.cache("answers").calibrate(pairs, embed=vectors.__getitem__)
        >>> found.precision, found.recall, 0.9 < found.threshold < 1
        (1.0, 1.0, True)
        """
        return measured(pairs, embed, target, min_precision, min_recall)

    def report_html(self, *, audits: int = 50) -> str:
        """Returns a page for a browser: what the cache holds and has done, its ledger, and the oldest answers that wait for a
        verdict. It needs nothing from the network.
        """
        from .cache_page import page

        return page(self.name, self.stats(), self.audits(audits))

    def _configure(self, change: dict[str, Any]) -> None:
        self._ask("configure", change)

    def _ask(self, call: str, question: dict[str, Any]) -> dict[str, Any]:
        import json

        try:
            asked = json.dumps(question, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise InvalidError(f"{call}: not a JSON value: {error}") from None
        found: dict[str, Any] = json.loads(self._core.ask(call, asked))
        return found


def settings(
    *,
    budget: float | None,
    failure: float | None,
    mode: CacheMode | None,
    ttl: timedelta | float | None,
    max_entries: int | None,
    max_bytes: int | str | None,
    scope: Sequence[str] | None,
    allowance: float | None,
    share_after: int | None,
    share_when: ShareWhen | None,
    user_max_entries: int | None,
    user_max_bytes: int | str | None,
) -> dict[str, Any]:
    """The settings that a caller has given."""
    if isinstance(scope, str):
        raise InvalidError(f"scope={scope!r} is a list of names, such as scope=[{scope!r}]")
    given = {
        "budget": arguments.optional_real("budget", budget),
        "failure": arguments.optional_real("failure", failure),
        "mode": arguments.optional_text("mode", mode),
        "ttl": None if ttl is None else _seconds("ttl", ttl),
        "max_entries": arguments.optional_whole("max_entries", max_entries),
        "max_bytes": arguments.optional_size_bytes("max_bytes", max_bytes),
        "scope": None if scope is None else [arguments.text("scope", part) for part in scope],
        "allowance": arguments.optional_real("allowance", allowance),
        "share_after": arguments.optional_whole("share_after", share_after),
        "share_when": arguments.optional_text("share_when", share_when),
        "user_max_entries": arguments.optional_whole("user_max_entries", user_max_entries),
        "user_max_bytes": arguments.optional_size_bytes("user_max_bytes", user_max_bytes),
    }
    return {name: value for name, value in given.items() if value is not None}


def called(args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """The prompt and the scope of a call of a decorated function."""
    if not args or not isinstance(args[0], str):
        raise InvalidError("the first argument of a cached function is its prompt, given by its place")
    scope = {f"argument {at}": repr(value) for at, value in enumerate(args[1:], start=1)}
    return args[0], scope | {name: repr(value) for name, value in kwargs.items()}


def _warmed(at: int, pair: Warmed) -> dict[str, Any]:
    if isinstance(pair, Mapping):
        known = {"prompt", "response", "scope", "vector", "sources", "tags", "ttl", "user", "shared", "cost"}
        if not {"prompt", "response"} <= set(pair) <= known:
            raise InvalidError(
                f"pairs[{at}] has {sorted(pair)}; it needs prompt and response, and may have the rest of {sorted(known)}"
            )
        return dict(pair)
    try:
        prompt, response = pair
    except (TypeError, ValueError):
        raise InvalidError(f"pairs[{at}]={pair!r} is no prompt with its answer; give a pair of both") from None
    return {"prompt": prompt, "response": response}


def _seconds(name: str, value: timedelta | float) -> float:
    """Zero, which stands for ever, is as good as any."""
    seconds = value.total_seconds() if isinstance(value, timedelta) else arguments.optional_real(name, value)
    if seconds is None or not 0 <= seconds <= 1e9:
        raise InvalidError(f"{name}={value!r} is not a number of seconds from 0 up")
    return seconds


def _question(
    prompt: str,
    scope: Scope,
    vector: Sequence[float] | None,
    *,
    judged: bool | None = None,
    user: str | None = None,
) -> dict[str, Any]:
    asked: dict[str, Any] = {"prompt": arguments.text("prompt", prompt)}
    if scope is not None:
        if not isinstance(scope, Mapping):
            raise InvalidError(f"scope={scope!r} is not a mapping of parts, such as scope={{'user': 'anna'}}")
        asked["scope"] = {arguments.text("scope", part): arguments.text("scope", scope[part]) for part in scope}
    if vector is not None:
        asked["vector"] = [float(x) for x in vector]
    if judged:
        asked["judged"] = True
    if user is not None:
        asked["user"] = arguments.text("user", user)
    return asked


def _cost(name: str, cost: Mapping[str, float] | float) -> dict[str, Any]:
    given = dict(cost) if isinstance(cost, Mapping) else {"usd": cost}
    if not given or not given.keys() <= {"tokens", "usd"}:
        raise InvalidError(f"{name}={cost!r} is neither US dollars nor a mapping with tokens and usd")
    costs: dict[str, Any] = {"usd": arguments.optional_real(f"{name}.usd", given.get("usd", 0.0))}
    if "tokens" in given:
        costs["tokens"] = arguments.whole(f"{name}.tokens", given["tokens"])
    return costs


def _source(source: Source | Mapping[str, str] | tuple[str, str]) -> dict[str, str]:
    if isinstance(source, Mapping):
        return {"collection": source["collection"], "id": source["id"]}
    try:
        collection, id = source
    except (TypeError, ValueError):
        raise InvalidError(f"{source!r} is not a source: give pairs of a collection's name and a record's id") from None
    return {"collection": arguments.text("sources", collection), "id": arguments.text("sources", id)}
