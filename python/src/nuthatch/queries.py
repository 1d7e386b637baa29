"""A search from the callers' arguments, checked, as the engine takes it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from . import arguments
from . import vectors as _vectors
from ._core import CURSOR
from .errors import InvalidError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from . import _core

Mode: TypeAlias = Literal["hybrid", "text", "vector"]
Fusion: TypeAlias = Literal["rrf", "weighted", "normalised"]


class Rerank(TypedDict, total=False):
    """How ``search`` reranks its best hits: late interaction (MaxSim)."""

    #: The field of token vectors. Required.
    using: str
    #: Of the query, a vector for each of its tokens: shape ``(tokens, dim)``. Required.
    tokens: _vectors.Vectors
    #: How many of the best hits are compared; default 100, at least ``limit + offset``.
    candidates: int


class Further(TypedDict, total=False):
    """Fields of a search that ``search`` passes on as they are."""

    #: ``Results.facets`` reports their ten most frequent values, among all records that pass ``where``, hits or not.
    facets: Sequence[str]
    #: Of records that share a value of this field, only the best is a hit; records without a value are one group.
    group_by: str | None
    #: Only records whose text has the words of each of these phrases one after another, in any case.
    phrases: Sequence[str]
    #: The text leg also finds words that differ by a letter or two from those of the text; they count less.
    fuzzy: bool
    #: The last word of the text is the beginning of a word, unless something stands behind it.
    prefix: bool
    #: Records with a worse score are not hits: a lower score, or a greater distance where the score is a distance.
    score_threshold: float | None
    #: The best hits are reranked by a field of token vectors; their scores are those of that comparison.
    rerank: Rerank | None
    #: Deprecated: the old name of ``ef``.
    effort: int | None


# One quoted line, which type checkers read; a text in pieces they do not.
Asked: TypeAlias = "tuple[str | None, object, str | None, str | None, object, int, int, str | None, str | None, Mode | None, Fusion, Mapping[str, float] | Sequence[float] | None, Sequence[str], bool, float | None, int | None, bool, float | None, _core.CancelFlag | None, Further]"  # noqa: E501
"""The arguments of a search as they were given, which the extension module checks: text, vector, like, using, vectors;
limit, offset, cursor, where; mode, fusion, weights, include, explain; recall, ef, exact, timeout, cancel, further.
"""


def asked(
    *,
    limit: int,
    offset: int = 0,
    where: str | None,
    mode: Mode | None = None,
    fusion: Fusion = "rrf",
    weights: Mapping[str, float] | Sequence[float] | None = None,
    include: Sequence[str] = (),
    recall: float | None,
    ef: int | None,
    exact: bool,
    timeout: float | None,
    explain: bool = False,
    cancel: _core.CancelFlag | None = None,
    text: str | None = None,
    vector: object = None,
    like: str | None = None,
    using: str | None = None,
    vectors: object = None,
    cursor: str | None = None,
    **further: Unpack[Further],
) -> Asked:
    """One search, or the common part of several."""
    if "effort" in further:
        ef = renamed(further, ef, stacklevel=4)
    return (
        text,
        vector,
        like,
        using,
        vectors,
        limit,
        offset,
        cursor,
        where,
        mode,
        fusion,
        weights,
        include,
        explain,
        recall,
        ef,
        exact,
        timeout,
        cancel,
        further,
    )


def cancel_of(asked: Asked) -> _core.CancelFlag | None:
    """The flag that ends the search."""
    *_, cancel, _further = asked
    return cancel


def renamed(further: Further, ef: int | None, *, stacklevel: int = 3) -> int | None:
    """``ef`` as its old name gives it."""
    old = further.pop("effort")
    if ef is not None:
        raise InvalidError("search got ef and effort, its old name; give ef alone")
    warnings.warn(
        "effort= is now ef=; the old name goes with the next version", DeprecationWarning, stacklevel=stacklevel
    )
    return old


def accuracy(recall: object, ef: object, exact: object) -> tuple[float | None, int | None, bool]:
    """How well the vector leg looks."""
    found = arguments.accuracy(recall, ef, exact)
    _check_finite("recall", found[0])
    return found


def fields(
    like: str | None,
    using: str | None,
    mode: Mode | None,
    fusion: Fusion,
    weights: Mapping[str, float] | Sequence[float] | None,
    further: Further,
) -> str:
    """The given options, as a JSON object; the engine knows the defaults of the others."""
    given: dict[str, Any] = {}
    if like is not None:
        given["like"] = arguments.text("like", like)
    if using is not None:
        given["using"] = arguments.text("using", using)
    if mode is not None:
        given["mode"] = arguments.text("mode", mode)
    if fusion != "rrf":
        given["fusion"] = arguments.text("fusion", fusion)
    if weights is not None:
        given["text_weight"], given["vector_weight"] = arguments.weights(weights)
    for name, wish in further.items():
        if name not in Further.__annotations__:
            raise TypeError(f"search() got an unexpected keyword argument {name!r}")
        given[name] = _rerank(wish) if name == "rerank" and wish is not None else wish
    for name, value in given.items():
        _check_finite(name, value)
    return _json(given)


def _rerank(wish: object) -> dict[str, Any]:
    """With the tokens' vectors in base64."""
    from base64 import b64encode

    if not isinstance(wish, Mapping):
        raise InvalidError(f"rerank is of type {type(wish).__name__}; give a dict with 'using' and 'tokens'")
    given = dict(wish)
    if "tokens" in given:
        parts = _vectors.value_parts(given["tokens"], "rerank: tokens")
        if isinstance(parts, bytes) or isinstance(parts[1], bytes):
            raise InvalidError("rerank: tokens is no matrix; give a vector for each token of the query")
        components, dim = parts[0], parts[1]
        rows = range(0, len(components), dim * 4)
        given["tokens"] = [b64encode(components[at : at + dim * 4]).decode() for at in rows]
    return given


def _check_finite(name: str, value: object) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidError(f"{name} is {value}; weights, shares and scores are finite numbers")


def _json(fields: dict[str, Any]) -> str:
    import json

    try:
        return json.dumps(fields)
    except TypeError as error:
        raise InvalidError(f"a field of the search is no JSON: {error}") from None


def several(texts: object, vectors: object) -> tuple[int, list[Any] | None, _vectors.VectorColumn | None]:
    """The number of searches in ``texts`` and ``vectors``, and both as the engine takes them."""
    if texts is None and vectors is None:
        raise InvalidError("search_many needs texts=, vectors=, or both")
    words = None
    if texts is not None:
        if isinstance(texts, (str, bytes, Mapping)) or not isinstance(texts, Iterable):
            raise InvalidError(f"texts is of type {type(texts).__name__}; give a list of strings")
        words = list(texts)
    if vectors is None:
        return len(words or ()), words, None
    if words is not None:
        return len(words), words, _vectors.column(vectors, len(words), "texts")
    rows = _vectors.rows_of(vectors)
    if isinstance(rows, list) and None in rows:
        raise InvalidError(f"vector {rows.index(None)} is None; omit it, or give texts= to search with in its place")
    return _vectors.rows_in(rows), None, rows


def offset_of(offset: int, cursor: str) -> int:
    """The offset of the page that a cursor is of."""
    found = arguments.whole("offset", offset)
    if found:
        raise InvalidError("search takes offset or cursor, not both")
    digits = arguments.text("cursor", cursor).removeprefix(CURSOR)
    if digits == cursor or not (digits.isascii() and digits.isdigit()):
        raise InvalidError(f"cursor={cursor!r} is not a cursor; use Results.cursor of the previous page")
    return int(digits)
