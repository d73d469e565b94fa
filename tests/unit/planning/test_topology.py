"""Topologies: the paper's running example by number, everything else by simulating the bolts."""

from collections.abc import Iterator
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.planning.choose_topology import Costs, choices, choose, cost_of, cost_of_sides
from thalweg.planning.topology import Bolt, Taxonomy, Topology, assigned, groups, ltm, ntm, taxonomy

Pair = tuple[str, str]

INCLUSIONS = [
    ("Student", "Person"),
    ("Employee", "Person"),
    ("Faculty", "Employee"),
    ("Admin", "Employee"),
    ("Article", "Publication"),
    ("Book", "Publication"),
]
DISJOINT = [
    *combinations(("Person", "Publication", "Organization", "Work"), 2),
    ("Student", "Employee"),
    ("Article", "Book"),
    ("Faculty", "Admin"),
    ("Student", "Faculty"),
]
UNIVERSITY = taxonomy(INCLUSIONS, DISJOINT)


def sizes(topology: Topology) -> list[tuple[int, int]]:
    return [(len(bolt.conjunctions), len(bolt.inferences)) for bolt in topology]


def test_ntm_checks_all_37_pairs_that_follow() -> None:
    assert sizes(ntm(UNIVERSITY)) == [(37, 0)]


def test_three_bolts_check_1_2_and_6_pairs() -> None:
    topology = ltm(UNIVERSITY, bolts=3)
    assert [len(bolt.conjunctions) for bolt in topology] == [1, 2, 6]
    assert set(topology[0].inferences) == {("Faculty", "Employee"), ("Admin", "Employee")}
    assert set(topology[1].conjunctions) == {("Article", "Book"), ("Employee", "Student")}


def test_with_faculty_and_admin_alone_in_front_there_are_1_and_24() -> None:
    assert sizes(assigned(UNIVERSITY, (1, 2))) == [(1, 2), (24, 0)]


def test_the_first_two_groups_together_need_their_closure() -> None:
    first, last = assigned(UNIVERSITY, (2, 1))
    assert set(first.conjunctions) == {
        ("Admin", "Faculty"),
        ("Article", "Book"),
        ("Employee", "Student"),
        ("Faculty", "Student"),
        ("Admin", "Student"),
    }
    assert set(last.conjunctions) == {(min(pair), max(pair)) for pair in DISJOINT[:6]}


def test_a_pair_that_another_is_above_is_in_no_group() -> None:
    found = groups(UNIVERSITY)
    assert [len(group) for group in found] == [1, 2, 6]
    assert ("Faculty", "Student") not in {pair for group in found for pair in group}


@pytest.mark.parametrize("where", [(0, 3), (3, 0)])
def test_all_groups_in_one_bolt_are_ntm_and_an_empty_bolt_changes_nothing(where: tuple[int, int]) -> None:
    full = next(bolt for bolt in assigned(UNIVERSITY, where) if bolt.conjunctions)
    empty = next(bolt for bolt in assigned(UNIVERSITY, where) if not bolt.conjunctions)
    assert full.conjunctions == ntm(UNIVERSITY)[0].conjunctions
    assert (full.inferences, empty.inferences) == ((), ())


def test_a_bolt_forwards_what_later_ones_look_at() -> None:
    first, second, last = ltm(UNIVERSITY, bolts=3)
    assert "Faculty" not in first.forwards
    assert {"Student", "Employee", "Work"} <= set(first.forwards)
    assert set(second.forwards) == {"Person", "Publication", "Organization", "Work"}
    assert last.forwards == ()


def test_a_class_that_no_pair_is_about_becomes_the_next_above_in_the_first_bolt() -> None:
    known = taxonomy([*INCLUSIONS, ("FemaleEmployee", "Employee"), ("Dean", "Faculty")], DISJOINT)
    first, second = assigned(known, (1, 2))
    assert {("FemaleEmployee", "Employee"), ("Dean", "Employee")} <= set(first.inferences)
    assert ("Admin", "Dean") in first.conjunctions
    assert len(second.conjunctions) == 24


def test_of_two_classes_that_mean_the_same_one_stands_for_both() -> None:
    known = taxonomy([*INCLUSIONS, ("Staff", "Employee"), ("Employee", "Staff")], DISJOINT)
    assert [len(group) for group in groups(known)] == [1, 2, 6]
    assert ("Staff", "Employee") in assigned(known, (1, 2))[0].inferences


def test_pairs_without_an_order_are_in_the_last_group() -> None:
    crossed = taxonomy([("A", "B"), ("C", "D"), ("E", "F")], [("A", "D"), ("B", "C"), ("E", "X"), ("F", "Y")])
    assert groups(crossed) == ((("E", "X"),), (("A", "D"), ("B", "C"), ("F", "Y")))


def test_there_are_no_more_bolts_than_groups() -> None:
    assert ltm(UNIVERSITY, bolts=9) == ltm(UNIVERSITY, bolts=3)
    assert ltm(taxonomy([("A", "B")], []), bolts=2) == (Bolt(),)


def splits(count: int, bolts: int) -> Iterator[tuple[int, ...]]:
    """Every way to give so many groups to so many bolts, at least one to each."""
    if bolts == 1:
        yield (count,)
        return
    for first in range(1, count - bolts + 2):
        yield from ((first, *rest) for rest in splits(count - first, bolts - 1))


def most(topology: Topology) -> tuple[int, int]:
    operations = [len(bolt.conjunctions) + len(bolt.inferences) for bolt in topology]
    return max(operations), sum(operations)


NAMES = "abcdefghi"
POSITIONS = st.integers(0, len(NAMES) - 1)


@st.composite
def taxonomies(draw: st.DrawFn) -> Taxonomy:
    """Levels of classes, now and then with a way back up, and pairs of them."""
    inclusions = [
        (NAMES[sub], NAMES[draw(st.integers(0, sub - 1))]) for sub in range(1, len(NAMES)) if draw(st.booleans())
    ]
    inclusions += [
        (NAMES[one], NAMES[other]) for one, other in draw(st.lists(st.tuples(POSITIONS, POSITIONS), max_size=2))
    ]
    pairs = draw(st.lists(st.sampled_from([*combinations(NAMES, 2)]), min_size=1, max_size=8, unique=True))
    return taxonomy(inclusions, pairs)


def above(known: Taxonomy, name: str) -> set[str]:
    bits = known.above[known.place[name]]
    return {other for other in known.classes if bits >> known.place[other] & 1}


def clashes(known: Taxonomy, classes: set[str]) -> bool:
    every = {sup for name in classes for sup in above(known, name)}
    return any(one in every and other in every for one, other in known.disjoint)


def simulated(topology: Topology, classes: set[str]) -> bool:
    """Whether an individual in these classes is found on its way through the bolts, which see what they are sent."""
    there, found = set(classes), False
    for bolt in topology:
        found |= any(one in there and other in there for one, other in bolt.conjunctions)
        there = {sup for sub, sup in bolt.inferences if sub in there} | (there & set(bolt.forwards))
    return found


@given(taxonomies())
def test_no_topology_loses_or_invents_a_clash(known: Taxonomy) -> None:
    count = len(groups(known))
    tried = [ntm(known), *(ltm(known, bolts) for bolts in range(1, count + 1))]
    tried += [assigned(known, (first, count - first)) for first in range(count + 1)]
    for one, other in combinations(known.classes, 2):
        # Who is in a class that nothing can be in is told at once, without any bolt.
        if not (clashes(known, {one}) or clashes(known, {other})):
            for topology in tried:
                assert simulated(topology, {one, other}) == clashes(known, {one, other})


@given(taxonomies())
def test_the_assignment_is_the_best_there_is(known: Taxonomy) -> None:
    count = len(groups(known))
    for bolts in range(1, count + 1):
        assert most(ltm(known, bolts)) == min(most(assigned(known, split)) for split in splits(count, bolts))


def test_the_cost_of_a_class_depends_on_its_partners_and_its_way() -> None:
    costs = Costs(conjunction=1, caching=10, inference=100, shuffle=1000)
    bolts = ltm(UNIVERSITY, bolts=3)
    # Faculty is kept, compared, made Employee and sent on; so is that as Employee, and then as Person, which is last.
    assert cost_of(bolts, {"Faculty": 1.0}, costs) == (11 + 100 + 1000) + (11 + 100 + 1000) + 13
    assert cost_of(bolts, {"Work": 2.0}, costs) == 2 * (1000 + 1000 + 13)
    assert cost_of(ntm(UNIVERSITY), {"Work": 1.0}, costs) == 10 + 9


def test_frequencies_and_the_price_of_a_shuffle_decide() -> None:
    mostly_staff = {"Faculty": 0.5, "Admin": 0.5}
    cheap = Costs(conjunction=1, caching=0, inference=0.1)
    found = {choice.method: choice for choice in choices(UNIVERSITY, mostly_staff, cheap, bolts=3)}
    assert found["ltm"].cost < found["ntm"].cost
    moved = Costs(conjunction=1, caching=0, inference=0.1, shuffle=100)
    dear = {choice.method: choice for choice in choices(UNIVERSITY, mostly_staff, moved, bolts=3)}
    assert dear["ltm"].cost > dear["ntm"].cost


def test_many_partners_are_best_seen_as_sides() -> None:
    wide = taxonomy([(f"{side}{n}", side) for side in "AB" for n in range(100)], [("A", "B")])
    rates = dict.fromkeys(wide.classes, 1 / len(wide.classes))
    assert choose(wide, rates).method == "sides"
    assert choose(taxonomy([], [("A", "B")]), {"A": 1.0}).method == "ntm"


def test_a_class_beside_all_pairs_costs_nothing() -> None:
    known = taxonomy([("Tree", "Plant")], [("A", "B")])
    assert cost_of_sides(known, {"Tree": 1.0}) == 0
