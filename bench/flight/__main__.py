"""`python -m bench.flight [--rows N] [--rounds N] [--only put|get|search]`: ours against a bare Flight server, in turns, in one run.

Keeps a JSON line for each figure in `bench/results/flight.jsonl`. NUTHATCH_TEST_DATA is the folder with sift/ and text/;
`nuthatch` is the program that is measured, NUTHATCH_BIN another one.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy
import pyarrow.flight as flight

from bench import machine, paths
from bench.flight import measure
from bench.serving import serving

DURABILITIES = ("commit", "os")


@contextlib.contextmanager
def bare() -> Iterator[flight.FlightClient]:
    process = subprocess.Popen([sys.executable, "-m", "bench.flight.bare"], stdout=subprocess.PIPE, text=True)
    try:
        yield flight.connect(f"grpc://127.0.0.1:{int(process.stdout.readline())}")
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def ours(folder: Path) -> Iterator[flight.FlightClient]:
    with serving(folder, "--memory-budget", "512MiB") as server:
        yield flight.connect(f"grpc://{server.http}")


def create(client: flight.FlightClient, name: str, dim: int) -> None:
    options = {"collection": name, "dim": dim, "metric": "l2" if dim == 128 else "cosine", "embedder": "none"}
    list(client.do_action(flight.Action("create", json.dumps(options).encode())))


def drop(client: flight.FlightClient, name: str) -> None:
    list(client.do_action(flight.Action("drop", json.dumps({"collection": name}).encode())))


def moving(asked: argparse.Namespace, theirs: flight.FlightClient, mine: flight.FlightClient) -> Iterator[dict]:
    for dim in (128, 384):
        made = measure.batches(dim, asked.rows, asked.batch_rows)
        about = {"dim": dim, "rows": asked.rows, "batch_rows": asked.batch_rows, "bytes": measure.size(made)}
        taken: dict[tuple[str, str], list[float]] = {}
        for _ in range(asked.rounds):
            # In turns, so that whatever else runs here slows both.
            path = flight.FlightDescriptor.for_path("docs")
            taken.setdefault(("put", "bare"), []).append(measure.put(theirs, path, made))
            for durability in DURABILITIES:
                create(mine, "docs", dim)
                target = {"collection": "docs", "durability": durability}
                command = flight.FlightDescriptor.for_command(json.dumps(target))
                taken.setdefault(("put", durability), []).append(measure.put(mine, command, made))
                if durability != DURABILITIES[-1]:
                    drop(mine, "docs")
            ticket = json.dumps({"collection": "docs", "columns": ["id", "vector"]}).encode()
            for _ in range(3):
                taken.setdefault(("get", "bare"), []).append(measure.get(theirs, b"docs", asked.rows))
                taken.setdefault(("get", "nuthatch"), []).append(measure.get(mine, ticket, asked.rows))
            drop(mine, "docs")
        for (what, whose), seconds in taken.items():
            middle = statistics.median(seconds)
            yield {
                **about,
                "what": what,
                "whose": whose,
                "mb_per_s": round(about["bytes"] / middle / 1e6, 1),
                "rows_per_s": round(asked.rows / middle),
                "of_bare": round(statistics.median(taken[what, "bare"]) / middle, 3),
                "load": round(measure.load(), 1),
            }


def settled(client: flight.FlightClient, name: str) -> dict:
    """Waits until the background work has nothing large left to do, or a minute; what there is then."""
    for _ in range(120):
        [said] = client.do_action(flight.Action("stats", json.dumps({"collection": name}).encode()))
        about = json.loads(said.body.to_pybytes())
        if about["fresh_rows"] < 8192 and not about["building"]:
            break
        time.sleep(0.5)
    return {what: about[what] for what in ("fresh_rows", "segments", "graphs")}


def filtered(asked: argparse.Namespace, mine: flight.FlightClient) -> Iterator[dict]:
    rows = 100_000
    create(mine, "many", 128)
    made = measure.batches(128, rows, 2000, team=lambda row: row % 100)
    measure.put(mine, flight.FlightDescriptor.for_path("many"), made)
    index = settled(mine, "many")
    questions = numpy.load(paths.source_data() / "sift" / "query.npy")[: asked.searches].astype(numpy.float32)
    for share, where in ((0.5, "team < 50"), (0.1, "team < 10"), (0.01, "team = 7")):
        measure.searches(mine, "many", questions[:20], where)
        taken = measure.searches(mine, "many", questions, where)
        p50, p99 = numpy.percentile(taken, [50, 99])
        yield {
            "what": "search", "rows": rows, "dim": 128, "index": index, "searches": len(taken), "passes": share, "limit": 10,
            "p50_ms": round(float(p50), 2), "p99_ms": round(float(p99), 2), "load": round(measure.load(), 1),
        }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.flight", description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--batch-rows", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--searches", type=int, default=1000)
    parser.add_argument("--only", choices=["move", "search"])
    asked = parser.parse_args()
    target = paths.RESULTS / "flight.jsonl"
    lines = []
    if asked.only and target.exists():
        before = target.read_text().splitlines()
        lines = [line for line in before if (json.loads(line)["what"] == "search") != (asked.only == "search")]
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder, ours(Path(folder) / "memory") as mine:
        print(machine.machine(), flush=True)
        if asked.only != "search":
            with bare() as theirs:
                for row in moving(asked, theirs, mine):
                    lines.append(json.dumps(row))
                    print(lines[-1], flush=True)
        if asked.only != "move":
            for row in filtered(asked, mine):
                lines.append(json.dumps(row))
                print(lines[-1], flush=True)
    target.write_text("".join(line + "\n" for line in lines))


if __name__ == "__main__":
    main()
