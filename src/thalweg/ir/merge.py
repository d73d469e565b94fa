"""One program from several parts.

Every field of a program is merged by name, and a test gives each of them a value: what is forgotten would be dropped
without notice.
"""

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.ir.nodes import Equality, Hints, Interface, Program, TermAnnotations
from thalweg.model.predicate import Predicate

Parts = Sequence[Program]
T = TypeVar("T")


def merge(parts: Parts) -> Program:
    """One program from its parts; `RejectedError` where they contradict each other.

    >>> from thalweg.ir.nodes import Atom, Rule
    >>> merge([Program((Rule(Atom("p")),)), Program((Rule(Atom("q")),))]).derived == {"p/0", "q/0"}
    True
    """
    return Program(
        rules=tuple(rule for part in parts for rule in part.rules),
        background=tuple(fact for part in parts for fact in part.background),
        interface=_interface(parts),
        annotations=_annotations(parts),
        equality=_equality(parts),
        hints=_hints(parts),
        recorded=_union(part.recorded for part in parts),
    )


def _union(sets: Iterable[frozenset[T]]) -> frozenset[T]:
    return frozenset[T]().union(*sets)


def _interface(parts: Parts) -> Interface:
    """All that goes in and out; a part that does not say what it outputs outputs all that it derives."""
    known = [part.interface for part in parts]
    is_default = all(each.outputs is None for each in known)
    return Interface(
        inputs=_union(each.inputs for each in known),
        outputs=None if is_default else _union(part.outputs for part in parts),
        imports=_union(each.imports for each in known),
        exports=_union(each.exports for each in known),
    )


def _hints(parts: Parts) -> Hints:
    known = [part.hints for part in parts]
    return Hints(
        irrevocable=_union(each.irrevocable for each in known),
        static=_union(each.static for each in known),
        static_schema=any(each.static_schema for each in known),
        earliest_stages=_union(each.earliest_stages for each in known),
        input_copies=_union(each.input_copies for each in known),
        justification=_justification(parts),
    )


def _annotations(parts: Parts) -> TermAnnotations:
    """All that one of the parts wants to know about a term."""
    asked = [part.annotations.datatypes for part in parts if part.annotations.datatypes is not None]
    return TermAnnotations(
        tuple(dict.fromkeys(name for names in asked for name in names)) if asked else None,
        any(part.annotations.stand_ins for part in parts),
        tuple(dict.fromkeys(one for part in parts for one in part.annotations.restrictions)),
    )


def _equality(parts: Parts) -> Equality | None:
    found = [part.equality for part in parts if part.equality is not None]
    if not found:
        return None
    return Equality(
        _only([each.same_pairs for each in found], "pairs of equal things"),
        _only([each.same_keys for each in found], "keys of equal things"),
        _only([each.representative for each in found], "representatives of equal things") or found[0].representative,
        frozenset(name for each in found for name in each.names),
    )


def _justification(parts: Parts) -> Program | None:
    found = [part.hints.justification for part in parts if part.hints.justification is not None]
    if found and sum(bool(part.rules) for part in parts) > 1:
        raise RejectedError(
            [Diagnostic("E411", "consistency checks cannot be combined with other rules", help=TOGETHER)]
        )
    return found[0] if found else None


def _only(names: list[Predicate | None], what: str) -> Predicate | None:
    """The one name among some; those that have none do not object."""
    known = sorted({name for name in names if name is not None})
    if len(known) > 1:
        message = f"the programs have different names for the {what}: {', '.join(known)}"
        raise RejectedError([Diagnostic("E411", message, help=TOGETHER)])
    return known[0] if known else None


TOGETHER: Final = 'load the documents together, in one call: `load("a.ttl", "b.ttl", "rules.lars")`'
