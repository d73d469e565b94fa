"""How consistency is checked, as a document: what is disjoint, and which bolt looks at what.

bolt 1   1 conjunction, 2 inferences
         Faculty – Admin
         Faculty → Employee, Admin → Employee
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from thalweg.explain.diagram import Band, Diagram, DiagramBuilder
from thalweg.explain.document import TIGHT, Breaks, Paragraph, PlanDocument, Section, lines
from thalweg.explain.plan_stage import PlanStage
from thalweg.explain.rule_analysis import RuleAnalysis
from thalweg.explain.short_names import briefly
from thalweg.explain.stages import plan_stages
from thalweg.planning.choose_topology import AT_MOST, USUAL, Choice, Costs, choices, evenly
from thalweg.planning.topology import Bolt, Pair, Taxonomy, groups

_SHOWN: Final = 12
_DRAWN: Final = 6
_BESIDE: Final = " " * 10


def explain_topology(
    taxonomy: Taxonomy,
    closure: tuple[int, int],
    chosen: Choice,
    analysis: RuleAnalysis | None = None,
    costs: Costs = USUAL,
    counts_conjunctions: bool = True,
) -> PlanDocument:
    """How consistency is checked by a topology; with the stages of rules that were analysed, where these have some.

    >>> from thalweg.planning.choose_topology import lay_out
    >>> from thalweg.planning.topology import taxonomy
    >>> staff = taxonomy([("Student", "Person")], [("Person", "Work"), ("Student", "Employee")])
    >>> print(explain_topology(staff, (3, 0), lay_out(staff, "ltm", 2)).as_text().partition("costs")[0].rstrip())
    closure   3 pairs of classes, 0 pairs with a role's domain or range
    topology  ltm on 2 bolts, about ... µs a fact
    <BLANKLINE>
    bolt 1    1 conjunction, 1 inference, 2 forwarded
              Student – Employee
              Student → Person
    <BLANKLINE>
    bolt 2    1 conjunction, 0 inferences
              Person – Work
    """
    topology = _Topology(taxonomy, *closure, chosen, evenly(taxonomy), costs, counts_conjunctions)
    texts = () if analysis is None else tuple(rule.text for rule in analysis.rules)
    stages = None if analysis is None or analysis.stages is None else plan_stages(analysis.stages, texts)
    return PlanDocument(
        sections=tuple(topology.sections(stages or ())),
        data=topology.data(),
        diagram=topology.diagram(stages or ()),
        stages=stages,
    )


@dataclass(frozen=True)
class _Topology:
    """A topology and what it was chosen from."""

    taxonomy: Taxonomy
    closure: int
    closure_roles: int
    chosen: Choice
    frequencies: Mapping[str, float]
    costs: Costs
    counts_conjunctions: bool

    @cached_property
    def bolts(self) -> tuple[Bolt, ...]:
        """Those of the topology; by sides it is one that makes a side of each class, and looks for two once."""
        if self.chosen.topology is not None:
            return self.chosen.topology
        return (Bolt((("a side", "another side"),), tuple((name, "its sides") for name in self.taxonomy.classes)),)

    @cached_property
    def considered(self) -> list[Choice]:
        """Every way that `auto` weighs, the cheapest first."""
        bolts = max(AT_MOST, len(self.bolts))
        return sorted(choices(self.taxonomy, self.frequencies, self.costs, bolts), key=lambda choice: choice.cost)

    @cached_property
    def brief(self) -> "Brief":
        return Brief(self.taxonomy.classes)

    def asserted(self, bolt: Bolt) -> list[Pair]:
        """The pairs of axioms that a bolt looks at; by sides those are all."""
        if self.chosen.topology is None:
            return list(self.taxonomy.disjoint)
        checked = {frozenset(pair) for pair in bolt.conjunctions}
        return [pair for pair in self.taxonomy.disjoint if frozenset(pair) in checked]

    def disjoint(self, bolt: Bolt) -> list[str]:
        """The pairs that a bolt looks at, in short names."""
        return [f"{self.brief(left)} – {self.brief(right)}" for left, right in self.asserted(bolt)]

    def inferred(self, bolt: Bolt) -> list[str]:
        """The inferences of a bolt, in short names."""
        return [f"{self.brief(sub)} → {self.brief(sup)}" for sub, sup in bolt.inferences]

    def data(self) -> dict[str, object]:
        return {
            "closure": self.closure,
            "closure_roles": self.closure_roles,
            "topology": self.chosen.method,
            "bolts": [
                {
                    "conjunctions": len(bolt.conjunctions),
                    "inferences": len(bolt.inferences),
                    "forwards": len(bolt.forwards),
                    "disjoint": self.asserted(bolt),
                    "becomes": bolt.inferences if self.chosen.topology else [],
                }
                for bolt in self.bolts
            ],
            "groups": groups(self.taxonomy),
            "disjoint_classes": self.taxonomy.large,
            "conjunctions_counted": self.counts_conjunctions,
            "shuffle": self.costs.shuffle,
            "costs": [
                {"topology": choice.method, "bolts": len(choice.topology or (None,)), "cost": round(choice.cost, 3)}
                for choice in self.considered
            ],
        }

    def sections(self, stages: tuple[PlanStage, ...]) -> Iterator[Section]:
        """Names are without their namespaces, where these are not needed to tell them apart."""
        yield Section("", lines(*self._summary()))
        for number, bolt in enumerate(self.bolts, 1):
            yield Section("", tuple(self._bolt(number, bolt)))
        yield Section("", lines(*self._costs(), *_stage_lines(stages)))

    def _summary(self) -> Iterator[str]:
        yield f"closure   {_pairs(self.closure)} of classes, {_pairs(self.closure_roles)} with a role's domain or range"
        if not self.counts_conjunctions:
            yield f"{_BESIDE}without pairs that are apart by way of a conjunction only: too many to count"
        where = "by sides" if self.chosen.topology is None else f"on {_count(len(self.bolts), 'bolt')}"
        yield f"topology  {self.chosen.method} {where}, about {self.chosen.cost:.2f} µs a fact"

    def _bolt(self, number: int, bolt: Bolt) -> Iterator[Paragraph]:
        yield Paragraph(f"bolt {number:<4} {_operations(bolt)}")
        yield from _several(self.disjoint(bolt))
        yield from lines(*(f"{_BESIDE}every two of {len(members):,} classes" for members in self.taxonomy.large))
        if self.chosen.topology is not None:
            yield from _several(self.inferred(bolt))

    def _costs(self) -> Iterator[str]:
        moving = f", {self.costs.shuffle:g} of them to move one from stage to stage" if self.costs.shuffle else ""
        yield f"costs     µs a fact, as expected where all classes are equally frequent{moving}"
        for choice in self.considered:
            yield f"{_BESIDE}{_way(choice):<14} {choice.cost:8.2f}"

    def diagram(self, stages: tuple[PlanStage, ...]) -> Diagram:
        """Bolts from left to right: what each looks at, and what goes on to the next; then the stages of Spark."""
        titles = ["input", *(f"bolt {number}" for number in range(1, len(self.bolts) + 1)), "on Spark"]
        builder = DiagramBuilder(list(map(Band, titles)), {"positive": "goes on to"})
        classes = _count(len(self.taxonomy.classes), "class", "classes")
        builder.listing("0", "stream", classes, (), "what streams bring", 0)
        for number, bolt in enumerate(self.bolts, 1):
            pairs = self.disjoint(bolt)
            node = builder.listing(str(number), "rule", _operations(bolt), _cut(pairs), "\n".join(pairs), number)
            builder.edge(str(number - 1), node)
            if bolt.inferences and self.chosen.topology is not None:
                pairs = self.inferred(bolt)
                result = f"from {number}"
                builder.listing(result, "derived", "becomes", _cut(pairs), "\n".join(pairs), number)
                builder.edge(node, result)
                if number < len(self.bolts):
                    builder.edge(result, str(number + 1))
        for number, stage in enumerate(stages):
            rules = list(stage.statements)
            notes, name = (_count(len(rules), "rule"), stage.extent), f"stage {number}"
            builder.listing(name, "memory", name, notes, "\n".join(_cut(rules)), len(titles) - 1)
        return builder.diagram()


def _stage_lines(stages: tuple[PlanStage, ...]) -> Iterator[str]:
    """What runs where on Spark."""
    for number, stage in enumerate(stages):
        key = "none" if stage.key is None else ", ".join(stage.key)
        rules, buckets = _count(len(stage.statements), "rule"), _count(stage.partitions, "bucket")
        yield f"stage {number:<3} {rules} on {buckets}, key {key}"


class Brief:
    """Shortens names, except where two would become one; what has a value by a role is written as in DL-Lite.

    >>> Brief(("<http://ex.org/wrote>",))("some_inverse'<http://ex.org/wrote>")
    '∃wrote⁻'
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self._shorten = briefly(names)

    def __call__(self, name: str) -> str:
        before, _, role = name.partition("'")
        if before not in ("some", "some_inverse"):
            return self._shorten(name).removeprefix(":")
        return f"∃{self._shorten(role).removeprefix(':')}{'⁻' if before == 'some_inverse' else ''}"


def _operations(bolt: Bolt) -> str:
    forwards = f", {len(bolt.forwards)} forwarded" if bolt.forwards else ""
    return f"{_count(len(bolt.conjunctions), 'conjunction')}, {_count(len(bolt.inferences), 'inference')}{forwards}"


def _way(choice: Choice) -> str:
    return f"ltm, {len(choice.topology)} bolts" if choice.method == "ltm" and choice.topology else choice.method


def _several(texts: list[str]) -> Iterator[Paragraph]:
    """The first of some texts, and how many more there are; nothing where there are none."""
    if texts:
        more = len(texts) - _SHOWN
        shown = ", ".join(text.replace(" ", TIGHT) for text in texts[:_SHOWN])
        yield Paragraph(shown + (f" and {more} more" if more > 0 else ""), _BESIDE, _BESIDE, Breaks.HYPHENS)


def _cut(texts: list[str]) -> tuple[str, ...]:
    more = len(texts) - _DRAWN
    return (*texts[:_DRAWN], *([f"and {more} more"] if more > 0 else []))


def _pairs(number: int) -> str:
    return _count(number, "pair")


def _count(number: int, singular: str, plural: str = "") -> str:
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"
