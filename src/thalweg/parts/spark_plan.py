"""A whole plan of parts on Spark, in one bucket of a worker: exact for every kind of part that can be saved.

Facts come as they do to any bucket. What the plan answers goes to the driver as it is, tick by tick, so nothing has to
be put together there. A process that is lost is replaced by loading what was saved and handing in what came since.
"""

import pickle
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, Final, TypeVar
from uuid import uuid4

import numpy as np

from thalweg.diagnostics import Diagnostic, FailedError, RejectedError
from thalweg.ir.nodes import Program
from thalweg.model.arrow import Lists, decode, encode, frame, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.model.time import NEVER, Clock
from thalweg.dataflow.context import Context
from thalweg.parts.part import Evaluation, Part, SparkWork, Summary
from thalweg.planning.partition import Partitioning, Stage
from thalweg.runtimes.emit import AnswerBlock
from thalweg.runtimes.spark.inbox import Inbox
from thalweg.runtimes.spark.job import FORMAT, Job
from thalweg.runtimes.spark.wire import ANSWERS, OUT, Content, Parcel, Words, failure, unwrap, wrap

BLOCKS: Final = "windows"
"""How answers travel: each as it is, with a number that says which comes first."""


@dataclass(frozen=True)
class PlanJob(Job):
    """A part that every process can make for itself; `emit` is what the user asked for."""

    part: Part | None = None
    clock: Clock = field(default_factory=Clock)
    emit: str = "changes"
    streams: tuple[str, ...] = ()

    @cached_property
    def plan(self) -> Partitioning:
        return Partitioning((Stage(0, Program(), (), (), False, (), (), (), frozenset()),))

    def keeps_events(self, stage: int) -> bool:
        """Parts may classify events, each of which is a graph with a name."""
        return True

    def routes(self, signature: Predicate) -> Iterator[tuple[int, int, int | None]]:
        yield 0, 0, None

    def where(self, stage: int, route: int, key: int | None, rows: Words, words: Dictionary) -> Words | None:
        return np.full(len(rows), self.buckets(0)[0], dtype=np.int64)

    def is_first(self, signature: Predicate, stage: int, route: int, bucket: int) -> bool:
        return True

    def _identity(self) -> tuple[str, str]:
        """Not kept: it has the background as text, and would go to every process."""
        assert self.part is not None
        return self.part.identity(self.context(lambda found: None))

    @property
    def text(self) -> str:
        return self._identity()[0]

    @cached_property
    def fingerprint(self) -> str:
        widths = [len(self.buckets(stage.number)) for stage in self.stages]
        what = FORMAT, self._identity()[1], self.settings, self.emit, self.partitions, self.groups, widths
        return sha256(repr(what).encode()).hexdigest()

    def context(self, report: Callable[[Diagnostic], None]) -> Context:
        """The run as a worker sees it."""
        settings = replace(self.settings, emit=self.emit)
        return Context(settings, self.clock, report, saves=True, streams=self.streams)


J = TypeVar("J", bound=PlanJob)


def plan_job(kind: type[J], part: Part, context: Context, partitions: int, **more: Any) -> J:
    """A job for a part in a run; what a worker would refuse is refused here."""
    part.start(context).close()
    return split_job(kind, part, context, partitions, emit=context.settings.emit, **more)


def split_job(kind: type[J], part: Part, context: Context, partitions: int, **more: Any) -> J:
    """A job for a part whose work is split, alone or in a plan."""
    return kind(
        Program(),
        replace(context.settings, emit=BLOCKS),
        partitions,
        name=uuid4().hex,
        part=part,
        clock=context.clock,
        streams=context.streams,
        **more,
    )


def in_one_bucket(
    part: Part,
    context: Context,
    partitions: int,
    look: Callable[[Dictionary], Callable[[Batch], object]] | None = None,
    summary: Summary = lambda: (),
) -> SparkWork:
    """A part on Spark as it is: with all that it reads in one bucket."""
    job = plan_job(PlanJob, part, context, partitions)
    return SparkWork(job, PlanWorker, combine=blocks_of(context), look=look, summary=summary)


class PlanWorker:
    """Takes a plan through time."""

    def __init__(self, job: PlanJob, stage: int, bucket: int) -> None:
        self.job = job
        self._bucket = bucket
        # What deserves a warning, and what windows took, each with its tick.
        self._found: list[tuple[int, Any]] = []
        self._reached = -1
        self._work = self._begun(replace(job.context(self._report), listen=self._listen))
        self._run = self._work.reasoner
        self._inbox = Inbox(job, stage, bucket, self._run.dictionary, lambda run: run.signature)
        self._given: list[tuple[int, object]] = []
        self._finished = False

    @property
    def must_save(self) -> bool:
        return False

    def _begun(self, context: Context) -> Evaluation:
        assert self.job.part is not None
        return self.job.part.start(context)

    def _report(self, found: Diagnostic) -> None:
        self._found.append((max(0, self._reached), found))

    def _listen(self, solution: Any, answered: Any) -> None:
        self._found.append((solution.t, (replace(solution, sets=()), replace(answered, sets=()))))

    def _take(self, contents: list[Content]) -> list[Parcel]:
        return self._inbox.take(contents)

    def _up_to(self, last: int) -> dict[int, list[Batch]]:
        return self._inbox.up_to(last, in_order=True)

    def process(self, payloads: Iterable[bytes]) -> list[Parcel]:
        """Takes in a batch's parcels, and answers all that is decided.

        Where a part gives up, the parcels are those of the ticks before, and the last one holds the diagnostic.
        """
        out = self._take(list(map(unwrap, payloads)))
        try:
            out += self._advance()
        except (FailedError, RejectedError) as error:
            self._given = [one for one in self._given if one[0] <= self._reached]
            answers = self._answers(self._inbox.watermark.start or 0, self._reached)
            return [*out, answers, failure(self._bucket, error, self._reached)]
        if self._run.dictionary.wants_collection:
            self._run.collect(self._inbox.waiting())
        return out

    def replay(self, payloads: Iterable[bytes]) -> None:
        """The same without an answer: it has been given."""
        self._take(list(map(unwrap, payloads)))
        list(self._advance())
        self._given = []
        self._found.clear()

    def _advance(self) -> Iterator[Parcel]:
        time, run, emitter = self._inbox.watermark, self._run, self._work.emitter
        assert emitter is not None
        if time.decided is None or time.start is None:
            if time.is_over:
                yield self._answers(0, NEVER)
            return
        now = run.now
        self._reached = time.start - 1 if now is None else now
        if now is None or time.decided > now:
            batches = self._up_to(time.decided)
            for tick in sorted({*batches, time.decided}):
                first = self._reached + 1
                self._give(tick, emitter.step(run.advance(tick, batches.get(tick, [])), first, tick, ()))
                self._reached = tick
        if time.is_over and not self._finished:
            self._finished = True
            self._give(time.decided, emitter.finish())
            for found in self._work.summary():
                self._report(found)
        yield self._answers(time.start, time.decided)

    def _give(self, tick: int, blocks: Iterable[AnswerBlock]) -> None:
        self._given += ((tick, block) for block in blocks)

    def _answers(self, first: int, decided: int) -> Parcel:
        given = [*self._found, *self._given]
        self._given = []
        self._found.clear()
        return answers(self._bucket, given, first, decided, self._inbox.watermark.is_over)

    def save(self) -> bytes:
        """All that has been taken in and still matters."""
        assert self._work.state is not None
        about, runs = self._inbox.save()
        state = b"" if self._run.now is None else self._work.state.snapshot()
        return frame([encode(about | {"finished": self._finished}, {}), state, *runs])

    def load(self, saved: bytes) -> None:
        """Brings a new worker to where another one was."""
        assert self._work.state is not None
        about, state, *runs = unframe(saved)
        header, _ = decode(about)
        self._inbox.load(header, runs)
        if state:
            self._work.state.resume(state)
        self._finished = header["finished"]


def blocks_of(context: Context) -> Callable[[list[dict[str, Any]]], Iterator[AnswerBlock]]:
    """Makes answers of what the bucket has sent; what deserves a warning, and what windows took, is passed on."""

    def combine(rows: list[dict[str, Any]]) -> Iterator[AnswerBlock]:
        for row in sorted(rows, key=lambda row: int(row["until"])):
            block = unpacked(row["fact"])
            if isinstance(block, Diagnostic):
                context.report(block)
            elif isinstance(block, tuple):
                context.listen(*block)
            else:
                yield block

    return combine


def answers(bucket: int, given: Sequence[tuple[int, object]], first: int, decided: int, over: bool) -> Parcel:
    """What a bucket sends to the driver, with its ticks, and how far it has come."""
    lists: Lists = {
        "ticks": np.array([tick for tick, _ in given], dtype=np.int64),
        "numbers": np.arange(len(given), dtype=np.int64),
        "facts": [packed(one) for _, one in given],
    }
    return wrap(OUT, bucket, {"kind": ANSWERS, "first": first, "decided": decided, "over": over}, lists)


def packed(value: object) -> str:
    """A value on its way to another process of the same run.

    >>> unpacked(packed({"x": 1}))
    {'x': 1}
    """
    return b64encode(pickle.dumps(value, protocol=5)).decode()


def unpacked(text: str) -> Any:
    """What `packed` was given; made by a process of this run, as everything that Spark moves is."""
    return pickle.loads(b64decode(text))
