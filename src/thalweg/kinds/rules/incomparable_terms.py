"""W305: at the end of a run, what was compared although it has no common order, once for each comparison."""

from collections.abc import Collection, Iterator

from thalweg.diagnostics import Diagnostic, Span
from thalweg.engine.incomparable import Incomparable
from thalweg.ir.nodes import Program
from thalweg.ir.text import show
from thalweg.model.values import Kind, value_of
from thalweg.planning.check_unmatched import check_unmatched

_KINDS = {Kind.NUMBER: "a number", Kind.TEXT: "a text", Kind.TIME: "a time"}


def mixed_kinds(program: Program, comparisons: Collection[Incomparable]) -> Iterator[Diagnostic]:
    """A warning for each comparison that met terms of different kinds, unless one was given before the run.

    >>> from thalweg.ir.nodes import Comparison, Constant, Variable
    >>> over = Comparison(">", Variable("V"), Constant("20"))
    >>> [one.message for one in mixed_kinds(Program(), [Incomparable(over, '"n/a"', "20")])]
    ['`V > 20` compared `"n/a"`, a text, with `20`, a number: between different kinds it is false']
    """
    reported = _reported(program) if comparisons else frozenset()
    for comparison, left, right in comparisons:
        if comparison.span not in reported:
            what = " with ".join(f"`{term}`, {_kind(term)}," for term in (left, right)).removesuffix(",")
            message = f"`{show(comparison)}` compared {what}: between different kinds it is false"
            yield Diagnostic("W305", message, comparison.span, help=_way_out(left, right))


def _reported(program: Program) -> frozenset[Span]:
    """Where W207 was given before the run."""
    return frozenset(
        diagnostic.span
        for diagnostic in check_unmatched(program)
        if diagnostic.code == "W207" and diagnostic.span is not None
    )


def _kind(term: str) -> str:
    value = value_of(term)
    return "an IRI" if term[0] == "<" else "without a value" if value is None else _KINDS[value.kind]


def _way_out(*terms: str) -> str:
    kinds = {value.kind for term in terms if (value := value_of(term)) is not None}
    if kinds == {Kind.NUMBER, Kind.TEXT}:
        return "keep texts out of the comparison, or compare `number(X)`, the number that a text stands for"
    if kinds == {Kind.NUMBER, Kind.TIME}:
        return "only a tick that `at` binds is compared with a time, as in `p(X) at T in [1 h], T > @2026-11-15`"
    return "compare values of one kind: numbers, texts or times"
