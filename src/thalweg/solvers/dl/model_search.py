"""The search for a model beside the least one: it repairs what violates a guard, one guard after the other.

A class that some model does not have an individual in is not entailed; one that no model leaves out is. So each
question is: *is there a model without these memberships?*

    MODEL     there is; it is the one that the search has built, and stays in place until it is undone
    CLOSED    there is none: every way to satisfy some guard contradicts an axiom or one of the memberships
    UNKNOWN   the search gave up: it does not make individuals equal, stops after some steps, and lets one individual
              stand for many where it would go on for ever

A value that must exist is a new individual, which says nothing about what it is not: what follows of it follows of
whichever value there is. Below the second step, values of the same kind are shared, which only a model may do.
"""

from collections.abc import Callable, Collection, Iterator
from enum import Enum
from functools import partial
from itertools import combinations
from typing import Final

from thalweg.solvers.dl.least_model import Individual, Model
from thalweg.solvers.dl.normal_form import AtLeast, AtMost, ClassClause, DataAtLeast, Guard, OneOf

STEPS: Final = 400
_DEEPEST: Final = 2
# All values of one individual are told apart, pair by pair.
_MOST_VALUES: Final = 100
_MOST_LITERALS: Final = 8


class Outcome(Enum):
    """The result of a search."""

    MODEL = "model"
    CLOSED = "closed"
    UNKNOWN = "unknown"


class Null(tuple[object, ...]):
    """An individual that is only known to exist: whose value it is, by which guard, and the number among those."""

    __slots__ = ()


Membership = tuple[int, Individual]
Choice = tuple[Callable[[], None], bool]
"""A way to satisfy a guard, and whether that way stands for others too: these need not be tried for a proof."""


def find_model(model: Model, without: Collection[Membership] = (), start: int = 0, steps: int = STEPS) -> Outcome:
    """Searches for a model on top of what is in `model`, for the guards pending from `start` on."""
    return _Search(model, without, steps).solve(start)


class _Search:
    """One search."""

    def __init__(self, model: Model, without: Collection[Membership], steps: int) -> None:
        self.model = model
        self.without = without
        self.steps = steps

    def solve(self, start: int) -> Outcome:
        model = self.model
        if not model.close() or any(of in model.types.get(individual, ()) for of, individual in self.without):
            return Outcome.CLOSED
        while start < len(model.pending) and not model.violates(*model.pending[start]):
            start += 1
        if start == len(model.pending):
            return Outcome.MODEL
        if not self.steps:
            return Outcome.UNKNOWN
        self.steps -= 1
        closed = not self.has_other_ways(*model.pending[start])
        for option, counts in self.options(*model.pending[start]):
            mark = model.mark()
            option()
            outcome = self.solve(start)
            if outcome is Outcome.MODEL:
                return outcome
            model.undo(mark)
            closed = closed and (outcome is Outcome.CLOSED or not counts)
        return Outcome.CLOSED if closed else Outcome.UNKNOWN

    def has_other_ways(self, guard: Guard, individual: Individual) -> bool:
        """Whether a guard could be satisfied otherwise than by its options: by other literals, or by equality."""
        if isinstance(guard, DataAtLeast):
            return True
        if isinstance(guard, AtLeast):
            return _is_deep(individual) or guard.number > _MOST_VALUES
        if isinstance(guard, OneOf):
            return not all((individual, member) in self.model.different for member in guard.individuals)
        if not isinstance(guard, AtMost):
            return False
        fillers = [
            other for other in self.model.edges[guard.role][individual] if guard.filler in self.model.types[other]
        ]
        apart = (self.model.different.__contains__(pair) for pair in combinations(fillers, 2))
        return len(fillers) > 16 or not all(apart)

    def options(self, guard: Guard, individual: Individual) -> Iterator[Choice]:
        model = self.model
        match guard:
            case ClassClause(_, heads):
                avoided = {of for of, member in self.without if member == individual}
                for head in sorted(heads, key=lambda head: head in avoided):
                    yield partial(model.add_class, head, individual), True
            case AtLeast() if guard.number <= _MOST_VALUES:
                yield from self.values(guard, individual)
            case DataAtLeast():
                yield from self.literals(guard, individual)

    def values(self, guard: AtLeast, individual: Individual) -> Iterator[Choice]:
        model, (_, number, role, filler) = self.model, guard

        def relate(targets: Collection[Individual]) -> None:
            for other in targets:
                model.add_edge(role, individual, other)
                model.add_class(filler, other)
            for pair in combinations(targets, 2):
                model.add_different(*pair)

        deep = _is_deep(individual)
        depth = individual[-1] + 1 if isinstance(individual, Null) else 1  # type: ignore[operator]
        owner = None if deep else individual
        nulls = [Null((owner, role, filler, index, _DEEPEST if deep else depth)) for index in range(number)]
        missing = number - model.count(role, individual, filler)
        neighbours = sorted(model.edges[role].get(individual, ()), key=repr)
        neighbours = [other for other in neighbours if filler not in model.types[other]][: missing + 2]
        limited = bool(model.rules.edge_limits.get(role))
        # Where values are counted, those that are there come first.
        ways: list[Choice] = [(partial(relate, chosen), False) for chosen in combinations(neighbours, missing)]
        new: Choice = (partial(relate, nulls), True)
        yield from (*ways, new) if limited else (new, *ways)

    def literals(self, guard: DataAtLeast, individual: Individual) -> Iterator[Choice]:
        model, (_, number, property, range) = self.model, guard
        test = model.rules.form.ranges[range]
        inside = [value for value in model.rules.form.samples if test(value)]

        def give(first: int) -> None:
            for value in inside[first : first + number]:
                model.add_literal(property, individual, value)

        for first in list(_starts(len(inside) - number + 1)):
            yield partial(give, first), False


def _is_deep(individual: Individual) -> bool:
    """Whether the values of an individual are shared with others."""
    return isinstance(individual, Null) and individual[-1] >= _DEEPEST  # type: ignore[operator]


def _starts(count: int) -> range:
    return range(min(max(count, 0), _MOST_LITERALS))
