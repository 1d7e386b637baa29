"""One request on its way through a cache, without the network: what it asks, what answers it, what is kept of the answer."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from ...answers import CacheHit
from ...errors import NuthatchError
from ..dialects.anthropic_messages import Messages
from ..dialects.dialect import Allowed, Answer, Bypassed, Dialect
from ..dialects.events import Event, Reader
from ..dialects.openai_chat import Chat
from ..dialects.openai_responses import Responses
from ..questions import Question, Questions
from .control import Control

#: Bytes of a stream that are kept in memory until its end; a longer one is not stored.
_STREAM_BYTES_MAX = 16 << 20

_LOG = logging.getLogger("nuthatch.wrap")

_DIALECTS: dict[str, Dialect] = {"/chat/completions": Chat(), "/responses": Responses(), "/messages": Messages()}

ScopeOf = Callable[[Mapping[str, Any]], Mapping[str, str]]


@dataclass(frozen=True)
class Rules:
    """How a client's requests are answered."""

    questions: Questions
    allowed: Allowed
    scope: ScopeOf | None
    skip: Callable[[Mapping[str, Any]], bool] | None


@dataclass(frozen=True)
class Given:
    """An answer out of the cache, as it goes to the client."""

    content_type: str
    content: bytes | Iterator[bytes]
    headers: dict[str, str]


class Exchange:
    """A request that a cache may answer."""

    def __init__(
        self, rules: Rules, control: Control, dialect: Dialect, request: dict[str, Any], question: Question
    ) -> None:
        self._rules = rules
        self._control = control
        self._dialect = dialect
        self._request = request
        self._question = question
        self._scope = {**(rules.scope(request) if rules.scope else {}), **(control.scope or {})}

    @property
    def asks(self) -> bool:
        """Whether the model may be asked."""
        return self._control.asks

    def answer(self) -> Given | None:
        """The answer out of the cache; None if there is none, or none that has what the request wants."""
        if not self._control.reads:
            return None
        hit = self._rules.questions.check(self._question, scope=self._scope)
        if hit is None or not self._dialect.can_give(self._request, hit.response["answer"]):
            return None
        answer = Answer(hit.response["answer"], hit.response["pieces"])
        if self._request.get("stream"):
            return Given("text/event-stream; charset=utf-8", self._dialect.stream(self._request, answer), _told(hit))
        return Given("application/json", json.dumps(answer.body, ensure_ascii=False).encode(), _told(hit))

    def keep(self, content: bytes) -> str | None:
        """Stores an answer that came as a whole. Returns why it is not kept, or None."""
        try:
            body = json.loads(content)
        except ValueError:
            return "unreadable"
        return self._keep(Answer(body)) if isinstance(body, dict) else "unreadable"

    def recorder(self) -> Recorder:
        """Listens to an answer that comes as a stream."""
        return Recorder(self._dialect, self._keep)

    def _keep(self, answer: Answer) -> str | None:
        if not self._control.stores:
            return "no-store"
        why = self._dialect.objection(self._request, answer.body, self._rules.allowed)
        if why is not None:
            return why
        control = self._control
        try:
            kept = self._rules.questions.store(
                self._question,
                answer.stored(),
                scope=self._scope,
                sources=control.sources,
                tags=control.tags,
                ttl=control.ttl,
            )
        except NuthatchError as error:
            # The answer is paid for: it goes to the caller, and clients that try again would pay once more.
            _LOG.warning("an answer could not be stored: %s", error)
            return "error"
        if kept is None:
            return "too large"
        return None if kept.stored else "off"


class Recorder:
    """Listens to a stream, and stores the answer when its last event has come."""

    def __init__(self, dialect: Dialect, keep: Callable[[Answer], str | None]) -> None:
        self._dialect = dialect
        self._keep = keep
        self._reader = Reader()
        self._events: list[Event] = []
        self._bytes = 0
        self._is_done = False

    def hear(self, more: bytes) -> bool:
        """Takes the next bytes. Returns True when the stream is whole; ``finish`` then stores it."""
        if self._is_done:
            return False
        self._bytes += len(more)
        for event in self._reader.feed(more):
            self._events.append(event)
            if self._dialect.is_last(event):
                self._is_done = True
                return True
        if self._bytes > _STREAM_BYTES_MAX:
            self._is_done = True
            self._events.clear()
        return False

    def finish(self) -> None:
        """Stores the answer, if it is one to keep."""
        try:
            answer = self._dialect.assembled(self._events)
        except (AttributeError, IndexError, KeyError, TypeError):
            # Events that do not follow the interface: such a stream goes to the client, and is no answer to keep.
            answer = None
        if answer is not None:
            self._keep(answer)


def begun(rules: Rules, control: Control, url: str, headers: Mapping[str, str], content: bytes) -> Exchange:
    """The exchange for a request. Raises ``Bypassed`` for one that no cache answers."""
    dialect = dialect_of(url)
    if dialect is None:
        raise Bypassed("another call")
    if not control.reads and not control.stores:
        raise Bypassed("off")
    try:
        request = json.loads(content)
    except ValueError:
        raise Bypassed("unreadable") from None
    if not isinstance(request, dict):
        raise Bypassed("unreadable")
    if rules.skip is not None and rules.skip(request):
        raise Bypassed("skipped")
    question = dialect.question(request, headers, rules.allowed)
    by_meaning = question.by_meaning and control.by_meaning
    question = replace(question, rest={"url": url, "request": question.rest}, by_meaning=by_meaning)
    return Exchange(rules, control, dialect, request, question)


def dialect_of(url: str) -> Dialect | None:
    """The interface that a request is for."""
    path = urlsplit(url).path.rstrip("/")
    return next((dialect for end, dialect in _DIALECTS.items() if path.endswith(end)), None)


def _told(hit: CacheHit) -> dict[str, str]:
    told = {
        "x-nuthatch-cache": "HIT",
        "x-nuthatch-cache-tier": hit.tier,
        "x-nuthatch-cache-entry": str(hit.entry),
        "cache-status": f"nuthatch; hit; detail={hit.tier}",
        "age": str(int(hit.age)),
    }
    return told if hit.hit is None else {**told, "x-nuthatch-cache-hit-id": str(hit.hit)}
