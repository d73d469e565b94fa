"""Events beside other parts of a plan: what rules conclude comes in as events, and events go out as facts."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

import numpy as np
from numpy.typing import NDArray

from thalweg.diagnostics import Diagnostic
from thalweg.engine import Given
from thalweg.engine.proof import Proof
from thalweg.ir.pattern_semantics import Instance
from thalweg.model.arrow import frame, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.parts.member import Output
from thalweg.parts.patterns.concluded_events import ConcludedEvents
from thalweg.parts.patterns.event_facts import batch_of
from thalweg.parts.patterns.event_run import ArrivedEvent, EventRun
from thalweg.parts.patterns.why_event import EventExplanation
from thalweg.runtimes.event_answers import AbstractEvent, ComplexEvent, EventAnswers, EventLine, RejectedEvents

# So many facts are kept for derivations that rest on events of earlier ticks.
_MOST_KEPT: Final = 100_000
_WINDOW: Final = re.compile(r" (?:in|always|before) \[[^\]]*\]\Z")


def facts_of(lines: Iterable[EventLine]) -> list[Fact]:
    """The facts that events are to others, each once."""
    return list(dict.fromkeys(fact for line in lines for fact in line.facts()))


def output_of(
    tick: int, lines: Iterable[EventLine], output: frozenset[str], facts: Sequence[Fact], words: Dictionary, name: str
) -> Output:
    """What events of a tick are: lines of those that are output, and facts of the stream with a name."""
    shown = tuple(one for one in lines if isinstance(one, RejectedEvents) or one.event in output)
    return Output(tick, EventAnswers(shown) if shown else None, events=(batch_of(facts, words, name),) if facts else ())


class EventStream:
    """Events as a member of a plan at work: those named in `output` are answers, and all are facts of the stream."""

    is_settled = True

    def __init__(
        self,
        run: EventRun,
        name: str,
        output: frozenset[str],
        concluded: ConcludedEvents,
        report: Callable[[Diagnostic], None],
    ) -> None:
        self._run = run
        self._name = name
        self._output = output
        self._concluded = concluded
        self._report = report
        self._last: tuple[int, frozenset[Fact]] = (-1, frozenset())
        self._instances: dict[str, Instance] = {}

    @property
    def first(self) -> int | None:
        return self._run.first

    @first.setter
    def first(self, tick: int | None) -> None:
        self._run.first = tick

    def advance(self, tick: int, batches: Sequence[Batch], given: Sequence[Given]) -> Iterator[Output]:
        graphs = list(self._concluded.take(given))
        for block in self._run.advance(tick, batches, graphs, self._classified(tick)):
            for at, lines in groupby(block.lines, key=lambda line: line.t):
                yield self._outputs(at, list(lines))

    def _classified(self, tick: int) -> Sequence[ArrivedEvent]:
        """The events of a tick that were classified elsewhere."""
        return ()

    def _outputs(self, tick: int, lines: Sequence[EventLine]) -> Output:
        facts = facts_of(lines)
        self._last = tick, frozenset(facts)
        self._remember(lines)
        return output_of(tick, lines, self._output, facts, self._run.dictionary, self._name)

    def _remember(self, lines: Sequence[EventLine]) -> None:
        """Keeps the latest events by the facts that they are, where it will be asked why."""
        if not self._run.explains:
            return
        found = {(one.event, one.individual, one.graph): one for one, _ in self._run.found}
        for line in lines:
            instance = line.instance if isinstance(line, ComplexEvent) else None
            if isinstance(line, AbstractEvent):
                instance = found.get((line.event, line.individual, line.graph))
            if instance is not None:
                self._instances |= {f"{fact} at {line.t}": instance for fact in line.facts()}
        while len(self._instances) > _MOST_KEPT:
            del self._instances[next(iter(self._instances))]

    def finish(self) -> Iterator[Output]:
        """What could not be decided is reported; every event was answered at its tick."""
        for one in self._run.summary():
            self._report(one)
        return iter(())

    def looks(self, after: int, before: int) -> Iterable[int]:
        return self._run.looks(after, before)

    def words_in_use(self) -> NDArray[np.int64]:
        """Those of conclusions, and of windows; patterns keep terms as text."""
        return np.concatenate([self._run.words_in_use(), self._concluded.words()])

    def why(self, fact: Fact) -> Proof | None:
        """The event that a fact is, at its tick."""
        tick, facts = self._last
        if tick != self._run.now or fact not in facts:
            return None
        return Proof(str(fact), tick, "event", rule=f"an event of `{self._name}`")

    def event_behind(self, leaf: Proof) -> Proof | None:
        """A fact of a derivation with the events, and the triples of graphs, that it is as an event."""
        written, _, tick = leaf.claim.rpartition(" at ")
        instance = self._instances.get(f"{_WINDOW.sub('', written)} at {tick}")
        return None if instance is None else replace(self._run.steps(instance), claim=leaf.claim, until=leaf.until)

    def why_event(self, asked: Fact) -> EventExplanation | None:
        """Why there is an event at the last tick, or how far its matches are; None where none has this name."""
        return self._run.why_event(asked)

    def lacking(self, fact: Fact) -> str:
        return f"there is no event `{fact}` at this tick"

    def snapshot(self) -> bytes:
        return frame([self._run.snapshot(), self._concluded.save(self._run.dictionary)])

    def resume(self, data: bytes) -> None:
        run, concluded = unframe(data)
        self._run.resume(run)
        self._concluded.load(concluded, self._run.dictionary)

    def close(self) -> None:
        """Nothing has to be closed."""
