"""LiteLLM's completions answered from a cache. Its mock answers stand for models, so nothing leaves this machine."""

from __future__ import annotations

import asyncio
import os
import time

import pytest
from support import toy_embed

import nuthatch

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
litellm = pytest.importorskip("litellm", reason="needs LiteLLM: pip install 'nuthatch[litellm]'")

from nuthatch.integrations.litellm import NuthatchCache, NuthatchSemanticCache  # noqa: E402


@pytest.fixture
def answers(db):
    return db.cache("answers")


@pytest.fixture
def use(monkeypatch):
    """Makes a cache LiteLLM's."""
    callbacks = ("input_callback", "success_callback", "_async_success_callback", "callbacks")
    for name in callbacks:
        monkeypatch.setattr(litellm, name, list(getattr(litellm, name)))

    def made(cache):
        monkeypatch.setattr(litellm, "cache", cache)
        return cache

    yield made
    litellm.cache = None


class Model:
    """Counts the answers that it gives."""

    def __init__(self, answers):
        self.answers = answers

    def said(self, text, answer, before=(), **options):
        """Asks, and waits until what LiteLLM stores in the background is there."""
        stored = self.answers.stats().counts["stored"]
        found = litellm.completion(
            model="gpt-4o-mini",
            messages=[*before, {"role": "user", "content": text}],
            mock_response=answer,
            caching=True,
            **options,
        )
        if options.get("stream"):
            said = "".join(chunk.choices[0].delta.content or "" for chunk in found)
        else:
            said = found.choices[0].message.content
        until = time.monotonic() + (5 if said == answer and options.get("stores", True) else 0)
        while self.answers.stats().counts["stored"] == stored and time.monotonic() < until:
            time.sleep(0.01)
        return said


@pytest.fixture
def model(answers):
    return Model(answers)


def test_a_question_of_the_same_form_is_answered_once(use, answers, model):
    use(NuthatchSemanticCache(answers))
    assert model.said("What is DNS?", "names") == "names"
    assert model.said("what's  DNS", "other") == "names"
    assert model.said("what is DNS", "other", stream=True) == "names"
    assert answers.stats().counts["canonical"] == 2
    found = litellm.completion(
        model="gpt-4o-mini", messages=[{"role": "user", "content": "What is DNS?"}], mock_response="x", caching=True
    )
    assert (type(found), found.choices[0].message.content) == (litellm.ModelResponse, "names")
    assert found.choices[0].finish_reason == "stop"


def test_a_stream_is_stored_and_serves_others(use, answers, model):
    use(NuthatchSemanticCache(answers))
    assert model.said("What is DNS?", "names to numbers", stream=True) == "names to numbers"
    assert model.said("what's DNS", "other") == "names to numbers"


def test_awaited_calls_share_the_answers(use, answers):
    use(NuthatchSemanticCache(answers))

    async def ask(text, answer):
        found = await litellm.acompletion(
            model="gpt-4o-mini", messages=[{"role": "user", "content": text}], mock_response=answer, caching=True
        )
        for _ in range(200):
            if answers.stats().counts["stored"]:
                break
            await asyncio.sleep(0.01)
        return found.choices[0].message.content

    async def both():
        return [await ask("What is DNS?", "names"), await ask("what's DNS", "other")]

    assert asyncio.run(both()) == ["names", "names"]


@pytest.mark.parametrize(
    "other",
    [
        {"before": [{"role": "system", "content": "Be brief."}]},
        {"before": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]},
        {"temperature": 0.1},
        {"max_tokens": 5},
        {"seed": 3},
    ],
)
def test_everything_but_the_question_must_be_the_same(use, answers, model, other):
    use(NuthatchSemanticCache(answers))
    assert model.said("What is DNS?", "names") == "names"
    assert model.said("What is DNS?", "other", **other) == "other"
    assert model.said("what's DNS", "third", **other) == "other"


def test_a_question_of_the_same_meaning_is_answered_within_the_budget(db, use):
    answers = db.cache("meanings", budget=0.5)
    use(NuthatchSemanticCache(answers, embed=lambda text: toy_embed([text])[0]))
    model = Model(answers)
    assert model.said("How do I reset my password?", "in the settings") == "in the settings"
    assert model.said("How do I reset the password?", "other") == "in the settings"
    assert model.said("How do I reset the password?", "other", temperature=0.5) == "other"
    assert answers.stats().counts["semantic"] == 1


def test_requests_with_tools_are_answered_where_they_are_the_very_same(use, answers, model):
    use(NuthatchSemanticCache(answers))
    tools = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}]
    assert model.said("What is DNS?", "names", tools=tools) == "names"
    assert model.said("What is DNS?", "other", tools=tools) == "names"
    assert model.said("what is DNS", "other", tools=tools) == "other"


@pytest.mark.parametrize("options", [{"n": 2}, {"logprobs": True}, {"temperature": 1.5}])
def test_what_no_cache_answers_is_asked(use, answers, model, options):
    use(NuthatchSemanticCache(answers))
    assert [model.said("What is DNS?", said, stores=False, **options) for said in ("a", "b")] == ["a", "b"]
    time.sleep(0.2)
    assert answers.stats().entries == 0


def test_answers_that_are_not_whole_are_not_stored(answers):
    cache = NuthatchCache(answers)
    messages = [{"role": "user", "content": "What is DNS?"}]

    def answer(finish, **message):
        return {"timestamp": 1.0, "response": {"choices": [{"finish_reason": finish, "message": message}]}}

    for not_kept in (
        answer("length", content="na"),
        answer("content_filter", content="na"),
        answer("stop", content=""),
        answer("stop", content=None, refusal="no"),
        answer("tool_calls", tool_calls=[{"id": "1"}]),
        {"timestamp": 1.0, "response": "no JSON"},
    ):
        cache.set_cache("key", not_kept, messages=messages)
    assert cache.get_cache("key", messages=messages) is None
    cache.set_cache("key", answer("stop", content="names"), messages=messages, response_format={"type": "json_object"})
    assert answers.stats().entries == 0
    cache.set_cache("key", answer("stop", content="names"), messages=messages)
    assert cache.get_cache("key", messages=messages) == answer("stop", content="names")


def test_a_plain_litellm_cache_takes_the_backend(use, answers, model):
    use(litellm.Cache()).cache = NuthatchCache(answers, tags=["llm"])
    assert model.said("What is DNS?", "names") == "names"
    assert model.said("What is DNS?", "other") == "names"
    assert model.said("what's DNS", "other") == "other"
    assert answers.invalidate(tag="llm") == 2


def test_the_backend_keeps_what_is_no_completion_and_deletes_by_key(answers):
    cache = NuthatchCache(answers)

    async def use():
        await cache.async_set_cache_pipeline([("a", {"embedding": [1.0]}), ("b", {"embedding": [2.0]})], ttl=60)
        assert await cache.async_get_cache("b", input=["x"]) == {"embedding": [2.0]}
        assert await cache.delete_cache_keys(["b", "missing"]) == 1
        await cache.batch_cache_write("c", 3)
        return [await cache.async_get_cache(key) for key in "abc"], await cache.ping(), await cache.test_connection()

    found, answered, told = asyncio.run(use())
    assert (found, answered) == ([{"embedding": [1.0]}, None, 3], True)
    assert told == {"status": "success", "message": "the cache has 2 answers"}


def test_metadata_tells_how_near_the_question_was(answers):
    cache = NuthatchCache(answers)
    metadata: dict[str, float] = {}
    cache.get_cache("key", messages=[{"role": "user", "content": "What is DNS?"}], metadata=metadata)
    assert metadata == {"semantic-similarity": 0.0}


def test_a_cache_that_is_awaited_is_refused(answers):
    with pytest.raises(nuthatch.InvalidError, match="give its `sync`"):
        NuthatchSemanticCache(nuthatch.AsyncCache(answers))
