"""A model of LlamaIndex that is answered from a cache."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support import toy_embed

import nuthatch

pytest.importorskip("llama_index.core", reason="needs LlamaIndex: pip install 'nuthatch[llama-index]'")

from llama_index.core import PromptTemplate, VectorStoreIndex
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse, ImageBlock, LLMMetadata
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.llms import CustomLLM
from llama_index.core.schema import NodeWithScore, TextNode

from nuthatch.integrations.llama_index import NuthatchCachedLLM, NuthatchVectorStore


class Counting(CustomLLM):
    """Answers with the number of the call."""

    _calls: int = PrivateAttr(default=0)
    temperature: float = 0.1
    finish: str = "stop"
    extra: dict[str, Any] = {}  # noqa: RUF012 (pydantic copies a field's default)

    @property
    def metadata(self):
        return LLMMetadata(model_name="counting", is_chat_model=True, is_function_calling_model=True)

    @property
    def calls(self):
        return self._calls

    def _text(self):
        self._calls += 1
        return f"answer {self._calls}"

    def complete(self, prompt, formatted=False, **kwargs):
        raw = {"choices": [{"finish_reason": self.finish}]}
        return CompletionResponse(text=self._text(), raw=raw, additional_kwargs=self.extra)

    def stream_complete(self, prompt, formatted=False, **kwargs):
        whole, text = self._text(), ""
        for piece in (whole[:3], whole[3:]):
            text += piece
            yield CompletionResponse(text=text, delta=piece, raw={"finish_reason": self.finish})


@pytest.fixture
def model():
    return Counting()


@pytest.fixture
def cached(db, model):
    return NuthatchCachedLLM(model, db.cache("answers"))


def user(*texts):
    return [ChatMessage(role="user", content=text) for text in texts]


def test_a_prompt_is_answered_once(cached, model):
    first = cached.complete("What is DNS?", stop="x")
    again = cached.complete("what's  DNS", stop="x")
    assert (first.text, again.text, model.calls, type(again)) == ("answer 1", "answer 1", 1, CompletionResponse)
    assert cached.complete("What is DNS?").text == "answer 2"
    assert asyncio.run(cached.acomplete("What is DNS?")).text == "answer 2"
    assert cached.predict(PromptTemplate("{a}"), a="Hello") == cached.predict(PromptTemplate("{a}"), a="hello")


def test_the_last_text_of_the_user_is_the_question(cached, model):
    system = ChatMessage(role="system", content="Be brief.")
    first = cached.chat([system, *user("What is DNS?")])
    again = cached.chat([system, *user("what's DNS")])
    assert (again.message, type(again), model.calls) == (first.message, ChatResponse, 1)
    assert asyncio.run(cached.achat([system, *user("What is DNS?")])).message == first.message
    for other in ([ChatMessage(role="system", content="Be long."), *user("What is DNS?")], user("Hi", "What is DNS?")):
        assert cached.chat(other).message.content != first.message.content
    assert model.calls == 3


def test_settings_of_the_model_are_part_of_the_scope(db, cached, model):
    cached.complete("What is DNS?")
    warm = NuthatchCachedLLM(Counting(temperature=0.9), db.cache("answers"))
    assert (warm.complete("What is DNS?").text, warm.llm.calls) == ("answer 1", 1)
    assert db.cache("answers").stats().entries == 2


def test_streams_are_stored_after_their_end_and_come_again_in_their_pieces(cached, model):
    broken = cached.stream_complete("What is DNS?")
    next(broken)
    broken.close()
    assert cached.cache.stats().entries == 0
    first = [(one.text, one.delta) for one in cached.stream_complete("What is DNS?")]
    again = [(one.text, one.delta) for one in cached.stream_complete("what's DNS")]
    assert first == again == [("ans", "ans"), ("answer 2", "wer 2")]
    assert cached.complete("What is DNS?").text == "answer 2"
    said = [(one.message.content, one.delta) for one in cached.stream_chat(user("Hello?"))]
    assert [(one.message.content, one.delta) for one in cached.stream_chat(user("hello?"))] == said
    assert cached.chat(user("hello?")).message.content == said[-1][0]


def test_streams_are_awaited_too(cached, model):
    async def pieces(stream):
        return [one.delta async for one in await stream]

    async def use():
        return (
            [await pieces(cached.astream_complete("What is DNS?")) for _ in range(2)],
            [await pieces(cached.astream_chat(user("What is DNS?"))) for _ in range(2)],
        )

    assert asyncio.run(use()) == ([["ans", "wer 1"]] * 2, [["ans", "wer 2"]] * 2)


def test_a_question_of_the_same_meaning_is_answered_within_the_budget(db, model):
    cache = db.cache("meanings", budget=0.5)
    cached = NuthatchCachedLLM(model, cache, embedding=lambda text: toy_embed([text])[0])
    assert cached.complete("How do I reset my password?").text == "answer 1"
    assert cached.complete("How do I reset the password?").text == "answer 1"
    assert cache.stats().counts["semantic"] == 1


@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_answers_that_are_not_whole_are_not_stored(db, finish):
    cached = NuthatchCachedLLM(Counting(finish=finish), db.cache("answers"))
    list(cached.stream_complete("Tell me"))
    cached.complete("Tell me")
    cached.chat(user("Tell me"))
    assert db.cache("answers").stats().entries == 0


def test_what_no_cache_answers_is_asked(db, cached, model):
    pictures = [ChatMessage(role="user", blocks=[ImageBlock(image=b"x", image_mimetype="image/png")])]
    for _ in range(2):
        cached.complete("Tell me", n=2)
        cached.chat(pictures)
        NuthatchCachedLLM(Counting(temperature=1.5), cached.cache).complete("Tell me")
    assert (model.calls, cached.cache.stats().entries) == (4, 0)


def test_requests_with_tools_are_answered_where_they_are_the_very_same(cached, model):
    assert cached.complete("What is DNS?", tools=[{"name": "x"}]).text == "answer 1"
    assert cached.complete("What is DNS?", tools=[{"name": "x"}]).text == "answer 1"
    assert cached.complete("what is DNS", tools=[{"name": "x"}]).text == "answer 2"
    assert not cached.metadata.is_function_calling_model


def test_answers_that_call_tools_are_stored_when_asked_for(db):
    calls = {"tool_calls": [{"id": "1"}]}
    for stored in (False, True):
        cache = db.cache(f"answers-{stored}".lower())
        cached = NuthatchCachedLLM(Counting(extra=calls), cache, tool_calls=stored)
        first = cached.chat(user("Add"))
        assert cache.stats().entries == stored
        assert (cached.chat(user("Add")).message == first.message) == stored


def test_an_answer_falls_with_a_node_that_it_was_made_from(db, model):
    store = NuthatchVectorStore(db.collection("nodes", embedder="none"))
    nodes = [TextNode(id_=id, text=f"text {id}", embedding=[1.0, 0.5]) for id in "ab"]
    store.add(nodes)
    cached = NuthatchCachedLLM(model, db.cache("answers"), store=store)
    elsewhere = TextNode(id_="c", text="of another store")
    with cached.sources([NodeWithScore(node=node, score=1.0) for node in [*nodes, elsewhere]]):
        cached.complete("What is a?")
    cached.complete("What is it?")
    hit = cached.cache.explain("What is a?")
    assert not hit.stale
    store.add([TextNode(id_="b", text="new", embedding=[1.0, 0.5])])
    assert cached.complete("What is a?").text == "answer 3"
    assert cached.complete("What is it?").text == "answer 2"
    with pytest.raises(nuthatch.InvalidError, match="too many"), cached.sources([TextNode() for _ in range(65)]):
        pass
    with pytest.raises(nuthatch.InvalidError, match="store="), NuthatchCachedLLM(model, cached.cache).sources([]):
        pass


def test_a_query_engine_answers_from_the_cache(db, model):
    store = NuthatchVectorStore(db.collection("nodes", embedder="none"))
    store.add([TextNode(id_="a", text="DNS maps names to numbers.", embedding=[1.0] * 8)])
    cached = NuthatchCachedLLM(model, db.cache("answers"), store=store)
    index = VectorStoreIndex.from_vector_store(store, embed_model=MockEmbedding(embed_dim=8))
    engine = index.as_query_engine(llm=cached)
    assert [str(engine.query("What is DNS?")), str(engine.query("What is DNS?"))] == ["answer 1", "answer 1"]
    nodes = engine.retrieve("What is BGP?")
    with cached.sources(nodes):
        assert str(engine.synthesize("What is BGP?", nodes)) == "answer 2"
    assert cached.cache.invalidate(source=("nodes", "a")) == 1
