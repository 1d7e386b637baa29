"""Requests and answers: kept connections, time limits and retries.

Retried, with growing pauses, within the request's time: requests that the server refused before it began (429 or 503
with ``Retry-After``); requests that were never sent because no connection was made; and reads whose connection broke.
"""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections.abc import Mapping
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, TypedDict
from urllib.parse import urlsplit

from .. import _core
from ..errors import ClosedError, InvalidError, NuthatchError, UnavailableError
from .problems import PROBLEM, problem

#: Connections kept and used at the same time; more callers wait for one.
CONNECTIONS_MAX = 32
TIMEOUT_DEFAULT_SECONDS = 60.0
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
    url: str
    body: bytes | None
    headers: list[tuple[str, str]]
    is_read: bool
    cancel: _core.CancelFlag | None


class Wire:
    """Connections to one server. Safe to share between threads, and usable after a fork."""

    def __init__(self, url: str, arguments: ServerArguments) -> None:
        parts = urlsplit(url)
        try:
            _ = parts.port
        except ValueError:
            raise InvalidError(f"path={url!r} has an invalid port") from None
        if not parts.hostname or parts.query or parts.fragment or parts.username or parts.password:
            raise InvalidError(f"path={url!r} is not a server address; write for example http://127.0.0.1:7700")
        is_tls = parts.scheme == "https"
        self.url: str = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        if not is_tls and (arguments["ca"] or arguments["client_cert"]):
            raise InvalidError(f"ca and client_cert are for https, and path={url!r} is not")
        self.timeout_seconds: float = arguments["timeout_seconds"] or TIMEOUT_DEFAULT_SECONDS
        self._headers: list[tuple[str, str]] = []
        if (key := arguments["api_key"]) is not None:
            if not key or not key.isascii() or not key.isprintable():
                raise InvalidError("invalid api_key; give the key that `nuthatch key create` printed")
            self._headers.append(("authorization", f"Bearer {key}"))
        self._tls = (is_tls, arguments["ca"], arguments["client_cert"])
        self._making = threading.Lock()
        self._connections = _Connections(*self._tls)
        self._is_closed = False

    def close(self) -> None:
        """Ends the connections and refuses later requests."""
        self._is_closed = True
        if (connections := self._connections).pid == os.getpid():
            connections.client.close()

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
        sent = [*self._headers, *headers.items()]
        question = _Question(method, self.url + target, body, sent, is_read, cancel)
        deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        pause = _PAUSE_SECONDS
        for tries_left in reversed(range(_TRIES_MAX)):
            self.check_open()
            found = self._once(question, deadline)
            if isinstance(found, Answer):
                return found
            error, is_safe, wanted_pause = found
            wait = max(wanted_pause, pause * (0.5 + random.random()))
            is_late = deadline is not None and time.monotonic() + wait >= deadline
            if not tries_left or is_late or not (is_safe or (question.is_read and _has_broken(error))):
                raise error
            time.sleep(wait)
            pause *= 2
        raise AssertionError("the last try returns or raises")

    def _once(self, question: _Question, deadline: float | None) -> Answer | tuple[NuthatchError, bool, float]:
        """The answer; or the error, whether a retry is safe, and after which time."""
        if question.cancel is not None and question.cancel.is_set():
            raise UnavailableError("the search was cancelled")
        connections = self._of_this_process()
        try:
            connections.free.get(timeout=_left(deadline))
        except Empty:
            all_in_use = f"all {CONNECTIONS_MAX} connections to {self.url} are in use; ask less at a time"
            return UnavailableError(all_in_use), True, 0.0
        left = _left(deadline)
        try:
            status, media_type, retry_after, body = connections.client.ask(
                question.method, question.url, question.headers, question.body, left, question.cancel
            )
        except _core.HttpFault as fault:
            made, was_sent = self._broken(fault, left, question.is_read)
            made.__cause__ = fault
            return made, not was_sent, 0.0
        finally:
            connections.free.put(None)
        if status < 300:
            return Answer(self.url, body)
        made = problem(self.url, status, media_type, body)
        # Our server says so only before it has begun; the same answer from a proxy does not count.
        wait = retry_after or ""
        is_refused = status in (429, 503) and wait.isdigit() and (media_type or "").startswith(PROBLEM)
        return made, is_refused, min(float(wait), _PAUSE_SECONDS_MAX) if is_refused else 0.0

    def _broken(self, fault: _core.HttpFault, left: float | None, is_read: bool) -> tuple[NuthatchError, bool]:
        """The error for a request without an answer, and whether it may have been sent."""
        kind, what = fault.args
        if kind == "cancelled":
            raise UnavailableError("the search was cancelled")
        if kind == "tls":
            return UnavailableError(
                f"{self.url}: {what}; if the server's certificate is signed by an authority of your own, name it with ca="
            ), False
        if kind == "connect":
            return UnavailableError(f"no server at {self.url}: {what}; is it running, and is the address right?"), False
        if kind == "connect_timeout":
            return UnavailableError(f"no connection to {self.url} within its time; is the address right?"), False
        doubt = "" if is_read else "; the call may have been done, or may still be: check before you try again"
        if kind == "timeout":
            remedy = "give connect a longer timeout, or ask for less"
            return UnavailableError(f"{self.url} did not answer within {left or 0:.1f} s{doubt}; {remedy}"), True
        return UnavailableError(f"{self.url} broke off: {what}{doubt}"), True

    def _of_this_process(self) -> _Connections:
        if self._connections.pid != os.getpid():
            with self._making:
                if self._connections.pid != os.getpid():
                    # Connections of the process that forked are not to be written to.
                    self._connections = _Connections(*self._tls)
        return self._connections


class _Connections:
    """Those of one process."""

    def __init__(self, is_tls: bool, ca: str | None, client_cert: tuple[str, str | None] | None) -> None:
        self.pid = os.getpid()
        #: One token for each connection that may be used. A semaphore of Python's takes ten times as long.
        self.free: SimpleQueue[None] = SimpleQueue()
        for _ in range(CONNECTIONS_MAX):
            self.free.put(None)
        try:
            self.client = _core.HttpClient(CONNECTIONS_MAX, is_tls, ca, client_cert)
        except (OSError, ValueError) as error:
            raise InvalidError(f"ca={ca!r}, client_cert={client_cert!r}: {error}") from error


def _left(deadline: float | None) -> float | None:
    return None if deadline is None else max(deadline - time.monotonic(), 0.001)


def _has_broken(error: NuthatchError) -> bool:
    fault = error.__cause__
    return isinstance(fault, _core.HttpFault) and fault.args[0] == "broken"
