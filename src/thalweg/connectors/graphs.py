"""Named graphs as events: each graph is an event, and the default graph says when it happened.

    <e1> prov:generatedAtTime "2014-08-11T11:00:00Z"^^xsd:dateTime .
    <e1> { <s> <p> <o> }

The time stands before or behind the quads of its event; it may also be a tick, `"36"^^xsd:integer`. An event is
complete when its time is known and a quad or the time of another one follows, or the stream ends; so the quads of an
event stand together, or before its time. Everything else in the default graph describes events, and is not part
of them. A time without quads does not make an event.

What waits is what cannot be decided yet: quads whose time has not come, all of them; and the last times whose quads
have not come.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from thalweg.connectors.batches import StatedGraph, Statement, moment
from thalweg.connectors.lines import LineError, State, wrong_line
from thalweg.diagnostics import Diagnostic, Source, Span
from thalweg.model.rdf import GENERATED_AT, XSD, RdfSyntaxError
from thalweg.model.term import BARE
from thalweg.model.time import Clock

_MOMENT: Final = re.compile(rf'"([^"\\]*)"(?:\^\^<{XSD}dateTime(?:Stamp)?>)?\Z')
_TIMES: Final = (
    f'state when it happened: `<event> {GENERATED_AT} "2014-08-11T11:00:00Z"^^<{XSD}dateTime> .`, '
    "and keep the quads of an event together"
)
_TIMELESS: Final = (
    "a stream has a named graph for each event, and the time of each; facts that always hold belong in `--background`"
)
# Times that may wait for their quads.
_MOST_TIMES: Final = 65_536


class LinePlace(NamedTuple):
    """A line of a document: its number and its text."""

    line: int
    text: str


@dataclass(slots=True)
class _Event:
    """The triples of an event so far, and the line where it began."""

    place: LinePlace
    triples: list[tuple[str, str, str]] = field(default_factory=list)


class EventGraphs:
    """Puts events together from quads, of whatever syntax.

    >>> events, place = EventGraphs("in.trig", "in", Clock()), LinePlace(1, "")
    >>> list(events.take(place, "<a>", "<p>", "<b>", "<e1>"))
    []
    >>> list(events.take(place, "<e1>", GENERATED_AT, "36", None))
    []
    >>> list(events.rest())
    [StatedGraph(tick=36, stream='in', graph='<e1>', triples=[('<a>', '<p>', '<b>')])]
    """

    def __init__(self, name: str, stream: str | None, clock: Clock) -> None:
        self._name = name
        self._stream = stream
        self._clock = clock
        # Times without quads yet, and quads without a time yet.
        self._times: dict[str, int] = {}
        self._events: dict[str, _Event] = {}
        # The graph to which quads are being added, and those that it has: a reader in a hurry may add to them.
        self.current: str | None = None
        self.triples: list[tuple[str, str, str]] = []
        self._any_event = False
        self._stray: LinePlace | None = None
        # How the last time was written, and its tick: many events have the same.
        self._last: tuple[str, int] = "", 0

    def take(
        self, place: LinePlace, subject: str, predicate: str, object: str, graph: str | None
    ) -> Iterator[Statement]:
        """Yields the events that are complete now; `LineError` where the quad cannot be right."""
        if graph is None:
            yield from self._description(place, subject, predicate, object)
        else:
            if graph != self.current:
                yield from self._another(place, graph)
            self.triples.append((subject, predicate, object))

    def complete(self) -> Iterator[Statement]:
        """No more quads of the last event will come; it is handed on, if its time is known."""
        if self.current is not None:
            yield from self._complete(self.current)

    def rest(self) -> Iterator[Statement | Diagnostic]:
        """Nothing more will come."""
        yield from self.complete()
        for graph, event in self._events.items():
            wrong = LineError(f"the event `{graph}` has no time", max(0, event.place.text.rfind(graph)))
            yield wrong_line(self._name, event.place.line, event.place.text, wrong, _TIMES)
        if self._stray and not self._any_event:
            wrong = LineError("this triple is not part of an event, and the stream has no events", 0)
            yield wrong_line(self._name, self._stray.line, self._stray.text, wrong, _TIMELESS)

    @property
    def unfinished(self) -> int:
        """How many quads there are of events that are not complete yet."""
        return sum(len(event.triples) for event in self._events.values())

    def save(self) -> State:
        """A copy of the state: the events that are not complete yet."""
        events = [[graph, *event.place, [*event.triples]] for graph, event in self._events.items()]
        state = {"times": list(self._times.items()), "events": events, "current": self.current}
        return {**state, "any": self._any_event, "stray": self._stray}

    def load(self, saved: State) -> None:
        """Restores a saved state."""
        self._times = dict(saved["times"])
        for graph, line, text, triples in saved["events"]:
            self._events[graph] = _Event(
                LinePlace(line, text), [(subject, predicate, value) for subject, predicate, value in triples]
            )
        self.current, self._any_event = saved["current"], saved["any"]
        self.triples = self._events[self.current].triples if self.current in self._events else []
        self._stray = None if saved["stray"] is None else LinePlace(*saved["stray"])

    def _another(self, place: LinePlace, graph: str) -> Iterator[Statement]:
        """A quad of another graph than that of the quad before it."""
        if self.current is not None:
            yield from self._complete(self.current)
        self.current, self._any_event = graph, True
        self.triples = self._events.setdefault(graph, _Event(place)).triples

    def _description(self, place: LinePlace, subject: str, predicate: str, object: str) -> Iterator[Statement]:
        if predicate != GENERATED_AT:
            self._stray = self._stray or place
            return
        tick = self._tick(place.text, object)
        if self._times.setdefault(subject, tick) != tick:
            raise LineError(f"`{subject}` already has a different time", 0)
        if len(self._times) > _MOST_TIMES:
            del self._times[next(iter(self._times))]
        if subject != self.current:
            if self.current is not None:
                yield from self._complete(self.current)
            yield from self._complete(subject)

    def _tick(self, line: str, time: str) -> int:
        if time == self._last[0]:
            return self._last[1]
        match = _MOMENT.match(time)
        try:
            if match is None and not time.isdigit() and not BARE.match(time):
                raise ValueError(f"`{time}` is not a time")
            tick = moment(match[1] if match else time, self._clock)
        except ValueError as error:
            raise LineError(str(error), _behind(line, GENERATED_AT)) from None
        self._last = time, tick
        return tick

    def _complete(self, graph: str) -> Iterator[Statement]:
        """Hands an event on, if all of it is known."""
        if graph in self._times and graph in self._events:
            tick = self._times.pop(graph)
            self.current = None if graph == self.current else self.current
            yield StatedGraph(tick, self._stream, graph, self._events.pop(graph).triples)


def _behind(line: str, part: str) -> int:
    """Where the text behind a part of a line begins; the beginning where the part is written otherwise."""
    at = line.find(part)
    return at + len(part) + 1 if at >= 0 else 0


def misread(code: str, name: str, first_line: int, wrong: RdfSyntaxError, help: str = "") -> Diagnostic:
    """The diagnostic for a syntax error in a document, or in a part of one that begins at a line."""
    source = Source(name, wrong.text, first_line + wrong.line - 1)
    return Diagnostic(wrong.code or code, str(wrong), Span(source, wrong.column - 1, wrong.column), help)
