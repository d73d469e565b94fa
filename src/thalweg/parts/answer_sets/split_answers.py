"""An answer set program that reads nothing but streams, in a plan: its pieces are answered in buckets, and combined
where all parts of the plan meet.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from thalweg.diagnostics import Diagnostic
from thalweg.explain.plan_stage import PlanStage
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.parts.answer_sets import AnswerSets
from thalweg.parts.answer_sets.combined_windows import CombinedWindows
from thalweg.parts.answer_sets.holding import HoldingAnswers
from thalweg.parts.answer_sets.spark_job import AnswerSetJob, spread_pieces
from thalweg.parts.answer_sets.spark_worker import PieceWorker
from thalweg.parts.answer_sets.windowed import Inputs
from thalweg.parts.member import Beside
from thalweg.parts.part import Context
from thalweg.parts.spark_plan import split_job
from thalweg.runtimes.spark.wire import Content


def split_answers(part: AnswerSets, context: Context, partitions: int) -> "SplitAnswers | None":
    """How a program is split; None where it has one piece, without a key."""
    solved, frame = part.solved, part.frame(context)
    spreads = tuple(spread_pieces(solved.program, frame, partitions))
    if sum(one.buckets for one in spreads) == 1:
        return None
    job = split_job(AnswerSetJob, solved, context, partitions, frame=frame, spreads=spreads, on_change=part.on_change)
    return SplitAnswers(job, part)


@dataclass(frozen=True)
class SplitAnswers:
    """An answer set program whose pieces are split."""

    job: AnswerSetJob
    part: AnswerSets

    reads_streams: ClassVar[bool] = False

    def start(self, job: Any, stage: int, bucket: int) -> PieceWorker:
        return PieceWorker(job, stage, bucket)

    def join(self, context: Context, dictionary: Dictionary, beside: Beside) -> "FedAnswers":
        windows = CombinedWindows(self.job, context.report, context.listen, dictionary)
        return FedAnswers(windows, None, beside.wanted, context.report, self.part.selected, windows)

    def look(self, report: Callable[[Diagnostic], None], words: Dictionary) -> Callable[[Batch], object] | None:
        return Inputs(self.part.program, report, words).only

    def stages(self) -> tuple[PlanStage, ...]:
        return (self.part.explain(self.job.partitions).stages or ())[:-1]


class FedAnswers(HoldingAnswers):
    """What stands for the program where all parts meet."""

    _windowed: CombinedWindows

    def take(self, content: Content) -> None:
        """What a bucket has answered."""
        self._windowed.take(content)

    def ticks(self) -> Iterable[int]:
        """The ticks of windows that wait."""
        return self._windowed.ticks()
