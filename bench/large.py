"""What does a large collection cost through Python, with every default? `python -m bench.large [SET]`

Question: how fast is a collection filled and optimised, what does it take on disk and in memory, how soon is the first
answer after a cold start, and how long does a search take for each recall that is asked.
Data: a set of `bench.data` (lsa1m when left out), or its first `--rows` rows with their own ground truth; ids are row numbers.
Seed: none; the queries are those of the set.
Command: python -m bench.large, with the module that is to be measured. `--limit MB` (root) searches inside a control group
that counts the page cache, too. The collection is made once and kept; `--again` makes it again.

Batches of 1,000 rows, each durable before its call returns (`durability="commit"`). Searches: one process for each recall, one
thread, ten hits, include=[], all queries once from a cold start (the index is evicted) and once more; of the second
round p50 and p99 are of single calls, without repetition. Recall counts ids among the true ten.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import nuthatch

from bench import cgroup, machine, memory, paths, process

LIMIT = 10
BATCH = 1_000
COLLECTION = "bench"
RECALLS = (0.9, 0.95, 0.99)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.large", description=__doc__.partition("\n")[0])
    parser.add_argument("set", nargs="?", default="lsa1m")
    parser.add_argument("--rows", type=int, help="the first rows of the set instead of all")
    parser.add_argument("--limit", type=int, help="MB of memory for searches, page cache included")
    parser.add_argument("--again", action="store_true", help="make the collection anew")
    parser.add_argument("--fill-only", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--ask-only", type=float, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.fill_only:
        print(json.dumps(fill(asked)))
    elif asked.ask_only:
        print(json.dumps(ask(asked)))
    else:
        measure(asked)


def measure(asked: argparse.Namespace) -> None:
    print(machine.machine())
    if asked.again or not folder_of(asked).exists():
        told(asked, ["--fill-only"])
    for recall in RECALLS:
        memory.evict(folder_of(asked))
        told(asked, ["--ask-only", str(recall)], asked.limit)


def told(asked: argparse.Namespace, more: list[str], limit_mb: int | None = None) -> None:
    """Runs one step in a process of its own and prints what it says."""
    command = [sys.executable, "-m", "bench.large", asked.set, *more]
    command += ["--rows", str(asked.rows)] if asked.rows else []
    options = {"stdout": subprocess.PIPE, "text": True, "cwd": paths.REPOSITORY}
    if limit_mb:
        done, limits = cgroup.run(limit_mb, command, **options)
        done.check_returncode()
    else:
        done, limits = subprocess.run(command, check=True, **options), {}
    print(json.dumps({**json.loads(done.stdout), **limits, "load": os.getloadavg()[0]}), flush=True)


def folder_of(asked: argparse.Namespace) -> Path:
    return paths.INDEXES / asked.set / f"nuthatch.large.{asked.rows or 'all'}"


def base_of(asked: argparse.Namespace) -> np.ndarray:
    return np.load(paths.CACHE / asked.set / "base.npy", mmap_mode="r")[: asked.rows]


def fill(asked: argparse.Namespace) -> dict:
    base, folder = base_of(asked), folder_of(asked)
    metric = json.loads((paths.CACHE / asked.set / "about.json").read_text())["metric"]
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    with nuthatch.connect(folder) as database:
        rows = database.collection(COLLECTION, dim=base.shape[1], metric=metric, embedder="none")
        for start in range(0, len(base), BATCH):
            vectors = np.ascontiguousarray(base[start : start + BATCH])
            rows.upsert(ids=list(map(str, range(start, start + len(vectors)))), vectors=vectors)
        loaded = time.perf_counter()
        rows.optimize()
        optimised = time.perf_counter()
        info = rows.info()
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "rows": len(base),
        "dim": base.shape[1],
        "rows_per_s": round(len(base) / (loaded - started)),
        "optimise_s": round(optimised - loaded, 1),
        "cpu_s": round(used.ru_utime + used.ru_stime, 1),
        "peak_mib": round(process.peak_bytes() / (1 << 20)),
        "disk_bytes": sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()),
        "vector_bytes": base.shape[0] * base.shape[1] * 4,
        "segments": info.segments,
        "vector_graphs": info.vector_graphs,
    }


def ask(asked: argparse.Namespace) -> dict:
    queries = np.load(paths.CACHE / asked.set / "query.npy")
    truth = truth_of(asked, queries)
    before = process.resident_bytes()[0]
    opened = time.perf_counter()
    rounds = []
    with nuthatch.connect(folder_of(asked), create=False) as database:
        rows = database.collection(COLLECTION)
        for _ in range(2):
            times, found = [], 0
            for query, best in zip(queries, truth, strict=True):
                started = time.perf_counter()
                hits = rows.search(vector=query, limit=LIMIT, include=[], recall=asked.ask_only)
                times.append(time.perf_counter() - started)
                if not rounds and len(times) == 1:
                    first = time.perf_counter() - opened
                found += len({int(hit.id) for hit in hits} & set(best.tolist()))
            p50, p99 = np.percentile(times, [50, 99]) * 1e3
            recall = found / (len(queries) * LIMIT)
            rounds.append({"p50_ms": round(p50, 3), "p99_ms": round(p99, 3), "recall": round(recall, 4)})
        anonymous, mapped = process.resident_bytes()
    cold, warm = rounds
    resident = {"anonymous_mib": round((anonymous - before) / (1 << 20), 1), "mapped_mib": round(mapped / (1 << 20))}
    return {
        "aimed_at": asked.ask_only,
        "first_answer_ms": round(first * 1e3, 1),
        "cold": cold,
        "warm": warm,
        **resident,
    }


def truth_of(asked: argparse.Namespace, queries: np.ndarray) -> np.ndarray:
    """The ids of the true ten of each query. Of a part of the set they are found by brute force once, and kept."""
    if not asked.rows:
        return np.load(paths.CACHE / asked.set / "gt100_ids.npy")[:, :LIMIT]
    kept = folder_of(asked).with_suffix(".truth.npy")
    if not kept.exists():
        metric = json.loads((paths.CACHE / asked.set / "about.json").read_text())["metric"]
        np.save(kept, best_of(base_of(asked), queries, metric))
    return np.load(kept)


def best_of(base: np.ndarray, queries: np.ndarray, metric: str) -> np.ndarray:
    queries = queries.astype(np.float32)
    best = np.empty((len(queries), 0), np.float32)
    ids = np.empty((len(queries), 0), np.int64)
    for start in range(0, len(base), 50_000):
        rows = base[start : start + 50_000].astype(np.float32)
        similar = queries @ rows.T
        if metric == "l2":
            similar = 2 * similar - (rows * rows).sum(axis=1)
        best = np.hstack([best, similar])
        ids = np.hstack([ids, np.broadcast_to(np.arange(start, start + len(rows)), similar.shape)])
        order = np.argsort(-best, axis=1)[:, :LIMIT]
        best, ids = np.take_along_axis(best, order, 1), np.take_along_axis(ids, order, 1)
    return ids


if __name__ == "__main__":
    main()
