"""A part that stands in a plan beside others: what it must offer so that rules can be wired around it.

A new kind of part is added by implementing `Member`; nothing else of the wiring knows kinds.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, Self

from thalweg.dataflow.context import Context
from thalweg.dataflow.plan import Expansion, Plan
from thalweg.kinds.part import Account, Unwatched, Watch
from thalweg.kinds.typed_columns import Inputs, TypedColumns
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.planning.wire_parts import Ports

if TYPE_CHECKING:
    from thalweg.answers.answer_columns import AnswerColumns
    from thalweg.explain.wired_parts import ExplainedMember
    from thalweg.ir.nodes import Program
    from thalweg.kinds.definitions import Definition


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The parts of a plan that a member is connected with.

    They derive some of what it reads; they read the `wanted` predicates of what it holds, all where that is None; and
    they make the streams that it hears, of held facts where it `hears_held`. It `is_alone` where it reads nothing but
    streams; in a `loop` through the past, others read what its own results rest on.
    """

    derived: tuple[Predicate, ...] = ()
    wanted: frozenset[Predicate] | None = frozenset()
    streams: tuple[str, ...] = ()
    hears_held: bool = False
    is_alone: bool = True
    loop: bool = False


class StandsAlone(Protocol):
    """A part that is more than rules, on its own: a plan of its own operators."""

    def plan(self, context: Context, partitions: int | None) -> Plan:
        """Its operators, with nothing beside them."""
        expansion = self.expand(context, None, partitions)
        return Plan(expansion.operators, expansion.edges)

    def watch(self, context: Context, partitions: int | None) -> Watch:
        """What sees all that comes, and all answers."""
        return Unwatched()

    @property
    def rules_alone(self) -> "Program | None":
        """None: it is more than rules."""
        return None

    def account(self, write: Callable[[str], None]) -> Account:
        """What writes lines about what windows took."""
        from thalweg.kinds.answer_sets.solve_report import SolveReport

        return SolveReport(write)

    def answerable(self, predicate: Predicate) -> frozenset[Predicate] | None:
        """The predicates that its answers may be about, if one is asked for; None where any may be."""
        return None

    def answer_columns(self, emit: str) -> "AnswerColumns":
        """The columns of its own answers as a table."""

    def typed_columns(self, emit: str, of: Predicate | None, inputs: Inputs) -> TypedColumns | None:
        """The columns of its answers on Spark; it has none about a predicate, unless it says so."""
        return TypedColumns(self.answer_columns(emit)) if of is None else None

    def guaranteed(self) -> frozenset[Predicate]:
        """None: its answers are not facts that begin and end."""
        return frozenset()

    def definitions(self, context: Context) -> "tuple[Definition, ...]":
        """The units that it consists of where a program changes; none where it is one itself."""
        return ()

    def aged(self, since: Mapping[str, int]) -> Self:
        """The same where definitions began later than the run, at these ticks by their titles."""
        return self

    def expand(self, context: Context, neighbours: Neighbours | None, partitions: int | None) -> Expansion:
        """The operators that it becomes; `RejectedError` where the settings have no meaning for it.

        It stands alone where it has no `neighbours`, and is not split without partitions.
        """


class Member(StandsAlone, Protocol):
    """A part that is more than rules and may stand beside others."""

    def plan(self, context: Context, partitions: int | None) -> Plan:
        """Its operators, with nothing beside them."""
        plan = super().plan(context, partitions)
        # What it reads and gives is asked in this process only.
        return plan if partitions is not None else replace(plan, ports=(self.ports,) * len(plan.operators))

    @property
    def size(self) -> str:
        """How large it is, in words."""

    @property
    def rules(self) -> "Program":
        """The rules that it stands for; `RejectedError` where it is more than rules."""

    @property
    def ports(self) -> Ports:
        """The predicates and streams that it reads and writes."""

    def readers(self) -> "Program":
        """Rules that read what it reads, to tell whether that ever came."""

    def identity(self, context: Context) -> tuple[str, str]:
        """What a saved state of it must agree with: the program as people read it, and a fingerprint."""

    def fingerprint(self, context: Context, is_alone: bool) -> str:
        """A text that is the same only where it answers the same of what it reads, and the same state fits."""
        return f"{self.identity(context)[1]} {is_alone}"

    @property
    def is_costly(self) -> bool:
        """Whether its work on streams is worth a shuffle, also where it reads other parts."""
        return False

    def looks(self, context: Context, words: Dictionary) -> Iterable[Callable[[Batch], object]]:
        """What sees every batch where it comes in, and reports what is wrong with it."""
        return ()

    def explain_member(self) -> "ExplainedMember":
        """How it is evaluated, as one part of a plan."""
