"""LlamaIndex's requests to a model as a cache's questions, and the model's answers as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse, MessageRole, TextBlock
from llama_index.core.bridge.pydantic import BaseModel
from llama_index.core.llms import LLM

from ..dialects.dialect import Bypassed
from ..dialects.openai_chat import refuse
from ..questions import Question

#: What a model is made with, and what changes no answer.
_IGNORED = frozenset(
    (
        *("api_key", "callback_manager", "timeout", "max_retries", "reuse_client", "num_workers", "default_headers"),
        *("messages_to_prompt", "completion_to_prompt", "output_parser", "class_name"),
    )
)
_MEDIA = ("image", "audio", "video", "document")
_CUT_OFF = ("length", "max_tokens", "content_filter", "refusal")


def of_prompt(model: LLM, prompt: str, formatted: bool, options: Mapping[str, Any]) -> Question:
    """The question of a prompt. Raises ``Bypassed`` if no cache answers it."""
    return Question(prompt, {"call": "complete", "formatted": formatted, **_rest(model, options)}, not _acts(options))


def of_messages(model: LLM, messages: Sequence[ChatMessage], options: Mapping[str, Any]) -> Question:
    """The question of messages: the last text of the user."""
    dumped = [json.loads(message.model_dump_json()) for message in messages]
    rest = {"call": "chat", "messages": dumped, **_rest(model, options)}
    last = max((at for at, message in enumerate(messages) if message.role == MessageRole.USER), default=None)
    blocks = [] if last is None else messages[last].blocks
    if any(not isinstance(block, TextBlock) and block.block_type in _MEDIA for one in messages for block in one.blocks):
        raise Bypassed("media")
    if last is None or len(blocks) != 1 or not isinstance(blocks[0], TextBlock):
        return Question(" ".join(str(message.content) for message in messages[-1:]), rest, by_meaning=False)
    dumped[last]["blocks"] = None
    is_acting = any(message.role in (MessageRole.TOOL, MessageRole.FUNCTION) for message in messages)
    return Question(blocks[0].text, rest, not is_acting and not _acts(options))


def completion(response: CompletionResponse, lengths: Sequence[int]) -> dict[str, Any] | None:
    """A completion as JSON; None for one that is not kept."""
    if not response.text.strip() or response.logprobs or _is_cut_off(response):
        return None
    return _json({"text": response.text, "additional_kwargs": response.additional_kwargs, "pieces": list(lengths)})


def chat(response: ChatResponse, lengths: Sequence[int], tool_calls: bool) -> dict[str, Any] | None:
    """A message as JSON; None for one that is not kept."""
    message = response.message
    calls = bool(message.additional_kwargs.get("tool_calls")) or any(
        b.block_type == "tool_call" for b in message.blocks
    )
    if response.logprobs or _is_cut_off(response) or (calls and not tool_calls):
        return None
    if not calls and not (message.content or "").strip():
        return None
    dumped = json.loads(message.model_dump_json())
    return _json({"message": dumped, "additional_kwargs": response.additional_kwargs, "pieces": list(lengths)})


def made_completion(stored: Mapping[str, Any]) -> CompletionResponse:
    """The completion of stored JSON."""
    return CompletionResponse(text=stored["text"], additional_kwargs=stored["additional_kwargs"])


def made_chat(stored: Mapping[str, Any]) -> ChatResponse:
    """The message of stored JSON."""
    message = ChatMessage.model_validate(stored["message"])
    return ChatResponse(message=message, additional_kwargs=stored["additional_kwargs"])


def _rest(model: LLM, options: Mapping[str, Any]) -> dict[str, Any]:
    made_with = {name: getattr(model, name, None) for name in type(model).model_fields if name not in _IGNORED}
    given = {**made_with, **options}
    refuse(given)
    identity = {"class": type(model).__name__, "model": json.loads(model.metadata.model_dump_json())}
    return {**identity, "with": {name: _plain(value) for name, value in sorted(given.items())}}


def _plain(value: Any) -> Any:
    """A setting as JSON. Of what is none, two are the same only if they are one object: that fails towards a miss."""
    if isinstance(value, BaseModel):
        return json.loads(value.model_dump_json())
    try:
        return json.loads(json.dumps(value, sort_keys=True))
    except (TypeError, ValueError):
        return repr(value)


def _acts(options: Mapping[str, Any]) -> bool:
    return bool(options.get("tools") or options.get("functions"))


def _json(stored: dict[str, Any]) -> dict[str, Any] | None:
    try:
        json.dumps(stored, allow_nan=False)
    except (TypeError, ValueError):
        return None
    return stored


def _is_cut_off(response: Any) -> bool:
    """Whether the provider's own answer, where it came along, says that it is not whole."""
    raw = response.raw
    said = [response.additional_kwargs.get("finish_reason"), _field(raw, "finish_reason"), _field(raw, "stop_reason")]
    choices = _field(raw, "choices")
    said += [_field(choice, "finish_reason") for choice in choices] if isinstance(choices, list) else []
    return any(reason in _CUT_OFF for reason in said)


def _field(of: Any, name: str) -> Any:
    return of.get(name) if isinstance(of, Mapping) else getattr(of, name, None)
