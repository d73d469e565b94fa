"""What is output of events: classes of individuals, complex events, and events that have no classes.

    {"t":5,"event":"<High>","from":5,"to":5,"individual":"<obs1>","graph":"<g1>"}
    {"t":12,"event":"<Jam>","from":5,"to":12,"bindings":{"loc":"<loc1>"},"events":[…]}
    {"t":7,"inconsistent":[{"graph":"<g3>"}]}

Classes can be written in every format, because they are facts; complex events are lines of JSON only.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from json.encoder import encode_basestring as quoted
from typing import NoReturn

from thalweg.connectors.publish import Graph
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.ir.pattern_semantics import Instance, Solution
from thalweg.model.rdf import GENERATED_AT, OWN
from thalweg.model.time import AS_TICKS, TimeFormat


@dataclass(frozen=True, slots=True)
class AbstractEvent:
    """An individual is in a class, by the graph of an event; `graph` is empty where the event has no name.

    The event is of another tick, `at`, where a selection knows it later.

    >>> print(AbstractEvent(5, "<High>", "<obs1>", "<g1>"))
    {"t":5,"event":"<High>","from":5,"to":5,"individual":"<obs1>","graph":"<g1>"}
    """

    t: int
    event: str
    individual: str
    graph: str = ""
    at: int | None = None

    def __str__(self) -> str:
        return self.json()

    def json(self, times: TimeFormat = AS_TICKS) -> str:
        graph = f',"graph":{quoted(self.graph)}' if self.graph else ""
        tick = times.json(self.t if self.at is None else self.at)
        about = f'"from":{tick},"to":{tick},"individual":{quoted(self.individual)}{graph}'
        return f'{{"t":{times.json(self.t)},"event":{quoted(self.event)},{about}}}'

    def atom(self, times: TimeFormat = AS_TICKS) -> str:
        return f"{self.event}({self.individual}) at {times.atom(self.t)}.\n"


@dataclass(frozen=True, slots=True)
class ComplexEvent:
    """A complex event that is known at tick `t`, with what its pattern binds.

    >>> high = Instance("<High>", 5, 5, "<obs1>", "<g1>")
    >>> print(ComplexEvent(12, Instance("<Jam>", 5, 12, events=(high,)), (("loc", "<loc1>"),)))
    {"t":12,"event":"<Jam>","from":5,"to":12,"bindings":{"loc":"<loc1>"},"events":[{"event":"<High>","individual":"<obs1>","graph":"<g1>","from":5,"to":5}]}
    """

    t: int
    instance: Instance
    bindings: Solution = ()

    @property
    def event(self) -> str:
        return self.instance.event

    def __str__(self) -> str:
        return self.json()

    def json(self, times: TimeFormat = AS_TICKS) -> str:
        one = self.instance
        bound = ",".join(f"{quoted(name)}:{quoted(term)}" for name, term in self.bindings)
        events = ",".join(event_json(each, times) for each in one.events)
        about = f'{_ticks(one, times)},"bindings":{{{bound}}},"events":[{events}]'
        return f'{{"t":{times.json(self.t)},"event":{quoted(one.event)},{about}}}'

    def atom(self, times: TimeFormat = AS_TICKS) -> NoReturn:
        raise _only_json()


def _ticks(one: Instance, times: TimeFormat) -> str:
    return f'"from":{times.json(one.start)},"to":{times.json(one.end)}'


def event_json(one: Instance, times: TimeFormat) -> str:
    """An event inside of another."""
    ticks = _ticks(one, times)
    if one.events:
        inside = ",".join(event_json(each, times) for each in one.events)
        return f'{{"event":{quoted(one.event)},{ticks},"events":[{inside}]}}'
    graph = f',"graph":{quoted(one.graph)}' if one.graph else ""
    return f'{{"event":{quoted(one.event)},"individual":{quoted(one.individual)}{graph},{ticks}}}'


@dataclass(frozen=True, slots=True)
class RejectedEvents:
    """The events of a tick that have no classes: they are `inconsistent`, or `undecided`.

    >>> print(RejectedEvents(7, "inconsistent", ("<g3>", "")))
    {"t":7,"inconsistent":[{"graph":"<g3>"},{}]}
    """

    t: int
    why: str
    graphs: tuple[str, ...]

    def __str__(self) -> str:
        return self.json()

    def json(self, times: TimeFormat = AS_TICKS) -> str:
        listed = ",".join(f'{{"graph":{quoted(graph)}}}' if graph else "{}" for graph in self.graphs)
        return f'{{"t":{times.json(self.t)},"{self.why}":[{listed}]}}'

    def atom(self, times: TimeFormat = AS_TICKS) -> str:
        return "".join(f"% {self.why}: {graph or 'an event'} at {times.atom(self.t)}\n" for graph in self.graphs)


@dataclass(frozen=True, slots=True)
class EventAnswers:
    """All that is said of the events of a tick, in the order of its lines."""

    lines: "tuple[EventLine, ...]"

    @property
    def t(self) -> int:
        return self.lines[0].t

    def answers(self) -> "Iterator[EventLine]":
        return iter(self.lines)

    def jsonl(self, times: TimeFormat = AS_TICKS) -> str:
        return "".join(f"{line.json(times)}\n" for line in self.lines)

    def atoms(self, times: TimeFormat = AS_TICKS) -> str:
        """`<High>(<obs1>) at 5.`, one a line; what has no classes is a comment."""
        return "".join(line.atom(times) for line in self.lines)

    def graphs(self, times: TimeFormat) -> Iterator[Graph]:
        """One with the classes of a tick."""
        from thalweg.runtimes.emit import time_statements

        if any(isinstance(line, ComplexEvent) for line in self.lines):
            raise _only_json()
        facts = tuple(f"{line.event}({line.individual})" for line in self.lines if isinstance(line, AbstractEvent))
        if facts:
            tick = self.lines[0].t
            yield Graph(f"{OWN}events:{tick}>", facts, time_statements(GENERATED_AT, "tick", tick, times))


EventLine = AbstractEvent | ComplexEvent | RejectedEvents


def _only_json() -> RejectedError:
    message = "complex events can only be written as `--format jsonl`: leave `--format` out"
    return RejectedError([Diagnostic("E403", message)])
