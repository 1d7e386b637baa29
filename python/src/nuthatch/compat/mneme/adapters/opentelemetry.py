"""A hook for OpenTelemetry's metrics. Where they go is what the application has set up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import events


class OTelMetricsHook(events.Hook):
    """Counts a cache's events by a meter; without one, by that of the application's provider.

    The ends of the histograms' buckets are a matter of the provider's views.
    """

    def __init__(self, meter: Any = None, namespace: str = "mneme") -> None:
        library = events.library("opentelemetry.metrics", "opentelemetry-api")
        self.meter = library.get_meter("mneme") if meter is None else meter
        super().__init__(_Instruments(library, self.meter, namespace))


class _Instruments:
    def __init__(self, library: Any, meter: Any, namespace: str) -> None:
        self._library = library
        #: The values of gauges by field and namespace: they are asked for, and not told.
        self._values: dict[str, dict[str, float]] = {field: {} for field in events.GAUGES}
        self._counters = {
            event: meter.create_counter(f"{namespace}_{name}", unit="1", description=told)
            for event, (name, told, _) in events.COUNTERS.items()
        }
        self._histograms = {
            what: meter.create_histogram(f"{namespace}_{name}", unit=unit, description=told)
            for what, (name, told, unit, _) in events.HISTOGRAMS.items()
        }
        for field, (name, told, unit) in events.GAUGES.items():
            asked = [self._observations(field)]
            meter.create_observable_gauge(f"{namespace}_{name}", callbacks=asked, unit=unit, description=told)

    def _observations(self, field: str) -> Callable[[Any], list[Any]]:
        def observed(_: Any) -> list[Any]:
            values = self._values[field].items()
            return [self._library.Observation(value, {"namespace": of}) for of, value in values]

        return observed

    def add(self, event: str, by: int, labels: dict[str, str]) -> None:
        self._counters[event].add(by, labels)

    def observe(self, what: str, value: float, labels: dict[str, str]) -> None:
        self._histograms[what].record(value, labels)

    def set(self, field: str, value: float, labels: dict[str, str]) -> None:
        self._values[field][labels["namespace"]] = value
