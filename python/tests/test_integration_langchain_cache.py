"""LangChain's model calls answered from a cache, beyond what its own suite asks (``make conformance`` runs that)."""

from __future__ import annotations

import asyncio

import pytest
from support import toy_embed

import nuthatch

langchain_core = pytest.importorskip("langchain_core", reason="needs LangChain: pip install 'nuthatch[langchain]'")

from langchain_core.language_models import FakeListChatModel, FakeListLLM  # noqa: E402
from langchain_core.language_models.chat_models import BaseChatModel  # noqa: E402
from langchain_core.load import dumps  # noqa: E402
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage  # noqa: E402
from langchain_core.outputs import ChatGeneration, ChatResult, Generation  # noqa: E402

from nuthatch.integrations.langchain import NuthatchCache  # noqa: E402


class Counting(BaseChatModel):
    """Answers with the number of the call."""

    calls: int = 0
    name: str = "counting"
    finish: str = "stop"

    @property
    def _llm_type(self):
        return "counting"

    @property
    def _identifying_params(self):
        return {"name": self.name}

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.calls += 1
        said = AIMessage(
            f"answer {self.calls}",
            response_metadata={"finish_reason": self.finish},
            usage_metadata={"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
        )
        return ChatResult(generations=[ChatGeneration(message=said)])


@pytest.fixture
def cache(db):
    return NuthatchCache(db.cache("answers"))


def messages(*said):
    return dumps([kind(text) for kind, text in said])


def said(text, **more):
    return [ChatGeneration(message=AIMessage(text, **more))]


def test_a_model_is_asked_once_for_a_question_of_the_same_form(cache):
    model = Counting(cache=cache)
    first = model.invoke([SystemMessage("Be brief."), HumanMessage("What is DNS?")])
    again = model.invoke([SystemMessage("Be brief."), HumanMessage("what's  DNS")])
    assert (first.content, again.content, model.calls) == ("answer 1", "answer 1", 1)
    assert type(again) is AIMessage
    assert (again.response_metadata, first.usage_metadata["total_tokens"]) == (first.response_metadata, 5)
    assert asyncio.run(model.ainvoke([SystemMessage("Be brief."), HumanMessage("What is DNS?")])).content == "answer 1"
    assert cache.cache.stats().counts["canonical"] == 1


@pytest.mark.parametrize(
    "other",
    [
        [SystemMessage("Be long."), HumanMessage("What is DNS?")],
        [HumanMessage("What is DNS?")],
        [SystemMessage("Be brief."), HumanMessage("Hello"), AIMessage("Hi"), HumanMessage("What is DNS?")],
        [SystemMessage("Be brief."), HumanMessage("What is DNS?"), AIMessage("It is")],
        [SystemMessage("Be brief."), HumanMessage("What is DHCP?")],
    ],
)
def test_everything_but_the_question_must_be_the_same(cache, other):
    model = Counting(cache=cache)
    model.invoke([SystemMessage("Be brief."), HumanMessage("What is DNS?")])
    model.invoke(other)
    model.invoke(other, stop=["\n"])
    Counting(cache=cache, name="another").invoke(other)
    assert model.calls == 3
    assert cache.cache.stats().entries == 4


def test_a_completion_model_is_answered_by_its_prompt(cache):
    model = FakeListLLM(responses=["one", "two", "three"], cache=cache)
    assert [model.invoke("What is DNS?"), model.invoke("what's DNS"), model.invoke("[1]")] == ["one", "one", "two"]


def test_a_question_of_the_same_meaning_is_answered_within_the_scope(db):
    made = db.cache("answers", budget=0.5)
    cache = NuthatchCache(made, embedding=lambda text: toy_embed([text])[0])
    asked = messages((SystemMessage, "Be brief."), (HumanMessage, "How do I reset my password?"))
    near = messages((SystemMessage, "Be brief."), (HumanMessage, "How do I reset the password?"))
    far = messages((SystemMessage, "Be long."), (HumanMessage, "How do I reset the password?"))
    cache.update(asked, "model", said("in the settings"))
    assert cache.lookup(far, "model") is None
    assert cache.lookup(near, "model") == said("in the settings")
    assert made.stats().counts["semantic"] == 1


@pytest.mark.parametrize("why", ["tools", "acting", "parts", "unmarked"])
def test_what_must_not_be_answered_by_meaning_is_answered_where_all_is_the_same(db, why):
    made = db.cache("answers", budget=0.5)

    def find(text):
        return None if why == "unmarked" else text

    cache = NuthatchCache(made, embedding=lambda text: toy_embed([text])[0], question=find)
    model = "[('tools', [{'name': 'x'}])]" if why == "tools" else "model"

    def asked(text):
        content = [{"type": "text", "text": text}] * 2 if why == "parts" else text
        before = [ToolMessage("4", tool_call_id="1")] if why == "acting" else []
        return dumps([*before, HumanMessage(content)])

    cache.update(asked("How do I reset my password?"), model, said("in the settings"))
    assert cache.lookup(asked("how do I reset my password?"), model) is None
    assert cache.lookup(asked("How do I reset the password?"), model) is None
    assert cache.lookup(asked("How do I reset my password?"), model) == said("in the settings")


def test_what_surrounds_a_marked_question_must_be_the_same(db):
    def marked(text):
        return text.partition("<query>")[2].partition("</query>")[0] or None

    cache = NuthatchCache(db.cache("answers"), question=marked)

    def asked(passages, question):
        return messages((HumanMessage, f"{passages} <query>{question}</query>"))

    cache.update(asked("The code is 12.", "What is the code?"), "model", said("12"))
    assert cache.lookup(asked("The code is 12.", "what's the code"), "model") == said("12")
    assert cache.lookup(asked("The code is 34.", "What is the code?"), "model") is None


def test_answers_that_are_not_whole_are_not_stored(cache):
    for finish in ("length", "content_filter"):
        model = Counting(cache=cache, finish=finish)
        assert [model.invoke("Tell me").content, model.invoke("Tell me").content] == ["answer 1", "answer 2"]
    cache.update("Tell me", "model", [Generation(text="Once", generation_info={"finish_reason": "length"})])
    assert cache.cache.stats().entries == 0


def test_generations_of_other_classes_are_not_stored(cache):
    class Mine(AIMessage):
        """Cannot be made from what is stored."""

    cache.update("Tell me", "model", [ChatGeneration(message=Mine("Once"))])
    assert cache.lookup("Tell me", "model") is None


def test_messages_come_back_with_all_that_they_had(cache):
    whole = AIMessage(
        [{"type": "text", "text": "ja ✓"}],
        additional_kwargs={"x": [1, None]},
        tool_calls=[{"name": "add", "args": {"a": 1}, "id": "1", "type": "tool_call"}],
        name="bot",
        id="run-1",
    )
    cache.update("Tell me", "model", [ChatGeneration(message=whole, generation_info={"a": 1.5})])
    assert cache.lookup("Tell me", "model") == [ChatGeneration(message=whole, generation_info={"a": 1.5})]


def test_scopes_tags_and_times_to_live_are_those_of_the_cache(db):
    made = db.cache("answers", scope=["request", "user"])
    anna = NuthatchCache(made, scope={"user": "anna"}, tags=["billing"], ttl=60)
    ben = NuthatchCache(made, scope={"user": "ben"})
    for of in (anna, ben):
        of.update("Who am I?", "model", said("somebody"))
    assert made.check("Who am I?", scope={"user": "anna", "request": "x"}) is None
    anna.clear(tag="billing")
    assert anna.lookup("Who am I?", "model") is None
    assert ben.lookup("Who am I?", "model") == said("somebody")
    asyncio.run(ben.aclear())
    assert made.stats().entries == 0
    with pytest.raises(nuthatch.InvalidError, match="the request's own"):
        NuthatchCache(made, scope={"request": "x"})


@pytest.mark.parametrize("prompt", ["", "  ", "x" * 300_000, "[{}]", "[", '[{"type": "constructor"}]'])
def test_prompts_that_are_no_questions_are_found_where_they_are_the_same(cache, prompt):
    cache.update(prompt, "model", [Generation(text="a")])
    assert cache.lookup(prompt, "model") == [Generation(text="a")]
    assert cache.lookup(prompt + "!", "model") is None


def test_an_answer_too_large_for_a_cache_is_not_stored(cache):
    cache.update("Tell me", "model", [Generation(text="x" * (4 << 20))])
    assert cache.lookup("Tell me", "model") is None


def test_a_cache_that_is_awaited_is_refused(db):
    with pytest.raises(nuthatch.InvalidError, match="give its `sync`"):
        NuthatchCache(nuthatch.AsyncCache(db.cache("answers")))


def test_a_chat_model_with_the_global_cache_uses_it(cache):
    from langchain_core.globals import set_llm_cache

    set_llm_cache(cache)
    try:
        model = FakeListChatModel(responses=["one", "two"])
        assert [model.invoke("What is DNS?").content, model.invoke("what's DNS?").content] == ["one", "one"]
    finally:
        set_llm_cache(None)
