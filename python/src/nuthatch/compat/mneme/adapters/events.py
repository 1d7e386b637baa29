"""What both hooks tell of a cache: the names, the labels, and which event changes what."""

from __future__ import annotations

import importlib
from typing import Any, Protocol

from ..errors import MnemeError
from ..values import Stats

#: Counters by the event that they count: name, what they count, labels beside the namespace.
COUNTERS = {
    "hit": ("hits_total", "Answers that were given", ("layer",)),
    "miss": ("misses_total", "Lookups without an answer", ("reason",)),
    "eviction": ("evictions_total", "Answers that made room for others", ()),
    "expired": ("expirations_total", "Answers whose time was over", ()),
}
#: Histograms of hits by what they observe: name, what it is, unit, ends of the buckets.
HISTOGRAMS = {
    "similarity": (
        "hit_similarity",
        "Cosine of the answers that were given",
        "1",
        (0.5, 0.7, 0.85, 0.9, 0.95, 0.99, 1),
    ),
    "age_seconds": ("hit_age_seconds", "Age of the answers that were given", "s", (60, 600, 3600, 86400, 604800)),
}
#: Gauges by the field of ``Stats``: name, what it is, unit.
GAUGES = {
    "entries": ("entries", "Answers in the cache", "1"),
    "memory_bytes_estimate": ("memory_bytes", "Bytes of their vectors", "By"),
}


class Instruments(Protocol):
    """Where events are counted."""

    def add(self, event: str, by: int, labels: dict[str, str]) -> None:
        """Adds to a counter."""

    def observe(self, what: str, value: float, labels: dict[str, str]) -> None:
        """Adds a value to a histogram."""

    def set(self, field: str, value: float, labels: dict[str, str]) -> None:
        """Sets a gauge."""


class Hook:
    """Counts events. Gauges are no events: call ``update_gauges`` with ``cache.stats()`` from time to time."""

    def __init__(self, instruments: Instruments) -> None:
        self._instruments = instruments

    def __call__(self, event: str, told: dict[str, Any]) -> None:
        """Takes an event of the cache. One that is not known counts nothing."""
        if event not in COUNTERS:
            return
        of = {"namespace": str(told.get("namespace", "default"))}
        by = int(told.get("count", 0)) if event in ("eviction", "expired") else 1
        if by > 0:
            labels = {label: str(told.get(label, "unknown")) for label in COUNTERS[event][2]}
            self._instruments.add(event, by, {**labels, **of})
        for what in HISTOGRAMS if event == "hit" else ():
            if told.get(what) is not None:
                self._instruments.observe(what, float(told[what]), of)

    def update_gauges(self, stats: Stats) -> None:
        """Takes how much a cache, or a namespace of it, holds."""
        of = {"namespace": "_total" if stats.namespace is None else stats.namespace}
        for field in GAUGES:
            self._instruments.set(field, float(getattr(stats, field)), of)


def library(module: str, package: str) -> Any:
    """A library that the application brings."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MnemeError(f"this hook needs {package}; run: pip install {package}") from error
