"""The kept results: one JSON line for each point of a sweep, one file for each set, engine and configuration."""

import itertools
import json
import math
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from bench import paths

RECALLS = (0.90, 0.95, 0.98, 0.99)


def sweeps(data: str) -> dict[tuple[str, str], list[dict]]:
    """The rows of one set by engine and configuration."""
    return rows_of(sorted(paths.RESULTS.glob(f"{data}.*.*.jsonl")))


def beside(data: str) -> dict[str, dict[tuple[str, str], list[dict]]]:
    """By peer, the rows of the runs that measured it and ours in turns."""
    files = sorted((paths.RESULTS / "beside").glob(f"{data}.*.jsonl"))
    return {file.name.split(".")[1]: rows_of([file]) for file in files}


def rows_of(files: Iterable[Path]) -> dict[tuple[str, str], list[dict]]:
    found = defaultdict(list)
    for file in files:
        for line in file.read_text().splitlines():
            row = json.loads(line)
            found[row["engine"], row["config"]].append(row)
    return dict(found)


def sets() -> list[str]:
    order = ["text50k", "sift100k", "sift1m", "lsa100k", "lsa1m"]
    return [name for name in order if any(paths.RESULTS.glob(f"{name}.*.*.jsonl"))]


def frontier(rows: list[dict], figure: str = "cpu_ms") -> list[tuple[float, float]]:
    """Recall and 1,000 / `figure`, of the points that no other beats in both; recall rises."""
    points = sorted(((row["recall"], 1e3 / row[figure]) for row in rows), reverse=True)
    kept, best = [], 0.0
    for recall, speed in points:
        if speed > best:
            kept.append((recall, speed))
            best = speed
    return kept[::-1]


def at(rows: list[dict], recall: float, figure: str = "cpu_ms") -> float | None:
    """Calls per second at a recall: interpolated on the frontier, speed logarithmic; nothing beyond its best recall."""
    points = frontier(rows, figure)
    if not points or points[-1][0] < recall:
        return None
    if points[0][0] >= recall:
        return points[0][1]
    for (low, fast), (high, slow) in itertools.pairwise(points):
        if low < recall <= high:
            share = (recall - low) / (high - low)
            return math.exp(math.log(fast) * (1 - share) + math.log(slow) * share)
    return None
