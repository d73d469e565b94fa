"""Rules, evaluated by the incremental engine."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thalweg.dataflow.context import Context
from thalweg.ir.nodes import Program
from thalweg.kinds.part import Account, Watch
from thalweg.kinds.typed_columns import Inputs, TypedColumns, argument_columns
from thalweg.languages.options import SplitName
from thalweg.model.predicate import Predicate
from thalweg.model.triples import TRIPLES

if TYPE_CHECKING:
    from thalweg.answers.answer_columns import AnswerColumns
    from thalweg.dataflow.plan import Plan
    from thalweg.explain.document import PlanDocument


@dataclass(frozen=True)
class Rules:
    """A program that the engine evaluates."""

    rules: Program

    @property
    def size(self) -> str:
        return f"rules: {len(self.rules.rules)}, facts: {len(self.rules.background)}"

    @property
    def compiles(self) -> bool:
        return True

    def identity(self, context: Context) -> tuple[str, str]:
        from thalweg.ir.fingerprint import fingerprint
        from thalweg.ir.text import show

        return show(self.rules), fingerprint(self.rules)

    def answer_columns(self, emit: str) -> "AnswerColumns":
        """Where one predicate is output, its arguments have the names of the rule's variables."""
        from thalweg.answers.answer_columns import FactColumns
        from thalweg.ir.head_names import head_names

        outputs = self.rules.interface.outputs
        only = next(iter(outputs)) if outputs is not None and len(outputs) == 1 else None
        return FactColumns(emit, None if only is None else head_names(self.rules, only))

    def typed_columns(self, emit: str, of: Predicate | None, inputs: Inputs) -> TypedColumns | None:
        from thalweg.answers.answer_columns import FactColumns
        from thalweg.ir.head_names import head_names

        if of is None:
            return TypedColumns(FactColumns(emit))
        names = head_names(self.rules, of)
        return TypedColumns(FactColumns(emit, names), argument_columns(names, self.rules, of, inputs))

    def plan(self, context: Context, partitions: int | None) -> "Plan":
        """Stages that are split by keys; in this process, one engine."""
        from thalweg.dataflow.plan import Plan
        from thalweg.kinds.rules.rule_operator import RulesSpec, expand_stages
        from thalweg.planning.route_justifications import route_justifications

        if partitions is None:
            return Plan((RulesSpec(self.rules),))
        program = route_justifications(self.rules)
        expansion = expand_stages(program, program.outputs, frozenset())
        return Plan(expansion.operators, expansion.edges, program)

    def watch(self, context: Context, partitions: int | None) -> Watch:
        from thalweg.kinds.rules.rule_watch import RuleWatch

        rules = self.rules if context.progress else None
        if not self.rules.hints.static_schema:
            return RuleWatch(self.rules, rules=rules)
        from thalweg.kinds.rules.schema import SchemaWatch

        # Where rules were made for a schema as it was, triples about it deserve a warning.
        schema = SchemaWatch(context.report, may_stream=self.rules.hints.justification is None)
        return RuleWatch(self.rules, rules=rules, also=lambda words: (schema.look,))

    @property
    def rules_alone(self) -> Program | None:
        return self.rules

    def answerable(self, predicate: Predicate) -> frozenset[Predicate] | None:
        return None if TRIPLES in self.rules.outputs else frozenset(self.rules.outputs)

    def account(self, write: Callable[[str], None]) -> Account:
        from thalweg.kinds.answer_sets.solve_report import SolveReport

        return SolveReport(write)

    def guaranteed(self) -> frozenset[Predicate]:
        from thalweg.planning.revocable import guaranteed

        return guaranteed(self.rules)

    def explain(
        self, partitions: int | None = None, published: bool = False, split: SplitName = "auto"
    ) -> "PlanDocument":
        from thalweg.explain.rule_plan import explain

        return explain(self.rules, partitions)
