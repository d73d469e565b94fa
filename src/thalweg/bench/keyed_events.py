"""`EVERY A SEQ B WITHIN` with a join of many keys: the stream of patterns alone, here and for Esper."""

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Final, TypeVar

from thalweg.ir.pattern_semantics import Instance, Pair
from thalweg.ir.patterns import Clause, Occurs, Pattern, Sequence, Triple
from thalweg.kinds.events.event_clauses import holds
from thalweg.kinds.events.event_layers import EventLayers
from thalweg.kinds.events.matcher import matcher
from thalweg.languages.cascade.event_definitions import CascadeProgram, NamedEvent

T = TypeVar("T")

KEYS: Final = 10_000
WITHIN: Final = 60
PER_TICK: Final = 1_000
_AT: Final = "<http://example.org/at>"
PATTERN: Final = Pattern(
    Sequence((Occurs("<A>", 0), Occurs("<B>", 1))),
    "EVERY",
    WITHIN,
    (Clause("<A>", (Triple("?a", _AT, "?k"),)), Clause("<B>", (Triple("?b", _AT, "?k"),))),
)


@dataclass(frozen=True, slots=True)
class Matched:
    """A way to match a pattern: how many matches it found, and events a second of CPU time."""

    way: str
    events: int
    matches: int
    events_per_second: float


def drawn(count: int, seed: int = 1) -> Iterator[tuple[int, str, str]]:
    """Ticks, kinds and keys; within a tick B comes before A, so that the order of arrival says what ticks say.

    >>> list(drawn(2, seed=3))
    [(0, 'A', 'k9709'), (0, 'A', 'k6061')]
    """
    random = Random(seed)
    for tick in range(-(-count // PER_TICK)):
        arrivals = [
            (random.choice("AB"), f"k{random.randrange(KEYS)}") for _ in range(min(PER_TICK, count - tick * PER_TICK))
        ]
        for kind, key in sorted(arrivals, key=lambda arrival: arrival[0], reverse=True):
            yield tick, kind, key


def by_pairs(count: int) -> Matched:
    """Events whose clauses are solved: what Esper gets."""
    ticks: dict[int, dict[str, list[Pair]]] = {}
    for number, (tick, kind, key) in enumerate(drawn(count)):
        individual = f"<x{number}>"
        pair = (
            Instance(f"<{kind}>", tick, tick, individual, f"<g{number}>"),
            ((kind.lower(), individual), ("k", f"<{key}>")),
        )
        ticks.setdefault(tick, {}).setdefault(f"<{kind}>", []).append(pair)
    running = matcher(PATTERN, holds)
    return _timed("Thalweg, keys given", count, ticks, lambda tick, events: len(running.advance(tick, events)))


def by_graphs(count: int) -> Matched:
    """Events with their graphs, in which the clauses are looked up."""
    ticks: dict[int, dict[str, list[Instance]]] = {}
    for number, (tick, kind, key) in enumerate(drawn(count)):
        individual = f"<x{number}>"
        event = Instance(f"<{kind}>", tick, tick, individual, f"<g{number}>", triples=((individual, _AT, f"<{key}>"),))
        ticks.setdefault(tick, {}).setdefault(f"<{kind}>", []).append(event)
    layers = EventLayers(CascadeProgram((NamedEvent("<C>", PATTERN),)), ())
    return _timed("Thalweg, keys in graphs", count, ticks, lambda tick, events: len(layers.advance(tick, events)))


def _timed(way: str, count: int, ticks: Mapping[int, T], matched: Callable[[int, T], int]) -> Matched:
    # The stream is there before, and need not be searched for garbage.
    gc.collect()
    gc.freeze()
    before = time.process_time()
    matches = sum(matched(tick, events) for tick, events in ticks.items())
    seconds = time.process_time() - before
    return Matched(way, count, matches, count / seconds)
