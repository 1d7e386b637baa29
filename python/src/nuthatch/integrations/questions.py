"""How the integrations ask a cache: a text that is compared, and the rest of the request, which must be the same.

The rest is hashed into the part "request" of the scope, so nothing compares across two models, system prompts or earlier turns.
A request that must not be answered by meaning has its text in the hash, too: nothing else lies in its scope.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeAlias

from ..answers import CacheHit, Source, StoredAnswer
from ..cache import Cache
from ..errors import InvalidError
from .given import waiting

#: Makes the vector of a question, for caches whose callers bring them.
Embed: TypeAlias = "Callable[[str], Sequence[float]]"
#: Finds the question inside a text, such as between marks; None: the text is answered only where it is the very same.
FindQuestion: TypeAlias = "Callable[[str], str | None]"
Sources: TypeAlias = "Iterable[Source | Mapping[str, str] | tuple[str, str]]"

#: The part of the scope that every request has.
PART = "request"
#: A cache's longest prompt is 256 KiB; such texts are not questions, and are found by their hash.
_TEXT_BYTES_MAX = 64 << 10
#: A cache's longest answer.
_ANSWER_BYTES_MAX = 4 << 20


@dataclass(frozen=True)
class Question:
    """One request: what is compared, and what must be the same."""

    text: str
    """The text to compare."""
    rest: Any
    """Everything else that the answer depends on, as JSON."""
    by_meaning: bool = True
    """False: only the very same text is answered."""


class Questions:
    """A cache, as integrations ask it.

    ``scope`` are further parts of every scope, such as the user. ``embed`` makes the vectors of questions; without it the cache
    embeds by itself. ``question`` finds the question inside a text. ``ttl`` is in seconds; None: as the cache says.

    >>> import nuthatch
    >>> with nuthatch.connect(":memory:") as db:
    ...     questions = Questions(db.cache("answers"))
    ...     _ = questions.store(Question("What is DNS?", {"model": "small"}), "names to numbers")
    ...     hit = questions.check(Question("what's DNS", {"model": "small"}))
    ...     hit.response, questions.check(Question("What is DNS?", {"model": "large"}))
    ('names to numbers', None)
    """

    def __init__(
        self,
        cache: Cache,
        *,
        scope: Mapping[str, str] | None = None,
        embed: Embed | None = None,
        question: FindQuestion | None = None,
        ttl: timedelta | float | None = None,
        tags: Sequence[str] = (),
    ) -> None:
        self.cache: Cache = waiting("cache", cache, Cache)
        self._scope = dict(scope or {})
        if PART in self._scope:
            raise InvalidError(f"scope has a part {PART!r}, which is the request's own; name it otherwise")
        self._embed = embed
        self._find = question
        self._ttl = ttl
        self._tags = [tags] if isinstance(tags, str) else list(tags)

    def check(self, question: Question, *, scope: Mapping[str, str] | None = None) -> CacheHit | None:
        """Returns the answer, as ``Cache.check``."""
        text, parts = self._asked(question, scope)
        return self.cache.check(text, scope=parts, vector=self._vector(text))

    def store(
        self,
        question: Question,
        answer: Any,
        *,
        scope: Mapping[str, str] | None = None,
        sources: Sources = (),
        tags: Iterable[str] = (),
        ttl: timedelta | float | None = None,
    ) -> StoredAnswer | None:
        """Stores an answer, as ``Cache.store``. Returns None for one that is too large for a cache."""
        if len(json.dumps(answer, ensure_ascii=False).encode()) > _ANSWER_BYTES_MAX:
            return None
        text, parts = self._asked(question, scope)
        return self.cache.store(
            text,
            answer,
            scope=parts,
            vector=self._vector(text),
            sources=sources,
            tags=list(dict.fromkeys([*self._tags, *tags])),
            ttl=self._ttl if ttl is None else ttl,
        )

    def _vector(self, text: str) -> Sequence[float] | None:
        return None if self._embed is None else self._embed(text)

    def _asked(self, question: Question, scope: Mapping[str, str] | None) -> tuple[str, dict[str, str]]:
        text, rest, by_meaning = question.text, question.rest, question.by_meaning
        if by_meaning and self._find is not None:
            found = self._find(text)
            if found is None:
                by_meaning = False
            else:
                # The text around the question, such as passages from a search, must be the same.
                rest = [rest, text.partition(found)[::2] if found in text else text]
                text = found
        text, hashed = asked(Question(text, rest, by_meaning))
        return text, {**self._scope, **(scope or {}), PART: hashed}


def asked(question: Question) -> tuple[str, str]:
    """The prompt, and the hash of everything that must be the same: the text itself, too, where only the very same is answered."""
    text, rest, by_meaning = question.text, question.rest, question.by_meaning
    if not text.strip() or len(text.encode(errors="surrogatepass")) > _TEXT_BYTES_MAX:
        by_meaning, rest, text = False, [rest, text], digest(text)
    return text, digest([rest] if by_meaning else [rest, text])


def digest(value: Any) -> str:
    """The SHA-256 of a JSON value, whatever the order of its names. Raises InvalidError for anything else.

    >>> digest({"b": [1, None], "a": "ä"}) == digest({"a": "ä", "b": [1, None]})
    True
    """
    try:
        spelt = json.dumps(value, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise InvalidError(f"a request is not a JSON value, so no cache can tell it from another: {error}") from None
    return hashlib.sha256(spelt.encode()).hexdigest()
