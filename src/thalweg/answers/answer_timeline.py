"""Answers as a timeline, for a picture: what holds from when to when, numbers that came, and why things hold."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from thalweg.answers.event_answers import AbstractLine, ComplexLine, EventLine
from thalweg.answers.record import Answer, BrokenAxiom
from thalweg.explain.timeline_chart import Chart, ChartSpan, chart_of, clash_as_fact, event_as_fact, row_as_fact
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.term import NUMERIC
from thalweg.model.time import FOREVER, NEVER, TimeFormat

MOST_SPANS: Final = 200_000
MOST_POINTS: Final = 100_000
MOST_PROOFS: Final = 300
"""How much of a run is remembered."""
LONGEST_PROOF: Final = 8_000


@dataclass(frozen=True, slots=True)
class ChartExtent:
    """Which part of a run is drawn: from a tick to another, facts that a function `matches`.

    What held before the tick `earliest`, which is the first that is known, is drawn from there on.
    """

    first: int = NEVER
    last: int = FOREVER
    matches: Callable[[str], bool] = lambda fact: True
    earliest: int | None = None


class TimelineRecorder:
    """Sees what comes and what is answered, and draws a chart of it.

    >>> from thalweg.answers.record import changes
    >>> recorder = TimelineRecorder(TimeFormat())
    >>> recorder.see(changes(3, ("jam(a)",)))
    >>> recorder.see(changes(14, (), ("jam(a)",)))
    >>> [(span.start, span.end) for group in recorder.chart().groups for _, spans in group.rows for span in spans]
    [(3, 14)]
    """

    def __init__(self, times: TimeFormat, extent: ChartExtent | None = None) -> None:
        self._times = times
        self._extent = extent or ChartExtent()
        self._open: dict[str, int] = {}
        self._solved: set[str] = set()
        self._spans: list[ChartSpan] = []
        self._points: list[tuple[int, str]] = []
        self._proofs: dict[str, str] = {}
        self._last = 0
        self._left_out = 0
        self._remark = ""

    def observe(self, tick: int, batch: Batch, words: Dictionary) -> None:
        """Sees what comes: facts with a number behind their other arguments."""
        self._last = max(self._last, tick)
        if len(self._points) < MOST_POINTS:
            facts = (fact for fact in batch.facts(words) if fact.terms and NUMERIC.match(fact.terms[-1]))
            self._points += ((tick, str(fact)) for fact in facts)

    def see(self, answer: Answer, why: Callable[[str], str | None] | None = None) -> None:
        """Sees what is answered; `why` gives the proof of a fact that holds now."""
        name, t = _name_in(answer), answer.t
        match answer.kind, answer.columns:
            case "changes", (begin, end, unknown, _):
                self._end(t, map(name, (*end, *unknown)))
                self._begin(t, map(name, begin))
                self._prove(answer, why)
            case "intervals", (facts, starts):
                for fact, start in zip(facts, starts, strict=True):
                    self._add(name(fact), start, None if t == FOREVER else t)
            case "snapshot", (facts,):
                current = set(map(name, facts))
                self._end(answer.start, [fact for fact in self._open if fact not in current])
                self._begin(answer.start, [fact for fact in current if fact not in self._open])
                self._last = max(self._last, t)
            case "answer sets", sets:
                current = set(sets[0]) if sets else set()
                self._end(t, self._solved - current)
                self._begin(t, current - self._solved)
                self._solved = current
            case "triples", (facts,):
                self._at(t, facts)
            case "rows", (objects,):
                self._at(t, map(row_as_fact, map(json.loads, objects)))
            case "truth", ((is_true,),):
                self._at(t, ["ask"] if is_true else [])
            case "events", (lines,):
                for line in lines:
                    self._see_event(line)

    def _see_event(self, line: EventLine) -> None:
        match line:
            case AbstractLine():
                self._at(line.t, [f"{line.event}({line.individual})"])
            case ComplexLine():
                drawn = event_as_fact(line.event, (term for _, term in line.bindings))
                self._add(drawn, line.instance.start, line.instance.end)

    def _begin(self, tick: int, facts: Iterable[str]) -> None:
        self._last = max(self._last, tick)
        self._open.update((fact, tick) for fact in facts)

    def _end(self, tick: int, facts: Iterable[str]) -> None:
        for fact in facts:
            start = self._open.pop(fact, self._extent.earliest)
            if start is not None and start < tick:
                self._add(fact, start, tick - 1)

    def _at(self, tick: int, facts: Iterable[str]) -> None:
        for fact in facts:
            self._add(fact, tick, tick)

    def _add(self, fact: str, start: int, until: int | None) -> None:
        """A fact that holds from a tick to another, or still."""
        self._last = max(self._last, start, until or 0)
        if until is None:
            self._open[fact] = start
        elif not self._is_drawn(fact, start, until):
            return
        elif len(self._spans) < MOST_SPANS:
            self._spans.append(ChartSpan(fact, start, until + 1))
        else:
            self._left_out += 1

    def _is_drawn(self, fact: str, start: int, until: int) -> bool:
        extent = self._extent
        return start <= extent.last and until >= extent.first and extent.matches(fact)

    def reach(self, tick: int, open: Iterable[tuple[str, int]] = ()) -> None:
        """Time has come to a tick; facts that are `open` hold then, and began at a tick each."""
        self._last = max(self._last, tick)
        self._open.update(open)

    def _prove(self, answer: Answer, why: Callable[[str], str | None] | None) -> None:
        """Keeps proofs of what began, the first of each fact and then of each time, as long as there is room."""
        for fact in answer.columns[0] if why is not None and not answer.of_clashes else ():
            if NUMERIC.match(fact.rstrip(")").rpartition(",")[2]):
                # Most likely a point of a curve, which nobody clicks.
                continue
            key = fact if fact not in self._proofs else f"{fact} from {self._position(answer.t)}"
            if len(self._proofs) >= MOST_PROOFS:
                return
            proof = why(fact) if why is not None else None
            if proof is not None:
                self._proofs[key] = proof if len(proof) <= LONGEST_PROOF else f"{proof[:LONGEST_PROOF]}\n…"

    @property
    def has_enough_proofs(self) -> bool:
        """Whether there is no room for more."""
        return len(self._proofs) >= MOST_PROOFS

    def adopt_proofs(self, other: "TimelineRecorder", remark: str = "") -> None:
        """Takes the proofs that another one has kept, with a remark about them."""
        self._proofs, self._remark = other._proofs, remark

    # The chart ------------------------------------------------------------------------------------------------------

    def chart(self, guaranteed: dict[str, int] | None = None) -> Chart:
        """All of it; `guaranteed` has the last tick for which what holds at the end is guaranteed."""
        clock = self._times.calendar.clock
        iso = self._times.iso
        left_out = f"{self._left_out:,} more intervals are not shown." if self._left_out else ""
        return chart_of(
            self._placed(guaranteed or {}),
            ((self._position(tick), fact) for tick, fact in self._points),
            unit=clock.tick_length if iso else 1,
            calendar=self._times.calendar if iso else None,
            proofs=self._proofs,
            note=" ".join(filter(None, (left_out, self._remark))),
        )

    def _placed(self, guaranteed: dict[str, int]) -> Iterator[ChartSpan]:
        place = self._position
        for span in self._spans:
            yield ChartSpan(span.fact, place(span.start), place(span.end))
        for fact, start in self._open.items():
            if not self._is_drawn(fact, start, self._last):
                continue
            until = guaranteed.get(fact, FOREVER)
            sure = None if until >= FOREVER else place(until + 1)
            yield ChartSpan(fact, place(start), place(self._last + 1), True, sure)

    def _position(self, tick: int) -> int:
        clock = self._times.calendar.clock
        return tick * clock.tick_length + clock.epoch if self._times.iso else tick


def _name_in(answer: Answer) -> Callable[[str], str]:
    """What a fact of an answer is called in a picture."""
    if not answer.of_clashes:
        return str
    return lambda text: clash_as_fact((clash := BrokenAxiom.read(text)).individual, clash.axiom)


def explaining(engine: Any, times: TimeFormat) -> Callable[[str], str | None] | None:
    """What gives the proof of a fact that holds now as text, where there is an engine that can explain itself."""
    from thalweg.model.fact import fact_of_text

    if engine is None:
        return None

    def why(fact: str) -> str | None:
        proof = engine.why(fact_of_text(fact))
        return None if proof is None else str(proof.render(times=times))

    return why
