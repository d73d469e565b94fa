"""What an event costs a program of a service with few subscriptions and with many, in one text or added one by one."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

from thalweg.bench.event_city import PER_TICK, quads, subscription, subscriptions, write_city
from thalweg.bench.measured_service import FACTS, QUADS, MeasuredService

_QUADS: Final = 4
"""Quads of an event."""
_BODY: Final = 10 * PER_TICK
"""Events of a request."""


@dataclass(frozen=True, slots=True)
class SubscribedEventCost:
    """What an event costs the service in CPU time, and a subscription where they are added one by one."""

    subscriptions: int
    made: str
    events: int
    lines: int
    cpu_us: float
    added_ms: float | None
    added_cpu_ms: float | None


def subscribed_event_costs(
    service: MeasuredService, numbers: tuple[int, ...], events: int, roads: int
) -> Iterator[SubscribedEventCost]:
    """The same events for each number of subscriptions, made in both ways; lines are the same either way.

    What the service meets first is not counted: as many events come before.
    """
    with TemporaryDirectory() as place:
        ontology, background = write_city(Path(place), roads)
        others = {
            "sources": [{"name": "city.ofn", "text": ontology.read_text()}],
            "background": [{"name": "city.nt", "text": background.read_text()}],
        }
    bodies = list(_bodies(2 * events, roads))
    for number in numbers:
        ends = {}
        for made in ("in one text", "one by one"):
            one_by_one = made == "one by one"
            text = subscriptions(1 if one_by_one else number, roads)
            service.register("city", text, "observations", "city.tw", **others)
            added = _add(service, number, roads) if one_by_one else (None, None)
            cpu, ends[made] = _cost(service, bodies)
            yield SubscribedEventCost(number, made, events, len(ends[made]), 1e6 * cpu / events, *added)
            service.remove("city")
        in_one_text, one_by_one_too = ends.values()
        assert in_one_text == one_by_one_too, "what was added one by one answers something else"


def _bodies(events: int, roads: int) -> Iterator[bytes]:
    lines = quads(events, roads)
    while body := "".join(islice(lines, _BODY * _QUADS)):
        yield body.encode()


def _add(service: MeasuredService, number: int, roads: int) -> tuple[float, float]:
    """Adds subscriptions to one that is there, up to a number; milliseconds for each, of the clock and of CPU."""
    before, begun = service.cpu(), perf_counter()
    for name in range(1, number):
        _, _, definition = subscription(name, roads).partition("{")
        text = definition.rpartition("}")[0].strip().encode()
        service.ask("PUT", f"programs/city/subscriptions/Decreasing{name}", text, FACTS)
    added = number - 1
    return 1e3 * (perf_counter() - begun) / added, 1e3 * (service.cpu() - before) / added


def _cost(service: MeasuredService, bodies: list[bytes]) -> tuple[float, list[bytes]]:
    """Seconds of CPU for the second half of some bodies, and the lines about all of them."""
    for body in bodies[: len(bodies) // 2]:
        service.post("observations", body, QUADS)
    service.settle("city")
    before = service.cpu()
    for body in bodies[len(bodies) // 2 :]:
        service.post("observations", body, QUADS)
    service.settle("city")
    cpu = service.cpu() - before
    return cpu, sorted(service.lines("city"))
