"""The classes of events beside other parts: buckets classify whole events in turn, and patterns are matched where all
parts of the plan meet, together with what others conclude.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Final

from thalweg.diagnostics import Diagnostic
from thalweg.explain.plan_stage import PlanStage
from thalweg.ir.nodes import Program
from thalweg.ir.patterns import Pattern
from thalweg.model.arrow import frame, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.parts.abstraction.spark_classes import Account, ClassesJob, ClassesWorker, about
from thalweg.parts.member import Beside
from thalweg.parts.part import Context
from thalweg.parts.patterns import EventCascade
from thalweg.parts.patterns.concluded_events import ConcludedEvents
from thalweg.parts.patterns.event_run import ArrivedEvent, EventRun, instances
from thalweg.parts.patterns.event_stream import EventStream
from thalweg.parts.spark_plan import packed, split_job, unpacked
from thalweg.planning.partition import Partitioning, Route, Stage
from thalweg.runtimes.event_answers import EventAnswers
from thalweg.runtimes.spark.wire import CHANGES, Content, Parcel, wrap

_CLASSIFIED: Final = Predicate("'classified", 0)


@dataclass(frozen=True)
class SplitClassesJob(ClassesJob):
    """Events that are classified in all buckets, and handed on."""

    looks: bool = False
    """Whether patterns look at the triples of events."""

    @cached_property
    def plan(self) -> Partitioning:
        handed_on = Route(_CLASSIFIED, _CLASSIFIED.name, None, stage=0)
        last = Stage(1, Program(), (), (), False, (handed_on,), (), (), frozenset())
        return Partitioning((*super().plan.stages, last))


def split_classes(part: EventCascade, context: Context, partitions: int) -> "SplitClasses":
    """How the classes of events are split."""
    patterns = (one.definition for one in part.program.events if isinstance(one.definition, Pattern))
    job = split_job(
        SplitClassesJob,
        part,
        context,
        partitions,
        classes=part.classifier(),
        looks=any(clause.triples for pattern in patterns for clause in pattern.clauses),
    )
    return SplitClasses(job, part)


@dataclass(frozen=True)
class SplitClasses:
    """Events whose classes are split."""

    job: SplitClassesJob
    part: EventCascade

    reads_streams: ClassVar[bool] = False

    def start(self, job: Any, stage: int, bucket: int) -> "HandingClassifier":
        return HandingClassifier(job, stage, bucket)

    def join(self, context: Context, dictionary: Dictionary, beside: Beside) -> "FedEvents":
        return FedEvents(self.part, context, dictionary, beside)

    def look(self, report: Callable[[Diagnostic], None], words: Dictionary) -> Callable[[Batch], object] | None:
        return None

    def stages(self) -> tuple[PlanStage, ...]:
        names = tuple(name for name, _ in self.part.program.classes)
        return (PlanStage(names, ("event",), self.job.partitions, "events come in turn"),)


class HandingClassifier(ClassesWorker):
    """Classifies the events of a bucket, and hands them on with all that is to be said of them."""

    job: SplitClassesJob

    def __init__(self, job: SplitClassesJob, stage: int, bucket: int) -> None:
        super().__init__(job, stage, bucket)
        self._arrived: list[ArrivedEvent] = []

    def classified(self, tick: int, batches: list[Batch]) -> Iterator[EventAnswers]:
        self.classifier.begin(tick)
        words = self.classifier.dictionary if self.job.looks else None
        for event in self.classifier.classified(batches):
            if event.rejected or event.classes:
                found = tuple(instances(tick, event, words))
                self._arrived.append(ArrivedEvent(tick, event.graph, event.rejected, found))
        return iter(())

    def said(self, given: list[tuple[int, object]], first: int, decided: int) -> list[Parcel]:
        found = [one for _, one in given if isinstance(one, Diagnostic)]
        accounts = [one for _, one in given if isinstance(one, Account) and one.reasons]
        arrived, self._arrived = self._arrived, []
        if not (arrived or found or accounts):
            return []
        lists = {"events": [packed((arrived, found, accounts))]}
        return [wrap(1, self.job.buckets(1)[0], {"kind": CHANGES}, lists)]


class FedEvents(EventStream):
    """What stands for the events where all parts meet: those of streams come with their classes."""

    def __init__(self, part: EventCascade, context: Context, dictionary: Dictionary, beside: Beside) -> None:
        self._asked = context.report
        self._warned: set[tuple[str, str]] = set()
        run: EventRun = part.run_beside(replace(context, report=self._warn), dictionary, beside)
        super().__init__(run, part.program.name, part.output, ConcludedEvents(part.beside.classes), self._warn)
        self._waiting: dict[int, list[ArrivedEvent]] = {}

    def _warn(self, found: Diagnostic) -> None:
        if about(found) not in self._warned:
            self._warned.add(about(found))
            self._asked(found)

    def take(self, content: Content) -> None:
        """What a bucket has classified."""
        arrived, found, accounts = unpacked(content.lists["events"][0].as_py())
        for event in arrived:
            self._waiting.setdefault(event.tick, []).append(event)
        for one in found:
            self._warn(one)
        for account in accounts:
            self._run.add_undecided(account.reasons, account.examples)

    def ticks(self) -> Iterable[int]:
        """The ticks of events that wait."""
        return list(self._waiting)

    def _classified(self, tick: int) -> Sequence[ArrivedEvent]:
        return self._waiting.pop(tick, [])

    def snapshot(self) -> bytes:
        return frame([super().snapshot(), packed((self._waiting, self._warned)).encode()])

    def resume(self, data: bytes) -> None:
        inside, own = unframe(data)
        super().resume(inside)
        self._waiting, self._warned = unpacked(own.decode())
