"""Events that need nothing of the other parts of a plan: classes and patterns have stages of their own, as they have
alone, and what is known of events is sent to where all parts meet.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from thalweg.diagnostics import Diagnostic
from thalweg.engine import Given
from thalweg.explain.plan_stage import PlanStage
from thalweg.ir.nodes import Program
from thalweg.model.arrow import decode, encode
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.parts.member import Beside, Output
from thalweg.parts.part import Context
from thalweg.parts.patterns import EventCascade
from thalweg.parts.patterns.event_stream import facts_of, output_of
from thalweg.parts.patterns.spark_events import (
    AbstractEventsWorker,
    EventsJob,
    EventTotals,
    PatternsWorker,
    events_worker,
)
from thalweg.parts.spark_plan import packed, split_job
from thalweg.planning.partition import Partitioning, Route, Stage
from thalweg.runtimes.event_answers import EventLine
from thalweg.runtimes.spark.wire import CHANGES, Content, Parcel, wrap

_KNOWN: Final = Predicate("'known events", 0)


@dataclass(frozen=True)
class SplitEventsJob(EventsJob):
    """A cascade in stages, and the stage that is given all events."""

    @property
    def output(self) -> frozenset[str]:
        """All of them: others may read what is not output."""
        assert self.cascade is not None
        return frozenset(one.name for one in self.cascade.program.events)

    @cached_property
    def plan(self) -> Partitioning:
        stages = super().plan.stages
        routes = tuple(Route(_KNOWN, _KNOWN.name, None, stage=one.number) for one in stages)
        return Partitioning((*stages, Stage(len(stages), Program(), (), (), False, routes, (), (), frozenset())))

    def answered(self, bucket: int, given: list[tuple[int, object]], first: int, decided: int, over: bool) -> Parcel:
        last = len(self.stages) - 1
        return wrap(last, self.buckets(last)[0], {"kind": CHANGES}, {"given": [packed(one) for _, one in given]})


def split_events(part: EventCascade, context: Context, partitions: int) -> "SplitEvents | None":
    """How events are split; None where no pattern has a key: then these are matched where all parts meet."""
    job = split_job(SplitEventsJob, part, context, partitions, cascade=part, classes=part.classifier())
    return SplitEvents(job, part) if any(one.split for one in job.layout) else None


@dataclass(frozen=True)
class SplitEvents:
    """Events whose classes and patterns are split."""

    job: SplitEventsJob
    part: EventCascade

    reads_streams: ClassVar[bool] = False

    def start(self, job: Any, stage: int, bucket: int) -> AbstractEventsWorker | PatternsWorker:
        return events_worker(job, stage, bucket)

    def join(self, context: Context, dictionary: Dictionary, beside: Beside) -> "KnownEvents":
        totals = EventTotals(context, self.job.repeating)
        return KnownEvents(totals, self.part.output, dictionary, self.part.program.name, context.report)

    def look(self, report: Callable[[Diagnostic], None], words: Dictionary) -> Callable[[Batch], object] | None:
        return None

    def stages(self) -> tuple[PlanStage, ...]:
        return self.part.explain(self.job.partitions).stages or ()


class KnownEvents:
    """What stands for the events where all parts meet."""

    is_settled = True

    def __init__(
        self,
        totals: EventTotals,
        output: frozenset[str],
        dictionary: Dictionary,
        name: str,
        report: Callable[[Diagnostic], None],
    ) -> None:
        self.first: int | None = None
        self._totals = totals
        self._output = output
        self._dictionary = dictionary
        self._name = name
        self._report = report
        self._came: list[dict[str, Any]] = []
        self._waiting: dict[int, list[EventLine]] = {}

    def take(self, content: Content) -> None:
        """What a bucket knows of events."""
        self._came += ({"fact": one} for one in content.lists["given"].to_pylist())

    def ticks(self) -> Iterable[int]:
        """The ticks of events that wait."""
        self._arrange()
        return list(self._waiting)

    def _arrange(self) -> None:
        """What all buckets have sent is put together, once it is there."""
        came, self._came = self._came, []
        for block in self._totals.combine(came):
            for tick, lines in groupby(block.lines, key=lambda line: line.t):
                self._waiting.setdefault(tick, []).extend(lines)

    def advance(self, tick: int, batches: Sequence[Batch], given: Sequence[Given]) -> Iterator[Output]:
        self._arrange()
        for when in sorted(one for one in self._waiting if one <= tick):
            lines = self._waiting.pop(when)
            yield output_of(when, lines, self._output, facts_of(lines), self._dictionary, self._name)

    def finish(self) -> Iterator[Output]:
        """What could not be decided is reported; every event was answered at its tick."""
        for one in self._totals.undecided():
            self._report(one)
        return iter(())

    def looks(self, after: int, before: int) -> Iterable[int]:
        """It reads nothing of others."""
        return ()

    def words_in_use(self) -> NDArray[np.int64]:
        """None: what waits is text."""
        return np.zeros(0, dtype=np.int64)

    def why(self, fact: Fact) -> None:
        """Spark is not asked why."""

    def lacking(self, fact: Fact) -> str:
        return f"there is no event `{fact}` at this tick"

    def snapshot(self) -> bytes:
        """What was added up; nothing waits between two batches."""
        return encode({"totals": self._totals.save()}, {})

    def resume(self, data: bytes) -> None:
        self._totals.load(decode(data)[0]["totals"])

    def close(self) -> None:
        """Nothing has to be closed."""
