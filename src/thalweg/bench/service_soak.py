"""A service that goes on for minutes, with windows of a minute and names that come once: its memory, its folder."""

from dataclasses import dataclass
from typing import Final

from thalweg.bench.measured_service import MeasuredService
from thalweg.bench.service_followers import paced

OPTIONS: Final = ("--retain-size", "10MB")
_POSTS: Final = 10
"""Requests a second, each a tick of its own."""
WINDOW: Final = 60 * _POSTS
"""The ticks of a minute."""
_LIMIT: Final = 95
_RULES: Final = f"hot(S) :- temp(S,V,N) in [{WINDOW}], V > {_LIMIT}.\nlatest(N) :- temp(S,V,N), V > {_LIMIT}.\n"


@dataclass(frozen=True, slots=True)
class SoakSample:
    """Megabytes of the process, and of the data folder, while facts come at a steady rate."""

    seconds: float
    facts: int
    memory: float
    folder: float


def soak(service: MeasuredService, seconds: float, per_second: int = 1_000) -> list[SoakSample]:
    """Posts facts for some seconds; a sample each second. In the end what the last minute says must hold."""
    service.register("soak", _RULES, "endless")
    samples, each = [], per_second // _POSTS
    for number in paced(_POSTS, seconds):
        service.post("endless", "".join([_fact(number, place) for place in range(each)]).encode())
        if number % _POSTS == 0:
            memory, folder = service.resident() / 1e6, service.size() / 1e6
            samples.append(SoakSample(number / _POSTS, (number + 1) * each, memory, folder))
    last = int(_POSTS * seconds) - 1
    service.post("endless", _fact(last + 1, 0).encode())
    service.settle("soak")
    ticks = range(max(0, last - WINDOW), last + 1)
    readings = (_reading(tick, place) for tick in ticks for place in range(each))
    hot = {f"hot({sensor})" for sensor, value in readings if value > _LIMIT}
    held = {fact["fact"] for fact in service.ask("GET", "programs/soak/facts?match=hot(*)&limit=100000")["facts"]}
    assert held == hot, "something else holds than the last minute says"
    service.remove("soak")
    return samples


def _reading(tick: int, place: int) -> tuple[str, int]:
    return f"s{place}", (place * 37 + tick * 7) % 101


def _fact(tick: int, place: int) -> str:
    """A reading with a name that comes once."""
    sensor, value = _reading(tick, place)
    return f"temp({sensor},{value},n{tick}_{place}) at {tick}.\n"
