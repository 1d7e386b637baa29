"""What does a search of sparse vectors cost, and are its answers the exact ones? `python -m bench.sparse`

Question: how long does a sparse leg take through the public Python call, against comparing every vector (scipy) and against Qdrant Edge?
Data: the 50,000 passages of `text/` of $NUTHATCH_TEST_DATA (`--copies` stores each several times under ids of its own). There is no learned
model here: a passage has the BM25 weight of each of its words and of each pair of neighbouring words, under the CRC-32 of the word as its
index: some 110 a passage, where SPLADE has 100 to 200. A query is a title with a section, of passages drawn at random.
Seed: 7.
Command: python -m bench.sparse [--copies 4] [--peer]; `--peer` needs qdrant-edge-py in this environment.

One thread, ten hits, include=[], durability "os" while filling. The scores of each query are compared with those of scipy: what is printed as
recall is the share of the ten greatest scores that were found. Peers run in turns with ours in this process.
"""

import argparse
import gzip
import json
import os
import re
import statistics
import tempfile
import time
import zlib
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import nuthatch

from bench import machine

LIMIT = 10
WORD = re.compile(r"[a-z0-9]+")


def terms(text: str) -> list[int]:
    words = WORD.findall(text.lower())
    pairs = [f"{one} {other}" for one, other in pairwise(words)]
    return [zlib.crc32(word.encode()) for word in words + pairs]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.sparse", description=__doc__.partition("\n")[0])
    parser.add_argument("--copies", type=int, default=1, help="rows for each passage")
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peer", action="store_true", help="Qdrant Edge, too")
    asked = parser.parse_args()
    random = np.random.default_rng(7)
    with gzip.open(Path(os.environ["NUTHATCH_TEST_DATA"]) / "text" / "docs50k.jsonl.gz", "rt") as lines:
        passages = [json.loads(line) for line in lines]
    counted = [Counter(terms(passage["text"])) for passage in passages]
    frequency = Counter(term for counts in counted for term in counts)
    mean = statistics.fmean(sum(counts.values()) for counts in counted)
    vectors = []
    for counts in counted:
        length = sum(counts.values())
        weight = {
            term: float(
                np.float32(
                    np.log1p(len(passages) / frequency[term]) * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length / mean))
                )
            )
            for term, tf in counts.items()
        }
        vectors.append(weight)
    vectors = [vector for vector in vectors for _ in range(asked.copies)]
    drawn = random.choice(len(passages), asked.queries, replace=False)
    queries = []
    for at in drawn:
        known = [term for term in terms(f"{passages[at]['title']} {passages[at]['section']}") if term in frequency]
        if known:
            queries.append({term: 1.0 for term in known})
    rows, per_row = len(vectors), statistics.fmean(map(len, vectors))
    print(machine.machine(), flush=True)
    print(f"{rows} rows of {per_row:.0f} terms, {len(queries)} queries of {statistics.fmean(map(len, queries)):.1f}")
    with tempfile.TemporaryDirectory() as folder:
        search = {"nuthatch": fill(Path(folder) / "ours", vectors), "scipy": compare_all(vectors)}
        if asked.peer:
            search["qdrant edge"] = fill_edge(Path(folder) / "edge", vectors)
        exact = [search["scipy"](query) for query in queries]
        times = {name: [[] for _ in queries] for name in search}
        found = {name: 0 for name in search}
        for turn in range(asked.rounds):
            for name, run in search.items():
                for at, query in enumerate(queries):
                    begun = time.perf_counter()
                    scores = run(query)
                    times[name][at].append(time.perf_counter() - begun)
                    if turn == 0:
                        right = sum(abs(a - b) < 1e-3 for a, b in zip(scores, exact[at], strict=False))
                        found[name] += right / max(1, len(exact[at]))
        for name, of_queries in times.items():
            least = sorted(min(times) * 1e6 for times in of_queries)
            p50, p99 = least[len(least) // 2], least[int(len(least) * 0.99)]
            print(f"{name:12} p50 {p50:8.0f} us   p99 {p99:8.0f} us   recall {found[name] / len(queries):.4f}")


def fill(folder: Path, vectors):
    db = nuthatch.connect(folder)
    docs = db.collection("docs", embedder="none", vectors={"splade": {"kind": "sparse"}})
    begun = time.perf_counter()
    for at in range(0, len(vectors), 2000):
        rows = [{"id": str(at + i), "vectors": {"splade": v}} for i, v in enumerate(vectors[at : at + 2000])]
        docs.upsert(rows, durability="os")
    filled = time.perf_counter() - begun
    docs.optimize()
    ready = time.perf_counter() - begun
    used = sum(file.stat().st_size for file in folder.rglob("postings"))
    print(f"nuthatch: {len(vectors) / filled:.0f} rows/s, optimised after {ready:.1f} s, postings {used / 1e6:.0f} MB,")
    print(f"          {sum(f.stat().st_size for f in folder.rglob('*') if f.is_file()) / 1e6:.0f} MB in all")
    # The collection keeps its database open.
    return lambda query: [hit.score for hit in docs.search(vectors={"splade": query}, limit=LIMIT, include=[])]


def compare_all(vectors):
    from scipy.sparse import csc_matrix

    numbers: dict[int, int] = {}
    indices, data, ends = [], [], [0]
    for vector in vectors:
        indices.extend(numbers.setdefault(term, len(numbers)) for term in vector)
        data.extend(vector.values())
        ends.append(len(indices))
    from scipy.sparse import csr_matrix

    matrix = csc_matrix(csr_matrix((np.array(data, np.float32), indices, ends), shape=(len(vectors), len(numbers))))

    def search(query):
        columns = [numbers[term] for term in query]
        scores = np.zeros(matrix.shape[0], np.float32)
        for column, weight in sorted(zip(columns, query.values(), strict=True)):
            part = slice(matrix.indptr[column], matrix.indptr[column + 1])
            scores[matrix.indices[part]] += weight * matrix.data[part]
        best = np.argpartition(-scores, LIMIT)[:LIMIT]
        return sorted((float(scores[at]) for at in best if scores[at] > 0), reverse=True)

    return search


def fill_edge(folder: Path, vectors):
    import qdrant_edge as edge

    folder.mkdir()
    sparse = {"splade": edge.EdgeSparseVectorParams()}
    shard = edge.EdgeShard.create(
        str(folder), edge.EdgeConfig(sparse_vectors=sparse, max_search_threads=1, wal_enabled=False)
    )

    def vector(of):
        return edge.SparseVector(list(of), list(of.values()))

    for at in range(0, len(vectors), 2000):
        some = enumerate(vectors[at : at + 2000], at)
        shard.update(edge.UpdateOperation.upsert_points([edge.Point(row, {"splade": vector(of)}) for row, of in some]))
    shard.optimize()
    # Dropping the shard closes it.
    return lambda query: [
        point.score
        for point in shard.search(edge.SearchRequest(edge.Query.Nearest(vector(query), using="splade"), LIMIT))
    ]


if __name__ == "__main__":
    main()
