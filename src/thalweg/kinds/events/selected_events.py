"""An explicit selection: the events of a stream that the solutions of a query rest on, with the triples of these only.

    FROM NAMED WINDOW :w ON STREAM :s [RANGE 5m, SLIDE 1m]
    WHERE { ?p a :CongestionLevel . WINDOW :w { ?o :property ?p ; :value ?v } }

Whenever a window closes, each new solution rests on the events that carry its window triples. Solutions that rest on
the same events make one selected event: its triples are theirs, those of the background among them, and its tick is
that of the latest of those events. The query is evaluated as any other (`parts.queries`).
"""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from thalweg.diagnostics import Diagnostic
from thalweg.kinds.queries.choose_evaluator import choose_evaluator
from thalweg.kinds.queries.evaluator import Row
from thalweg.kinds.queries.per_window import triple_of
from thalweg.kinds.queries.query_operator import StreamsRead
from thalweg.languages.rspql.algebra import Pattern, patterns
from thalweg.languages.rspql.closings import Closings, closings_of, evaluation_ticks
from thalweg.languages.rspql.query import Query
from thalweg.model.arrow import frame, unframe
from thalweg.model.dataset import Dataset
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.solvers.sparql import as_stored

Stored = tuple[str, str, str]
"""A triple as rows have it."""


@dataclass(frozen=True, slots=True)
class SelectedEvent:
    """What is selected of one event or of several: the latest tick, the name of the graph, and the facts."""

    tick: int
    graph: str
    facts: tuple[Fact, ...]


@dataclass(eq=False, slots=True)
class _Carrier:
    """An event that windows show: the facts of it that can be selected."""

    tick: int
    graph: str
    facts: dict[Stored, Fact]

    @property
    def order(self) -> tuple[int, str, list[Stored]]:
        """Which of several is the earliest, whatever came first of a tick."""
        return self.tick, self.graph, sorted(self.facts)


@dataclass(slots=True)
class _Window:
    """The events of a window, the earliest first, and by the triples that they carry."""

    name: str
    stream: str
    closings: Closings
    events: deque[_Carrier] = field(default_factory=deque)
    carrying: dict[Stored, list[_Carrier]] = field(default_factory=dict)

    def add(self, event: _Carrier) -> None:
        self.events.append(event)
        for triple in event.facts:
            self.carrying.setdefault(triple, []).append(event)

    def earliest(self, triple: Stored, tick: int) -> _Carrier | None:
        """The first event that carries a triple in what the window shows at a tick."""
        closing = self.closings.latest(tick)
        if closing is None:
            return None
        first = closing - self.closings.size
        shown = [carrier for carrier in self.carrying.get(triple, ()) if first < carrier.tick <= closing]
        return min(shown, key=lambda carrier: carrier.order) if len(shown) > 1 else next(iter(shown), None)

    def forget(self, tick: int) -> None:
        """Drops what no window will show after a tick."""
        while self.events and self.events[0].tick <= tick - self.closings.size - self.closings.slide:
            for triple in self.events.popleft().facts:
                carriers = self.carrying[triple]
                carriers.pop(0)
                if not carriers:
                    del self.carrying[triple]


class SelectedEvents:
    """A selection at work."""

    def __init__(
        self,
        query: Query,
        background: Dataset,
        dictionary: Dictionary,
        streams: StreamsRead,
        report: Callable[[Diagnostic], None],
    ) -> None:
        self._query = query
        self._streams = streams
        self._dictionary = dictionary
        self._evaluator = choose_evaluator(query, background, dictionary, report)
        self._template = [_stored_pattern(pattern) for pattern in patterns(query.algebra)]
        self._background = dict(self._selectable(background.default))
        for _, facts in background.named:
            self._background.update(self._selectable(facts))
        self._windows: list[_Window] = []
        self._filled: int | None = None
        self._empty = False
        self._now: int | None = None

    def begin(self, first: int) -> None:
        """The first tick of the run is known: windows count from it."""
        self._windows = [
            _Window(window.name, window.stream, closings_of(window, first)) for window in self._query.windows
        ]
        self._evaluator.begin(first)

    def advance(self, to: int, batches: Sequence[Batch]) -> Iterator[tuple[int, list[SelectedEvent]]]:
        """Takes what comes at a tick; what is selected at the evaluations up to it, the last one in any case."""
        before = to if self._now is None else self._now + 1
        self._now = to
        last = None
        for tick, selected in self._evaluations(before, to - 1):
            last = tick
            yield tick, selected
        relevant = list(self._streams.only(batches))
        if relevant:
            self._add(to, relevant)
        for tick, selected in self._evaluations(to, to):
            last = tick
            yield tick, selected
        closing = self.closing_before(to)
        if closing is not None and closing >= before and closing != last:
            yield closing, []

    def evaluations(self, start: int, end: int) -> Iterator[int]:
        """The ticks from one to another at which some window closes."""
        return evaluation_ticks([window.closings for window in self._windows], start, end)

    def closing_before(self, tick: int) -> int | None:
        """The last tick up to another at which some window closed."""
        closings = [closing for window in self._windows if (closing := window.closings.latest(tick)) is not None]
        return max(closings, default=None)

    def closing_after(self, tick: int) -> int:
        """The first tick from another one on at which some window closes."""
        return min(
            window.closings.between(tick, tick + window.closings.size + window.closings.slide)[0]
            for window in self._windows
        )

    def _evaluations(self, start: int, end: int) -> Iterator[tuple[int, list[SelectedEvent]]]:
        """What is selected from one tick to another, while nothing comes; over empty windows it is nothing."""
        for tick in self.evaluations(start, end):
            is_empty = self._filled is None or tick >= self._filled + self._longest
            if is_empty and self._empty:
                return
            self._empty = is_empty
            yield tick, self._selected(tick)

    @property
    def _longest(self) -> int:
        return max(window.closings.size + window.closings.slide for window in self._windows)

    def _add(self, tick: int, batches: Sequence[Batch]) -> None:
        self._filled, self._empty = tick, False
        for batch in batches:
            for graph, rows in batch.events():
                facts = (self._dictionary.fact(name.name, words) for name, words in rows)
                event = _Carrier(tick, graph, dict(self._selectable(facts)))
                for window in self._windows:
                    if window.stream == batch.stream and event.facts:
                        window.add(event)
        self._evaluator.add(tick, batches)

    def _selectable(self, facts: Iterable[Fact]) -> Iterator[tuple[Stored, Fact]]:
        """The facts that some triple of the template can be, as triples."""
        names = {pattern.terms[1] for pattern in self._template}
        for fact in facts:
            triple = triple_of(fact)
            if triple is not None and (triple[1] in names or any(name[:1] == "?" for name in names if name)):
                subject, predicate, target = map(_stored, triple)
                yield (subject, predicate, target), fact

    def _selected(self, tick: int) -> list[SelectedEvent]:
        groups: dict[frozenset[_Carrier], dict[Fact, None]] = {}
        for row in dict.fromkeys(self._evaluator.evaluate(tick).begin):
            events, facts = self._rests_on(row, tick)
            if events:
                groups.setdefault(events, {}).update(facts)
        for window in self._windows:
            window.forget(tick)
        return sorted((_event(events, facts) for events, facts in groups.items()), key=lambda event: event.tick)

    def _rests_on(self, row: Row, tick: int) -> tuple[frozenset[_Carrier], dict[Fact, None]]:
        """The events that carry the window triples of a solution, and the facts that all its triples are."""
        bindings = dict(zip(self._query.columns, row, strict=True))
        events: set[_Carrier] = set()
        facts: dict[Fact, None] = {}
        for pattern in self._template:
            terms = [bindings.get(term[1:]) if term is not None and term[0] == "?" else term for term in pattern.terms]
            if None in terms:
                continue
            graph = bindings.get(pattern.graph[1:]) if pattern.graph and pattern.graph[0] == "?" else pattern.graph
            triple: Stored = tuple(terms)  # type: ignore[assignment]
            window = next((candidate for candidate in self._windows if candidate.name == graph), None)
            if window is None:
                facts |= {self._background[triple]: None} if triple in self._background else {}
            elif (event := window.earliest(triple, tick)) is not None:
                events.add(event)
                facts[event.facts[triple]] = None
        return frozenset(events), facts

    def words_in_use(self) -> NDArray[np.int64]:
        """The words that its windows need."""
        return self._evaluator.words_in_use()

    def save(self) -> bytes:
        """Its state, as bytes from which it can continue."""
        kept: dict[_Carrier, int] = {}
        for window in self._windows:
            for event in window.events:
                kept.setdefault(event, len(kept))
        events = [
            [carrier.tick, carrier.graph, [[fact.predicate, fact.terms] for fact in carrier.facts.values()]]
            for carrier in kept
        ]
        windows = [[kept[event] for event in window.events] for window in self._windows]
        about = {"now": self._now, "filled": self._filled, "empty": self._empty, "events": events, "windows": windows}
        return frame([json.dumps(about).encode(), self._evaluator.snapshot()])

    def load(self, data: bytes, first: int) -> None:
        """Brings one that has not begun to where another was saved."""
        about, evaluator = unframe(data)
        saved = json.loads(about)
        self._windows = [
            _Window(definition.name, definition.stream, closings_of(definition, first))
            for definition in self._query.windows
        ]
        self._evaluator.resume(evaluator)
        self._now, self._filled, self._empty = saved["now"], saved["filled"], saved["empty"]
        events = [
            _Carrier(tick, graph, dict(self._selectable(Fact(name, tuple(terms)) for name, terms in facts)))
            for tick, graph, facts in saved["events"]
        ]
        for window, numbers in zip(self._windows, saved["windows"], strict=True):
            for number in numbers:
                window.add(events[number])


def _event(events: frozenset[_Carrier], facts: Iterable[Fact]) -> SelectedEvent:
    names = {event.graph for event in events}
    return SelectedEvent(max(event.tick for event in events), names.pop() if len(names) == 1 else "", tuple(facts))


def _stored_pattern(pattern: Pattern) -> Pattern:
    subject, predicate, target = (term if term is None or term[0] == "?" else _stored(term) for term in pattern.terms)
    return pattern._replace(terms=(subject, predicate, target))


def _stored(term: str) -> str:
    """A term as rows have it; most are IRIs, which are as they are."""
    return term if term[:5] == "<http" else as_stored(term)
