"""Precision and recall of a threshold, from labelled pairs.

What it is: the arithmetic behind ``Cache.calibrate`` and ``nuthatch.compat.mneme.tools.calibrate``, in plain Python.
What it is not: a promise. A threshold that was good for these pairs says nothing of other traffic; the ledger of a cache does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from .errors import InvalidError

#: What a threshold is chosen for.
Target = Literal["f1", "precision", "recall"]


class CurvePoint(NamedTuple):
    """What a threshold would have done with the pairs."""

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


def _point(threshold: float, same: Sequence[float], different: Sequence[float]) -> CurvePoint:
    right = sum(score >= threshold for score in same)
    wrong = sum(score >= threshold for score in different)
    return CurvePoint(threshold, right / (right + wrong) if right + wrong else 1.0, right / len(same))
