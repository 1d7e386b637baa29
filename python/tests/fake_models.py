"""A server on this machine that speaks as OpenAI and Anthropic do, for their official clients."""

from __future__ import annotations

import array
import base64
import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Provider:
    """The answers of the server, and the requests that it received."""

    def __init__(self) -> None:
        self.address = ""
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.text = "Hello, world."
        self.finish: str | None = None
        self.message: dict[str, Any] = {}
        self.usage = True
        #: Ends streams after this many events, without their end.
        self.break_after: int | None = None
        self.status = 200
        #: What is waited for, by the number of the request: before its answer, or after the first event of its stream.
        self.gates: dict[int, threading.Event] = {}

    @property
    def asked(self) -> int:
        """How many requests came."""
        return len(self.requests)


@contextlib.contextmanager
def provider() -> Iterator[Provider]:
    """A provider that runs for a block."""
    made = Provider()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        #: An answer is several writes, none of which waits until the one before is acknowledged.
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            made.requests.append(body)
            gate = made.gates.get(made.asked)
            made.paths.append(self.path)
            made.headers.append({name.lower(): value for name, value in self.headers.items()})
            if made.status != 200:
                self._whole({"error": {"message": "no", "type": "x", "code": None}}, made.status)
                return
            speak = {"messages": _messages, "responses": _responses, "embeddings": _embeddings}.get(
                self.path.split("?")[0].rpartition("/")[2], _chat
            )
            whole, events = speak(made, body)
            if body.get("stream"):
                self._events(events, gate)
                return
            if gate is not None:
                gate.wait()
            with contextlib.suppress(ConnectionError):  # of clients that have gone
                self._whole(whole, 200)

        def _whole(self, body: dict[str, Any], status: int) -> None:
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.send_header("x-request-id", f"req-{made.asked}")
            self.end_headers()
            self.wfile.write(content)

        def _events(self, events: list[bytes], gate: threading.Event | None) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream; charset=utf-8")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            with contextlib.suppress(ConnectionError):  # of clients that have gone
                for at, event in enumerate(events):
                    if at == made.break_after:
                        self.close_connection = True
                        return
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
                    if at == 0 and gate is not None:
                        gate.wait()
                self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            """Clients that close a connection in between are part of the tests."""

    server = Server(("127.0.0.1", 0), Handler)
    made.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _event(data: Any, name: str = "") -> bytes:
    text = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()


def _chat(made: Provider, body: dict[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    calls = made.message.get("tool_calls")
    finish = made.finish or ("tool_calls" if calls else "stop")
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    head = {"id": f"chatcmpl-{made.asked}", "created": 1_700_000_000, "model": body["model"]}
    said = {"role": "assistant", "content": None if calls else made.text, "refusal": None, **made.message}
    choice = {"index": 0, "message": said, "finish_reason": finish, "logprobs": None}
    choices = [{**choice, "index": at} for at in range(body.get("n") or 1)]
    whole = {**head, "object": "chat.completion", "choices": choices, "usage": usage if made.usage else None}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        one = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _event({**head, "object": "chat.completion.chunk", "choices": [one], "usage": None})

    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": None if calls else "", "refusal": None}]
    if calls:
        for at, call in enumerate(calls):
            function = call["function"]
            deltas.append({"tool_calls": [{"index": at, **call, "function": {**function, "arguments": ""}}]})
            cut = len(function["arguments"]) // 2
            for part in (function["arguments"][:cut], function["arguments"][cut:]):
                deltas.append({"tool_calls": [{"index": at, "function": {"arguments": part}}]})
    elif made.message.get("refusal"):
        deltas.append({"refusal": made.message["refusal"]})
    else:
        deltas += [{"content": word} for word in made.text.split(" ") for word in (word, " ")][:-1]
    events = [*map(chunk, deltas), chunk({}, finish)]
    if (body.get("stream_options") or {}).get("include_usage"):
        events.append(_event({**head, "object": "chat.completion.chunk", "choices": [], "usage": usage}))
    return whole, [*events, _event("[DONE]")]


def _messages(made: Provider, body: dict[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    content = made.message.get("content") or [{"type": "text", "text": made.text}]
    reason = made.finish or "end_turn"
    head = {"id": f"msg_{made.asked}", "type": "message", "role": "assistant", "model": body["model"]}
    usage = {"input_tokens": 3, "output_tokens": 4}
    whole = {**head, "content": content, "stop_reason": reason, "stop_sequence": None, "usage": usage}
    begun = {**whole, "content": [], "stop_reason": None, "usage": {"input_tokens": 3, "output_tokens": 1}}
    events = [_event({"type": "message_start", "message": begun}, "message_start"), _event({"type": "ping"}, "ping")]
    for at, block in enumerate(content):
        if block["type"] == "text":
            start, kind, name, value = {**block, "text": ""}, "text_delta", "text", block["text"]
        else:
            start, kind, name = {**block, "input": {}}, "input_json_delta", "partial_json"
            value = json.dumps(block["input"])
        start = {"type": "content_block_start", "index": at, "content_block": start}
        events.append(_event(start, "content_block_start"))
        for piece in (value[:4], value[4:]):
            delta = {"type": "content_block_delta", "index": at, "delta": {"type": kind, name: piece}}
            events.append(_event(delta, "content_block_delta"))
        events.append(_event({"type": "content_block_stop", "index": at}, "content_block_stop"))
    ended = {
        "type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": None},
        "usage": {"output_tokens": 4},
    }
    return whole, [*events, _event(ended, "message_delta"), _event({"type": "message_stop"}, "message_stop")]


def _responses(made: Provider, body: dict[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    part = made.message.get("part") or {"type": "output_text", "text": made.text, "annotations": [], "logprobs": []}
    said = {"id": f"msg_{made.asked}", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    output = [{"id": f"rs_{made.asked}", "type": "reasoning", "summary": []}, *made.message.get("output", [said])]
    head = {"id": f"resp_{made.asked}", "object": "response", "created_at": 1_700_000_000, "model": body["model"]}
    more = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None, "incomplete_details": None}
    usage = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    whole = {**head, **more, "output": output, "status": made.finish or "completed", "usage": usage}
    begun = {**whole, "output": [], "status": "in_progress", "usage": None}
    told: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    for at, item in enumerate(output):
        place = {"item_id": item["id"], "output_index": at}
        empty = {**item, **({"content": []} if item["type"] == "message" else {})}
        told.append({"type": "response.output_item.added", "output_index": at, "item": empty})
        if item["type"] == "message" and part["type"] == "output_text":
            within = {**place, "content_index": 0}
            told.append({"type": "response.content_part.added", **within, "part": {**part, "text": ""}})
            for piece in (made.text[:4], made.text[4:]):
                told.append({"type": "response.output_text.delta", **within, "delta": piece, "logprobs": []})
            told.append({"type": "response.output_text.done", **within, "text": made.text, "logprobs": []})
            told.append({"type": "response.content_part.done", **within, "part": part})
        told.append({"type": "response.output_item.done", "output_index": at, "item": item})
    told.append({"type": f"response.{whole['status']}", "response": whole})
    return whole, [_event({**one, "sequence_number": at}, one["type"]) for at, one in enumerate(told)]


def _embeddings(made: Provider, body: dict[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    vectors = [array.array("f", [len(text), ord(text[0]), 0.5]) for text in texts]

    def written(vector: array.array[float]) -> Any:
        is_base64 = body.get("encoding_format") == "base64"
        return base64.b64encode(vector.tobytes()).decode() if is_base64 else list(vector)

    data = [{"object": "embedding", "index": at, "embedding": written(vector)} for at, vector in enumerate(vectors)]
    usage = {"prompt_tokens": 3 * len(texts), "total_tokens": 3 * len(texts)}
    return {"object": "list", "data": data, "model": body["model"], "usage": usage}, []
