"""The order in which a rule's atoms are joined, given what is bound when it starts.

What is already decided comes first: a comparison or a negated atom as soon as its variables are bound. Then an atom
that can be looked up by something known, before one that must be gone through as a whole; among these the one with the
fewest free columns, then the one whose relation is expected to be smaller, then the one written first.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from thalweg.ir.nodes import Comparison, Expression, Variable, names


class Joined(Protocol):
    """An atom over a relation, as far as ordering looks at it."""

    @property
    def args(self) -> tuple[Expression, ...]: ...
    @property
    def weight(self) -> float: ...


A = TypeVar("A", bound=Joined)


def order_joins(
    positive: Sequence[A],
    negative: Sequence[A],
    tests: Sequence[Comparison],
    binds: Mapping[int, str],
    bound: frozenset[str],
) -> list[A | Comparison]:
    """Atoms and tests in the order to run them; `binds` as `ir.binding` gives it."""
    steps: list[A | Comparison] = []
    atoms, absent, waiting = list(positive), list(negative), list(tests)
    while atoms or absent or waiting:
        test = next((each for each in waiting if _needs(each, binds) <= bound), None)
        if test is not None:
            waiting = [each for each in waiting if each is not test]
            bound |= names(test.left, test.right)
            steps.append(test)
            continue
        refuted = next((atom for atom in absent if names(*atom.args) <= bound), None)
        if refuted is not None:
            absent = [each for each in absent if each is not refuted]
            steps.append(refuted)
            continue
        assert atoms, "an unsafe rule passed the checks"
        chosen = min(atoms, key=lambda atom: (not _is_keyed(atom, bound), len(names(*atom.args) - bound), atom.weight))
        atoms = [each for each in atoms if each is not chosen]
        bound |= names(*chosen.args)
        steps.append(chosen)
    return steps


def _needs(test: Comparison, binds: Mapping[int, str]) -> frozenset[str]:
    """What must be known before a comparison can be decided, or can bind."""
    return names(test.left, test.right) - {binds.get(id(test), "")}


def _is_keyed(atom: Joined, bound: frozenset[str]) -> bool:
    """Whether an atom has a column that is known."""
    return any(not isinstance(arg, Variable) or arg.name in bound for arg in atom.args)
