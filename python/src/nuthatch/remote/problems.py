"""Error answers, as the exceptions that the engine in this process raises."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from ..errors import ForbiddenError, InvalidError, NuthatchError, UnavailableError, from_engine

PROBLEM = "application/problem+json"

#: The server's own refusals: their remedy is not in their sentence.
_OF_THE_SERVER = (401, 403, 405, 408, 413, 415, 429)


def problem(url: str, status: int, media_type: str | None, body: bytes) -> NuthatchError:
    """The error of an answer's kind."""
    try:
        is_ours = (media_type or "").partition(";")[0].strip() == PROBLEM
        said: dict[str, Any] = json.loads(body) if is_ours else {}
        kind, detail, remedy = said["kind"], said["detail"], said["remedy"]
    except (ValueError, KeyError):
        # A proxy, or another program.
        return UnavailableError(
            f"{url} answered {status} with {media_type or 'nothing'}, as no Nuthatch server does; check the address"
        )
    if status in _OF_THE_SERVER:
        detail = f"{detail}; {remedy}"
    if status in (401, 403):
        return ForbiddenError(detail)
    subject = said.get("subject") or {}
    return from_engine(kind, detail, None, subject.get("what"), subject.get("name"))


def not_over_http(what: str, remedy: str) -> NoReturn:
    """Raises the error for a feature that a server does not offer."""
    raise InvalidError(f"{what} is not available over HTTP; {remedy}")
