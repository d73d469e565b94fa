"""How consistency is checked, for people to read: what is disjoint, and which bolt looks at what.

bolt 1   1 conjunction, 2 inferences
         Faculty – Admin
         Faculty → Employee, Admin → Employee
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from textwrap import wrap
from typing import Final

from thalweg.diagnostics import Diagnostic
from thalweg.explain.drawing import Box, Drawing
from thalweg.explain.plan import Explanation
from thalweg.explain.plan_text import TIGHT, WIDTH, briefly
from thalweg.explain.stages import ExplainedStage, width
from thalweg.model.prefixes import NO_PREFIXES, Prefixes
from thalweg.planning.choose_topology import AT_MOST, USUAL, Choice, Costs, choices, evenly
from thalweg.planning.topology import Bolt, Pair, Taxonomy, groups

_SHOWN: Final = 12
_DRAWN: Final = 6
_BESIDE: Final = " " * 10


@dataclass(frozen=True)
class ExplainedTopology:
    """A topology and what it was chosen from; `stages` is how it is spread, where it is."""

    known: Taxonomy
    closure: int
    closure_roles: int
    chosen: Choice
    frequencies: Mapping[str, float]
    stages: tuple[ExplainedStage, ...] | None = None
    texts: tuple[str, ...] = ()
    costs: Costs = USUAL
    counts_conjunctions: bool = True
    warnings: tuple[Diagnostic, ...] = ()

    @cached_property
    def bolts(self) -> tuple[Bolt, ...]:
        """Those of the topology; by sides it is one that makes a side of each class, and looks for two once."""
        if self.chosen.topology is not None:
            return self.chosen.topology
        return (Bolt((("a side", "another side"),), tuple((name, "its sides") for name in self.known.classes)),)

    @cached_property
    def considered(self) -> list[Choice]:
        """Every way that `auto` weighs, the cheapest first."""
        bolts = max(AT_MOST, len(self.bolts))
        return sorted(choices(self.known, self.frequencies, self.costs, bolts), key=lambda choice: choice.cost)

    def asserted(self, bolt: Bolt) -> list[Pair]:
        """The pairs of axioms that a bolt looks at; by sides those are all."""
        if self.chosen.topology is None:
            return list(self.known.disjoint)
        checked = {frozenset(pair) for pair in bolt.conjunctions}
        return [pair for pair in self.known.disjoint if frozenset(pair) in checked]

    def as_data(self) -> dict[str, object]:
        """The same for programs to read."""
        return {
            "closure": self.closure,
            "closure_roles": self.closure_roles,
            "topology": self.chosen.method,
            "bolts": [
                {
                    "conjunctions": len(bolt.conjunctions),
                    "inferences": len(bolt.inferences),
                    "forwards": len(bolt.forwards),
                    "disjoint": [list(pair) for pair in self.asserted(bolt)],
                    "becomes": [list(pair) for pair in bolt.inferences] if self.chosen.topology else [],
                }
                for bolt in self.bolts
            ],
            "groups": [[list(pair) for pair in group] for group in groups(self.known)],
            "disjoint_classes": [list(members) for members in self.known.large],
            "conjunctions_counted": self.counts_conjunctions,
            "shuffle": self.costs.shuffle,
            "costs": [
                {"topology": choice.method, "bolts": len(choice.topology or (None,)), "cost": round(choice.cost, 3)}
                for choice in self.considered
            ],
        } | ({} if self.stages is None else {"stages": [stage.as_data(self.texts) for stage in self.stages]})

    def as_text(self, prefixes: Prefixes = NO_PREFIXES) -> str:
        """For people; names without their namespaces, where these are not needed to tell them apart."""
        return prefixes.shorten("\n".join(self._lines()))

    def _lines(self) -> Iterator[str]:
        yield f"closure   {_pairs(self.closure)} of classes, {_pairs(self.closure_roles)} with a role's domain or range"
        if not self.counts_conjunctions:
            yield f"{_BESIDE}without pairs that are apart by way of a conjunction only: too many to count"
        where = "by sides" if self.chosen.topology is None else f"on {_count(len(self.bolts), 'bolt')}"
        yield f"topology  {self.chosen.method} {where}, about {self.chosen.cost:.2f} µs a fact"
        for number, bolt in enumerate(self.bolts, 1):
            yield ""
            yield f"bolt {number:<4} {_operations(bolt)}"
            yield from _several([f"{self.brief(one)} – {self.brief(other)}" for one, other in self.asserted(bolt)])
            yield from (f"{_BESIDE}every two of {len(members):,} classes" for members in self.known.large)
            if self.chosen.topology is not None:
                yield from _several([f"{self.brief(sub)} → {self.brief(sup)}" for sub, sup in bolt.inferences])
        yield ""
        moving = f", {self.costs.shuffle:g} of them to move one from stage to stage" if self.costs.shuffle else ""
        yield f"costs     µs a fact, as expected where all classes are equally frequent{moving}"
        for choice in self.considered:
            yield f"{_BESIDE}{_way(choice):<14} {choice.cost:8.2f}"
        for stage in self.stages or ():
            key = ", ".join(stage.key) if stage.split else "none"
            rules, buckets = _count(len(stage.rules), "rule"), _count(stage.partitions, "bucket")
            yield f"stage {stage.number:<3} {rules} on {buckets}, key {key}"

    @cached_property
    def brief(self) -> "Brief":
        return Brief(self.known.classes)

    def as_svg(self) -> str:
        """Bolts from left to right: what each looks at, and what goes on to the next; then the stages of Spark."""
        bands = ["input", *(f"bolt {number}" for number in range(1, len(self.bolts) + 1)), "on Spark"]
        drawing = Drawing(bands, {"positive": "goes on to"})
        classes = (_count(len(self.known.classes), "class", "classes"),)
        drawing.boxes["0"] = Box("stream", classes, (), "what streams bring", 0)
        for number, bolt in enumerate(self.bolts, 1):
            pairs = [f"{self.brief(one)} – {self.brief(other)}" for one, other in self.asserted(bolt)]
            drawing.boxes[str(number)] = Box("rule", (_operations(bolt),), _cut(pairs), "\n".join(pairs), number)
            drawing.arrow(str(number - 1), str(number))
            if bolt.inferences and self.chosen.topology is not None:
                made = [f"{self.brief(sub)} → {self.brief(sup)}" for sub, sup in bolt.inferences]
                drawing.boxes[f"from {number}"] = Box("derived", ("becomes",), _cut(made), "\n".join(made), number)
                drawing.arrow(str(number), f"from {number}")
                if number < len(self.bolts):
                    drawing.arrow(f"from {number}", str(number + 1))
        for stage in self.stages or ():
            name, rules = f"stage {stage.number}", [self.texts[number - 1] for number, _ in stage.rules]
            more = _count(len(rules), "rule"), width(stage.as_data(self.texts))
            drawing.boxes[name] = Box("memory", (name,), more, "\n".join(_cut(rules)), len(bands) - 1)
        return drawing.svg()


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


def explain_topology(
    known: Taxonomy,
    closure: tuple[int, int],
    chosen: Choice,
    plan: Explanation | None = None,
    costs: Costs = USUAL,
    counts_conjunctions: bool = True,
) -> ExplainedTopology:
    """A topology explained; with the stages of a plan, where it has some.

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
    texts = () if plan is None else tuple(rule.text for rule in plan.rules)
    stages = None if plan is None else plan.stages
    return ExplainedTopology(known, *closure, chosen, evenly(known), stages, texts, costs, counts_conjunctions)


def _operations(bolt: Bolt) -> str:
    forwards = f", {len(bolt.forwards)} forwarded" if bolt.forwards else ""
    return f"{_count(len(bolt.conjunctions), 'conjunction')}, {_count(len(bolt.inferences), 'inference')}{forwards}"


def _way(choice: Choice) -> str:
    return f"ltm, {len(choice.topology)} bolts" if choice.method == "ltm" and choice.topology else choice.method


def _several(texts: list[str]) -> Iterator[str]:
    rest = len(texts) - _SHOWN
    shown = ", ".join(text.replace(" ", TIGHT) for text in texts[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
    lines = wrap(shown, WIDTH, initial_indent=_BESIDE, subsequent_indent=_BESIDE, break_long_words=False)
    yield from (line.replace(TIGHT, " ") for line in lines)


def _cut(texts: list[str]) -> tuple[str, ...]:
    rest = len(texts) - _DRAWN
    return (*texts[:_DRAWN], *([f"and {rest} more"] if rest > 0 else []))


def _pairs(number: int) -> str:
    return _count(number, "pair")


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
