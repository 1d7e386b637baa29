"""Precision and recall of a threshold, from labelled pairs.

What it is: the arithmetic behind ``Cache.calibrate`` and ``nuthatch.compat.mneme.tools.calibrate``, in plain Python.
What it is not: a promise. A threshold that was good for these pairs says nothing of other traffic; the ledger of a cache does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from .errors import InvalidError

#: What a threshold is chosen for.
Target: TypeAlias = Literal["f1", "precision", "recall"]
#: Two prompts, and whether one answer is right for both.
LabelledPair: TypeAlias = tuple[str, str, bool]


class CurvePoint(NamedTuple):
    """The effect that a threshold would have had on the pairs."""

    threshold: float
    """Pairs of at least this similarity are taken for the same."""
    precision: float
    """The share of these that are the same; 1 if there are none."""
    recall: float
    """The share of the same pairs that are among them."""

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


@dataclass(frozen=True)
class Calibration:
    """A threshold of the cosine, and how good it was on labelled pairs."""

    threshold: float
    """Pairs of at least this cosine are taken for the same."""
    precision: float
    """The share of these that are the same."""
    recall: float
    """The share of the same pairs that are among them."""
    f1: float
    """The harmonic mean of both."""
    curve: list[CurvePoint]
    """Every threshold that makes a difference, the lowest first."""
    same: int
    """Pairs that are the same."""
    different: int
    """Pairs that are not."""
    vetoes: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By difference that rules an answer out: of how many pairs that are the same, and of how many that are not."""


def curve_of(
    same: Sequence[float], different: Sequence[float], grid: Iterable[float] | None = None
) -> list[CurvePoint]:
    """Precision and recall at each threshold of ``grid``; without one, at each similarity of a pair.

    >>> [tuple(point) for point in curve_of([0.9, 0.7], [0.8])]
    [(0.7, 0.6666666666666666, 1.0), (0.8, 0.5, 0.5), (0.9, 1.0, 0.5)]
    """
    if not same:
        raise InvalidError("no pair is the same; give some, or nothing can be found")
    thresholds = sorted({*same, *different} if grid is None else set(grid))
    return [_point(threshold, same, different) for threshold in thresholds]


def best_of(
    curve: Sequence[CurvePoint], target: Target, min_precision: float | None = None, min_recall: float | None = None
) -> CurvePoint | None:
    """The point with the most of ``target`` among those that reach the least precision and recall; of equals the highest threshold.

    >>> best_of(curve_of([0.9, 0.7], [0.8]), "recall", min_precision=0.9)
    CurvePoint(threshold=0.9, precision=1.0, recall=0.5)
    >>> best_of(curve_of([0.7], [0.8]), "f1", min_precision=0.9) is None
    True
    """
    if target not in ("f1", "precision", "recall"):
        raise InvalidError(f"target={target!r}; there are 'f1', 'precision' and 'recall'")
    fit = [
        point
        for point in curve
        if point.precision >= (min_precision or 0.0) and point.recall >= (min_recall or 0.0) and point.recall > 0
    ]
    return max(fit, key=lambda point: (float(getattr(point, target)), point.f1, point.threshold), default=None)


def measured(
    pairs: Iterable[LabelledPair],
    embed: Callable[[str], Sequence[float]] | None,
    target: Target,
    min_precision: float | None,
    min_recall: float | None,
) -> Calibration:
    """Measures pairs as a cache would compare them: in one that is thrown away."""
    same: list[float] = []
    different: list[float] = []
    vetoes: dict[str, list[int]] = {}
    for cosine, veto, is_same in _compared(pairs, embed):
        (same if is_same else different).append(cosine)
        if veto is not None:
            vetoes.setdefault(veto, [0, 0])[0 if is_same else 1] += 1
    curve = curve_of(same, different)
    best = best_of(curve, target, min_precision, min_recall)
    if best is None:
        raise InvalidError(
            f"no threshold reaches min_precision={min_precision} and min_recall={min_recall} on these pairs; ask for less"
        )
    ruled_out = {veto: (of[0], of[1]) for veto, of in sorted(vetoes.items())}
    return Calibration(*best, best.f1, curve, len(same), len(different), ruled_out)


def _compared(
    pairs: Iterable[LabelledPair], embed: Callable[[str], Sequence[float]] | None
) -> Iterable[tuple[float, str | None, bool]]:
    """The cosine of each pair, and the difference that rules it out."""
    from .database import connect

    with connect(":memory:") as database:
        # A budget, so that meanings are compared; nothing is looked up, so nothing is given.
        cache = database.cache("pairs", budget=0.5)
        for at, pair in enumerate(pairs):
            if not isinstance(pair, (tuple, list)) or len(pair) != 3 or not isinstance(pair[2], bool):
                raise InvalidError(f"pairs[{at}]={pair!r}; give two prompts, and True if one answer is right for both")
            stored, asked, is_same = pair
            scope = {"pair": str(at)}
            vectors = (None, None) if embed is None else (embed(stored), embed(asked))
            cache.store(stored, None, scope=scope, vector=vectors[0])
            near = cache.explain(asked, scope=scope, vector=vectors[1]).candidates
            # A cache does not compare prompts below a cosine of one half.
            yield (near[0].similarity, near[0].veto, is_same) if near else (0.0, None, is_same)


def _point(threshold: float, same: Sequence[float], different: Sequence[float]) -> CurvePoint:
    right = sum(score >= threshold for score in same)
    wrong = sum(score >= threshold for score in different)
    return CurvePoint(threshold, right / (right + wrong) if right + wrong else 1.0, right / len(same))
