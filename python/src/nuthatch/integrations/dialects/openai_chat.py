"""OpenAI's chat completions, which many providers speak."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..questions import Question
from .dialect import Allowed, Answer, Bypassed, is_json, last_words, text_of
from .events import Event, pieces, spelt

#: Fields that change an answer.
_HASHED = frozenset(
    (
        *("model", "messages", "tools", "tool_choice", "parallel_tool_calls", "functions", "function_call"),
        *("response_format", "temperature", "top_p", "n", "seed", "stop", "max_tokens", "max_completion_tokens"),
        *("presence_penalty", "frequency_penalty", "logit_bias", "logprobs", "top_logprobs"),
        *("reasoning_effort", "verbosity", "modalities", "audio", "prediction"),
    )
)
#: Fields that do not.
_IGNORED = frozenset(
    (
        *("stream", "stream_options", "user", "metadata", "store", "service_tier", "safety_identifier"),
        *("prompt_cache_key", "prompt_cache_retention", "prompt_cache_options"),
    )
)


class Chat:
    """``POST …/chat/completions``."""

    def question(self, request: Mapping[str, Any], headers: Mapping[str, str], allowed: Allowed) -> Question:
        """As ``Dialect.question``."""
        refuse(request)
        messages = request.get("messages")
        if not isinstance(messages, list) or not all(isinstance(message, Mapping) for message in messages):
            raise Bypassed("unreadable")
        texts = [text_of(message.get("content"), allowed) for message in messages]
        asking = [at for at, message in enumerate(messages) if message.get("role") == "user"]
        last = asking[-1] if asking else None
        is_acting = bool(request.get("tools") or request.get("functions")) or any(
            message.get("role") in ("tool", "function") or message.get("tool_calls") or message.get("function_call")
            for message in messages
        )
        hashed = {name: value for name, value in request.items() if name not in _IGNORED and value is not None}
        text = None if last is None else texts[last]
        if last is None or text is None:
            return Question(last_words(texts), hashed, by_meaning=False)
        hashed["messages"] = [
            {**message, "content": None} if at == last else message for at, message in enumerate(messages)
        ]
        return Question(text, hashed, by_meaning=not is_acting and set(hashed) <= _HASHED)

    def objection(self, request: Mapping[str, Any], answer: Mapping[str, Any], allowed: Allowed) -> str | None:
        """As ``Dialect.objection``."""
        choices = answer.get("choices")
        if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], Mapping):
            return "choices"
        message, finish = choices[0].get("message"), choices[0].get("finish_reason")
        if not isinstance(message, Mapping):
            return "unreadable"
        if message.get("refusal"):
            return "refusal"
        if message.get("audio"):
            return "media"
        if message.get("tool_calls") or message.get("function_call"):
            return None if allowed.tool_calls and finish in ("tool_calls", "function_call", "stop") else "tools"
        if finish != "stop":
            return "unfinished"
        content = message.get("content")
        if not isinstance(content, str) or not content.strip():
            return "empty"
        return "broken" if _wants_json(request) and not is_json(content) else None

    def can_give(self, request: Mapping[str, Any], answer: Mapping[str, Any]) -> bool:
        """As ``Dialect.can_give``."""
        return not (request.get("stream") and _wants_usage(request)) or answer.get("usage") is not None

    def is_last(self, event: Event) -> bool:
        """As ``Dialect.is_last``."""
        return event.data == "[DONE]"

    def assembled(self, events: Iterable[Event]) -> Answer | None:
        """As ``Dialect.assembled``."""
        body: dict[str, Any] = {}
        message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None}
        finish, lengths = None, []
        for event in events:
            if self.is_last(event):
                break
            chunk = event.json()
            if not isinstance(chunk, dict) or "error" in chunk or not isinstance(chunk.get("choices"), list):
                return None
            told = {name: value for name, value in chunk.items() if name not in ("choices", "obfuscation", "object")}
            body |= {name: value for name, value in told.items() if value is not None}
            for choice in chunk["choices"]:
                delta = choice.get("delta") or {}
                if choice.get("index", 0) != 0 or choice.get("logprobs") or not _grow(message, delta):
                    return None
                finish = choice.get("finish_reason") or finish
                if isinstance(delta.get("content"), str) and delta["content"]:
                    lengths.append(len(delta["content"]))
        if "tool_calls" in message:
            message["tool_calls"] = [message["tool_calls"][at] for at in sorted(message["tool_calls"])]
        choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
        return Answer({**body, "object": "chat.completion", "choices": [choice]}, lengths)

    def stream(self, request: Mapping[str, Any], answer: Answer) -> Iterator[bytes]:
        """As ``Dialect.stream``."""
        body, wants_usage = answer.body, _wants_usage(request)
        head = {name: value for name, value in body.items() if name not in ("choices", "usage", "object")}
        head = {**head, "object": "chat.completion.chunk"}

        def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
            return spelt({**head, "choices": [choice], **({"usage": None} if wants_usage else {})})

        [whole] = body["choices"]
        message = whole["message"]
        text = message.get("content")
        yield chunk(
            {"role": message.get("role", "assistant"), "content": None if text is None else "", "refusal": None}
        )
        for name, value in message.items():
            if name not in ("role", "content", "refusal", "tool_calls") and value:
                yield chunk({name: value})
        for piece in pieces(text or "", answer.lengths):
            yield chunk({"content": piece})
        for at, call in enumerate(message.get("tool_calls") or ()):
            yield chunk({"tool_calls": [{"index": at, **call}]})
        yield chunk({}, whole["finish_reason"])
        if wants_usage:
            yield spelt({**head, "choices": [], "usage": body.get("usage")})
        yield spelt("[DONE]")


def refuse(request: Mapping[str, Any]) -> None:
    """Raises ``Bypassed`` for parameters with which no cache answers."""
    if (request.get("n") or 1) != 1:
        raise Bypassed("several answers")
    if request.get("logprobs") or request.get("top_logprobs"):
        raise Bypassed("logprobs")
    if request.get("web_search_options") is not None:
        raise Bypassed("web search")
    if request.get("audio") is not None or "audio" in (request.get("modalities") or ()):
        raise Bypassed("media")
    temperature = request.get("temperature")
    if isinstance(temperature, (int, float)) and temperature > 1:
        raise Bypassed("temperature")


def _grow(message: dict[str, Any], delta: Mapping[str, Any]) -> bool:
    """Adds what a chunk brings. Returns False for what cannot be added."""
    for name, more in delta.items():
        if more is None or name == "role":
            continue
        if name == "tool_calls" and isinstance(more, list):
            for call in more:
                _grow_call(message.setdefault("tool_calls", {}), call)
        elif isinstance(more, str):
            message[name] = (message.get(name) or "") + more
        else:
            return False
    if message["refusal"] == "":
        message["refusal"] = None
    return True


def _grow_call(calls: dict[int, Any], more: Mapping[str, Any]) -> None:
    call = calls.setdefault(
        more.get("index", 0), {"id": None, "type": "function", "function": {"name": "", "arguments": ""}}
    )
    call |= {name: more[name] for name in ("id", "type") if more.get(name)}
    for name, text in (more.get("function") or {}).items():
        if isinstance(text, str):
            call["function"][name] = call["function"].get(name, "") + text


def _wants_usage(request: Mapping[str, Any]) -> bool:
    options = request.get("stream_options")
    return isinstance(options, Mapping) and bool(options.get("include_usage"))


def _wants_json(request: Mapping[str, Any]) -> bool:
    wanted = request.get("response_format")
    return isinstance(wanted, Mapping) and wanted.get("type") in ("json_object", "json_schema")
