"""Running the programs: a row of figures for each run.

Engines take turns inside of every round of every cell, another one first each time, so that what disturbs the machine disturbs all of them.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench import cgroup, memory
from bench.kv import engines
from bench.kv.plan import Cell, Plan

SEED = 1
MB = 1e6
SYNC_CALLS = ("fsync", "fdatasync", "sync_file_range", "msync")


def everything(plan: Plan, compared: tuple[str, ...], only: list[str] | None) -> Iterator[dict]:
    """All of it, or the groups in `only` (their cells are chosen already)."""
    engines.WORK.mkdir(parents=True, exist_ok=True)
    if only is None or "load" in only or not all(is_loaded(engine, plan) for engine in compared):
        yield from load(plan, compared)
    if only is None or "micro" in only:
        yield from micro(plan, compared)
    for cell in plan.counted if only is None or "counted" in only else ():
        yield from counted(plan, cell, compared)
    for cell in plan.cells:
        yield from run(plan, cell, compared)
    shutil.rmtree(engines.WORK / "cell", ignore_errors=True)


def turns(plan: Plan, compared: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    for number in range(plan.rounds):
        first = number % len(compared)
        for engine in compared[first:] + compared[:first]:
            yield number, engine


def is_loaded(engine: str, plan: Plan) -> bool:
    note = engines.base(engine).with_suffix(".keys")
    return note.exists() and int(note.read_text()) == plan.keys


def load(plan: Plan, compared: tuple[str, ...]) -> Iterator[dict]:
    """Each round into an empty folder; the last one's stay."""
    for number, engine in turns(plan, compared):
        folder = engines.base(engine)
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        settings = {"keys": plan.keys, "cache_mb": plan.cache_mb}
        rows = told(engine, "load", folder, **settings)
        told(engine, "settle", folder, **settings)
        folder.with_suffix(".keys").write_text(str(plan.keys))
        for row in rows:
            yield row | {"round": number, "group": "load", "disk_mb": round(memory.disk_bytes(folder) / MB, 1)}


def run(plan: Plan, cell: Cell, compared: tuple[str, ...]) -> Iterator[dict]:
    # An hour's worth of one cell would be measured once.
    rounds = turns(plan, compared) if cell.group != "published" else ((0, engine) for engine in compared)
    for number, engine in rounds:
        folder = engines.fresh(engine)
        settings = {"keys": plan.keys, **cell.settings()}
        common = {"round": number, "group": cell.group}
        if cell.limit_mb is None:
            rows = told(engine, "run", folder, **settings)
            yield from (row | common for row in rows)
        elif os.geteuid() == 0:
            yield limited(engine, folder, cell, settings) | common


def limited(engine: str, folder: Path, cell: Cell, settings: dict) -> dict:
    memory.evict(folder)
    command = [str(part) for part in line(engine, "run", folder, settings)]
    done, figures = cgroup.run(cell.limit_mb, command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    row = {"engine": engine, "what": "run", **{name: settings[name] for name in ("workload", "durability", "clients")}}
    if done.returncode == 0:
        row |= json.loads(done.stdout.splitlines()[-1])
    else:
        row["failed"] = "killed" if figures["killed"] else f"exit status {done.returncode}"
    return row | {name: settings[name] for name in ("keys", "cache_mb")} | figures


def micro(plan: Plan, compared: tuple[str, ...]) -> Iterator[dict]:
    for number, engine in turns(plan, compared):
        settings = {"keys": plan.keys, "cache_mb": plan.cache_mb}
        folder = engines.fresh(engine)
        memory.evict(folder)
        rows = told(engine, "cold", folder, seconds=60, **settings)
        rows += told(engine, "micro", engines.fresh(engine), seconds=plan.micro_seconds, **settings)
        yield from (row | {"round": number, "group": "micro"} for row in rows)


def counted(plan: Plan, cell: Cell, compared: tuple[str, ...]) -> Iterator[dict]:
    """Sync calls of the whole process and the writes that they served; needs `perf` and the right to use it."""
    if not shutil.which("perf"):
        return
    for engine in compared:
        folder = engines.fresh(engine)
        settings = {"keys": plan.keys, **cell.settings(), "seconds": plan.counted_seconds, "warmup": 0.1}
        with tempfile.NamedTemporaryFile("r") as counts:
            events = ",".join(f"syscalls:sys_enter_{call}" for call in SYNC_CALLS)
            command = ["perf", "stat", "-x,", "-o", counts.name, "-e", events, *line(engine, "run", folder, settings)]
            done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True)
            if done.returncode != 0:
                return
            fields = [row.split(",") for row in counts.read().splitlines() if "sys_enter" in row]
        row = json.loads(done.stdout.splitlines()[-1])
        syncs = sum(int(count) for count, *_ in fields if count.isdigit())
        writes = row["kinds"]["update"]["count"]
        same = {name: row[name] for name in ("engine", "workload", "durability", "clients", "keys", "cache_mb", "seed")}
        yield same | {"what": "counted", "group": "counted", "round": 0, "syncs": syncs, "writes": writes}


def line(engine: str, what: str, folder: Path, settings: dict) -> list:
    return [
        engines.program(engine),
        what,
        folder,
        *(f"{name}={value}" for name, value in settings.items()),
        f"seed={SEED}",
    ]


def told(engine: str, what: str, folder: Path, **settings) -> list[dict]:
    """The rows that a program prints. It is given some priority, which takes the place of a quiet machine only in part."""
    command = [str(part) for part in line(engine, what, folder, settings)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, preexec_fn=hurry if os.geteuid() == 0 else None)
    if done.returncode != 0:
        sys.exit(f"exit status {done.returncode}: {' '.join(command)}")
    return [json.loads(row) for row in done.stdout.splitlines()]


def hurry() -> None:
    os.nice(-5)
