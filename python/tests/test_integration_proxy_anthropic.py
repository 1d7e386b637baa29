"""Anthropic's official client through ``nuthatch cache serve``, before a server on this machine that speaks as Anthropic does."""

from __future__ import annotations

import asyncio

import faces
import pytest
from fake_models import provider

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
def address(model, folder):
    with faces.proxied(folder, model.address, "--tool-calls") as made:
        yield made


@pytest.fixture
def client(address):
    with anthropic.Anthropic(base_url=address, api_key="k", max_retries=0) as made:
        yield made


def asked(text="What is DNS?", **options):
    return {"model": "claude", "max_tokens": 9, "messages": [{"role": "user", "content": text}], **options}


def test_answers_are_the_same_objects(client, model):
    first, again = client.messages.create(**asked()), client.messages.create(**asked("what's  DNS"))
    assert first == again
    assert (model.asked, again.content[0].text, again.usage.output_tokens) == (1, "Hello, world.", 4)


def test_streams_are_stored_at_their_end_and_come_again(client, model):
    with client.messages.stream(**asked()) as stream:
        first = (stream.get_final_text(), stream.get_final_message())
    with client.messages.stream(**asked()) as stream:
        again = (stream.get_final_text(), stream.get_final_message())
    assert first == again
    whole = client.messages.create(**asked())
    assert (whole.content[0].text, whole.stop_reason, whole.usage) == (first[0], "end_turn", first[1].usage)
    assert model.asked == 1


@pytest.mark.parametrize("events", range(7))
def test_a_stream_that_breaks_off_is_never_stored(client, model, events):
    model.break_after = events
    with pytest.raises(Exception, match=r"incomplete|peer|closed|[Cc]onnection"):
        list(client.messages.create(**asked(stream=True)))
    model.break_after = None
    client.messages.create(**asked())
    assert model.asked == 2


def test_tools_are_called_with_the_same_input(client, model):
    model.message, model.finish = {"content": CALL}, "tool_use"
    first, again = (client.messages.create(**asked(tools=TOOLS)) for _ in range(2))
    assert first == again
    with client.messages.stream(**asked(tools=TOOLS)) as stream:
        assert stream.get_final_message().content[1].input == {"a": [1, 2]}
    assert model.asked == 1


def test_awaited_clients_get_the_same(address, model):
    async def main():
        async with anthropic.AsyncAnthropic(base_url=address, api_key="k", max_retries=0) as client:
            return await asyncio.gather(*(client.messages.create(**asked()) for _ in range(8)))

    answers = asyncio.run(main())
    assert all(answer == answers[0] for answer in answers)
    assert model.asked == 1


def test_a_request_may_pass_the_cache_by(client, model):
    raw = client.messages.with_raw_response.create(**asked(extra_headers={"x-nuthatch-cache": "off"}))
    assert raw.headers["x-nuthatch-cache"] == "BYPASS"
    sent = model.headers[0]
    assert "x-nuthatch-cache" not in sent
    assert "k" in (sent.get("x-api-key"), sent.get("authorization", "").removeprefix("Bearer "))
