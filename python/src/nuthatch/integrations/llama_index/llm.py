"""A model of LlamaIndex that is answered from a cache."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse, LLMMetadata
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.llms import LLM
from llama_index.core.schema import BaseNode, NodeWithScore

from ...answers import Source
from ...cache import Cache
from ...collection import Collection
from ...errors import InvalidError
from ..dialects.dialect import Bypassed
from ..dialects.events import pieces
from ..questions import Embed, FindQuestion, Question, Questions
from . import answers
from .vector_store import NuthatchVectorStore

#: A cache's answer has no more of them.
_SOURCES_MAX = 64
_UNDER: ContextVar[tuple[Source, ...]] = ContextVar("sources", default=())

Nodes = Iterable[NodeWithScore | BaseNode]


class NuthatchCachedLLM(LLM):
    """A model whose answers come from a cache: ``NuthatchCachedLLM(OpenAI(), db.cache("answers"))``.

    The prompt of ``complete``, or the last text of the user of ``chat``, is the question. The model with its settings, the other
    messages and the options of the call are the scope. Streams are stored after their end, and given again in the pieces in
    which they came. ``raw``, the provider's own answer, is None in an answer out of the cache.

    ``sources(nodes)`` says from which nodes of a ``NuthatchVectorStore`` answers are made: they fall when one of them changes.
    ``embedding`` makes the vectors of questions. ``scope``, ``question``, ``ttl``, ``tags`` and ``tool_calls`` are those of
    ``nuthatch.wrap``. It calls no tools by itself: agents that need the model's own tool calls take the model without a cache.
    """

    _llm: LLM = PrivateAttr()
    _questions: Questions = PrivateAttr()
    _tool_calls: bool = PrivateAttr()
    _collection: Collection | None = PrivateAttr()

    def __init__(
        self,
        llm: LLM,
        cache: Cache,
        *,
        store: NuthatchVectorStore | None = None,
        scope: Mapping[str, str] | None = None,
        embedding: BaseEmbedding | Embed | None = None,
        question: FindQuestion | None = None,
        ttl: timedelta | float | None = None,
        tags: Sequence[str] = (),
        tool_calls: bool = False,
    ) -> None:
        shared = ("callback_manager", "system_prompt", "messages_to_prompt", "completion_to_prompt", "output_parser")
        more = ("pydantic_program_mode", "query_wrapper_prompt")
        super().__init__(**{name: getattr(llm, name) for name in (*shared, *more) if hasattr(llm, name)})
        embed = embedding.get_query_embedding if isinstance(embedding, BaseEmbedding) else embedding
        self._llm = llm
        self._questions = Questions(cache, scope=scope, embed=embed, question=question, ttl=ttl, tags=tags)
        self._tool_calls = tool_calls
        self._collection = None if store is None else store.client

    @classmethod
    def class_name(cls) -> str:
        """The name that the framework uses for it."""
        return "NuthatchCachedLLM"

    @property
    def llm(self) -> LLM:
        """The model underneath."""
        return self._llm

    @property
    def cache(self) -> Cache:
        """The cache underneath, for reports, statistics and invalidation."""
        return self._questions.cache

    @property
    def metadata(self) -> LLMMetadata:
        """That of the model, but without tool calls of its own."""
        return self._llm.metadata.model_copy(update={"is_function_calling_model": False})

    @contextmanager
    def sources(self, nodes: Nodes) -> Iterator[None]:
        """Answers that are stored within the block are made from these nodes, and fall with them.

        Nodes that are not in the store, such as those of another, are left out. Raises InvalidError without a ``store``, and for
        more than 64 nodes.
        """
        token = _UNDER.set(self._found(nodes))
        try:
            yield
        finally:
            _UNDER.reset(token)

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """Returns the completion of a prompt."""
        question = _or_none(lambda: answers.of_prompt(self._llm, prompt, formatted, kwargs))
        if (stored := self._check(question)) is not None:
            return answers.made_completion(stored)
        response = self._llm.complete(prompt, formatted=formatted, **kwargs)
        self._store(question, lambda: answers.completion(response, ()))
        return response

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Returns the answer to messages."""
        question = _or_none(lambda: answers.of_messages(self._llm, messages, kwargs))
        if (stored := self._check(question)) is not None:
            return answers.made_chat(stored)
        response = self._llm.chat(messages, **kwargs)
        self._store(question, lambda: answers.chat(response, (), self._tool_calls))
        return response

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Iterator[CompletionResponse]:
        """As ``complete``, in pieces."""
        question = _or_none(lambda: answers.of_prompt(self._llm, prompt, formatted, kwargs))
        if (stored := self._check(question)) is not None:
            yield from _completions(stored)
            return
        last, lengths = None, []
        for last in self._llm.stream_complete(prompt, formatted=formatted, **kwargs):
            lengths.append(len(last.delta or ""))
            yield last
        if last is not None:
            whole = last
            self._store(question, lambda: answers.completion(whole, lengths))

    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Iterator[ChatResponse]:
        """As ``chat``, in pieces."""
        question = _or_none(lambda: answers.of_messages(self._llm, messages, kwargs))
        if (stored := self._check(question)) is not None:
            yield from _chats(stored)
            return
        last, lengths = None, []
        for last in self._llm.stream_chat(messages, **kwargs):
            lengths.append(len(last.delta or ""))
            yield last
        if last is not None:
            whole = last
            self._store(question, lambda: answers.chat(whole, lengths, self._tool_calls))

    # The same, awaited.

    async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """As ``complete``."""
        question = _or_none(lambda: answers.of_prompt(self._llm, prompt, formatted, kwargs))
        if (stored := await asyncio.to_thread(self._check, question)) is not None:
            return answers.made_completion(stored)
        response = await self._llm.acomplete(prompt, formatted=formatted, **kwargs)
        await asyncio.to_thread(self._store, question, lambda: answers.completion(response, ()))
        return response

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """As ``chat``."""
        question = _or_none(lambda: answers.of_messages(self._llm, messages, kwargs))
        if (stored := await asyncio.to_thread(self._check, question)) is not None:
            return answers.made_chat(stored)
        response = await self._llm.achat(messages, **kwargs)
        await asyncio.to_thread(self._store, question, lambda: answers.chat(response, (), self._tool_calls))
        return response

    async def astream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> AsyncIterator[CompletionResponse]:
        """As ``stream_complete``."""
        question = _or_none(lambda: answers.of_prompt(self._llm, prompt, formatted, kwargs))
        stored = await asyncio.to_thread(self._check, question)

        async def responses() -> AsyncIterator[CompletionResponse]:
            if stored is not None:
                for one in _completions(stored):
                    yield one
                return
            last, lengths = None, []
            async for last in await self._llm.astream_complete(prompt, formatted=formatted, **kwargs):
                lengths.append(len(last.delta or ""))
                yield last
            if last is not None:
                whole = last
                await asyncio.to_thread(self._store, question, lambda: answers.completion(whole, lengths))

        return responses()

    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> AsyncIterator[ChatResponse]:
        """As ``stream_chat``."""
        question = _or_none(lambda: answers.of_messages(self._llm, messages, kwargs))
        stored = await asyncio.to_thread(self._check, question)

        async def responses() -> AsyncIterator[ChatResponse]:
            if stored is not None:
                for one in _chats(stored):
                    yield one
                return
            last, lengths = None, []
            async for last in await self._llm.astream_chat(messages, **kwargs):
                lengths.append(len(last.delta or ""))
                yield last
            if last is not None:
                whole = last
                await asyncio.to_thread(self._store, question, lambda: answers.chat(whole, lengths, self._tool_calls))

        return responses()

    def _check(self, question: Question | None) -> Any:
        hit = None if question is None else self._questions.check(question)
        return None if hit is None else hit.response

    def _store(self, question: Question | None, answer: Callable[[], dict[str, Any] | None]) -> None:
        stored = None if question is None else answer()
        if question is not None and stored is not None:
            self._questions.store(question, stored, sources=_UNDER.get())

    def _found(self, nodes: Nodes) -> tuple[Source, ...]:
        collection = self._collection
        if collection is None:
            raise InvalidError("give the NuthatchVectorStore of the nodes, as store=, to name sources")
        ids = list(dict.fromkeys(node.node_id for node in nodes))
        if len(ids) > _SOURCES_MAX:
            raise InvalidError(f"{len(ids)} nodes are too many; an answer has at most {_SOURCES_MAX} sources")
        found = collection.get(ids, include=[]) if ids else []
        return tuple(Source(collection.name, record.id) for record in found if record is not None)


def _or_none(ask: Callable[[], Question]) -> Question | None:
    """The question; None for what no cache answers."""
    try:
        return ask()
    except Bypassed:
        return None


def _completions(stored: Mapping[str, Any]) -> Iterator[CompletionResponse]:
    whole, text = answers.made_completion(stored), ""
    for piece in pieces(stored["text"], stored["pieces"]):
        text += piece
        yield whole.model_copy(update={"text": text, "delta": piece})


def _chats(stored: Mapping[str, Any]) -> Iterator[ChatResponse]:
    whole, text = answers.made_chat(stored), ""
    content = whole.message.content
    cuts = list(pieces(content or "", stored["pieces"]))
    for piece in cuts[:-1]:
        text += piece
        message = ChatMessage(role=whole.message.role, content=text)
        yield whole.model_copy(update={"message": message, "delta": piece})
    yield whole.model_copy(update={"delta": cuts[-1] if cuts else ""})
