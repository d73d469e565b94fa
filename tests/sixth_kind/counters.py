"""Tallies as a part of a plan: an operator for each of them."""

from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import PurePath
from typing import TYPE_CHECKING

from sixth_kind.counting import TallySpec
from sixth_kind.tallies import Tally
from thalweg.dataflow.context import Context
from thalweg.dataflow.plan import Expansion
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.ir.nodes import Atom, Now, Program, Rule, Variable
from thalweg.kinds.choose_outputs import Shown
from thalweg.kinds.member import Member, Neighbours
from thalweg.languages.options import SplitName
from thalweg.model.predicate import Predicate
from thalweg.planning.wire_parts import Ports

if TYPE_CHECKING:
    from thalweg.answers.answer_columns import AnswerColumns
    from thalweg.explain.document import PlanDocument
    from thalweg.explain.wired_parts import ExplainedMember


@dataclass(frozen=True)
class Counters(Member):
    """The tallies of a file; those that are not `shown` are counted for others only."""

    file: str
    tallies: tuple[Tally, ...]
    shown: frozenset[Predicate] | None = None

    @property
    def size(self) -> str:
        return f"tallies: {len(self.tallies)}"

    @property
    def rules(self) -> Program:
        raise RejectedError([Diagnostic("E402", f"`{self.file}` has tallies and cannot be loaded as rules")])

    @property
    def compiles(self) -> bool:
        return False

    def identity(self, context: Context) -> tuple[str, str]:
        text = "\n".join(tally.text for tally in self.tallies)
        return text, sha256(repr((text, sorted(self.shown or ()))).encode()).hexdigest()

    def answer_columns(self, emit: str) -> "AnswerColumns":
        from thalweg.answers.answer_columns import FactColumns

        return FactColumns(emit)

    def showing(self, shown: Shown) -> "Counters":
        """The same with answers of what is shown only."""
        return replace(self, shown=shown.predicates)

    def expand(self, context: Context, neighbours: Neighbours | None, partitions: int | None) -> Expansion:
        """An operator for each tally, split by its key where there are partitions."""
        if context.settings.memory is not None:
            raise RejectedError([Diagnostic("E403", "`memory` cannot be used with tallies: leave it out")])
        return Expansion(tuple(self._spec(tally, partitions is not None) for tally in self.tallies))

    def _spec(self, tally: Tally, split: bool) -> TallySpec:
        return TallySpec(tally, split, self.shown is None or tally.signature in self.shown)

    @property
    def ports(self) -> Ports:
        read = frozenset(step.signature for tally in self.tallies for step in tally.steps)
        counted = frozenset(tally.signature for tally in self.tallies)
        stem = PurePath(self.file).stem
        return Ports("the tally", stem, read.__contains__, counted.__contains__, mentions=read | counted)

    def readers(self) -> Program:
        return Program(tuple(_reader(step.signature) for tally in self.tallies for step in tally.steps))

    def explain_member(self) -> "ExplainedMember":
        from sixth_kind.explained import explain_member

        return explain_member(self.tallies, self.ports.name, self.explain())

    def explain(
        self, partitions: int | None = None, published: bool = False, split: SplitName = "auto"
    ) -> "PlanDocument":
        from sixth_kind.explained import explain

        stages = [self._spec(tally, True).placement(partitions) for tally in self.tallies] if partitions else None
        return explain(self.tallies, None if stages is None else tuple(stage for stage in stages if stage))


def _reader(signature: Predicate) -> Rule:
    args = tuple(Variable(f"X{number}") for number in range(signature.arity))
    return Rule(Atom("'tally"), (Now(Atom(signature.name, args)),))
