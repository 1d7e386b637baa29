"""`docs/benchmarks/kv.md`, its CSV and its pictures, from the kept rows alone: `python -m bench.kv.report`."""

import csv
import json
import statistics
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from bench import paths
from bench.kv import engines
from bench.kv.plan import WORKLOADS
from bench.machine import cores, machine

HEAD = """# Key-value by YCSB's workloads

Question: how many calls a second does a keyspace answer, beside Pebble and RocksDB with the same memory, the same data and
the same promise?

- **Data:** {keys:,} keys of 23 bytes, values of 256 bytes of which half are random; written in random order of keys, 1,024 a
  durable batch. Seed {seed}.
- **Workloads:** YCSB's core workloads, zipfian .99 over scattered records:
{workloads}.
  Every read is checked: another record's value, or none, ends the program.
- **Durability:** `commit`: each write is fsynced before it returns, concurrent clients share fsyncs (Pebble `Sync`, RocksDB
  `sync = true`, ours `Durability::Commit`). `os`: handed to the system (Pebble `NoSync`, RocksDB `sync = false`, ours
  `Durability::Os`).
- **Memory:** `cache` is all of a store's memory: blocks, and at most half of it memtables; ours and Pebble's indexes and
  filters are inside, RocksDB's (some 7 MB) are beside it, where it is faster. Resident sizes are what the processes took.
- **Procedure:** a process for each run, on a copy of the settled folder; {warmup} s of warm-up, {seconds} s measured, {rounds}
  rounds in which the engines take turns. Figures are medians of the rounds, ratios the median of the rounds' ratios. Load
  average of the machine meanwhile, up to 64 clients included: {load}.
- **Versions:** Pebble {pebble} (Go), RocksDB {rocksdb} (crate rocksdb 0.25.0; ours stands on the same), ours the workspace.
- **Machine:** {machine}
- **Command:** `scripts/bench-kv.sh --rounds {rounds} --seconds {seconds}`; `make bench-kv` makes 3 rounds of 4 s, and
  `QUICK=1 make bench-kv` takes some minutes. The tables alone, from `bench/results/kv/full.jsonl`:
  `python -m bench.kv.report`. All rows: [kv/rows.csv](kv/rows.csv).
"""
BUSY = """**The machine was busy with other things.** Clients and background threads then wait for others, each fsync for a scheduler
tick, and a ratio of calls a second says little. CPU time a call (of the whole process, compactions included) is what to read.
"""
MICRO = """One client, keys drawn evenly. `cold`: the folder was evicted from the page cache before it was opened. Transactions: ours
and RocksDB's optimistic ones, which look for conflicts; Pebble's indexed batches, which do not. Snapshot: made, read once,
let go.

"""
LIMITED = """A control group of {limit} MB that counts page cache, too; {disk} MB of tables on disk, evicted first; cache of
{cache} MB.

"""
PUBLISHED_HEAD = """Theseon, an earlier key-value store, published 497, 4,670 and 430,000 calls a second for A, B and C: this data, an fsync for
each write, a cache of 1 GB, 15 s of warm-up, 60 s measured, on a laptop whose fsync takes 4 ms; Pebble there: 481, 4,665 and
414,000. How many clients there were is not told; here there is one.

"""
LIMITS = """
What limits, by a profile of A with 64 clients (`perf record`): 43 % of the samples are the system's, most of them putting
threads to sleep and waking them. A client is a thread here and a goroutine in Pebble's program; both processors are busy (CPU
time a call times calls a second), with 20 to 30 writes an fsync, so fewer wake-ups would move it and a faster disk would not.
With 8 clients 5 writes share an fsync and the disk is waited for. With 1,024 MB of cache an fsync takes 0.38 ms in place of 0.29
(`perf stat`: 9,318 in 3.5 s of A with 8 clients, and 12,023 with 64 MB), presumably because nothing is flushed in a cell's
seconds, so that the log grows instead of being written over. Logs that are made as long as they will be before they are
written to might move that. A lasts seconds and its ratios differ by a fifth between runs: with 8 clients 1.28 and 1.32 with 64 MB
of cache, 1.00 and 1.02 with 1,024, in another two rounds of the same hour as the second table's.

Reads: indexes and filters are partitioned and lie in the cache, inside the budget, where RocksDB has whole ones on its heap.
From 512 MB of cache on they are pinned, so that a get looks up one block in the cache instead of five, after searching four.
E reads 2 KiB blocks, made for gets: eight a scan. A quarter of its samples are the allocator's, for blocks that go through
the cache and for a page's keys and values, which it gives out as copies.
"""
GOALS = (
    ("load", None, None, 1.0),
    ("a", "commit", 1, 1.0),
    ("a", "commit", 8, 1.2),
    ("a", "commit", 64, 1.2),
    ("b", "commit", 1, 1.0),
    ("b", "commit", 8, 1.2),
    ("b", "commit", 64, 1.2),
    ("c", "os", 1, 1.0),
    ("c", "os", 8, 1.0),
    ("c", "os", 64, 1.0),
)
# Theseon's single-node figures, one client, 1 GB, fsync for each write, on a laptop whose fsync takes 4 ms.
PUBLISHED = {"a": 497, "b": 4_670, "c": 430_000}

Cells = dict[tuple, dict[str, list[dict]]]


def main() -> None:
    rows = read(paths.RESULTS / "kv" / "full.jsonl")
    folder = paths.REPORTS / "kv"
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(rows, folder / "rows.csv")
    pictures = []
    try:
        from bench.kv import plots
    except ModuleNotFoundError as error:
        print(f"no pictures: {error}")
    else:
        pictures = plots.throughput(cells(rows, "ycsb"), folder)
    (paths.REPORTS / "kv.md").write_text(text(rows, pictures))


def read(file: Path) -> list[dict]:
    return [json.loads(row) for row in file.read_text().splitlines()]


def line(row: dict) -> str:
    """The text shown for a row when it arrives."""
    what = [
        row.get(name)
        for name in ("engine", "group", "name", "workload", "durability", "clients", "cache_mb", "limit_mb")
    ]
    figures = {
        name: row[name] for name in ("ops_s", "cpu_us", "load_average", "syncs", "writes", "failed") if name in row
    }
    shown = " ".join(
        f"{name} {value:,.1f}" if isinstance(value, float) else f"{name} {value}" for name, value in figures.items()
    )
    return f"{' '.join(str(part) for part in what if part is not None)}: {shown}"


def text(rows: list[dict], pictures: Iterable[str] = ()) -> str:
    ycsb = cells(rows, "ycsb")
    timed = [row for row in rows if row["group"] == "ycsb"]
    loads = [row["load_average"] for row in rows if "load_average" in row]
    # Of one client: many clients are a load of their own, for minutes.
    lone = [row["load_average"] for row in rows if row["group"] in ("load", "micro")]
    parts = [
        HEAD.format(
            keys=rows[0]["keys"],
            seed=rows[0]["seed"],
            workloads=";\n".join(f"  {name.upper()} {told}" for name, told in WORKLOADS.items()),
            warmup=timed[0]["warmup_s"] if timed else "-",
            seconds=round(timed[0]["seconds"], 1) if timed else "-",
            rounds=1 + max(row["round"] for row in rows),
            load=f"{min(loads):.1f} to {max(loads):.1f}",
            pebble=engines.VERSIONS["pebble"],
            rocksdb=engines.VERSIONS["rocksdb"],
            machine=machine(),
        ),
        BUSY if statistics.median(lone) > cores() else "",
        goals(rows, ycsb),
        load(rows),
    ]
    for cache_mb in sorted({key[3] for key in ycsb}):
        for durability in ("commit", "os"):
            chosen = {key: cell for key, cell in ycsb.items() if (key[3], key[1]) == (cache_mb, durability)}
            if chosen:
                parts.append(f"## Cache of {cache_mb} MB, durability `{durability}`\n")
                parts.append(throughput(chosen))
                parts.extend(
                    f"![Calls a second]({name})\n" for name in pictures if name.endswith(f"{durability}-{cache_mb}.svg")
                )
                parts.append("Latencies in us, p50 / p99:\n")
                parts.append(latencies(chosen))
    parts += [counted(rows), micro(rows), limited(rows), published(rows)]
    return "\n".join(part for part in parts if part)


def cells(rows: list[dict], group: str) -> Cells:
    """Rows of a group by workload, durability, clients, cache; then by engine, in the order of rounds."""
    found: Cells = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["group"] == group:
            key = tuple(row.get(name) for name in ("workload", "durability", "clients", "cache_mb"))
            found[key][row["engine"]].append(row)
    return {key: dict(cell) for key, cell in found.items()}


def median(rows: list[dict], name: str) -> float | None:
    values = [row[name] for row in rows if row.get(name) is not None]
    return statistics.median(values) if values else None


def ratio(cell: dict[str, list[dict]], other: str, name: str = "ops_s") -> float | None:
    """Ours to another's: the median of the rounds' ratios, since what disturbs a round disturbs both."""
    pairs = zip(cell.get("nuthatch", []), cell.get(other, []), strict=False)
    ratios = [ours[name] / theirs[name] for ours, theirs in pairs if ours.get(name) and theirs.get(name)]
    return statistics.median(ratios) if ratios else None


def compared(cell: dict) -> list[str]:
    return [engine for engine in engines.TITLES if engine in cell]


def names(found: Cells) -> list[str]:
    return [engine for engine in engines.TITLES if any(engine in cell for cell in found.values())]


def table(columns: list[str], lines: list[list[str]], texts: int = 1) -> str:
    sides = ["---" if number < texts else "--:" for number in range(len(columns))]
    return "\n".join("| " + " | ".join(line) + " |" for line in [columns, sides, *lines]) + "\n"


def number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def times(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def goals(rows: list[dict], ycsb: Cells) -> str:
    lines = []
    for workload, durability, clients, least in GOALS:
        if workload == "load":
            found = {("load",): by_engine(rows, "load")}
        else:
            found = {key: cell for key, cell in ycsb.items() if key[:3] == (workload, durability, clients)}
        for key, cell in sorted(found.items()):
            reached = ratio(cell, "pebble")
            if reached is not None:
                told = (
                    "load"
                    if workload == "load"
                    else f"{workload.upper()}, {durability}, {clients} clients, {key[3]} MB"
                )
                verdict = "yes" if reached >= least else f"no, {reached / least:.2f} of it"
                cost = ratio(cell, "pebble", "cpu_s" if workload == "load" else "cpu_us")
                lines.append([told, f"{least:.1f}", times(reached), verdict, times(cost)])
    columns = ["what", "goal, x", "measured, x", "reached", "CPU time a call, x"]
    return "## Goals: calls a second against Pebble's\n\n" + table(columns, lines) + LIMITS


def by_engine(rows: list[dict], group: str, **wanted) -> dict[str, list[dict]]:
    found = defaultdict(list)
    for row in rows:
        if row["group"] == group and all(row.get(name) == value for name, value in wanted.items()):
            found[row["engine"]].append(row)
    return dict(found)


def load(rows: list[dict]) -> str:
    cell = by_engine(rows, "load")
    columns = [
        "engine",
        "records/s",
        "s",
        "s until settled",
        "CPU s",
        "CPU s until settled",
        "MB written",
        "MB on disk",
        "MB resident at most",
    ]
    figures = ("ops_s", "wall_s", "settled_s", "cpu_s", "cpu_settled_s", "written_mb", "disk_mb", "peak_rss_mb")
    lines = [
        [engines.TITLES[name], *(number(median(cell[name], figure)) for figure in figures)] for name in compared(cell)
    ]
    ratios = f"Ours: {times(ratio(cell, 'pebble'))} x Pebble, {times(ratio(cell, 'rocksdb'))} x RocksDB.\n"
    return "## Loading\n\n" + table(columns, lines) + "\n" + ratios


def throughput(found: Cells) -> str:
    shown = names(found)
    titles = [engines.TITLES[name] for name in shown]
    columns = ["workload", "clients", *(f"{title}, calls/s" for title in titles), "x Pebble", "x RocksDB"]
    columns += [f"{title}, CPU us" for title in titles] + [f"{title}, MB" for title in titles]
    lines = []
    for key, cell in sorted(found.items()):
        figures = [number(median(cell.get(name, []), "ops_s")) for name in shown]
        costs = [number(median(cell.get(name, []), what)) for what in ("cpu_us", "peak_rss_mb") for name in shown]
        lines.append(
            [key[0].upper(), str(key[2]), *figures, times(ratio(cell, "pebble")), times(ratio(cell, "rocksdb")), *costs]
        )
    return table(columns, lines)


def latencies(found: Cells) -> str:
    shown = names(found)
    lines = []
    for key, cell in sorted(found.items()):
        kinds = list(next(iter(cell.values()))[0]["kinds"])
        for kind in kinds:
            figures = []
            for name in shown:
                rows = [row["kinds"][kind] for row in cell.get(name, []) if kind in row["kinds"]]
                figures.append(f"{number(median(rows, 'p50_us'))} / {number(median(rows, 'p99_us'))}")
            lines.append([key[0].upper(), kind, str(key[2]), *figures])
    return table(["workload", "call", "clients", *(engines.TITLES[name] for name in shown)], lines, texts=2)


def counted(rows: list[dict]) -> str:
    found = cells(rows, "counted")
    if not found:
        return ""
    shown = names(found)
    lines = []
    for key, cell in sorted(found.items()):
        shares = [cell[name][0]["writes"] / max(1, cell[name][0]["syncs"]) for name in shown]
        lines.append([str(key[2]), *map(number, shares)])
    told = "Workload A, `commit`; all sync calls of the process, those of flushes and compactions included, counted in a run of its own.\n\n"
    return (
        "## Durable writes for each sync call\n\n"
        + told
        + table(["clients", *(engines.TITLES[name] for name in shown)], lines)
    )


def micro(rows: list[dict]) -> str:
    found = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["group"] == "micro":
            found[row["name"]][row["engine"]].append(row)
    if not found:
        return ""
    shown = [engine for engine in engines.TITLES if any(engine in cell for cell in found.values())]
    lines = []
    for name, cell in found.items():
        calls = [number(median(cell.get(engine, []), "ops_s")) for engine in shown]
        took = [
            f"{number(median(cell.get(engine, []), 'p50_us'))} / {number(median(cell.get(engine, []), 'p99_us'))}"
            for engine in shown
        ]
        cpu = [number(median(cell.get(engine, []), "cpu_us")) for engine in shown]
        lines.append([name, *calls, times(ratio(cell, "pebble")), times(ratio(cell, "rocksdb")), *took, *cpu])
    titles = [engines.TITLES[engine] for engine in shown]
    columns = ["call", *(f"{title}, calls/s" for title in titles), "x Pebble", "x RocksDB"]
    columns += [f"{title}, p50 / p99 us" for title in titles] + [f"{title}, CPU us" for title in titles]
    return "## Single calls\n\n" + MICRO + table(columns, lines)


def limited(rows: list[dict]) -> str:
    found = cells(rows, "limited")
    if not found:
        return ""
    limit = next(row["limit_mb"] for row in rows if row["group"] == "limited")
    disk = median(by_engine(rows, "load").get("nuthatch", []), "disk_mb")
    shown = names(found)
    lines = []
    for key, cell in sorted(found.items()):

        def told(name, cell=cell):
            failed = [row["failed"] for row in cell.get(name, []) if "failed" in row]
            return failed[0] if failed else number(median(cell.get(name, []), "ops_s"))

        costs = [number(median(cell.get(name, []), "cpu_us")) for name in shown]
        lines.append(
            [
                key[0].upper(),
                key[1],
                str(key[2]),
                *map(told, shown),
                times(ratio(cell, "pebble")),
                times(ratio(cell, "rocksdb")),
                *costs,
            ]
        )
    titles = [engines.TITLES[name] for name in shown]
    columns = ["workload", "durability", "clients", *(f"{title}, calls/s" for title in titles), "x Pebble", "x RocksDB"]
    columns += [f"{title}, CPU us" for title in titles]
    head = LIMITED.format(limit=limit, disk=number(disk), cache=next(iter(found))[3])
    return "## Larger than memory\n\n" + head + table(columns, lines, texts=2)


def published(rows: list[dict]) -> str:
    found = cells(rows, "published")
    if not found:
        return ""
    lines = []
    for key, cell in sorted(found.items()):
        figures = [number(median(cell.get(name, []), "ops_s")) for name in engines.COMPARED]
        lines.append([key[0].upper(), number(PUBLISHED[key[0]]), *figures, times(ratio(cell, "pebble"))])
    columns = ["workload", "published", *(f"{engines.TITLES[name]}, calls/s" for name in engines.COMPARED), "x Pebble"]
    return "## Published figures in their configuration\n\n" + PUBLISHED_HEAD + table(columns, lines)


def write_csv(rows: list[dict], target: Path) -> None:
    flat = []
    for row in rows:
        kinds = row.get("kinds", {})
        flat.append(
            {name: value for name, value in row.items() if name != "kinds"}
            | {f"{kind}_{figure}": value for kind, figures in kinds.items() for figure, value in figures.items()}
        )
    columns = list(dict.fromkeys(name for row in flat for name in row))
    with target.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(flat)


if __name__ == "__main__":
    main()
