"""One peer, one configuration, one data set, one process: `python -m bench.measure build|search PEER CONFIG SET`.

Run in the peer's environment. `build` leaves the index and `build.json` in the cache; `search` sweeps the efforts and appends one JSON
line for each to `results/SET.PEER.CONFIG.jsonl`, after removing what an earlier run left there. One query a call, one thread, k = 10.

An engine that is a server of its own names its process (`Searcher.pid`): then CPU time and memory are that process', this one's apart, and
wall times contain the way to it and back.

- CPU time is that of the whole process (its CPU clock, `CLOCK_PROCESS_CPUTIME_ID`) around the loop over the queries, the median of the rounds.
- p50 and p99 are wall time of single calls in the round with the lowest p50.
- Memory is RssAnon and RssFile of the process less what it had before the engine was imported: numpy and the queries.
- Page cache is how many bytes of the index's files are resident, whichever process reads them (`mincore`): the RAM that RSS hides.
- Recall counts a row as found when its exact similarity reaches that of the true tenth; computed afterwards from the base rows.
"""

import argparse
import importlib
import importlib.metadata
import json
import os
import resource
import shutil
import sys
import time
from pathlib import Path

for variable in (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "TOKIO_WORKER_THREADS",
    "LANCE_CPU_THREADS",
):
    os.environ.setdefault(variable, "1")

import numpy as np

from bench import memory, paths, process

K = 10
ROUNDS_SECONDS = 1.5
ROUNDS_MAX = 7
MB = 1e6


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.measure", description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["build", "search"])
    parser.add_argument("peer")
    parser.add_argument("config")
    parser.add_argument("set")
    parser.add_argument("--queries", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=300, help="stop the sweep after this long")
    parser.add_argument("--effort", type=json.loads, help="one effort instead of the sweep; prints, keeps nothing")
    parser.add_argument("--print", action="store_true", help="print the sweep, keep nothing")
    asked = parser.parse_args()
    if asked.what == "build":
        build(asked.peer, asked.config, asked.set)
    elif asked.effort:
        print(json.dumps(next(search(asked, [asked.effort]))))
    else:
        keep(asked)


def adapter(peer: str):
    return importlib.import_module(f"bench.peers.{peer}.{peer}")


def index_folder(peer: str, config: str, data: str) -> Path:
    """`NAME_mapped` differs from `NAME` in how its files are read: they share an index."""
    return paths.INDEXES / data / f"{peer}.{config.removesuffix('_mapped')}"


def build(peer: str, config: str, data: str) -> None:
    """Into a folder that takes its name when it is complete."""
    about = json.loads((paths.CACHE / data / "about.json").read_text())
    base = np.load(paths.CACHE / data / "base.npy", mmap_mode="r")
    engine = adapter(peer)
    target = index_folder(peer, config, data)
    part = target.with_name(target.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    before, started = cpu_seconds(), time.perf_counter()
    told = engine.build(base, about["metric"], part, **engine.CONFIGS[config])
    figures = {
        "build_cpu_s": round(cpu_seconds() - before, 2),
        "build_wall_s": round(time.perf_counter() - started, 2),
        # With the base rows, which are mapped and all read.
        "build_peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MB, 1),
        "disk_mb": round(memory.disk_bytes(part) / MB, 1),
        # A server's own figures, in place of its client's.
        **(told or {}),
    }
    (part / "build.json").write_text(json.dumps(figures) + "\n")
    shutil.rmtree(target, ignore_errors=True)
    part.rename(target)
    print(json.dumps({"set": data, "engine": peer, "config": config, **figures}))


def keep(asked: argparse.Namespace) -> None:
    engine = adapter(asked.peer)
    paths.RESULTS.mkdir(exist_ok=True)
    target = paths.RESULTS / f"{asked.set}.{asked.peer}.{asked.config}.jsonl"
    rows, deadline = [], time.monotonic() + asked.seconds
    for row in search(asked, engine.efforts(engine.CONFIGS[asked.config])):
        rows.append(json.dumps(row) + "\n")
        print(rows[-1], end="", flush=True)
        if row["recall"] > 0.9985 or time.monotonic() > deadline:
            break
    if not asked.print:
        target.write_text("".join(rows))


def search(asked: argparse.Namespace, efforts: list[dict]):
    """A row of figures for each effort."""
    data = paths.CACHE / asked.set
    about = json.loads((data / "about.json").read_text())
    queries = np.array(np.load(data / "query.npy", mmap_mode="r")[: asked.queries])
    truth = np.load(data / "gt100_sim.npy")[: asked.queries, K - 1]
    folder = index_folder(asked.peer, asked.config, asked.set)
    built = json.loads((folder / "build.json").read_text())
    bare = process.resident_bytes()
    memory.evict(folder)
    engine = adapter(asked.peer)
    started = time.perf_counter()
    searcher = engine.Searcher(folder, about["metric"], queries.shape[1], **engine.CONFIGS[asked.config])
    searcher.set(**efforts[0])
    searcher.search(queries[0], K)
    opened = time.perf_counter() - started
    pid = getattr(searcher, "pid", None)
    if pid:
        bare = (0, 0)
    for effort in efforts:
        searcher.set(**effort)
        found, figures = timed(searcher, queries, process.cpu_clock(pid))
        anonymous, mapped = (now - then for now, then in zip(process.resident_bytes(pid), bare, strict=True))
        yield {
            "set": asked.set,
            "engine": asked.peer,
            "version": version(engine),
            "config": asked.config,
            "effort": effort,
            "recall": round(recall(found, queries, data / "base.npy", truth, about["metric"]), 4),
            **figures,
            "anon_mb": round(anonymous / MB, 1),
            "file_mb": round(mapped / MB, 1),
            "cache_mb": round(memory.cached_bytes(folder) / MB, 1),
            "open_to_first_ms": round(opened * 1e3, 1),
            **built,
        }


def version(engine) -> str:
    if callable(engine.VERSION_OF):
        return engine.VERSION_OF()
    return importlib.metadata.version(engine.VERSION_OF) if engine.VERSION_OF else "workspace"


def timed(searcher, queries: np.ndarray, clock: int) -> tuple[list, dict]:
    """Results, and figures of some rounds over all queries; a first, uncounted round warms up."""
    started = time.perf_counter()
    found, first = [], []
    for query in queries:
        begun = time.perf_counter_ns()
        found.append(searcher.search(query, K))
        first.append(time.perf_counter_ns() - begun)
    # A round of milliseconds says little; fast engines get several.
    rounds = max(1, min(ROUNDS_MAX, int(ROUNDS_SECONDS / (time.perf_counter() - started))))
    cpu, walls = [], []
    for _ in range(rounds):
        wall = np.empty(len(queries), dtype=np.int64)
        before = time.clock_gettime_ns(clock)
        for number, query in enumerate(queries):
            begun = time.perf_counter_ns()
            searcher.search(query, K)
            wall[number] = time.perf_counter_ns() - begun
        cpu.append((time.clock_gettime_ns(clock) - before) / len(queries))
        walls.append(wall)
    wall = min(walls, key=np.median)
    return found, {
        "cpu_ms": round(float(np.median(cpu)) / 1e6, 5),
        "p50_ms": round(float(np.percentile(wall, 50)) / 1e6, 5),
        "p99_ms": round(float(np.percentile(wall, 99)) / 1e6, 5),
        "first_round_p50_ms": round(float(np.percentile(first, 50)) / 1e6, 5),
        "queries": len(queries),
        "rounds": rounds,
    }


def recall(found: list, queries: np.ndarray, base: Path, truth: np.ndarray, metric: str) -> float:
    rows = np.load(base, mmap_mode="r")
    hits = 0
    for ids, query, reach in zip(found, queries, truth, strict=True):
        ids = np.unique(np.asarray(ids, dtype=np.int64)[:K])
        candidates = rows[ids[(ids >= 0) & (ids < len(rows))]].astype(np.float64)
        exact = candidates @ query if metric == "cosine" else -((candidates - query) ** 2).sum(axis=1)
        hits += int((exact >= reach - 1e-6 * max(1.0, abs(reach))).sum())
    return hits / (K * len(queries))


def cpu_seconds() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


if __name__ == "__main__":
    sys.exit(main())
