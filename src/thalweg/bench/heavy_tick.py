"""A service beside a heavy tick: others are answered meanwhile, and what holds can be asked for at once."""

import statistics
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from threading import Event, Thread
from time import perf_counter, sleep
from typing import Final
from urllib.parse import quote

from thalweg.bench.measured_service import MeasuredService
from thalweg.bench.service_followers import opened

_SHARE: Final = 4
"""One fact in so many holds in the end."""
_HEAVY: Final = f"last(X) :- p(X,Y) in [10], Y = {_SHARE - 1}, not gone(X,Y).\ngone(X,Y) :- q(Y,X).\n"
_LIGHT: Final = "jam(X) :- slow(X).\n"
_BODY: Final = 400_000
"""Facts of one request: fewer than 16 MB."""
_HEALTH: Final = 0.02
_BESIDE: Final = 0.1


@dataclass(frozen=True, slots=True)
class HeavyTick:
    """While a program takes many facts at one tick: answers to `GET /v1/health`, and lines of another program."""

    facts: int
    seconds: float
    health_median_s: float
    health_most_s: float
    others_lines: int
    others_longest_gap_s: float


@dataclass(frozen=True, slots=True)
class WhyCost:
    """What it costs in CPU time to ask why one of many facts holds, the first time and after that."""

    holding: int
    first_ms: float
    warm_ms: float


def beside_heavy_tick(service: MeasuredService, facts: int) -> tuple[HeavyTick, list[float]]:
    """Gives a program its facts, and asks for health until they are taken; all times of that, too.

    The program stays, for `why_cost`.
    """
    service.register("heavy", _HEAVY, "mass")
    service.register("light", _LIGHT, "trickle")
    is_over, health, told = Event(), list[float](), list[tuple[int, float]]()
    threads = [
        Thread(target=_ask_health, args=(service, is_over, health)),
        Thread(target=_trickle, args=(service, is_over)),
        Thread(target=_read, args=(service, is_over, told)),
    ]
    for thread in threads:
        thread.start()
    sleep(5 * _BESIDE)
    begun = perf_counter()
    for start in range(0, facts, _BODY):
        numbers = range(start, min(start + _BODY, facts))
        body = "".join([f"p({number},{number % _SHARE}) at 1.\n" for number in numbers])
        service.post("mass", body.encode())
    service.post("mass", b"p(0,0) at 2.")
    holding = service.settle("heavy")["holding"]
    seconds = perf_counter() - begun
    is_over.set()
    for thread in threads:
        thread.join()
    assert holding == facts // _SHARE, f"{holding:,} facts hold"
    assert [number for number, _ in told] == list(range(1, len(told) + 1)), "lines of another program are missing"
    gaps = [after - before for (_, before), (_, after) in pairwise(told)]
    service.remove("light")
    return HeavyTick(facts, seconds, statistics.median(health), max(health), len(told), max(gaps)), health


def _ask_health(service: MeasuredService, is_over: Event, health: list[float]) -> None:
    """Notes how long each answer takes."""
    while not is_over.wait(_HEALTH):
        before = perf_counter()
        service.ask("GET", "health")
        health.append(perf_counter() - before)


def _trickle(service: MeasuredService, is_over: Event) -> None:
    """Posts a fact now and then, and a last one that makes an end."""
    number = 0
    while not is_over.wait(_BESIDE):
        number += 1
        service.post("trickle", b"slow(r%d) at %d." % (number, number))
    service.post("trickle", b"slow(end) at %d." % (number + 1))
    service.post("trickle", b"slow(r) at %d." % (number + 2))


def _read(service: MeasuredService, is_over: Event, told: list[tuple[int, float]]) -> None:
    """Notes which line comes when, up to the one that makes an end."""
    with closing(service.connect()) as connection:
        response = opened(connection, "light", "1-0")
        number = 0
        while text := response.readline():
            if text.startswith(b"id: "):
                number = int(text.rpartition(b"-")[2])
            elif text.startswith(b"data: ") and number > len(told):
                told.append((number, perf_counter()))
                if b"jam(end)" in text:
                    return


def why_cost(service: MeasuredService, questions: int) -> WhyCost:
    """Asks the heavy program why some of its facts hold, and removes it."""
    holding = service.settle("heavy")["holding"]
    step = _SHARE * (holding // (questions + 1))
    first, *others = [f"last({_SHARE - 1 + number * step})" for number in range(questions + 1)]
    costs = []
    for facts in ([first], others):
        before = service.cpu()
        for fact in facts:
            proof = service.ask("GET", f"programs/heavy/why?fact={quote(fact)}")["proof"]
            assert fact in str(proof), f"this is not why {fact} holds: {proof}"
        costs.append(1e3 * (service.cpu() - before) / len(facts))
    service.remove("heavy")
    return WhyCost(holding, *costs)
