"""``nuthatch.wrap`` round Anthropic's official client, against a server on this machine that speaks as Anthropic does."""

from __future__ import annotations

import asyncio

import pytest
from fake_models import provider
from support import toy_embed

import nuthatch

anthropic = pytest.importorskip("anthropic", reason="needs Anthropic's client: pip install anthropic")

TOOLS = [{"name": "add", "input_schema": {"type": "object", "properties": {}}}]
CALL = [
    {"type": "text", "text": "Adding."},
    {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": [1, 2]}},
]


@pytest.fixture
def model():
    with provider() as made:
        yield made


@pytest.fixture
def answers(db):
    return db.cache("answers")


@pytest.fixture
def client(model):
    with anthropic.Anthropic(base_url=model.address, api_key="k", max_retries=0) as made:
        yield made


@pytest.fixture
def wrapped(client, answers):
    return nuthatch.wrap(client, answers)


def ask(client, text="What is DNS?", **options):
    messages = [{"role": "user", "content": text}]
    return client.messages.create(**{"model": "claude", "max_tokens": 9, "messages": messages, **options})


def streamed(client, text="What is DNS?", **options):
    return list(ask(client, text, stream=True, **options))


def test_an_answer_out_of_the_cache_is_the_same_object(wrapped, model):
    first, again = ask(wrapped), ask(wrapped, "what's  DNS")
    assert (type(wrapped), type(again), again) == (anthropic.Anthropic, type(first), first)
    assert (model.asked, again.content[0].text, again.usage.output_tokens) == (1, "Hello, world.", 4)


@pytest.mark.parametrize(
    "other",
    [
        {"model": "other"},
        {"system": "Be brief."},
        {"max_tokens": 10},
        {"extra_body": {"temperature": 0.5}},
        {"extra_body": {"top_k": 3}},
        {"stop_sequences": ["x"]},
        {"extra_headers": {"anthropic-beta": "new"}},
        {
            "messages": [
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": "A"},
                {"role": "user", "content": "B"},
            ]
        },
    ],
)
def test_everything_that_changes_an_answer_must_be_the_same(wrapped, model, other):
    for options in ({}, other, other):
        ask(wrapped, **options)
    assert model.asked == 2


def test_marks_of_the_providers_own_caching_change_nothing(wrapped, model):
    for mark in ({}, {"cache_control": {"type": "ephemeral"}}):
        parts = [{"type": "text", "text": "What is DNS?", **mark}]
        ask(wrapped, system=[{"type": "text", "text": "Long.", **mark}], messages=[{"role": "user", "content": parts}])
    assert model.asked == 1


def test_a_stream_is_stored_and_comes_again_in_its_pieces(wrapped, model):
    first = [event for event in streamed(wrapped) if event.type != "ping"]
    again = streamed(wrapped, "what's DNS")
    kinds = [(type(event), event.type) for event in again]
    assert kinds == [(type(event), event.type) for event in first]
    assert [event for event in again if event.type.startswith("content")] == [
        event for event in first if event.type.startswith("content")
    ]
    with wrapped.messages.stream(
        model="claude", max_tokens=9, messages=[{"role": "user", "content": "What is DNS?"}]
    ) as stream:
        assert stream.get_final_text() == "Hello, world."
        assert stream.get_final_message().usage.output_tokens == 4
    assert ask(wrapped).content[0].text == "Hello, world."
    assert model.asked == 1


@pytest.mark.parametrize("events", range(8))
def test_a_stream_that_breaks_off_is_never_stored(wrapped, model, answers, events):
    model.break_after = events
    with pytest.raises(Exception, match=r"incomplete|peer|closed|[Cc]onnection"):
        streamed(wrapped)
    assert answers.stats().entries == 0


@pytest.mark.parametrize("finish", ["max_tokens", "refusal", "tool_use", "pause_turn"])
def test_answers_that_are_not_to_be_kept_are_not_stored(wrapped, model, answers, finish):
    model.finish = finish
    ask(wrapped)
    streamed(wrapped)
    assert (model.asked, answers.stats().entries) == (2, 0)


@pytest.mark.parametrize(
    "options",
    [
        {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        {"extra_body": {"container": "c"}},
        {"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "http://x"}}]}]},
    ],
)
def test_what_no_cache_answers_goes_to_the_model(wrapped, model, answers, options):
    for _ in range(2):
        ask(wrapped, **options)
    assert (model.asked, answers.stats().entries) == (2, 0)


def test_answers_that_call_tools_are_stored_when_asked_for(client, model, answers):
    model.message, model.finish = {"content": CALL}, "tool_use"
    wrapped = nuthatch.wrap(client, answers, tool_calls=True)
    first = ask(wrapped, tools=TOOLS)
    with wrapped.messages.stream(
        model="claude", max_tokens=9, tools=TOOLS, messages=[{"role": "user", "content": "What is DNS?"}]
    ) as stream:
        made = stream.get_final_message().content
    assert [(block.type, getattr(block, "input", None)) for block in made] == [
        ("text", None),
        ("tool_use", CALL[1]["input"]),
    ]
    streamed(wrapped, "Again", tools=TOOLS)
    assert ask(wrapped, "Again", tools=TOOLS).content == first.content
    ask(wrapped, "again", tools=TOOLS)
    assert model.asked == 3


def test_a_question_of_the_same_meaning_is_answered_within_the_budget(db, client, model):
    answers = db.cache("meanings", budget=0.5)
    wrapped = nuthatch.wrap(client, answers, embed=lambda text: toy_embed([text])[0])
    for text in ("How do I reset my password?", "How do I reset the password?"):
        ask(wrapped, text)
    assert (model.asked, answers.stats().counts["semantic"]) == (1, 1)


def test_awaited_clients_share_the_answers(wrapped, model, answers):
    async def use():
        async with anthropic.AsyncAnthropic(base_url=model.address, api_key="k", max_retries=0) as client:
            awaited = nuthatch.wrap(client, answers)
            first = await ask(awaited)
            stream = await ask(awaited, "what's DNS", stream=True)
            return first, [event.type async for event in stream]

    first, kinds = asyncio.run(use())
    assert (kinds[0], kinds[-1], ask(wrapped) == first, model.asked) == ("message_start", "message_stop", True, 1)
