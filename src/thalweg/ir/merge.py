"""One program from several parts: for every field of a program, what becomes of it.

A field that is added to `Program` needs a line here, which a test enforces: what is forgotten would be dropped without
a word. Most fields are sets, of which the union is taken.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from thalweg.diagnostics import Diagnostic, Rejected
from thalweg.ir.nodes import Equality, Program, TermAnnotations
from thalweg.model.predicate import Predicate

Parts = Sequence[Program]


def merge(parts: Parts) -> Program:
    """One program from its parts; `Rejected` where they contradict each other.

    >>> from thalweg.ir.nodes import Atom, Rule
    >>> merge([Program((Rule(Atom("p")),)), Program((Rule(Atom("q")),))]).derived == {"p/0", "q/0"}
    True
    """
    return Program(**{name: merged(parts) for name, merged in MERGED.items()})


def _joined(name: str) -> Callable[[Parts], tuple[Any, ...]]:
    return lambda parts: tuple(one for part in parts for one in getattr(part, name))


def _union(name: str) -> Callable[[Parts], frozenset[Any]]:
    return lambda parts: frozenset(one for part in parts for one in getattr(part, name))


def _told(parts: Parts) -> frozenset[Predicate] | None:
    """What a part keeps to itself is not output; a part that does not say outputs all that it derives."""
    if all(part.outputs is None for part in parts):
        return None
    return frozenset(name for part in parts for name in (part.derived if part.outputs is None else part.outputs))


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
        _only([each.edges for each in found], "edges between equal things"),
        _only([each.alike for each in found], "keys of equal things"),
        _only([each.links for each in found], "links of equal things") or found[0].links,
        frozenset(name for each in found for name in each.names),
    )


def _reasons(parts: Parts) -> Program | None:
    found = [part.reasons for part in parts if part.reasons is not None]
    if found and sum(bool(part.rules) for part in parts) > 1:
        raise Rejected([Diagnostic("E411", "consistency checks cannot be combined with other rules", help=TOGETHER)])
    return found[0] if found else None


def _only(names: list[Predicate | None], what: str) -> Predicate | None:
    """The one name among some; those that have none do not object."""
    known = sorted({name for name in names if name is not None})
    if len(known) > 1:
        message = f"the programs have different names for the {what}: {', '.join(known)}"
        raise Rejected([Diagnostic("E411", message, help=TOGETHER)])
    return known[0] if known else None


TOGETHER: Final = 'load the documents together, in one call: `load("a.ttl", "b.ttl", "rules.lars")`'

MERGED: Final[dict[str, Callable[[Parts], Any]]] = {
    "rules": _joined("rules"),
    "background": _joined("background"),
    "imports": _union("imports"),
    "exports": _union("exports"),
    "irrevocable": _union("irrevocable"),
    "outputs": _told,
    "streamed": _union("streamed"),
    "recorded": _union("recorded"),
    "annotations": _annotations,
    "static_schema": lambda parts: any(part.static_schema for part in parts),
    "equality": _equality,
    "pinned": _union("pinned"),
    "gathered": _union("gathered"),
    "static": _union("static"),
    "reasons": _reasons,
}
