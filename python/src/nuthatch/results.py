"""The answer of a search."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import FrozenInstanceError, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar, cast, final, overload

from . import _core

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from .vectors import ReadValue

T = TypeVar("T")

#: What a dataclass has besides its values, as far as it works on another class.
_OF_DATACLASS = (
    *("__annotations__", "__dataclass_fields__", "__dataclass_params__", "__doc__", "__eq__", "__hash__"),
    *("__match_args__", "__replace__", "__repr__", "to_dict"),
)
_OF_RESULTS = (
    *("__annotations__", "__contains__", "__doc__", "__reduce__", "__repr__", "__reversed__"),
    *("count", "index", "to_arrow", "to_dicts", "to_pandas"),
)


def _in_rust(made: Any, names: Iterable[str]) -> Callable[[type[T]], type[T]]:
    """Puts a class of the extension module, which has the values, in the place of the class that describes it."""

    def completed(described: type[T]) -> type[T]:
        for name in names:
            if hasattr(described, name):
                setattr(made, name, getattr(described, name))
        made.__name__ = described.__name__  # messages about attributes then name it without its module
        return cast("type[T]", made)

    return completed


def _frozen(made: Any) -> Callable[[type[T]], type[T]]:
    """As ``_in_rust``, of a frozen dataclass."""
    made.__setattr__, made.__delattr__, made.__reduce__ = _not_set, _not_deleted, _reduced
    return _in_rust(made, _OF_DATACLASS)


def _not_set(self: object, name: str, value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _not_deleted(self: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _reduced(self: Any) -> tuple[Any, ...]:
    return type(self), tuple(getattr(self, name) for name in self.__match_args__)


@final
@_frozen(_core.Leg)
@dataclass(frozen=True)
class Leg:
    """A hit's rank and score in one leg of a search."""

    #: From 1.
    rank: int
    #: BM25 in the text leg. In the vector leg the cosine or dot product, or (lower is better) the Euclidean distance or the
    #: number of components that differ.
    score: float


@final
@_frozen(_core.Legs)
@dataclass(frozen=True)
class Legs:
    """A hit's rank and score in each leg that found it."""

    text: Leg | None = None
    #: Of ``vector``, ``like``, or the embedded text.
    vector: Leg | None = None
    #: Of ``vectors``, by field.
    vectors: dict[str, Leg] = field(default_factory=dict)
    #: Of ``rerank``.
    rerank: Leg | None = None


@final
@_frozen(_core.Hit)
@dataclass(frozen=True)
class Hit:
    """One hit of a search."""

    id: str
    #: The fused score where several legs were walked (higher is better), else the one leg's score.
    score: float
    text: str | None
    payload: dict[str, Any]
    legs: Legs
    #: Title and headings that the text stands under.
    context: str | None = None
    #: Only where it was asked for with ``include``.
    vector: list[float] | None = None
    #: Of named vector fields; likewise.
    vectors: dict[str, ReadValue] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """As a plain dict; ``legs`` becomes ``{"text": {"rank": …, "score": …}, "vector": None}``."""

        def plain(leg: Leg | None) -> dict[str, Any] | None:
            return None if leg is None else {"rank": leg.rank, "score": leg.score}

        legs: dict[str, Any] = {"text": plain(self.legs.text), "vector": plain(self.legs.vector)}
        if self.legs.vectors:
            legs["vectors"] = {name: plain(leg) for name, leg in self.legs.vectors.items()}
        if self.legs.rerank is not None:
            legs["rerank"] = plain(self.legs.rerank)
        parts: dict[str, Any] = {"id": self.id, "score": self.score, "text": self.text, "payload": self.payload}
        parts.update(legs=legs, context=self.context)
        if self.vector is not None:
            parts["vector"] = self.vector
        if self.vectors:
            parts["vectors"] = self.vectors
        return parts


@dataclass(frozen=True, slots=True)
class Facet:
    """The values of a field among the records that match."""

    #: Each value with its number of records, the most frequent first; equals ascend.
    values: list[tuple[Any, int]]
    #: The number of distinct values, in ``values`` or not.
    distinct: int
    #: Records without a value of the field.
    missing: int


class Pending(NamedTuple):
    """The progress of a collection whose vectors are still being made."""

    #: Records that have their vector.
    vectors: int
    #: Records that have one, or are to have one.
    records: int

    @property
    def percent(self) -> int:
        """Rounded down: 100 only when all are there."""
        return self.vectors * 100 // self.records


@final
@_in_rust(_core.Results, _OF_RESULTS)
class Results(Sequence[Hit]):
    """Hits, best first.

    ``cursor`` asks for the next page (None at the end). ``degraded`` says which indexes could not
    be used, one sentence each; the hits are correct either way. ``explain`` says how the search
    worked, and ``facets`` counts values of fields, if requested. ``pending`` says how many vectors
    are done while others are still to come (None when none is): a record without its vector is
    found by its words.
    """

    cursor: str | None
    degraded: list[str]
    explain: dict[str, Any] | None
    facets: dict[str, Facet]
    pending: Pending | None

    if TYPE_CHECKING:

        def __init__(
            self,
            hits: list[Hit],
            cursor: str | None = None,
            degraded: Sequence[str] = (),
            explain: dict[str, Any] | None = None,
            facets: dict[str, Facet] | None = None,
            pending: Pending | None = None,
        ) -> None: ...
        @overload
        def __getitem__(self, at: int) -> Hit: ...
        @overload
        def __getitem__(self, at: slice) -> list[Hit]: ...
        def __getitem__(self, at: int | slice) -> Hit | list[Hit]: ...
        def __len__(self) -> int: ...
        def __iter__(self) -> Iterator[Hit]: ...

    def __reduce__(self) -> tuple[Any, ...]:
        said = (self.cursor, self.degraded, self.explain, self.facets, self.pending)
        return type(self), (list(self), *said)

    def __repr__(self) -> str:
        degraded = ", degraded" if self.degraded else ""
        return f"Results({[hit.id for hit in self[:3]]!r}{'…' if len(self) > 3 else ''}, {len(self)} hits{degraded})"

    def to_dicts(self) -> list[dict[str, Any]]:
        """The hits as dicts."""
        return [hit.to_dict() for hit in self]

    def to_arrow(self) -> pyarrow.Table:
        """A table with id, score, text, each payload field as a column of its own, and the ranks and scores of the legs; those of
        named vector fields are ``vector.<field>_rank`` and so on.

        A payload field whose name is taken becomes ``payload.<name>``; one that holds several kinds becomes JSON text.
        Needs pyarrow.
        """
        import pyarrow

        table: dict[str, Any] = {
            "id": pyarrow.array([hit.id for hit in self], pyarrow.string()),
            "score": pyarrow.array([hit.score for hit in self], pyarrow.float32()),
            "text": pyarrow.array([hit.text for hit in self], pyarrow.string()),
        }
        legs_by_name: dict[str, list[Leg | None]] = {
            "text": [hit.legs.text for hit in self],
            "vector": [hit.legs.vector for hit in self],
        }
        for field_name in dict.fromkeys(name for hit in self for name in hit.legs.vectors):
            legs_by_name[f"vector.{field_name}"] = [hit.legs.vectors.get(field_name) for hit in self]
        for name, legs in legs_by_name.items():
            ranks = [None if leg is None else leg.rank for leg in legs]
            scores = [None if leg is None else leg.score for leg in legs]
            table[f"{name}_rank"] = pyarrow.array(ranks, pyarrow.int64())
            table[f"{name}_score"] = pyarrow.array(scores, pyarrow.float32())
        if any(hit.vector is not None for hit in self):
            table["vector"] = pyarrow.array([hit.vector for hit in self], pyarrow.list_(pyarrow.float32()))
        for name in dict.fromkeys(name for hit in self for name in hit.vectors):
            found = [hit.vectors.get(name) for hit in self]
            table[f"vector.{name}"] = pyarrow.array(found, pyarrow.list_(pyarrow.float32()))
        for name in dict.fromkeys(name for hit in self for name in hit.payload):
            values = [hit.payload.get(name) for hit in self]
            table[f"payload.{name}" if name in table else name] = _arrow_column(values)
        return pyarrow.table(table)

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame with the columns of ``to_arrow``. Needs pandas and pyarrow."""
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame


Sequence.register(Results)


def _arrow_column(values: list[Any]) -> pyarrow.Array:
    import pyarrow

    try:
        return pyarrow.array(values)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
        import json

        as_text = [None if value is None else json.dumps(value, default=str, ensure_ascii=False) for value in values]
        return pyarrow.array(as_text, pyarrow.string())


class DuplicatePair(NamedTuple):
    """Two records whose vectors are nearly the same, the one with the lower id first."""

    first: str
    second: str
    #: The cosine of their vectors.
    similarity: float


def facets(found: Iterable[Mapping[str, Any]]) -> dict[str, Facet]:
    """Facets by field, from JSON."""
    from .remote.values import moment

    def one(facet: Mapping[str, Any]) -> Facet:
        values = [
            (moment(each["value"]) if each.get("datetime") else each["value"], each["count"])
            for each in facet["values"]
        ]
        return Facet(values, facet["distinct"], facet["missing"])

    return {facet["field"]: one(facet) for facet in found}


def ids_and_scores(answers: list[Results], *, as_arrays: bool) -> tuple[Any, Any]:
    """The ids and the scores of the hits of several answers, as matrices or as lists; uses the answers up."""
    ids, scores = _core.ids_and_scores(answers)
    if not as_arrays:
        return ids, scores
    import numpy

    # A write between two of the searches may have left one of them fewer.
    width = max(map(len, ids), default=0)
    for some, of_some in zip(ids, scores, strict=True):
        some += [""] * (width - len(some))
        of_some += [math.nan] * (width - len(of_some))
    shape = (len(ids), width)
    return numpy.array(ids, dtype=object).reshape(shape), numpy.array(scores, dtype=numpy.float32).reshape(shape)
