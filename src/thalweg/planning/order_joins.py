"""The order in which a rule's atoms are joined, given what is bound when it starts.

What is already decided comes first: a comparison or a negated atom as soon as its variables are bound. Then an atom
that can be looked up by a variable that is bound; before one that can be looked up by a constant alone, whose rows all
meet all that was found so far; before one that must be gone through as a whole. Among these the one with the fewest
free columns, then the one whose relation is expected to be smaller, then the one written first.
"""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Generic, Protocol, TypeVar

from thalweg.ir.nodes import Comparison, Expression, Variable, names
from thalweg.planning.rule_plan import JoinOrder, PlanRule, RelationAtom, RulePlan


class JoinableAtom(Protocol):
    """An atom over a relation, as far as ordering looks at it."""

    @property
    def args(self) -> tuple[Expression, ...]: ...
    @property
    def weight(self) -> float: ...


A = TypeVar("A", bound=JoinableAtom)


def order_joins(plan: RulePlan) -> RulePlan:
    """The plan with the joins of its rules."""
    return replace(plan, rules=tuple(map(_joined, plan.rules)))


def _joined(rule: PlanRule) -> PlanRule:
    # A variable that gets its value from an `=` must not get it from a row, where it may be spelled otherwise.
    row_bound = names(*(arg for atom in rule.positive for arg in atom.args))
    starts = (*rule.positive, *rule.negative)
    joins = tuple(_join(rule, start, row_bound) for start in starts)
    return replace(rule, joins=joins, backwards=_join(rule, rule.head, row_bound))


def _join(rule: PlanRule, start: RelationAtom, row_bound: frozenset[str]) -> JoinOrder:
    bound = frozenset(arg.name for arg in start.args if isinstance(arg, Variable)) & row_bound
    positive = [atom for atom in rule.positive if atom is not start]
    return JoinOrder(start, tuple(join_order(positive, rule.negative, rule.tests, rule.binds, bound)))


def join_order(
    positive: Sequence[A],
    negative: Sequence[A],
    tests: Sequence[Comparison],
    binds: Mapping[int, str],
    bound: frozenset[str],
) -> list[A | Comparison]:
    """Atoms and tests in the order to run them; `binds` as `ir.binding` gives it."""
    steps: list[A | Comparison] = []
    atoms = _Waiting(positive, bound)
    absent = [(atom, names(*atom.args)) for atom in negative]
    waiting = [(test, _needs(test, binds)) for test in tests]
    while atoms or absent or waiting:
        ready = next((test for test, needs in waiting if needs <= atoms.bound), None)
        if ready is not None:
            waiting = [entry for entry in waiting if entry[0] is not ready]
            atoms.bind(names(ready.left, ready.right))
            steps.append(ready)
            continue
        refuted = next((atom for atom, needs in absent if needs <= atoms.bound), None)
        if refuted is not None:
            absent = [entry for entry in absent if entry[0] is not refuted]
            steps.append(refuted)
            continue
        assert atoms, "an unsafe rule passed the checks"
        steps.append(atoms.take())
    return steps


class _Waiting(Generic[A]):
    """Atoms that are not joined yet, the best first: a variable that is bound moves only the atoms that have it."""

    def __init__(self, atoms: Sequence[A], bound: frozenset[str]) -> None:
        self.bound = bound
        self._atoms = dict(enumerate(atoms))
        self._names = {number: names(*atom.args) for number, atom in self._atoms.items()}
        self._free = {number: set(own - bound) for number, own in self._names.items()}
        self._distance = {number: _distance(atom, self._names[number], bound) for number, atom in self._atoms.items()}
        self._uses: dict[str, list[int]] = {}
        for number, free in self._free.items():
            for name in free:
                self._uses.setdefault(name, []).append(number)
        self._heap = [self._rank(number) for number in self._atoms]
        heapq.heapify(self._heap)

    def __bool__(self) -> bool:
        return bool(self._atoms)

    def _rank(self, number: int) -> tuple[int, int, float, int]:
        return self._distance[number], len(self._free[number]), self._atoms[number].weight, number

    def bind(self, variables: frozenset[str]) -> None:
        """Notes that variables have got a value."""
        touched = set[int]()
        for name in variables - self.bound:
            for number in self._uses.get(name, ()):
                if number in self._atoms:
                    self._free[number].discard(name)
                    self._distance[number] = 0
                    touched.add(number)
        self.bound |= variables
        for number in touched:
            heapq.heappush(self._heap, self._rank(number))

    def take(self) -> A:
        """The atom to join next; its variables are bound then."""
        while True:
            rank = heapq.heappop(self._heap)
            # What has been taken, or has moved forward since, is in the heap in vain.
            if rank[-1] in self._atoms and rank == self._rank(rank[-1]):
                chosen = self._atoms.pop(rank[-1])
                self.bind(self._names[rank[-1]])
                return chosen


def _needs(test: Comparison, binds: Mapping[int, str]) -> frozenset[str]:
    """The variables that must be bound before a comparison can be decided, or can bind."""
    return names(test.left, test.right) - {binds.get(id(test), "")}


def _distance(atom: JoinableAtom, variables: frozenset[str], bound: frozenset[str]) -> int:
    """How far an atom is from what is bound: 0 if it has a variable of it, or none at all; 1 if it has a constant."""
    if not variables or variables & bound:
        return 0
    return 1 if any(not isinstance(arg, Variable) for arg in atom.args) else 2
