"""The answer of a search."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, repeat
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, overload

if TYPE_CHECKING:
    import pandas
    import pyarrow

LegParts: TypeAlias = "tuple[int, float] | None"
RestParts: TypeAlias = (
    "tuple[str | None, str | None, dict[str, Any], list[float] | None, dict[str, list[float]],"
    " LegParts, LegParts, dict[str, tuple[int, float]]]"
)
AnswerParts: TypeAlias = (
    "tuple[Hits, list[str], int | None, tuple[int, int] | None, dict[str, Any] | None, list[dict[str, Any]] | None]"
)


class Hits(Protocol):
    """The hits of an answer, as the extension module has them."""

    def ids(self) -> list[str]:
        """The id of each."""

    def scores(self) -> list[float]:
        """The score of each."""

    def rest(self, at: int) -> RestParts:
        """Text, context, payload, vector, vectors, places in the legs: of the words, of the vector, of vector fields."""


@dataclass(frozen=True, slots=True)
class Leg:
    """A hit's rank and score in one leg of a search."""

    #: From 1.
    rank: int
    #: BM25 in the text leg. In the vector leg the cosine or dot product, or (lower is better) the Euclidean distance or the
    #: number of components that differ.
    score: float


@dataclass(frozen=True, slots=True)
class Legs:
    """A hit's rank and score in each leg that found it."""

    text: Leg | None = None
    #: Of ``vector``, ``like``, or the embedded text.
    vector: Leg | None = None
    #: Of ``vectors``, by field.
    vectors: dict[str, Leg] = field(default_factory=dict)


class _Answered:
    """A hit that is still part of an answer: what it carries besides id and score is made when it is first looked at."""

    __slots__ = ("_answered",)

    #: The hits of the answer, and the place among them; None once everything is made, so that the answer may go.
    _answered: tuple[Hits, int] | None

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # Python asks here only for what the object does not have, or not yet.
            if name not in _RESTS:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
            if (answered := self._answered) is None:
                return object.__getattribute__(self, name)  # another thread was first
            hits, at = answered
            text, context, payload, vector, vectors, text_leg, vector_leg, named_legs = hits.rest(at)
            legs = Legs(
                Leg(*text_leg) if text_leg else None,
                Leg(*vector_leg) if vector_leg else None,
                {field: Leg(*leg) for field, leg in named_legs.items()},
            )
            rest = {"text": text, "context": context, "payload": payload}
            for part, value in {**rest, "vector": vector, "vectors": vectors, "legs": legs}.items():
                object.__setattr__(self, part, value)
            object.__setattr__(self, "_answered", None)
            return object.__getattribute__(self, name)


@dataclass(frozen=True, slots=True)
class Hit(_Answered):
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
    vectors: dict[str, list[float]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """As a plain dict; ``legs`` becomes ``{"text": {"rank": …, "score": …}, "vector": None}``."""

        def plain(leg: Leg | None) -> dict[str, Any] | None:
            return None if leg is None else {"rank": leg.rank, "score": leg.score}

        legs: dict[str, Any] = {"text": plain(self.legs.text), "vector": plain(self.legs.vector)}
        if self.legs.vectors:
            legs["vectors"] = {name: plain(leg) for name, leg in self.legs.vectors.items()}
        parts: dict[str, Any] = {"id": self.id, "score": self.score, "text": self.text, "payload": self.payload}
        parts.update(legs=legs, context=self.context)
        if self.vector is not None:
            parts["vector"] = self.vector
        if self.vectors:
            parts["vectors"] = self.vectors
        return parts


#: Attributes that come with the first look at one of them.
_RESTS = frozenset(("text", "payload", "legs", "context", "vector", "vectors"))


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


class Results(Sequence[Hit]):
    """Hits, best first.

    ``cursor`` asks for the next page (None at the end). ``degraded`` says which indexes could not
    be used, one sentence each; the hits are correct either way. ``explain`` says how the search
    worked, and ``facets`` counts values of fields, if requested. ``pending`` says how many vectors
    are done while others are still to come (None when none is): a record without its vector is
    found by its words.
    """

    __slots__ = ("_hits", "cursor", "degraded", "explain", "facets", "pending")

    def __init__(
        self,
        hits: list[Hit],
        cursor: str | None = None,
        degraded: Sequence[str] = (),
        explain: dict[str, Any] | None = None,
        facets: dict[str, Facet] | None = None,
        pending: Pending | None = None,
    ) -> None:
        self._hits = hits
        self.cursor = cursor
        self.degraded = list(degraded)
        self.explain = explain
        self.facets = {} if facets is None else facets
        self.pending = pending

    @overload
    def __getitem__(self, at: int) -> Hit: ...
    @overload
    def __getitem__(self, at: slice) -> list[Hit]: ...
    def __getitem__(self, at: int | slice) -> Hit | list[Hit]:
        return self._hits[at]

    def __len__(self) -> int:
        return len(self._hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self._hits)

    def __repr__(self) -> str:
        degraded = ", degraded" if self.degraded else ""
        return (
            f"Results({[hit.id for hit in self._hits[:3]]!r}{'…' if len(self) > 3 else ''}, {len(self)} hits{degraded})"
        )

    def to_dicts(self) -> list[dict[str, Any]]:
        """The hits as dicts."""
        return [hit.to_dict() for hit in self._hits]

    def to_arrow(self) -> pyarrow.Table:
        """A table with id, score, text, each payload field as a column of its own, and the ranks and scores of the legs; those of
        named vector fields are ``vector.<field>_rank`` and so on.

        A payload field whose name is taken becomes ``payload.<name>``; one that holds several kinds becomes JSON text.
        Needs pyarrow.
        """
        import pyarrow

        table: dict[str, Any] = {
            "id": pyarrow.array([hit.id for hit in self._hits], pyarrow.string()),
            "score": pyarrow.array([hit.score for hit in self._hits], pyarrow.float32()),
            "text": pyarrow.array([hit.text for hit in self._hits], pyarrow.string()),
        }
        legs_by_name: dict[str, list[Leg | None]] = {
            "text": [hit.legs.text for hit in self._hits],
            "vector": [hit.legs.vector for hit in self._hits],
        }
        for field_name in dict.fromkeys(name for hit in self._hits for name in hit.legs.vectors):
            legs_by_name[f"vector.{field_name}"] = [hit.legs.vectors.get(field_name) for hit in self._hits]
        for name, legs in legs_by_name.items():
            ranks = [None if leg is None else leg.rank for leg in legs]
            scores = [None if leg is None else leg.score for leg in legs]
            table[f"{name}_rank"] = pyarrow.array(ranks, pyarrow.int64())
            table[f"{name}_score"] = pyarrow.array(scores, pyarrow.float32())
        if any(hit.vector is not None for hit in self._hits):
            table["vector"] = pyarrow.array([hit.vector for hit in self._hits], pyarrow.list_(pyarrow.float32()))
        for name in dict.fromkeys(name for hit in self._hits for name in hit.vectors):
            found = [hit.vectors.get(name) for hit in self._hits]
            table[f"vector.{name}"] = pyarrow.array(found, pyarrow.list_(pyarrow.float32()))
        for name in dict.fromkeys(name for hit in self._hits for name in hit.payload):
            values = [hit.payload.get(name) for hit in self._hits]
            table[f"payload.{name}" if name in table else name] = _arrow_column(values)
        return pyarrow.table(table)

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame with the columns of ``to_arrow``. Needs pandas and pyarrow."""
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame


def _arrow_column(values: list[Any]) -> pyarrow.Array:
    import pyarrow

    try:
        return pyarrow.array(values)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
        import json

        as_text = [None if value is None else json.dumps(value, default=str, ensure_ascii=False) for value in values]
        return pyarrow.array(as_text, pyarrow.string())


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


#: What a cursor of results begins with; the offset of the page follows.
CURSOR = "after:"


def of_parts(parts: AnswerParts, explain: bool) -> Results:
    """An answer from the extension module's form of it."""
    found, degraded, next_offset, pending, explained, counted = parts
    return Results(
        _hits_of(found),
        None if next_offset is None else f"{CURSOR}{next_offset}",
        degraded,
        explained if explain else None,
        facets(counted) if counted else None,
        None if pending is None else Pending(*pending),
    )


def ids_and_scores(answers: Sequence[Hits], *, as_arrays: bool) -> tuple[Any, Any]:
    """The ids and the scores of the hits of several answers, as matrices or as lists."""
    ids, scores = [found.ids() for found in answers], [found.scores() for found in answers]
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


#: What sets an attribute of a hit, which is frozen for everybody else.
_set_id, _set_score, _set_answered = (
    vars(of)[name].__set__ for of, name in ((Hit, "id"), (Hit, "score"), (_Answered, "_answered"))
)


def _hits_of(found: Hits) -> list[Hit]:
    """Loops without bytecode: this is most of what Python adds to a search."""
    ids = found.ids()
    hits: list[Hit] = list(map(object.__new__, repeat(Hit, len(ids))))
    for set_part, parts in ((_set_id, ids), (_set_score, found.scores()), (_set_answered, zip(repeat(found), count()))):
        deque(map(set_part, hits, parts), 0)
    return hits
