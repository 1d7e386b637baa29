"""What does a call cost over its index? `python -m bench.call [SET]`

Question: how much of a search through Python is the index, how much the engine around it, and how much Python?
Data: a set of `bench.data` (text50k when left out), all its rows; ids are row numbers, each with a payload of one field. The collection is
made once, mapped, and kept next to the peers' indexes; `--again` makes it again.
Seed: none; the queries are those of the set, the first `--queries` of them.
Command: python -m bench.call, after `cargo build --release --example call` (`make env`) and with the module that is to be measured.

One thread, ten hits, include=[]. Processes in turns, `--rounds` times: the index alone and `Collection::search` in Rust
(`crates/link/examples/call.rs`), then `collection.search` through Python with `hit.id` and `hit.score` of every hit read. Of each query the
least time of all repetitions counts, and of those the median over the queries: other work on the machine only adds. The overheads are
medians of the differences of a query. Recall counts ids among the true ten.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import nuthatch

from bench import machine, paths

LIMIT = 10
COLLECTION = "bench"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.call", description=__doc__.partition("\n")[0])
    parser.add_argument("set", nargs="?", default="text50k")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--repetitions", type=int, default=20, help="of a query in a process")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each kind")
    parser.add_argument("--read", action="store_true", help="read the index files instead of mapping them")
    parser.add_argument("--recall", type=float, default=0.99)
    parser.add_argument("--again", action="store_true", help="make the collection anew")
    parser.add_argument("--python-only", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.python_only:
        print(json.dumps(through_python(asked)))
    else:
        measure(asked)


def folder_of(data: str) -> Path:
    return paths.INDEXES / data / "nuthatch.call"


def build(data: str) -> None:
    about = json.loads((paths.CACHE / data / "about.json").read_text())
    base = np.load(paths.CACHE / data / "base.npy", mmap_mode="r")
    folder = folder_of(data)
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with nuthatch.connect(folder, mapped=True) as database:
        rows = database.collection(COLLECTION, dim=base.shape[1], metric=about["metric"], embedder="none")
        for start in range(0, len(base), 1_000):
            numbers = range(start, min(start + 1_000, len(base)))
            payloads = [{"n": number} for number in numbers]
            rows.upsert(ids=list(map(str, numbers)), vectors=base[start : start + 1_000], payloads=payloads)
        rows.optimize()


def measure(asked: argparse.Namespace) -> None:
    if asked.again or not folder_of(asked.set).exists():
        build(asked.set)
    queries = paths.CACHE / asked.set / "query.npy"
    some = folder_of(asked.set).with_suffix(".queries.npy")
    np.save(some, np.load(queries)[: asked.queries])
    least: dict[str, np.ndarray] = {}
    for _ in range(asked.rounds):
        for told in (through_rust(asked, some), run_python(asked)):
            for layer in ("index", "rust", "python", "python_call"):
                if f"{layer}_us" in told:
                    times = np.array(told[f"{layer}_us"])
                    least[layer] = np.minimum(least.get(layer, times), times)
            recalls = {layer: told["recall"] for layer in ("rust", "python") if f"{layer}_us" in told}
            print(
                json.dumps({"recall": recalls, "segments": told.get("segments"), "graphs": told.get("graphs")}),
                flush=True,
            )
    median = {layer: round(float(np.median(times)), 2) for layer, times in least.items()}
    over = {
        f"{layer}_over_{below}": round(statistics.median(least[layer] - least[below]), 2)
        for layer, below in (("rust", "index"), ("python", "rust"), ("python", "index"), ("python_call", "index"))
    }
    config = {"mapped": not asked.read, "aimed_at": asked.recall, "limit": LIMIT, "queries": asked.queries}
    print(json.dumps({"set": asked.set, **config, "us": median, "overhead_us": over, "load": os.getloadavg()[0]}))
    print(machine.machine())


def through_rust(asked: argparse.Namespace, queries: Path) -> dict:
    target = Path(os.environ.get("CARGO_TARGET_DIR", paths.REPOSITORY / "target"))
    program = os.environ.get("NUTHATCH_BENCH_CALL", str(target / "release" / "examples" / "call"))
    truth = paths.CACHE / asked.set / "gt100_ids.npy"
    arguments = (folder_of(asked.set), COLLECTION, queries, truth, asked.repetitions, asked.recall)
    environment = {name: value for name, value in os.environ.items() if name != "NUTHATCH_MAPPED"}
    if not asked.read:
        environment["NUTHATCH_MAPPED"] = "1"
    return told_by([program, *map(str, arguments)], environment)


def run_python(asked: argparse.Namespace) -> dict:
    command = [sys.executable, "-m", "bench.call", asked.set, "--python-only", *(["--read"] if asked.read else [])]
    for name in ("queries", "repetitions", "recall"):
        command += [f"--{name}", str(getattr(asked, name))]
    return told_by(command, dict(os.environ))


def told_by(command: list[str], environment: dict[str, str]) -> dict:
    answer = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, env=environment, cwd=paths.REPOSITORY, check=True
    )
    return json.loads(answer.stdout)


def through_python(asked: argparse.Namespace) -> dict:
    queries = list(np.load(paths.CACHE / asked.set / "query.npy")[: asked.queries])
    truth = np.load(paths.CACHE / asked.set / "gt100_ids.npy")[:, :LIMIT]
    least = [[float("inf"), float("inf")] for _ in queries]
    found = 0
    now = time.perf_counter_ns
    with nuthatch.connect(folder_of(asked.set), create=False, mapped=not asked.read) as database:
        rows = database.collection(COLLECTION)
        for repetition in range(asked.repetitions):
            for at, query in enumerate(queries):
                started = now()
                answer = rows.search(vector=query, limit=LIMIT, include=[], recall=asked.recall)
                called = now()
                hits = [(hit.id, hit.score) for hit in answer]
                ended = now()
                least[at] = [min(least[at][0], ended - started), min(least[at][1], called - started)]
                if repetition == 0:
                    found += len({int(id) for id, _ in hits} & set(truth[at].tolist()))
    whole, call = zip(*least, strict=True)
    recall = found / (len(queries) * LIMIT)
    return {"recall": recall, "python_us": [t / 1e3 for t in whole], "python_call_us": [t / 1e3 for t in call]}


if __name__ == "__main__":
    main()
