"""Transports of HTTP that stand between an official client and its network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

from ..dialects.dialect import Bypassed
from .control import taken
from .exchange import Exchange, Given, Recorder, Rules, begun, dialect_of

#: Headers of an answer that its decoded body no longer has.
_OF_ENCODING = ("content-encoding", "content-length", "transfer-encoding")


def waiting(http: Any, rules: Rules, client: Any) -> Any:
    """A client of ``http`` (``httpx``, or its successor) like ``client``, whose requests go through a cache.

    ``client`` sends what the cache does not answer, with its connections, proxies, hooks, retries.
    """

    class Body(http.SyncByteStream):
        def __init__(self, content: Iterator[bytes], answer: Any = None) -> None:
            self._content, self._answer = content, answer

        def __iter__(self) -> Iterator[bytes]:
            return self._content

        def close(self) -> None:
            if self._answer is not None:
                self._answer.close()

    class Cached(http.BaseTransport):
        def handle_request(self, request: Any) -> Any:
            request.read()
            exchange, told = _begun(rules, request)
            if exchange is not None:
                given = exchange.answer()
                if given is not None:
                    content = given.content
                    body = {"content": content} if isinstance(content, bytes) else {"stream": Body(content)}
                    return http.Response(200, headers=_headers(given), **body)
                if not exchange.asks:
                    return http.Response(504, **_nothing())
            answer = client.send(request, stream=True)
            if exchange is None or answer.status_code != 200:
                return _passed(http, answer, Body(answer.iter_raw(), answer), told)
            if _is_stream(answer):
                return _decoded(http, answer, told, stream=Body(heard(answer, exchange.recorder()), answer))
            content = answer.read()
            told["x-nuthatch-cache-stored"] = exchange.keep(content) or "yes"
            return _decoded(http, answer, told, content=content)

        def close(self) -> None:
            client.close()

    def heard(answer: Any, recorder: Recorder) -> Iterator[bytes]:
        for more in answer.iter_bytes():
            if recorder.hear(more):
                recorder.finish()
            yield more

    return http.Client(transport=Cached(), **_like(client))


def awaited(http: Any, rules: Rules, client: Any) -> Any:
    """As ``waiting``, for a client whose calls are awaited. The cache is asked in a thread."""

    class Body(http.AsyncByteStream):
        def __init__(self, content: AsyncIterator[bytes], answer: Any = None) -> None:
            self._content, self._answer = content, answer

        def __aiter__(self) -> AsyncIterator[bytes]:
            return self._content

        async def aclose(self) -> None:
            if self._answer is not None:
                await self._answer.aclose()

    class Cached(http.AsyncBaseTransport):
        async def handle_async_request(self, request: Any) -> Any:
            await request.aread()
            exchange, told = _begun(rules, request)
            if exchange is not None:
                given = await asyncio.to_thread(exchange.answer)
                if given is not None:
                    content = given.content
                    body = {"content": content} if isinstance(content, bytes) else {"stream": Body(each(content))}
                    return http.Response(200, headers=_headers(given), **body)
                if not exchange.asks:
                    return http.Response(504, **_nothing())
            answer = await client.send(request, stream=True)
            if exchange is None or answer.status_code != 200:
                return _passed(http, answer, Body(answer.aiter_raw(), answer), told)
            if _is_stream(answer):
                return _decoded(http, answer, told, stream=Body(heard(answer, exchange.recorder()), answer))
            content = await answer.aread()
            why = await asyncio.to_thread(exchange.keep, content)
            told["x-nuthatch-cache-stored"] = why or "yes"
            return _decoded(http, answer, told, content=content)

        async def aclose(self) -> None:
            await client.aclose()

    async def each(content: Iterator[bytes]) -> AsyncIterator[bytes]:
        for piece in content:
            yield piece

    async def heard(answer: Any, recorder: Recorder) -> AsyncIterator[bytes]:
        async for more in answer.aiter_bytes():
            if recorder.hear(more):
                await asyncio.to_thread(recorder.finish)
            yield more

    return http.AsyncClient(transport=Cached(), **_like(client))


def _begun(rules: Rules, request: Any) -> tuple[Exchange | None, dict[str, str]]:
    """The exchange, if a cache may answer, and the headers that say what became of the request."""
    if request.method != "POST" or dialect_of(str(request.url)) is None:
        return None, {}
    try:
        control = taken(request.headers)
        exchange = begun(rules, control, str(request.url), request.headers, request.content)
    except Bypassed as why:
        return None, {"x-nuthatch-cache": "BYPASS", "x-nuthatch-cache-reason": str(why)}
    return exchange, {"x-nuthatch-cache": "MISS", "cache-status": "nuthatch; fwd=miss"}


def _headers(given: Given) -> dict[str, str]:
    return {"content-type": given.content_type, **given.headers}


def _nothing() -> dict[str, Any]:
    said = {
        "error": {"message": "not in the cache, and only-if-cached was asked for", "type": "not_cached", "code": None}
    }
    # The clients would try again.
    headers = {"content-type": "application/json", "x-should-retry": "false", "x-nuthatch-cache": "MISS"}
    return {"headers": headers, "content": json.dumps(said).encode()}


def _passed(http: Any, answer: Any, stream: Any, told: dict[str, str]) -> Any:
    headers = [*answer.headers.raw, *((name.encode(), value.encode()) for name, value in told.items())]
    return http.Response(answer.status_code, headers=headers, stream=stream, extensions=answer.extensions)


def _decoded(http: Any, answer: Any, told: dict[str, str], **body: Any) -> Any:
    kept = [(name, value) for name, value in answer.headers.raw if name.decode().lower() not in _OF_ENCODING]
    headers = [*kept, *((name.encode(), value.encode()) for name, value in told.items())]
    return http.Response(200, headers=headers, **body)


def _is_stream(answer: Any) -> bool:
    kind: str = answer.headers.get("content-type", "")
    return kind.startswith("text/event-stream")


def _like(client: Any) -> dict[str, Any]:
    """The settings that requests take from the client that makes them."""
    return {
        "base_url": client.base_url,
        "headers": client.headers,
        "params": client.params,
        "cookies": client.cookies,
        "timeout": client.timeout,
        "follow_redirects": client.follow_redirects,
        "trust_env": False,
    }
