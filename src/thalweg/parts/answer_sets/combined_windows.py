"""Windows whose pieces were answered in other buckets: the answers of pieces become those of windows, in one bucket.

It is taken through time like `Windowed`, and gives the same. Buckets close the same windows in the same batch and
number them alike, so all pieces of a window are there when time passes. Only where a window is answered when its
content changes, each bucket answers when its own does: a piece that is not answered again has the answer that it had.
"""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from math import prod
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thalweg.diagnostics import Diagnostic
from thalweg.model.arrow import decode, encode
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.parts.answer_sets.windowed import Answered, Listener, Share, TimeoutLog
from thalweg.runtimes.emit import AnswerBlock, Solution
from thalweg.runtimes.spark.wire import Content
from thalweg.solvers.clingo import Solved
from thalweg.solvers.combine import combine

if TYPE_CHECKING:
    from thalweg.parts.answer_sets.spark_job import AnswerSetJob


@dataclass(frozen=True, slots=True)
class Piece:
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


@dataclass(frozen=True, slots=True)
class _Window:
    """The pieces of a window, or of several in a row that are passed over."""

    tick: int
    start: int
    length: int
    pieces: list[Piece]


class CombinedWindows:
    """Puts together the pieces of windows; also its own emitter: answers are all that it outputs."""

    shed: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()

    def __init__(
        self,
        job: "AnswerSetJob",
        report: Callable[[Diagnostic], None],
        listen: Listener,
        dictionary: Dictionary | None = None,
    ) -> None:
        self.first: int | None = None
        self.now: int | None = None
        self.dictionary = Dictionary() if dictionary is None else dictionary
        self._inputs = [spread.piece.inputs for spread in job.spreads]
        self._limit = job.seconds
        self._slide = job.frame.slide
        self._on_change = job.on_change
        self._listen = listen
        self._timeouts = TimeoutLog(report)
        self._came: list[Piece] = []
        self._waiting: deque[_Window] = deque()
        # The last answer of each bucket, where a bucket answers when its own content changes.
        self._last: dict[int, Piece] = {}
        self.has_closed = False
        self.cut_short = False
        """Whether answers were left out since this was last set, because combining took too long."""

    def take(self, content: Content) -> None:
        """What a bucket has answered."""
        lists = content.lists
        columns = lists["numbers"].tolist(), lists["ticks"].tolist(), map(json.loads, lists["facts"].to_pylist())
        self._came += (Piece(number, tick, data) for number, tick, data in zip(*columns, strict=True))

    def ticks(self) -> Iterator[int]:
        """The ticks of windows that wait."""
        self._arrange()
        return (one.tick for one in self._waiting)

    def _arrange(self) -> None:
        """What has come becomes windows, once all buckets have sent what belongs together."""
        if self._came:
            self._waiting.extend(self._changed() if self._on_change else self._aligned())
            self._came = []

    def _aligned(self) -> Iterator[_Window]:
        """Windows for which the same pieces count."""
        pieces = sorted(self._came, key=lambda one: one.number)
        marks = sorted({mark for one in pieces for mark in (one.number, one.end)})
        waiting, open_ = deque(pieces), list[Piece]()
        for number, end in pairwise(marks):
            open_ = [one for one in open_ if one.end > number]
            while waiting and waiting[0].number == number:
                open_.append(waiting.popleft())
            if open_:
                yield _Window(*open_[0].window(number, self._slide), end - number, sorted(open_, key=_order))

    def _changed(self) -> Iterator[_Window]:
        """Windows that at least one bucket has answered, with the last answers of the others."""
        for tick, some in groupby(sorted(self._came, key=lambda one: one.tick), key=lambda one: one.tick):
            here = {one.data["bucket"]: one for one in some}
            self._last |= here
            start = next(iter(here.values())).data["start"]
            yield _Window(tick, start, 1, sorted(self._last.values(), key=_order))

    def advance(self, to: int, batches: Sequence[Batch] = ()) -> Iterator[Solution]:
        """The answers of all windows that close up to a tick."""
        self.now = to
        self._arrange()
        while self._waiting and self._waiting[0].tick <= to:
            window = self._waiting.popleft()
            if all(piece.is_repeated for piece in window.pieces):
                self._timeouts.pass_over(window.tick, window.length)
            else:
                self.has_closed = True
                yield self._solution(window)

    def _solution(self, window: _Window) -> Solution:
        until = None if self._limit is None else perf_counter() + self._limit
        parts = [piece.data for piece in window.pieces]
        solved = [Solved(tuple(map(tuple, part["sets"])), part["complete"]) for part in parts]
        sets, complete = combine(solved, until)
        self.cut_short |= not complete and all(part.complete for part in solved)
        answered = Answered(sets, complete, self._shares(parts, len(sets)), any(part["overtime"] for part in parts))
        solution = Solution(window.tick, window.start, sets, not complete)
        self._timeouts.take(solution, answered)
        self._listen(solution, answered)
        return solution

    def _shares(self, parts: list[dict[str, Any]], count: int) -> tuple[Share, ...]:
        return tuple(
            Share(
                self._inputs[number],
                sum(part["facts"] for part in buckets),
                sum(part["seconds"] for part in buckets),
                count if len(self._inputs) == 1 else prod(len(part["sets"]) for part in buckets),
            )
            for number, group in groupby(parts, key=lambda part: int(part["piece"]))
            for buckets in [list(group)]
        )

    def step(self, deltas: Iterable[Any], first: int, last: int, shed: tuple[str, ...]) -> Iterator[AnswerBlock]:
        """What `advance` gives is the output."""
        yield from deltas

    def finish(self) -> Iterator[Solution]:
        """The window of a stream that was too short for one; reports which took too long, and how many were skipped."""
        # Its tick may have passed before the stream has ended.
        if self.now is not None:
            yield from self.advance(self.now)
        self._timeouts.report()

    def refresh(self) -> None:
        """Nothing but facts of streams is in its windows."""

    def collect(self, waiting: Iterable[Batch]) -> None:
        """It keeps answers as text."""

    def words(self) -> Iterator[NDArray[np.int64]]:
        """The words that are still needed: none."""
        return iter(())

    def close(self) -> None:
        """Solvers are in other buckets."""

    def snapshot(self) -> bytes:
        """What must be known to go on; no window waits between two batches."""
        last = [[one.number, one.tick, one.data] for one in self._last.values()]
        known = {"first": self.first, "now": self.now, "closed": self.has_closed, "last": last}
        return encode(known | {"timeouts": self._timeouts.save()}, {})

    def resume(self, data: bytes) -> None:
        """Goes on where a snapshot was taken."""
        saved, _ = decode(data)
        self.first, self.now, self.has_closed = saved["first"], saved["now"], saved["closed"]
        self._last = {data["bucket"]: Piece(number, tick, data) for number, tick, data in saved["last"]}
        self._timeouts.load(saved["timeouts"])


def _order(one: Piece) -> tuple[int, int]:
    return one.data["piece"], one.data["bucket"]
