"""What facts cost a service: as they come over several connections, and for a program that comes late."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from threading import Condition, Thread
from typing import Final

from thalweg import api
from thalweg.bench.measured_service import FACTS, JSON_LINES, MeasuredService
from thalweg.diagnostics import Source

RULES: Final = "hot(S) :- temp(S,V), V > 95.\nrose(S) :- hot(S), temp(S,V) in [5], V < 5.\n"
SENSORS: Final = 1_000
CONNECTIONS: Final = 4
_DELAY: Final = 2 * CONNECTIONS
"""Ticks by which bodies of several connections may overtake each other."""


@dataclass(frozen=True, slots=True)
class FactCost:
    """What a fact costs the service in CPU time, all that it does counted."""

    load: str
    facts: int
    lines: int
    cpu_us: float


def readings(tick: int) -> list[tuple[str, int]]:
    """A reading of each sensor at a tick, as varied as those of another.

    >>> readings(1)[:3]
    [('s0', 7), ('s1', 44), ('s2', 81)]
    """
    return [(f"s{sensor}", (sensor * 37 + tick * 7) % 101) for sensor in range(SENSORS)]


def as_facts(tick: int) -> bytes:
    """The readings of a tick as facts."""
    return "".join([f"temp({sensor},{value}) at {tick}.\n" for sensor, value in readings(tick)]).encode()


def as_json_lines(tick: int) -> bytes:
    """The readings of a tick as lines of JSON, a fact each."""
    return "".join([f'{{"t":{tick},"facts":["temp({name},{value})"]}}\n' for name, value in readings(tick)]).encode()


def ingest(service: MeasuredService, ticks: int) -> Iterator[FactCost]:
    """Posts the readings of some ticks over four connections, once as facts and once as lines of JSON."""
    for load, media, encoded in (("facts", FACTS, as_facts), ("JSON lines", JSON_LINES, as_json_lines)):
        service.register("ingest", RULES, "readings", options={"delay": f"{_DELAY} s"})
        # What is compiled and learnt with the first bodies is not counted.
        post_all(service, "readings", [encoded(tick) for tick in range(_DELAY)], media)
        service.settle("ingest")
        bodies = [encoded(tick) for tick in range(_DELAY, _DELAY + ticks)]
        before = service.cpu()
        post_all(service, "readings", bodies, media)
        service.settle("ingest")
        seconds = service.cpu() - before
        answered = service.lines("ingest")
        assert answered == expected(ticks - 1), "the service answers something else than a run"
        facts = SENSORS * ticks
        yield FactCost(load, facts, len(answered), 1e6 * seconds / facts)
        service.remove("ingest")


def post_all(service: MeasuredService, stream: str, bodies: Sequence[bytes], media: str) -> None:
    """Posts bodies over several connections; each takes the next one when the one before is on disk.

    None is sent before all are acknowledged that it may not overtake.
    """
    waiting, sent = deque(enumerate(bodies)), set[int]()
    changed, failures = Condition(), list[Exception]()

    def may_send() -> bool:
        return not waiting or not sent or waiting[0][0] < min(sent) + _DELAY

    def post() -> None:
        while True:
            with changed:
                changed.wait_for(may_send)
                if not waiting or failures:
                    return
                number, body = waiting.popleft()
                sent.add(number)
            try:
                service.post(stream, body, media)
            except Exception as error:
                failures.append(error)
            with changed:
                sent.remove(number)
                changed.notify_all()

    side_by_side([post] * CONNECTIONS)
    if failures:
        raise failures[0]


def side_by_side(works: Sequence[Callable[[], object]]) -> None:
    """Calls functions in threads, and returns when all have returned."""
    threads = [Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def expected(ticks: int) -> list[bytes]:
    """The lines of a run over the same readings, for as many ticks: later ones are not decided."""
    text = "".join(as_facts(tick).decode() for tick in range(ticks))
    answers = api.run(Source("program.lars", RULES), stream=Source("readings.facts", text))
    return [line.encode() for answer in answers for line in str(answer).splitlines()]


def late_registration(service: MeasuredService, ticks: int) -> FactCost:
    """Registers a program when all facts are in the log; it answers as one that was there from the start."""
    service.register("witness", RULES, "history")
    for tick in range(ticks):
        service.post("history", as_facts(tick))
    service.settle("witness")
    before = service.cpu()
    service.register("late", RULES, "history", **{"from": "earliest"})
    seconds = service.cpu() - before
    answered = service.lines("late")
    assert answered == service.lines("witness"), "the late program answers something else"
    service.remove("witness", "late")
    facts = SENSORS * ticks
    return FactCost("late registration", facts, len(answered), 1e6 * seconds / facts)
