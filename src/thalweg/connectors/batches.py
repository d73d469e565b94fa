"""Statements with a time become batches: what the readers of triples, quads and tables have in common.

    (36, "in", "<p>/2", ("<a>", "3"))    a tick, a stream, a signature, and its terms

The terms are spelled canonically, except that a literal, or an IRI of our own, may still stand as N-Triples writes it:
most of them come again and again, and are then looked up as they stand.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from numbers import Integral
from typing import Final, NamedTuple

import numpy as np

from thalweg.diagnostics import Diagnostic
from thalweg.languages.lars.facts import read_fact
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch, Event
from thalweg.model.fact import Fact
from thalweg.model.local_times import SkippedTimeError
from thalweg.model.predicate import Predicate, interned
from thalweg.model.rdf import OWN, RDF_TYPE, RDF_VALUE, fact_of, names_a_predicate, term
from thalweg.model.time import MOST_TICKS, Clock
from thalweg.model.timestamps import proposed_writing

__all__ = [
    "Facts",
    "Gatherer",
    "Instant",
    "Item",
    "Stated",
    "StatedGraph",
    "Statement",
    "code_events",
    "code_facts",
    "event_tick",
    "moment",
    "read_fact",
    "triple",
]

Item = tuple[int, Batch] | Diagnostic
Facts = str | Fact | Iterable[str | Fact]
Instant = int | str | date
Stated = tuple[int, str | None, Predicate, tuple[str, ...]]


class StatedGraph(NamedTuple):
    """The triples of a graph with a name, empty where it has none."""

    tick: int
    stream: str | None
    graph: str
    triples: Sequence[tuple[str, str, str]]


Statement = Stated | StatedGraph

_KEPT: Final = 65_536
_PAIRS: Final = (
    'an event is a pair of a time and its facts, such as (3, ["p(a)", "q(b)"]), or a dict that a mapping makes facts of'
)


class Gatherer:
    """Makes batches of consecutive statements with one time and stream.

    No statement is coded before everything in front of it has been taken, so the dictionary may be collected between
    any two items.

    >>> words = Dictionary()
    >>> p, q = Predicate("p", 1), Predicate("q", 0)
    >>> stated = [(3, "s", p, ("a",)), (3, "s", q, ()), (4, "s", p, ("a",))]
    >>> [(tick, batch.order) for tick, batch in Gatherer(words).gather(stated)]
    [(3, ['p/1', 'q/0']), (4, ['p/1'])]
    >>> graph = StatedGraph(3, "s", "<g>", [("<a>", "<p>", "<b>")])
    >>> [(batch.graphs, batch.order) for _, batch in Gatherer(words).gather([graph, *stated[2:]])]
    [([('<g>', 1)], ['<p>/2']), ([], ['p/1'])]
    """

    def __init__(self, words: Dictionary) -> None:
        self._code_of = words.words.get
        self._literals = _Literals(words)
        # The predicates of triples by property, and those of memberships by class.
        self._pairs: dict[str, Predicate] = {}
        self._classes: dict[str, Predicate] = {}

    def gather(self, stated: Iterable[Statement | Diagnostic]) -> Iterator[Item]:
        code_of, literals = self._code_of, self._literals
        tick, batch = -1, Batch()
        for statement in stated:
            if isinstance(statement, Diagnostic) or statement[0] != tick or statement[1] != batch.stream:
                if batch.order:
                    yield tick, batch
                    batch = Batch()
                if isinstance(statement, Diagnostic):
                    yield statement
                    continue
            if isinstance(statement, StatedGraph):
                tick, batch.stream = statement.tick, statement.stream
                self._add_graph(batch, statement.triples)
                batch.graphs.append((statement.graph, len(statement.triples)))
                continue
            tick, batch.stream, signature, terms = statement
            batch.add(signature, [code_of(text) or literals[text] for text in terms])
        if batch.order:
            yield tick, batch

    def _add_graph(self, batch: Batch, triples: Iterable[tuple[str, str, str]]) -> None:
        """Adds triples; the predicates of most of them have come before."""
        code_of, literals = self._code_of, self._literals
        pairs, classes = self._pairs, self._classes
        rows, order = batch.rows, batch.order
        for subject, predicate, value in triples:
            signature = pairs.get(predicate)
            if signature is not None:
                words = [code_of(subject) or literals[subject], code_of(value) or literals[value]]
            elif predicate == RDF_TYPE and (signature := classes.get(value)) is not None:
                words = [code_of(subject) or literals[subject]]
            else:
                _, _, signature, terms = triple(0, None, subject, predicate, value)
                words = [code_of(text) or literals[text] for text in terms]
                self._remember(predicate, value, signature)
            row = rows.get(signature)
            if row is None:
                rows[signature] = words
            else:
                row += words
            order.append(signature)

    def _remember(self, predicate: str, value: str, signature: Predicate) -> None:
        """Keeps the predicate of a triple; that of a membership is the class, and a value may be a fact."""
        if predicate == RDF_TYPE:
            table, key = self._classes, value
            if signature.arity != 1:
                return
        elif predicate == RDF_VALUE:
            return
        else:
            table, key = self._pairs, predicate
        if len(table) >= _KEPT:
            table.clear()
        table[key] = signature


class _Literals(dict[str, int]):
    """Words of terms that the dictionary does not list as they stand: numbers, new terms, literals of N-Triples.

    Only the words of numbers are remembered, for they have no entry; an entry may be given to another term between two
    batches.
    """

    def __init__(self, words: Dictionary) -> None:
        self._code = words.code

    def __missing__(self, text: str) -> int:
        word = self._code(_spelled(text))
        if word & 3:
            if len(self) >= _KEPT:
                self.clear()
            self[text] = word
        return word


def triple(tick: int, stream: str | None, subject: str, predicate: str, object: str) -> Stated:
    """The statement of a triple: `s rdf:type C` is `C(s)`, unless the class has no name of its own.

    >>> triple(3, None, "<a>", "<p>", "<b>"), triple(3, None, "<a>", RDF_TYPE, "<C>")
    ((3, None, '<p>/2', ('<a>', '<b>')), (3, None, '<C>/1', ('<a>',)))
    """
    if predicate == RDF_TYPE and names_a_predicate(kind := _spelled(object)):
        return tick, stream, interned(kind, 1), (subject,)
    if predicate == RDF_VALUE and object[0] == '"':
        fact = fact_of(subject, predicate, object)
        return tick, stream, fact.signature, fact.terms
    return tick, stream, interned(_spelled(predicate), 2), (subject, object)


def _spelled(text: str) -> str:
    """The canonical spelling of a literal or an IRI of our own that may stand as N-Triples writes it."""
    return term(text) if text[0] == '"' or text.startswith(OWN) else text


def moment(text: str, clock: Clock) -> int:
    """The tick that a tick or a timestamp stands for; `ValueError` where it stands for none.

    >>> moment("36", Clock()), moment("1970-01-01T00:01:30Z", Clock())
    (36, 90)
    """
    try:
        if text.isascii() and text.removeprefix("-").isdigit():
            clock.notation.bare = True
            tick = int(text)
        else:
            tick = clock.tick(text)
    except SkippedTimeError:
        raise
    except (ValueError, OverflowError):
        raise ValueError(f"`{text}` is neither a tick nor a timestamp: {proposed_writing(text)}") from None
    return _within(tick, text)


def _within(tick: int, written: object) -> int:
    if not 0 <= tick < MOST_TICKS:
        raise ValueError(f"`{written}` is outside the timeline, which begins at tick 0")
    return tick


def code_events(
    events: Iterable[Event | tuple[Instant, Facts]], words: Dictionary, clock: Clock | None = None
) -> Iterator[Item]:
    """Batches from `Event` values, or pairs of a time and one or many facts, as text or as `Fact` values.

    An event whose time is none, or outside the timeline, is a diagnostic.

    >>> [(tick, batch.order) for tick, batch in code_events([(3, "p(a)"), (4, ["p(a)", "q"])], Dictionary())]
    [(3, ['p/1']), (4, ['p/1', 'q/0'])]
    >>> [wrong.message for wrong in code_events([(-1, "p(a)")], Dictionary())]
    ['`-1` is outside the timeline, which begins at tick 0: p(a)']
    """
    clock = clock or Clock()
    for event in events:
        time, facts, stream = _taken_apart(event)
        try:
            tick = event_tick(time, clock)
        except ValueError as error:
            yield Diagnostic("E301", f"{error}: {', '.join(map(str, facts))}")
        else:
            yield tick, code_facts(facts, words, stream)


def _taken_apart(event: Event | tuple[Instant, Facts]) -> tuple[Instant, Iterable[str | Fact], str | None]:
    """The time, the facts and the stream of an event."""
    if isinstance(event, Event):
        return event.tick, event.facts, event.stream
    if not isinstance(event, tuple | list) or len(event) != 2:
        raise TypeError(f"{event!r} is not an event; {_PAIRS}")
    time, facts = event
    return time, [facts] if isinstance(facts, str | Fact) else facts, None


def event_tick(time: Instant, clock: Clock) -> int:
    """The tick of a tick, a `datetime`, or a timestamp; `ValueError` where it is none of them.

    >>> from datetime import datetime
    >>> event_tick(datetime(1970, 1, 1, 0, 1, 30), Clock()), event_tick("1970-01-01T00:01:30Z", Clock())
    (90, 90)
    """
    if type(time) is int and 0 <= time < MOST_TICKS:
        clock.notation.bare = True
        return time
    if isinstance(time, bool) or not isinstance(time, Integral | str | date | np.datetime64):
        raise TypeError(f"{time!r} is not a time: give a tick, a datetime, or a timestamp as text")
    if isinstance(time, datetime):
        return _within(clock.tick_at(time), time)
    return moment(time.isoformat() if isinstance(time, date) else str(time), clock)


def code_facts(facts: Iterable[str | Fact], words: Dictionary, stream: str | None = None) -> Batch:
    """One batch of facts."""
    batch = Batch(stream=stream)
    for fact in facts:
        parsed = read_fact(fact) if isinstance(fact, str) else fact
        if not isinstance(parsed, Fact):
            raise TypeError(f'{fact!r} is not a fact; write it as text, such as "p(a)", or as a `Fact`')
        batch.add(parsed.signature, [words.code(term) for term in parsed.terms])
    return batch
