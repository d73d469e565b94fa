"""Patterns of events: the nodes that complex events are defined with.

    :A                        Occurs
    p SEQ q, p AND q, p OR q  Sequence, Both, Either
    NOT q                     Absent
    MATCH EVERY p WITHIN (d)  Pattern, with its modifier, its bound and the clauses of `IF`

Like all nodes these are small frozen values that know where they were written. The occurrences of a pattern are
numbered from left to right, those under `NOT` included: the number is an occurrence's *place*.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from thalweg.diagnostics import NOWHERE, Span

Modifier = Literal["EVERY", "FIRST", "LAST"]


def _span() -> Span:
    return field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Occurs:
    """An event of a name, at a place of the pattern."""

    event: str
    place: int
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Sequence:
    """The operands one after the other: each is over before the next begins."""

    operands: tuple["Operand", ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Both:
    """All operands, in any order; one event may fill several places."""

    operands: tuple["Operand", ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Either:
    """One of the operands."""

    operands: tuple["Operand", ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Absent:
    """`NOT`: nothing of this kind extends the match."""

    operand: "Operand"
    span: Span = _span()


Operand = Occurs | Sequence | Both | Either | Absent


@dataclass(frozen=True, slots=True)
class Triple:
    """A triple of a clause; a variable is its name behind a question mark, `?loc`, everything else is a term."""

    subject: str
    predicate: str
    object: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition in SPARQL, and the names of its variables."""

    text: str
    variables: tuple[str, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Clause:
    """What is asked of every event of a name; the subject of the first triple is the event's individual."""

    event: str
    triples: tuple[Triple, ...] = ()
    filters: tuple[Filter, ...] = ()
    span: Span = _span()

    @property
    def variables(self) -> frozenset[str]:
        """The names of the variables that its triples bind."""
        terms = (term for triple in self.triples for term in (triple.subject, triple.predicate, triple.object))
        return frozenset(term[1:] for term in terms if term[0] == "?")


@dataclass(frozen=True, slots=True)
class Pattern:
    """What makes a complex event: `within` is in ticks, and a name has one clause at most."""

    operand: Operand
    modifier: Modifier | None = None
    within: int | None = None
    clauses: tuple[Clause, ...] = ()
    span: Span = _span()

    @property
    def shared(self) -> frozenset[str]:
        """The variables in the clauses of several names: all their occurrences agree on them."""
        names = [name for clause in self.clauses for name in clause.variables]
        return frozenset(name for name in names if names.count(name) > 1)

    @property
    def bound(self) -> frozenset[str]:
        """The variables that a match binds: shared ones, and those of names that occur once, and not under `NOT`."""
        names = [occurrence.event for occurrence in occurrences(self.operand, under_not=False)]
        clauses = [clause for clause in self.clauses if clause.event in names]
        once = {name for clause in clauses if names.count(clause.event) == 1 for name in clause.variables}
        return frozenset(once.union(*(clause.variables & self.shared for clause in clauses)))


def occurrences(operand: Operand, under_not: bool = True) -> Iterator[Occurs]:
    """The occurrences in a pattern from left to right; without those under `NOT` if so asked.

    >>> pattern = Sequence((Occurs("<a>", 0), Absent(Occurs("<n>", 1)), Occurs("<b>", 2)))
    >>> [one.event for one in occurrences(pattern)], [one.place for one in occurrences(pattern, under_not=False)]
    (['<a>', '<n>', '<b>'], [0, 2])
    """
    match operand:
        case Occurs():
            yield operand
        case Absent(inner):
            if under_not:
                yield from occurrences(inner)
        case Sequence(operands) | Both(operands) | Either(operands):
            for part in operands:
                yield from occurrences(part, under_not)
