"""Anthropic's messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..questions import Question
from .dialect import Allowed, Answer, Bypassed, last_words, text_of
from .events import Event, pieces, spelt

_HASHED = frozenset(
    (
        *("model", "messages", "system", "tools", "tool_choice", "max_tokens", "temperature", "top_p", "top_k"),
        *("stop_sequences", "thinking", "output_config", "speed", "inference_geo"),
    )
)
_IGNORED = frozenset(("stream", "metadata", "service_tier", "cache_control"))
#: Headers that change what the interface is.
_HEADERS = ("anthropic-version", "anthropic-beta")
#: Blocks of an answer that only a reader of the whole conversation could use again.
_KEPT = ("text", "thinking", "redacted_thinking")


class Messages:
    """``POST …/messages``."""

    def question(self, request: Mapping[str, Any], headers: Mapping[str, str], allowed: Allowed) -> Question:
        """As ``Dialect.question``."""
        messages, tools = request.get("messages"), request.get("tools") or []
        if not isinstance(messages, list) or not all(isinstance(message, Mapping) for message in messages):
            raise Bypassed("unreadable")
        if request.get("container") is not None or request.get("mcp_servers"):
            raise Bypassed("server tools")
        if any(tool.get("type") not in (None, "custom") for tool in tools):
            raise Bypassed("server tools")
        texts = [text_of(message.get("content"), allowed) for message in messages]
        hashed = {
            name: _unmarked(value) for name, value in request.items() if name not in _IGNORED and value is not None
        }
        by_meaning = not tools and set(hashed) <= _HASHED and not any(_is_step(message) for message in messages)
        hashed["headers"] = {name: headers[name] for name in _HEADERS if name in headers}
        last = max((at for at, message in enumerate(messages) if message.get("role") == "user"), default=None)
        text = None if last is None else texts[last]
        if last is None or text is None:
            return Question(last_words(texts), hashed, by_meaning=False)
        hashed["messages"][last]["content"] = None
        return Question(text, hashed, by_meaning)

    def objection(self, request: Mapping[str, Any], answer: Mapping[str, Any], allowed: Allowed) -> str | None:
        """As ``Dialect.objection``."""
        content, reason = answer.get("content"), answer.get("stop_reason")
        if answer.get("type") != "message" or not isinstance(content, list):
            return "unreadable"
        kinds = {block.get("type") for block in content}
        if reason == "refusal":
            return "refusal"
        if reason == "tool_use" or "tool_use" in kinds:
            return None if allowed.tool_calls and kinds <= {*_KEPT, "tool_use"} else "tools"
        if reason not in ("end_turn", "stop_sequence") or not kinds <= set(_KEPT):
            return "unfinished"
        text = "".join(block.get("text") or "" for block in content if block.get("type") == "text")
        return None if text.strip() else "empty"

    def can_give(self, request: Mapping[str, Any], answer: Mapping[str, Any]) -> bool:
        """As ``Dialect.can_give``."""
        return True

    def is_last(self, event: Event) -> bool:
        """As ``Dialect.is_last``."""
        told = event.json()
        return isinstance(told, dict) and told.get("type") == "message_stop"

    def assembled(self, events: Iterable[Event]) -> Answer | None:
        """As ``Dialect.assembled``."""
        body: dict[str, Any] = {}
        lengths: list[int] = []
        for event in events:
            told = event.json()
            if not isinstance(told, dict) or told.get("type") == "error":
                return None
            if told.get("type") == "message_start":
                body = {**told["message"], "content": []}
            elif told.get("type") == "content_block_start":
                body["content"].append(dict(told["content_block"]))
            elif told.get("type") == "content_block_delta":
                if not _grow(body["content"], told, lengths):
                    return None
            elif told.get("type") == "message_delta":
                body |= told.get("delta") or {}
                body["usage"] = {**(body.get("usage") or {}), **(told.get("usage") or {})}
        if not all(_finish(block) for block in body.get("content", ())):
            return None
        return Answer(body, lengths)

    def stream(self, request: Mapping[str, Any], answer: Answer) -> Iterator[bytes]:
        """As ``Dialect.stream``."""
        body, lengths = answer.body, list(answer.lengths)
        usage = body.get("usage") or {}
        begun = {
            **body,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {**usage, "output_tokens": 0},
        }
        yield _event("message_start", message=begun)
        for at, block in enumerate(body["content"]):
            yield from _block(at, block, lengths)
        ended = {"stop_reason": body.get("stop_reason"), "stop_sequence": body.get("stop_sequence")}
        yield _event("message_delta", delta=ended, usage={"output_tokens": usage.get("output_tokens", 0)})
        yield _event("message_stop")


def _event(name: str, **data: Any) -> bytes:
    return spelt({"type": name, **data}, name)


def _block(at: int, block: Mapping[str, Any], lengths: list[int]) -> Iterator[bytes]:
    def delta(kind: str, name: str, value: Any) -> bytes:
        return _event("content_block_delta", index=at, delta={"type": kind, name: value})

    kind = block.get("type")
    empty: dict[str, dict[str, Any]] = {
        "text": {"text": ""},
        "thinking": {"thinking": "", "signature": ""},
        "tool_use": {"input": {}},
    }
    yield _event("content_block_start", index=at, content_block={**block, **empty.get(str(kind), {})})
    if kind == "text":
        for piece in pieces(block["text"], lengths):
            yield delta("text_delta", "text", piece)
        lengths.clear()
    elif kind == "thinking":
        yield delta("thinking_delta", "thinking", block["thinking"])
        yield delta("signature_delta", "signature", block.get("signature", ""))
    elif kind == "tool_use":
        yield delta("input_json_delta", "partial_json", spelt(block["input"])[len("data: ") :].decode().strip())
    yield _event("content_block_stop", index=at)


def _grow(content: list[dict[str, Any]], told: Mapping[str, Any], lengths: list[int]) -> bool:
    """Adds what an event brings. Returns False for what cannot be added."""
    block, delta = content[told["index"]], told["delta"]
    if delta["type"] == "text_delta":
        block["text"] += delta["text"]
        if sum(one.get("type") == "text" for one in content) == 1:
            lengths.append(len(delta["text"]))
    elif delta["type"] == "thinking_delta":
        block["thinking"] += delta["thinking"]
    elif delta["type"] == "signature_delta":
        block["signature"] = delta["signature"]
    elif delta["type"] == "input_json_delta":
        block["_json"] = block.get("_json", "") + delta["partial_json"]
    else:
        return False
    return True


def _finish(block: dict[str, Any]) -> bool:
    """Reads the input of a call. Returns False where it is no JSON."""
    if "_json" not in block:
        return True
    block["input"] = Event("", block.pop("_json") or "{}").json()
    return block["input"] is not None


def _is_step(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    return isinstance(content, list) and any(
        isinstance(part, Mapping) and part.get("type") in ("tool_use", "tool_result") for part in content
    )


def _unmarked(value: Any) -> Any:
    """Without the marks of the provider's own caching, which change no answer."""
    if isinstance(value, Mapping):
        return {name: _unmarked(one) for name, one in value.items() if name != "cache_control"}
    return [_unmarked(one) for one in value] if isinstance(value, list) else value
