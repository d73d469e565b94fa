"""Why a fact does not hold: for each rule that could derive it, how far its premises got.

A rule is run backwards from the fact, as in `proof`, over the rows that live now. Where that ends, the bindings that
got furthest in the order of the join are kept, with the premises that held and the one that failed. Among those that
failed at a comparison, the values that came closest are shown first. Nothing is looked for below the premises of a
rule, and the number of rows that are looked at is limited.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from thalweg.engine.absence_wording import AbsenceWording, distance, similar
from thalweg.engine.proof import (
    Binding,
    Goal,
    Proof,
    Prover,
    Words,
    as_written,
    extended,
    formulas_of,
    names_in,
    row_of,
    why,
)
from thalweg.engine.search import Row, Search
from thalweg.explain.proof_text import absence_text
from thalweg.ir.nodes import Comparison, Variable
from thalweg.ir.text import show
from thalweg.model.explanation import Explanation
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.time import AS_TICKS, FOREVER, TimeFormat
from thalweg.planning.assign_memories import TICK
from thalweg.planning.rule_plan import PlanRule, RelationAtom

if TYPE_CHECKING:
    from thalweg.engine.engine import PlanEngine

_SHOWN: Final = ("claim", "kind", "until", "unless")
"""What is shown of a premise that holds; `why` has the rest."""
_ATTEMPTS: Final = 3
"""Attempts that are shown of a rule."""
_RULES: Final = 8
"""Rules that are shown."""
_ROWS: Final = 5_000
"""Rows that are looked at for one rule."""
_ALL_ROWS: Final = 50_000
"""Rows that are looked at for all rules."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One binding of a rule's variables: the premises that held, the one that failed, and the reason in words."""

    held: tuple[Proof, ...]
    failed: str
    reason: str

    def as_data(self, times: TimeFormat = AS_TICKS) -> dict[str, object]:
        """The same content as JSON-compatible data."""
        premises = [
            {name: value for name, value in step.as_data(times).items() if name in _SHOWN} for step in self.held
        ]
        return {"held": premises, "failed": self.failed, "reason": times.in_words(self.reason)}


@dataclass(frozen=True, slots=True)
class FailedRule:
    """A rule that could derive a fact and does not; `others` counts the attempts that got as far and are not shown."""

    rule: str
    place: str
    attempts: tuple[Attempt, ...]
    others: int = 0

    def as_data(self, times: TimeFormat = AS_TICKS) -> dict[str, object]:
        """The same content as JSON-compatible data."""
        data: dict[str, object] = {"rule": self.rule}
        if self.place:
            data["place"] = self.place
        data["attempts"] = [attempt.as_data(times) for attempt in self.attempts]
        return data | ({"others": self.others} if self.others else {})


@dataclass(frozen=True, slots=True)
class Absence(Explanation):
    """Why a fact does not hold at a tick.

    `note` says what concerns no single rule; `more_rules` counts the rules that are not shown. Where it is `cut`, there
    was more to look at, and other values may have got further.
    """

    fact: str
    at: int | None
    note: str = ""
    rules: tuple[FailedRule, ...] = ()
    more_rules: int = 0
    cut: bool = False
    times: TimeFormat = field(default=AS_TICKS, compare=False, repr=False)

    def render(self, indent: str = "", times: TimeFormat = AS_TICKS) -> str:
        """The lines that a person reads."""
        return absence_text(self.as_data(times), indent)

    def as_data(self, times: TimeFormat = AS_TICKS) -> dict[str, object]:
        """The same content as JSON-compatible data."""
        at = None if self.at is None else times.data(self.at)
        data: dict[str, object] = {"claim": self.fact, "holds": False, "at": at}
        if self.note:
            data["note"] = times.in_words(self.note)
        data["rules"] = [rule.as_data(times) for rule in self.rules]
        if self.more_rules:
            data["more_rules"] = self.more_rules
        return data | ({"cut": True} if self.cut else {})


def why_not(engine: "PlanEngine", fact: Fact, came: Collection[Predicate] | None = None) -> Absence | None:
    """How far the rules got that could derive a fact, or None where it holds.

    `came` are the predicates that streams have brought so far, where that is known.
    """
    if engine.now is None:
        return Absence(str(fact), None, "no tick has been evaluated")
    if why(engine, fact) is not None:
        return None
    return _Tracer(engine, came).trace(fact)


@dataclass(frozen=True, slots=True)
class _Failure:
    """Where an attempt ended: after how many steps, at which one, with which rows before it.

    At no step at all, every premise held and the conclusion is another fact.
    """

    rule: PlanRule
    depth: int
    step: RelationAtom | Comparison | None
    binding: Binding
    rows: tuple[tuple[RelationAtom, Row | None], ...]

    @property
    def horizon(self) -> int:
        return min((row.horizon for _, row in self.rows if row is not None), default=FOREVER)


@dataclass(slots=True)
class _Deepest:
    """The failures of a rule that got furthest.

    Of those that differ only in variables that the failed step does not read, one is kept.
    """

    depth: int = -1
    failures: dict[tuple[object, ...], _Failure] = field(default_factory=dict)

    def add(self, failure: _Failure, depth: int) -> None:
        if depth > self.depth:
            self.depth, self.failures = depth, {}
        if depth == self.depth:
            read = names_in(failure.step) if failure.step is not None else failure.binding.keys()
            values = tuple(sorted((name, word) for name, word in failure.binding.items() if name in read))
            self.failures.setdefault((id(failure.step), values), failure)


class _Tracer:
    def __init__(self, engine: "PlanEngine", came: Collection[Predicate] | None) -> None:
        assert engine.now is not None
        self.engine, self.plan, self.came, self.now = engine, engine.plan, came, engine.now
        self.search = Search(engine)
        self.prover = Prover(engine, self.search, lambda fact: None)
        self.words = AbsenceWording(engine, self.prover, came)
        self.left = self.left_for_rule = 0
        self.cut = False

    # The fact -------------------------------------------------------------------------------------------------------

    def trace(self, fact: Fact) -> Absence:
        absence = Absence(str(fact), self.now)
        goal = self.goal(fact)
        if goal is None:
            return replace(absence, note=self.unknown(fact))
        derivations = list(self.deriving(goal))
        fitting = [
            (rule, row, start) for rule, row in derivations if (start := self.prover.start(rule, row)) is not None
        ]
        note = ""
        if goal[0] in self.plan.incomplete:
            note = "facts that it depends on were shed: whether it holds is not known"
        elif fact.signature not in self.plan.outputs and self.search.find(*goal) is not None:
            return replace(absence, note=f"`{fact}` is derived, but `{fact.signature}` is not output")
        elif goal[0] in self.words.imported:
            note = f"another part derives `{fact.signature}`"
        elif derivations and not fitting:
            heads = dict.fromkeys(show(rule.origin.head) for rule, _ in derivations if rule.origin is not None)
            note = f"no rule derives `{fact}`: the heads are {_listed(heads)}"
        elif not derivations:
            note = self.unknown(fact)
        failed = self.failed(fitting)
        shown = (
            failed
            if len(failed) <= _RULES
            else sorted(failed, key=lambda failed_rule: -len(failed_rule.attempts[0].held))
        )
        return replace(
            absence, note=note, rules=tuple(shown[:_RULES]), more_rules=max(0, len(failed) - _RULES), cut=self.cut
        )

    def goal(self, fact: Fact) -> Goal | None:
        """The row that would be there; of things that others stand for, the one about those."""
        derived = self.plan.memories.get(f"{fact.signature} derived")
        target = row_of(self.engine, fact, self.plan.outputs.get(fact.signature) or derived)
        if target is None:
            return None
        relation, words = target
        if self.engine.equals is not None and relation != self.plan.representative:
            words = tuple(map(self.engine.equals.classes.home, words))
        return relation.number, words

    def deriving(self, goal: Goal) -> Iterator[tuple[PlanRule, Words]]:
        """The rules whose head is a relation, with the row that they would have to derive."""
        relation, row = goal
        for rule in self.plan.rules:
            if rule.head.relation.number != relation:
                continue
            if rule.origin is not None:
                yield rule, row
                continue
            # A copy of rows that have a tick besides: the one of now is asked for.
            binding: Binding = {TICK.name: self.engine.dictionary.code(str(self.now))}
            binding |= {
                arg.name: word for arg, word in zip(rule.head.args, row, strict=True) if isinstance(arg, Variable)
            }
            source = rule.positive[0]
            yield from self.deriving((source.relation.number, self.prover.words(source.args, binding)))

    def unknown(self, fact: Fact) -> str:
        """The note for a predicate that no rule derives."""
        if any(signature == fact.signature for signature, _ in self.plan.feeds) or fact.signature in (self.came or ()):
            return f"no rule derives `{fact.signature}`: it is an input, and `why` explains what rules derive"
        if fact.signature in self.plan.source.derived:
            return f"`{fact.signature}` is derived, but not output"
        other = similar(fact.signature, self.plan.source.derived)
        return f"no rule derives `{fact.signature}`" + (f"; `{other}` is derived" if other else "")

    # The rules ------------------------------------------------------------------------------------------------------

    def failed(self, fitting: Iterable[tuple[PlanRule, Words, Binding]]) -> list[FailedRule]:
        """How far each rule got; what planning made of one rule (a count has a rule for 0) is one again."""
        self.left = _ALL_ROWS
        written: dict[tuple[str, str], _Deepest] = {}
        for rule, row, start in fitting:
            assert rule.backwards is not None
            assert rule.origin is not None
            self.left_for_rule = _ROWS
            deepest = _Deepest()
            self.follow(rule, row, rule.backwards.steps, _Failure(rule, 0, None, start, ()), deepest)
            together = written.setdefault(as_written(rule.origin), _Deepest())
            for failure in deepest.failures.values():
                together.add(failure, 0 if self.says_little(failure) else 1 + failure.depth)
        return [self.shown(*text, deepest.failures.values()) for text, deepest in written.items() if deepest.failures]

    def follow(
        self,
        rule: PlanRule,
        row: Words,
        steps: tuple[RelationAtom | Comparison, ...],
        so_far: _Failure,
        deepest: _Deepest,
    ) -> None:
        """Takes the steps of a join from a binding, and notes where they end."""
        if not steps:
            if self.prover.words(rule.head.args, so_far.binding) != row:
                deepest.add(so_far, so_far.depth)
            return
        step, remaining = steps[0], steps[1:]
        here = replace(so_far, step=step)
        after = replace(so_far, depth=so_far.depth + 1)
        if isinstance(step, Comparison):
            binding = self.prover.compare(step, rule.binds.get(id(step)), so_far.binding)
            if binding is None:
                deepest.add(here, here.depth)
            else:
                self.follow(rule, row, remaining, replace(after, binding=binding), deepest)
        elif any(step is atom for atom in rule.negative):
            if self.search.find(step.relation.number, self.prover.words(step.args, so_far.binding)) is None:
                self.follow(rule, row, remaining, replace(after, rows=(*after.rows, (step, None))), deepest)
            else:
                deepest.add(here, here.depth)
        else:
            rows, complete = self.rows(step, so_far.binding)
            for binding, matched in rows:
                there = replace(after, binding=binding, rows=(*after.rows, (step, matched)))
                self.follow(rule, row, remaining, there, deepest)
            if complete and not rows:
                deepest.add(here, here.depth)

    def rows(self, atom: RelationAtom, binding: Binding) -> tuple[list[tuple[Binding, Row]], bool]:
        """The rows that an atom may be, with what they bind; and whether these are all, or those still allowed."""
        columns, key = self.prover.known(atom, binding)
        most = max(0, min(self.left, self.left_for_rule))
        rows = self.search.matching(atom.relation.number, columns, key, most + 1)
        complete = len(rows) <= most
        self.cut = self.cut or not complete
        self.left -= 1 + len(rows)
        self.left_for_rule -= 1 + len(rows)
        return list(extended(atom, binding, rows[:most])), complete

    def says_little(self, failure: _Failure) -> bool:
        """Whether the other rule that planning makes of a count or sum says more: the one for its value, or for 0."""
        step, binding = failure.step, failure.binding
        grouping = self.words.groupings.get(step.relation.number) if isinstance(step, RelationAtom) else None
        if grouping is not None and isinstance(step, RelationAtom):
            return grouping.function in ("count", "sum") and not self.words.values(grouping, step, binding)
        zeros = [atom for atom in failure.rule.negative if self.words.without_elements(atom) is not None]
        return any(
            not names_in(atom) <= binding.keys()
            or self.search.find(atom.relation.number, self.prover.words(atom.args, binding)) is not None
            for atom in zeros
        )

    # In words -------------------------------------------------------------------------------------------------------

    def shown(self, rule: str, place: str, failures: Collection[_Failure]) -> FailedRule:
        ranked = sorted(failures, key=lambda failure: (self.distance(failure), -failure.horizon))
        attempts = tuple(self.attempt(failure) for failure in ranked[:_ATTEMPTS])
        return FailedRule(rule, place, attempts, max(0, len(ranked) - _ATTEMPTS))

    def distance(self, failure: _Failure) -> float:
        """By how much a comparison failed."""
        step = failure.step
        if not isinstance(step, Comparison) or not names_in(step) <= failure.binding.keys():
            return 0.0
        left, right = (self.prover.value(side, failure.binding) for side in (step.left, step.right))
        return distance(left, right)

    def attempt(self, failure: _Failure) -> Attempt:
        rule, binding = failure.rule, failure.binding
        formulas = formulas_of(rule)
        written = {key: place for place, key in enumerate(formulas)}
        reached = [id(atom) for atom, _ in failure.rows]
        # That an aggregate has no elements is known before anything else, though it is looked up late.
        zeros = [
            (atom, None)
            for atom in rule.negative
            if id(atom) not in reached and self.words.without_elements(atom) is not None
        ]
        premises = [
            self.words.premise(formulas[id(atom)], atom, row, binding)
            for atom, row in sorted((*zeros, *failure.rows), key=lambda step: written.get(id(step[0]), 0))
            if id(atom) in formulas
        ]
        failed, reason = self.words.explained(rule, failure.step, binding)
        return Attempt(tuple(premises), failed, reason)


def _listed(texts: Iterable[str]) -> str:
    shown = list(texts)
    more = f" and {len(shown) - _RULES} more" if len(shown) > _RULES else ""
    return ", ".join(f"`{text}`" for text in shown[:_RULES]) + more
