"""Exact nearest neighbours, by brute force over the stored rows."""

from pathlib import Path

import faiss
import numpy as np

NEIGHBOURS = 100
BATCH = 100_000


def write(folder: Path, metric: str) -> None:
    """`gt100_ids.npy` (int32) and `gt100_sim.npy` (float32, cosine or negative squared distance), best first."""
    base, query = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("base", "query"))
    faiss.omp_set_num_threads(1)
    kind = faiss.METRIC_INNER_PRODUCT if metric == "cosine" else faiss.METRIC_L2
    best = np.full((len(query), 0), 0, dtype=np.float32)
    ids = np.full((len(query), 0), 0, dtype=np.int64)
    queries = np.ascontiguousarray(query)
    for start in range(0, len(base), BATCH):
        rows = np.ascontiguousarray(base[start : start + BATCH])
        found, slots = faiss.knn(queries, rows, NEIGHBOURS, metric=kind)
        best = np.hstack([best, found if metric == "cosine" else -found])
        ids = np.hstack([ids, slots + start])
        # By similarity, then by id.
        order = np.lexsort((ids, -best), axis=1)[:, :NEIGHBOURS]
        best, ids = np.take_along_axis(best, order, 1), np.take_along_axis(ids, order, 1)
    np.save(folder / "gt100_ids.npy", ids.astype(np.int32))
    np.save(folder / "gt100_sim.npy", best.astype(np.float32))
