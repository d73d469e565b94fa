"""A part: what is evaluated as one, in this process or on Spark.

A part is a value. It makes what reasons when a run starts: in this process a `Reasoner`, on Spark a job whose buckets
have workers. Nothing outside this package asks which kind of part it has.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from thalweg.connectors.interrupt import Interrupt
from thalweg.diagnostics import Diagnostic
from thalweg.ir.nodes import Program
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.time import Clock

if TYPE_CHECKING:
    # The engine's compiler takes a moment to import, and `check` can do without it.
    from thalweg.explain.document import PlanDocument
    from thalweg.runtimes.answer_columns import AnswerColumns
    from thalweg.runtimes.embedded import Advance, Reasoner, Savable, Settings
    from thalweg.runtimes.emit import AnswerBlock, Emitter
    from thalweg.runtimes.spark.job import Job
    from thalweg.runtimes.spark.worker_cache import Start


Summary = Callable[[], Iterable[Diagnostic]]
"""The warnings at the end of a run."""


@dataclass(frozen=True, slots=True)
class Context:
    """The run that a part is evaluated in; `listen` is called with each window's answer and what it took.

    `saves`: the state of the part will be saved on the way. `streams` are the names of those that the run was given;
    `names_streams` finds out whether these may bring others under names of their own. It `explains`, if it will be
    asked why; `progress`, if it says at the end how far those rules got that concluded nothing.
    """

    settings: "Settings"
    clock: Clock
    report: Callable[[Diagnostic], None]
    interrupt: Interrupt = field(default_factory=Interrupt)
    listen: Callable[[Any, Any], None] = lambda solution, answered: None
    saves: bool = False
    streams: tuple[str, ...] = ()
    names_streams: Callable[[], bool] = lambda: True
    explains: bool = False
    progress: bool = False


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A part at work in this process.

    `emitter` makes answers of what the reasoner gives, where the one for `--emit` does not; `state` is what must be
    saved of the reasoner and of that emitter, None where this cannot be done; `summary` says what deserves a warning
    when all has come; for the others, see `Embedded`.
    """

    reasoner: "Reasoner"
    emitter: "Emitter | None" = None
    advance: "Advance | None" = None
    present: "Callable[[AnswerBlock], AnswerBlock]" = lambda piece: piece
    look: Callable[[Batch], object] | None = None
    state: "Savable | None" = None
    summary: Summary = lambda: ()
    close: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class SparkWork:
    """A part at work on Spark: the job, what does the work of a bucket, and what becomes of answers in the driver.

    `combine` turns the rows of a batch into answers, where they are not answers already; `finish` is called at the end,
    and so is `summary`, unless a run was resumed, which has not seen all that came.
    """

    job: "Job"
    start: "Start"
    present: "Callable[[AnswerBlock], AnswerBlock]" = lambda piece: piece
    combine: Any = None
    look: Callable[[Dictionary], Callable[[Batch], object]] | None = None
    finish: Callable[[], None] = lambda: None
    summary: Summary = lambda: ()


@runtime_checkable
class Examined(Protocol):
    """A part that may be wrong in a way that it takes reasoning to find."""

    def contradictions(self) -> list[Diagnostic]:
        """An error if the background contradicts the program; warnings, as that this is undecided."""


class Part(Protocol):
    """What is evaluated as one."""

    @property
    def size(self) -> str:
        """How large it is, in words."""

    @property
    def rules(self) -> Program:
        """The rules that it stands for; `RejectedError` where it is more than rules."""

    @property
    def compiles(self) -> bool:
        """Whether the engine evaluates some of it, whose kernels are compiled once per installation."""

    def identity(self, context: Context) -> tuple[str, str]:
        """What a saved state of it must agree with: the program as people read it, and a fingerprint.

        `RejectedError` where its state cannot be saved.
        """

    def answer_columns(self, emit: str) -> "AnswerColumns":
        """The columns of its answers as a table."""

    def start(self, context: Context) -> Evaluation:
        """Makes what reasons; `RejectedError` where the settings have no meaning for it."""

    def spread(self, context: Context, partitions: int) -> SparkWork:
        """Makes what reasons on Spark; `RejectedError` where it cannot."""

    def explain(self, partitions: int | None = None, published: bool = False) -> "PlanDocument":
        """How it is evaluated, on Spark where there are partitions; `published`, with the communities of the paper."""
