"""What brings facts to a run on Spark: tasks read recorded streams, and the driver those that only it can read."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from thalweg.diagnostics import Diagnostic
from thalweg.runtimes.intake import FarFacts
from thalweg.runtimes.spark.shipped_job import ShippedJob

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SparkFeed(Protocol):
    """A stream of parcels, and what is known in the driver of what it has brought."""

    malformed: Diagnostic | None
    """What is wrong with the line at which reading has stopped."""

    error: BaseException | None
    """What went wrong in a thread that reads."""

    facts: int
    """How many facts have been read, as far as is known."""

    @property
    def far(self) -> FarFacts:
        """The facts whose times are far from those around them."""

    @property
    def reached(self) -> int:
        """The last tick that is decided by what has been read, as far as is known."""

    def load(self, session: "SparkSession", shipped: ShippedJob) -> "DataFrame":
        """The parcels as a stream of Spark, made by tasks that know the job."""

    def start(self) -> None:
        """Begins to read, before the query is started."""

    def stop(self) -> None:
        """Ends without saying that the streams have ended: they may be read on."""

    def finish(self) -> None:
        """Ends as if the streams had been cut off here, where that is possible."""

    def hear(self, digests: Sequence[dict[str, Any]]) -> None:
        """Takes the digests of the blocks of a batch; `RejectedError` where they contradict each other."""

    def trim(self) -> None:
        """Forgets what is no longer needed of old batches; called while a batch is being delivered."""
