"""The answers of a run as a value: read one after the other, or all of them as a table.

A run begins when its answers are first read, and nothing is kept of those that were: an endless stream takes no more
memory than its windows. What needs all answers (a table, a notebook) asks for them with `collect`, which keeps them.
A run over recorded streams can be read again: it is run again.
"""

from collections.abc import Callable, Iterator
from typing import Any
from weakref import finalize

from thalweg.api.answer_values import value_of_answer
from thalweg.api.jobs import Job


class Answers:
    """What a run answers: `Change`, `Snapshot`, `Interval` values, or those of the kind of program it is.

    >>> from thalweg import run
    >>> answers = run("slow(S) :- speed(S,V) in [2], V < 20.", stream=[(3, "speed(a,12)")], end=6)
    >>> for change in answers:
    ...     print(change.t, change.begin, change.end)
    3 (Fact('slow', ('a',)),) ()
    6 () (Fact('slow', ('a',)),)
    """

    def __init__(self, start: Callable[[], Job], *, repeats: bool) -> None:
        """`start` opens the streams and makes what reasons; a run that `repeats` can be started again."""
        self._start = start
        self._repeats = repeats
        # Now, so that what cannot be opened or started is an error of the call and not of the first answer.
        self._next: Job | None = start()
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

    def _take(self) -> Job:
        job, self._next = self._next, None
        if job is not None:
            self._closing.detach()
            return job
        if not self._repeats:
            raise RuntimeError("these answers have been read: call `collect()` first if you need them again")
        return self._start()

    def __repr__(self) -> str:
        if self._kept is None:
            return "<Answers: iterate over them, or `collect()` them>"
        return f"<Answers: {len(self._kept)}>"


def _flowing(job: Job) -> Iterator[Any]:
    with job:
        for block in job.pieces():
            if block is not None:
                yield from (value_of_answer(answer, job.times) for answer in block.answers())
