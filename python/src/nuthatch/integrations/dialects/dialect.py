"""Everything needed to keep and replay the answers of an interface for language models."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..questions import Question
from .events import Event


@dataclass(frozen=True)
class Allowed:
    """Further cases that are answered, where everything is the same."""

    tool_calls: bool = False
    """Answers that call tools."""
    media: bool = False
    """Requests with images, sound or files."""


class Bypassed(Exception):
    """A request that no cache answers. Its text is the reason."""


@dataclass
class Answer:
    """A whole answer, as it is stored."""

    body: dict[str, Any]
    """The response to a request that does not stream."""
    lengths: list[int] = field(default_factory=list)
    """The lengths of the pieces in which the text came; none: it did not come as a stream."""

    def stored(self) -> dict[str, Any]:
        """The JSON of it."""
        return {"answer": self.body, "pieces": self.lengths}


class Dialect(Protocol):
    """One interface."""

    def question(self, request: Mapping[str, Any], headers: Mapping[str, str], allowed: Allowed) -> Question:
        """The question of a request. Raises ``Bypassed`` for one that no cache answers."""

    def objection(self, request: Mapping[str, Any], answer: Mapping[str, Any], allowed: Allowed) -> str | None:
        """Why an answer is not kept; None if it is."""

    def can_give(self, request: Mapping[str, Any], answer: Mapping[str, Any]) -> bool:
        """Whether a kept answer has what the request wants."""

    def is_last(self, event: Event) -> bool:
        """Whether an event ends its stream."""

    def assembled(self, events: Iterable[Event]) -> Answer | None:
        """The answer that a stream was; None if it cannot be told."""

    def stream(self, request: Mapping[str, Any], answer: Answer) -> Iterator[bytes]:
        """A kept answer as a stream."""


def text_of(content: Any, allowed: Allowed) -> str | None:
    """The text of a message that is one text; None for several parts. Raises ``Bypassed`` for media that are not allowed."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    kinds = [part.get("type") if isinstance(part, Mapping) else None for part in content]
    if not allowed.media and any(
        kind not in ("text", "input_text", "output_text", "refusal", *_STEPS) for kind in kinds
    ):
        raise Bypassed("media")
    if len(content) == 1 and kinds[0] in ("text", "input_text") and isinstance(content[0].get("text"), str):
        text: str = content[0]["text"]
        return text
    return None


#: Parts of messages that are steps of an agent.
_STEPS = ("tool_use", "tool_result", "thinking", "redacted_thinking")


def last_words(texts: Iterable[str | None]) -> str:
    """The last text that there is; it stands for a request that has no question."""
    return next((text for text in reversed(list(texts)) if text), "")


def is_json(text: str) -> bool:
    """Whether a text is JSON."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
