"""The answers that cells give for their pieces become the answers of windows, where they leave a run."""

import json
from collections.abc import Callable, Iterator
from itertools import groupby
from math import prod
from time import perf_counter
from typing import Any

from thalweg.diagnostics import Diagnostic
from thalweg.runtimes.answer_sets import Answered, Listener, Share, Tardy
from thalweg.runtimes.emit import Piece, Solution
from thalweg.runtimes.spark.asked import AskedJob
from thalweg.solvers.clingo import Solved
from thalweg.solvers.combine import combine


class Combining:
    """Puts together what cells have told of a batch, and remembers which windows took too long."""

    def __init__(self, job: AskedJob, listen: Listener, report: Callable[[Diagnostic], None]) -> None:
        self._pieces = [spread.piece for spread in job.spreads]
        self._limit = job.asking.seconds
        self._listen = listen
        self._tardy = Tardy(report)

    def pieces(self, rows: list[dict[str, Any]], first: int, last: int) -> Iterator[Piece]:
        """The answers of the windows that close in a batch, in order."""
        told = [(row["until"], row["t"], json.loads(row["fact"])) for row in rows]
        told.sort(key=lambda row: (row[0], row[2]["piece"]))
        for (_, tick), parts in groupby(told, key=lambda row: row[:2]):
            yield self._solution(tick, [part for _, _, part in parts])

    def _solution(self, tick: int, parts: list[dict[str, Any]]) -> Solution:
        until = None if self._limit is None else perf_counter() + self._limit
        solved = [Solved(tuple(map(tuple, part["sets"])), part["complete"]) for part in parts]
        sets, complete = combine(solved, until)
        answered = Answered(sets, complete, self._shares(parts, len(sets)), any(part["overtime"] for part in parts))
        solution = Solution(tick, parts[0]["start"], sets, not complete)
        self._tardy.take(solution, answered)
        self._listen(solution, answered)
        return solution

    def _shares(self, parts: list[dict[str, Any]], told: int) -> tuple[Share, ...]:
        return tuple(
            Share(
                self._pieces[number].inputs,
                sum(cell["facts"] for cell in cells),
                sum(cell["seconds"] for cell in cells),
                told if len(self._pieces) == 1 else prod(len(cell["sets"]) for cell in cells),
            )
            for number, group in groupby(parts, key=lambda part: int(part["piece"]))
            for cells in [list(group)]
        )

    def finish(self) -> None:
        """Tells which windows took too long."""
        self._tardy.tell()
