"""A part: what languages compiled, ready to become a plan of operators.

A part is a value. It makes a plan when a run starts, and what watches the run from outside: nothing beyond this package
asks which kind of part it has.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from thalweg.dataflow.context import Context
from thalweg.dataflow.plan import Plan
from thalweg.diagnostics import Diagnostic
from thalweg.ir.nodes import Program
from thalweg.kinds.typed_columns import Inputs, TypedColumns
from thalweg.languages.options import SplitName
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate

if TYPE_CHECKING:
    # The engine's compiler takes a moment to import, and `check` can do without it.
    from thalweg.answers.answer_columns import AnswerColumns
    from thalweg.answers.record import Answer
    from thalweg.explain.document import PlanDocument


class Lookout(Protocol):
    """Looks at facts for a watch that is in another process."""

    def look(self, batch: Batch) -> None:
        """Looks at a batch."""

    def note(self) -> object:
        """What it has seen, as a record, which the watch is to `hear`."""


class Scout(Protocol):
    """What is sent to where facts are read, to look at them for a watch."""

    def open(self, words: Dictionary) -> Lookout:
        """Begins to look at batches whose terms have these words."""


class Watch(Protocol):
    """Sees what comes to a run and what it answers, and says at the end what deserves a warning."""

    def look(self, words: Dictionary) -> Callable[[Batch], object] | None:
        """A function that looks at batches whose terms have these words; None where none is needed."""
        return None

    def presenter(self) -> "Callable[[Answer], Answer] | None":
        """A function that brings answers into their final form; None where they have it."""
        return None

    def scout(self) -> "Scout | None":
        """What looks at facts where they are read elsewhere; from then on `look` is shown one of each predicate."""
        return None

    def hear(self, note: object) -> bool:
        """Takes what an operator or a scout elsewhere notes, and says whether it was meant for this watch."""
        return False

    def summary(self) -> Iterable[Diagnostic]:
        """The warnings at the end of a run that has seen all that came."""
        return ()


class Unwatched(Watch):
    """Sees nothing: operators report what is wrong with what comes to them."""


@runtime_checkable
class Examined(Protocol):
    """A part that may be wrong in a way that it takes reasoning to find."""

    def contradictions(self) -> list[Diagnostic]:
        """An error if the background contradicts the program; warnings, as that this is undecided."""


class Account(Protocol):
    """Writes lines about what windows or events took."""

    def take(self, solution: Any, answered: Any) -> None:
        """What one window took, or some events."""

    def finish(self) -> None:
        """Writes what all took."""


class Part(Protocol):
    """A unit of evaluation: one program of any kind, or a plan of several."""

    @property
    def rules_alone(self) -> Program | None:
        """Its rules, where it has nothing else."""
        return None

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

    def typed_columns(self, emit: str, of: Predicate | None, inputs: Inputs) -> TypedColumns | None:
        """The columns of its answers on Spark, where types are known first; `inputs` are the types of what comes.

        With `of`, those of answers about one predicate, an argument a column; None where it has no such answers.
        """

    def plan(self, context: Context, partitions: int | None) -> Plan:
        """The operators that it becomes, split over partitions where there are some.

        `RejectedError` where the settings have no meaning for it.
        """

    def watch(self, context: Context, partitions: int | None) -> Watch:
        """What sees all that comes, and all answers."""

    def account(self, write: Callable[[str], None]) -> "Account":
        """What writes lines about what windows or events took."""

    def answerable(self, predicate: Predicate) -> frozenset[Predicate] | None:
        """The predicates that its answers may be about, if one is asked for; None where any may be."""

    def guaranteed(self) -> frozenset[Predicate]:
        """The predicates whose facts nothing can take back before the tick until which they are guaranteed."""

    def explain(
        self, partitions: int | None = None, published: bool = False, split: SplitName = "auto"
    ) -> "PlanDocument":
        """How it is evaluated, on Spark where there are partitions; `published`, with the communities of the paper."""
