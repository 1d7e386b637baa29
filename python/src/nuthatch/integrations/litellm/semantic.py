"""LiteLLM's cache, with keys that leave the question out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import litellm
from litellm.types.caching import LiteLLMCacheType

from ...cache import Cache
from ..dialects.dialect import Allowed, Bypassed
from ..dialects.openai_chat import Chat
from ..questions import Embed, FindQuestion
from .backend import EXACT, NuthatchCache, request


class NuthatchSemanticCache(litellm.Cache):
    """Completions in a cache of answers: ``litellm.cache = NuthatchSemanticCache(db.cache("answers"))``.

    It answers ``completion`` and ``acompletion``, streams too. With a budget, the cache answers a question of the same meaning;
    everything else of the request must be the same. Not answered are requests for several answers, for logprobs, with a
    temperature above 1, with images or sound, or with a web search; those with tools only where they are the very same.
    ``options`` are further arguments of ``litellm.Cache``, such as ``mode`` and ``namespace``. Unlike there, long conversations are
    cached, too, unless ``max_messages`` says otherwise.
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
        **options: Any,
    ) -> None:
        options.setdefault("supported_call_types", ["completion", "acompletion"])
        limit = options.pop("max_messages", None)
        super().__init__(type=LiteLLMCacheType.LOCAL, **options)
        self.max_messages = limit
        self.cache: NuthatchCache = NuthatchCache(
            cache, scope=scope, embed=embed, question=question, ttl=ttl, tags=tags, tool_calls=tool_calls
        )
        # Of this kind LiteLLM makes keys without the messages, which the backend gets.
        self.type: LiteLLMCacheType = LiteLLMCacheType.REDIS_SEMANTIC
        self._allowed = Allowed(tool_calls=tool_calls)

    def get_cache_key(self, **kwargs: Any) -> str:
        """The key of everything but the messages, marked where the request must be the very same.

        Whether an answer streams does not change it: one answer serves both.
        """
        same = {name: value for name, value in kwargs.items() if name not in ("stream", "stream_options")}
        key: str = super().get_cache_key(**same)
        if key.startswith(EXACT):
            return key
        try:
            by_meaning = Chat().question(request(kwargs), {}, self._allowed).by_meaning
        except Bypassed:
            by_meaning = False
        return key if by_meaning else EXACT + key

    def should_use_cache(self, **kwargs: Any) -> bool:
        """Whether a request is answered and stored."""
        try:
            Chat().question(request(kwargs), {}, self._allowed)
        except Bypassed:
            return False
        return bool(super().should_use_cache(**kwargs))
