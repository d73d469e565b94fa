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
    interfaces = [part.interface for part in parts]
    is_default = all(interface.outputs is None for interface in interfaces)
    return Interface(
        inputs=_union(interface.inputs for interface in interfaces),
        outputs=None if is_default else _union(part.outputs for part in parts),
        imports=_union(interface.imports for interface in interfaces),
        exports=_union(interface.exports for interface in interfaces),
    )


def _hints(parts: Parts) -> Hints:
    all_hints = [part.hints for part in parts]
    return Hints(
        irrevocable=_union(hints.irrevocable for hints in all_hints),
        static=_union(hints.static for hints in all_hints),
        static_schema=any(hints.static_schema for hints in all_hints),
        earliest_stages=_union(hints.earliest_stages for hints in all_hints),
        input_copies=_union(hints.input_copies for hints in all_hints),
        justification=_justification(parts),
    )


def _annotations(parts: Parts) -> TermAnnotations:
    """The annotations that any of the parts asks for."""
    datatypes = [part.annotations.datatypes for part in parts if part.annotations.datatypes is not None]
    return TermAnnotations(
        tuple(dict.fromkeys(name for names in datatypes for name in names)) if datatypes else None,
        any(part.annotations.stand_ins for part in parts),
        tuple(dict.fromkeys(restriction for part in parts for restriction in part.annotations.restrictions)),
    )


def _equality(parts: Parts) -> Equality | None:
    equalities = [part.equality for part in parts if part.equality is not None]
    if not equalities:
        return None
    return Equality(
        _only([equality.same_pairs for equality in equalities], "pairs of equal things"),
        _only([equality.same_keys for equality in equalities], "keys of equal things"),
        _only([equality.representative for equality in equalities], "representatives of equal things")
        or equalities[0].representative,
        frozenset(name for equality in equalities for name in equality.names),
    )


def _justification(parts: Parts) -> Program | None:
    justifications = [part.hints.justification for part in parts if part.hints.justification is not None]
    if justifications and sum(bool(part.rules) for part in parts) > 1:
        raise RejectedError(
            [Diagnostic("E411", "consistency checks cannot be combined with other rules", help=TOGETHER)]
        )
    return justifications[0] if justifications else None


def _only(names: list[Predicate | None], what: str) -> Predicate | None:
    """The only name that is not None; `RejectedError` where there are several."""
    distinct = sorted({name for name in names if name is not None})
    if len(distinct) > 1:
        message = f"the programs have different names for the {what}: {', '.join(distinct)}"
        raise RejectedError([Diagnostic("E411", message, help=TOGETHER)])
    return distinct[0] if distinct else None


TOGETHER: Final = 'load the documents together, in one call: `load("a.ttl", "b.ttl", "rules.lars")`'
