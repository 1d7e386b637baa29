"""OpenAI's responses, as far as they leave nothing at the provider: with ``store: false``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..questions import Question
from .dialect import Allowed, Answer, Bypassed, is_json, last_words, text_of
from .events import Event, pieces, spelt

_HASHED = frozenset(
    (
        *("model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "max_tool_calls"),
        *("text", "reasoning", "truncation", "include", "max_output_tokens", "temperature", "top_p", "verbosity"),
    )
)
_IGNORED = frozenset(
    (
        *("stream", "stream_options", "user", "metadata", "store", "service_tier", "safety_identifier"),
        *("prompt_cache_key", "prompt_cache_retention", "prompt_cache_options"),
    )
)
#: The parts of an answer besides the text.
_CALLS = ("function_call", "custom_tool_call")


class Responses:
    """``POST …/responses``."""

    def question(self, request: Mapping[str, Any], headers: Mapping[str, str], allowed: Allowed) -> Question:
        """As ``Dialect.question``."""
        _refuse(request)
        hashed = {name: value for name, value in request.items() if name not in _IGNORED and value is not None}
        tools, given = request.get("tools") or (), request.get("input")
        by_meaning = not tools and set(hashed) <= _HASHED
        if isinstance(given, str):
            return Question(given, {**hashed, "input": None}, by_meaning)
        if not isinstance(given, list) or not all(isinstance(item, Mapping) for item in given):
            raise Bypassed("unreadable")
        texts = [text_of(item.get("content"), allowed) for item in given]
        last = max((at for at, item in enumerate(given) if item.get("role") == "user"), default=None)
        text = None if last is None else texts[last]
        if last is None or text is None:
            return Question(last_words(texts), hashed, by_meaning=False)
        hashed["input"] = [{**item, "content": None} if at == last else item for at, item in enumerate(given)]
        is_acting = any(item.get("type") not in (None, "message", "reasoning") for item in given)
        return Question(text, hashed, by_meaning and not is_acting)

    def objection(self, request: Mapping[str, Any], answer: Mapping[str, Any], allowed: Allowed) -> str | None:
        """As ``Dialect.objection``."""
        output = answer.get("output")
        if answer.get("object") != "response" or not isinstance(output, list):
            return "unreadable"
        if answer.get("status") != "completed" or answer.get("error"):
            return "unfinished"
        kinds = {item.get("type") for item in output}
        parts = [part for item in output if item.get("type") == "message" for part in item.get("content") or ()]
        if any(part.get("type") == "refusal" for part in parts):
            return "refusal"
        if kinds & set(_CALLS):
            return None if allowed.tool_calls and kinds <= {"message", "reasoning", *_CALLS} else "tools"
        if not kinds <= {"message", "reasoning"}:
            return "tools"
        text = "".join(part.get("text") or "" for part in parts)
        if not text.strip():
            return "empty"
        wanted = (request.get("text") or {}).get("format") or {}
        return "broken" if wanted.get("type") in ("json_object", "json_schema") and not is_json(text) else None

    def can_give(self, request: Mapping[str, Any], answer: Mapping[str, Any]) -> bool:
        """As ``Dialect.can_give``."""
        return True

    def is_last(self, event: Event) -> bool:
        """As ``Dialect.is_last``."""
        told = event.json()
        return isinstance(told, dict) and told.get("type") == "response.completed"

    def assembled(self, events: Iterable[Event]) -> Answer | None:
        """As ``Dialect.assembled``: the last event brings the whole answer."""
        lengths: list[int] = []
        body: dict[str, Any] | None = None
        texts = set()
        for event in events:
            told = event.json()
            if not isinstance(told, dict) or told.get("type") in ("error", "response.failed", "response.incomplete"):
                return None
            if told.get("type") == "response.output_text.delta":
                texts.add((told.get("output_index"), told.get("content_index")))
                lengths += [len(told["delta"])] if len(texts) == 1 else []
            elif told.get("type") == "response.completed":
                body = told["response"]
        return None if body is None else Answer(body, lengths)

    def stream(self, request: Mapping[str, Any], answer: Answer) -> Iterator[bytes]:
        """As ``Dialect.stream``."""
        for number, told in enumerate(_told(answer.body, list(answer.lengths))):
            yield spelt({**told, "sequence_number": number}, told["type"])


def _refuse(request: Mapping[str, Any]) -> None:
    if request.get("store") is not False:
        # The provider keeps such a response, and a later request may name it: one out of a cache, it would not know.
        raise Bypassed("stored at the provider")
    for name in ("previous_response_id", "conversation", "background", "prompt"):
        if request.get(name):
            raise Bypassed(name.replace("_", " "))
    if request.get("top_logprobs") or any("logprobs" in str(one) for one in request.get("include") or ()):
        raise Bypassed("logprobs")
    if any(tool.get("type") not in ("function", "custom") for tool in request.get("tools") or ()):
        raise Bypassed("server tools")
    temperature = request.get("temperature")
    if isinstance(temperature, (int, float)) and temperature > 1:
        raise Bypassed("temperature")


def _told(body: Mapping[str, Any], lengths: list[int]) -> Iterator[dict[str, Any]]:
    """The events of an answer."""
    begun = {**body, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for at, item in enumerate(body["output"]):
        empty = {**item, "status": "in_progress", **({"content": []} if item["type"] == "message" else {})}
        if item["type"] in _CALLS:
            empty["arguments" if item["type"] == "function_call" else "input"] = ""
        yield {"type": "response.output_item.added", "output_index": at, "item": empty}
        place = {"item_id": item.get("id"), "output_index": at}
        if item["type"] == "message":
            for within, part in enumerate(item["content"]):
                yield from _part(part, {**place, "content_index": within}, lengths)
        elif item["type"] == "function_call":
            kind = "response.function_call_arguments"
            yield {"type": f"{kind}.delta", **place, "delta": item["arguments"]}
            yield {"type": f"{kind}.done", **place, "arguments": item["arguments"], "name": item.get("name")}
        elif item["type"] == "custom_tool_call":
            kind = "response.custom_tool_call_input"
            yield {"type": f"{kind}.delta", **place, "delta": item["input"]}
            yield {"type": f"{kind}.done", **place, "input": item["input"]}
        yield {"type": "response.output_item.done", "output_index": at, "item": item}
    yield {"type": "response.completed", "response": body}


def _part(part: Mapping[str, Any], place: Mapping[str, Any], lengths: list[int]) -> Iterator[dict[str, Any]]:
    yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
    for piece in pieces(part["text"], lengths):
        yield {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []}
    lengths.clear()
    yield {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []}
    yield {"type": "response.content_part.done", **place, "part": part}
