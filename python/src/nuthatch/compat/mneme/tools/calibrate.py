"""Finds a threshold from labelled pairs: ``python -m nuthatch.compat.mneme.tools.calibrate``.

Pairs are lines of JSON: ``["a", "b"]``, or an object with ``a`` and ``b``; lines that begin with # are skipped. The exit status is
0, 1 for wrong arguments, 2 for a missing file, 3 for an embedder that cannot be imported, 4 if no threshold reaches what is asked
for, 5 for a line that is no pair.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TextIO

from ....calibration import CurvePoint, Target, best_of, curve_of
from ..embedding import Embedder
from ..values import VectorDtype

Pairs = list[tuple[str, str]]

_GRID = [round(0.5 + 0.01 * step, 2) for step in range(50)]


@dataclass(frozen=True, slots=True)
class CalibrationResult:
    """A threshold, and how good it was on the pairs."""

    threshold: float
    precision: float
    recall: float
    f1: float
    pr_curve: list[tuple[float, float, float]] = field(default_factory=list)


def precision_recall_curve(
    paraphrase_pairs: Pairs,
    distractor_pairs: Pairs,
    embedder: Embedder,
    *,
    grid: list[float] | None = None,
    vector_dtype: VectorDtype = "float32",
) -> list[tuple[float, float, float]]:
    """Threshold, precision and recall for each threshold of ``grid``, 0.5 to 0.99 by default."""
    return [(t, p, r) for t, p, r in _curve(paraphrase_pairs, distractor_pairs, embedder, grid, vector_dtype)]


def find_threshold(
    paraphrase_pairs: Pairs,
    distractor_pairs: Pairs,
    embedder: Embedder,
    *,
    target_metric: Target = "f1",
    min_precision: float | None = None,
    min_recall: float | None = None,
    grid: list[float] | None = None,
    vector_dtype: VectorDtype = "float32",
) -> CalibrationResult:
    """The threshold with the most of a metric. Raises ValueError if none reaches the least precision and recall."""
    curve = _curve(paraphrase_pairs, distractor_pairs, embedder, grid, vector_dtype)
    best = best_of(curve, target_metric, min_precision, min_recall)
    if best is None:
        raise ValueError("no threshold reaches min_precision and min_recall; ask for less, or give other pairs")
    return CalibrationResult(*best, best.f1, [(t, p, r) for t, p, r in curve])


def _curve(same: Pairs, different: Pairs, embedder: Embedder, grid: list[float] | None, dtype: str) -> list[CurvePoint]:
    for name, pairs in (("paraphrase", same), ("distractor", different)):
        if not pairs:
            raise ValueError(f"there is no {name} pair; give some")
    scores = [[_cosine(a, b, embedder, dtype) for a, b in pairs] for pairs in (same, different)]
    return curve_of(scores[0], scores[1], _GRID if grid is None else grid)


def _cosine(a: str, b: str, embedder: Embedder, dtype: str) -> float:
    one, other = (_rounded(_unit(embedder.embed(text)), dtype) for text in (a, b))
    product = sum(x * y for x, y in zip(one, other, strict=True))
    return product / ((math.hypot(*one) * math.hypot(*other)) or 1.0)


def _unit(vector: Iterable[float]) -> list[float]:
    values = [float(x) for x in vector]
    length = math.hypot(*values) or 1.0
    return [x / length for x in values]


def _rounded(vector: list[float], dtype: str) -> list[float]:
    """As the elements keep it; halves of floats are near enough to be left as they are."""
    return [round(x * 127) / 127 for x in vector] if dtype == "int8" else vector


def main(argv: Sequence[str] | None = None, out: TextIO | None = None) -> int:
    """The command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="calibrate", description="Finds a threshold from labelled pairs.")
    parser.add_argument("--paraphrases", required=True, type=Path, help="pairs that are the same, as lines of JSON")
    parser.add_argument("--distractors", required=True, type=Path, help="pairs that are not")
    parser.add_argument("--embedder", required=True, help="module:name of an embedder, or of what makes one")
    parser.add_argument("--target-metric", choices=("f1", "precision", "recall"), default="f1")
    parser.add_argument("--min-precision", type=float)
    parser.add_argument("--min-recall", type=float)
    parser.add_argument("--vector-dtype", choices=("float32", "float16", "int8"), default="float32")
    parser.add_argument("--grid", help="thresholds, with commas in between")
    parser.add_argument("--output", type=Path, help="a file; the terminal without one")
    parser.add_argument("--format", choices=("json", "csv", "human"), default="human")
    try:
        given = parser.parse_args(argv)
        grid = None if given.grid is None else [float(step) for step in given.grid.split(",")]
    except (SystemExit, ValueError) as stop:
        return 0 if getattr(stop, "code", 1) == 0 else 1
    try:
        same, different = (_pairs(path) for path in (given.paraphrases, given.distractors))
    except OSError as error:
        return _said(f"{error.filename}: {error.strerror}", 2)
    except ValueError as error:
        return _said(str(error), 5)
    try:
        embedder = _embedder(given.embedder)
    except (ImportError, AttributeError, ValueError) as error:
        return _said(f"--embedder {given.embedder}: {error}", 3)
    limits: dict[str, Any] = {"min_precision": given.min_precision, "min_recall": given.min_recall, "grid": grid}
    try:
        found = find_threshold(
            same, different, embedder, target_metric=given.target_metric, vector_dtype=given.vector_dtype, **limits
        )
    except ValueError as error:
        return _said(str(error), 4)
    text = _told(found, given.format)
    if given.output is not None:
        given.output.write_text(text, encoding="utf-8")
    else:
        (out or sys.stdout).write(text)
    return 0


def _said(text: str, status: int) -> int:
    sys.stderr.write(f"error: {text}\n")
    return status


def _pairs(path: Path) -> Pairs:
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            told = json.loads(line)
            a, b = (told["a"], told["b"]) if isinstance(told, dict) else told
        except (ValueError, KeyError, TypeError):
            raise ValueError(f'{path}:{number} is no pair; write ["a", "b"] or {{"a": …, "b": …}}') from None
        found.append((str(a), str(b)))
    return found


def _embedder(named: str) -> Embedder:
    module, colon, name = named.partition(":")
    if not colon:
        raise ValueError("write module:name")
    found = getattr(importlib.import_module(module), name)
    made: Embedder = found() if not hasattr(found, "embed") or isinstance(found, type) else found
    return made


def _told(found: CalibrationResult, format: str) -> str:
    if format == "json":
        return json.dumps(asdict(found), indent=2) + "\n"
    if format == "csv":
        lines = [(*point, CurvePoint(*point).f1) for point in found.pr_curve]
        return "threshold,precision,recall,f1\n" + "".join(f"{t},{p},{r},{f1}\n" for t, p, r, f1 in lines)
    return (
        f"Optimal threshold: {found.threshold:.4f}\nPrecision: {found.precision:.4f}\nRecall: {found.recall:.4f}\n"
        f"F1: {found.f1:.4f}\n"
    )


if __name__ == "__main__":
    sys.exit(main())
