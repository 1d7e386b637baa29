"""OpenAI's official client through ``nuthatch cache serve``, before a server on this machine that speaks as OpenAI does."""

from __future__ import annotations

import asyncio

import faces
import pytest
from fake_models import provider

openai = pytest.importorskip("openai", reason="needs OpenAI's client: pip install openai")

from pydantic import BaseModel  # noqa: E402  (comes with openai)

TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}]
CALLS = [{"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}}]


class City(BaseModel):
    name: str
    people: int


@pytest.fixture
def model():
    with provider() as made:
        yield made


@pytest.fixture
def address(model, folder):
    with faces.proxied(folder, f"{model.address}/v1", "--tool-calls") as made:
        yield f"{made}/v1"


@pytest.fixture
def client(address):
    with openai.OpenAI(base_url=address, api_key="k", max_retries=0) as made:
        yield made


def user(text):
    return [{"role": "user", "content": text}]


def ask(client, text="What is DNS?", **options):
    return client.chat.completions.create(**{"model": "gpt", "messages": user(text), **options})


def test_answers_are_the_same_objects(client, model):
    first, again, other = ask(client), ask(client), ask(client, "what's  DNS")
    assert first == again == other
    assert (model.asked, again.choices[0].message.content, again.usage.total_tokens) == (1, "Hello, world.", 7)


def test_streams_are_the_same_objects(client, model):
    usage = {"stream": True, "stream_options": {"include_usage": True}}
    first, again = list(ask(client, **usage)), list(ask(client, **usage))
    assert model.asked == 1
    assert [chunk.choices for chunk in again] == [chunk.choices for chunk in first]
    assert (again[-1].usage, {chunk.id for chunk in again}) == (first[-1].usage, {first[0].id})
    assert ask(client).choices[0].message.content == "Hello, world."
    assert model.asked == 1


def test_a_stream_that_is_left_early_is_not_stored(client, model):
    stream = ask(client, stream=True)
    next(iter(stream))
    stream.close()
    model.text = "Another."
    # The provider may have sent all of it with its first bytes; then it is whole, and never a part.
    assert ask(client).choices[0].message.content in ("Another.", "Hello, world.")


@pytest.mark.parametrize("events", range(6))
def test_a_stream_that_breaks_off_raises_and_is_never_stored(client, model, events):
    model.break_after = events
    with pytest.raises(Exception, match=r"incomplete|peer|closed|[Cc]onnection"):
        list(ask(client, stream=True))
    model.break_after = None
    assert ask(client).choices[0].message.content == "Hello, world."
    assert model.asked == 2


def test_tools_are_called_with_the_same_arguments(client, model):
    model.message = {"tool_calls": CALLS}
    first, again = ask(client, tools=TOOLS), ask(client, tools=TOOLS)
    assert first == again
    assert again.choices[0].message.tool_calls[0].function.arguments == CALLS[0]["function"]["arguments"]
    with client.chat.completions.stream(model="gpt", messages=user("What is DNS?"), tools=TOOLS) as stream:
        streamed = stream.get_final_completion()
    assert streamed.choices[0].message.tool_calls[0].function.name == "add"
    assert model.asked == 1


def test_structured_output_is_parsed_the_same(client, model):
    model.text = '{"name": "Oslo", "people": 717710}'
    first, again = (
        client.chat.completions.parse(model="gpt", messages=user("A city?"), response_format=City) for _ in range(2)
    )
    assert first.choices[0].message.parsed == again.choices[0].message.parsed == City(name="Oslo", people=717710)
    assert model.asked == 1


def test_responses_are_the_same_objects(client, model):
    asked = {"model": "gpt", "input": "What is DNS?", "store": False}
    first, again = client.responses.create(**asked), client.responses.create(**asked)
    assert (first, again.output_text, model.asked) == (again, "Hello, world.", 1)
    events = list(client.responses.create(**asked, stream=True))
    assert (events[-1].type, events[-1].response) == ("response.completed", first)
    with client.responses.stream(model="gpt", input="What is BGP?", store=False) as stream:
        whole = stream.get_final_response()
    assert client.responses.create(**{**asked, "input": "What is BGP?"}).output_text == whole.output_text
    assert model.asked == 2


def test_embeddings_are_the_same_objects(client, model):
    asked = {"model": "embed", "input": ["one", "two"]}
    first, again = client.embeddings.create(**asked), client.embeddings.create(**asked)
    assert (first, model.asked) == (again, 1)
    mixed = client.embeddings.create(model="embed", input=["two", "three"])
    assert [item.index for item in mixed.data] == [0, 1]
    assert mixed.data[0].embedding == first.data[1].embedding
    assert model.requests[-1]["input"] == ["three"]


def test_errors_are_raised_as_the_provider_said_them(client, model):
    model.status = 429
    for _ in range(2):
        with pytest.raises(openai.RateLimitError):
            ask(client)
    assert model.asked == 2


def test_the_headers_say_what_became_of_a_request(client):
    raw = client.chat.completions.with_raw_response
    said = [raw.create(model="gpt", messages=user("What is DNS?"), n=n).headers for n in (1, 1, 2)]
    assert [headers["x-nuthatch-cache"] for headers in said] == ["MISS", "HIT", "BYPASS"]
    assert (said[1]["cache-status"], said[2]["x-nuthatch-cache-reason"]) == (
        "nuthatch; hit; detail=exact",
        "several answers",
    )


def test_awaited_clients_get_the_same(address, model):
    async def main():
        async with openai.AsyncOpenAI(base_url=address, api_key="k", max_retries=0) as client:
            answers = await asyncio.gather(*(ask(client) for _ in range(8)))
            chunks = [chunk async for chunk in await ask(client, stream=True)]
            return answers, chunks

    answers, chunks = asyncio.run(main())
    assert all(answer == answers[0] for answer in answers)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "Hello, world."
    assert model.asked == 1


def test_other_keys_get_answers_of_their_own(address, client, model):
    ask(client)
    with openai.OpenAI(base_url=address, api_key="other", max_retries=0) as other:
        ask(other)
    assert model.asked == 2
    assert model.headers[1]["authorization"] == "Bearer other"
