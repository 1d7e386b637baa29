"""``nuthatch.wrap`` round OpenAI's official client: responses, against a server on this machine."""

from __future__ import annotations

import asyncio

import pytest
from fake_models import provider
from support import toy_embed

import nuthatch

openai = pytest.importorskip("openai", reason="needs OpenAI's client: pip install openai")

from pydantic import BaseModel  # noqa: E402  (comes with openai)

TOOLS = [{"type": "function", "name": "add", "parameters": {"type": "object", "properties": {}}, "strict": False}]
CALL = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "add", "arguments": '{"a": 1}'}


@pytest.fixture
def model():
    with provider() as made:
        yield made


@pytest.fixture
def answers(db):
    return db.cache("answers")


@pytest.fixture
def client(model):
    with openai.OpenAI(base_url=f"{model.address}/v1", api_key="k", max_retries=0) as made:
        yield made


@pytest.fixture
def wrapped(client, answers):
    return nuthatch.wrap(client, answers)


def ask(client, asked="What is DNS?", **options):
    return client.responses.create(**{"model": "gpt", "input": asked, "store": False, **options})


def test_an_answer_out_of_the_cache_is_the_same_object(wrapped, model):
    first, again = ask(wrapped), ask(wrapped, "what's  DNS")
    assert (type(again), again, again.output_text) == (type(first), first, "Hello, world.")
    items = [{"role": "user", "content": [{"type": "input_text", "text": "What is DNS?"}]}]
    assert ask(wrapped, input=items) == ask(wrapped, input=items)
    assert model.asked == 2


@pytest.mark.parametrize(
    "other",
    [
        {"model": "other"},
        {"instructions": "Be brief."},
        {
            "input": [
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": "A"},
                {"role": "user", "content": "B"},
            ]
        },
        {"reasoning": {"effort": "low"}},
        {"text": {"verbosity": "low"}},
        {"max_output_tokens": 99},
        {"extra_body": {"unknown": 1}},
    ],
)
def test_everything_that_changes_an_answer_must_be_the_same(wrapped, model, other):
    for options in ({}, other, other):
        ask(wrapped, **options)
    assert model.asked == 2


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"store": True}, "stored at the provider"),
        ({"store": None}, "stored at the provider"),
        ({"previous_response_id": "resp_1"}, "previous response id"),
        ({"background": True}, "background"),
        ({"tools": [{"type": "web_search"}]}, "server tools"),
        ({"top_logprobs": 2}, "logprobs"),
        ({"temperature": 1.5}, "temperature"),
        ({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "data:,"}]}]}, "media"),
    ],
)
def test_what_no_cache_answers_goes_to_the_model(wrapped, model, answers, options, why):
    asked = {"model": "gpt", "input": "What is DNS?", "store": False, **options}
    for _ in range(2):
        told = wrapped.responses.with_raw_response.create(**asked).headers
        assert (told["x-nuthatch-cache"], told["x-nuthatch-cache-reason"]) == ("BYPASS", why)
    assert (model.asked, answers.stats().entries) == (2, 0)


@pytest.mark.parametrize(
    "given",
    [
        {"finish": "incomplete"},
        {"finish": "failed"},
        {"message": {"part": {"type": "refusal", "refusal": "I cannot."}}},
        {"message": {"output": [CALL]}},
        {"text": " "},
    ],
)
def test_answers_that_are_not_to_be_kept_are_not_stored(wrapped, model, answers, given):
    vars(model).update(given)
    ask(wrapped)
    list(ask(wrapped, stream=True))
    assert (model.asked, answers.stats().entries) == (2, 0)


def test_a_stream_is_stored_and_comes_again_in_its_pieces(wrapped, model):
    first, again = (list(ask(wrapped, stream=True)) for _ in range(2))
    kinds = [event.type for event in first]
    assert [event.type for event in again if event.type != "response.in_progress"] == kinds
    assert [type(event) for event in again if event.type in kinds] == [type(event) for event in first]
    deltas = [
        [event.delta for event in events if event.type == "response.output_text.delta"] for events in (first, again)
    ]
    assert deltas == [["Hell", "o, world."]] * 2
    assert again[-1].response == first[-1].response == ask(wrapped)
    assert model.asked == 1


@pytest.mark.parametrize("events", range(10))
def test_a_stream_that_breaks_off_is_never_stored(wrapped, model, answers, events):
    model.break_after = events
    with pytest.raises(Exception, match=r"incomplete|peer|closed|[Cc]onnection"):
        list(ask(wrapped, stream=True))
    assert answers.stats().entries == 0


def test_parsed_answers_come_from_the_cache(wrapped, model):
    class Point(BaseModel):
        x: int

    model.text = '{"x": 3}'
    for _ in range(2):
        said = wrapped.responses.parse(model="gpt", input="Where?", text_format=Point, store=False)
        assert said.output_parsed == Point(x=3)
    with wrapped.responses.stream(model="gpt", input="Where?", text_format=Point, store=False) as stream:
        assert stream.get_final_response().output_parsed == Point(x=3)
    assert model.asked == 1


def test_answers_that_call_tools_are_stored_when_asked_for(client, model, answers):
    model.message = {"output": [CALL]}
    wrapped = nuthatch.wrap(client, answers, tool_calls=True)
    first = ask(wrapped, tools=TOOLS)
    with wrapped.responses.stream(model="gpt", input="What is DNS?", tools=TOOLS, store=False) as stream:
        assert stream.get_final_response().output[-1].arguments == first.output[-1].arguments
    ask(wrapped, "what is DNS", tools=TOOLS)
    assert model.asked == 2


def test_a_question_of_the_same_meaning_is_answered_within_the_budget(db, client, model):
    answers = db.cache("meanings", budget=0.5)
    wrapped = nuthatch.wrap(client, answers, embed=lambda text: toy_embed([text])[0])
    for text in ("How do I reset my password?", "How do I reset the password?"):
        ask(wrapped, text)
    assert (model.asked, answers.stats().counts["semantic"]) == (1, 1)


def test_awaited_clients_share_the_answers(wrapped, model, answers):
    async def use():
        async with openai.AsyncOpenAI(base_url=f"{model.address}/v1", api_key="k", max_retries=0) as client:
            awaited = nuthatch.wrap(client, answers)
            first = await ask(awaited)
            stream = await ask(awaited, "what's DNS", stream=True)
            return first, [event.type async for event in stream]

    first, kinds = asyncio.run(use())
    assert (kinds[-1], ask(wrapped) == first, model.asked) == ("response.completed", True, 1)
