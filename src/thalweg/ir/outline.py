"""What dependency analysis needs to know of a rule, whatever language it came from.

    a(X) :- p(X), not q(X).     is     heads ("a/1",), body p/1 positive and q/1 negative

An outline forgets terms and keeps predicates, how they occur, and which variable stands in which argument.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal

from thalweg.diagnostics import NOWHERE, Span
from thalweg.ir.dependency import by_level, least_levels
from thalweg.model.predicate import Predicate

How = Literal["positive", "negative", "aggregate"]
# A background may have any number of facts.
_LONGEST: Final = 200
Kind = Literal["rule", "choice", "disjunction", "constraint", "weak"]


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A predicate in a body: `q/1`, negated.

    Whatever is not known to be monotone counts as `aggregate`: all facts of the predicate must be there. `args` has the
    variable of each argument that is one.
    """

    predicate: Predicate
    how: How = "positive"
    args: tuple[str | None, ...] = ()

    @property
    def settled(self) -> bool:
        """Whether the predicate must be known in full before the rule can be applied."""
        return self.how != "positive"


@dataclass(frozen=True, slots=True)
class Outline:
    """A statement: what it may derive, and what that depends on.

    A `rule` without heads shows something. The variables of aggregates are those that the rest of the rule has, too.
    """

    heads: tuple[Predicate, ...]
    body: tuple[Occurrence, ...]
    kind: Kind = "rule"
    text: str = ""
    head_args: tuple[tuple[str | None, ...], ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def written(self) -> str:
        """The statement as it was written, in one line; what is penalised may be written in pieces.

        >>> len(Outline((Predicate("p", 1),), (), text="p(1). " * 100_000).written)
        203
        """
        if self.span is NOWHERE and self.is_fact and len(self.text) > _LONGEST:
            return f"{self.text[:_LONGEST]}..."
        if self.span is NOWHERE or self.kind == "weak":
            return self.text
        return " ".join(self.span.source.text[self.span.start : self.span.end].split())

    @property
    def predicates(self) -> frozenset[Predicate]:
        return frozenset(self.heads) | {occurrence.predicate for occurrence in self.body}

    @property
    def is_fact(self) -> bool:
        return self.kind == "rule" and bool(self.heads) and not self.body


def outline(text: str, head: str, *body: str) -> Outline:
    """An outline from texts, `not` and `#` before predicates that are negated and aggregated: for examples and tests.

    >>> outline("a :- p, not q.", "a/0", "p/0", "not q/0").body[1]
    Occurrence(predicate='q/0', how='negative', args=())
    """
    occurrences = tuple(_occurrence(atom) for atom in body)
    return Outline((Predicate.read(head),) if head else (), occurrences, "rule" if head else "constraint", text)


def _occurrence(text: str) -> Occurrence:
    if text.startswith("not "):
        return Occurrence(Predicate.read(text[4:]), "negative")
    if text.startswith("#"):
        return Occurrence(Predicate.read(text[1:]), "aggregate")
    return Occurrence(Predicate.read(text))


def strata_of(outlines: Iterable[Outline]) -> list[list[Predicate]] | None:
    """The derived predicates of each stratum, lowest first; None where negation or an aggregate runs in a circle.

    >>> strata_of([outline("", "a/0", "p/0", "not b/0"), outline("", "b/0", "q/0")])
    [['b/0'], ['a/0']]
    """
    outlines = tuple(outlines)
    needs = (
        (head, needed.predicate, int(needed.settled))
        for outline in outlines
        for head in outline.heads
        for needed in outline.body
    )
    level = least_levels((head for outline in outlines for head in outline.heads), needs)
    return None if level is None else by_level(level)
