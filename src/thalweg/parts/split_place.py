"""A place of a plan whose work is split over buckets, in stages before the one bucket where all places meet.

What it gives is sent to that bucket, where something stands for it that is fed with what the buckets have sent: to the
others it is a place like any other, so they cannot tell where the work was done.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from thalweg.diagnostics import Diagnostic
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.parts.member import Beside, MemberAtWork
from thalweg.parts.part import Context

if TYPE_CHECKING:
    from thalweg.explain.plan_stage import PlanStage
    from thalweg.runtimes.spark.job import Job
    from thalweg.runtimes.spark.wire import Content
    from thalweg.runtimes.spark.worker_cache import BucketWorker


class FedMember(MemberAtWork, Protocol):
    """A member at work whose buckets are elsewhere."""

    def take(self, content: "Content") -> None:
        """What a bucket has sent."""

    def ticks(self) -> Iterable[int]:
        """The ticks of what was sent and is still to be said."""


class SplitPlace(Protocol):
    """How a place is split, as a value that all processes know."""

    @property
    def job(self) -> "Job":
        """Its stages; the last of them is the one where all places meet."""

    @property
    def reads_streams(self) -> bool:
        """Whether what stands for it looks at the facts of streams that come to where all places meet."""

    def start(self, job: Any, stage: int, bucket: int) -> "BucketWorker":
        """What does the work of a bucket, for the job as it is in a run; of all stages but the last."""

    def join(self, context: Context, dictionary: Dictionary, beside: Beside) -> FedMember:
        """Makes what stands for it where all places meet."""

    def look(self, report: Callable[[Diagnostic], None], words: Dictionary) -> Callable[[Batch], object] | None:
        """What sees every batch where it comes in."""

    def stages(self) -> "tuple[PlanStage, ...]":
        """Its stages but the last, for people to read."""
