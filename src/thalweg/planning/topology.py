"""Consistency checks laid out as bolts: which classes meet where, and what they become on the way.

    Faculty, Admin ⊑ Employee    Student, Employee ⊑ Person    Person, Work disjoint    Student, Employee disjoint
    Faculty, Admin disjoint

NTM checks every pair that follows in one bolt. LTM is Algorithm 1 of Gao, Dell'Aglio, Pan and Bernstein, "Distributed
Stream Consistency Checking": a bolt checks a few pairs, then its classes become the next classes above that later bolts
ask for, and are not seen again.

    bolt 1:  Faculty–Admin       Faculty → Employee    Admin → Employee
    bolt 2:  Student–Employee    Student → Person      Employee → Person
    bolt 3:  Person–Work

A class that an individual is in comes to each bolt as itself, or as the classes next above it that are still asked for:
that is why no clash is lost. What can go wrong is a class that is let go while a later bolt still asks for it; so all
pairs of one class are in one bolt, and a class is never asked for after one above it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import combinations
from operator import or_
from typing import NamedTuple

from thalweg.planning.cliques import components

Pair = tuple[str, str]


class Bolt(NamedTuple):
    """The operations of one bolt, and the streams that it only passes on.

    A conjunction finds individuals in both classes; an inference makes members of the first members of the second.
    """

    conjunctions: tuple[Pair, ...] = ()
    inferences: tuple[Pair, ...] = ()
    forwards: tuple[str, ...] = ()


Topology = tuple[Bolt, ...]
Groups = tuple[tuple[tuple[int, int], ...], ...]


@dataclass(frozen=True)
class Taxonomy:
    """Classes, for each the classes above it (bits by position, itself included), and the pairs said to be disjoint.

    Of the classes of one of `large` no two share a member: there are too many to list the pairs.
    """

    classes: tuple[str, ...]
    above: tuple[int, ...]
    disjoint: tuple[Pair, ...]
    large: tuple[tuple[str, ...], ...] = ()

    def in_pairs(self) -> "Taxonomy":
        """The same taxonomy with every disjoint pair listed."""
        pairs = (pair for members in self.large for pair in combinations(members, 2) if pair[0] != pair[1])
        return replace(self, disjoint=(*self.disjoint, *pairs), large=())

    @cached_property
    def sided(self) -> int:
        """The classes that a disjointness is about, and those below, as bits."""
        sides = {name for members in (*self.disjoint, *self.large) for name in members}
        return reduce(or_, (self.below[self.place[name]] for name in sides), 0)

    @cached_property
    def place(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.classes)}

    @cached_property
    def below(self) -> tuple[int, ...]:
        below = [0] * len(self.classes)
        for sub, above in enumerate(self.above):
            for sup in bits(above):
                below[sup] |= 1 << sub
        return tuple(below)

    @cached_property
    def sides(self) -> tuple[tuple[int, int], ...]:
        """The disjoint pairs by position; of classes that mean the same, the first stands for all."""
        first = {above: position for position, above in reversed(list(enumerate(self.above)))}
        same = [first[above] for above in self.above]
        pairs = (sorted((same[self.place[left]], same[self.place[right]])) for left, right in self.disjoint)
        return tuple(dict.fromkeys((left, right) for left, right in pairs if left != right))


def taxonomy(inclusions: Iterable[Pair], disjoint: Iterable[Pair]) -> Taxonomy:
    """The taxonomy of some inclusions.

    >>> taxonomy([("Student", "Person")], [("Person", "Work")])
    Taxonomy(classes=('Person', 'Student', 'Work'), above=(1, 3, 4), disjoint=(('Person', 'Work'),), large=())
    """
    edges, pairs = list(inclusions), tuple(disjoint)
    classes = tuple(sorted({name for pair in (*edges, *pairs) for name in pair}))
    place = {name: position for position, name in enumerate(classes)}
    above = [1 << position for position in range(len(classes))]
    for _ in classes:
        for sub, sup in edges:
            above[place[sub]] |= above[place[sup]]
    return Taxonomy(classes, tuple(above), pairs)


def bits(mask: int) -> Iterator[int]:
    """The positions in a bit set.

    >>> list(bits(0b101))
    [0, 2]
    """
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def ntm(taxonomy: Taxonomy) -> Topology:
    """One bolt that checks every pair that follows.

    >>> ntm(taxonomy([("Student", "Person")], [("Person", "Work")]))[0].conjunctions
    (('Person', 'Work'), ('Student', 'Work'))
    """
    return (Bolt(_conjunctions(taxonomy, _Part(taxonomy.sides, _everything(taxonomy)))),)


def groups(taxonomy: Taxonomy) -> tuple[tuple[Pair, ...], ...]:
    """The essential disjoint pairs in the order in which they can be checked.

    A pair is essential when no other is above it. All pairs of a class are in one group. A group comes after those with
    classes below its own; where that leaves a choice, it stands as late as it can, as in the paper's Figure 4. What no
    order exists for, because classes of each are below classes of the other, makes the last group.

    >>> groups(taxonomy([("Student", "Person")], [("Person", "Work"), ("Student", "Employee")]))
    ((('Employee', 'Student'),), (('Person', 'Work'),))
    """
    names = taxonomy.classes
    return tuple(tuple((names[left], names[right]) for left, right in group) for group in in_order(taxonomy))


def ltm(taxonomy: Taxonomy, bolts: int) -> Topology:
    """The groups on at most a number of bolts, so that the bolt with most operations has as few as possible.

    >>> staff = taxonomy([("Student", "Person")], [("Person", "Work"), ("Student", "Employee")])
    >>> [(len(bolt.conjunctions), bolt.inferences) for bolt in ltm(staff, bolts=2)]
    [(1, (('Student', 'Person'),)), (1, ())]
    """
    sizes = best_sizes(taxonomy, in_order(taxonomy), bolts)
    return assigned(taxonomy, sizes[-1]) if sizes else (Bolt(),)


def best_sizes(taxonomy: Taxonomy, groups: Groups, bolts: int) -> list[tuple[int, ...]]:
    """How many groups each bolt takes at best, for one bolt, for two, and so on."""
    most = min(bolts, len(groups))
    costs = (
        {(i, j): _operations(taxonomy, groups, i, j) for i, j in combinations(range(len(groups) + 1), 2)}
        if most
        else {}
    )
    best: dict[tuple[int, int], tuple[int, int, tuple[int, ...]]] = {(0, 0): (0, 0, ())}
    for count in range(1, most + 1):
        for end in range(count, len(groups) + 1):
            ways = ((best[count - 1, start], start) for start in range(end) if (count - 1, start) in best)
            best[count, end] = min(
                (max(heaviest, costs[start, end]), total + costs[start, end], (*cuts, end - start))
                for (heaviest, total, cuts), start in ways
            )
    return [best[count, len(groups)][2] for count in range(1, most + 1)]


def assigned(taxonomy: Taxonomy, sizes: Sequence[int]) -> Topology:
    """The topology in which each bolt takes a number of the groups, in their order; a bolt may take none.

    >>> staff = taxonomy([("Student", "Person")], [("Person", "Work"), ("Student", "Employee")])
    >>> [len(bolt.conjunctions) for bolt in assigned(staff, [0, 2])]
    [0, 3]
    """
    groups = in_order(taxonomy)
    ends = [sum(sizes[: bolt + 1]) for bolt in range(len(sizes))]
    assert ends[-1:] == [len(groups)] or not groups, "every group has a bolt"
    return tuple(_bolt(taxonomy, groups, end - size, end) for size, end in zip(sizes, ends, strict=True))


class _Part(NamedTuple):
    """Some disjoint pairs, and the classes that are there to be checked against them."""

    pairs: tuple[tuple[int, int], ...]
    present: int


def _everything(taxonomy: Taxonomy) -> int:
    return (1 << len(taxonomy.classes)) - 1


def _bolt(taxonomy: Taxonomy, groups: Groups, start: int, end: int) -> Bolt:
    names = taxonomy.classes
    present, later = _present(taxonomy, groups, start), sides_of(groups[end:])
    inferred = _inferences(taxonomy, groups, start, end)
    inferences = ((names[sub], names[sup]) for sub, sups in inferred.items() for sup in bits(sups))
    forwards = tuple(names[n] for n in bits(present & ~_taken(taxonomy, groups, start, end) if later else 0))
    return Bolt(_conjunctions(taxonomy, _part(taxonomy, groups, start, end)), tuple(inferences), forwards)


def _operations(taxonomy: Taxonomy, groups: Groups, start: int, end: int) -> int:
    conjunctions = (
        sum(partners.bit_count() for partners in _apart(taxonomy, _part(taxonomy, groups, start, end)).values()) // 2
    )
    return conjunctions + sum(sups.bit_count() for sups in _inferences(taxonomy, groups, start, end).values())


def _part(taxonomy: Taxonomy, groups: Groups, start: int, end: int) -> _Part:
    return _Part(tuple(pair for group in groups[start:end] for pair in group), _present(taxonomy, groups, start))


def _present(taxonomy: Taxonomy, groups: Groups, start: int) -> int:
    """The classes that arrive at a bolt: after the first groups only those that later ones ask for."""
    return sides_of(groups[start:]) if start else _everything(taxonomy)


def _taken(taxonomy: Taxonomy, groups: Groups, start: int, end: int) -> int:
    """The classes that end at a bolt. The first one that checks anything takes those that no pair is about, too."""
    if start == end:
        return 0
    return _present(taxonomy, groups, start) & ~sides_of(groups[end:])


def _inferences(taxonomy: Taxonomy, groups: Groups, start: int, end: int) -> dict[int, int]:
    """What each class that ends at a bolt becomes: the classes next above it that later bolts ask for."""
    later = sides_of(groups[end:])
    inferences = {
        sub: _nearest(taxonomy, taxonomy.above[sub] & later) for sub in bits(_taken(taxonomy, groups, start, end))
    }
    return {sub: sups for sub, sups in inferences.items() if sups}


def _nearest(taxonomy: Taxonomy, among: int) -> int:
    """The classes of a set that have no other class of the set below them."""
    return among & ~reduce(or_, (taxonomy.above[n] & ~(1 << n) for n in bits(among)), 0)


def _conjunctions(taxonomy: Taxonomy, part: _Part) -> tuple[Pair, ...]:
    apart = _apart(taxonomy, part)
    return tuple(
        (taxonomy.classes[left], taxonomy.classes[right])
        for left in apart
        for right in bits(apart[left])
        if left < right
    )


def _apart(taxonomy: Taxonomy, part: _Part) -> dict[int, int]:
    """For each class that is present those it is disjoint with."""
    by_side: dict[int, int] = {}
    for left, right in part.pairs:
        by_side[left] = by_side.get(left, 0) | taxonomy.below[right] & part.present
        by_side[right] = by_side.get(right, 0) | taxonomy.below[left] & part.present
    apart: dict[int, int] = {}
    for side, partners in by_side.items():
        for n in bits(taxonomy.below[side] & part.present):
            apart[n] = apart.get(n, 0) | partners
    return {n: apart[n] & ~(1 << n) for n in sorted(apart)}


def sides_of(groups: Groups) -> int:
    """The classes that some groups are about, as bits."""
    return reduce(or_, (1 << side for group in groups for pair in group for side in pair), 0)


def in_order(taxonomy: Taxonomy) -> Groups:
    """The groups by position."""
    components = _components(_essential(taxonomy))
    after = _successors(taxonomy, components)
    levels = _levels(after, _ordered(after))
    highest = max(levels.values(), default=-1)
    return tuple(
        tuple(pair for n, component in enumerate(components) if levels[n] == level for pair in component)
        for level in range(highest, -1, -1)
    )


def _essential(taxonomy: Taxonomy) -> list[tuple[int, int]]:
    """The pairs without those that another one is above."""
    partners: dict[int, int] = {}
    for left, right in taxonomy.sides:
        partners[left] = partners.get(left, 0) | 1 << right
        partners[right] = partners.get(right, 0) | 1 << left
    sides = sides_of((taxonomy.sides,))

    def is_covered(left: int, right: int) -> bool:
        for sup in bits(taxonomy.above[left] & sides):
            over = partners[sup] & taxonomy.above[right]
            if over & ~(1 << right if sup == left else 0):
                return True
        return False

    return sorted(pair for pair in taxonomy.sides if not is_covered(*pair))


def _components(pairs: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """The pairs, those together that share a class, or share one with a third."""
    groups = components((pair[0] for pair in pairs), pairs)
    number = {side: number for number, group in enumerate(groups) for side in group}
    grouped: list[list[tuple[int, int]]] = [[] for _ in groups]
    for pair in pairs:
        grouped[number[pair[0]]].append(pair)
    return grouped


def _successors(taxonomy: Taxonomy, components: list[list[tuple[int, int]]]) -> list[set[int]]:
    """For each component those with a class above one of its own, which may be itself."""
    owner = {side: n for n, component in enumerate(components) for pair in component for side in pair}
    sides = reduce(or_, (1 << side for side in owner), 0)
    successors: list[set[int]] = [set() for _ in components]
    for side, n in owner.items():
        successors[n].update(owner[sup] for sup in bits(taxonomy.above[side] & sides & ~(1 << side)))
    return successors


def _ordered(after: list[set[int]]) -> list[int]:
    """The components that an order exists for, each before its successors."""
    waiting_for = [0] * len(after)
    for successors in after:
        for successor in successors:
            waiting_for[successor] += 1
    ordered = [n for n, count in enumerate(waiting_for) if count == 0]
    for n in ordered:
        for successor in sorted(after[n]):
            waiting_for[successor] -= 1
            if waiting_for[successor] == 0:
                ordered.append(successor)
    return ordered


def _levels(after: list[set[int]], ordered: list[int]) -> dict[int, int]:
    """How many groups come after that of each component."""
    levels = dict.fromkeys(range(len(after)), 0)
    for n in reversed(ordered):
        levels[n] = max((levels[successor] + 1 for successor in after[n]), default=0)
    return levels


def pairs_in(taxonomy: Taxonomy) -> int:
    """How many pairs follow from those said to be disjoint."""
    part = _Part(taxonomy.sides, _everything(taxonomy))
    return sum(partners.bit_count() for partners in _apart(taxonomy, part).values()) // 2
