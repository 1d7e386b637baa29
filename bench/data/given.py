"""The sets that are given: SIFT descriptors and the passages embedded by a small neural model, as float32 folders like the others."""

import json
from pathlib import Path

import numpy as np

from bench import paths
from bench.data import truth

QUERIES = 1_000


def sift(folder: Path, rows: int) -> None:
    """1M SIFT descriptors (own extraction, not the TEXMEX file) or their first `rows`."""
    source = paths.source_data() / "sift"
    halves = [np.load(source / f"base_{half}.npy", mmap_mode="r") for half in (0, 1)]
    base = np.concatenate([halves[0][:rows], halves[1][: max(0, rows - len(halves[0]))]])
    # The kinds of query are mixed; any stretch will do.
    store(folder, base, np.load(source / "query.npy")[:QUERIES], "l2", f"{rows:,} SIFT descriptors (own extraction)")


def text(folder: Path) -> None:
    """50,000 documentation passages, all-MiniLM-L6-v2."""
    source = paths.source_data() / "text"
    base, query = (np.load(source / f"{name}_vec_f16.npy") for name in ("docs50k", "queries1k"))
    store(folder, unit(base), unit(query), "cosine", "50,000 documentation passages embedded by all-MiniLM-L6-v2")


def unit(rows: np.ndarray) -> np.ndarray:
    wide = rows.astype(np.float32)
    return wide / np.linalg.norm(wide, axis=1, keepdims=True)


def store(folder: Path, base: np.ndarray, query: np.ndarray, metric: str, made_of: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "base.npy", np.ascontiguousarray(base, dtype=np.float32))
    np.save(folder / "query.npy", np.ascontiguousarray(query, dtype=np.float32))
    truth.write(folder, metric)
    about = {"metric": metric, "made_of": made_of, "queries": f"{len(query):,} that are not in the base"}
    (folder / "about.json").write_text(json.dumps(about, indent=1) + "\n")
