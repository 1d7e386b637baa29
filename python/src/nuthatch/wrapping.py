"""``wrap``: an official client of language models that asks a cache first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from .cache import Cache

if TYPE_CHECKING:
    from .integrations.questions import Embed, FindQuestion

Client = TypeVar("Client")


def wrap(
    client: Client,
    cache: Cache,
    *,
    scope: Mapping[str, str] | Callable[[Mapping[str, Any]], Mapping[str, str]] | None = None,
    embed: Embed | None = None,
    question: FindQuestion | None = None,
    skip: Callable[[Mapping[str, Any]], bool] | None = None,
    ttl: timedelta | float | None = None,
    tags: Sequence[str] = (),
    tool_calls: bool = False,
    media: bool = False,
) -> Client:
    """Returns a client like ``client``, of ``openai`` or ``anthropic``, that asks a cache first.

    ``chat.completions``, ``responses`` with ``store=False`` and ``messages`` are answered: ``create``, ``parse`` and
    ``stream``, awaited too. The last text of the user is the question; everything else that changes an answer is the scope.
    With tools, several parts in the user's message, or a field that is not known, only the very same request is answered.
    Requests for several answers, for logprobs, with a temperature above 1, with tools of the provider or with media go to
    the model; everything else passes untouched.

    ``scope`` are further parts of each scope, or a function of the request, such as ``lambda request: {"user": request["user"]}``.
    ``embed`` makes the vector of a question; without it the cache embeds by itself. ``question`` finds the question inside
    a text, such as between marks; None: the very same text is wanted. ``skip`` says which requests go to the model. ``ttl``, in
    seconds, and ``tags`` are those of ``Cache.store``. ``tool_calls=True`` also stores answers that call tools, ``media=True``
    answers requests with images or files; both for the very same request only.

    Not stored are answers that are cut off, filtered, refused, empty, or broken JSON where JSON was asked for. Closing the
    client closes the given one.
    """
    from .integrations.clients import Allowed, Questions, Rules, through

    fixed = None if callable(scope) else scope
    rules = Rules(
        Questions(cache, scope=fixed, embed=embed, question=question, ttl=ttl, tags=tags),
        Allowed(tool_calls=tool_calls, media=media),
        scope if callable(scope) else None,
        skip,
    )
    return through(client, rules)
