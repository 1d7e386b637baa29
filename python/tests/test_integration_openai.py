"""``nuthatch.wrap`` round OpenAI's official client, against a server on this machine that speaks as OpenAI does."""

from __future__ import annotations

import asyncio
import logging

import pytest
from fake_models import provider
from support import toy_embed

import nuthatch

openai = pytest.importorskip("openai", reason="needs OpenAI's client: pip install openai")

from pydantic import BaseModel  # noqa: E402  (comes with openai)

TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}]
CALLS = [{"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}}]


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


def user(text, *before):
    return [*before, {"role": "user", "content": text}]


def ask(client, text="What is DNS?", **options):
    return client.chat.completions.create(**{"model": "gpt", "messages": user(text), **options})


def streamed(client, text="What is DNS?", **options):
    return list(ask(client, text, stream=True, **options))


def text_of(chunks):
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def test_an_answer_out_of_the_cache_is_the_same_object(wrapped, client, model, answers):
    first, again = ask(wrapped), ask(wrapped, "what's  DNS")
    assert (type(wrapped), type(again), again) == (openai.OpenAI, type(first), first)
    assert (model.asked, again.choices[0].message.content, again.usage.total_tokens) == (1, "Hello, world.", 7)
    assert ask(client).id == "chatcmpl-2", "the client itself is as it was"
    assert answers.stats().counts["canonical"] == 1


def test_headers_say_what_became_of_a_request(wrapped):
    raw = wrapped.chat.completions.with_raw_response
    said = [raw.create(model="gpt", messages=user("What is DNS?"), n=n).headers for n in (1, 1, 2)]
    assert [headers["x-nuthatch-cache"] for headers in said] == ["MISS", "HIT", "BYPASS"]
    assert (said[0]["x-nuthatch-cache-stored"], said[0]["x-request-id"]) == ("yes", "req-1")
    assert (said[1]["x-nuthatch-cache-tier"], said[1]["cache-status"]) == ("exact", "nuthatch; hit; detail=exact")
    assert said[2]["x-nuthatch-cache-reason"] == "several answers"


@pytest.mark.parametrize(
    "other",
    [
        {"model": "other"},
        {"messages": user("What is DNS?", {"role": "system", "content": "Be brief."})},
        {
            "messages": user(
                "What is DNS?", {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}
            )
        },
        {"messages": [*user("What is DNS?"), {"role": "assistant", "content": "It is"}]},
        {"messages": [{"role": "user", "content": "What is DNS?", "name": "anna"}]},
        {"temperature": 0.5},
        {"max_tokens": 5},
        {"seed": 1},
        {"stop": ["\n"]},
        {"response_format": {"type": "text"}},
        {"reasoning_effort": "low"},
        {"extra_body": {"top_k": 3}},
    ],
)
def test_everything_that_changes_an_answer_must_be_the_same(wrapped, model, other):
    ask(wrapped)
    ask(wrapped, **other)
    assert model.asked == 2
    ask(wrapped, **other)
    assert model.asked == 2


@pytest.mark.parametrize(
    "other", [{"user": "anna"}, {"metadata": {"a": "b"}}, {"store": True}, {"service_tier": "flex"}]
)
def test_what_changes_no_answer_may_differ(wrapped, model, other):
    ask(wrapped)
    assert ask(wrapped, **other).id == "chatcmpl-1"


def test_another_address_is_another_scope(wrapped, client, answers, model):
    ask(wrapped)
    ask(nuthatch.wrap(client.with_options(base_url=f"{model.address}/other/v1"), answers))
    assert model.paths == ["/v1/chat/completions", "/other/v1/chat/completions"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"n": 2}, "several answers"),
        ({"logprobs": True}, "logprobs"),
        ({"temperature": 1.2}, "temperature"),
        ({"web_search_options": {}}, "web search"),
        ({"modalities": ["text", "audio"]}, "media"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}]}, "media"),
        ({"extra_headers": {"x-nuthatch-cache": "off"}}, "off"),
    ],
)
def test_what_no_cache_answers_goes_to_the_model(wrapped, model, answers, options, why):
    for _ in range(2):
        raw = wrapped.chat.completions.with_raw_response
        told = raw.create(**{"model": "gpt", "messages": user("What is DNS?"), **options}).headers
        assert (told["x-nuthatch-cache"], told["x-nuthatch-cache-reason"]) == ("BYPASS", why)
    assert (model.asked, answers.stats().entries) == (2, 0)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"finish": "length"}, "unfinished"),
        ({"finish": "content_filter"}, "unfinished"),
        ({"message": {"refusal": "I cannot."}}, "refusal"),
        ({"message": {"tool_calls": CALLS}}, "tools"),
        ({"text": " "}, "empty"),
    ],
)
def test_answers_that_are_not_to_be_kept_are_not_stored(wrapped, model, answers, given, why):
    vars(model).update(given)
    raw = wrapped.chat.completions.with_raw_response
    told = raw.create(model="gpt", messages=user("What is DNS?")).headers
    assert told["x-nuthatch-cache-stored"] == why
    streamed(wrapped)
    assert (model.asked, answers.stats().entries) == (2, 0)


def test_broken_json_is_not_stored_where_json_was_asked_for(wrapped, model, answers):
    for text, entries in (("{", 0), ('{"a": 1}', 1)):
        model.text = text
        ask(wrapped, response_format={"type": "json_object"})
        assert answers.stats().entries == entries


def test_errors_of_the_model_are_raised_and_not_stored(wrapped, model, answers):
    model.status = 429
    with pytest.raises(openai.RateLimitError):
        ask(wrapped)
    with pytest.raises(openai.RateLimitError):
        streamed(wrapped)
    assert answers.stats().entries == 0


def test_a_stream_is_stored_and_comes_again_in_its_pieces(wrapped, model):
    first = streamed(wrapped)
    again = streamed(wrapped, "what's DNS")
    assert (model.asked, text_of(first), text_of(again)) == (1, "Hello, world.", "Hello, world.")
    assert [type(chunk) for chunk in again] == [type(chunk) for chunk in first]
    assert [chunk.choices for chunk in again] == [chunk.choices for chunk in first]
    assert {chunk.id for chunk in again} == {"chatcmpl-1"}


def test_one_answer_serves_requests_that_stream_and_others(wrapped, model):
    assert text_of(streamed(wrapped)) == "Hello, world."
    whole = ask(wrapped)
    assert (whole.choices[0].message.content, whole.choices[0].finish_reason) == ("Hello, world.", "stop")
    assert (whole.object, whole.usage) == ("chat.completion", None)
    other = ask(wrapped, "What is BGP?")
    assert text_of(streamed(wrapped, "What is BGP?")) == other.choices[0].message.content
    assert model.asked == 2


def test_usage_is_told_where_it_is_asked_for(wrapped, model):
    usage = {"stream_options": {"include_usage": True}}
    assert streamed(wrapped, **usage)[-1].usage.total_tokens == 7
    assert streamed(wrapped, **usage)[-1].usage.total_tokens == 7
    assert ask(wrapped).usage.total_tokens == 7
    assert model.asked == 1
    streamed(wrapped, "What is BGP?")
    assert streamed(wrapped, "What is BGP?", **usage)[-1].usage.total_tokens == 7
    assert model.asked == 3, "the first answer came without usage, so it could not serve the second request"


@pytest.mark.parametrize("events", range(6))
def test_a_stream_that_breaks_off_is_never_stored(wrapped, model, answers, events):
    model.break_after = events
    with pytest.raises(Exception, match=r"incomplete|peer|closed|[Cc]onnection"):
        streamed(wrapped)
    assert answers.stats().entries == 0
    model.break_after = None
    assert text_of(streamed(wrapped)) == "Hello, world."


@pytest.mark.parametrize("events", range(1, 6))
def test_a_stream_that_nobody_reads_to_its_end_is_not_stored(wrapped, answers, events):
    stream = ask(wrapped, stream=True)
    for _ in range(events):
        next(stream)
    stream.close()
    # Data sent in one piece with the events above may have been read with them, even the end.
    if answers.stats().entries:
        assert ask(wrapped).choices[0].message.content == "Hello, world."


def test_requests_with_tools_are_answered_where_they_are_the_very_same(wrapped, model):
    assert ask(wrapped, tools=TOOLS) == ask(wrapped, tools=TOOLS)
    ask(wrapped, "what is DNS", tools=TOOLS)
    turns = [{"role": "assistant", "tool_calls": CALLS}, {"role": "tool", "tool_call_id": "call_1", "content": "3"}]
    for text in ("What is it?", "what is it"):
        ask(wrapped, messages=[*user("Add"), *turns, *user(text)])
    assert model.asked == 4


def test_answers_that_call_tools_are_stored_when_asked_for(client, model, answers):
    wrapped = nuthatch.wrap(client, answers, tool_calls=True)
    model.message = {"tool_calls": CALLS}
    first = ask(wrapped, tools=TOOLS)
    assert ask(wrapped, tools=TOOLS) == first
    by_index = streamed(wrapped, tools=TOOLS)
    calls = [call for chunk in by_index for call in chunk.choices[0].delta.tool_calls or ()]
    assert "".join(call.function.arguments for call in calls) == CALLS[0]["function"]["arguments"]
    streamed(wrapped, "Again", tools=TOOLS)
    assert ask(wrapped, "Again", tools=TOOLS).choices == first.choices
    assert model.asked == 2


def test_media_are_answered_when_asked_for_and_the_same(client, model, answers):
    wrapped = nuthatch.wrap(client, answers, media=True)

    def picture(url):
        parts = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": url}}]
        return ask(wrapped, messages=[{"role": "user", "content": parts}])

    assert picture("data:,a") == picture("data:,a")
    picture("data:,b")
    assert model.asked == 2


def test_parsed_answers_come_from_the_cache(wrapped, model):
    class Point(BaseModel):
        x: int

    model.text = '{"x": 3}'
    said = [
        wrapped.chat.completions.parse(model="gpt", messages=user("Where?"), response_format=Point) for _ in range(2)
    ]
    assert [one.choices[0].message.parsed for one in said] == [Point(x=3)] * 2
    with wrapped.chat.completions.stream(model="gpt", messages=user("Where?"), response_format=Point) as stream:
        assert stream.get_final_completion().choices[0].message.parsed == Point(x=3)
    assert model.asked == 1


def test_awaited_clients_share_the_answers(wrapped, model, answers):
    async def use():
        async with openai.AsyncOpenAI(base_url=f"{model.address}/v1", api_key="k", max_retries=0) as client:
            awaited = nuthatch.wrap(client, answers)
            first = await ask(awaited)
            again = await ask(awaited, "what's DNS")
            streams = [await chunks(await ask(awaited, "Hello?", stream=True)) for _ in range(2)]
            return type(awaited), first, again, streams

    async def chunks(stream):
        return [chunk async for chunk in stream]

    kind, first, again, (told, retold) = asyncio.run(use())
    assert (kind, first == again, model.asked) == (openai.AsyncOpenAI, True, 2)
    assert [chunk.choices for chunk in told] == [chunk.choices for chunk in retold]
    assert ask(wrapped) == first


def test_a_question_of_the_same_meaning_is_answered_within_the_budget(db, client, model):
    answers = db.cache("meanings", budget=0.5)
    wrapped = nuthatch.wrap(client, answers, embed=lambda text: toy_embed([text])[0])
    ask(wrapped, "How do I reset my password?")
    ask(wrapped, "How do I reset the password?")
    assert (model.asked, answers.stats().counts["semantic"]) == (1, 1)
    for options in ({"tools": TOOLS}, {"extra_body": {"unknown": 1}}, {"extra_headers": {"x-nuthatch-cache": "exact"}}):
        ask(wrapped, "How do I reset my password?", **options)
        ask(wrapped, "How do I reset the password?", **options)
    assert (model.asked, answers.stats().counts["semantic"]) == (7, 1)


def test_a_judge_sees_the_text_that_was_stored(db, client):
    seen = []

    def judge(prompt, hit):
        seen.append((prompt, hit.prompt, hit.response["answer"]["choices"][0]["message"]["content"]))
        return True

    answers = db.cache("meanings", budget=0.5, judge=judge)
    wrapped = nuthatch.wrap(client, answers, embed=lambda text: toy_embed([text])[0])
    ask(wrapped, "How do I reset my password?")
    ask(wrapped, "How do I reset the password?")
    assert seen == [("How do I reset the password?", "How do I reset my password?", "Hello, world.")]


def test_a_request_controls_the_cache_by_its_headers(db, wrapped, model, answers):
    db.collection("notes", embedder="none").upsert([{"id": "a,1", "text": "x"}])

    def told(**headers):
        raw = wrapped.chat.completions.with_raw_response
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return raw.create(model="gpt", messages=user("What is DNS?"), extra_headers=sent).headers["x-nuthatch-cache"]

    with pytest.raises(openai.APIStatusError, match="only-if-cached"):
        told(cache_control="only-if-cached")
    assert told(cache_control="no-store") == "MISS"
    assert told(x_nuthatch_tags="a, b", x_nuthatch_sources="notes/a%2C1", x_nuthatch_ttl="60") == "MISS"
    assert told(cache_control="only-if-cached") == "HIT"
    assert told(x_nuthatch_cache="refresh") == "MISS"
    assert told(x_nuthatch_scope="user=anna") == "MISS"
    assert told(x_nuthatch_scope="user=anna") == "HIT"
    assert all(not name.startswith("x-nuthatch") for headers in model.headers for name in headers)
    assert answers.invalidate(tag="a") == 0, "the answer was stored anew, without tags"
    assert told(x_nuthatch_tags="a", x_nuthatch_sources="notes/a%2C1", x_nuthatch_cache="refresh") == "MISS"
    db.collection("notes").delete("a,1")
    assert told() == "MISS"


def test_scopes_keep_users_apart(db, client, model):
    answers = db.cache("scoped", scope=["request", "user"])
    wrapped = nuthatch.wrap(client, answers, scope=lambda request: {"user": request.get("user", "")})
    for name in ("anna", "ben", "anna", "ben"):
        ask(wrapped, user=name)
    assert model.asked == 2
    # Versions of the client before 3 wrap what its transport raises.
    with pytest.raises((nuthatch.InvalidError, openai.APIConnectionError)) as error:
        ask(nuthatch.wrap(client, answers))
    assert isinstance(error.value.__cause__ or error.value, nuthatch.InvalidError)
    assert model.asked == 2


def test_requests_are_skipped_and_the_question_is_found_in_a_text(client, model, answers):
    wrapped = nuthatch.wrap(
        client,
        answers,
        skip=lambda request: "today" in request["messages"][-1]["content"],
        question=lambda text: text.partition("Question:")[2].strip() or None,
    )
    for text in (
        "What is it today?",
        "A. Question: What is DNS?",
        "A. Question: what's DNS",
        "B. Question: What is DNS?",
    ):
        ask(wrapped, text)
        ask(wrapped, text)
    assert model.asked == 2 + 1 + 0 + 1


def test_an_answer_that_cannot_be_stored_still_reaches_the_caller(wrapped, model, caplog):
    with caplog.at_level(logging.WARNING):
        said = ask(wrapped, extra_headers={"x-nuthatch-sources": "notes/missing"})
    assert (said.choices[0].message.content, model.asked) == ("Hello, world.", 1)
    assert "could not be stored" in caplog.text


def test_other_calls_pass_untouched(client, model, answers):
    wrapped = nuthatch.wrap(client, answers)
    with pytest.raises(openai.RateLimitError):
        model.status = 429
        wrapped.embeddings.create(model="e", input="x")
    assert (model.paths, answers.stats().counts["misses"]) == (["/v1/embeddings"], 0)


def test_what_is_no_client_is_refused(answers, client):
    with pytest.raises(nuthatch.InvalidError, match="no client of openai"):
        nuthatch.wrap(object(), answers)
    with pytest.raises(nuthatch.InvalidError, match="give its `sync`"):
        nuthatch.wrap(client, nuthatch.AsyncCache(answers))
