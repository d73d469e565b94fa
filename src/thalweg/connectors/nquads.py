"""N-Quads as a stream: a line is a quad, its graph an event; `graphs` says how events come together.

    <e1> prov:generatedAtTime "2014-08-11T11:00:00Z"^^xsd:dateTime .
    <s> <p> <o> <e1> .

Lines are taken apart as those of timestamped N-Triples are, and for the same reasons: see `ntriples`. They are those of
the standard, except that an IRI may be relative, because it is a name here and nothing is looked up.
"""

import re
from collections.abc import Iterator
from typing import Final

from thalweg.connectors.batches import Item, Statement
from thalweg.connectors.graphs import EventGraphs, LinePlace
from thalweg.connectors.lines import LineReader, State, wrong_line
from thalweg.connectors.ntriples import BLANK_LINE, END, OBJECT, PREDICATE, SUBJECT, Parts, spell, take_apart
from thalweg.diagnostics import Diagnostic
from thalweg.model.dictionary import Dictionary
from thalweg.model.rdf import BLANK, IRI, OWN, PLAIN_IRI, PLAIN_LITERAL, term
from thalweg.model.time import Clock

_GRAPH: Final = {"a graph, an IRI `<…>` or a blank node `_:b`": f"(?:{IRI}|{BLANK})?"}
_PARTS: Final[Parts] = {**SUBJECT, **PREDICATE, **OBJECT, **_GRAPH, **END}
# An IRI of our own that stands for a term is looked at closely, for a graph must have one name.
_NAME: Final = rf"(?!{OWN}(?:[a-z]\w*>|iri:)){PLAIN_IRI}"
_SIMPLE: Final = re.compile(rf"({PLAIN_IRI}) ({PLAIN_IRI}) ({PLAIN_IRI}|{PLAIN_LITERAL})(?: ({_NAME}))? ?\.\r?\Z")
_SHAPE: Final = "a line looks like `<s> <p> <o> <event> .`"


class QuadReader(LineReader):
    """Reads N-Quads.

    >>> from thalweg.model.rdf import GENERATED_AT, XSD
    >>> reader = QuadReader(Dictionary(), "in.nq", "in", Clock(), "in")
    >>> time = f'<e1> {GENERATED_AT} "36"^^<{XSD}integer> .'
    >>> list(reader.feed(f"<a> <p> <b> <e1> .\\n{time}\\n".encode()))
    []
    >>> [(tick, batch.order) for tick, batch in reader.finish()]
    [(36, ['<p>/2'])]
    """

    def __init__(self, words: Dictionary, name: str, stream: str | None, clock: Clock, scope: str = "") -> None:
        super().__init__(words, name, stream, clock, scope)
        self._events = EventGraphs(name, stream, clock)

    def complete(self) -> Iterator[Item]:
        """The last event, if its time is known: no more quads of it will come."""
        return self._gatherer.gather(self._events.complete())

    @property
    def unfinished(self) -> int:
        """How many quads have come of events that are not complete yet."""
        return self._events.unfinished

    def save(self) -> State:
        return {**super().save(), "events": self._events.save()}

    def load(self, saved: State) -> None:
        super().load(saved)
        self._events.load(saved["events"])

    def _remaining(self) -> Iterator[Item]:
        return self._gatherer.gather(self._events.rest())

    def _statements(self, lines: list[str]) -> Iterator[Statement | Diagnostic]:
        events = self._events
        for line in lines:
            self._line += 1
            match = _SIMPLE.match(line)
            if match is None and BLANK_LINE.match(line):
                continue
            try:
                subject, predicate, object, graph = match.groups() if match else self._closely(line)
                if graph and graph == events.current:
                    events.triples.append((subject, predicate, object))
                else:
                    # Descriptions of events are read here; only the terms of facts are left to the gatherer.
                    about = (subject, object) if graph or not match else (term(subject), term(object))
                    yield from events.take(LinePlace(self._line, line), about[0], predicate, about[1], graph or None)
            except ValueError as error:
                yield wrong_line(self._name, self._line, line, error, _SHAPE)

    def _closely(self, line: str) -> list[str]:
        *triple, graph, _, _ = take_apart(line, _PARTS)
        return [*spell(line, triple, self._scope), *(spell(line, [graph], self._scope) if graph else [""])]


def is_quad(line: str) -> bool:
    """Whether a line is one of N-Quads.

    >>> is_quad("<s> <p> <o> <e> ."), is_quad("<s> <p> <o> ; <q> <o> .")
    (True, False)
    """
    try:
        return bool(take_apart(line, _PARTS))
    except ValueError:
        return False
