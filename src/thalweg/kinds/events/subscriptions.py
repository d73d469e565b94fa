"""Which patterns an event is for, and what their clauses bind: those of all patterns are asked together.

Many subscriptions differ in constants only,

    EVENT :High { ?o :at ?place . ?place :in :road1 }    and the same with :road2, :road3, …

so a constant is asked for like a variable, once for all of them, and the answer is the key under which they are found.
That is done for the object of a triple whose subject is known by then, where there are several such clauses.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from thalweg.ir.pattern_semantics import Instance, Solution, TripleTerms
from thalweg.ir.patterns import Clause
from thalweg.kinds.events.restrictions import Restriction, Step, TripleIndex, in_order, numbered

Columns = tuple[tuple[str, int], ...]
"""The variables of a clause, sorted by name, and their numbers in a row."""
Subscribed = tuple[int, Columns]
"""The number of a pattern, and what it calls the columns."""
# So many clauses that differ in constants are asked together.
ALIKE: Final = 4
_CONSTANT: Final = "?="


@dataclass(slots=True)
class _Shape:
    """Clauses that are the same but for constants, which stand in some columns of their rows."""

    restriction: Restriction
    constants: list[int]
    subscribed: dict[Any, list[Subscribed]] = field(default_factory=dict)

    def add(self, constants: tuple[str, ...], number: int, columns: Columns) -> None:
        self.subscribed.setdefault(constants, []).append((number, columns))

    def asked(self, event: Instance) -> list[tuple[int, Solution]]:
        """The patterns that an event is for, with solutions of their clauses."""
        constants, subscribed = self.constants, self.subscribed
        solutions: list[tuple[int, Solution]] = []
        for row in self.restriction.solutions(event):
            key = tuple([row[column] for column in constants]) if constants else ()
            for number, columns in subscribed.get(key, ()):
                solutions.append((number, tuple([(name, row[column]) for name, column in columns])))
        return solutions


class Subscriptions:
    """The clauses about events of one name, each with the number of its pattern; None for a pattern without one.

    >>> from thalweg.ir.patterns import Triple
    >>> clauses = [(number, Clause("<A>", (Triple("?o", "<at>", f"<r{number}>"),))) for number in range(9)]
    >>> subscriptions = Subscriptions(clauses, TripleIndex([]))
    >>> list(subscriptions.asked(Instance("<A>", 1, 1, "<x>", triples=(("<x>", "<at>", "<r7>"),))))
    [(7, (('o', '<x>'),))]
    """

    def __init__(self, clauses: Iterable[tuple[int, Clause | None]], background: TripleIndex) -> None:
        self._plain: list[int] = []
        general: dict[tuple[Step, ...], list[tuple[int, Clause]]] = {}
        for number, clause in clauses:
            if clause is None or not clause.triples:
                self._plain.append(number)
            else:
                shape = tuple(numbered(_asking(in_order(clause))[0])[0])
                general.setdefault(shape, []).append((number, clause))
        self._shapes: list[_Shape] = []
        for steps, alike in general.items():
            self._shapes += _together(steps, alike, background) if len(alike) >= ALIKE else _apart(alike, background)
        self.looks = bool(self._shapes)

    def asked(self, event: Instance) -> list[tuple[int, Solution]]:
        """The patterns that an event is for, with solutions of their clauses."""
        solutions: list[tuple[int, Solution]] = [(number, ()) for number in self._plain] if self._plain else []
        for shape in self._shapes:
            solutions += shape.asked(event)
        return solutions


def _together(
    steps: tuple[Step, ...], alike: Iterable[tuple[int, Clause]], background: TripleIndex
) -> Iterator[_Shape]:
    """One shape for clauses that differ in constants."""
    shape = None
    for number, clause in alike:
        triples, constants = _asking(in_order(clause))
        numbers = numbered(triples)[1]
        if shape is None:
            shape = _Shape(Restriction(steps, background), [numbers[variable] for variable in constants])
        shape.add(tuple(constants.values()), number, _columns(clause, numbers))
    if shape is not None:
        yield shape


def _apart(alike: Iterable[tuple[int, Clause]], background: TripleIndex) -> Iterator[_Shape]:
    """A shape for each different clause, with its constants."""
    shapes: dict[tuple[Step, ...], _Shape] = {}
    for number, clause in alike:
        steps, numbers = numbered(in_order(clause))
        shape = shapes.setdefault(tuple(steps), _Shape(Restriction(steps, background), []))
        shape.add((), number, _columns(clause, numbers))
    return iter(shapes.values())


def _columns(clause: Clause, numbers: dict[str, int]) -> Columns:
    return tuple((name, numbers[f"?{name}"]) for name in sorted(clause.variables))


def _asking(triples: Iterable[TripleTerms]) -> tuple[list[TripleTerms], dict[str, str]]:
    """Triples in which constants have become variables, and the constant that each of these stands for.

    >>> _asking([("?o", "<at>", "<r1>")])
    ([('?o', '<at>', '?=0')], {'?=0': '<r1>'})
    """
    constants: dict[str, str] = {}
    bound: set[str] = set()
    asking = []
    for number, (subject, predicate, target) in enumerate(triples):
        is_known = number == 0 or subject[0] != "?" or subject in bound
        if is_known and predicate[0] != "?" and target[0] != "?":
            variable = f"{_CONSTANT}{len(constants)}"
            constants[variable] = target
            asking.append((subject, predicate, variable))
        else:
            asking.append((subject, predicate, target))
        bound |= {subject, predicate, target}
    return asking, constants
