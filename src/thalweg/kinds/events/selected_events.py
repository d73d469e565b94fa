"""An explicit selection: the events of a stream that the solutions of a query rest on, with the triples of these only.

    FROM NAMED WINDOW :w ON STREAM :s [RANGE 5m, SLIDE 1m]
    WHERE { ?p a :CongestionLevel . WINDOW :w { ?o :property ?p ; :value ?v } }

Whenever a window closes, each new solution rests on the events that carry its window triples. Solutions that rest on
the same events make one selected event: its triples are theirs, those of the background among them, and its tick is
that of the latest of those events. The query is evaluated as any other (`kinds/queries`).

What is selected is handed on when a window closes, and what follows is output at the closing tick. Patterns are decided
up to it: an event that is selected later, although its tick lies before, is output where it is asked for, and is not
part of patterns any more. With one window and without `OPTIONAL`, `MINUS` and `EXISTS` there are none, because a new
solution has a triple that is new.
"""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from thalweg.answers.event_answers import AbstractLine, ComplexLine, EventLine
from thalweg.dataflow.context import Context
from thalweg.dataflow.operator import Operator, Updates, Words
from thalweg.dataflow.state import StateFormat
from thalweg.diagnostics import Diagnostic
from thalweg.ir.pattern_semantics import Instance
from thalweg.kinds.events.event_stages import ArrivedEvent
from thalweg.kinds.events.events_operator import EventsOperator, EventsSpec
from thalweg.kinds.queries.choose_evaluator import choose_evaluator
from thalweg.kinds.queries.evaluator import Row
from thalweg.kinds.queries.per_window import triple_of
from thalweg.kinds.queries.query_operator import StreamsRead
from thalweg.languages.rspql.algebra import TriplePattern, patterns
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

    def words_in_use(self) -> Words:
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


def _stored_pattern(pattern: TriplePattern) -> TriplePattern:
    subject, predicate, target = (term if term is None or term[0] == "?" else _stored(term) for term in pattern.terms)
    return pattern._replace(terms=(subject, predicate, target))


def _stored(term: str) -> str:
    """A term as rows have it; most are IRIs, which are as they are."""
    return term if term[:5] == "<http" else as_stored(term)


# The operator --------------------------------------------------------------------------------------------------------


def _with_marks(state: bytes) -> bytes:
    """A state of version 1, which does not say which of the events that wait are renewed: none of them is."""
    snapshot, arriving = unframe(state)
    about, *kept = unframe(snapshot)
    saved = json.loads(about)
    saved["waiting"] = [[*event, False] for event in saved["waiting"]]
    return frame([frame([json.dumps(saved).encode(), *kept]), arriving])


class SelectingOperator(EventsOperator):
    """Events behind a selection; conclusions of other parts wait for the next closing tick, too."""

    format: ClassVar[StateFormat] = StateFormat("events", 2, upgrade=_with_marks)

    def __init__(self, spec: EventsSpec, context: Context, dictionary: Dictionary) -> None:
        super().__init__(spec, context, dictionary)
        program = spec.part.program
        query = program.selections[0].query
        assert query is not None
        self._streams = StreamsRead(query, (*context.streams, *(spec.streams or ())))
        self._streams.check(context.names_streams)
        self._selection = SelectedEvents(query, program.background, dictionary, self._streams, context.report)
        self._waiting: list[ArrivedEvent] = []
        self._decided: int | None = None
        self._late = 0

    def _lines(self, tick: int, updates: Updates) -> Iterator[EventLine]:
        """What is known at the ticks up to one at which windows close; events that are selected are classified here."""
        if self._classifier.now is None:
            assert self._first is not None
            self._selection.begin(self._first)
        self._waiting += self._arriving.at(tick, (), self._arriving.concluded(updates.held))
        for closing, selected in self._selection.advance(tick, updates.events):
            ready = [event for event in self._waiting if event.tick <= closing]
            self._waiting = [event for event in self._waiting if event.tick > closing]
            yield from self._closed(closing, [*ready, *map(self._classified, selected)])

    def _classified(self, event: SelectedEvent) -> ArrivedEvent:
        code = self.dictionary.code
        facts = [(fact.predicate, tuple(map(code, fact.terms))) for fact in event.facts]
        return self._arriving.arrived(event.tick, self._classifier.classify(event.graph, facts))

    def _closed(self, closing: int, arrived: Sequence[ArrivedEvent]) -> Iterator[EventLine]:
        """What follows of the events that are known when a window closes."""
        rejected: dict[str, list[str]] = {}
        events: dict[int, dict[str, list[Instance]]] = {}
        renewed: dict[int, dict[str, list[Instance]]] = {}
        for event in arrived:
            if event.rejected:
                rejected.setdefault(event.rejected, []).append(event.graph)
            for instance in event.instances:
                if instance.event in self._output:
                    yield AbstractLine(closing, instance.event, instance.individual, instance.graph, instance.start)
                by_tick = renewed if event.renewed else events
                by_tick.setdefault(instance.start, {}).setdefault(instance.event, []).append(instance)
        yield from self._reject(closing, rejected)
        if self._reasons is not None:
            self._found = [(instance, ()) for event in arrived for instance in event.instances]
        for tick in sorted({*events, *renewed, closing}):
            own = events.get(tick, {})
            if self._decided is not None and tick <= self._decided:
                self._late += sum(map(len, own.values()))
                continue
            self._decided = tick
            for end, (complex_event, bindings) in self._layers.advance(tick, own, renewed.get(tick, {})):
                if self._reasons is not None:
                    self._found.append((complex_event, bindings))
                if complex_event.event in self._output:
                    yield ComplexLine(self._selection.closing_after(end), complex_event, bindings)

    def looks(self, after: int, before: int) -> Iterable[int]:
        """The ticks between two others at which windows close."""
        return self._selection.evaluations(after + 1, before - 1)

    def _doubts(self) -> Iterator[Diagnostic]:
        """What could not be decided, streams that never came, and what was selected too late."""
        yield from super()._doubts()
        yield from self._streams.summary()
        if self._late:
            several = self._late > 1
            message = f"{self._late} selected event{'s were' if several else ' was'} not part of patterns: "
            message += "a window had closed behind " + ("their ticks" if several else "its tick")
            help_ = "use one window, and no `OPTIONAL`, `MINUS` or `EXISTS`, in the selection"
            yield Diagnostic("W813", message, help=help_)

    def words_in_use(self) -> Words:
        """The words of the terms that conclusions and windows still need."""
        return np.concatenate([self._selection.words_in_use(), super().words_in_use()])

    def take_over(self, other: Operator) -> None:
        """Goes on with what the windows show, and with what waits for one of them."""
        assert isinstance(other, SelectingOperator)
        super().take_over(other)
        self._decided, self._late = other._decided, other._late
        seen = self._arriving.is_seen
        self._waiting = [event._replace(instances=tuple(filter(seen, event.instances))) for event in other._waiting]
        if other._classifier.now is not None:
            assert other._first is not None
            self._selection.load(other._selection.save(), other._first)

    def _snapshot(self) -> bytes:
        waiting = [
            [
                event.tick,
                event.graph,
                event.rejected,
                [[instance.event, instance.individual, instance.triples] for instance in event.instances],
                event.renewed,
            ]
            for event in self._waiting
        ]
        about = {"waiting": waiting, "decided": self._decided, "late": self._late}
        selection = b"" if self._classifier.now is None else self._selection.save()
        return frame([json.dumps(about).encode(), selection, super()._snapshot()])

    def _resume(self, data: bytes) -> None:
        about, selection, state = unframe(data)
        super()._resume(state)
        saved = json.loads(about)
        self._decided, self._late = saved["decided"], saved["late"]
        self._waiting = [
            ArrivedEvent(tick, graph, rejected, tuple(_instance(tick, graph, *fields) for fields in instances), renewed)
            for tick, graph, rejected, instances, renewed in saved["waiting"]
        ]
        if selection:
            assert self._first is not None
            self._selection.load(selection, self._first)


def _instance(tick: int, graph: str, event: str, individual: str, triples: list[list[str]]) -> Instance:
    terms = tuple((subject, predicate, target) for subject, predicate, target in triples)
    return Instance(event, tick, tick, individual, graph, triples=terms)
