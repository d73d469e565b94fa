"""Events in a saved state, as JSON."""

from collections.abc import Iterable
from typing import Any

from thalweg.ir.pattern_semantics import Instance, Solution


def event_data(event: Instance) -> list[object]:
    """An event as what JSON can write.

    >>> read_event(event_data(Instance("<A>", 1, 2, "<x>"))).individual
    '<x>'
    """
    parts = [event_data(part) for part in event.events]
    return [event.event, event.start, event.end, event.individual, event.graph, parts, event.triples]


def read_event(data: list[Any]) -> Instance:
    """The event that was written."""
    event, start, end, individual, graph, parts, triples = data
    terms = tuple((subject, predicate, target) for subject, predicate, target in triples)
    return Instance(event, start, end, individual, graph, tuple(map(read_event, parts)), terms)


def read_solution(pairs: Iterable[Iterable[str]]) -> Solution:
    """The solution that was written as pairs."""
    return tuple((name, term) for name, term in pairs)
