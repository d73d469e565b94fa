"""Checks of an ontology: rules whose conclusions are clashes, each with a smallest set of facts behind it."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from thalweg.parts.part import Context, Evaluation, Explained, SparkWork
from thalweg.parts.rule_part import Rules, schema_watch
from thalweg.planning.topology import Taxonomy

if TYPE_CHECKING:
    from thalweg.languages.owl.checking import Checked


@dataclass(frozen=True)
class Checks(Rules):
    """Rules that find clashes; `checked` is what they were made from, where they were not loaded before."""

    checked: "Checked | None" = None

    def start(self, context: Context) -> Evaluation:
        from thalweg.engine import Engine
        from thalweg.runtimes.consistency.clashes import ClashReasoner, as_clashes

        engine = Engine(self.rules, first=context.settings.first, memory=context.settings.memory)
        reasoner = ClashReasoner(engine, context.settings.emit)
        return Evaluation(reasoner, present=as_clashes, look=schema_watch(self.rules, context.report))

    def spread(self, context: Context, partitions: int) -> SparkWork:
        from thalweg.runtimes.consistency.clashes import as_clashes

        return replace(super().spread(context, partitions), present=as_clashes)

    def explain(self, partitions: int | None = None, published: bool = False) -> Explained:
        from thalweg.explain.plan import explain
        from thalweg.explain.topology import explain_topology
        from thalweg.planning.route_justifications import keep_reasons

        if self.checked is None or self.checked.chosen is None:
            return explain(self.rules, partitions)
        plan = None if partitions is None else explain(keep_reasons(self.rules), partitions)
        closed, chosen = self.checked.closed, self.checked.chosen
        known = Taxonomy(*closed.taxonomy())
        known = known if chosen.topology is None else known.in_pairs()
        costs = self.checked.costs
        return explain_topology(known, closed.closure(), chosen, plan, costs, closed.counts_conjunctions)
