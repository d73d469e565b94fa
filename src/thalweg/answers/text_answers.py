"""Answers as people read them on a terminal: one line for each thing that begins or ends.

    2026-11-15
    08:00:03  + jam(a)   until 08:00:13
    08:00:14  - jam(a)

A day is named once, above its lines. `until` is the last tick for which a conclusion is guaranteed.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from typing import Final

from thalweg.answers.clash_answers import Clash, ClashChange, Clashing, ClashInterval
from thalweg.answers.emit import AnswerBlock, Change, Interval, SnapshotRun, Solution
from thalweg.answers.event_answers import AbstractEvent, ComplexEvent, EventAnswers, EventLine
from thalweg.answers.query_answers import Bindings, ConstructedGraph, QueryAnswer, Truth
from thalweg.diagnostics import VISIBLE
from thalweg.model.time import FOREVER, TimeFormat

_STYLES: Final = {"+": "32", "-": "31", "?": "33", "time": "2", "note": "2", "day": "1"}
_DAY: Final = 86_400_000


class TextFormatter:
    """Writes blocks as lines of text; `brief` shortens what stands in them, as prefixes do.

    >>> write = TextFormatter(TimeFormat())
    >>> print(*write(Change(3, ("jam(a)",), ("free(a)",), until=(13,))), sep="", end="")
    3  - free(a)
    3  + jam(a)   until 13
    """

    def __init__(
        self, times: TimeFormat, coloured: bool = False, brief: Callable[[str], str] = lambda text: text
    ) -> None:
        self._times = times
        self._coloured = coloured
        self._brief = brief
        self._day: date | None = None

    def __call__(self, block: AnswerBlock) -> Iterable[str]:
        """The lines of a block, below the name of their day where that is a new one."""
        match block:
            case SnapshotRun():
                facts = _joined([self._shown(block, fact) for fact in block.facts])
                for tick in range(block.first, block.last + 1):
                    yield self._new_day(tick)
                    yield self._line(tick, facts, note=_partial(block))
            case Interval():
                yield self._new_day(block.start)
                until = "   still holds" if block.until is None else self._until(block.until)
                yield self._line(block.start, self._shown(block, block.fact), note=until + _partial(block))
            case EventAnswers():
                for line in block.lines:
                    yield self._new_day(line.t)
                    yield self._line(line.t, self._event(line))
            case _:
                yield self._new_day(block.t)
                yield from self._lines(block)

    def _lines(self, block: Change | Solution | QueryAnswer) -> Iterator[str]:
        match block:
            case Change():
                yield from self._change(block)
            case Solution():
                yield from self._solution(block)
            case Bindings():
                for row in block.rows or ({"": "no rows"},):
                    yield self._line(block.t, _pairs(row.items()))
            case ConstructedGraph():
                yield self._line(block.t, _joined(block.facts))
            case Truth():
                yield self._line(block.t, "yes" if block.answer else "no")

    def _change(self, block: Change) -> Iterator[str]:
        note = _partial(block)
        for sign, facts in (("-", block.end), ("?", block.unknown)):
            yield from (self._line(block.t, self._shown(block, fact), sign, note) for fact in facts)
        guaranteed = block.until or (FOREVER,) * len(block.begin)
        for fact, until in zip(block.begin, guaranteed, strict=True):
            yield self._line(block.t, self._shown(block, fact), "+", self._until(until) + note)

    def _shown(self, block: AnswerBlock, fact: str) -> str:
        """A fact, or a clash in words."""
        if not isinstance(block, ClashChange | ClashInterval | Clashing):
            return fact
        clash = Clash.read(fact).at(self._times)
        individuals = clash.individual if clash.other is None else f"{clash.individual} and {clash.other}"
        because = f"   because {', '.join(clash.because)}" if clash.because else ""
        return f"{individuals}: {clash.axiom}{because}"

    def _solution(self, block: Solution) -> Iterator[str]:
        note, number = "   incomplete" * block.incomplete, len(block.sets)
        if not number:
            yield self._line(block.t, "nothing is known" if block.incomplete else "no answer set", note=note)
        for place, facts in enumerate(block.sets, 1):
            label = f"{place} of {number}:  " if number > 1 else ""
            yield self._line(block.t, f"{label}{_joined(facts)}", note=note)

    def _event(self, line: EventLine) -> str:
        if isinstance(line, AbstractEvent):
            return f"{line.event}({line.individual})"
        if isinstance(line, ComplexEvent):
            span = f"from {self._moment(line.instance.start)} to {self._moment(line.instance.end)}"
            return f"{line.event}   {span}   {_pairs(line.bindings)}".rstrip()
        return f"{line.why}: {', '.join(graph or 'an event' for graph in line.graphs)}"

    def _until(self, tick: int) -> str:
        return f"   until {self._moment(tick)}" if tick < FOREVER else ""

    # Lines and times ------------------------------------------------------------------------------------------------

    def _line(self, tick: int, text: str, sign: str = "", note: str = "") -> str:
        shown = self._brief(text).translate(VISIBLE)
        body = self._styled(f"{sign} {shown}" if sign else shown, sign)
        return f"{self._styled(self._moment(tick), 'time')}  {body}{self._styled(note, 'note')}\n"

    def _new_day(self, tick: int) -> str:
        """A line with the day of a tick, where that is another one than before."""
        moment = self._times.calendar.moment(tick) if self._times.iso else None
        if moment is None or moment.date() == self._day or self._times.calendar.clock.tick_length >= _DAY:
            return ""
        self._day = moment.date()
        return self._styled(self._day.isoformat(), "day") + "\n"

    def _moment(self, tick: int) -> str:
        """A time of the day that was named last, with its date where it is of another."""
        moment = self._times.calendar.moment(tick) if self._times.iso else None
        if moment is None:
            return str(tick)
        if self._times.calendar.clock.tick_length >= _DAY:
            return moment.date().isoformat()
        time = moment.time().isoformat("milliseconds" if moment.microsecond else "seconds")
        return time if moment.date() == self._day else f"{moment.date()} {time}"

    def _styled(self, text: str, style: str) -> str:
        code = _STYLES.get(style)
        return f"\x1b[{code}m{text}\x1b[0m" if self._coloured and code and text else text


def _partial(block: Change | Interval | SnapshotRun) -> str:
    return "   partial" * block.partial


def _joined(facts: Sequence[str]) -> str:
    return "  ".join(facts) or "nothing holds"


def _pairs(pairs: Iterable[tuple[str, str]]) -> str:
    return "  ".join(f"{name} = {value}" if name else value for name, value in pairs)
