"""A premise that holds, and one that does not, in words: which rows come closest to what is missing.

no `speed(a,_) in [10]`: `speed(a,12)` came at 1, 4 ticks too early for [10]
`30 < 20` is false
`light(a) in [5]` holds until 7
the count is 2, not 3
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from thalweg.engine.proof import Binding, Proof, Prover, Words, extended, formulas_of, last_tick, names_in
from thalweg.engine.search import Row
from thalweg.ir.nodes import (
    Always,
    Call,
    Comparison,
    Constant,
    Formula,
    InWindow,
    Now,
    Operation,
    TimeWindow,
    Variable,
    variables,
)
from thalweg.ir.rewrite import fill_in, substitute
from thalweg.ir.text import show
from thalweg.model.fact import Fact
from thalweg.model.number import NO_VALUE, mantissa, scale
from thalweg.model.predicate import Predicate
from thalweg.model.similar import nearest
from thalweg.model.time import FOREVER
from thalweg.model.triples import TRIPLES
from thalweg.planning.rule_plan import Feed, Grouping, PlanRule, Relation, RelationAtom

if TYPE_CHECKING:
    from thalweg.engine.engine import PlanEngine

_NEARBY: Final = 1_000
"""Rows among which the one is chosen that comes closest to what is missing."""


class AbsenceWording:
    """Describes premises of rules that held or failed, as they are in an engine between two ticks.

    `came` are the predicates that streams have brought so far, where that is known.
    """

    def __init__(self, engine: "PlanEngine", prover: Prover, came: Collection[Predicate] | None) -> None:
        assert engine.now is not None
        self.plan, self.came, self.now = engine.plan, came, engine.now
        self.spell = engine.dictionary.spell
        self.prover, self.search = prover, prover.search
        self.groupings = {grouping.value.number: grouping for grouping in self.plan.groupings}
        self.imported = {relation.number for relation in self.plan.imports.values()}
        self.feeds = {feed.relation.number: feed for feeds in self.plan.feeds.values() for feed in feeds}

    def premise(self, formula: Formula, atom: RelationAtom, row: Row | None, binding: Binding) -> Proof:
        """A premise that held."""
        if row is None and (shadow := self.shadow(atom)) is not None:
            empty = self.without_elements(atom)
            if empty is not None:
                return Proof(f"{empty.function} = 0 of 0", None, "aggregate")
            formula = formulas_of(shadow)[id(shadow.positive[0])]
        claim = self.text(formula, binding)
        if row is None:
            return Proof(f"not {claim}", self.now, "absent")
        grouping = self.groupings.get(atom.relation.number)
        if grouping is not None:
            elements = self.elements(grouping, row.words[: grouping.width])
            value = f"{grouping.function} = {self.spell(row.words[-1])} of {len(elements)}"
            return Proof(value, last_tick(min(element.horizon for element in elements)), "aggregate")
        goal, proof = (atom.relation.number, row.words), None
        if self.is_given(atom.relation):
            proof = self.prover.given(goal, claim, row.horizon)
        elif row.horizon >= FOREVER and self.plan.retractable[atom.relation.number]:
            # Until when it is guaranteed does not stand in the row: it rests on what is taken back when it ends.
            proof = self.prover.prove(goal, claim)
        return proof or Proof(claim, last_tick(row.horizon), "rule")

    def explained(self, rule: PlanRule, step: RelationAtom | Comparison | None, binding: Binding) -> tuple[str, str]:
        """The premise that failed, and the reason; without a failed step, the rule concludes another fact."""
        formulas = formulas_of(rule)
        match step:
            case None:
                assert rule.origin is not None
                terms = tuple(map(self.spell, self.prover.words(rule.head.args, binding)))
                fact = Fact(rule.origin.head.predicate, terms[: len(rule.origin.head.args)])
                return show(rule.origin.head), f"the rule concludes `{fact}`"
            case Comparison() as test:
                return self.compared(test, rule.binds.get(id(test)), binding)
            case atom if any(atom is negated for negated in rule.negative):
                return self.present(formulas[id(atom)], atom, binding)
            case atom if atom.relation.number in self.groupings:
                return self.valued(self.groupings[atom.relation.number], atom, binding)
            case atom:
                text = self.text(formulas[id(atom)], binding)
                hint = self.hint(formulas[id(atom)], atom, binding)
                return text, f"no `{text}`" + (f": {hint}" if hint else "")

    def compared(self, test: Comparison, bound: str | None, binding: Binding) -> tuple[str, str]:
        """A comparison that is false, with its values."""
        terms = self.prover.terms(binding)
        left, right = (fill_in(side, terms) for side in (test.left, test.right))
        text = show(replace(test, left=left, right=right))
        sides = [side for side in (test.left, test.right) if side != Variable(bound or "")]
        for side in sides:
            if self.prover.value(side, binding) == NO_VALUE:
                return text, f"`{show(fill_in(side, terms))}` has no value"
        if not any(isinstance(side, Operation | Call) for side in sides) or test.operator == "is":
            return text, f"`{text}` is false"
        left, right = (Constant(self.spell(self.prover.value(side, binding))) for side in (test.left, test.right))
        return text, f"`{text}` is false: `{show(replace(test, left=left, right=right))}`"

    def present(self, formula: Formula, atom: RelationAtom, binding: Binding) -> tuple[str, str]:
        """A negated premise that holds."""
        row = self.search.find(atom.relation.number, self.prover.words(atom.args, binding))
        shadow = self.shadow(atom)
        if shadow is not None:
            # `not p(X,_)` looks at a relation without the columns of `_`; the fact behind it is shown.
            start = self.prover.start(shadow, self.prover.words(atom.args, binding)) or {}
            source = shadow.positive[0]
            rows = extended(source, start, self.nearby(source.relation, *self.prover.known(source, start)))
            behind = max(rows, key=lambda candidate: candidate[1].horizon, default=None)
            if behind is not None:
                formula = formulas_of(shadow)[id(source)]
                return (
                    f"not {self.text(formula, start)}",
                    f"`{self.text(formula, behind[0])}` {_holds(behind[1].horizon)}",
                )
        text = self.text(formula, binding)
        return f"not {text}", f"`{text}` {_holds(FOREVER if row is None else row.horizon)}"

    def valued(self, grouping: Grouping, atom: RelationAtom, binding: Binding) -> tuple[str, str]:
        """An aggregate that has no value, or another one."""
        result, function = atom.args[-1], grouping.function
        wanted = self.spell(self.prover.value(result, binding)) if names_in(result) <= binding.keys() else "_"
        values = self.values(grouping, atom, binding)
        if not values:
            return f"{function} = {wanted}", f"there is nothing to take the {function} of"
        nearest = min(values, key=lambda row: distance(row.words[-1], self.prover.value(result, binding)))
        return f"{function} = {wanted}", f"the {function} is {self.spell(nearest.words[-1])}, not {wanted}"

    # What is missing ------------------------------------------------------------------------------------------------

    def hint(self, formula: Formula, atom: RelationAtom, binding: Binding) -> str:
        """What comes closest to a formula that no row makes true; nothing where there is nothing to say."""
        signature = formula.atom.signature
        columns, key = self.prover.known(atom, binding)
        closest = (
            self.interrupted(formula, key)
            if isinstance(formula, Always)
            else self.too_early(formula, columns, key) or self.nearest(formula, atom, columns, key)
        )
        if closest:
            return closest
        if atom.relation.number in self.imported:
            return f"another part derives `{signature}`"
        if signature not in self.plan.source.derived and not self.any_row(signature):
            return self.never(signature)
        return ""

    def interrupted(self, formula: Always, key: Words) -> str:
        """Since when a fact has come at every tick, where that is too short for the window."""
        feeds = self.plan.feeds.get((formula.atom.signature, formula.stream), ())
        run = next((feed for feed in feeds if feed.kind == "run"), None)
        if run is None or len(key) != run.relation.arity:
            return ""
        fact = self.fact(formula, key)
        row = self.search.find(run.relation.number, key)
        # A run lasts until the tick at which it would have to go on.
        if row is None or row.horizon <= self.now:
            return f"`{fact}` did not come at {self.now}"
        return f"`{fact}` has come at every tick only since {self.search.word(row, len(key))}"

    def too_early(self, formula: Formula, columns: Words, key: Words) -> str:
        """A fact that the window has passed and that another window still holds."""
        window = (
            formula.window if isinstance(formula, InWindow) else TimeWindow(0) if isinstance(formula, Now) else None
        )
        if not isinstance(window, TimeWindow) or window.step is not None:
            return ""
        rows = [
            (_tick(feed, row), row)
            for feed in self.plan.feeds.get((formula.atom.signature, formula.stream), ())
            if feed.kind in ("seen", "timed")
            for _, row in extended(formula.atom, {}, self.nearby(feed.relation, columns, key))
        ]
        if not rows:
            return ""
        tick, row = max(rows)
        came = f"`{self.fact(formula, row.words)}` came at {tick}"
        early = self.now - window.size - tick
        ticks = "1 tick" if early == 1 else f"{early} ticks"
        return came if window.size == 0 else f"{came}, {ticks} too early for {show(window)}"

    def nearest(self, formula: Formula, atom: RelationAtom, columns: Words, key: Words) -> str:
        """A row that differs in one of the arguments that are known."""
        # The first arguments say what a fact is about, so one that differs further behind is closer.
        for place in reversed(range(len(columns))):
            other_columns, other_key = columns[:place] + columns[place + 1 :], key[:place] + key[place + 1 :]
            rows = self.nearby(atom.relation, other_columns, other_key)
            if rows:
                column, wanted = columns[place], key[place]
                row = min(rows, key=lambda candidate: (distance(candidate.words[column], wanted), -candidate.horizon))
                return self.seen(formula, atom, row)
        return ""

    def seen(self, formula: Formula, atom: RelationAtom, row: Row) -> str:
        """A row and when it came, or until when it holds."""
        feed = self.feeds.get(atom.relation.number)
        shown = f"`{self.fact(formula, row.words)}`"
        if feed is not None and feed.kind in ("seen", "timed") and row.horizon < FOREVER:
            return f"{shown} came at {_tick(feed, row)}"
        return f"{shown} {_holds(row.horizon)}"

    def never(self, signature: Predicate) -> str:
        """The reason where an input has no facts at all."""
        if self.came is None or signature == TRIPLES or signature in self.came:
            return f"no fact of `{signature}` is in a window"
        other = similar(signature, self.came)
        return f"`{signature}` never came" + (f"; `{other}` did" if other else "")

    def any_row(self, signature: Predicate) -> bool:
        """Whether some memory of a predicate holds a row."""
        background = [relation for relation, name in self.plan.background if name == signature]
        fed = [feed.relation for (name, _), feeds in self.plan.feeds.items() if name == signature for feed in feeds]
        counted = [feed.relations[signature] for feed in self.plan.tuples if signature in feed.relations]
        return any(self.search.matching(relation.number, (), (), 1) for relation in (*background, *fed, *counted))

    # Rows -----------------------------------------------------------------------------------------------------------

    def nearby(self, relation: Relation, columns: Words, key: Words) -> list[Row]:
        return self.search.matching(relation.number, columns, key, _NEARBY)

    def values(self, grouping: Grouping, atom: RelationAtom, binding: Binding) -> list[Row]:
        """The values of an aggregate for the groups that are known."""
        columns, key = self.prover.known(RelationAtom(atom.relation, atom.args[: grouping.width]), binding)
        return self.nearby(grouping.value, columns, key)

    def elements(self, grouping: Grouping, key: Words) -> list[Row]:
        return self.search.matching(grouping.elements.number, tuple(range(grouping.width)), key)

    def without_elements(self, atom: RelationAtom) -> Grouping | None:
        """The aggregate that has no elements where a negated atom of planning is absent."""
        shadow = self.shadow(atom)
        groupings = [
            grouping for grouping in self.plan.groupings if shadow and grouping.elements == shadow.positive[0].relation
        ]
        return groupings[0] if groupings else None

    def shadow(self, atom: RelationAtom) -> PlanRule | None:
        """The rule that planning made for a negated atom with `_`."""
        if not atom.relation.name.startswith("'n"):
            return None
        return next((rule for rule in self.plan.rules if rule.head.relation == atom.relation), None)

    def is_given(self, relation: Relation) -> bool:
        """Whether rows are fed, and not derived."""
        number = relation.number
        return (
            number in self.feeds
            or any(feed.target == relation for feed in self.feeds.values())
            or any(relation in feed.relations.values() for feed in self.plan.tuples)
            or any(relation == memory for memory, _ in self.plan.background)
        )

    def fact(self, formula: Formula, words: Words) -> Fact:
        """The fact of a row; the tick behind its arguments is left out."""
        signature = formula.atom.signature
        return self.plan.copies.origin(signature, tuple(map(self.spell, words[: signature.arity])))

    def text(self, formula: Formula, binding: Binding) -> str:
        """A formula with the values that are known, and `_` where any value would do."""
        filled = substitute(formula, self.prover.terms(binding))
        free = [variable.name for variable in variables(filled)]
        args = tuple(
            Variable("_'") if isinstance(arg, Variable) and free.count(arg.name) == 1 else arg
            for arg in filled.atom.args
        )
        return show(replace(filled, atom=replace(filled.atom, args=args)))


def _tick(feed: Feed, row: Row) -> int:
    """When the fact of a row came."""
    return row.words[-1] >> 2 if feed.kind == "timed" else row.horizon - feed.size


def distance(first: int, second: int) -> float:
    """How far two numbers are apart; other terms are further from each other than any numbers."""
    if first & 3 not in (1, 2) or second & 3 not in (1, 2):
        return float("inf")
    return abs(float(mantissa(first) / 10 ** scale(first)) - float(mantissa(second) / 10 ** scale(second)))


def _holds(horizon: int) -> str:
    return "holds" if horizon >= FOREVER else f"holds until {horizon}"


def similar(signature: Predicate, candidates: Iterable[Predicate]) -> Predicate | None:
    """A predicate that might have been meant; what planning made up cannot be typed."""
    return nearest(signature, (candidate for candidate in candidates if not candidate.name.startswith("'")))
