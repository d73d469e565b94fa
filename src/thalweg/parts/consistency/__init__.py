"""Checks of an ontology: rules whose conclusions are clashes, each with a smallest set of facts behind it."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from thalweg.parts.part import Context, Evaluation, Explained, SparkWork
from thalweg.parts.rule_part import Rules

if TYPE_CHECKING:
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

    def explain(self, partitions: int | None = None, published: bool = False) -> Explained:
        from thalweg.explain.plan import explain
        from thalweg.explain.topology import explain_topology
        from thalweg.planning.route_justifications import route_justifications

        if self.checked is None or self.checked.chosen is None:
            return explain(self.rules, partitions)
        plan = None if partitions is None else explain(route_justifications(self.rules), partitions)
        closed, chosen = self.checked.closed, self.checked.chosen
        known = closed.taxonomy()
        known = known if chosen.topology is None else known.in_pairs()
        costs = self.checked.costs
        return explain_topology(known, closed.closure(), chosen, plan, costs, closed.counts_conjunctions)
