"""A stage of a plan on Spark, as every kind of program describes it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from thalweg.explain.quantity import count


@dataclass(frozen=True, slots=True)
class PlanStage:
    """Statements that are evaluated together on Spark, and how they are spread over partitions.

    `key` has the variables whose values decide about the partition, None where there is one partition; `keys` has the
    variable of each statement that has its own. `why` gives the reason, if there is something to say. `details` and
    `concurrent` (the numbers of stages that are evaluated at the same time) are only shown as data.
    """

    statements: tuple[str, ...]
    key: tuple[str, ...] | None
    partitions: int
    why: str | None = None
    keys: Mapping[str, str] | None = None
    details: Mapping[str, object] = field(default_factory=dict)
    concurrent: tuple[int, ...] | None = None

    @property
    def extent(self) -> str:
        """How many partitions it has, and by what it is split.

        >>> PlanStage((), ("R",), 2).extent, PlanStage((), None, 1).extent
        ('2 partitions by R', '1 partition')
        """
        return count(self.partitions, "partition") + (f" by {', '.join(self.key)}" if self.key else "")
