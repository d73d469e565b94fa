"""Random patterns of events: nested operators, `NOT` in every place, joins, and clauses that look at triples."""

from collections.abc import Mapping
from itertools import count

from hypothesis import strategies as st

from thalweg.ir.pattern_semantics import has_open_not
from thalweg.ir.patterns import (
    Absent,
    Both,
    Clause,
    Either,
    Filter,
    Occurs,
    Operand,
    Pattern,
    Sequence,
    Triple,
    occurrences,
)

NAMES = ("A", "B", "C")
VARIABLES = ("x", "y", "z")


@st.composite
def operands(draw: st.DrawFn) -> Operand:
    """Nested operators, `NOT` in every place where it may stand."""
    places = count()

    def operand(depth: int, under_not: bool) -> Operand:
        kind = draw(st.sampled_from(("event", "SEQ", "SEQ", "AND", "OR"))) if depth else "event"
        if kind == "event":
            return Occurs(draw(st.sampled_from(NAMES)), next(places))
        size = draw(st.integers(2, 3))
        positive = draw(st.integers(0, size - 1))
        found: list[Operand] = []
        for number in range(size):
            absent = kind != "OR" and not under_not and number != positive and draw(st.booleans())
            one = operand(depth - 1, under_not or absent)
            found.append(Absent(one) if absent else one)
        return {"SEQ": Sequence, "AND": Both, "OR": Either}[kind](tuple(found))

    return operand(draw(st.integers(0, 2)), under_not=False)


@st.composite
def patterns(draw: st.DrawFn) -> Pattern:
    operand = draw(operands())
    places = list(occurrences(operand))
    is_open = has_open_not(operand, frozenset(one.place for one in places))
    modifier = draw(st.sampled_from((None, "EVERY", "EVERY", "FIRST") if is_open else (None, "EVERY", "FIRST", "LAST")))
    within = draw(st.integers(0, 6) if is_open else st.none() | st.integers(0, 6))
    clauses = []
    for name in sorted({one.event for one in places}):
        variables = draw(st.sets(st.sampled_from(VARIABLES)))
        clauses.append(Clause(name, tuple(Triple(f"?{one}", "<p>", "<o>") for one in sorted(variables))))
    bound = sorted({name for clause in clauses for name in clause.variables})
    if bound and draw(st.booleans()):
        variables = tuple(draw(st.lists(st.sampled_from(bound), min_size=1, max_size=2, unique=True)))
        clauses[0] = Clause(clauses[0].event, clauses[0].triples, (Filter("unequal", variables),))
    return Pattern(operand, modifier, within, tuple(clauses))


MENU = (
    (),
    (Triple("?e", "<p>", "?x"),),
    (Triple("?e", "<p>", "?y"), Triple("?y", "<q>", "?x")),
    (Triple("?e", "<p>", "?x"), Triple("?z", "<q>", "?x")),
)
# About one variable, about those of different events, and about numbers, which not every term is.
FILTERS = (
    Filter("(?x != <urn:thalweg:iri:1>)", ("x",)),
    Filter("(?x != ?y)", ("x", "y")),
    Filter("(?a != ?b)", ("a", "b")),
    Filter("(?x > 0)", ("x",)),
    Filter("(?n < 2)", ("n",)),
)


@st.composite
def looking(
    draw: st.DrawFn, pattern: Pattern, renamed: Mapping[str, str], menu: tuple[tuple[Triple, ...], ...] = MENU
) -> Pattern:
    """A pattern with other names and with clauses of a menu."""
    operand = _renamed(pattern.operand, renamed)
    clauses = []
    for name in sorted({one.event for one in occurrences(operand)}):
        triples = tuple(_own(triple, name) for triple in draw(st.sampled_from(menu)))
        clauses.append(Clause(name, triples))
    bound = {name for clause in clauses for name in clause.variables}
    possible = [one for one in FILTERS if bound.issuperset(one.variables)]
    for place, clause in enumerate(clauses):
        if clause.triples and possible and draw(st.booleans()):
            clauses[place] = Clause(clause.event, clause.triples, (draw(st.sampled_from(possible)),))
    return Pattern(operand, pattern.modifier, pattern.within, tuple(clauses))


def _own(triple: Triple, name: str) -> Triple:
    """The individual is a variable of each name's own."""
    return Triple(triple.subject.replace("?e", f"?{name.lower()}"), triple.predicate, triple.object)


def _renamed(operand: Operand, names: Mapping[str, str]) -> Operand:
    match operand:
        case Occurs(event, place):
            return Occurs(names.get(event, event), place)
        case Absent(inner):
            return Absent(_renamed(inner, names))
        case Sequence(some) | Both(some) | Either(some):
            return type(operand)(tuple(_renamed(one, names) for one in some))
