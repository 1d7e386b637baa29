"""`docs/benchmarks/vector.md` and its pictures, from the kept results alone: `python -m bench.report`."""

import json

from bench import paths, plots, results
from bench.machine import machine

TITLES = {
    "text50k": ("50,000 x 384, cosine", "documentation passages embedded by all-MiniLM-L6-v2"),
    "sift100k": ("100,000 x 128, L2", "SIFT descriptors (own extraction, not the TEXMEX file)"),
    "sift1m": ("1,000,000 x 128, L2", "SIFT descriptors (own extraction, not the TEXMEX file)"),
    "lsa100k": (
        "100,000 x 1,024, cosine",
        "TF-IDF + SVD of documentation passages, a stand-in for a neural model of that width",
    ),
    "lsa1m": (
        "1,000,000 x 1,024, cosine",
        "TF-IDF + SVD of passages of documentation and dictionaries, many of them overlapping",
    ),
}
HEAD = """# The vector index against its peers

Question: at which recall does one core answer how many queries, and what does it cost in RAM, disk and building?

- **Data:** sets of real vectors, named with each table; 1,000 queries that are not in the base; exact neighbours by brute
  force. [bench/README.md](../../bench/README.md) tells how they are made. The seeds are in the sources.
- **Speed:** QPS/core = 1,000 / CPU ms per query of the whole process, one thread, one query a call, k = 10, warm;
  interpolated on the frontier of the sweep (speed logarithmic). A dash: never reached. p50 and p99 are wall time of the
  cheapest measured point at recall .95 or more.
- **Recall@10:** a row counts when its exact similarity reaches that of the true tenth.
- **RAM:** anonymous and mapped memory of the process less its interpreter; `page cache` is what of the index's files was
  resident while serving, mapped or not. Engines that read their files once into anonymous memory do not need it again;
  engines that read or map them while serving do.
- **Building:** one thread, CPU seconds of the process; the peak is resident memory, for the peers with the base rows mapped.
- **Ours:** `graph_read` and `graph_mapped` are the index of one segment by itself (`crates/vector`), reading its files or
  mapping them, with a block cache that holds all its codes; `engine` is the whole program through its Python module, durability
  `commit` (every write call fsynced before it returns), the default memory budget of 64 MiB, and `engine_mapped` the same folder
  opened with `mapped=True`. The peers are libraries called from Python, without durability but for
  LanceDB, Chroma and sqlite-vec with their own defaults. skeg is a server on the loopback address: CPU time and memory are
  those of its process, its client's apart; its wall times contain the way there and back. Its `tq2_mmap` (low memory) and `tq2`
  have one shard and are asked read-only, `tq2_mmap_shards` has one for each core, as it makes them when left alone.
- **Configurations** are the dictionaries `CONFIGS` in `bench/peers/*/*.py`.
- **Machine:** {machine}
- **Command:** `make bench-vector`; the tables alone, from `bench/results/*.jsonl`: `python -m bench.report`.
"""
LIMITS = """## Where a goal is missed, and what limits

- **1,024 dimensions, memory to spare.** A profile of `lsa100k`, mapped, effort 96 (`perf record`, 66 hops, 94 µs a
  search): a hop reads a record of 4 KiB, 64 cache lines that no earlier hop has touched. By
  estimate a core fetches ten lines at once, so a record takes about 0.4 µs whatever is done with it: most of the samples in the walk
  itself, a fifth of all, wait right behind the prefetches; estimating the neighbours takes 11 %, the pool 15 %,
  rotating the question and making its table 11 %. SymphonyQG's records are twice as large and hold the vector itself,
  so that nothing is compared again afterwards (8 % here). What would move it: fewer hops (filled lists brought a
  quarter, [RFC 0008](../rfcs/0008-vector-graph.md); a second pass over the rows some hundredths more, for twice the
  building), or records of which a search touches only a part. Larger records were tried: fewer hops, the same time.
- **Little memory.** Reading instead of mapping costs a system call a record, 1.3 µs and a copy, more than the work on
  it: the price of memory that is bounded and counted. Where everything is cached, Qdrant Edge and skeg map what they
  search and have it resident (the columns of RAM). Where it is not, codes are scanned in place of a graph that cannot be
  cached: in 96 MB as quick as Qdrant Edge at the median, with more recall and a sixth of its p99; in 256 MB, which
  its whole index fits into, it is twice as quick.
- **The whole engine** adds 50 to 100 µs of processor time to a search of its index: a Python call, ten objects, ten ids
  from the store. It scans codes up to 65,536 rows, with recall 1.000, whatever recall is asked for. Its sweep begins with
  an evicted index, and while a graph is cold only one search in four walks it: `lsa100k` took 0.27 ms (.923) and 0.28 ms
  (.952) once it was warm, asked for .90 and .95.
- **Filters** whose rows lie elsewhere, and **searches while rows arrive**, are in [large.md](large.md), with what
  limits them.
- **A million rows of 1,024 dimensions**: the rows of `lsa1m` that are mapped touch 4 KiB in 9 GB a hop. In huge pages
  (`MADV_HUGEPAGE`) they take 3 to 8 % less time, and each first touch reads 2 MiB; other hints for prefetching change nothing.
  SymphonyQG holds 8.6 GB in memory, in huge pages, and needed 13.5 GB to build. Only the fastest peer was built there. Our
  graph was built by two threads, everything else by one.
- **Several processors** were not measured.
"""
LOW_MEMORY = """In a control group that counts everything, page cache included; one effort each, the cheapest that reaches .95 without a
limit. The index is evicted first: the first round over the queries starts cold, the others find what fits. A peer's limit
includes some 35 MB of Python and numpy.
"""
BESIDE = """One run, up to {rounds} sweeps of each in turns, the best of each point. The load average of the machine was {load}, of which
the measurement itself makes 1: speeds compare within this table alone, and its p50 and p99 contain the waiting for a core.
"""
COLUMNS = [
    "engine",
    "version",
    "config",
    *(f"QPS/core @{recall:.2f}".replace("0.", ".") for recall in results.RECALLS),
] + [
    "p50 ms",
    "p99 ms",
    "best recall",
    "RAM anon MB",
    "RAM file MB",
    "page cache MB",
    "disk MB",
    "build CPU s",
    "build peak MB",
]
RATIOS = ["config", *(f"@{recall:.2f}".replace("0.", ".") for recall in results.RECALLS)]
LOW = [
    "limit MB",
    "engine",
    "config",
    "recall",
    "p50 ms",
    "p99 ms",
    "CPU ms",
    "first round p50 ms",
    "open to first answer ms",
    "charged at most MB",
    "outcome",
]


def main() -> None:
    parts = [HEAD.format(machine=machine())]
    folder = paths.REPORTS / "vector"
    folder.mkdir(parents=True, exist_ok=True)
    for name in results.sets():
        sweeps = results.sweeps(name)
        shape, made_of = TITLES[name]
        plots.speed(sweeps, f"{name}: {shape}", folder / f"{name}-speed.svg")
        plots.memory(sweeps, f"{name}: {shape}", folder / f"{name}-memory.svg")
        parts.append(f"## {name}: {shape}\n\n{made_of[0].upper()}{made_of[1:]}. Sorted by speed at recall .95.\n")
        parts.append(table(COLUMNS, frontier_rows(sweeps)))
        parts.append(f"![Recall against speed](vector/{name}-speed.svg)\n\n![Memory](vector/{name}-memory.svg)\n")
        parts.extend(goals(sweeps))
        parts.extend(low_memory(name))
        for peer, rows in results.beside(name).items():
            parts.extend(beside(name, peer, rows))
    parts.append(LIMITS)
    parts.append(absent())
    (paths.REPORTS / "vector.md").write_text("\n".join(parts))


def table(columns: list[str], rows: list[list[str]]) -> str:
    sides = ["---" if name in ("engine", "version", "config", "outcome") else "--:" for name in columns]
    return "\n".join("| " + " | ".join(line) + " |" for line in [columns, sides, *rows]) + "\n"


def frontier_rows(sweeps: dict[tuple[str, str], list[dict]]) -> list[list[str]]:
    """Sorted by the speed at .95, then by the best recall."""
    lines = []
    for (engine, config), rows in sweeps.items():
        speeds = [results.at(rows, recall) for recall in results.RECALLS]
        best = max(row["recall"] for row in rows)
        reaching = [row for row in rows if row["recall"] >= 0.95] or [max(rows, key=lambda row: row["recall"])]
        row = min(reaching, key=lambda row: row["cpu_ms"])
        figures = [
            number(row[name]) for name in ("anon_mb", "file_mb", "cache_mb", "disk_mb", "build_cpu_s", "build_peak_mb")
        ]
        cells = [
            engine,
            row["version"],
            config,
            *map(number, speeds),
            f"{row['p50_ms']:.3f}",
            f"{row['p99_ms']:.3f}",
            f"{best:.3f}",
        ]
        lines.append(((speeds[1] or 0, best), [*cells, *figures]))
    return [cells for _, cells in sorted(lines, reverse=True)]


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def low_memory(name: str) -> list[str]:
    file = paths.RESULTS / f"{name}.low-memory.jsonl"
    if not file.exists():
        return []
    rows = sorted(
        map(json.loads, file.read_text().splitlines()), key=lambda row: (row["limit_mb"], row.get("p50_ms", 1e9))
    )
    cells = [
        [
            str(row["limit_mb"]),
            row["engine"],
            row["config"],
            *(
                [f"{row['recall']:.3f}"] + [f"{row[key]:.2f}" for key in ("p50_ms", "p99_ms", "cpu_ms")]
                if "recall" in row
                else ["-"] * 4
            ),
            f"{row['first_round_p50_ms']:.2f}" if "first_round_p50_ms" in row else "-",
            f"{row['open_to_first_ms']:.0f}" if "open_to_first_ms" in row else "-",
            f"{row['peak_mb']:.0f}",
            row.get("failed", "ok"),
        ]
        for row in rows
    ]
    told = f"### {name} inside a memory limit\n\n{LOW_MEMORY}"
    return [told, table(LOW, cells)]


def beside(name: str, peer: str, sweeps: dict[tuple[str, str], list[dict]]) -> list[str]:
    """Ours and one peer, and how many times faster ours are than its fastest at each recall."""
    every = [row for rows in sweeps.values() for row in rows]
    loads = [load for row in every for load in row["load"]]
    told = BESIDE.format(rounds=max(row["round"] for row in every) + 1, load=f"{min(loads):.1f} to {max(loads):.1f}")
    theirs = [rows for (engine, _), rows in sweeps.items() if engine == peer]
    lines = [
        [f"{config} / {peer}", *ratios(rows, theirs)] for (engine, config), rows in sweeps.items() if engine != peer
    ]
    head = f"### {name} beside {peer}\n\n{told}"
    return [
        head,
        table(COLUMNS, frontier_rows(sweeps)),
        "How many times as fast as its fastest:\n",
        table(RATIOS, lines),
    ]


def goals(sweeps: dict[tuple[str, str], list[dict]]) -> list[str]:
    """How many times faster ours are than the fastest peer, and reading in little memory, than Qdrant Edge from its disk."""
    peers = [rows for (engine, _), rows in sweeps.items() if engine != "nuthatch"]
    qdrant = [rows for (engine, _), rows in sweeps.items() if engine == "qdrant_edge"]
    compared = [(config, "the fastest peer", peers) for config in ("graph_mapped", "engine_mapped")]
    compared += [(config, "qdrant_edge", qdrant) for config in ("graph_read", "engine")]
    lines = [
        [f"{config} / {whom}", *ratios(sweeps["nuthatch", config], theirs)]
        for config, whom, theirs in compared
        if theirs and ("nuthatch", config) in sweeps
    ]
    return ["How many times as fast:\n", table(RATIOS, lines)] if lines else []


def ratios(ours: list[dict], theirs: list[list[dict]]) -> list[str]:
    """At each recall, our speed over that of their fastest."""
    told = []
    for recall in results.RECALLS:
        speed = results.at(ours, recall)
        fastest = max((results.at(rows, recall) or 0 for rows in theirs), default=0)
        told.append("-" if not speed else f"{speed / fastest:.2f}" if fastest else "only ours")
    return told


def absent() -> str:
    """Engines that could not be measured, and why."""
    reasons = json.loads((paths.RESULTS / "absent.json").read_text())
    lines = [f"- **{name}:** {why}" for name, why in reasons.items()]
    return "## What is not here\n\n" + "\n".join(lines) + "\n" if lines else ""


if __name__ == "__main__":
    main()
