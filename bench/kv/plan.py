"""The measurements, in the full and in the quick form."""

from collections.abc import Iterator
from dataclasses import dataclass, field

WORKLOADS = {
    "a": "50 % read, 50 % update",
    "b": "95 % read, 5 % update",
    "c": "reads only",
    "d": "95 % read of the latest, 5 % insert",
    "e": "95 % scan of 1 to 100, 5 % insert",
    "f": "50 % read, 50 % read-modify-write",
}
CLIENTS = (1, 8, 64)


@dataclass(frozen=True)
class Cell:
    """One workload in one configuration."""

    workload: str
    durability: str
    clients: int
    cache_mb: int
    group: str = "ycsb"
    seconds: float = 4
    warmup: float = 1
    limit_mb: int | None = None

    def settings(self) -> dict:
        names = ("workload", "durability", "clients", "cache_mb", "seconds", "warmup")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Plan:
    keys: int
    rounds: int
    cache_mb: int
    cells: tuple[Cell, ...]
    micro_seconds: float
    counted_seconds: float
    """Of the runs in which fsyncs are counted, which are not timed."""

    counted: tuple[Cell, ...] = field(default=())


def full() -> Plan:
    cells = tuple(ycsb((64, 1024), WORKLOADS, CLIENTS))
    return Plan(
        keys=2_000_000,
        rounds=3,
        cache_mb=64,
        cells=cells + tuple(one_client_for_long()) + tuple(limited(192, 64)),
        micro_seconds=2,
        counted_seconds=2,
        counted=counted(64),
    )


def quick() -> Plan:
    """Fewer keys with a cache that is smaller in proportion; a few minutes."""
    # 300,000 keys : 16 MB is about 2,000,000 : 107.
    timing = {"seconds": 1.5, "warmup": 0.5}
    cells = [
        *ycsb((16,), "ab", CLIENTS, ("commit",), **timing),
        *ycsb((16,), "c", CLIENTS, **timing),
        *ycsb((16,), "def", (8,), ("commit",), **timing),
        *ycsb((16,), "a", (8,), ("os",), **timing),
    ]
    return Plan(
        keys=300_000,
        rounds=1,
        cache_mb=16,
        cells=tuple(cells),
        micro_seconds=0.4,
        counted_seconds=1,
        counted=counted(16),
    )


def ycsb(caches, workloads, clients, durabilities=("commit", "os"), **timing) -> Iterator[Cell]:
    for cache_mb in caches:
        for workload in workloads:
            # Reads alone have no durability.
            for durability in durabilities if workload != "c" else ("os",):
                for number in clients:
                    yield Cell(workload, durability, number, cache_mb, **timing)


def one_client_for_long() -> Iterator[Cell]:
    """The configuration that an earlier key-value store published figures for."""
    for workload in "abc":
        yield Cell(workload, "commit", 1, 1024, group="published", seconds=60, warmup=15)


def limited(limit_mb: int, cache_mb: int) -> Iterator[Cell]:
    """Page cache counts: the data does not fit."""
    for workload in "abc":
        durability = "os" if workload == "c" else "commit"
        yield Cell(workload, durability, 8, cache_mb, group="limited", seconds=6, warmup=4, limit_mb=limit_mb)


def counted(cache_mb: int) -> tuple[Cell, ...]:
    return tuple(Cell("a", "commit", clients, cache_mb, group="counted") for clients in CLIENTS)
