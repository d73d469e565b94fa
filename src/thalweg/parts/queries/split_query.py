"""A query that hears streams only, in a plan: its joins are split by a key, and rows are counted where parts meet."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from thalweg.diagnostics import Diagnostic
from thalweg.engine import Given
from thalweg.explain.plan_stage import PlanStage
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.parts.member import Beside, Output
from thalweg.parts.part import Context
from thalweg.parts.queries import ContinuousQuery
from thalweg.parts.queries.continuous import Continuous
from thalweg.parts.queries.spark_query import CountedSolutions, QueryJob, SolutionsWorker, Split, seen_on, split
from thalweg.parts.queries.streaming import StreamingQuery
from thalweg.parts.queries.streams_read import StreamsRead
from thalweg.parts.spark_plan import split_job
from thalweg.runtimes.spark.wire import Content


def split_query(part: ContinuousQuery, context: Context, partitions: int) -> "SplitQuery | None":
    """How a query is split; None where no key is found."""
    if not isinstance(split(part.query, part.background), Split):
        return None
    job = split_job(QueryJob, part, context, partitions, query=part.query, background=part.background)
    return SplitQuery(job, part)


@dataclass(frozen=True)
class SplitQuery:
    """A query whose joins are split."""

    job: QueryJob
    part: ContinuousQuery

    reads_streams: ClassVar[bool] = True

    def start(self, job: Any, stage: int, bucket: int) -> SolutionsWorker:
        return SolutionsWorker(job, stage, bucket)

    def join(self, context: Context, dictionary: Dictionary, beside: Beside) -> "FedQuery":
        query = self.part.query
        streams = StreamsRead(query, context.streams)
        streams.check(context.names_streams)
        counted = CountedSolutions(query, self.job.split.lowered, dictionary)
        continuous = Continuous(query, counted, streams, context.settings.first, context.report)
        return FedQuery(continuous, self.part.ports.name, counted)

    def look(self, report: Callable[[Diagnostic], None], words: Dictionary) -> Callable[[Batch], object] | None:
        return None

    def stages(self) -> tuple[PlanStage, ...]:
        return (self.part.explain(self.job.partitions).stages or ())[:-1]


class FedQuery(StreamingQuery):
    """What stands for the query where all parts meet; facts that its joins do not take come there, too."""

    def __init__(self, continuous: Continuous, name: str, counted: CountedSolutions) -> None:
        super().__init__(continuous, name)
        self._counted = counted
        self._seen: dict[int, dict[str | None, None]] = {}

    def take(self, content: Content) -> None:
        """Solutions of a bucket, and on which streams something came."""
        self._counted.take(content)
        for stream, tick in content.header["seen"]:
            self._seen.setdefault(tick, {})[stream] = None

    def ticks(self) -> Iterable[int]:
        """The ticks at which something came."""
        return list(self._seen)

    def advance(self, tick: int, batches: Sequence[Batch], given: Sequence[Given]) -> Iterator[Output]:
        return super().advance(tick, [*batches, *seen_on(self._seen.pop(tick, {}))], given)
