"""A search from the callers' arguments, checked, as the engine takes it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypedDict

from . import arguments
from . import vectors as _vectors
from .errors import InvalidError
from .results import CURSOR

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from . import _core

Mode: TypeAlias = Literal["hybrid", "text", "vector"]
Fusion: TypeAlias = Literal["rrf", "weighted", "normalised"]


class Further(TypedDict, total=False):
    """Fields of a search that ``search`` passes on as they are."""

    #: ``Results.facets`` reports their ten most frequent values, among all records that pass ``where``, hits or not.
    facets: Sequence[str]
    #: Of records that share a value of this field, only the best is a hit; records without a value are one group.
    group_by: str | None
    #: Records with a worse score are not hits: a lower score, or a greater distance where the score is a distance.
    score_threshold: float | None
    #: Deprecated: the old name of ``ef``.
    effort: int | None


class Query(NamedTuple):
    """A search as the extension module takes it: a tuple, because it is looked into at every search."""

    text: Any
    vector: bytes | None
    vectors: dict[str, bytes] | None
    timeout_seconds: float | None
    cancel: _core.CancelFlag | None
    where: str | None
    limit: int
    offset: int
    recall: float | None
    ef: int | None
    exact: bool
    #: text, payload, vector
    include: tuple[bool, bool, bool]
    explain: bool
    #: A JSON object with what else differs from the defaults; None when nothing does.
    fields: str | None


def query(
    *,
    limit: int,
    offset: int,
    where: str | None,
    mode: Mode | None,
    fusion: Fusion,
    weights: Mapping[str, float] | Sequence[float] | None,
    include: Sequence[str],
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
) -> Query:
    """One search, or the common part of several."""
    if "effort" in further:
        old = further.pop("effort")
        if ef is not None:
            raise InvalidError("search got ef and effort, its old name; give ef alone")
        warnings.warn("effort= is now ef=; the old name goes with the next version", DeprecationWarning, stacklevel=3)
        ef = old
    fields = None
    if like is not None or using is not None or mode is not None or fusion != "rrf" or weights is not None or further:
        fields = _fields(like, using, mode, fusion, weights, further)
    if recall is not None or ef is not None or exact is not False:
        recall, ef, exact = arguments.accuracy(recall, ef, exact)
        _check_finite("recall", recall)
    return Query(
        text,
        None if vector is None else _vectors.vector_bytes(vector, "vector"),
        None if vectors is None else _vectors.by_field(vectors, "vectors"),
        None if timeout is None else arguments.seconds("timeout", timeout),
        cancel,
        None if where is None else arguments.text("where", where),
        arguments.whole("limit", limit),
        _offset(offset, cursor) if offset or cursor is not None else 0,
        recall,
        ef,
        exact,
        arguments.include(include),
        bool(explain),
        fields,
    )


def _fields(
    like: str | None,
    using: str | None,
    mode: Mode | None,
    fusion: Fusion,
    weights: Mapping[str, float] | Sequence[float] | None,
    further: Further,
) -> str:
    """What is given; the engine knows what the others are by default."""
    fields: dict[str, Any] = {}
    if like is not None:
        fields["like"] = arguments.text("like", like)
    if using is not None:
        fields["using"] = arguments.text("using", using)
    if mode is not None:
        fields["mode"] = arguments.text("mode", mode)
    if fusion != "rrf":
        fields["fusion"] = arguments.text("fusion", fusion)
    if weights is not None:
        fields["text_weight"], fields["vector_weight"] = arguments.weights(weights)
    for name, wish in further.items():
        if name not in Further.__annotations__:
            raise TypeError(f"search() got an unexpected keyword argument {name!r}")
        fields[name] = wish
    for name, value in fields.items():
        _check_finite(name, value)
    return _json(fields)


def _check_finite(name: str, value: object) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidError(f"{name} is {value}; weights, shares and scores are finite numbers")


def ids_query(
    *,
    using: str | None,
    limit: int,
    where: str | None,
    recall: float | None,
    ef: int | None,
    exact: bool,
    timeout: float | None,
    cancel: _core.CancelFlag | None = None,
) -> Query:
    """What several searches by vectors have in common whose hits are their ids and scores."""
    return query(
        using=using,
        limit=limit,
        offset=0,
        where=where,
        mode=None,
        fusion="rrf",
        weights=None,
        include=(),
        recall=recall,
        ef=ef,
        exact=exact,
        timeout=timeout,
        cancel=cancel,
    )


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


def _offset(offset: int, cursor: str | None) -> int:
    found = arguments.whole("offset", offset)
    if cursor is None:
        return found
    if found:
        raise InvalidError("search takes offset or cursor, not both")
    digits = arguments.text("cursor", cursor).removeprefix(CURSOR)
    if digits == cursor or not (digits.isascii() and digits.isdigit()):
        raise InvalidError(f"cursor={cursor!r} is not a cursor; use Results.cursor of the previous page")
    return int(digits)
