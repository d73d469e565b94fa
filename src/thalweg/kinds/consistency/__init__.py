"""Checks of an ontology: rules whose conclusions are clashes, each with a smallest set of facts behind it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from thalweg.dataflow.context import Context
from thalweg.diagnostics import Diagnostic
from thalweg.kinds.part import Scout, Watch
from thalweg.kinds.rules.rule_part import Rules
from thalweg.kinds.typed_columns import Inputs, TypedColumns
from thalweg.languages.options import SplitName
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate

if TYPE_CHECKING:
    from thalweg.answers.answer_columns import AnswerColumns
    from thalweg.answers.record import Answer
    from thalweg.explain.document import PlanDocument
    from thalweg.languages.owl.checking import Checked


@dataclass(frozen=True)
class Checks(Rules):
    """Rules that find clashes; `checked` is what they were made from, where they were not loaded before."""

    checked: "Checked | None" = None

    def answer_columns(self, emit: str) -> "AnswerColumns":
        from thalweg.answers.answer_columns import ClashColumns

        return ClashColumns(emit)

    def typed_columns(self, emit: str, of: Predicate | None, inputs: Inputs) -> TypedColumns | None:
        return TypedColumns(self.answer_columns(emit)) if of is None else None

    def watch(self, context: Context, partitions: int | None) -> Watch:
        return ClashWatch(super().watch(context, partitions))

    def explain(
        self, partitions: int | None = None, published: bool = False, split: SplitName = "auto"
    ) -> "PlanDocument":
        from thalweg.explain.rule_analysis import analyse_rules
        from thalweg.explain.rule_plan import explain
        from thalweg.explain.topology import explain_topology
        from thalweg.planning.route_justifications import route_justifications

        if self.checked is None or self.checked.chosen is None:
            return explain(self.rules, partitions)
        analysis = None if partitions is None else analyse_rules(route_justifications(self.rules), partitions)
        closed, chosen = self.checked.closed, self.checked.chosen
        taxonomy = closed.taxonomy()
        taxonomy = taxonomy if chosen.topology is None else taxonomy.in_pairs()
        costs = self.checked.costs
        return explain_topology(taxonomy, closed.closure(), chosen, analysis, costs, closed.counts_conjunctions)


class ClashWatch(Watch):
    """Sees what comes to rules, and gives answers the form of clashes."""

    def __init__(self, rules: Watch) -> None:
        self._rules = rules

    def look(self, words: Dictionary) -> Callable[[Batch], object] | None:
        return self._rules.look(words)

    def scout(self) -> Scout | None:
        return self._rules.scout()

    def hear(self, note: object) -> bool:
        return self._rules.hear(note)

    def presenter(self) -> "Callable[[Answer], Answer] | None":
        return lambda answer: replace(answer, of_clashes=True)

    def summary(self) -> Iterable[Diagnostic]:
        return self._rules.summary()
