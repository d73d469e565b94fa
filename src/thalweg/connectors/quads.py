"""N-Quads as a stream of events: each graph is an event, and the default graph says when it happened.

    <e1> prov:generatedAtTime "2014-08-11T11:00:00Z"^^xsd:dateTime .
    <s> <p> <o> <e1> .

The time stands before or behind the quads of its event; it may also be a tick, `"36"^^xsd:integer`. An event is
complete when its time is known and a quad or the time of another one follows, or the stream ends; so the quads of an
event stand together, or before its time. Whatever else the default graph says describes events, and is no part of
them. A time without quads is no event.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from thalweg.connectors.gather import Gatherer, Item, Stated, moment, triple
from thalweg.connectors.triples import (
    BLANK_LINE,
    END,
    OBJECT,
    PREDICATE,
    SUBJECT,
    Misplaced,
    Parts,
    lines_of,
    spell,
    take_apart,
    wrong_line,
)
from thalweg.diagnostics import Diagnostic
from thalweg.model.dictionary import Dictionary
from thalweg.model.rdf import BLANK, GENERATED_AT, IRI, PLAIN_IRI, PLAIN_LITERAL, XSD
from thalweg.model.time import Clock

_GRAPH: Final = {"a graph, an IRI `<…>` or a blank node `_:b`": f"(?:{IRI}|{BLANK})?"}
_PARTS: Final[Parts] = {**SUBJECT, **PREDICATE, **OBJECT, **_GRAPH, **END}
_SIMPLE: Final = re.compile(rf"({PLAIN_IRI}) ({PLAIN_IRI}) ({PLAIN_IRI}|{PLAIN_LITERAL}) ({PLAIN_IRI}) ?\.\r?\Z")
_MOMENT: Final = re.compile(rf'"([^"\\]*)"\^\^<{XSD}dateTime(?:Stamp)?>\Z')
_SHAPE: Final = "a line looks like `<s> <p> <o> <event> .`"
_TIMES: Final = (
    f'say when it happened, `<event> {GENERATED_AT} "2014-08-11T11:00:00Z"^^<{XSD}dateTime> .`, '
    "and keep the quads of an event together"
)


@dataclass(slots=True)
class _Event:
    """What is known of an event so far, and where it began."""

    line: int
    text: str
    triples: list[tuple[str, str, str]] = field(default_factory=list)


class QuadReader:
    """Reads whole lines of text.

    >>> reader = QuadReader(Dictionary(), "in.nq", "in", Clock())
    >>> time = f'<e1> {GENERATED_AT} "36"^^<{XSD}integer> .'
    >>> list(reader.feed(f"<a> <p> <b> <e1> .\\n{time}\\n"))
    []
    >>> [(tick, batch.order) for tick, batch in reader.close()]
    [(36, ['<p>/2'])]
    """

    def __init__(self, words: Dictionary, name: str, stream: str | None, clock: Clock) -> None:
        self.name = name
        self._stream = stream
        self._clock = clock
        self._gatherer = Gatherer(words)
        self._line = 0
        # Times without quads yet, quads without a time yet, and the graph to which quads are being added.
        self._times: dict[str, int] = {}
        self._events: dict[str, _Event] = {}
        self._current = ""
        self._any_event = False
        self._stray: tuple[int, str] | None = None

    def feed(self, text: str) -> Iterator[Item]:
        return self._gatherer.gather(self._statements(lines_of(text)))

    def close(self) -> Iterator[Item]:
        return self._gatherer.gather(self._rest())

    def _statements(self, lines: list[str]) -> Iterator[Stated | Diagnostic]:
        for line in lines:
            self._line += 1
            found = _SIMPLE.match(line)
            if found is None and BLANK_LINE.match(line):
                continue
            try:
                subject, predicate, object, graph = found.groups() if found else self._closely(line)
                if graph and graph == self._current:
                    self._events[graph].triples.append((subject, predicate, object))
                elif graph:
                    yield from self._another(line, graph, (subject, predicate, object))
                else:
                    yield from self._description(line, subject, predicate, object)
            except ValueError as error:
                yield wrong_line(self.name, self._line, line, error, _SHAPE)

    def _closely(self, line: str) -> list[str]:
        *triple, graph, _, _ = take_apart(line, _PARTS)
        scope = self._stream or ""
        return [*spell(line, triple, scope), *(spell(line, [graph], scope) if graph else [""])]

    def _another(self, line: str, graph: str, triple: tuple[str, str, str]) -> Iterator[Stated]:
        """A quad of another graph than that of the quad before it."""
        yield from self._complete(self._current)
        self._current, self._any_event = graph, True
        self._events.setdefault(graph, _Event(self._line, line)).triples.append(triple)

    def _description(self, line: str, subject: str, predicate: str, object: str) -> Iterator[Stated]:
        if predicate != GENERATED_AT:
            self._stray = self._stray or (self._line, line)
            return
        tick = self._tick(line, object)
        if self._times.setdefault(subject, tick) != tick:
            raise Misplaced(f"`{subject}` has another time already", 0)
        if subject != self._current:
            yield from self._complete(self._current)
            yield from self._complete(subject)

    def _tick(self, line: str, time: str) -> int:
        found = _MOMENT.match(time)
        if found is None and not time.isdigit():
            raise Misplaced(f"`{time}` is no time", line.index(GENERATED_AT) + len(GENERATED_AT) + 1)
        return moment(found[1] if found else time, self._clock)

    def _complete(self, graph: str) -> Iterator[Stated]:
        """Hands an event on, if all of it is known."""
        if graph in self._times and graph in self._events:
            tick = self._times.pop(graph)
            self._current = "" if graph == self._current else self._current
            for one in self._events.pop(graph).triples:
                yield triple(tick, self._stream, *one)

    def _rest(self) -> Iterator[Stated | Diagnostic]:
        yield from self._complete(self._current)
        for graph, event in self._events.items():
            wrong = Misplaced(f"the event `{graph}` has no time", max(0, event.text.rfind(graph)))
            yield wrong_line(self.name, event.line, event.text, wrong, _TIMES)
        if self._stray and not self._any_event:
            wrong = Misplaced("this triple belongs to no event, and nothing else does", 0)
            yield wrong_line(self.name, *self._stray, wrong, _SHAPE)
