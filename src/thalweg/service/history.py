"""The history of a program: what held from when to when, made of the lines that are kept, as timelines draw it.

{"t":3,"begin":["jam(a)"],"end":[]}      becomes an answer again, which a recorder of timelines sees
{"t":9,"begin":[],"end":["jam(a)"]}      {"p": "jam", "rows": [["jam(a)", [[3, 9, 0, null]]]], "curves": []}
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from thalweg.answers.answer_timeline import ChartExtent, TimelineRecorder
from thalweg.answers.event_answers import AbstractLine, ComplexLine, EventLine
from thalweg.answers.record import Answer, changes
from thalweg.api.timing import Timing
from thalweg.diagnostics import Diagnostic
from thalweg.explain.timeline_chart import Chart
from thalweg.explain.timeline_page import chart_data
from thalweg.ir.pattern_semantics import Instance
from thalweg.model.time import FOREVER, NEVER, Clock, Notation, TimeFormat
from thalweg.service.answer_lines import AnswerLines, Line
from thalweg.service.holding import HeldFact
from thalweg.service.refused import RefusedError

if TYPE_CHECKING:
    from thalweg.service.generation import Generation

_AT_ONCE: Final = 1_000
"""Lines that are read together."""


def history(
    generation: "Generation",
    first: str | None = None,
    last: str | None = None,
    matches: Callable[[str], bool] | None = None,
) -> dict[str, Any]:
    """What a timeline draws of a generation, from a time to another, which are ticks or timestamps.

    {"first", "last", "unit", "zone", "groups": [{"p", "rows": [[fact, [[start, end, open, guaranteed]]]], "curves"}]},
    and a "note" where something is left out. Facts are drawn that a function `matches`. `RefusedError` (400) where a
    time cannot be read. It reads many lines perhaps: call it from a thread that may wait.
    """
    with generation.lock:
        now, number = generation.t, generation.lines.last
        held = tuple(generation.holding.facts(now))
    kept = KeptAnswers(generation.lines, number, generation.times)
    return kept.history(held, now, *_extent(first, last, generation.times), matches)


def _extent(first: str | None, last: str | None, times: TimeFormat) -> tuple[int | None, int | None]:
    try:
        start, end = (None if text is None else _tick(text, _clock(times)) for text in (first, last))
    except ValueError as error:
        raise RefusedError(400, Diagnostic("E403", str(error))) from None
    if start is not None and end is not None and end < start:
        message = f"`from` is {first}, which is after `to`, {last}"
        raise RefusedError(400, Diagnostic("E403", message))
    return start, end


def _clock(times: TimeFormat) -> Clock:
    # What is asked for says nothing about how the run writes its times.
    return replace(times.calendar.clock.of_file(), notation=Notation())


def _tick(time: str | int, clock: Clock) -> int:
    return Timing().tick_of(time, clock)


@dataclass(frozen=True, slots=True)
class KeptAnswers:
    """The answers that lines are about, up to the line of a number."""

    lines: AnswerLines
    number: int
    times: TimeFormat

    def history(
        self,
        held: Iterable[HeldFact],
        now: int | None,
        first: int | None = None,
        last: int | None = None,
        matches: Callable[[str], bool] | None = None,
    ) -> dict[str, Any]:
        """What a timeline draws of them, where facts are `held` at the tick `now`."""
        earliest = self._earliest()
        chosen = matches or (lambda fact: True)
        start, end = NEVER if first is None else first, FOREVER if last is None else last
        recorder = TimelineRecorder(self.times, ChartExtent(start, end, chosen, earliest))
        for answer in self._answers():
            recorder.see(answer)
        facts = tuple(held)
        earlier = (fact for fact in facts if earliest is not None and fact.since < earliest)
        recorder.reach(NEVER if now is None else now, ((fact.fact, fact.since) for fact in earlier))
        chart = recorder.chart({fact.fact: fact.until for fact in facts if fact.until is not None})
        note = self._note(earliest)
        drawn = replace(chart, note=" ".join(filter(None, (chart.note, note))))
        return chart_data(chart_up_to(drawn, self.times, now, first, last))

    def _earliest(self) -> int | None:
        """The tick of the first line that is kept; None where all are."""
        if self.lines.first <= 1:
            return None
        return next((line.t for _, line in self.lines.read(self.lines.first - 1, 1)), None)

    def _note(self, earliest: int | None) -> str:
        if earliest is None:
            return ""
        since = self.times.text(earliest)
        return f"Lines before {since} are no longer kept: what ended before is missing, and the rest may begin earlier."

    def _answers(self) -> Iterator[Answer]:
        reader = _AnswerReader(_clock(self.times))
        after = self.lines.first - 1
        while after < self.number:
            lines = self.lines.read(after, min(_AT_ONCE, self.number - after))
            if not lines:
                return
            yield from (reader.answer(line) for number, line in lines if number <= self.number)
            after = lines[-1][0]


def chart_up_to(
    chart: Chart, times: TimeFormat, now: int | None, first: int | None = None, last: int | None = None
) -> Chart:
    """A chart that goes on to the tick `now`, or from where to where it was asked for.

    >>> from thalweg.explain.timeline_chart import ChartSpan, chart_of
    >>> chart = chart_up_to(chart_of([ChartSpan("jam(a)", 3, 5)]), TimeFormat(), 8)
    >>> chart.first, chart.last
    (3, 9)
    """
    place = chart_position(times)
    end = place((NEVER if now is None else now) + 1)
    begin = chart.first if chart.groups else max(0, end - chart.unit)
    stop = max(chart.last, end) if chart.groups else max(end, begin + chart.unit)
    return replace(
        chart,
        first=begin if first is None else place(first),
        last=stop if last is None else place(last + 1),
    )


def chart_position(times: TimeFormat) -> Callable[[int], int]:
    """Where a tick is on a chart: milliseconds since 1970 where times are timestamps."""
    clock = times.calendar.clock
    return (lambda tick: tick * clock.tick_length + clock.epoch) if times.iso else (lambda tick: tick)


@dataclass(frozen=True, slots=True)
class _AnswerReader:
    """Makes answers of lines; a clock says which tick a time is."""

    clock: Clock

    def answer(self, line: Line) -> Answer:
        """What a line of `--format jsonl` is about.

        >>> _AnswerReader(Clock()).answer(Line(b'{"t":40,"begin":["q(x)"],"end":[]}', 40)).columns[0]
        ['q(x)']
        """
        match json.loads(line.text):
            case {"begin": [*begin], "end": [*end]} as change:
                return _changes(line.t, begin, end, change.get("unknown", []))
            case {"answers": [*sets]}:
                return Answer("answer sets", line.t, tuple(sets))
            case {"bindings": [*rows]}:
                return Answer("rows", line.t, (list(map(json.dumps, rows)),))
            case {"graph": [*triples]}:
                return Answer("triples", line.t, (triples,))
            case {"answer": bool(is_true)}:
                return Answer("truth", line.t, ((is_true,),))
            case {"event": str()} as event:
                return Answer("events", line.t, ((self._event(line.t, event),),))
        # Events that have no classes, of which nothing is drawn.
        return Answer("events", line.t, ((),))

    def _event(self, t: int, event: Mapping[str, Any]) -> EventLine:
        name = event["event"]
        if "individual" in event:
            return AbstractLine(t, name, event["individual"])
        start, end = (_tick(event[key], self.clock) for key in ("from", "to"))
        return ComplexLine(t, Instance(name, start, end), tuple(event["bindings"].items()))


def _changes(t: int, begin: list[Any], end: list[Any], unknown: list[Any]) -> Answer:
    """Changes of facts; or of clashes, which are objects."""
    if all(isinstance(text, str) for texts in (begin, end, unknown) for text in texts):
        return changes(t, begin, end, unknown)
    clashes = (list(map(json.dumps, texts)) for texts in (begin, end, unknown))
    return Answer("changes", t, (*clashes, ()), of_clashes=True)
