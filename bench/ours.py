"""The vector index by itself, through the program `crates/vector/examples/graph.rs`: `python -m bench.ours build|search CONFIG SET`.

The same rows of results as `bench.measure`. No Python is in the measured process; what the peers lose to theirs is some microseconds a call.
The configurations share one index and differ in how its files are read.
"""

import argparse
import json
import os
import subprocess
from pathlib import Path

import numpy as np

from bench import memory, paths

CONFIGS = {"graph_read": "read", "graph_mapped": "mapped"}
EFFORTS = (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 320, 400, 600, 1000)
QUERIES = 1_000


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.ours", description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["build", "search"])
    parser.add_argument("config", choices=CONFIGS)
    parser.add_argument("set")
    parser.add_argument("--effort", help="one effort instead of the sweep; prints, keeps nothing")
    parser.add_argument("--print", action="store_true", help="print the sweep, keep nothing")
    asked = parser.parse_args()
    if asked.what == "build":
        build(asked.set)
    elif asked.effort:
        print(json.dumps(search(asked.config, asked.set, [int(asked.effort)])[0]))
    else:
        rows = "".join(json.dumps(row) + "\n" for row in search(asked.config, asked.set, EFFORTS))
        print(rows, end="")
        if not asked.print:
            paths.RESULTS.mkdir(exist_ok=True)
            (paths.RESULTS / f"{asked.set}.nuthatch.{asked.config}.jsonl").write_text(rows)


def index_folder(data: str) -> Path:
    return paths.INDEXES / data / "nuthatch.graph"


def program() -> str:
    target = Path(os.environ.get("CARGO_TARGET_DIR", paths.REPOSITORY / "target"))
    return os.environ.get("NUTHATCH_BENCH_GRAPH", str(target / "release" / "examples" / "graph"))


def run(*arguments: object) -> list[dict]:
    answer = subprocess.run([program(), *map(str, arguments)], capture_output=True, text=True)
    if answer.returncode != 0:
        # Progress is on the same line, before the error.
        raise SystemExit(answer.stderr.rpartition("\r")[2].strip())
    return [json.loads(line) for line in answer.stdout.splitlines() if line.startswith("{")]


def build(data: str) -> None:
    folder = paths.CACHE / data
    metric = json.loads((folder / "about.json").read_text())["metric"]
    target = index_folder(data)
    target.parent.mkdir(parents=True, exist_ok=True)
    (built,) = run("build", folder / "base.npy", metric, target, "--threads", 1)
    figures = {
        "build_cpu_s": built["cpu_s"],
        "build_wall_s": built["wall_s"],
        "build_peak_mb": round(built["peak_rss_kb"] / 1e3, 1),
        "disk_mb": round(memory.disk_bytes(target) / 1e6, 1),
    }
    target.with_suffix(".build.json").write_text(json.dumps(figures) + "\n")
    print(json.dumps({"set": data, "engine": "nuthatch", **figures}))


def search(config: str, data: str, efforts) -> list[dict]:
    folder, index = paths.CACHE / data, index_folder(data)
    built = json.loads(index.with_suffix(".build.json").read_text())
    memory.evict(index)
    measured = run(
        "search",
        index,
        folder / "query.npy",
        folder / "gt100_ids.npy",
        *("--queries", QUERIES, "--access", CONFIGS[config], "--ef", ",".join(map(str, efforts))),
    )
    return [
        {
            "set": data,
            "engine": "nuthatch",
            "version": "workspace",
            "config": config,
            "effort": {"effort": effort},
            "recall": row["recall"],
            **{f"{name}_ms": round(row[f"{name}_us"] / 1e3, 5) for name in ("cpu", "p50", "p99")},
            "queries": int(np.load(folder / "query.npy", mmap_mode="r")[:QUERIES].shape[0]),
            "anon_mb": round(row["rss_anon_kb"] * 1.024 / 1e3, 1),
            "file_mb": round(row["rss_file_kb"] * 1.024 / 1e3, 1),
            "cache_mb": round(memory.cached_bytes(index) / 1e6, 1),
            **{name: row[name] for name in ("hops", "compared", "cold") if name in row},
            **built,
        }
        for effort, row in zip(efforts, measured, strict=True)
    ]


if __name__ == "__main__":
    main()
