"""Remembers what a picture of a run shows: what holds from when to when, numbers that came, and why things hold."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from thalweg.answers.clash_answers import Clash, ClashChange, Clashing, ClashInterval
from thalweg.answers.emit import AnswerBlock, Change, Interval, SnapshotRun, Solution
from thalweg.answers.event_answers import AbstractEvent, ComplexEvent, EventAnswers
from thalweg.answers.query_answers import Bindings, ConstructedGraph, Truth
from thalweg.explain.timeline_chart import Chart, Span, chart_of, clash_as_fact, event_as_fact, row_as_fact
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.term import NUMERIC
from thalweg.model.time import FOREVER, TimeFormat

MOST_SPANS: Final = 200_000
MOST_POINTS: Final = 100_000
MOST_PROOFS: Final = 300
"""How much of a run is remembered."""
LONGEST_PROOF: Final = 8_000


class TimelineRecorder:
    """Sees what comes and what is answered, and draws a chart of it.

    >>> recorder = TimelineRecorder(TimeFormat())
    >>> recorder.see(Change(3, ("jam(a)",), ()))
    >>> recorder.see(Change(14, (), ("jam(a)",)))
    >>> [(span.start, span.end) for group in recorder.chart().groups for _, spans in group.rows for span in spans]
    [(3, 14)]
    """

    def __init__(self, times: TimeFormat) -> None:
        self._times = times
        self._open: dict[str, int] = {}
        self._solved: set[str] = set()
        self._spans: list[Span] = []
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

    def see(self, block: AnswerBlock, why: Callable[[str], str | None] | None = None) -> None:
        """Sees what is answered; `why` gives the proof of a fact that holds now."""
        match block:
            case Change():
                self._end(block.t, map(_name_in(block), (*block.end, *block.unknown)))
                self._begin(block.t, map(_name_in(block), block.begin))
                self._prove(block, why)
            case Interval():
                self._add(_name_in(block)(block.fact), block.start, block.until)
            case SnapshotRun():
                current = set(map(_name_in(block), block.facts))
                self._end(block.first, [fact for fact in self._open if fact not in current])
                self._begin(block.first, [fact for fact in current if fact not in self._open])
                self._last = max(self._last, block.last)
            case Solution():
                current = set(block.sets[0]) if block.sets else set()
                self._end(block.t, self._solved - current)
                self._begin(block.t, current - self._solved)
                self._solved = current
            case ConstructedGraph():
                self._at(block.t, block.facts)
            case Bindings():
                self._at(block.t, map(row_as_fact, block.rows))
            case Truth():
                self._at(block.t, ["ask"] if block.answer else [])
            case EventAnswers():
                for line in block.lines:
                    if isinstance(line, AbstractEvent):
                        self._at(line.t, [f"{line.event}({line.individual})"])
                    elif isinstance(line, ComplexEvent):
                        drawn = event_as_fact(line.event, (term for _, term in line.bindings))
                        self._add(drawn, line.instance.start, line.instance.end)

    def _begin(self, tick: int, facts: Iterable[str]) -> None:
        self._last = max(self._last, tick)
        self._open.update((fact, tick) for fact in facts)

    def _end(self, tick: int, facts: Iterable[str]) -> None:
        for fact in facts:
            if fact in self._open:
                self._add(fact, self._open.pop(fact), tick - 1)

    def _at(self, tick: int, facts: Iterable[str]) -> None:
        for fact in facts:
            self._add(fact, tick, tick)

    def _add(self, fact: str, start: int, until: int | None) -> None:
        """A fact that holds from a tick to another, or still."""
        self._last = max(self._last, start, until or 0)
        if until is None:
            self._open[fact] = start
        elif len(self._spans) < MOST_SPANS:
            self._spans.append(Span(fact, start, until + 1))
        else:
            self._left_out += 1

    def _prove(self, block: Change, why: Callable[[str], str | None] | None) -> None:
        """Keeps proofs of what began, the first of each fact and then of each time, as long as there is room."""
        for fact in block.begin if why is not None and not isinstance(block, ClashChange) else ():
            if NUMERIC.match(fact.rstrip(")").rpartition(",")[2]):
                # Most likely a point of a curve, which nobody clicks.
                continue
            key = fact if fact not in self._proofs else f"{fact} from {self._position(block.t)}"
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

    def _placed(self, guaranteed: dict[str, int]) -> Iterator[Span]:
        place = self._position
        for span in self._spans:
            yield Span(span.fact, place(span.start), place(span.end))
        for fact, start in self._open.items():
            until = guaranteed.get(fact, FOREVER)
            sure = None if until >= FOREVER else place(until + 1)
            yield Span(fact, place(start), place(self._last + 1), True, sure)

    def _position(self, tick: int) -> int:
        clock = self._times.calendar.clock
        return tick * clock.tick_length + clock.epoch if self._times.iso else tick


def _name_in(block: AnswerBlock) -> Callable[[str], str]:
    """What a fact of a block is called in a picture."""
    if not isinstance(block, ClashChange | ClashInterval | Clashing):
        return str
    return lambda text: clash_as_fact((clash := Clash.read(text)).individual, clash.axiom)


def explaining(engine: Any, times: TimeFormat) -> Callable[[str], str | None] | None:
    """What gives the proof of a fact that holds now as text, where there is an engine that can explain itself."""
    from thalweg.model.fact import fact_of_text

    if engine is None:
        return None

    def why(fact: str) -> str | None:
        proof = engine.why(fact_of_text(fact))
        return None if proof is None else str(proof.render(times=times))

    return why
