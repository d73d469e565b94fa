"""The answers of buckets for their pieces become the answers of windows, where they leave a run."""

import json
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from math import prod
from time import perf_counter
from typing import Any

from thalweg.diagnostics import Diagnostic
from thalweg.parts.answer_sets.spark_job import AnswerSetJob
from thalweg.parts.answer_sets.windowed import Answered, Listener, Share, TimeoutLog
from thalweg.runtimes.emit import Solution
from thalweg.solvers.clingo import Solved
from thalweg.solvers.combine import combine


@dataclass(frozen=True, slots=True)
class _Part:
    """A bucket's answer for the window with a number, or for several from there on that have the same answer."""

    number: int
    tick: int
    data: dict[str, Any]

    @property
    def is_repeated(self) -> bool:
        return "repeated" in self.data

    @property
    def end(self) -> int:
        """The number behind its last window."""
        return self.number + int(self.data.get("repeated", 1))

    def window(self, number: int, slide: int) -> tuple[int, int]:
        """The last and the first tick of one of its windows."""
        later = (number - self.number) * slide
        return self.tick + later, self.data["start"] + later


def _order(part: _Part) -> tuple[int, int]:
    return part.number, part.data.get("piece", 0)


def _aligned(parts: list[_Part]) -> Iterator[tuple[int, int, list[_Part]]]:
    """Windows for which the same parts count: the number of the first, how many there are, and the parts."""
    marks = sorted({mark for one in parts for mark in (one.number, one.end)})
    waiting, open_ = deque(parts), list[_Part]()
    for number, end in pairwise(marks):
        open_ = [one for one in open_ if one.end > number]
        while waiting and waiting[0].number == number:
            open_.append(waiting.popleft())
        open_.sort(key=lambda one: one.data["piece"])
        if open_:
            yield number, end - number, open_


class WindowCombiner:
    """Puts together the parts of a batch, and remembers which windows took too long."""

    def __init__(self, job: AnswerSetJob, listen: Listener, report: Callable[[Diagnostic], None]) -> None:
        self._pieces = [spread.piece for spread in job.spreads]
        self._limit = job.options.seconds
        self._slide = job.frame.slide
        self._listen = listen
        self._timeouts = TimeoutLog(report)

    def solutions(self, rows: list[dict[str, Any]]) -> Iterator[Solution]:
        """The answers of the windows that close in a batch, in order."""
        found = sorted((_Part(row["until"], row["t"], json.loads(row["fact"])) for row in rows), key=_order)
        for number, length, parts in _aligned(found):
            tick, start = parts[0].window(number, self._slide)
            if all(part.is_repeated for part in parts):
                self._timeouts.pass_over(tick, length)
            else:
                yield self._solution(tick, start, [part.data for part in parts])

    def _solution(self, tick: int, start: int, parts: list[dict[str, Any]]) -> Solution:
        until = None if self._limit is None else perf_counter() + self._limit
        solved = [Solved(tuple(map(tuple, part["sets"])), part["complete"]) for part in parts]
        sets, complete = combine(solved, until)
        answered = Answered(sets, complete, self._shares(parts, len(sets)), any(part["overtime"] for part in parts))
        solution = Solution(tick, start, sets, not complete)
        self._timeouts.take(solution, answered)
        self._listen(solution, answered)
        return solution

    def _shares(self, parts: list[dict[str, Any]], count: int) -> tuple[Share, ...]:
        return tuple(
            Share(
                self._pieces[number].inputs,
                sum(part["facts"] for part in buckets),
                sum(part["seconds"] for part in buckets),
                count if len(self._pieces) == 1 else prod(len(part["sets"]) for part in buckets),
            )
            for number, group in groupby(parts, key=lambda part: int(part["piece"]))
            for buckets in [list(group)]
        )

    def finish(self) -> None:
        """Reports which windows took too long, and how many were passed over."""
        self._timeouts.report()
