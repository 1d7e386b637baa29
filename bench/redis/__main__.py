"""`python -m bench.redis [--rounds N] [--only keys|vectors]`: ours against redis-server, in turns, in one run.

Keeps a JSON line for each figure in `bench/results/redis.jsonl`. Needs redis-benchmark, the packages of `bench/redis/requirements.txt`,
NUTHATCH_TEST_DATA (the folder with text/), our Python package, and for the protocol's cost
`cargo build --workspace --release --locked --example overhead`.
"""

import argparse
import contextlib
import json
import os
import statistics
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import nuthatch

from bench import machine, paths
from bench.redis import keys, servers, vectors

STARTED: tuple[Callable, ...] = (servers.ours, servers.redis)
SHAPES = ((1, 1), (50, 1), (50, 16))
"""Connections, and commands that each sends before it reads."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--only", choices=("keys", "vectors"))
    asked = parser.parse_args()
    parts = {"keys": of_keys, "vectors": of_vectors}
    with (paths.RESULTS / "redis.jsonl").open("w" if asked.only is None else "a") as kept:
        print(f"{machine.machine()} Redis {servers.version()}, nuthatch {nuthatch.__version__}")
        for name, part in parts.items():
            if asked.only in (None, name):
                print(f"\n{name}, load average {os.getloadavg()[0]:.1f}")
                for row in part(asked):
                    kept.write(json.dumps({"what": name, "load": round(os.getloadavg()[0], 1), **row}) + "\n")


def of_keys(asked: argparse.Namespace) -> Iterator[dict]:
    """Medians of the rounds, and the median of the rounds' ratios."""
    print(f"{'':34}{'ours /s':>10}{'Redis /s':>10}{'x':>6}{'ours p50, p99 ms':>20}{'Redis p50, p99 ms':>20}")
    for durability in servers.FSYNCS:
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=paths.CACHE)))
            pair = [stack.enter_context(start(folder / start.__name__, durability)) for start in STARTED]
            for clients, pipeline in SHAPES:
                requests = asked.requests * pipeline // (4 if clients == 1 else 1)
                rounds = []
                for number in range(asked.rounds):
                    turns = pair if number % 2 == 0 else pair[::-1]
                    measured = {one.name: keys.measured(one, clients, pipeline, requests) for one in turns}
                    rounds.append(measured)
                for command in ("SET", "GET"):
                    yield from compared(durability, clients, pipeline, command, rounds)


def compared(durability: str, clients: int, pipeline: int, command: str, rounds: list[dict]) -> Iterator[dict]:
    of = {name: [one[name][command] for one in rounds] for name in ("ours", "Redis")}
    middle = {
        name: {field: statistics.median(one[field] for one in many) for field in many[0]} for name, many in of.items()
    }
    ratio = statistics.median(
        mine["per_s"] / theirs["per_s"] for mine, theirs in zip(of["ours"], of["Redis"], strict=True)
    )
    ours, theirs = middle["ours"], middle["Redis"]
    title = f"{command}, {durability}, {clients} x {pipeline}"
    times = [f"{one['p50_ms']:.2f}, {one['p99_ms']:.2f}" for one in (ours, theirs)]
    print(f"{title:34}{ours['per_s']:10,.0f}{theirs['per_s']:10,.0f}{ratio:6.2f}{times[0]:>20}{times[1]:>20}")
    common = {
        "durability": durability,
        "clients": clients,
        "pipeline": pipeline,
        "command": command,
        "x": round(ratio, 3),
    }
    yield common | {"ours": ours, "redis": theirs}


def of_vectors(asked: argparse.Namespace) -> Iterator[dict]:
    """Durability `commit` on both sides."""
    rows, questions = vectors.base(asked.rows), vectors.questions()
    tenths = vectors.truth(rows, questions)
    print(f"{len(rows):,} x {vectors.DIM}, {vectors.LIMIT} nearest, {len(questions)} questions, one connection")
    with tempfile.TemporaryDirectory(dir=paths.CACHE) as kept:
        for start in STARTED:
            folder = Path(kept) / start.__name__
            with start(folder, "commit") as server:
                loaded = vectors.load(server, rows)
            if start is servers.ours:
                optimized(folder)
            with start(folder, "commit") as server:
                print(f"\n{server.name}: VADD {loaded['per_s']:,}/s, {loaded['cpu_s']} CPU s")
                print(f"{'EF':>10}{'recall':>9}{'CPU us':>9}{'p50 ms':>9}{'p99 ms':>9}")
                for row in vectors.sweep(server, rows, questions, tenths):
                    print("{ef!s:>10}{recall:9.4f}{cpu_us:9.0f}{p50_ms:9.3f}{p99_ms:9.3f}".format(**row))
                    yield {"server": server.name, **row}
                held = vectors.held(server, folder)
                print(", ".join(f"{name} {value}" for name, value in held.items()))
                yield {"server": server.name, **loaded, **held}
        target = Path(os.environ.get("CARGO_TARGET_DIR", paths.REPOSITORY / "target"))
        program = target / "release" / "examples" / "overhead"
        for one_core in (False, True):
            print(f"\nA search of the engine and over the protocol, {'one core' if one_core else 'all cores'}")
            for row in vectors.overhead(program, Path(kept) / "ours", questions, one_core=one_core):
                print("{asked:>10}{p50_ms:9.3f}{p99_ms:9.3f}".format(**row))
                yield row


def optimized(folder: Path) -> None:
    """Does the work of idle time: the index is complete before the first query."""
    with nuthatch.connect(folder) as db:
        for collection in db.collections():
            db.collection(collection.name).optimize()


if __name__ == "__main__":
    main()
