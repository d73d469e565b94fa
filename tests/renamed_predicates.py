"""Programs with predicates of their own, so that many of them can be one program without meeting each other."""

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from thalweg.diagnostics import Span
from thalweg.ir.nodes import Atom, Program, TupleWindow
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate

T = TypeVar("T")


def renamed(value: T, mark: str) -> T:
    """A program, an event or a part of one in which every predicate has a mark before its name."""
    return cast(T, _renamed(value, mark))


def _renamed(value: Any, mark: str) -> Any:
    match value:
        case Predicate():
            return value.renamed(_marked(value.name, mark))
        case Fact(predicate, terms):
            return Fact(_marked(predicate, mark), terms)
        case Atom(predicate):
            return replace(value, predicate=_marked(predicate, mark))
        case tuple() | frozenset():
            return type(value)(_renamed(part, mark) for part in value)
        case Span():
            return value
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: _renamed(getattr(value, field.name), mark) for field in fields(value)})
    return value


def _marked(name: str, mark: str) -> str:
    """`a_p` of `p`, and `<urn:a:http://p>` of `<http://p>`."""
    return f"<urn:{mark}:{name[1:]}" if name.startswith("<") else f"{mark}_{name}"


def counts_facts(program: Program) -> bool:
    """Whether windows count the facts of the input, so that a program meets whatever comes beside its own facts."""
    return _has_tuples(program)


def _has_tuples(value: Any) -> bool:
    if isinstance(value, TupleWindow):
        return True
    if isinstance(value, tuple | frozenset):
        return any(map(_has_tuples, value))
    if is_dataclass(value) and not isinstance(value, Span | type):
        return any(_has_tuples(getattr(value, field.name)) for field in fields(value))
    return False
