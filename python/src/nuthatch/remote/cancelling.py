"""Cancelling a request that waits for its answer: its connection is cut, so that the server ends its work, too.

Invariant: a connection is cut only while it waits for the head of the answer to the request that is cancelled, never later, when
another request may have it.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.response import HTTPResponse

from ..errors import UnavailableError


class Cancellable:
    """A request that may be cancelled by another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_cancelled = False
        self._waiting: HTTPConnection | None = None

    def cancel(self) -> None:
        """Ends it, at once or before it begins."""
        with self._lock:
            self._is_cancelled = True
            sock = None if self._waiting is None else self._waiting.sock
            if sock is not None:
                with contextlib.suppress(OSError):  # the server has hung up already
                    # Of the socket itself: TLS would have the last word with a server that is busy.
                    socket.socket.shutdown(sock, socket.SHUT_RDWR)

    def check(self) -> None:
        """Raises UnavailableError once it is cancelled."""
        if self._is_cancelled:
            raise UnavailableError("the search was cancelled")

    @contextlib.contextmanager
    def waiting(self, connection: HTTPConnection) -> Iterator[None]:
        """While the head of the answer is waited for."""
        with self._lock:
            self.check()
            self._waiting = connection
        try:
            yield
        finally:
            with self._lock:
                self._waiting = None


#: The request of this thread that may be cancelled, if it is one.
_asking = threading.local()


@contextlib.contextmanager
def asking(request: Cancellable | None) -> Iterator[None]:
    """Requests of this thread belong to this call until the block ends."""
    _asking.request = request
    try:
        yield
    finally:
        _asking.request = None


@contextlib.contextmanager
def _waiting(connection: HTTPConnection) -> Iterator[None]:
    request: Cancellable | None = getattr(_asking, "request", None)
    with contextlib.nullcontext() if request is None else request.waiting(connection):
        yield


class Connection(HTTPConnection):
    """A connection whose waiting can be ended."""

    def getresponse(self) -> HTTPResponse:  # type: ignore[override]
        """As any connection's, but may be cut."""
        with _waiting(self):
            return super().getresponse()


class TlsConnection(HTTPSConnection):
    """The same with TLS."""

    def getresponse(self) -> HTTPResponse:  # type: ignore[override]
        """As any connection's, but may be cut."""
        with _waiting(self):
            return super().getresponse()
