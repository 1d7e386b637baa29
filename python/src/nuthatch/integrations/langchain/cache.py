"""A cache of answers as LangChain's cache of model calls."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from langchain_core.caches import RETURN_VAL_TYPE, BaseCache
from langchain_core.embeddings import Embeddings
from langchain_core.messages import message_to_dict, messages_from_dict
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, Generation, GenerationChunk

from ...cache import Cache
from ..questions import FindQuestion, Question, Questions

#: How a model says that its answer is not whole, or was held back.
_UNFINISHED = ("length", "max_tokens", "content_filter", "refusal")
#: Models that call tools act: what they say to one question is not the answer to a similar one.
_TOOLS = ("('tools', [", "('functions', [", '"tools": [', '"functions": [')


#: What an answer is made of, by the name under which it is stored. Nothing else is made from stored data.
_KINDS = {kind.__name__: kind for kind in (Generation, GenerationChunk, ChatGeneration, ChatGenerationChunk)}


class NuthatchCache(BaseCache):
    """Answers of models in a cache of a database: ``set_llm_cache(NuthatchCache(db.cache("answers")))``.

    The last human message is the question. The model with its parameters, the system prompt and the other messages are the
    scope: with a budget, a question of the same meaning is answered within the same conversation and for the same model only.
    Models with tools, and messages with images or with several parts, are answered only where everything is the same.

    ``scope`` are further parts of each scope, such as ``{"user": "anna"}``. ``embedding`` makes the vectors of questions;
    without it the cache embeds by itself. ``question`` finds the question inside a message, for example between marks:
    what surrounds it then belongs to the scope, and a message without one must be the same. Not stored are answers that
    were cut off by a limit of tokens or by a filter, and generations of classes of one's own.
    """

    def __init__(
        self,
        cache: Cache,
        *,
        scope: Mapping[str, str] | None = None,
        embedding: Embeddings | Callable[[str], Sequence[float]] | None = None,
        question: FindQuestion | None = None,
        ttl: timedelta | float | None = None,
        tags: Sequence[str] = (),
    ) -> None:
        embed = embedding.embed_query if isinstance(embedding, Embeddings) else embedding
        self._questions = Questions(cache, scope=scope, embed=embed, question=question, ttl=ttl, tags=tags)

    @property
    def cache(self) -> Cache:
        """The cache underneath, for reports, statistics and invalidation."""
        return self._questions.cache

    def lookup(self, prompt: str, llm_string: str) -> RETURN_VAL_TYPE | None:
        """Returns the generations for a prompt, or None."""
        hit = self._questions.check(_question(prompt, llm_string))
        return None if hit is None else [_generation(stored) for stored in hit.response]

    def update(self, prompt: str, llm_string: str, return_val: RETURN_VAL_TYPE) -> None:
        """Stores generations, if they are whole and can be made again from what is stored."""
        stored = [_stored(one) for one in return_val]
        if None not in stored and not any(_is_unfinished(one) for one in return_val):
            self._questions.store(_question(prompt, llm_string), stored)

    def clear(self, **kwargs: Any) -> None:
        """Removes all answers; ``tag=``, ``source=`` or ``scope=`` only those, as ``Cache.invalidate``."""
        if kwargs:
            self.cache.invalidate(**kwargs)
        else:
            self.cache.clear()

    async def alookup(self, prompt: str, llm_string: str) -> RETURN_VAL_TYPE | None:
        """As ``lookup``."""
        return await asyncio.to_thread(self.lookup, prompt, llm_string)

    async def aupdate(self, prompt: str, llm_string: str, return_val: RETURN_VAL_TYPE) -> None:
        """As ``update``."""
        await asyncio.to_thread(self.update, prompt, llm_string, return_val)

    async def aclear(self, **kwargs: Any) -> None:
        """As ``clear``."""
        await asyncio.to_thread(self.clear, **kwargs)


def _stored(generation: Generation) -> dict[str, Any] | None:
    """A generation as JSON; None for one that cannot be made from it again."""
    stored: dict[str, Any] = {"kind": type(generation).__name__, "info": generation.generation_info}
    if isinstance(generation, ChatGeneration):
        stored["message"] = message_to_dict(generation.message)
    else:
        stored["text"] = generation.text
    try:
        made = _generation(json.loads(json.dumps(stored, allow_nan=False)))
    except (KeyError, TypeError, ValueError):
        return None
    return stored if made == generation and type(made) is type(generation) else None


def _generation(stored: Any) -> Generation:
    kind = _KINDS[stored["kind"]]
    if "message" not in stored:
        return kind(text=stored["text"], generation_info=stored["info"])
    [message] = messages_from_dict([stored["message"]])
    return kind(message=message, generation_info=stored["info"])


def _is_unfinished(generation: Generation) -> bool:
    said = dict(generation.generation_info or {})
    if isinstance(generation, ChatGeneration):
        said = {**generation.message.response_metadata, **said}
    return any(said.get(name) in _UNFINISHED for name in ("finish_reason", "stop_reason", "done_reason"))


def _question(prompt: str, llm_string: str) -> Question:
    """The question of a prompt: a text, or a list of messages as LangChain serialises it."""
    by_meaning = not any(mark in llm_string for mark in _TOOLS)
    messages = _messages(prompt)
    if messages is None:
        return Question(prompt, {"model": llm_string}, by_meaning)
    rest: dict[str, Any] = {"model": llm_string, "messages": messages}
    last = max((at for at, message in enumerate(messages) if message["id"][-1] == "HumanMessage"), default=None)
    text = None if last is None else _text(messages[last]["kwargs"].get("content"))
    if last is None or text is None:
        return Question(prompt, {"model": llm_string}, by_meaning=False)
    messages[last]["kwargs"]["content"] = None
    is_acting = any(message["id"][-1] in ("ToolMessage", "FunctionMessage") for message in messages)
    return Question(text, rest, by_meaning and not is_acting)


def _messages(prompt: str) -> list[dict[str, Any]] | None:
    if not prompt.startswith("["):
        return None
    try:
        found = json.loads(prompt)
    except ValueError:
        return None
    is_messages = bool(found) and all(
        isinstance(one, dict) and one.get("type") == "constructor" and isinstance(one.get("kwargs"), dict)
        for one in found
    )
    return found if is_messages else None


def _text(content: Any) -> str | None:
    """The text of a message that is one text."""
    if isinstance(content, list) and len(content) == 1:
        [part] = content
        content = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else part
    return content if isinstance(content, str) else None
