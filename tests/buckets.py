"""The buckets of a cluster in one process: to be fed batch by batch, and lost in between."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any
from unittest.mock import patch

import pyarrow as pa

from thalweg.answers.jsonl import lines
from thalweg.answers.record import Answer
from thalweg.dataflow.context import Context, Settings
from thalweg.diagnostics import Diagnostic, Source
from thalweg.ir.nodes import Program
from thalweg.kinds.answer_sets import AnswerSets
from thalweg.kinds.answer_sets.solve_options import SolveOptions
from thalweg.kinds.answer_sets.windowed import Answered
from thalweg.kinds.part import Part
from thalweg.kinds.rules.rule_engine import RuleEngine
from thalweg.kinds.rules.rule_part import Rules
from thalweg.kinds.units import units_of
from thalweg.languages.asp.reader import read_program
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch, Event
from thalweg.model.fact import Fact
from thalweg.model.time import Clock
from thalweg.runtimes.local import LocalRun
from thalweg.runtimes.spark.bucket_answers import answers_of, opened
from thalweg.runtimes.spark.delivery import Delivered, Delivery
from thalweg.runtimes.spark.handover import BucketHandover, BucketState, KeptJob
from thalweg.runtimes.spark.job import Job, spread
from thalweg.runtimes.spark.pack import Arrived, Packer
from thalweg.runtimes.spark.shipped_job import sealed, unsealed
from thalweg.runtimes.spark.wire import FAILURE, OUT, Parcel, error_of, unwrap
from thalweg.runtimes.spark.worker import Worker
from thalweg.runtimes.watermark import Watermark
from thalweg.testing.evaluators import arrived

LOSSES = ("none", "saved", "replayed")


def rule_job(program: Program, settings: Settings = Settings(), partitions: int = 2) -> Job:
    """Rules made ready for buckets."""
    return spread(Rules(program), Context(settings, Clock(), lambda _: None), partitions).job


def worker_with(engine: type[RuleEngine], job: Job, fragment: int, bucket: int) -> Worker:
    """A worker whose rules are evaluated by a class of engines of one's own."""
    with patch("thalweg.kinds.rules.rule_operator.RuleEngine", engine):
        return Worker(job, fragment, bucket)


def engine_of(worker: Worker) -> Any:
    """The engine of a worker that has the rules of one stage."""
    (node,) = worker.executor.nodes
    return node.operator.engine


class Workers:
    """All workers of a job in one process: to be fed batch by batch, and lost in between."""

    def __init__(
        self, job: Job, arrived: Callable[[Iterable[Any], Dictionary, Watermark], list[Arrived]] = arrived
    ) -> None:
        self._watermark = Watermark(job.settings.delay, job.settings.first, job.settings.last)
        self._arrived = arrived
        self._set_job(job, part=-1)

    def _set_job(self, job: Job, part: int = 0) -> None:
        """Takes a job, as it comes to another process, with new workers and one who packs the next part."""
        self.job = unsealed(sealed(job))
        keys = [(part.number, bucket) for part in self.job.fragments for bucket in self.job.buckets(part.number)]
        self.workers = {key: Worker(self.job, *key) for key in keys}
        self._taken: dict[tuple[int, int], list[list[bytes]]] = {key: [] for key in keys}
        self._packer = Packer(self.job, 0, (part,))

    def _batches(self, key: tuple[int, int]) -> tuple[tuple[bytes, ...], ...]:
        """All that a worker has taken in, batch by batch."""
        return tuple(map(tuple, self._taken[key]))

    def process(self, events: Iterable[Any], ended: bool) -> Iterator[Parcel]:
        """What the workers send to the driver when some events come."""
        self._packer.part = (self._packer.part[0] + 1,)
        parcels = list(self._packer.pack(self._arrived(events, self._packer.words, self._watermark), ended))
        for key, worker in self.workers.items():
            mine = [parcel.payload for parcel in parcels if (parcel.fragment, parcel.bucket) == key]
            self._taken[key].append(mine)
            for parcel in worker.process(mine):
                if parcel.fragment < 0:
                    yield parcel
                else:
                    assert parcel.fragment > key[0]
                    parcels.append(parcel)

    def lose(self, how: str) -> None:
        """All workers are made anew, from what was saved or from all that came."""
        for key, lost in self.workers.items() if how != "none" else ():
            self.workers[key] = worker = Worker(self.job, *key)
            if how == "saved":
                worker.load(lost.save())
            else:
                for payloads in self._taken[key]:
                    worker.replay(payloads)


class Buckets(Workers):
    """All buckets of a part; late facts go to `late`, warnings to `found`, and what windows took to `heard`."""

    def __init__(
        self,
        part: Part,
        settings: Settings,
        partitions: int,
        arrived: Callable[[Iterable[Any], Dictionary, Watermark], list[Arrived]] = arrived,
        split: str = "auto",
    ) -> None:
        self.late: list[str] = []
        self.found: list[Diagnostic] = []
        self.heard: list[Answered] = []
        listen = lambda solution, answered: self.heard.append(answered)  # noqa: E731
        self.context = Context(settings, Clock(), self.found.append, listen=listen, split=split)
        self._partitions = partitions
        self._work = spread(part, self.context, partitions)
        super().__init__(self._work.job, arrived)
        self._delivery = _Reports(settings.emit, self.found.append, listen)

    def change(self, old: Part, new: Part, how: str) -> BucketHandover:
        """Goes on with another program, from what was saved or from all that came."""
        states = {
            key: BucketState(worker.save() if how == "saved" else b"", () if how == "saved" else self._batches(key))
            for key, worker in self.workers.items()
        }
        earlier = self._kept(old)
        self._work = spread(new, self.context, self._partitions)
        self._set_job(self._work.job)
        handover = BucketHandover.load(BucketHandover.of(earlier, self._kept(new), states).save())
        self.workers = {key: Worker.of_handover(self.job, key, handover) for key in self.workers}
        return handover

    def _kept(self, part: Part) -> KeptJob:
        return KeptJob.load(KeptJob.of(self._work.job, part, units_of(part, self.context)).save())

    def take(self, events: Iterable[Any], ended: bool = True) -> list[Answer]:
        """What is answered when some events come."""
        tables = []
        for parcel in self.process(events, ended):
            if parcel.fragment == FAILURE:
                raise error_of(unwrap(parcel.payload).header["error"])
            assert parcel.fragment == OUT
            tables += opened(parcel.payload, self.job.settings.emit)
        return self._answers(pa.Table.from_batches(tables)) if tables else []

    def _answers(self, rows: pa.Table) -> list[Answer]:
        sent = self._delivery.read(rows)
        self.late += (row["fact"] for row in sent.reports["late"])
        self._delivery._note(sent)
        done, decided = self._delivery.done, sent.decided
        first = min((row["until"] for row in decided), default=0) if done.tick < 0 else done.tick + 1
        last = max([done.tick, *(row["t"] for row in decided)])
        sent, waiting = self._delivery._open(sent, last)
        last -= bool(sent.reports["open"])
        self._delivery.done = Delivered(tick=last, waiting=waiting)
        emit = self.job.settings.emit if self.job.plan.shows_facts else None
        present = self._work.watch.presenter() or (lambda answer: answer)
        return [present(answer) for answer in answers_of(sent.answers, emit, [], first, last)]


class _Reports(Delivery):
    """What a driver reports, without a sink."""

    def __init__(self, emit: str, report: Callable[[Diagnostic], None], listen: Callable[[Any, Any], None]) -> None:
        self._emit, self._report, self._listen, self._warned = emit, report, listen, set()
        self.done = Delivered()

    @staticmethod
    def read(rows: pa.Table) -> Any:
        from thalweg.runtimes.spark.delivery import _Sent

        return _Sent.read(rows)


class Cluster(Buckets):
    """The buckets of an answer set program."""

    def __init__(
        self,
        program: str,
        options: SolveOptions,
        partitions: int,
        background: tuple[Fact, ...] = (),
        delay: int = 0,
    ) -> None:
        known = read_program(Source("case.lp", program))[0].knowing(background)
        super().__init__(AnswerSets(known, background, options), Settings(delay=delay, emit="changes"), partitions)

    def take(self, events: Iterable[Any], ended: bool = True) -> list[Answer]:
        """The answers of the windows that close with some events."""
        found = super().take(events, ended)
        assert all(answer.kind == "answer sets" for answer in found)
        return found


Graphs = tuple[int, Sequence[tuple[str, Sequence[Fact]]]]
"""What comes at a tick: graphs, each with its name, and the facts in it."""


def with_graphs(arriving: Iterable[Graphs], words: Dictionary, watermark: Watermark) -> list[Arrived]:
    """Graphs as a packer takes them."""
    found = []
    for tick, graphs in arriving:
        batch = Batch(stream="events")
        for name, facts in graphs:
            for fact in facts:
                batch.add(fact.signature, [words.code(term) for term in fact.terms])
            batch.graphs.append((name, len(facts)))
        found.append((tick, batch, watermark.meet(tick)))
    return found


def in_buckets(
    part: Part,
    settings: Settings,
    batches: Sequence[Sequence[Any]],
    loss: str,
    partitions: int = 2,
    arrived: Callable[[Iterable[Any], Dictionary, Watermark], list[Arrived]] = arrived,
    split: str = "auto",
) -> list[str]:
    """What a part answers in buckets that are fed batch by batch, and lost in between."""
    buckets = Buckets(part, settings, partitions, arrived, split)
    found: list[str] = []
    for number, events in enumerate(batches, 1):
        answers = buckets.take(events, number == len(batches))
        found += (line for answer in answers for line in lines(answer))
        buckets.lose(loss)
    return found


def stopped(part: Part, settings: Settings, events: Iterable[Event], breaks: Collection[int]) -> list[str]:
    """What a part answers in one process that is saved after some ticks, and goes on with what was saved elsewhere."""
    came = {event.tick: event for event in events}
    assert settings.first is not None
    assert settings.last is not None
    run = LocalRun(part, Context(settings, Clock(), lambda found: None, saves=True))
    said: list[str] = []
    for tick in range(settings.first, settings.last + 1):
        words, batches = run.dictionary, []
        if tick in came:
            batch = Batch(stream=came[tick].stream)
            for fact in came[tick].facts:
                batch.add(fact.signature, [words.code(term) for term in fact.terms])
            batches.append(batch)
        said += (line for answer in run.advance(tick, batches) for line in lines(answer))
        if tick in breaks:
            saved = run.snapshot()
            run = LocalRun(part, Context(settings, Clock(), lambda found: None, saves=True))
            run.resume(saved)
    return [*said, *(line for answer in run.finish() for line in lines(answer))]
