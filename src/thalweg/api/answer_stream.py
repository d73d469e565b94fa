"""The answers of a run as a value: read one after the other, or all of them as a table.

A run begins when its answers are first read, and nothing is kept of those that were: an endless stream takes no more
memory than its windows. What needs all answers (a table, a notebook) asks for them with `collect`, which keeps them.
A run over recorded streams can be read again: it is run again.
"""

from collections.abc import Callable, Iterator
from html import escape
from typing import Any
from weakref import finalize

from thalweg.answers.answer_columns import AnswerColumns
from thalweg.api.answer_values import record_of, values_of
from thalweg.api.jobs import PreparedRun
from thalweg.api.spark_answers import SparkAnswers
from thalweg.model.time import AS_TICKS, TimeFormat


class Answers:
    """What a run answers: `Change`, `Snapshot`, `Interval` values, or those of the kind of program it is.

    >>> from thalweg import run
    >>> answers = run("slow(S) :- speed(S,V) in [2], V < 20.", stream=[(3, "speed(a,12)")], end=6)
    >>> for change in answers:
    ...     print(change.t, change.begin, change.end)
    3 (Fact('slow', ('a',)),) ()
    6 () (Fact('slow', ('a',)),)
    """

    def __init__(
        self,
        start: Callable[[], PreparedRun | SparkAnswers],
        *,
        repeats: bool,
        columns: AnswerColumns,
        times: TimeFormat = AS_TICKS,
    ) -> None:
        """`start` opens the streams and makes what reasons; a run that `repeats` can be started again."""
        self._start = start
        self._columns = columns
        self._times = times
        self._repeats = repeats
        # Now, so that what cannot be opened or started is an error of the call and not of the first answer.
        self._next: PreparedRun | SparkAnswers | None = start()
        self._closing = finalize(self, self._next.__exit__)
        self._kept: list[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        if self._kept is not None:
            return iter(self._kept)
        return _flowing(self._take())

    def collect(self) -> "Answers":
        """Runs to the end and keeps all answers, so that they can be read again; returns itself."""
        if self._kept is None:
            self._kept = list(_flowing(self._take()))
        return self

    def close(self) -> None:
        """Closes the streams of a run that is not going to be read."""
        self._closing()
        self._next = None

    def _take(self) -> PreparedRun | SparkAnswers:
        job, self._next = self._next, None
        if job is not None:
            self._closing.detach()
            return job
        if not self._repeats:
            raise RuntimeError("these answers have been read: call `collect()` first if you need them again")
        return self._start()

    # All of them ----------------------------------------------------------------------------------------------------

    def to_arrow(self) -> Any:
        """All answers as a table of Arrow, with the columns of their kind: rows of a query have one for each variable.

        >>> from thalweg import run
        >>> answers = run("slow(S) :- speed(S,V), V < 20.", stream=[(3, "speed(a,12)")], show="slow/1")
        >>> answers.to_arrow().to_pylist()
        [{'t': 3, 'op': '+', 'predicate': 'slow', 'S': 'a'}]
        """
        from thalweg.answers.table import AnswerTable

        table = AnswerTable(self._columns, self._times)
        return table.arrow([row for answer in map(record_of, self.collect()) for row in table.rows(answer)])

    def to_pandas(self) -> Any:
        """All answers as a DataFrame of pandas."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """All answers as a DataFrame of polars."""
        from importlib import import_module

        return import_module("polars").from_arrow(self.to_arrow())

    def to_svg(self) -> str:
        """A drawing of the timeline: facts as bands from where they begin to where they end, numbers as curves."""
        from thalweg.answers.answer_timeline import TimelineRecorder
        from thalweg.explain.timeline_svg import draw_timeline

        recorder = TimelineRecorder(self._times)
        for answer in self.collect():
            recorder.see(record_of(answer))
        return draw_timeline(recorder.chart())

    def _repr_html_(self) -> str:
        """What a notebook shows: the timeline; a stream that is live is not read for it."""
        if self._kept is None and not self._repeats:
            return f"<code>{escape(repr(self))}</code>"
        return self.to_svg()

    def __repr__(self) -> str:
        if self._kept is None:
            return "<Answers: iterate over them, or `collect()` them>"
        return f"<Answers: {len(self._kept)}>"


def _flowing(job: PreparedRun | SparkAnswers) -> Iterator[Any]:
    with job:
        for answer in job.pieces():
            if answer is not None:
                yield from values_of(answer, job.times)
