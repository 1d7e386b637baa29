"""Write tests/llm/vectors.json: requests, answers and streams with what the Python dialects make of them.

The Rust crate `llm` must make the same of them (`crates/llm/tests/as_in_python.rs`), and the Python package still
(`python/tests/test_dialect_vectors.py`). Run it after a change of the rules, and look at the difference:
`.venv/bin/python scripts/llm_vectors.py`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python" / "tests"))

from dialect_vectors import outcome  # noqa: E402

USER = [{"role": "user", "content": "What is DNS?"}]
CHAT = {"model": "gpt", "messages": USER}
TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
CALL = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
IMAGE = {"type": "image_url", "image_url": {"url": "data:,"}}
RESPONSE = {"model": "gpt", "input": "What is DNS?", "store": False}
MESSAGES = {"model": "claude", "max_tokens": 9, "messages": USER}
MARK = {"type": "ephemeral"}


def questions() -> list[dict[str, Any]]:
    """Cases of requests and the questions that they ask."""
    chat = [
        CHAT,
        {**CHAT, "stream": True, "stream_options": {"include_usage": True}, "user": "anna", "metadata": {"a": "b"}},
        {**CHAT, "temperature": 0.1, "top_p": 1.0, "seed": 12345678901234567890, "max_tokens": None},
        {**CHAT, "temperature": 1e-5, "frequency_penalty": -0.5, "logit_bias": {"50256": -100, "é": 1}},
        {**CHAT, "top_k": 3},
        {**CHAT, "messages": [{"role": "system", "content": "Be brief."}, *USER]},
        {**CHAT, "messages": [*USER, {"role": "assistant", "content": "It is"}]},
        {**CHAT, "messages": [{"role": "user", "content": [{"type": "text", "text": "Wie heißt 😀?"}]}]},
        {**CHAT, "messages": [{"role": "user", "content": [{"type": "text", "text": "a"}] * 2}]},
        {**CHAT, "messages": [{"role": "system", "content": "Only this."}]},
        {**CHAT, "messages": [{"role": "user", "content": "  \n"}]},
        {**CHAT, "messages": [{"role": "user", "content": "x" * 70_000}]},
        {**CHAT, "messages": [{"role": "user", "content": None}]},
        {**CHAT, "messages": "What is DNS?"},
        {**CHAT, "messages": []},
        {**CHAT, "messages": [*USER, "no message"]},
        {**CHAT, "tools": [TOOL]},
        {**CHAT, "tools": []},
        {**CHAT, "functions": [{"name": "add"}]},
        {**CHAT, "messages": [*USER, {"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "content": "3"}]},
        {**CHAT, "messages": [*USER, {"role": "assistant", "tool_calls": [CALL]}, *USER]},
        {**CHAT, "n": 2},
        {**CHAT, "n": 1},
        {**CHAT, "logprobs": True},
        {**CHAT, "top_logprobs": 2},
        {**CHAT, "web_search_options": {}},
        {**CHAT, "modalities": ["text", "audio"]},
        {**CHAT, "modalities": ["text"]},
        {**CHAT, "audio": {"voice": "x"}},
        {**CHAT, "temperature": 1.2},
        {**CHAT, "temperature": 1},
        {**CHAT, "messages": [{"role": "user", "content": [IMAGE]}]},
        {**CHAT, "messages": [{"role": "user", "content": [{"no": "type"}]}]},
        {**CHAT, "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}},
    ]
    responses = [
        RESPONSE,
        {**RESPONSE, "instructions": "Be brief.", "text": {"format": {"type": "text"}}, "user": "anna"},
        {**RESPONSE, "store": True},
        {"model": "gpt", "input": "What is DNS?"},
        {**RESPONSE, "input": USER},
        {**RESPONSE, "input": [{"role": "user", "content": [{"type": "input_text", "text": "What is DNS?"}]}]},
        {**RESPONSE, "input": [*USER, {"type": "reasoning", "id": "r", "summary": []}, *USER]},
        {**RESPONSE, "input": [*USER, {"type": "function_call_output", "call_id": "c", "output": "3"}, *USER]},
        {**RESPONSE, "input": [{"role": "developer", "content": "Only this."}]},
        {**RESPONSE, "input": 7},
        {**RESPONSE, "input": ["no item"]},
        {**RESPONSE, "tools": [{"type": "function", "name": "add"}]},
        {**RESPONSE, "tools": [{"type": "web_search"}]},
        {**RESPONSE, "previous_response_id": "resp_1"},
        {**RESPONSE, "conversation": "conv_1"},
        {**RESPONSE, "background": True},
        {**RESPONSE, "prompt": {"id": "p"}},
        {**RESPONSE, "include": ["message.output_text.logprobs"]},
        {**RESPONSE, "include": ["reasoning.encrypted_content"]},
        {**RESPONSE, "temperature": 1.5},
        {**RESPONSE, "unknown": 1},
    ]
    messages = [
        MESSAGES,
        {**MESSAGES, "system": [{"type": "text", "text": "Be brief.", "cache_control": MARK}], "stream": True},
        {**MESSAGES, "system": [{"type": "text", "text": "Be brief."}], "metadata": {"user_id": "anna"}},
        {
            **MESSAGES,
            "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi", "cache_control": MARK}]}],
        },
        {**MESSAGES, "tools": [{"name": "add", "input_schema": {}}]},
        {**MESSAGES, "tools": [{"type": "custom", "name": "add", "input_schema": {}}]},
        {**MESSAGES, "tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        {**MESSAGES, "container": "c"},
        {**MESSAGES, "mcp_servers": [{"url": "x"}]},
        {**MESSAGES, "top_k": 5, "thinking": {"type": "enabled", "budget_tokens": 1024}},
        {**MESSAGES, "unknown": 1},
        {**MESSAGES, "messages": [{"role": "user", "content": [{"type": "image", "source": {}}]}]},
        {
            **MESSAGES,
            "messages": [
                *USER,
                {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "add", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "3"}]},
            ],
        },
        {**MESSAGES, "messages": [*USER, {"role": "assistant", "content": "It"}]},
        {**MESSAGES, "messages": {"role": "user"}},
    ]
    cases = [{"api": "chat", "request": request} for request in chat]
    cases += [{"api": "chat", "request": request, "media": True} for request in chat if "image" in str(request)]
    cases += [{"api": "responses", "request": request} for request in responses]
    cases += [{"api": "messages", "request": request} for request in messages]
    beta = {"anthropic-version": "2023-06-01", "anthropic-beta": "new", "x-other": "1"}
    return [*cases, {"api": "messages", "request": MESSAGES, "headers": beta}]


def objections() -> list[dict[str, Any]]:
    """Which answers are kept."""

    def chat(finish: str | None = "stop", **message: Any) -> dict[str, Any]:
        said = {"role": "assistant", "content": "Names.", "refusal": None, **message}
        return {"object": "chat.completion", "choices": [{"index": 0, "message": said, "finish_reason": finish}]}

    def response(status: str = "completed", *output: dict[str, Any], **more: Any) -> dict[str, Any]:
        said = {"type": "message", "content": [{"type": "output_text", "text": "Names."}]}
        return {"object": "response", "status": status, "output": list(output) or [said], **more}

    def message(reason: str | None = "end_turn", *content: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "message",
            "stop_reason": reason,
            "content": list(content) or [{"type": "text", "text": "Names."}],
        }

    as_json = {**CHAT, "response_format": {"type": "json_object"}}
    as_schema = {**RESPONSE, "text": {"format": {"type": "json_schema"}}}
    use = {"type": "tool_use", "id": "t", "name": "add", "input": {}}
    call = {"type": "function_call", "name": "add", "arguments": "{}"}
    of_chat = [
        chat(),
        chat("length"),
        chat("content_filter"),
        chat(None),
        chat(refusal="I cannot."),
        chat(audio={"id": "a"}),
        chat("tool_calls", content=None, tool_calls=[CALL]),
        chat("length", content=None, tool_calls=[CALL]),
        chat("function_call", function_call={"name": "add"}),
        chat(content=" \n"),
        chat(content=None),
        {"choices": []},
        {"choices": [1]},
        {"choices": [{"finish_reason": "stop"}]},
        {"choices": chat()["choices"] * 2},
        {"error": {"message": "no"}},
    ]
    of_responses = [
        response(),
        response("incomplete"),
        response(error={"code": "x"}),
        response("completed", {"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}),
        response("completed", {"type": "reasoning", "summary": []}),
        response("completed", call),
        response("completed", call, {"type": "web_search_call"}),
        response("completed", {"type": "web_search_call"}),
        {"object": "list"},
    ]
    of_messages = [
        message(),
        message("stop_sequence"),
        message("max_tokens"),
        message("refusal"),
        message("pause_turn"),
        message("tool_use", use),
        message("tool_use", use, {"type": "server_tool_use"}),
        message("end_turn", {"type": "thinking", "thinking": "Hm.", "signature": "s"}),
        message("end_turn", {"type": "web_search_tool_result"}, {"type": "text", "text": "Names."}),
        {"type": "error"},
    ]
    cases = [
        {"api": api, "request": request, "answer": answer, "tool_calls": tool_calls}
        for api, request, answers in (
            ("chat", CHAT, of_chat),
            ("responses", RESPONSE, of_responses),
            ("messages", MESSAGES, of_messages),
        )
        for answer in answers
        for tool_calls in (False, True)
    ]
    for text in ("{", '{"a": 1}'):
        cases.append({"api": "chat", "request": as_json, "answer": chat(content=text)})
        part = {"type": "message", "content": [{"type": "output_text", "text": text}]}
        cases.append({"api": "responses", "request": as_schema, "answer": response("completed", part)})
    return cases


def streams() -> list[dict[str, Any]]:
    """Cases of streams, and of answers that become streams."""

    def event(data: Any, name: str = "") -> str:
        text = data if isinstance(data, str) else json.dumps(data)
        return (f"event: {name}\n" if name else "") + f"data: {text}\n\n"

    def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt"}
        return event({**head, "choices": [choice], "usage": None, "obfuscation": "xyz", **more})

    first = chunk({"role": "assistant", "content": "", "refusal": None})
    done = event("[DONE]")
    usage = event({"id": "chatcmpl-1", "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}})
    words = [chunk({"content": word}) for word in ("Näm", "es ", "😀.")]
    begun = {**CALL, "function": {"name": "add", "arguments": ""}}
    calls = [
        chunk({"role": "assistant", "content": None}),
        chunk({"tool_calls": [{"index": 1, **begun, "id": "call_2"}]}),
        chunk({"tool_calls": [{"index": 0, **begun}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"a"'}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": ": 1}"}}]}),
        chunk({"tool_calls": [{"index": 1, "function": {"arguments": "{}"}}]}),
        chunk({}, "tool_calls"),
    ]
    of_chat = [
        [first, *words, chunk({}, "stop"), usage, done],
        [first, *words, chunk({}, "stop"), done, "data: more\n\n"],
        [first, chunk({"reasoning_content": "Hm"}), chunk({"reasoning_content": "m."}), *words, done],
        [first, chunk({"refusal": "No"}), chunk({"refusal": "."}, "stop"), done],
        [*calls, done],
        [first, event({"error": {"message": "overloaded"}}), done],
        [first, chunk({"content": ["no text"]}), done],
        [first, event("no JSON"), done],
        [chunk({"content": "x"}).replace('"index": 0', '"index": 1'), done],
        [": comment\r\n\r\n", first.replace("\n", "\r\n"), *words, chunk({}, "stop"), done],
    ]
    text = {"type": "message", "id": "m", "role": "assistant", "status": "completed"}
    part = {"type": "output_text", "text": "Names.", "annotations": []}
    call = {"type": "function_call", "id": "f", "call_id": "c", "name": "add", "arguments": '{"a":1}', "status": "x"}
    custom = {"type": "custom_tool_call", "id": "g", "call_id": "d", "name": "run", "input": "ls"}
    whole = {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "model": "gpt",
        "output": [{"type": "reasoning", "id": "r", "summary": []}, {**text, "content": [part]}, call, custom],
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }

    def told(kind: str, **more: Any) -> str:
        return event({"type": kind, **more}, kind)

    place = {"item_id": "m", "output_index": 1, "content_index": 0}
    deltas = [told("response.output_text.delta", **place, delta=piece) for piece in ("Nam", "es", ".")]
    other = told("response.output_text.delta", **{**place, "output_index": 2}, delta="x")
    of_responses = [
        [told("response.created", response={}), *deltas, told("response.completed", response=whole)],
        [*deltas, other, told("response.completed", response=whole)],
        [*deltas, told("response.failed", response=whole)],
        [*deltas, told("response.incomplete", response=whole)],
        [told("error", message="x"), told("response.completed", response=whole)],
    ]
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": []}
    head |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 3, "output_tokens": 1}}

    def block(at: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[str]:
        return [
            told("content_block_start", index=at, content_block=start),
            *(told("content_block_delta", index=at, delta=delta) for delta in deltas),
            told("content_block_stop", index=at),
        ]

    def says(*pieces: str) -> list[dict[str, Any]]:
        return [{"type": "text_delta", "text": piece} for piece in pieces]

    def ended(reason: str) -> list[str]:
        ending = {"stop_reason": reason, "stop_sequence": None}
        return [told("message_delta", delta=ending, usage={"output_tokens": 5}), told("message_stop")]

    thought = [{"type": "thinking_delta", "thinking": "Hm."}, {"type": "signature_delta", "signature": "sig"}]
    inputs = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", '{"a"', ": [1, 2]}")]
    start = [told("message_start", message=head), told("ping")]
    use = {"type": "tool_use", "id": "t", "name": "add", "input": {}}
    of_messages = [
        [*start, *block(0, {"type": "text", "text": ""}, *says("Nä", "mes")), *ended("end_turn")],
        [
            *start,
            *block(0, {"type": "thinking", "thinking": "", "signature": ""}, *thought),
            *block(1, {"type": "text", "text": ""}, *says("Names", ".")),
            *block(2, {"type": "text", "text": ""}, *says("More")),
            *ended("end_turn"),
        ],
        [*start, *block(0, use, *inputs), *block(1, use), *ended("tool_use")],
        [*start, *block(0, use, {"type": "input_json_delta", "partial_json": "{"}), *ended("tool_use")],
        [*start, *block(0, {"type": "text", "text": ""}, {"type": "citations_delta", "citation": {}})],
        [*start, told("error", error={"type": "overloaded_error"})],
    ]
    usual = {"chat": CHAT, "responses": RESPONSE, "messages": MESSAGES}
    cases = [
        {"api": api, "request": {**usual[api], "stream": True}, "events": "".join(events)}
        for api, streams in (("chat", of_chat), ("responses", of_responses), ("messages", of_messages))
        for events in streams
    ]
    wanting = {**CHAT, "stream": True, "stream_options": {"include_usage": True}}
    return [*cases, *({**case, "request": wanting} for case in cases[:2])]


def main() -> None:
    """Writes the file."""
    cases = {"questions": questions(), "objections": objections(), "streams": streams()}
    told = {kind: [{**case, "outcome": outcome(kind, case)} for case in some] for kind, some in cases.items()}
    lines = [f'"{kind}": [\n' + ",\n".join(json.dumps(case) for case in some) + "\n]" for kind, some in told.items()]
    path = ROOT / "tests" / "llm" / "vectors.json"
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print({kind: len(some) for kind, some in told.items()}, path)


if __name__ == "__main__":
    main()
