"""What an ontology forbids, and everything that is forbidden with it.

    DisjointClasses(Person Work)    Student ⊑ Person              no student is a work, because of that axiom
    A ⊑ ∃r    ∃r⁻ ⊑ B    ∃r⁻ ⊑ C    DisjointClasses(B C)          r is empty, and so is A, because of that axiom
    SubClassOf(ObjectIntersectionOf(A B) C)                       A ⊓ B gets a name, all'1, below A, B and C

Concepts are numbered, and what is above and below each is a bit set: bit `n` stands for concept `n`. What a hierarchy
says about many pairs is said once, by its two sides; pairs are counted without being listed. A conjunction on the left
(DL-Lite_horn) is a concept of its own, which individuals are in when they are in all its parts: the one place where
paths meet. What does not fit into DL-Lite is named in `skipped`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, permutations
from operator import and_, or_
from typing import Final, NamedTuple

from thalweg.languages.owl import axioms as ax
from thalweg.languages.owl import expressions as ex
from thalweg.languages.owl.axioms import Axiom, Declaration, show
from thalweg.languages.owl.dl_lite import Basic, Existential, Role, TBox, normal_form
from thalweg.languages.owl.expressions import NOTHING, THING, ClassExpression
from thalweg.languages.owl.left_out import REST_IS_USED
from thalweg.languages.owl.unsatisfiable import InclusionClosure
from thalweg.model.fact import Fact
from thalweg.planning.topology import Taxonomy, bits

# Everything is related to itself by a role of its own, which lies below every reflexive one.
SELF: Final = Role("self'", fresh=True)
# An axiom of every ontology: whatever is asserted to be in the class without members breaks it.
BUILT_IN: Final = show(ax.DisjointClasses((NOTHING, THING)))
# The most disjoint pairs that are listed; where there are more, only those of axioms with a few members are.
_LISTED: Final = 100_000
_FEW: Final = 5
# The most steps that are made to find the pairs that only conjunctions keep apart.
_MOST_STEPS: Final = 10_000_000
_PARTLY: Final = "it is not checked that the union has no other members"


class Order(NamedTuple):
    """What is above and what is below each of some numbered things, itself included, as bit sets."""

    above: list[int]
    below: list[int]


@dataclass(frozen=True, slots=True)
class DisjointGroup:
    """Nothing is in two of the members, says the axiom. Members are numbers of concepts, or of roles."""

    axiom: str
    members: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Negative:
    """The negative inclusions of an ontology, closed.

    `streams` are the concepts that facts can be about; `meets` the conjunctions, each with its parts; `alone` the
    concepts that break an axiom by themselves (bits), by axiom. Of roles `disjoint_roles` and `irreflexive` are what
    is forbidden to pairs.
    """

    concepts: tuple[Basic, ...]
    order: Order
    streams: int
    meets: tuple[tuple[int, tuple[int, ...]], ...]
    disjoint: tuple[DisjointGroup, ...]
    alone: dict[str, int]
    roles: tuple[Role, ...]
    role_order: Order
    disjoint_roles: tuple[DisjointGroup, ...]
    irreflexive: tuple[DisjointGroup, ...]
    facts: tuple[Fact, ...]
    skipped: tuple[tuple[Axiom, str], ...]

    def name(self, concept: int) -> str:
        """The name of a concept, which is also the predicate of what is known to be in it."""
        return name_of(self.concepts[concept])

    def taxonomy(self) -> Taxonomy:
        """The streams that a disjointness is about, their order, and the pairs that axioms call disjoint.

        Where pairs would be too many, axioms with more than a few members stay whole in `large`.

        >>> from thalweg.languages.owl.axioms import DisjointClasses, SubClassOf
        >>> close([SubClassOf("<A>", "<B>"), DisjointClasses(("<B>", "<C>")), SubClassOf("<B>", "<D>")]).taxonomy()
        Taxonomy(classes=('<A>', '<B>', '<C>'), above=(3, 2, 4), disjoint=(('<B>', '<C>'),), large=())
        """
        sides = {member for group in self.disjoint for member in group.members}
        mentioned = reduce(or_, (self.order.below[side] for side in sides), 0) & self.streams
        place = {concept: position for position, concept in enumerate(bits(mentioned))}
        above = (reduce(or_, (1 << place[n] for n in bits(self.order.above[c] & mentioned)), 0) for c in place)
        groups = [[member for member in group.members if member in place] for group in self.disjoint]
        most = _FEW if sum(len(members) ** 2 // 2 for members in groups) > _LISTED else len(place)
        pairs = (pair for members in groups if len(members) <= most for pair in combinations(members, 2))
        disjoint = {(self.name(a), self.name(b)): None for a, b in pairs if a != b}
        large = (tuple(map(self.name, members)) for members in groups if len(members) > most)
        return Taxonomy(tuple(map(self.name, place)), tuple(above), tuple(disjoint), tuple(large))

    def apart(self) -> list[int]:
        """For each concept those that share no member with it, as bits."""
        disjoint = [0] * len(self.concepts)
        for member, partners in self._partners().items():
            for concept in bits(self.order.below[member]):
                disjoint[concept] |= partners
        void, everything = reduce(or_, self.alone.values(), 0), (1 << len(disjoint)) - 1
        disjoint = [everything if void >> concept & 1 else partners | void for concept, partners in enumerate(disjoint)]
        meeting = ((left, other) for left, partners in self._joined() for other in bits(partners))
        for left, other in meeting if self.counts_conjunctions else ():
            if not disjoint[left] >> other & 1 and self._clash(left, other, disjoint, void):
                disjoint[left] |= 1 << other
                disjoint[other] |= 1 << left
        return disjoint

    def closure(self) -> tuple[int, int]:
        """How many pairs of named classes share no member; and how many pairs with an ∃R among them.

        >>> from thalweg.languages.owl.axioms import DisjointClasses, ObjectPropertyDomain, SubClassOf
        >>> axioms = [SubClassOf("<A>", "<B>"), DisjointClasses(("<B>", "<C>")), ObjectPropertyDomain("<r>", "<C>")]
        >>> close(axioms).closure()
        (2, 2)
        """
        apart, named = self.apart(), self._named()
        existentials = self.streams & sum(
            1 << n for n, concept in enumerate(self.concepts) if isinstance(concept, Existential)
        )
        classes = _pairs(apart, named)
        return classes, _pairs(apart, named | existentials) - classes

    @property
    def counts_conjunctions(self) -> bool:
        """Whether pairs that only a conjunction keeps apart are looked for: there may be too many to look at."""
        return len(self.meets) * sum(partners.bit_count() for _, partners in self._joined()) <= _MOST_STEPS

    def unsatisfiable(self) -> dict[str, tuple[str, ...]]:
        """The classes and the properties that nothing can be in, each with the axioms that forbid it."""
        shown = self._named() | sum(1 << n for n, c in enumerate(self.concepts) if c == THING or _is_property(c))
        axioms: dict[str, list[str]] = {}
        for axiom, concepts in self.alone.items():
            for concept in bits(concepts & shown):
                basic = self.concepts[concept]
                axioms.setdefault(basic.role.name if isinstance(basic, Existential) else basic, []).append(axiom)
        return {name: tuple(reasons) for name, reasons in axioms.items()}

    def classes(self) -> list[str]:
        """The classes that have a name."""
        return [self.name(concept) for concept in bits(self._named())]

    def _named(self) -> int:
        named = (n for n, concept in enumerate(self.concepts) if isinstance(concept, str) and concept[0] == "<")
        return sum(1 << n for n in named if self.concepts[n] not in (THING, NOTHING))

    def _partners(self) -> dict[int, int]:
        """For each member of a group everything that is in another member."""
        partners: dict[int, int] = {}
        for group in self.disjoint:
            below = [self.order.below[member] for member in group.members]
            before, after = [0], [0]
            for front, back in zip(below, reversed(below), strict=True):
                before.append(before[-1] | front)
                after.append(after[-1] | back)
            for place, member in enumerate(group.members):
                partners[member] = partners.get(member, 0) | before[place] | after[len(below) - place - 1]
        return partners

    def _joined(self) -> Iterator[tuple[int, int]]:
        """Concepts, each with those (bits) that it is together with in a conjunction that neither is in by itself."""
        for _, parts in self.meets:
            for concept in bits(reduce(or_, (self.order.below[part] for part in parts))):
                missing = [part for part in parts if not self.order.above[concept] >> part & 1]
                if 0 < len(missing) < len(parts):
                    yield concept, reduce(and_, (self.order.below[part] for part in missing))

    def _clash(self, left: int, other: int, apart: Sequence[int], void: int) -> bool:
        """Whether what is in both is in two concepts that have been found apart."""
        above = self.order.above[left] | self.order.above[other]
        before = 0
        while above != before:
            before = above
            for meet, parts in self.meets:
                if all(above >> part & 1 for part in parts):
                    above |= self.order.above[meet]
        return bool(above & void) or any(apart[concept] & above for concept in bits(above))


def name_of(basic: Basic) -> str:
    """The name of a concept.

    >>> name_of("<A>"), name_of(Existential(Role("<r>", inverse=True)))
    ('<A>', "some_inverse'<r>")
    """
    return basic if isinstance(basic, str) else f"{'some_inverse' if basic.role.inverse else 'some'}'{basic.role.name}"


def close(axioms: Iterable[Axiom], declarations: Iterable[Declaration] = ()) -> Negative:
    """The negative inclusions that follow from axioms.

    >>> from thalweg.languages.owl.axioms import DisjointClasses, SubClassOf
    >>> closure = close([SubClassOf("<A>", "<B>"), SubClassOf("<A>", "<C>"), DisjointClasses(("<B>", "<C>"))])
    >>> closure.unsatisfiable()
    {'<A>': ('DisjointClasses(<B> <C>)',)}
    """
    naming = _Naming(axioms)
    tbox = normal_form(naming.axioms, declarations)
    return _Closing(tbox, naming).negative()


class _Naming:
    """Gives names to conjunctions on the left, so that basic concepts remain."""

    def __init__(self, axioms: Iterable[Axiom]) -> None:
        self.axioms: list[Axiom] = []
        # For each axiom the one that says it, and the inclusion in that one.
        self.origins: list[Axiom] = []
        self.stated: list[Axiom] = []
        self.meets: dict[frozenset[str], str] = {}
        self.parts: dict[ClassExpression, str] = {}
        self.skipped: list[tuple[Axiom, str]] = []
        for axiom in axioms:
            self.origin = self.part_of_origin = axiom
            self.read(axiom)

    def read(self, axiom: Axiom) -> None:
        match axiom:
            case ax.SubClassOf(sub, ex.ObjectIntersectionOf(classes)):
                for sup in classes:
                    self.read(ax.SubClassOf(sub, sup))
            case ax.SubClassOf(sub, sup):
                self.part_of_origin = axiom
                self.say(ax.SubClassOf(self.left(sub), self.right(sup)))
            case ax.EquivalentClasses(classes):
                for sub, sup in permutations(classes, 2):
                    self.read(ax.SubClassOf(sub, sup))
            case ax.DisjointClasses(classes):
                self.say(ax.DisjointClasses(tuple(map(self.left, classes))))
            case ax.DisjointUnion(name, classes):
                members = tuple(map(self.left, classes))
                self.say(ax.DisjointClasses(members))
                for member in members:
                    self.say(ax.SubClassOf(member, name))
                self.skipped.append((axiom, _PARTLY))
            case _:
                self.say(axiom)

    def say(self, axiom: Axiom) -> None:
        self.axioms.append(axiom)
        self.origins.append(self.origin)
        self.stated.append(self.part_of_origin)

    def left(self, expression: ClassExpression) -> ClassExpression:
        match expression:
            case ex.ObjectUnionOf(classes):
                return ex.ObjectUnionOf(tuple(map(self.left, classes)))
            case ex.ObjectIntersectionOf(classes):
                return self.meet(dict.fromkeys(part for part in map(self.left, classes) if part != THING))
        return expression

    def right(self, expression: ClassExpression) -> ClassExpression:
        match expression:
            case ex.ObjectIntersectionOf(classes):
                return ex.ObjectIntersectionOf(tuple(map(self.right, classes)))
            case ex.ObjectComplementOf(negated):
                return ex.ObjectComplementOf(self.left(negated))
        return expression

    def meet(self, classes: Iterable[ClassExpression]) -> ClassExpression:
        parts = list(classes)
        if NOTHING in parts:
            return NOTHING
        if len(parts) < 2:
            return next(iter(parts), THING)
        return self.meets.setdefault(frozenset(map(self.part, parts)), f"all'{len(self.meets) + 1}")

    def part(self, expression: ClassExpression) -> str:
        if isinstance(expression, str):
            return expression
        if expression not in self.parts:
            self.parts[expression] = f"part'{len(self.parts) + 1}"
            self.say(ax.SubClassOf(expression, self.parts[expression]))
        return self.parts[expression]


class _Closing:
    """Numbers the concepts and roles of a TBox, and follows what it forbids."""

    def __init__(self, tbox: TBox, naming: _Naming) -> None:
        self.tbox = tbox
        self.naming = naming
        self.closure = InclusionClosure(tbox)
        self.roles = self.all_roles()
        self.role_place = {role: n for n, role in enumerate(self.roles)}
        self.role_order = self.order_of_roles()
        self.concepts = self.all_concepts()
        self.place = {concept: n for n, concept in enumerate(self.concepts)}
        self.meets = [(self.place[name], self.places(sorted(parts))) for parts, name in naming.meets.items()]
        self.order = self.order_of_concepts()

    def negative(self) -> Negative:
        disjoint = [DisjointGroup(self.text(group.axiom), self.places(group.members)) for group in self.tbox.disjoint]
        roles = [DisjointGroup(self.text(g.axiom), self.role_places(g.members)) for g in self.tbox.disjoint_roles]
        irreflexive = [DisjointGroup(self.text(n), self.role_places((role,))) for role, n in self.tbox.irreflexive]
        return Negative(
            concepts=tuple(self.concepts),
            order=self.order,
            streams=sum(1 << n for n, concept in enumerate(self.concepts) if self.is_stream(concept)),
            meets=tuple(self.meets),
            disjoint=tuple(dict.fromkeys(disjoint)),
            alone=self.alone(disjoint, roles, irreflexive),
            roles=tuple(self.roles),
            role_order=self.role_order,
            disjoint_roles=tuple(dict.fromkeys(roles)),
            irreflexive=tuple(dict.fromkeys(irreflexive)),
            facts=tuple(self.tbox.facts),
            skipped=tuple(dict.fromkeys((*self.naming.skipped, *self.skipped()))),
        )

    def skipped(self) -> list[tuple[Axiom, str]]:
        """The axioms that do not fit in, each with the reason; where the rest of one does, only its inclusions that do
        not.
        """
        reasons = dict(self.tbox.skipped)
        statements = list(zip(self.naming.axioms, self.naming.origins, self.naming.stated, strict=True))
        unused = {(origin, stated): reasons[axiom] for axiom, origin, stated in statements if axiom in reasons}
        used = {origin for _, origin, stated in statements if (origin, stated) not in unused}
        return [
            (stated, f"{reason}; {REST_IS_USED}") if origin in used else (origin, reason)
            for (origin, stated), reason in unused.items()
        ]

    def all_roles(self) -> list[Role]:
        roles = [basic.role for basic in self.tbox.basics() if isinstance(basic, Existential)]
        roles += [role for inclusion in self.tbox.role_inclusions for role in (inclusion.sub, inclusion.sup)]
        names = dict.fromkeys([*map(Role, self.tbox.properties()), *(Role(r.name, fresh=r.fresh) for r in roles)])
        sides = [side for role in names for side in (role, role.flipped())]
        return [*sides, SELF] if self.tbox.reflexive else sides

    def all_concepts(self) -> list[Basic]:
        classes = dict.fromkeys([*self.tbox.classes(), *self.naming.meets.values()])
        for parts in self.naming.meets:
            classes.update(dict.fromkeys(sorted(parts)))
        everything = [THING] if self.tbox.reflexive or THING in self.tbox.basics() else []
        return [*classes, *everything, *(Existential(role) for role in self.roles if role != SELF), NOTHING]

    def order_of_roles(self) -> Order:
        edges = [[self.role_place[sup] for sup in self.closure.roles_above.get(role, ())] for role in self.roles]
        for role, _ in self.tbox.reflexive:
            edges[self.role_place[SELF]] += self.role_places((role, role.flipped()))
        return _order(edges)

    def order_of_concepts(self) -> Order:
        edges = [[self.place[sup] for sup in self.closure.above.get(concept, ())] for concept in self.concepts]
        if THING in self.place:
            for below in edges:
                below.append(self.place[THING])
        for meet, parts in self.meets:
            edges[meet] += parts
        order = _order(edges)
        while added := list(self.newly_met(order)):
            for concept, meet in added:
                edges[concept].append(meet)
            order = _order(edges)
        return order

    def newly_met(self, order: Order) -> Iterator[tuple[int, int]]:
        """Yields pairs of a concept that is below all parts of a conjunction, and the conjunction."""
        for meet, parts in self.meets:
            for concept in bits(reduce(and_, (order.below[part] for part in parts)) & ~order.below[meet]):
                yield concept, meet

    def alone(
        self, disjoint: list[DisjointGroup], roles: list[DisjointGroup], irreflexive: list[DisjointGroup]
    ) -> dict[str, int]:
        void_by_axiom: dict[str, int] = {BUILT_IN: 1 << self.place[NOTHING]}
        for group in disjoint:
            void_by_axiom[group.axiom] = void_by_axiom.get(group.axiom, 0) | _in_two(group.members, self.order.below)
        for group in roles:
            empty = _in_two(group.members, self.role_order.below)
            void_by_axiom[group.axiom] = void_by_axiom.get(group.axiom, 0) | self.having(empty)
        for group in irreflexive:
            reflexive = self.role_order.below[group.members[0]] & (1 << self.role_place.get(SELF, len(self.roles)))
            void_by_axiom[group.axiom] = void_by_axiom.get(group.axiom, 0) | self.having(reflexive)
        return {axiom: self.with_empty_roles(void) for axiom, void in void_by_axiom.items() if void}

    def having(self, roles: int) -> int:
        """The concepts of what has a value by one of these roles, or is one."""
        concepts = 0
        for role in map(self.roles.__getitem__, bits(roles)):
            sides: tuple[Basic, ...] = (THING,) if role == SELF else (Existential(role), Existential(role.flipped()))
            concepts = reduce(or_, (self.order.below[self.place[side]] for side in sides), concepts)
        return concepts

    def with_empty_roles(self, void: int) -> int:
        """A role whose values cannot be is empty, and so is everything that asks for such a value."""
        done: set[int] = set()
        while new := [n for n in bits(void) if n not in done]:
            for n in new:
                done.add(n)
                concept = self.concepts[n]
                if isinstance(concept, Existential):
                    void |= self.order.below[self.place[Existential(concept.role.flipped())]]
        return void

    def is_stream(self, basic: Basic) -> bool:
        """Whether facts, or conjunctions of them, say that something is in a concept."""
        if isinstance(basic, str):
            return not basic.startswith("part'")
        return not (basic.role.fresh or (basic.role.inverse and basic.role.name in self.tbox.data_properties))

    def text(self, number: int) -> str:
        return show(self.naming.origins[number])

    def places(self, members: Iterable[Basic]) -> tuple[int, ...]:
        return tuple(self.place[member] for member in members)

    def role_places(self, members: Iterable[Role]) -> tuple[int, ...]:
        return tuple(self.role_place[member] for member in members)


def _is_property(basic: Basic) -> bool:
    return isinstance(basic, Existential) and not basic.role.fresh and not basic.role.inverse


def _pairs(apart: Sequence[int], among: int) -> int:
    return sum((apart[n] & among & ~(1 << n)).bit_count() for n in bits(among)) // 2


def _in_two(members: Sequence[int], below: Sequence[int]) -> int:
    """The bits of what is below two of the members."""
    once = twice = 0
    for member in members:
        twice |= once & below[member]
        once |= below[member]
    return twice


def _order(edges: list[list[int]]) -> Order:
    backwards: list[list[int]] = [[] for _ in edges]
    for sub, sups in enumerate(edges):
        for sup in sups:
            backwards[sup].append(sub)
    return Order(_reached(edges), _reached(backwards))


def _reached(edges: list[list[int]]) -> list[int]:
    """For each node the nodes that edges lead to, itself included, as bits. Without cycles, two passes are enough."""
    reached = [1 << n for n in range(len(edges))]
    order = list(_last_first(edges))
    changed = True
    while changed:
        changed = False
        for n in order:
            more = reduce(or_, (reached[target] for target in edges[n]), reached[n])
            changed |= more != reached[n]
            reached[n] = more
    return reached


def _last_first(edges: list[list[int]]) -> Iterator[int]:
    """All nodes, each behind the nodes that it leads to, as far as there are no cycles."""
    seen = [False] * len(edges)
    for start in range(len(edges)):
        stack = [] if seen[start] else [(start, iter(edges[start]))]
        seen[start] = True
        while stack:
            n, targets = stack[-1]
            target = next((t for t in targets if not seen[t]), None)
            if target is None:
                yield n
                stack.pop()
            else:
                seen[target] = True
                stack.append((target, iter(edges[target])))
