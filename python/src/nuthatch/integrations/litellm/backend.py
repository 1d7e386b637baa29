"""A cache of answers as the backend of LiteLLM's cache."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from datetime import timedelta
from typing import Any

from litellm.caching.base_cache import BaseCache

from ...cache import Cache
from ..dialects.dialect import Allowed, Bypassed
from ..dialects.openai_chat import Chat
from ..questions import Embed, FindQuestion, Question, Questions

#: Begins a key of LiteLLM's that must not be answered by meaning.
EXACT = "exact:"

_CHAT = Chat()


class NuthatchCache(BaseCache):
    """A backend: ``litellm.cache.cache = NuthatchCache(db.cache("answers"))``.

    LiteLLM's key is hashed into the scope, with all messages but the question, which is the last text of the user. A plain
    ``litellm.Cache`` puts the question into its key, too, so only the very same request is answered; ``NuthatchSemanticCache``
    leaves it out. Other calls, such as embeddings, are found by the key alone.

    ``scope``, ``embed``, ``question``, ``ttl`` and ``tags`` are those of ``nuthatch.wrap``; so is what is never stored. With
    ``tool_calls=True`` answers that call tools are stored, for the very same request.
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
        tool_calls: bool = False,
    ) -> None:
        super().__init__()
        self._questions = Questions(cache, scope=scope, embed=embed, question=question, ttl=ttl, tags=tags)
        self._allowed = Allowed(tool_calls=tool_calls)

    def get_cache(self, key: str, **kwargs: Any) -> Any:
        """Returns what was stored, or None."""
        question = self._question(key, kwargs)
        hit = None if question is None else self._questions.check(question)
        metadata = kwargs.get("metadata")
        if isinstance(metadata, MutableMapping):
            # As LiteLLM's own caches tell it.
            metadata["semantic-similarity"] = 0.0 if hit is None else 1.0 if hit.similarity is None else hit.similarity
        return None if hit is None else hit.response

    def set_cache(self, key: str, value: Any, **kwargs: Any) -> None:
        """Stores an answer; ``ttl`` is in seconds."""
        question = self._question(key, kwargs)
        if question is not None and self._is_kept(value, kwargs):
            self._questions.store(question, value, tags=[_tag(key)], ttl=kwargs.get("ttl"))

    async def async_get_cache(self, key: str, **kwargs: Any) -> Any:
        """As ``get_cache``."""
        return await asyncio.to_thread(self.get_cache, key, **kwargs)

    async def async_set_cache(self, key: str, value: Any, **kwargs: Any) -> None:
        """As ``set_cache``."""
        await asyncio.to_thread(self.set_cache, key, value, **kwargs)

    async def async_set_cache_pipeline(self, cache_list: Iterable[tuple[str, Any]], **kwargs: Any) -> None:
        """Stores several answers."""
        for key, value in cache_list:
            await self.async_set_cache(key, value, **kwargs)

    async def batch_cache_write(self, key: str, value: Any, **kwargs: Any) -> None:
        """As ``set_cache``: nothing is held back."""
        await self.async_set_cache(key, value, **kwargs)

    async def delete_cache_keys(self, keys: Iterable[str]) -> int:
        """Removes the answers of these keys, and returns how many."""
        cache = self._questions.cache
        return sum([await asyncio.to_thread(cache.invalidate, tag=_tag(key)) for key in keys])

    async def ping(self) -> bool:
        """Returns True when the cache answers."""
        await asyncio.to_thread(self._questions.cache.stats)
        return True

    async def test_connection(self) -> dict[str, Any]:
        """Asks the cache for its statistics."""
        entries = (await asyncio.to_thread(self._questions.cache.stats)).entries
        return {"status": "success", "message": f"the cache has {entries} answers"}

    async def disconnect(self) -> None:
        """Does nothing: the caller that opened the database closes it."""

    def _question(self, key: str, kwargs: Mapping[str, Any]) -> Question | None:
        """The question of a call; None if no cache answers it."""
        if not kwargs.get("messages"):
            return Question("", {"key": key}, by_meaning=False)
        try:
            asked = _CHAT.question(request(kwargs), {}, self._allowed)
        except Bypassed:
            return None
        messages = asked.rest["messages"]
        return Question(asked.text, {"key": key, "messages": messages}, asked.by_meaning and not key.startswith(EXACT))

    def _is_kept(self, value: Any, kwargs: Mapping[str, Any]) -> bool:
        if not kwargs.get("messages"):
            return True
        answer = value.get("response") if isinstance(value, Mapping) else value
        if isinstance(answer, str):
            try:
                answer = json.loads(answer)
            except ValueError:
                return False
        return isinstance(answer, Mapping) and _CHAT.objection(request(kwargs), answer, self._allowed) is None


def request(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The request that LiteLLM's arguments stand for; what is only LiteLLM's is in its key."""
    names = ("messages", "tools", "functions", "response_format", "n", "logprobs", "top_logprobs", "temperature")
    more = ("web_search_options", "audio", "modalities")
    found = {name: kwargs[name] for name in (*names, *more) if kwargs.get(name) is not None}
    wanted = found.get("response_format")
    if wanted is not None and not isinstance(wanted, Mapping):
        # A class, of which the answer is to be made.
        found["response_format"] = {"type": "json_schema"}
    found["messages"] = [_plain(message) for message in found.get("messages") or ()]
    return found


def _plain(message: Any) -> Any:
    dump = getattr(message, "model_dump", None)
    return dump(exclude_none=True) if dump is not None else message


def _tag(key: str) -> str:
    return f"litellm:{key}"[:255]
