"""*Clauses of many patterns asked together = each by the semantics*, with constants and variables alike."""

from hypothesis import event, given
from hypothesis import strategies as st

from thalweg.ir.pattern_semantics import Instance, Solution, TripleTerms, solutions
from thalweg.ir.patterns import Clause, Triple
from thalweg.kinds.events.event_clauses import Subscriptions, TripleIndex

TERMS = ("<r1>", "<r2>", "<d>")
INDIVIDUALS = ("<x>", "<y>")
PREDICATES = ("<at>", "<in>")
TRIPLES = st.tuples(st.sampled_from((*INDIVIDUALS, *TERMS)), st.sampled_from(PREDICATES), st.sampled_from(TERMS))


@st.composite
def clauses(draw: st.DrawFn) -> Clause:
    """A clause of one or two triples, in whose places there are variables or constants."""
    anchor = draw(st.sampled_from(("?o", "?o", "?o", "<x>")))
    first = Triple(anchor, "<at>", draw(st.sampled_from(("?r", "?o", *TERMS))))
    bound = [term for term in (first.subject, first.object) if term[0] == "?"]
    subject = draw(st.sampled_from((*bound, "?s", "<r1>")))
    predicate = draw(st.sampled_from(("<in>", "<in>", "<at>", "?p")))
    second = Triple(subject, predicate, draw(st.sampled_from(("?d", "?r", "<d>", "<r1>"))))
    return Clause("A", (first, second) if draw(st.booleans()) else (first,))


def meant(clause: Clause, instance: Instance, background: list[TripleTerms]) -> set[Solution]:
    return solutions(clause, instance.individuals, {*instance.triples, *background})


@given(
    st.lists(clauses(), min_size=1, max_size=12),
    st.sets(st.integers(0, 11)),
    st.lists(TRIPLES, max_size=4),
    st.lists(TRIPLES, min_size=1, max_size=4),
)
def test_clauses_are_asked_together_as_each_alone(
    wanted: list[Clause], removed: set[int], background: list[TripleTerms], graph: list[TripleTerms]
) -> None:
    index = TripleIndex(background)
    together = Subscriptions([], index)
    for number, clause in enumerate(wanted):
        together.add(number, clause, (), index)
    for number in sorted(removed):
        if number < len(wanted):
            together.remove(number)
    instance = Instance("A", 1, 1, "<x>", triples=tuple(graph))
    asked = together.asked(instance)
    assert len(set(asked)) == len(asked)
    expected = {
        (number, solution)
        for number, clause in enumerate(wanted)
        if number not in removed
        for solution in meant(clause, instance, background)
    }
    event(f"{'some' if expected else 'no'} solutions")
    assert set(asked) == expected
