"""Checks of an ontology: rules whose conclusions are clashes, each with a smallest set of facts behind it."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from thalweg.parts.part import Context, Evaluation, SparkWork
from thalweg.parts.rule_part import Rules

if TYPE_CHECKING:
    from thalweg.explain.document import PlanDocument
    from thalweg.languages.owl.checking import Checked
    from thalweg.runtimes.answer_columns import AnswerColumns
    from thalweg.runtimes.rule_engine import RuleEngine


@dataclass(frozen=True)
class Checks(Rules):
    """Rules that find clashes; `checked` is what they were made from, where they were not loaded before."""

    checked: "Checked | None" = None

    def answer_columns(self, emit: str) -> "AnswerColumns":
        from thalweg.runtimes.answer_columns import ClashColumns

        return ClashColumns(emit)

    def start(self, context: Context) -> Evaluation:
        from thalweg.runtimes.consistency.clashes import Explaining, as_clashes

        evaluation = super().start(context)
        explaining = Explaining(cast("RuleEngine", evaluation.reasoner), context.settings.emit)
        return replace(evaluation, advance=explaining.advance, present=as_clashes, state=explaining)

    def spread(self, context: Context, partitions: int) -> SparkWork:
        from thalweg.runtimes.consistency.clashes import as_clashes

        return replace(super().spread(context, partitions), present=as_clashes)

    def explain(self, partitions: int | None = None, published: bool = False) -> "PlanDocument":
        from thalweg.explain.plan import explain
        from thalweg.explain.rule_analysis import analyse_rules
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
