"""Rules are made of the nodes of `ir/nodes.py`, each where it belongs: a language from elsewhere may mix them up."""

from collections.abc import Iterator

from thalweg.diagnostics import NOWHERE, Diagnostic
from thalweg.ir.nodes import (
    Aggregate,
    Always,
    At,
    Atom,
    Call,
    Comparison,
    Constant,
    InWindow,
    Not,
    Now,
    Operation,
    Program,
    Rule,
    Variable,
)
from thalweg.model.fact import Fact

_WRAP = "an atom of a body stands in a formula: write `Now(atom)`, or `InWindow(atom, TimeWindow(10))`"
_BODY = "a body is a tuple of `Now`, `At`, `InWindow`, `Always`, `Not`, `Comparison` and `Aggregate`"
_HEAD = "a head is an `Atom`"
_TERMS = "arguments are a tuple of `Variable`, `Constant`, `Operation` and `Call`"
_FACTS = "the background of a program is a tuple of `Fact`"


def check_nodes(program: Program) -> list[Diagnostic]:
    """Errors for values that are not nodes of a rule, or that stand where such a node does not belong.

    >>> [error.message for error in check_nodes(Program((Rule(Atom("a"), (Atom("p"),)),)))]
    ['`Atom` cannot stand in the body of a rule']
    """
    diagnostics = [wrong for rule in program.rules for wrong in _rule(rule)]
    diagnostics += (_wrong(fact, "the background", _FACTS) for fact in program.background if not isinstance(fact, Fact))
    return diagnostics


def _rule(rule: object) -> Iterator[Diagnostic]:
    if not isinstance(rule, Rule):
        yield _wrong(rule, "the rules of a program", "the rules of a program are a tuple of `Rule`")
        return
    yield from _atom(rule.head, "the head of a rule", _HEAD)
    if rule.time is not None:
        yield from _terms((rule.time,))
    yield from _body(rule.body)


def _body(body: object) -> Iterator[Diagnostic]:
    if not isinstance(body, tuple):
        yield _wrong(body, "the place of a body", _BODY)
        return
    for literal in body:
        match literal:
            case Now() | At() | InWindow() | Always():
                yield from _atom(literal.atom, "a formula", _BODY)
            case Not(formula):
                yield from _body((formula,))
            case Comparison(_, left, right):
                yield from _terms((left, right))
            case Aggregate(_, _, terms, inner):
                yield from _terms(terms)
                yield from _body(inner)
            case _:
                yield _wrong(literal, "the body of a rule", _WRAP if isinstance(literal, Atom) else _BODY)


def _atom(atom: object, place: str, help: str) -> Iterator[Diagnostic]:
    if isinstance(atom, Atom):
        yield from _terms(atom.args)
    else:
        yield _wrong(atom, place, help)


def _terms(terms: object) -> Iterator[Diagnostic]:
    if not isinstance(terms, tuple):
        yield _wrong(terms, "the place of arguments", _TERMS)
        return
    for term in terms:
        match term:
            case Variable() | Constant():
                pass
            case Operation(_, left, right):
                yield from _terms((left, right))
            case Call(_, args):
                yield from _terms(args)
            case _:
                yield _wrong(term, "the arguments of an atom", _TERMS)


def _wrong(node: object, place: str, help: str) -> Diagnostic:
    span = getattr(node, "span", NOWHERE)
    return Diagnostic("E304", f"`{type(node).__name__}` cannot stand in {place}", span, help)
