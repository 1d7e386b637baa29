"""The caller, the tenant whose data it uses, and the addresses of requests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from ..errors import ExhaustedError, InvalidError, NotFoundError
from .moments import Moments
from .wire import Answer, Wire

if TYPE_CHECKING:
    from .. import _core

JSON = "application/json"
OCTETS = "application/octet-stream"
#: Ending a snapshot waits no longer for a server that does not answer.
_END_SECONDS_MAX = 5.0


class Caller:
    """A caller, and the owner of the data. Cheap; callers of one server share its connections."""

    def __init__(
        self,
        wire: Wire,
        tenant: str | None,
        body_bytes_max: int | None = None,
        moments: Moments | None = None,
        *,
        may_read: bool = True,
    ) -> None:
        self.wire = wire
        self.tenant = tenant
        self.body_bytes_max = body_bytes_max
        #: Whether the key allows reading. Without that, an opened object is not checked before the first write.
        self.may_read = may_read
        self.moments: Moments = Moments() if moments is None else moments
        self.headers: dict[str, str] = {} if tenant is None else {"x-nuthatch-tenant": quote(tenant, safe="")}

    def introduced(self) -> Caller:
        """This caller, completed by the server's answer about it."""
        me = self.me()
        may_read = not {"read", "admin"}.isdisjoint(me.get("scopes", ("read",)))
        return Caller(self.wire, me["tenant"], me["body_bytes_max"], self.moments, may_read=may_read)

    def me(self) -> dict[str, Any]:
        """The caller's tenant, its key's rights, and the tenant's limits and usage."""
        found: dict[str, Any] = self.read("GET", "/v1/caller")
        return found

    def of(self, tenant: str) -> Caller:
        """The same about a tenant's data."""
        return Caller(self.wire, tenant, self.body_bytes_max, self.moments, may_read=self.may_read)

    def read(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        timeout_seconds: float | None = None,
        cancel: _core.CancelFlag | None = None,
    ) -> Any:
        """Asks for something that changes nothing."""
        return self.ask(method, path, body, is_read=True, timeout_seconds=timeout_seconds, cancel=cancel).json()

    def write(self, method: str, path: str, body: object = None) -> Any:
        """Changes something; the document that says what."""
        return self.ask(method, path, body).json()

    def write_long(self, method: str, path: str, body: object = None) -> Any:
        """The same for calls that may take minutes: there is no time limit."""
        return self.ask(method, path, body, is_long=True).json()

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        media_type: str = JSON,
        headers: Mapping[str, str] | None = None,
        is_read: bool = False,
        is_long: bool = False,
        is_streamed: bool = False,
        timeout_seconds: float | None = None,
        cancel: _core.CancelFlag | None = None,
    ) -> Answer:
        """One request. ``body``: bytes as they are, anything else as JSON. ``timeout_seconds`` is sent to the server:
        the answer has at least that time. ``is_streamed``: the server takes a body of any size."""
        sent = body if body is None or isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
        bytes_max = None if is_streamed else self.body_bytes_max
        if sent is not None and bytes_max is not None and len(sent) > bytes_max:
            raise ExhaustedError(
                f"a request of {_mib(len(sent))}, and the server takes {_mib(bytes_max)} at a time; split it"
            )
        own = self.headers if headers is None else {**self.headers, **headers}
        given = own if sent is None else {**own, "content-type": media_type}
        timeout = self.wire.timeout_seconds if timeout_seconds is None else self.wire.timeout_seconds + timeout_seconds
        return self.wire.ask(
            method,
            path,
            body=sent,
            headers=given,
            is_read=is_read,
            timeout_seconds=None if is_long else timeout,
            cancel=cancel,
        )

    def end_snapshot(self, taken: str) -> None:
        """Ends a snapshot of this caller, if it has not ended."""
        timeout = min(self.wire.timeout_seconds, _END_SECONDS_MAX)
        place = address("snapshots", taken)
        try:
            self.wire.ask("DELETE", place, body=None, headers=self.headers, is_read=True, timeout_seconds=timeout)
        except NotFoundError:
            return  # too old, or of a server that has restarted


def address(*parts: str | bytes, **parameters: object) -> str:
    """``/v1/…`` of percent-encoded parts; parameters that are None are left out.

    >>> address("collections", "a/b", "records", limit=5, cursor=None)
    '/v1/collections/a%2Fb/records?limit=5'
    """
    try:
        path = "/v1/" + "/".join(_segment(part) for part in parts)
        given = {name: _parameter(value) for name, value in parameters.items() if value is not None}
        return f"{path}?{urlencode(given)}" if given else path
    except UnicodeEncodeError as error:
        raise InvalidError(f"{error.object!r} has lone surrogates, which are not valid Unicode") from None


def _segment(part: str | bytes) -> str:
    if not part:
        raise InvalidError(f"{part!r} is not a valid name; give one of 1 to 200 bytes")
    # Whole segments of dots are taken for steps up and down by what is between.
    return quote(part, safe="") if part not in (".", "..", b".", b"..") else "%2E" * len(part)


def _parameter(value: object) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _mib(size: int) -> str:
    return f"{size / (1 << 20):.4g} MiB"
