"""A plan of several kinds in stages: places that can be split work in buckets of their own, then all meet in one.

    stages of the first split place  ┐
    stages of the second one         ├──▶  one bucket: the places that are not split, and what stands for the others
    facts that the others read       ┘

Each split place has a job of its own, with its own numbers of stages; here they stand one behind the other. What they
send to their last stage goes to the bucket where all meet, with the number of the place.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from thalweg.ir.dependency import formulas
from thalweg.ir.nodes import Program
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.parts.mixed import Mixed
from thalweg.parts.part import Context, Evaluation, SparkWork
from thalweg.parts.spark_plan import PlanJob, PlanWorker, blocks_of, plan_job
from thalweg.parts.split_place import FedMember, SplitPlace
from thalweg.parts.wired_run import WiredRun
from thalweg.planning.locality import counts_everything
from thalweg.planning.partition import Partitioning, Route, Stage
from thalweg.planning.wire_parts import Layer
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.wire import FACTS, Content, Parcel, Words, unwrap, wrap
from thalweg.runtimes.spark.worker_cache import BucketWorker

if TYPE_CHECKING:
    from thalweg.runtimes.unmatched import RuleWatch

_HANDED: Final = "handed on"
_HANDED_ON: Final = Predicate("'handed on", 0)


@dataclass(frozen=True)
class StagedJob(PlanJob):
    """A plan and its places that are split, each with its number."""

    split: tuple[tuple[int, SplitPlace], ...] = ()

    @cached_property
    def jobs(self) -> tuple[Job, ...]:
        """The jobs of the places, as they are in this run; a late fact is reported by the first that gets it."""
        found: list[Job] = []
        for _, one in self.split:
            found.append(
                replace(one.job, groups=self.groups, bounded=self.bounded, idle=self.idle, before=tuple(found))
            )
        return tuple(found)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The number of the first stage of each place, and of the stage where all meet."""
        sizes = [len(job.stages) - 1 for job in self.jobs]
        return tuple(sum(sizes[:number]) for number in range(len(sizes) + 1))

    @property
    def meeting(self) -> int:
        """The number of the stage where all places meet."""
        return self.starts[-1]

    def at(self, stage: int) -> tuple[int, int]:
        """Which of the split places a stage belongs to, and its number among those of the place."""
        which = sum(start <= stage for start in self.starts) - 1
        return which, stage - self.starts[which]

    @cached_property
    def plan(self) -> Partitioning:
        stages = [
            _moved(stage, start)
            for job, start in zip(self.jobs, self.starts, strict=False)
            for stage in job.stages[:-1]
        ]
        routes = tuple(Route(_HANDED_ON, _HANDED_ON.name, None, stage=one.number) for one in stages)
        return Partitioning((*stages, Stage(self.meeting, Program(), (), (), False, routes, (), (), frozenset())))

    def buckets(self, stage: int) -> range:
        if stage == self.meeting:
            return range(1)
        which, own = self.at(stage)
        return self.jobs[which].buckets(own)

    def keeps_events(self, stage: int) -> bool:
        if stage == self.meeting:
            return True
        which, own = self.at(stage)
        return self.jobs[which].keeps_events(own)

    def spreads_events(self, stage: int) -> bool:
        if stage == self.meeting:
            return False
        which, own = self.at(stage)
        return self.jobs[which].spreads_events(own)

    def routes(self, signature: Predicate) -> Iterator[tuple[int, int, int | None]]:
        meets = self._read_there is None or signature in self._read_there
        for job, start in zip(self.jobs, self.starts, strict=False):
            for stage, route, key in job.routes(signature):
                if stage < len(job.stages) - 1:
                    yield start + stage, route, key
                else:
                    meets = True
        if meets:
            yield self.meeting, 0, None

    @cached_property
    def _read_there(self) -> frozenset[Predicate] | None:
        """The predicates of streams that places which are not split read; None where that may be any."""
        assert isinstance(self.part, Mixed)
        split, found = dict(self.split), set[Predicate]()
        for number, place in enumerate(self.part.wiring.places):
            if number in split:
                continue
            if not isinstance(place, Layer):
                return None
            program = place.program
            read = {formula.atom.signature for rule in program.rules for formula, _ in formulas(rule.body)}
            if program.equality or any(map(counts_everything, program.rules)) or any(_is_made(one) for one in read):
                return None
            found |= read
        return frozenset(found)

    def where(self, stage: int, route: int, key: int | None, rows: Words, words: Dictionary) -> Words | None:
        if stage == self.meeting:
            return np.zeros(len(rows), dtype=np.int64)
        which, own = self.at(stage)
        return self.jobs[which].where(own, route, key, rows, words)

    def is_first(self, signature: Predicate, stage: int, route: int, bucket: int) -> bool:
        """Where all places meet, facts are reported that come to no split place."""
        return not any(job.takes(signature) for job in self.jobs)


def _is_made(name: Predicate) -> bool:
    """Whether facts of a predicate are made of those of others as they come in, as triples are."""
    return name.name[0] == "'" and not name.name.startswith(("'now ", "'before "))


def _moved(stage: Stage, start: int) -> Stage:
    routes = tuple(one if one.stage is None else replace(one, stage=one.stage + start) for one in stage.routes)
    return replace(stage, number=stage.number + start, routes=routes)


def in_stages(
    part: Mixed, split: Mapping[int, SplitPlace], context: Context, partitions: int, watch: "RuleWatch"
) -> SparkWork:
    """A plan on Spark, some of whose places are split."""
    job = plan_job(StagedJob, part, context, partitions, split=tuple(split.items()))

    def look(words: Dictionary) -> Callable[[Batch], object]:
        found = (one.look(context.report, words) for one in split.values())
        looks = [watch.look(words), *(one for one in found if one is not None)]
        return lambda batch: [one(batch) for one in looks]

    return SparkWork(job, staged_worker, combine=blocks_of(context), look=look, summary=watch.summary)


def staged_worker(job: StagedJob, stage: int, bucket: int) -> BucketWorker:
    """What does the work of a bucket."""
    return MeetingWorker(job, stage, bucket) if stage == job.meeting else PlaceWorker(job, stage, bucket)


class PlaceWorker:
    """The worker of a split place, whose parcels are addressed as the whole plan has it."""

    def __init__(self, job: StagedJob, stage: int, bucket: int) -> None:
        self.job = job
        self._which, own = job.at(stage)
        self._place, split = job.split[self._which]
        self._last = len(job.jobs[self._which].stages) - 1
        self._worker = split.start(job.jobs[self._which], own, bucket)

    def process(self, payloads: Iterable[bytes]) -> list[Parcel]:
        return list(map(self._readdressed, self._worker.process(payloads)))

    def _readdressed(self, parcel: Parcel) -> Parcel:
        if parcel.stage < 0:
            return parcel
        if parcel.stage < self._last:
            return replace(parcel, stage=parcel.stage + self.job.starts[self._which])
        import pyarrow as pa

        inside = {"payload": pa.array([parcel.payload], type=pa.binary())}
        meeting = self.job.meeting
        return wrap(meeting, self.job.buckets(meeting)[0], {"kind": _HANDED, "place": self._place}, inside)

    def replay(self, payloads: Iterable[bytes]) -> None:
        self._worker.replay(payloads)

    @property
    def must_save(self) -> bool:
        return self._worker.must_save

    def save(self) -> bytes:
        return self._worker.save()

    def load(self, saved: bytes) -> None:
        self._worker.load(saved)


class MeetingWorker(PlanWorker):
    """The bucket where all places meet."""

    job: StagedJob

    def _begun(self, context: Context) -> Evaluation:
        assert isinstance(self.job.part, Mixed)
        work = self.job.part.started(context, dict(self.job.split))
        assert isinstance(work.reasoner, WiredRun)
        self._wired = work.reasoner
        return work

    @cached_property
    def _fed(self) -> dict[int, FedMember]:
        """What stands for the split places, by their numbers."""
        return {number: self._wired.places[number].worker for number, _ in self.job.split}  # type: ignore[misc]

    def _take(self, contents: list[Content]) -> list[Parcel]:
        for content in contents:
            if content.kind == _HANDED:
                inside = unwrap(content.lists["payload"][0].as_py())
                self._fed[content.header["place"]].take(inside)
        return self._inbox.take(content for content in contents if content.kind == FACTS)

    def _up_to(self, last: int) -> dict[int, list[Batch]]:
        """The facts of each tick, and no facts at those at which split places have something to say."""
        if self._wired.first is None:
            self._wired.first = self._inbox.watermark.start
        found = super()._up_to(last)
        for one in self._fed.values():
            for tick in one.ticks():
                if tick <= last:
                    found.setdefault(tick, [])
        return found
