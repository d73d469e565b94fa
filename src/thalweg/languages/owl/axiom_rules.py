"""What rules that are made from axioms have in common: their places, roles in bodies, and clashes in heads."""

from typing import Final

from thalweg.diagnostics import Source, Span
from thalweg.ir.nodes import Atom, Constant, Expression, Literal, Now, Rule
from thalweg.languages.owl.dl_lite import Role
from thalweg.model.term import quote

INCONSISTENT: Final = "inconsistent"


def line_spans(source: Source) -> list[Span]:
    """The place of each line of a text that has one line for each axiom; of an empty text, one place.

    >>> [(span.start, span.end) for span in line_spans(Source("x", "one\\ntwo"))]
    [(0, 3), (4, 7)]
    """
    spans: list[Span] = []
    start = 0
    for line in source.text.split("\n"):
        spans.append(Span(source, start, start + len(line)))
        start += len(line) + 1
    return spans


def related(role: Role, subject: Expression, other: Expression) -> Now:
    """The literal that is true where `subject` has `other` as a value by a role."""
    return Now(Atom(role.name, (other, subject) if role.inverse else (subject, other)))


def clash(axiom: str, individual: Expression, other: Expression, body: tuple[Literal, ...], span: Span) -> Rule:
    """The rule that reports two individuals that break an axiom; an individual that breaks it alone is named twice."""
    head = Atom(INCONSISTENT, (Constant(quote(axiom)), individual, other))
    return Rule(head, tuple(dict.fromkeys(body)), span=span)
