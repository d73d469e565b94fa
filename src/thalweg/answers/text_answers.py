"""Answers as text: as atoms, and as people read them on a terminal, one line for each thing that begins or ends.

    + jam(a) at 3.          2026-11-15
    - jam(a) at 14.         08:00:03  + jam(a)   until 08:00:13
                            08:00:14  - jam(a)

On a terminal a day is named once, above its lines. `until` is the last tick for which a conclusion is guaranteed.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from typing import Final

from thalweg.answers.event_answers import AbstractLine, ComplexLine, EventLine, RejectedLine, facts_of_events
from thalweg.answers.record import Answer, BrokenAxiom
from thalweg.diagnostics import VISIBLE, Diagnostic, RejectedError
from thalweg.model.listing import Wrapping, in_parts
from thalweg.model.time import AS_TICKS, FOREVER, TimeFormat

_STYLES: Final = {"+": "32", "-": "31", "?": "33", "time": "2", "note": "2", "day": "1"}
_DAY: Final = 86_400_000
_PARTIAL: Final = "   partial"


class TextFormatter:
    """Writes answers as lines of text; `brief` shortens what stands in them, as prefixes do.

    >>> from thalweg.answers.record import changes
    >>> write = TextFormatter(TimeFormat())
    >>> print(*write(changes(3, ("jam(a)",), ("free(a)",), until=(13,))), sep="", end="")
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

    def __call__(self, answer: Answer) -> Iterator[str]:
        """The lines of an answer, below the name of their day where that is a new one."""
        note = _PARTIAL * bool(answer.shed)
        match answer.kind, answer.columns:
            case "snapshot", (texts,):
                facts = _joined([self._shown(answer, fact) for fact in texts])
                for tick in range(answer.start, answer.t + 1):
                    yield self._new_day(tick)
                    yield self._line(tick, facts, note=note)
            case "intervals", (facts, starts):
                until = "   still holds" if answer.t == FOREVER else ""
                for fact, start in zip(facts, starts, strict=True):
                    yield self._new_day(start)
                    yield self._line(start, self._shown(answer, fact), note=(until or self._until(answer.t)) + note)
            case "events", (lines,):
                for line in lines:
                    yield self._new_day(line.t)
                    yield self._line(line.t, self._event(line))
            case _:
                yield self._new_day(answer.t)
                yield from self._lines(answer, note)

    def _lines(self, answer: Answer, note: str) -> Iterator[str]:
        match answer.kind, answer.columns:
            case "changes", (begin, end, unknown, until):
                for sign, facts in (("-", end), ("?", unknown)):
                    yield from (self._line(answer.t, self._shown(answer, fact), sign, note) for fact in facts)
                for fact, last in zip(begin, until or (FOREVER,) * len(begin), strict=True):
                    yield self._line(answer.t, self._shown(answer, fact), "+", self._until(last) + note)
            case "answer sets", sets:
                yield from self._answer_sets(answer, sets)
            case "rows", (objects,):
                for row in map(json.loads, objects or ('{"":"no rows"}',)):
                    yield self._line(answer.t, _pairs(row.items()))
            case "triples", (facts,):
                yield self._line(answer.t, _joined(facts))
            case "truth", ((is_true,),):
                yield self._line(answer.t, "yes" if is_true else "no")

    def _shown(self, answer: Answer, fact: str) -> str:
        """A fact, or a clash in words."""
        if not answer.of_clashes:
            return fact
        clash = BrokenAxiom.read(fact).at(self._times)
        individuals = clash.individual if clash.other is None else f"{clash.individual} and {clash.other}"
        because = f"   because {', '.join(clash.because)}" if clash.because else ""
        return f"{individuals}: {clash.axiom}{because}"

    def _answer_sets(self, answer: Answer, sets: Sequence[Sequence[str]]) -> Iterator[str]:
        note, number = "   incomplete" * answer.incomplete, len(sets)
        if not number:
            yield self._line(answer.t, _no_answer_set(answer), note=note)
        for place, facts in enumerate(sets, 1):
            label = f"{place} of {number}:  " if number > 1 else ""
            yield self._line(answer.t, f"{label}{_joined(facts)}", note=note)

    def _event(self, line: EventLine) -> str:
        match line:
            case AbstractLine():
                return f"{line.event}({line.individual})"
            case ComplexLine():
                span = f"from {self._moment(line.instance.start)} to {self._moment(line.instance.end)}"
                return f"{line.event}   {span}   {_pairs(line.bindings)}".rstrip()
            case RejectedLine():
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


def _no_answer_set(answer: Answer) -> str:
    return "nothing is known" if answer.incomplete else "no answer set"


def _joined(facts: Sequence[str]) -> str:
    return "  ".join(facts) or "nothing holds"


def _pairs(pairs: Iterable[tuple[str, str]]) -> str:
    return "  ".join(f"{name} = {value}" if name else value for name, value in pairs)


# Atoms --------------------------------------------------------------------------------------------------------------


def atoms(answer: Answer, times: TimeFormat = AS_TICKS) -> Iterator[str]:
    """An answer as facts with their ticks, in parts; `RejectedError` where it is not made of facts.

    >>> from thalweg.answers.record import changes, interval
    >>> print(*atoms(changes(40, ("q(x3)",), ("q(x1)",), ("q(x2)",), shed=("p/1",))), end="")
    - q(x1) at 40. % partial
    ? q(x2) at 40. % partial
    + q(x3) at 40. % partial
    >>> print(*atoms(interval("q(x2)", 38, 41)), *atoms(interval("q(x2)", 43, None)), end="")
    q(x2) from 38 until 41.
     q(x2) from 43.
    """
    end = f".{' % partial' * bool(answer.shed)}\n"
    match answer.kind, answer.columns:
        case "changes", (begin, ended, unknown, _):
            tail = f" at {times.atom(answer.t)}{end}"
            signs = (("-", ended), ("?", unknown), ("+", begin))
            yield "".join([f"{sign} {fact}{tail}" for sign, facts in signs for fact in facts])
        case "snapshot", (facts,):
            ticks = map(times.atom, range(answer.start, answer.t + 1)) if facts else ()
            yield "".join([f"{fact} at {tick}{end}" for tick in ticks for fact in facts])
        case "intervals", (facts, starts):
            until = "" if answer.t == FOREVER else f" until {times.atom(answer.t)}"
            rows = zip(facts, starts, strict=True)
            yield "".join([f"{fact} from {times.atom(start)}{until}{end}" for fact, start in rows])
        case "triples", (facts,):
            yield "".join(f"{fact} at {times.atom(answer.t)}.\n" for fact in facts)
        case "answer sets", sets:
            yield from _atoms_of_sets(answer, sets, times.atom(answer.t))
        case "events", (lines,):
            tick = times.atom(lines[0].t)
            yield "".join(f"{fact} at {tick}.\n" for fact in facts_of_events(lines)) + _comments(lines, times)
        case kind, _:
            raise not_facts(kind)


def _atoms_of_sets(answer: Answer, sets: Sequence[Sequence[str]], tick: str) -> Iterator[str]:
    note = " % incomplete" * answer.incomplete
    if not sets:
        yield f"% {_no_answer_set(answer)} at {tick}{note}\n"
    for facts in sets:
        for lines in in_parts(facts, Wrapping(after=f" at {tick}.{note}\n")):
            yield "".join(lines)


def _comments(lines: Iterable[EventLine], times: TimeFormat) -> str:
    """Events without classes, which are no facts."""
    return "".join(
        f"% {line.why}: {graph or 'an event'} at {times.atom(line.t)}\n"
        for line in lines
        if isinstance(line, RejectedLine)
        for graph in line.graphs
    )


def not_facts(kind: str) -> RejectedError:
    """The error for a format that only facts can be written in."""
    what = "rows of a SELECT" if kind == "rows" else "answers of an ASK"
    message = f"{what} are not facts, so they cannot be written as atoms or as RDF"
    return RejectedError(
        [Diagnostic("E403", message, help="use `--format jsonl`, `text`, `csv` or `parquet`, or a CONSTRUCT")]
    )
