"""Gives an official client whose requests go through a cache."""

from __future__ import annotations

import importlib
from typing import Any, TypeVar

from ...errors import InvalidError
from . import transport
from .exchange import Rules

Client = TypeVar("Client")


def through(client: Client, rules: Rules) -> Client:
    """A client of the same class, with the settings of ``client``. What the cache does not answer, ``client`` sends."""
    inner = getattr(client, "_client", None)
    http = _http(inner)
    if http is None or not hasattr(client, "copy"):
        raise InvalidError(f"{client!r} is no client of openai or anthropic; give one, such as openai.OpenAI()")
    make = transport.awaited if isinstance(inner, http.AsyncClient) else transport.waiting
    wrapped: Client = client.copy(http_client=make(http, rules, inner))
    return wrapped


def _http(inner: object) -> Any:
    """The library that a client makes its requests with."""
    for kind in type(inner).__mro__:
        name = kind.__module__.partition(".")[0]
        if kind.__name__ in ("Client", "AsyncClient") and name.startswith("httpx"):
            return importlib.import_module(name)
    return None
