"""Answers that a run wrote as lines of JSON, read back for a picture of them."""

import gzip
import json
from collections.abc import Iterable, Iterator
from datetime import datetime, tzinfo
from itertools import pairwise
from math import gcd
from pathlib import Path
from typing import Any

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.explain.timeline_chart import Chart, Span, chart_of
from thalweg.model.time import Calendar, Clock

Moment = int
"""A tick, or milliseconds since 1970 where times are timestamps."""


def read_answers(path: Path) -> Chart:
    """The chart of a file of answers; `RejectedError` where it is not one."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
            return chart_of_lines(file, str(path))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise RejectedError([Diagnostic("E401", f"cannot read `{path}`: {reason}")]) from error


def chart_of_lines(lines: Iterable[str], name: str = "answers") -> Chart:
    """The chart of lines of answers.

    >>> chart = chart_of_lines(['{"t":3,"begin":["jam(a)"],"end":[]}', '{"t":9,"begin":[],"end":["jam(a)"]}'])
    >>> [(fact, spans[0].start, spans[0].end) for group in chart.groups for fact, spans in group.rows]
    [('jam(a)', 3, 9)]
    """
    reading = _Reading()
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                reading.take(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError):
                help_ = "give a file that `thalweg run --out answers.jsonl` wrote"
                raise RejectedError([Diagnostic("E301", f"{name}:{number}: not an answer", help=help_)]) from None
    return reading.chart()


class _Reading:
    """What the lines so far say."""

    def __init__(self) -> None:
        self._open: dict[str, Moment] = {}
        self._closed: list[tuple[str, Moment, Moment, bool]] = []
        self._seen: set[Moment] = set()
        self._zone: tzinfo | None = None

    def take(self, data: dict[str, Any]) -> None:
        """One line: changes, a snapshot, an interval, answers of a window, or an event."""
        if "fact" in data or ("individual" in data and "axiom" in data):
            until = None if data["until"] is None else self._moment(data["until"])
            self._hold(data.get("fact") or _clash(data), self._moment(data["from"]), until)
        elif "event" in data:
            named = data.get("individual") or ",".join(data.get("bindings", {}).values())
            self._hold(f"{data['event']}({named})", self._moment(data["from"]), self._moment(data["to"]))
        else:
            self._at(self._moment(data["t"]), data)

    def _at(self, t: Moment, data: dict[str, Any]) -> None:
        if "begin" in data:
            for fact in map(_name, [*data["end"], *data.get("unknown", ())]):
                if fact in self._open:
                    self._closed.append((fact, self._open.pop(fact), t, True))
            self._open.update((fact, t) for fact in map(_name, data["begin"]))
        elif "facts" in data or (data.get("inconsistent") and "axiom" in data["inconsistent"][0]):
            held = set(map(_name, data.get("facts", data.get("inconsistent", ()))))
            for fact in [fact for fact in self._open if fact not in held]:
                self._closed.append((fact, self._open.pop(fact), t, True))
            self._open.update((fact, t) for fact in held if fact not in self._open)
        elif "answers" in data or "graph" in data:
            for fact in data["answers"][0] if data.get("answers") else data.get("graph", ()):
                self._hold(fact, t, t)
        elif not data.keys() & {"bindings", "answer", "inconsistent", "undecided"}:
            raise ValueError

    def _hold(self, fact: str, start: Moment, until: Moment | None) -> None:
        """`until` is the last tick that holds."""
        if until is None:
            self._open[fact] = start
        else:
            self._closed.append((fact, start, until, False))

    def _moment(self, time: int | str) -> Moment:
        if isinstance(time, str):
            moment = datetime.fromisoformat(time)
            self._zone = moment.tzinfo
            time = round(moment.timestamp() * 1_000)
        self._seen.add(time)
        return time

    def chart(self) -> Chart:
        unit = self._tick()
        last = max(self._seen, default=0)
        calendar = None if self._zone is None else Calendar(Clock(unit), self._zone)
        return chart_of(self._spans(unit, last), unit=unit, calendar=calendar)

    def _tick(self) -> int:
        """The length of a tick: ticks are numbers; timestamps are apart by whole numbers of ticks."""
        if self._zone is None:
            return 1
        ordered = sorted(self._seen)
        apart = [after - before for before, after in pairwise(ordered)]
        return min(gcd(*apart), 1_000) if apart else 1_000

    def _spans(self, unit: int, last: Moment) -> Iterator[Span]:
        for fact, start, end, is_after in self._closed:
            yield Span(fact, start, end if is_after else end + unit)
        for fact, start in self._open.items():
            yield Span(fact, start, last + unit, is_open=True)


def _name(entry: Any) -> str:
    return entry if isinstance(entry, str) else _clash(entry)


def _clash(entry: dict[str, Any]) -> str:
    return f"inconsistent({entry['individual']},{entry['axiom'].partition('(')[0]})"
