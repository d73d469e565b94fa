"""What every process of a run must know: the stages, how many buckets each has, and how to run."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from thalweg.ir.annotate_terms import EDGES, SUPPLIED
from thalweg.ir.fingerprint import fingerprint
from thalweg.ir.nodes import Program
from thalweg.ir.text import show
from thalweg.model.dictionary import Dictionary
from thalweg.model.predicate import Predicate
from thalweg.model.vocabulary import SAME_AS
from thalweg.planning.partition import Partitioning, Route, Stage, partition
from thalweg.runtimes.embedded import Settings
from thalweg.runtimes.spark.wire import UNKNOWN, Parcel, Words, buckets_of, labels

FORMAT: Final = 10
"""Changes when what a checkpoint holds does: one from before is refused, not guessed at."""


@dataclass(frozen=True)
class Job:
    """A program made ready for many processes; `groups` is the number of groups of streams (see `watermark`).

    `name` tells runs apart whose engines meet in one process; `bounded`: all of the input is in one batch. Where
    several jobs are one run, which meet in their last stages, those `before` this one report the late facts that they
    get before. A group that brings nothing for `idle` milliseconds rests, where a clock comes with the facts.
    """

    program: Program
    settings: Settings = field(default_factory=Settings)
    partitions: int = 2
    groups: int = 1
    bounded: bool = False
    name: str = ""
    before: "tuple[Job, ...]" = ()
    idle: int | None = None

    @cached_property
    def plan(self) -> Partitioning:
        return partition(self.program)

    @property
    def stages(self) -> tuple[Stage, ...]:
        return self.plan.stages

    def buckets(self, stage: int) -> range:
        """The buckets of a stage: all, or the one where it is together."""
        if self.stages[stage].split:
            return range(self.partitions)
        return range(self._alone[stage], self._alone[stage] + 1)

    @cached_property
    def _alone(self) -> dict[int, int]:
        """The bucket of each stage that has but one; those that can run at the same time are in different ones."""
        together = ([stage for stage in level if not stage.split] for level in self.plan.levels)
        return {stage.number: place % self.partitions for some in together for place, stage in enumerate(some)}

    def keeps_events(self, stage: int) -> bool:
        """Whether it matters to a stage which facts came together as one event, and the name of its graph."""
        return False

    def spreads_events(self, stage: int) -> bool:
        """Whether the buckets of a stage take whole events in turn, wherever facts else would go."""
        return False

    @cached_property
    def labels(self) -> list[int]:
        """What Spark knows the buckets by."""
        return labels(1 + max(self.buckets(stage.number)[-1] for stage in self.stages), self.partitions)

    def labelled(self, parcels: Iterable[Parcel]) -> Iterator[Parcel]:
        """Parcels as Spark spreads them."""
        return (replace(parcel, bucket=self.labels[parcel.bucket]) for parcel in parcels)

    @cached_property
    def streamed(self) -> dict[Predicate, list[tuple[int, int, Route]]]:
        """For each signature that streams bring: the stage, the route's number in it, and the route."""
        found: dict[Predicate, list[tuple[int, int, Route]]] = {}
        for stage in self.stages:
            for number, route in enumerate(stage.routes):
                if route.stage is None:
                    found.setdefault(route.signature, []).append((stage.number, number, route))
        return found

    def routes(self, signature: Predicate) -> Iterator[tuple[int, int, int | None]]:
        """Where facts of a signature go: stages, the number of the route in each, and the argument that matters."""
        known = self.streamed.get(signature, ())
        yield from ((stage, number, route.key) for stage, number, route in known)
        counting = frozenset() if signature in self.supplied else self.counting
        for stage in counting - {stage for stage, _, _ in known}:
            yield stage, UNKNOWN, None

    def where(self, stage: int, route: int, key: int | None, rows: Words, words: Dictionary) -> Words | None:
        """The bucket of each fact of a route; None where all get all of them."""
        return None if key is None else buckets_of(rows[:, key], words, self.buckets(stage))

    def is_first(self, signature: Predicate, stage: int, route: int, bucket: int) -> bool:
        """Whether this bucket is the first to get facts of a signature, and reports on them for all."""
        known = self.streamed.get(signature)
        if not known:
            return stage == min(self.counting, default=0) and bucket == self.buckets(stage)[0]
        first, number, by = known[0]
        return (first, number) == (stage, route) and (by.key is not None or bucket == self.buckets(stage)[0])

    def reports(self, signature: Predicate, stage: int, route: int, bucket: int) -> bool:
        """Whether this bucket reports facts of a signature that are late."""
        is_elsewhere = any(one.takes(signature) for one in self.before)
        return not is_elsewhere and self.is_first(signature, stage, route, bucket)

    def takes(self, signature: Predicate) -> bool:
        """Whether facts of a signature come to a stage before the last."""
        return any(stage < len(self.stages) - 1 for stage, _, _ in self.routes(signature))

    @cached_property
    def counting(self) -> frozenset[int]:
        """The stages that must get every fact, because a tuple window counts the whole input."""
        return frozenset(stage.number for stage in self.stages if stage.counts_everything)

    @cached_property
    def supplied(self) -> frozenset[Predicate]:
        """What the rules want to know about the terms of each fact; most want to know nothing."""
        return (SUPPLIED & self.streamed.keys()) - self.renamed.keys()

    @cached_property
    def renamed(self) -> dict[Predicate, Predicate]:
        """The signatures of what streams bring, by those that the rules know it by; most are the same."""
        return {EDGES: Predicate(SAME_AS, 2)} if EDGES in self.streamed else {}

    @property
    def text(self) -> str:
        """The program as people read it."""
        return show(self.program)

    @cached_property
    def fingerprint(self) -> str:
        """What a checkpoint must agree with: the program, and how it is spread and run."""
        what = (FORMAT, fingerprint(self.program), self.settings, self.partitions, self.groups, self.idle)
        return hashlib.sha256(repr(what).encode()).hexdigest()
