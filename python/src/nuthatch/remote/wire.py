"""Requests and answers: kept connections, time limits and retries.

Retried, with growing pauses, within the request's time: requests that the server refused before it began (429 or 503
with ``Retry-After``); requests that were never sent because no connection was made; and reads whose connection broke.
"""

from __future__ import annotations

import json
import math
import os
import random
import ssl
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict
from urllib.parse import urlsplit

from ..errors import ClosedError, InvalidError, NuthatchError, UnavailableError
from .problems import PROBLEM, problem

try:
    import urllib3
    from urllib3.exceptions import HTTPError, NewConnectionError, ProtocolError, SSLError, TimeoutError
except ImportError as error:
    raise UnavailableError("connecting to a server needs urllib3: pip install 'nuthatch[http]'") from error

from .cancelling import Cancellable, Connection, TlsConnection, asking

if TYPE_CHECKING:
    from .. import _core

#: Connections kept and used at the same time; more callers wait for one.
CONNECTIONS_MAX = 32
TIMEOUT_DEFAULT_SECONDS = 60.0
_CONNECT_SECONDS_MAX = 10.0
_TRIES_MAX = 4
_PAUSE_SECONDS = 0.1
_PAUSE_SECONDS_MAX = 5.0


class ServerArguments(TypedDict):
    """The arguments from the package's ``connect``."""

    api_key: str | None
    tenant: str | None
    timeout_seconds: float | None
    ca: str | None
    client_cert: tuple[str, str | None] | None


class Answer(NamedTuple):
    """One that succeeded."""

    url: str
    body: bytes

    def json(self) -> Any:
        """The document."""
        try:
            return json.loads(self.body)
        except ValueError:
            raise UnavailableError(f"{self.url} did not answer with JSON, so it is not a Nuthatch server") from None


class _Question(NamedTuple):
    """A request to the server, with its retries."""

    method: str
    target: str
    body: bytes | None
    headers: Mapping[str, str]
    is_read: bool


class Wire:
    """Connections to one server. Safe to share between threads, and usable after a fork."""

    def __init__(self, url: str, arguments: ServerArguments) -> None:
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            raise InvalidError(f"path={url!r} has an invalid port") from None
        if not parts.hostname or parts.query or parts.fragment or parts.username or parts.password:
            raise InvalidError(f"path={url!r} is not a server address; write for example http://127.0.0.1:7700")
        self._is_tls = parts.scheme == "https"
        self._host, self._port, self._prefix = parts.hostname, port, parts.path.rstrip("/")
        self.url = f"{parts.scheme}://{parts.netloc}{self._prefix}"
        self._tls = _tls(arguments) if self._is_tls else None
        if not self._is_tls and (arguments["ca"] or arguments["client_cert"]):
            raise InvalidError(f"ca and client_cert are for https, and path={url!r} is not")
        self.timeout_seconds = arguments["timeout_seconds"] or TIMEOUT_DEFAULT_SECONDS
        self._headers = {"user-agent": "nuthatch-python"}
        if (key := arguments["api_key"]) is not None:
            if not key or not key.isascii() or not key.isprintable():
                raise InvalidError("invalid api_key; give the key that `nuthatch key create` printed")
            self._headers["authorization"] = f"Bearer {key}"
        self._making = threading.Lock()
        self._pool: urllib3.HTTPConnectionPool | None = None
        self._pid = 0
        self._is_closed = False
        #: Requests that may be cancelled.
        self._cancellable: dict[_core.CancelFlag, Cancellable] = {}

    def close(self) -> None:
        """Ends the connections and refuses later requests."""
        self._is_closed = True
        if self._pool is not None and self._pid == os.getpid():
            self._pool.close()

    def check_open(self) -> None:
        """Raises ClosedError once it is closed."""
        if self._is_closed:
            raise ClosedError("the database is closed; open it again")

    def ask(
        self,
        method: str,
        target: str,
        *,
        body: bytes | None,
        headers: Mapping[str, str],
        is_read: bool,
        timeout_seconds: float | None,
        cancel: _core.CancelFlag | None = None,
    ) -> Answer:
        """One request, retried where that is safe. ``timeout_seconds``: None for as long as it takes."""
        question = _Question(method, target, body, headers, is_read)
        if cancel is None:
            return self._ask(question, timeout_seconds, None)
        request = self._cancellable[cancel] = Cancellable()
        try:
            if cancel.is_set():
                request.cancel()
            with asking(request):
                return self._ask(question, timeout_seconds, request)
        finally:
            del self._cancellable[cancel]

    def cancel(self, cancel: _core.CancelFlag) -> None:
        """Ends the request that was given this flag, which is set."""
        if (request := self._cancellable.get(cancel)) is not None:
            request.cancel()

    def _ask(
        self,
        question: _Question,
        timeout_seconds: float | None,
        request: Cancellable | None,
    ) -> Answer:
        deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        pause = _PAUSE_SECONDS
        for tries_left in reversed(range(_TRIES_MAX)):
            self.check_open()
            if request is not None:
                request.check()
            found = self._once(question, deadline)
            if isinstance(found, Answer):
                return found
            error, is_safe, wanted_pause = found
            wait = max(wanted_pause, pause * (0.5 + random.random()))
            is_late = deadline is not None and time.monotonic() + wait >= deadline
            if (
                not tries_left
                or is_late
                or not (is_safe or (question.is_read and isinstance(error.__cause__, ProtocolError)))
            ):
                raise error
            time.sleep(wait)
            pause *= 2
        raise AssertionError("the last try returns or raises")

    def _once(self, question: _Question, deadline: float | None) -> Answer | tuple[NuthatchError, bool, float]:
        """The answer; or the error, whether a retry is safe, and after which time."""
        left = None if deadline is None else max(deadline - time.monotonic(), 0.001)
        connect = _CONNECT_SECONDS_MAX if left is None else min(left, _CONNECT_SECONDS_MAX)
        try:
            answer = self._connections().urlopen(
                question.method,
                self._prefix + question.target,
                body=question.body,
                headers={**self._headers, **question.headers},
                retries=False,
                redirect=False,
                timeout=urllib3.Timeout(connect=connect, read=left),
                pool_timeout=None if left is None else math.ceil(left),
            )
        except HTTPError as error:
            made, was_sent = self._broken(error, left, question.is_read)
            made.__cause__ = error
            return made, not was_sent, 0.0
        if answer.status < 300:
            return Answer(self.url, answer.data)
        media_type = answer.headers.get("content-type")
        made = problem(self.url, answer.status, media_type, answer.data)
        retry_after = answer.headers.get("retry-after", "")
        # Our server says so only before it has begun; the same answer from a proxy does not count.
        is_refused = answer.status in (429, 503) and retry_after.isdigit() and (media_type or "").startswith(PROBLEM)
        return made, is_refused, min(float(retry_after), _PAUSE_SECONDS_MAX) if is_refused else 0.0

    def _broken(self, error: HTTPError, left: float | None, is_read: bool) -> tuple[NuthatchError, bool]:
        """The error for a request without an answer, and whether it may have been sent."""
        if isinstance(error, SSLError):
            return UnavailableError(
                f"{self.url}: {error}; if the server's certificate is signed by an authority of your own, name it with ca="
            ), False
        if isinstance(error, (NewConnectionError, urllib3.exceptions.NameResolutionError)):
            return UnavailableError(
                f"no server at {self.url}: {error}; is it running, and is the address right?"
            ), False
        if isinstance(error, urllib3.exceptions.ConnectTimeoutError):
            return UnavailableError(f"no connection to {self.url} within its time; is the address right?"), False
        if isinstance(error, urllib3.exceptions.EmptyPoolError):
            return UnavailableError(
                f"all {CONNECTIONS_MAX} connections to {self.url} are in use; ask less at a time"
            ), False
        doubt = "" if is_read else "; the call may have been done, or may still be: check before you try again"
        if isinstance(error, TimeoutError):
            remedy = "give connect a longer timeout, or ask for less"
            return UnavailableError(f"{self.url} did not answer within {left or 0:.1f} s{doubt}; {remedy}"), True
        return UnavailableError(f"{self.url} broke off: {error}{doubt}"), True

    def _connections(self) -> urllib3.HTTPConnectionPool:
        if self._pool is None or self._pid != os.getpid():
            with self._making:
                if self._pool is None or self._pid != os.getpid():
                    # Connections of the process that forked are not to be written to.
                    self._pool, self._pid = self._new_pool(), os.getpid()
        return self._pool

    def _new_pool(self) -> urllib3.HTTPConnectionPool:
        if self._tls is None:
            pool = urllib3.HTTPConnectionPool(self._host, self._port, maxsize=CONNECTIONS_MAX, block=True)
            pool.ConnectionCls = Connection
            return pool
        secure = urllib3.HTTPSConnectionPool(
            self._host, self._port, maxsize=CONNECTIONS_MAX, block=True, ssl_context=self._tls
        )
        secure.ConnectionCls = TlsConnection
        return secure


def _tls(arguments: ServerArguments) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=arguments["ca"])
        if (pair := arguments["client_cert"]) is not None:
            context.load_cert_chain(*pair)
    except (OSError, ssl.SSLError) as error:
        raise InvalidError(f"ca={arguments['ca']!r}, client_cert={arguments['client_cert']!r}: {error}") from error
    return context
