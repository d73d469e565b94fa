"""Names for what a plan made up, in the words of the program.

    'a0v/2 value            becomes     count{C : passes(C,R) in [30]} by R
    'n3'1/1 derived         becomes     q(X,_) in [3]

The names on the left cannot be typed, so nothing that a user wrote is ever mistaken for one of them.
"""

from thalweg.ir.nodes import Literal, Not, Now, Rule
from thalweg.ir.text import show
from thalweg.model.predicate import Predicate
from thalweg.model.time import FOREVER
from thalweg.planning.rule_plan import Grouping, Relation, RulePlan
from thalweg.planning.stratify import by_stratum


class PlanWording:
    """The words for the relations and formulas of one plan."""

    def __init__(self, plan: RulePlan) -> None:
        self.strata = by_stratum(plan.program)
        derived = plan.program.derived
        self._rules: dict[Predicate, Rule] = {}
        self._invented: dict[int, Rule] = {}
        for rule in plan.rules:
            if rule.origin is not None and rule.origin.head.signature not in derived:
                self._invented[rule.head.relation.number] = self._rules[rule.origin.head.signature] = rule.origin
        self._values = {grouping.value.name.removesuffix(" value"): grouping for grouping in plan.groupings}
        self._sets = {grouping.elements.name.removesuffix(" derived"): grouping for grouping in plan.groupings}
        self._by_value = {grouping.value.number: grouping for grouping in plan.groupings}
        self._by_elements = {grouping.elements.number: grouping for grouping in plan.groupings}

    def invents(self, relation: Relation) -> bool:
        """Whether no rule of the program, and no stream, knows of it."""
        return relation.number in self._invented or relation.number in self._by_value

    def is_elements(self, relation: Relation) -> bool:
        """Whether it holds what an aggregate looks at."""
        return relation.number in self._by_elements

    def name(self, relation: Relation) -> str:
        """What people call a relation."""
        if relation.number in self._by_value:
            grouping = self._by_value[relation.number]
            return grouping.function + self._elements(grouping) + self._by(grouping)
        if relation.number in self._by_elements:
            grouping = self._by_elements[relation.number]
            return self._elements(grouping) + self._by(grouping)
        if relation.number in self._invented:
            return self._body(self._invented[relation.number])
        return relation.name.replace(f" in [{FOREVER}]", "").replace(f"[{FOREVER}]", "of all ticks")

    def say(self, literal: Literal) -> str:
        """A literal of a planned rule as the program would put it."""
        match literal:
            case Not(formula):
                return f"not {self.say(formula)}"
            case Now(atom) if atom.signature in self._values:
                grouping = self._values[atom.signature]
                return f"{show(atom.args[-1])} = {grouping.function}{self._elements(grouping)}"
            case Now(atom) if atom.signature in self._sets:
                return f"some {self._elements(self._sets[atom.signature])}"
            case Now(atom) if atom.signature in self._rules:
                return self._body(self._rules[atom.signature])
        return show(literal)

    def _body(self, rule: Rule) -> str:
        """The body of a rule that planning made up: of a projection, which has one formula, or for groups."""
        return ", ".join(map(self.say, rule.body))

    def _elements(self, grouping: Grouping) -> str:
        rule = self._invented[grouping.elements.number]
        terms = ", ".join(map(show, rule.head.args[grouping.width :]))
        return f"{{{terms} : {', '.join(map(self.say, rule.body))}}}"

    def _by(self, grouping: Grouping) -> str:
        keys = self._invented[grouping.elements.number].head.args[: grouping.width]
        return f" by {', '.join(map(show, keys))}" if keys else ""
