"""Events behind an explicit selection: what is selected is handed on when a window closes, with ticks of its own.

What follows is output at the closing tick. Patterns are decided up to it: an event that is selected later, although its
tick lies before, is output where it is asked for, and is not part of patterns any more. With one window and without
`OPTIONAL`, `MINUS` and `EXISTS` there are none, because a new solution has a triple that is new.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from thalweg.answers.event_answers import AbstractLine, ComplexLine, EventLine, RejectedLine, event_answer
from thalweg.answers.record import Answer
from thalweg.diagnostics import Diagnostic
from thalweg.ir.pattern_semantics import Instance
from thalweg.kinds.classes.abstract_events import ClassifiedEvent
from thalweg.kinds.classes.ladder import Ladder
from thalweg.kinds.events.concluded_events import Conclusion
from thalweg.kinds.events.event_run import ArrivedEvent, EventRun
from thalweg.kinds.events.selected_events import SelectedEvent, SelectedEvents
from thalweg.kinds.queries.streams_read import StreamsRead
from thalweg.languages.cascade.event_definitions import CascadeProgram
from thalweg.model.arrow import frame, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch


class SelectingRun(EventRun):
    """A cascade of events with a selection; conclusions of rules wait for the next closing tick, too."""

    def __init__(
        self,
        program: CascadeProgram,
        ladder: Ladder,
        output: frozenset[str],
        first: int | None,
        report: Callable[[Diagnostic], None],
        dictionary: Dictionary | None,
        streams: StreamsRead,
        explains: bool = False,
    ) -> None:
        super().__init__(program, ladder, output, first, report, dictionary, explains)
        query = program.selections[0].query
        assert query is not None
        self._selection = SelectedEvents(query, program.background, self.dictionary, streams, report)
        self._streams = streams
        self._waiting: list[ArrivedEvent] = []
        self._decided: int | None = None
        self._late = 0

    def advance(
        self,
        to: int,
        batches: Sequence[Batch],
        concluded: Sequence[list[Conclusion]] = (),
    ) -> list[Answer]:
        """What is known at the ticks up to one at which windows close; events that are selected are classified here."""
        begun = self.now is not None
        self._classifier.begin(to)
        if not begun:
            assert self.first is not None
            self._selection.begin(self.first)
        self._waiting += (self._arrived(to, self._concluded(event)) for event in concluded)
        lines: list[EventLine] = []
        for closing, selected in self._selection.advance(to, batches):
            ready = [event for event in self._waiting if event.tick <= closing]
            self._waiting = [event for event in self._waiting if event.tick > closing]
            lines += self._lines(
                closing, [*ready, *(self._arrived(event.tick, self._classify(event)) for event in selected)]
            )
        answers = sorted(lines, key=lambda line: (line.t, str(line)))
        return [event_answer(answers)] if answers else []

    def _classify(self, event: SelectedEvent) -> ClassifiedEvent:
        code = self.dictionary.code
        facts = [(fact.predicate, tuple(map(code, fact.terms))) for fact in event.facts]
        return self._classifier.classify(event.graph, facts)

    def _lines(self, closing: int, arrived: Sequence[ArrivedEvent]) -> Iterator[EventLine]:
        rejected: dict[str, list[str]] = {}
        events: dict[int, dict[str, list[Instance]]] = {}
        for event in arrived:
            if event.rejected:
                rejected.setdefault(event.rejected, []).append(event.graph)
            for instance in event.instances:
                if instance.event in self._output:
                    yield AbstractLine(closing, instance.event, instance.individual, instance.graph, instance.start)
                events.setdefault(instance.start, {}).setdefault(instance.event, []).append(instance)
        self._rejected = [RejectedLine(closing, why, tuple(sorted(graphs))) for why, graphs in rejected.items()]
        yield from self._rejected
        if self._reasons is not None:
            self._found = [(instance, ()) for event in arrived for instance in event.instances]
        for tick in sorted({*events, closing}):
            if self._decided is not None and tick <= self._decided:
                self._late += sum(map(len, events[tick].values()))
                continue
            self._decided = tick
            for end, (complex_event, bindings) in self._layers.advance(tick, events.get(tick, {})):
                if self._reasons is not None:
                    self._found.append((complex_event, bindings))
                if complex_event.event in self._output:
                    yield ComplexLine(self._selection.closing_after(end), complex_event, bindings)

    def looks(self, after: int, before: int) -> Iterable[int]:
        """The ticks between two others at which windows close."""
        return self._selection.evaluations(after + 1, before - 1)

    def summary(self) -> Iterator[Diagnostic]:
        """What could not be decided, streams that never came, and what was selected too late."""
        yield from super().summary()
        yield from self._streams.summary()
        if self._late:
            several = self._late > 1
            message = f"{self._late} selected event{'s were' if several else ' was'} not part of patterns: "
            message += "a window had closed behind " + ("their ticks" if several else "its tick")
            help_ = "use one window, and no `OPTIONAL`, `MINUS` or `EXISTS`, in the selection"
            yield Diagnostic("W813", message, help=help_)

    def words_in_use(self) -> NDArray[np.int64]:
        """The words of the terms that windows still need."""
        return np.concatenate([super().words_in_use(), self._selection.words_in_use()])

    def snapshot(self) -> bytes:
        """Its state, as bytes from which it can continue."""
        waiting = [
            [
                event.tick,
                event.graph,
                event.rejected,
                [[instance.event, instance.individual, instance.triples] for instance in event.instances],
            ]
            for event in self._waiting
        ]
        about = {"waiting": waiting, "decided": self._decided, "late": self._late}
        selection = b"" if self.now is None else self._selection.save()
        return frame([json.dumps(about).encode(), selection, super().snapshot()])

    def resume(self, data: bytes) -> None:
        """Goes on where a snapshot was taken."""
        about, selection, run = unframe(data)
        super().resume(run)
        saved = json.loads(about)
        self._decided, self._late = saved["decided"], saved["late"]
        self._waiting = [
            ArrivedEvent(tick, graph, rejected, tuple(_instance(tick, graph, *fields) for fields in instances))
            for tick, graph, rejected, instances in saved["waiting"]
        ]
        if selection:
            assert self.first is not None
            self._selection.load(selection, self.first)


def _instance(tick: int, graph: str, event: str, individual: str, triples: list[list[str]]) -> Instance:
    terms = tuple((subject, predicate, target) for subject, predicate, target in triples)
    return Instance(event, tick, tick, individual, graph, triples=terms)
