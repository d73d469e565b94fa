"""What answers that were written say of time: which facts hold from when to when. It becomes the chart of a picture."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime, tzinfo
from math import gcd

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.explain.timeline_chart import Chart, ChartSpan, chart_of
from thalweg.model.time import Calendar, Clock

Written = int | str | datetime
"""A time as a file has it: a tick, or a timestamp."""
Moment = int
"""A tick, or milliseconds since 1970 where times are timestamps."""


class RecordedTimeline:
    """Takes what answers say, in the order in which they were written.

    >>> timeline = RecordedTimeline()
    >>> timeline.change(3, begin=["jam(a)"])
    >>> timeline.change(9, end=["jam(a)"])
    >>> timeline.at(5, ["seen(b)"]); timeline.at(6, ["seen(b)"])
    >>> [(fact, spans[0].start, spans[0].end) for group in timeline.chart().groups for fact, spans in group.rows]
    [('jam(a)', 3, 9), ('seen(b)', 5, 7)]
    """

    def __init__(self) -> None:
        self._open: dict[str, Moment] = {}
        self._solved: set[str] = set()
        self._closed: list[tuple[str, Moment, Moment, bool]] = []
        self._at: dict[str, set[Moment]] = defaultdict(set)
        self._seen: set[Moment] = set()
        self._zone: tzinfo | None = None

    def change(self, t: Written, begin: Iterable[str] = (), end: Iterable[str] = ()) -> None:
        """Facts begin to hold at a time, and others hold no longer."""
        moment = self._moment(t)
        for fact in end:
            if fact in self._open:
                self._closed.append((fact, self._open.pop(fact), moment, True))
        self._open.update((fact, moment) for fact in begin)

    def snapshot(self, t: Written, facts: Iterable[str]) -> None:
        """These facts hold at a time, and no others."""
        current = set(facts)
        self.change(t, current - self._open.keys(), self._open.keys() - current)

    def solution(self, t: Written, facts: Iterable[str]) -> None:
        """These facts are in the answer set of a window, and hold until the program is solved again."""
        current = set(facts)
        self.change(t, current - self._solved, self._solved - current)
        self._solved = current

    def interval(self, fact: str, start: Written, until: Written | None) -> None:
        """A fact holds up to a last tick, or still."""
        begins = self._moment(start)
        if until is None:
            self._open[fact] = begins
        else:
            self._closed.append((fact, begins, self._moment(until), False))

    def at(self, t: Written, facts: Iterable[str]) -> None:
        """Facts hold at one tick; ticks that follow each other are one band."""
        moment = self._moment(t)
        for fact in facts:
            self._at[fact].add(moment)

    def _moment(self, time: Written) -> Moment:
        if isinstance(time, str):
            time = int(time) if time.isdecimal() else datetime.fromisoformat(time)
        if isinstance(time, datetime):
            self._zone = time.tzinfo
            time = round(time.timestamp() * 1_000)
        self._seen.add(time)
        return time

    # The chart ------------------------------------------------------------------------------------------------------

    def chart(self, tick: int | None = None) -> Chart:
        """The chart of all answers; `tick` is how many milliseconds a tick lasts, else the times of answers say it."""
        if tick is not None and self._zone is None and self._seen:
            message = "`--tick` is for answers with timestamps, and these have bare ticks"
            raise RejectedError([Diagnostic("E403", message, help="leave it out")])
        unit = tick or self._tick()
        calendar = None if self._zone is None else Calendar(Clock(unit), self._zone)
        return chart_of(self._spans(unit, max(self._seen, default=0)), unit=unit, calendar=calendar)

    def _tick(self) -> int:
        """The length of a tick: 1 where ticks are numbers.

        The first instant of a tick is a whole number of ticks from 1970, so that the length divides all times.
        """
        if self._zone is None:
            return 1
        return gcd(*self._seen) if len(self._seen) > 1 else 1_000

    def _spans(self, unit: int, last: Moment) -> Iterator[ChartSpan]:
        for fact, start, end, is_after in self._closed:
            yield ChartSpan(fact, start, end if is_after else end + unit)
        for fact, moments in self._at.items():
            yield from (ChartSpan(fact, *band) for band in _bands(sorted(moments), unit))
        for fact, start in self._open.items():
            yield ChartSpan(fact, start, last + unit, is_open=True)


def _bands(moments: list[Moment], unit: int) -> Iterator[tuple[Moment, Moment]]:
    """From where to where ticks follow each other."""
    start = before = moments[0]
    for moment in moments[1:]:
        if moment > before + unit:
            yield start, before + unit
            start = moment
        before = moment
    yield start, before + unit
