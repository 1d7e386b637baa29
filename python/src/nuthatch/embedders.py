"""Embedders turn texts into vectors.

A collection takes ``embedder="default"`` (the built-in model, offline), ``embedder="static"`` (an
installed model that is much faster and weaker), ``embedder="none"`` (you bring the vectors), an
endpoint (``openai``), or a Python function (``function``). The collection stores which one made its
vectors, and refuses another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

from ._core import Embedder
from .errors import InvalidError
from .vectors import Vectors, column

__all__ = ["Embedder", "EmbedderLike", "NamedCallable", "function", "openai"]


@runtime_checkable
class NamedCallable(Protocol):
    """A callable with a name and a dimension, which you may pass as ``embedder=`` directly."""

    @property
    def name(self) -> str: ...
    @property
    def dim(self) -> int: ...
    def __call__(self, texts: list[str], /) -> Any: ...


EmbedderLike: TypeAlias = "Embedder | NamedCallable | str"
"""``"default"``, ``"static"``, ``"none"``, an embedder of this module, or a callable with ``name`` and ``dim``."""


def openai(
    base_url: str,
    model: str,
    api_key: str | None = None,
    dim: int | None = None,
    *,
    timeout: float = 120.0,
    batch: int = 64,
    retries: int = 4,
    passage_prefix: str = "",
    query_prefix: str = "",
) -> Embedder:
    """Uses any endpoint that speaks ``POST {base_url}/embeddings`` (Ollama, vLLM, llama.cpp, hosted
    services).

    ``api_key`` is sent as a bearer token; by default the environment variable
    ``NUTHATCH_EMBED_API_KEY``. Without ``dim``, this call asks the endpoint once. ``timeout`` is in
    seconds, per request; ``batch`` is the number of texts per request. ``retries`` limits the
    retries after time-outs, broken connections, 408, 429 and 5xx, with growing pauses. The prefixes
    are put before each text (the E5 family needs ``"passage: "`` and ``"query: "``).

    Raises InvalidError for an option that cannot work, UnavailableError when the endpoint does not
    answer.
    """
    return Embedder.openai(base_url, model, api_key, dim, timeout, batch, retries, passage_prefix, query_prefix)


def function(fn: Callable[[list[str]], Vectors], *, name: str, dim: int) -> Embedder:
    """Uses a Python function from a list of texts to as many vectors (a numpy matrix, or a list of
    lists).

    ``name`` identifies the mapping: choose another name when the vectors of the same text change.
    An exception of the function becomes the cause (``__cause__``) of the UnavailableError that the
    caller sees; ``search_many``, whose threads are the engine's, only includes its text in the
    message. The engine calls the function from the threads that add or search, possibly from
    several at once.

    >>> import nuthatch
    >>> lengths = nuthatch.embedders.function(lambda texts: [[len(t), 1.0] for t in texts], name="lengths", dim=2)
    >>> with nuthatch.connect(":memory:") as db:
    ...     notes = db.collection("notes", embedder=lengths, metric="l2")
    ...     _ = notes.upsert([{"id": "short", "text": "a"}, {"id": "long", "text": "a much longer one"}])
    ...     notes.search("of some length", mode="vector", limit=1)[0].id
    'long'
    """
    if not callable(fn):
        raise InvalidError(f"an embedder's function is callable, not of type {type(fn).__name__}")

    def as_bytes(texts: list[str]) -> Sequence[bytes]:
        rows = column(fn(texts), len(texts))
        if isinstance(rows, tuple):
            matrix, length = rows
            return [matrix[at * length * 4 : (at + 1) * length * 4] for at in range(len(texts))]
        if missing := [at for at, row in enumerate(rows) if row is None]:
            raise InvalidError(f"embedder {name!r} gave None for text {missing[0]}; it must give a vector for each")
        return [row for row in rows if row is not None]

    return Embedder.function(as_bytes, name, dim)


def resolve(embedder: EmbedderLike | None) -> Embedder | str | None:
    """The value of ``embedder=``, as the extension module takes it."""
    if embedder is None or isinstance(embedder, (Embedder, str)):
        return embedder
    if isinstance(embedder, NamedCallable):
        return function(embedder, name=embedder.name, dim=embedder.dim)
    if callable(embedder):
        raise InvalidError(
            "a function has no name and dimension to store; wrap it: nuthatch.embedders.function(fn, name=..., dim=...)"
        )
    raise InvalidError(
        f'embedder is of type {type(embedder).__name__}; give "default", "static", "none", or what nuthatch.embedders makes'
    )
