"""Answer sets in buckets: one piece of a program, or a part of it by key, in each; and one that combines their answers.

What a worker needs to go on elsewhere is what its windows still hold. While it is brought back to where it was, nothing
is solved: the answers of those windows have been handed on.
"""

import atexit
import json
import os
from collections import deque
from collections.abc import Iterable
from functools import cache
from typing import Any, Final

import numpy as np

from thalweg.diagnostics import FailedError, RejectedError
from thalweg.model.arrow import Lists, decode, encode, frame, unframe
from thalweg.parts.answer_sets.combined_windows import CombinedWindows
from thalweg.parts.answer_sets.held import Held
from thalweg.parts.answer_sets.solve_options import evaluator
from thalweg.parts.answer_sets.spark_job import AnswerSetJob
from thalweg.parts.answer_sets.windowed import Answered, Inputs, Windowed
from thalweg.parts.part import Context, Evaluation
from thalweg.parts.spark_plan import PlanWorker
from thalweg.runtimes.emit import Solution
from thalweg.runtimes.spark.inbox import Inbox
from thalweg.runtimes.spark.wire import CHANGES, FACTS, Content, Parcel, failure, unwrap, wrap
from thalweg.solvers.pool import SolverPool

_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def answer_set_worker(job: AnswerSetJob, stage: int, bucket: int) -> "PieceWorker | CombiningWorker":
    """What does the work of a bucket."""
    return CombiningWorker(job, stage, bucket) if stage else PieceWorker(job, stage, bucket)


class PieceWorker:
    """Answers the windows of a bucket."""

    def __init__(self, job: AnswerSetJob, stage: int, bucket: int) -> None:
        self.job = job
        self._bucket = bucket
        self._spread = job.spread_of(bucket)
        asked = job.answer_sets
        part = asked.program.part(self._spread.piece.rules, self._spread.piece.inputs)
        self._held = Held(evaluator(part, asked.options, job.frame, tuple(job.share(bucket)), _solver_pool()))
        self._inbox = Inbox(job, stage, bucket, self._held.dictionary, lambda run: run.signature)
        self._windowed = Windowed(
            self._held,
            Inputs(part),
            job.frame,
            job.settings.first,
            listen=self._answered,
            repeats=self._repeated,
            on_change=job.on_change,
        )
        # Tick, number among the windows of a batch, and the answer.
        self._given: list[tuple[int, int, str]] = []
        self._closed = 0
        self._finished = False
        self._reached = -1

    must_save = False

    def process(self, payloads: Iterable[bytes]) -> list[Parcel]:
        """Takes in a batch's parcels, and answers all windows that close.

        Where the evaluator gives up, the parcels are those of the ticks before, and the last one holds the diagnostic.
        """
        out = self._inbox.take(unwrap(payload) for payload in payloads)
        try:
            out += self._advance()
        except (FailedError, RejectedError) as error:
            self._given = [one for one in self._given if one[0] <= self._reached]
            return [*out, *self._answers(), failure(self._bucket, error, self._reached)]
        if self._held.dictionary.wants_collection:
            self._windowed.collect(self._inbox.waiting())
        return out

    def replay(self, payloads: Iterable[bytes]) -> None:
        """The same without an answer: it has been handed on."""
        self._held.silent = True
        self._inbox.take(unwrap(payload) for payload in payloads)
        self._advance()
        self._held.silent = False

    def _advance(self) -> list[Parcel]:
        time = self._inbox.watermark
        if time.decided is None or time.start is None:
            return []
        if self._windowed.first is None:
            self._windowed.first = time.start
        now = self._windowed.now
        self._reached = time.start - 1 if now is None else now
        if now is None or time.decided > now:
            batches = self._inbox.up_to(time.decided, in_order=self.job.frame.tuples)
            for tick in sorted({*batches, time.decided}):
                self._go_through(self._windowed.advance(tick, batches.get(tick, [])))
                self._reached = tick
        if time.is_over and not self._finished:
            self._finished = True
            # The last window closes at a tick that others have closed at.
            self._reached = time.decided - 1
            self._go_through(self._windowed.finish())
        return self._answers()

    @staticmethod
    def _go_through(solutions: Iterable[Any]) -> None:
        """Has each solved; the answers come by `_answered`."""
        deque(solutions, maxlen=0)

    def _answered(self, solution: Solution, answered: Answered) -> None:
        self._give(solution, answered, 1)

    def _repeated(self, solution: Solution, answered: Answered, count: int) -> None:
        """Other buckets may have facts where this one has none: they decide which of these windows are answered."""
        self._give(solution, answered, count, repeated=count)

    def _give(self, solution: Solution, answered: Answered, count: int, **more: int) -> None:
        answer = {
            "bucket": self._bucket,
            "piece": self.job.spreads.index(self._spread),
            "start": solution.start,
            "sets": [list(one) for one in answered.sets],
            "complete": answered.complete,
            "overtime": answered.overtime,
            "facts": sum(share.facts for share in answered.shares),
            "seconds": answered.seconds,
            **more,
        }
        self._given.append((solution.t, self._closed, _encode(answer)))
        self._closed += count

    def _answers(self) -> list[Parcel]:
        """The answers of a batch's windows; their numbers are the same in all buckets."""
        lists: Lists = {
            "ticks": np.array([tick for tick, _, _ in self._given], dtype=np.int64),
            "numbers": np.array([number for _, number, _ in self._given], dtype=np.int64),
            "facts": [text for _, _, text in self._given],
        }
        found = [wrap(1, self.job.buckets(1)[0], {"kind": CHANGES}, lists)] if self._given else []
        self._given, self._closed = [], 0
        return found

    def save(self) -> bytes:
        """All that has been taken in and still matters."""
        about, runs = self._inbox.save()
        header = about | {"finished": self._finished, "windows": self._windowed.save()}
        return frame([encode(header, {}), self._held.save(), *runs])

    def load(self, saved: bytes) -> None:
        """Brings a new worker to where another one was."""
        about, held, *runs = unframe(saved)
        header, _ = decode(about)
        self._inbox.load(header, runs)
        self._held.load(held)
        self._windowed.load(header["windows"])
        self._finished = header["finished"]


class CombiningWorker(PlanWorker):
    """Combines the answers of all pieces."""

    job: AnswerSetJob

    def _begun(self, context: Context) -> Evaluation:
        self._windows = CombinedWindows(self.job, context.report, context.listen)
        return Evaluation(self._windows, self._windows, state=self._windows)

    @property
    def must_save(self) -> bool:
        """Combining again may get further within the limit."""
        return self._windows.cut_short

    def _take(self, contents: list[Content]) -> list[Parcel]:
        self._windows.cut_short = False
        for content in contents:
            if content.kind == CHANGES:
                self._windows.take(content)
        return self._inbox.take(content for content in contents if content.kind == FACTS)


@cache
def _solver_pool() -> SolverPool:
    """Processes beside each of Spark's, which may work for others at the same time; they end with it."""
    pool = SolverPool(os.cpu_count() or 1)
    atexit.register(pool.close)
    return pool
