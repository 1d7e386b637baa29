"""One engine with one collection in a process of its own: `python -m bench.systems.searching ENGINE FOLDER MODE`.

MODE `build` fills it, `search` asks it; both print a line of JSON. The vectors are in FOLDER/set.npz. Memory is what is resident, less what it was
when the engine's package was loaded.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bench.process import resident_bytes
from bench.systems.data import recall
from bench.systems.rows import percentile


def main() -> None:
    engine, folder, mode = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    stored = np.load(folder / "set.npz")
    base, queries, truth, metric = stored["base"], stored["queries"], stored["truth"], str(stored["metric"])
    place, ef = folder / engine, int(sys.argv[4]) if len(sys.argv) > 4 else 0
    opened = ENGINES[engine]
    began = time.perf_counter()
    if mode == "build":
        opened(place, metric, base, ef)
        print(json.dumps({"build_s": time.perf_counter() - began}))
        return
    before = sum(resident_bytes())
    search = opened(place, metric, None, ef)
    for query in queries[:20]:
        search(query)
    times, found = [], []
    for query in queries:
        began = time.perf_counter()
        found.append(search(query))
        times.append(time.perf_counter() - began)
    after = sum(resident_bytes())
    told = {
        "p50_ms": percentile(times, 0.5),
        "p99_ms": percentile(times, 0.99),
        "qps": len(times) / sum(times),
        "recall": recall(found, truth),
        "mib": (after - before) / (1 << 20),
    }
    print(json.dumps(told))


Search = Callable[[np.ndarray], list[int]]


def nuthatch(place: Path, metric: str, base: np.ndarray | None, recall_thousandths: int) -> Search:
    """Of durability commit, with its default budget of 64 MiB."""
    import nuthatch as module

    db = module.connect(place)
    collection = db.collection("docs", metric=metric, embedder="none")
    if base is not None:
        for start in range(0, len(base), 1000):
            part = base[start : start + 1000]
            collection.upsert(ids=[str(at) for at in range(start, start + len(part))], vectors=part)
        collection.optimize()
        db.close()
    asked = {"recall": recall_thousandths / 1000} if recall_thousandths else {}
    return lambda query: [int(hit.id) for hit in collection.search(vector=query, limit=10, include=[], **asked)]


def chroma(place: Path, metric: str, base: np.ndarray | None, _: int) -> Search:
    import chromadb

    client = chromadb.PersistentClient(str(place), settings=chromadb.Settings(anonymized_telemetry=False))
    space = {"hnsw": {"space": metric}}
    collection = client.get_or_create_collection("docs", embedding_function=None, configuration=space)
    if base is not None:
        for start in range(0, len(base), 1000):
            part = base[start : start + 1000]
            collection.add(ids=[str(at) for at in range(start, start + len(part))], embeddings=part)
    return lambda query: [
        int(id) for id in collection.query(query_embeddings=[query], n_results=10, include=[])["ids"][0]
    ]


def faiss(place: Path, metric: str, base: np.ndarray | None, ef: int) -> Search:
    """HNSW of M 16, efConstruction 200, one thread, in memory."""
    import faiss as module

    module.omp_set_num_threads(1)
    file = str(place.with_suffix(".index"))

    def prepared(vectors: np.ndarray) -> np.ndarray:
        return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True) if metric == "cosine" else vectors

    if base is not None:
        index = module.IndexHNSWFlat(base.shape[1], 16)
        index.hnsw.efConstruction = 200
        index.add(prepared(base))
        module.write_index(index, file)
    index = module.read_index(file)
    index.hnsw.efSearch = ef or 64
    return lambda query: index.search(prepared(query)[None], 10)[1][0].tolist()


ENGINES: dict[str, Callable[[Path, str, np.ndarray | None, int], Search]] = {
    "nuthatch": nuthatch,
    "chroma": chroma,
    "faiss": faiss,
}

if __name__ == "__main__":
    main()
