"""Metrics as Prometheus reads them, made when they are asked for."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from time import monotonic
from typing import Any, Final

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from thalweg.service.http.loop_gap import LoopGap
from thalweg.service.http.subscribers import Subscribers
from thalweg.service.service import Service

METRICS: Final = CONTENT_TYPE_LATEST

_STREAM: Final = {
    "facts": "Facts that came on a stream.",
    "malformed": "Lines of a stream that could not be read.",
}
_PROGRAM_TOTALS: Final = {
    "late": ("late", "Facts that came too late for their tick."),
    "lines": ("lines", "Lines that the generation which answers has answered."),
    "cpu": ("program_cpu_seconds", "CPU seconds of the thread of a program."),
}
_PROGRAM_GAUGES: Final = {
    "holding": ("program_holding", "Facts that hold."),
    "bytes": ("program_bytes", "Memory of the engines of a program."),
}


def exposition(service: Service, subscribers: Subscribers, gap: LoopGap) -> bytes:
    """All metrics as text."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(_Metrics(service, subscribers, gap))
    return generate_latest(registry)


class _Metrics(Collector):
    def __init__(self, service: Service, subscribers: Subscribers, gap: LoopGap) -> None:
        self._service = service
        self._subscribers = subscribers
        self._gap = gap

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        yield from self._of_streams()
        yield from self._of_programs()
        yield GaugeMetricFamily("thalweg_log_bytes", "Size of the log.", value=self._service.log.bytes)
        text = "Largest gap of the event loop in the last minute."
        yield GaugeMetricFamily("thalweg_loop_gap_seconds", text, value=self._gap.largest(monotonic()))

    def _of_streams(self) -> Iterator[Metric]:
        streams = self._service.streams
        described = {}
        for name in streams.names():
            # One may be deleted meanwhile.
            with suppress(LookupError):
                described[name] = streams.describe(name)
        for key, text in _STREAM.items():
            values = {name: data[key] for name, data in described.items()}
            yield _labelled(CounterMetricFamily(f"thalweg_{key}", text, labels=["stream"]), values)

    def _of_programs(self) -> Iterator[Metric]:
        programs = {program.name: (program.current, program.describe()) for program in self._service.programs}
        described = {name: data for name, (_, data) in programs.items()}
        for key, (name, text) in _PROGRAM_TOTALS.items():
            family = CounterMetricFamily(f"thalweg_{name}", text, labels=["program"])
            yield _labelled(family, {program: data[key] for program, data in described.items()})
        for key, (name, text) in _PROGRAM_GAUGES.items():
            yield _of_program(name, text, {program: data[key] for program, data in described.items()})
        ticks = {name: generation.t for name, (generation, _) in programs.items() if generation.t is not None}
        yield _of_program("program_tick", "The last tick that was evaluated.", ticks)
        lag = {name: data["lag"]["records"] for name, data in described.items()}
        yield _of_program("program_lag_records", "Records of the log that a program has not taken yet.", lag)
        counts = dict.fromkeys(described, 0) | self._subscribers.counts()
        yield _of_program("subscribers", "Subscribers of a program.", counts)
        family = CounterMetricFamily("thalweg_deliveries", "Lines that were handed to subscribers.", labels=["program"])
        yield _labelled(family, dict.fromkeys(described, 0) | self._subscribers.deliveries())


def _of_program(name: str, text: str, values: Mapping[str, Any]) -> Metric:
    return _labelled(GaugeMetricFamily(f"thalweg_{name}", text, labels=["program"]), values)


def _labelled(family: Any, values: Mapping[str, Any]) -> Metric:
    for label, value in values.items():
        family.add_metric([label], value)
    metric: Metric = family
    return metric
