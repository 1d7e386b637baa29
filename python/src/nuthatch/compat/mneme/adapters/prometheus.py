"""A hook for ``prometheus_client``."""

from __future__ import annotations

from typing import Any

from . import events


class PrometheusMetricsHook(events.Hook):
    """Counts a cache's events in a registry of ``prometheus_client``; without one, in its default one."""

    def __init__(self, registry: Any = None, namespace: str = "mneme") -> None:
        self.registry = registry
        super().__init__(_Instruments(events.library("prometheus_client", "prometheus-client"), registry, namespace))


class _Instruments:
    def __init__(self, library: Any, registry: Any, namespace: str) -> None:
        of: dict[str, Any] = {} if registry is None else {"registry": registry}
        self._counters = {
            event: library.Counter(f"{namespace}_{name}", told, labelnames=(*labels, "namespace"), **of)
            for event, (name, told, labels) in events.COUNTERS.items()
        }
        self._histograms = {
            what: library.Histogram(f"{namespace}_{name}", told, labelnames=("namespace",), buckets=ends, **of)
            for what, (name, told, _, ends) in events.HISTOGRAMS.items()
        }
        self._gauges = {
            field: library.Gauge(f"{namespace}_{name}", told, labelnames=("namespace",), **of)
            for field, (name, told, _) in events.GAUGES.items()
        }

    def add(self, event: str, by: int, labels: dict[str, str]) -> None:
        self._counters[event].labels(**labels).inc(by)

    def observe(self, what: str, value: float, labels: dict[str, str]) -> None:
        self._histograms[what].labels(**labels).observe(value)

    def set(self, field: str, value: float, labels: dict[str, str]) -> None:
        self._gauges[field].labels(**labels).set(value)
