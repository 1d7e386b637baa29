"""Vectors for the report: given ones where there are any, clustered ones otherwise."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass
class Set:
    name: str
    base: np.ndarray
    queries: np.ndarray
    #: The exact nearest ten of each query.
    truth: np.ndarray
    metric: str


def sift(rows: int, queries: int) -> Set:
    """Of 128 components, compared by l2."""
    folder = _given("sift")
    if folder is None:
        return _clustered("clustered vectors", rows, queries, 128, "l2")
    base = np.ascontiguousarray(np.load(folder / "base_0.npy", mmap_mode="r")[:rows], dtype="float32")
    asked = np.ascontiguousarray(np.load(folder / "query.npy", mmap_mode="r")[:queries], dtype="float32")
    return Set("SIFT descriptors", base, asked, _truth(base, asked, "l2"), "l2")


def passages(rows: int, queries: int) -> Set:
    """Of 384 components, compared by cosine."""
    folder = _given("text")
    if folder is None:
        return _clustered("clustered vectors", rows, queries, 384, "cosine")
    every = np.load(folder / "docs50k_vec_f16.npy", mmap_mode="r")
    base = np.ascontiguousarray(every[:rows], dtype="float32")
    # Passages that are not in the base.
    asked = np.ascontiguousarray(every[len(every) - queries :], dtype="float32")
    return Set("passages of documentation (all-MiniLM-L6-v2)", base, asked, _truth(base, asked, "cosine"), "cosine")


def recall(found: list[list[int]], truth: np.ndarray) -> float:
    return sum(len(set(ids) & set(true[:10].tolist())) for ids, true in zip(found, truth, strict=True)) / (
        10 * len(truth)
    )


def _given(name: str) -> Path | None:
    place = os.environ.get("NUTHATCH_TEST_DATA")
    folder = Path(place, name) if place else None
    return folder if folder is not None and folder.is_dir() else None


def _clustered(name: str, rows: int, queries: int, dim: int, metric: str) -> Set:
    random = np.random.default_rng(7)
    centres = random.standard_normal((max(8, rows // 100), dim))
    made = centres[random.integers(len(centres), size=rows + queries)] + 0.6 * random.standard_normal(
        (rows + queries, dim)
    )
    base, asked = made[:rows].astype("float32"), made[rows:].astype("float32")
    return Set(name, base, asked, _truth(base, asked, metric), metric)


def _truth(base: np.ndarray, asked: np.ndarray, metric: str) -> np.ndarray:
    if metric == "cosine":
        base = base / np.linalg.norm(base, axis=1, keepdims=True)
        asked = asked / np.linalg.norm(asked, axis=1, keepdims=True)
    squares = (base**2).sum(axis=1)
    return np.stack([np.argsort(squares - 2 * (base @ question), kind="stable")[:10] for question in asked])
