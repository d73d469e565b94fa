"""Random knowledge bases of OWL 2 DL with random events, small enough for a reasoner to judge."""

from dataclasses import dataclass
from random import Random
from typing import Any, Final

from thalweg.languages.owl import axioms as ax
from thalweg.languages.owl import expressions as ex
from thalweg.languages.owl.axioms import Axiom
from thalweg.languages.owl.expressions import THING, ClassExpression
from thalweg.model.rdf import XSD

KINDS: Final = ("horn", "choices", "ranges", "names")
CLASSES: Final = tuple(f"<http://example.org/C{n}>" for n in range(6))
_ROLES: Final = tuple(f"<http://example.org/r{n}>" for n in range(4))
_DATA: Final = tuple(f"<http://example.org/w{n}>" for n in range(2))
_KNOWN: Final = tuple(f"<http://example.org/a{n}>" for n in range(5))
_OWN: Final = tuple(f"<http://example.org/own{n}>" for n in range(3))
# As a subject a text is an individual.
_TEXTS: Final = ("word", '"two words"')
_DOUBLE: Final = f"<{XSD}double>"


@dataclass(frozen=True, slots=True)
class Case:
    """Axioms without data, data of the background, and the data of some events."""

    schema: tuple[Axiom, ...]
    background: tuple[Axiom, ...]
    events: tuple[tuple[Axiom, ...], ...]


def random_case(seed: int, kind: str, events: int = 3) -> Case:
    """The case of a seed; `kind` is one of `KINDS`."""
    random = _Knowledge(Random(f"{kind} {seed}"), kind)
    schema = tuple(random.axiom() for _ in range(random.choose.randint(3, 9)))
    background = tuple(random.fact(_KNOWN) for _ in range(random.choose.randint(0, 6)))
    own = (*_OWN, *random.choose.sample(_KNOWN, 2))
    return Case(
        schema,
        background,
        tuple(tuple(random.event_fact(own) for _ in range(random.choose.randint(1, 4))) for _ in range(events)),
    )


def random_classes(seed: int, kind: str, count: int) -> tuple[ClassExpression, ...]:
    """Class expressions as users ask for them."""
    random = _Knowledge(Random(f"classes {kind} {seed}"), kind)
    return tuple(random.left(2) for _ in range(count))


class _Knowledge:
    """Random constructs of one kind."""

    def __init__(self, choose: Random, kind: str) -> None:
        self.choose = choose
        self.kind = kind

    def axiom(self) -> Axiom:
        choose = self.choose
        if choose.random() < 0.65:
            sides = self.left(2), self.right(2)
            kind = ax.EquivalentClasses if self.kind != "horn" and choose.random() < 0.2 else None
            return kind(sides) if kind else ax.SubClassOf(*sides)
        made = choose.choice(self.property_axioms())
        return made()

    def property_axioms(self) -> list[Any]:
        choose, role = self.choose, self.role
        made: list[Any] = [
            lambda: ax.SubObjectPropertyOf(role(), role()),
            lambda: ax.InverseObjectProperties(role(), role()),
            lambda: ax.TransitiveObjectProperty(_ROLES[0]),
            lambda: ax.SymmetricObjectProperty(role()),
            lambda: ax.ObjectPropertyDomain(role(), self.name()),
            lambda: ax.ObjectPropertyRange(role(), self.name()),
            lambda: ax.SubObjectPropertyOf(ex.ObjectPropertyChain((_ROLES[0], _ROLES[1])), _ROLES[1]),
            lambda: ax.DisjointClasses((self.name(), self.left(1))),
            lambda: ax.DataPropertyDomain(choose.choice(_DATA), self.name()),
        ]
        if self.kind in ("choices", "names"):
            made += [
                lambda: ax.FunctionalObjectProperty(_ROLES[3]),
                lambda: ax.InverseFunctionalObjectProperty(_ROLES[3]),
                lambda: ax.DisjointUnion(self.name(), tuple(choose.sample(CLASSES, 2))),
                lambda: ax.AsymmetricObjectProperty(_ROLES[2]),
                lambda: ax.IrreflexiveObjectProperty(_ROLES[2]),
                lambda: ax.ReflexiveObjectProperty(role()),
                lambda: ax.DisjointObjectProperties((_ROLES[2], _ROLES[3])),
            ]
        if self.kind == "ranges":
            made += [
                lambda: ax.FunctionalDataProperty(choose.choice(_DATA)),
                lambda: ax.SubDataPropertyOf(_DATA[0], _DATA[1]),
                lambda: ax.DataPropertyRange(choose.choice(_DATA), self.range()),
                lambda: ax.DisjointDataProperties(_DATA),
            ]
        if self.kind == "names":
            made += [
                lambda: ax.DifferentIndividuals(tuple(choose.sample(_KNOWN, 2))),
                lambda: ax.SameIndividual(tuple(choose.sample(_KNOWN, 2))),
                lambda: ax.NegativeObjectPropertyAssertion(role(), *choose.sample(_KNOWN, 2)),
                lambda: ax.ClassAssertion(self.right(1), choose.choice(_KNOWN)),
            ]
        return made

    def name(self) -> str:
        return self.choose.choice(CLASSES)

    def role(self) -> str:
        return self.choose.choice(_ROLES)

    def expression(self) -> Any:
        """A property that may be read backwards."""
        return ex.ObjectInverseOf(self.role()) if self.choose.random() < 0.2 else self.role()

    def counted(self) -> str:
        """A property that may be counted: one that is not made of others."""
        return self.choose.choice(_ROLES[2:])

    def left(self, depth: int) -> Any:
        choose = self.choose
        if depth == 0 or choose.random() < 0.35:
            return self.name()
        inner = depth - 1
        made: list[Any] = [
            lambda: ex.ObjectIntersectionOf((self.left(inner), self.left(inner))),
            lambda: ex.ObjectUnionOf((self.left(inner), self.left(inner))),
            lambda: ex.ObjectSomeValuesFrom(self.expression(), self.left(inner)),
            lambda: ex.ObjectSomeValuesFrom(self.expression(), THING),
            lambda: ex.DataSomeValuesFrom(choose.choice(_DATA), self.range()),
        ]
        if self.kind != "horn":
            made += [
                lambda: ex.ObjectAllValuesFrom(self.expression(), self.left(inner)),
                lambda: ex.ObjectComplementOf(self.left(inner)),
                lambda: ex.ObjectMinCardinality(2, self.counted(), None),
                lambda: ex.ObjectMaxCardinality(1, self.counted(), self.left(inner)),
            ]
        if self.kind == "ranges":
            made += [
                lambda: ex.DataAllValuesFrom(choose.choice(_DATA), self.range()),
                lambda: ex.DataHasValue(choose.choice(_DATA), self.literal()),
                lambda: ex.DataMinCardinality(2, choose.choice(_DATA), self.range()),
            ] * 2
        if self.kind == "names":
            made += [
                lambda: ex.ObjectHasValue(self.expression(), choose.choice(_KNOWN)),
                lambda: ex.ObjectOneOf(tuple(choose.sample(_KNOWN, 2))),
                lambda: ex.ObjectHasSelf(self.counted()),
            ]
        return choose.choice(made)()

    def right(self, depth: int) -> Any:
        choose = self.choose
        if depth == 0 or choose.random() < 0.4:
            return self.name()
        inner = depth - 1
        made: list[Any] = [
            lambda: ex.ObjectIntersectionOf((self.right(inner), self.right(inner))),
            lambda: ex.ObjectAllValuesFrom(self.expression(), self.right(inner)),
        ]
        if self.kind != "horn":
            made += [
                lambda: ex.ObjectUnionOf((self.right(inner), self.right(inner))),
                lambda: ex.ObjectSomeValuesFrom(self.expression(), self.right(inner)),
                lambda: ex.ObjectComplementOf(self.left(inner)),
                lambda: ex.ObjectMaxCardinality(1, self.counted(), self.left(inner)),
                lambda: ex.ObjectMinCardinality(2, self.counted(), self.right(inner)),
            ]
        if self.kind == "ranges":
            made += [
                lambda: ex.DataSomeValuesFrom(choose.choice(_DATA), self.range()),
                lambda: ex.DataAllValuesFrom(choose.choice(_DATA), self.range()),
                lambda: ex.DataMaxCardinality(1, choose.choice(_DATA), self.range()),
                lambda: ex.DataHasValue(choose.choice(_DATA), self.literal()),
            ] * 2
        if self.kind == "names":
            made += [
                lambda: ex.ObjectHasValue(self.expression(), choose.choice(_KNOWN)),
                lambda: ex.ObjectOneOf(tuple(choose.sample(_KNOWN, 2))),
            ]
        return choose.choice(made)()

    def literal(self) -> str:
        return self.choose.choice(
            (f'"{self.choose.choice((0, 1, 2))}.0"^^{_DOUBLE}', f'"1.5"^^{_DOUBLE}', "1", "2.5", "word")
        )

    def range(self) -> Any:
        choose = self.choose
        facet = choose.choice(("minExclusive", "maxInclusive", "minInclusive", "maxExclusive"))
        floating = ex.DatatypeRestriction(_DOUBLE, ((f"<{XSD}{facet}>", f'"{choose.choice((0, 1, 2))}.0"^^{_DOUBLE}'),))
        if self.kind == "horn" or choose.random() < 0.6:
            return floating
        made: list[Any] = [
            _DOUBLE,
            f"<{XSD}integer>",
            f"<{XSD}string>",
            ex.DatatypeRestriction(f"<{XSD}integer>", ((f"<{XSD}{facet}>", "1"),)),
            ex.DataOneOf((self.literal(), self.literal())),
            ex.DataComplementOf(floating),
            ex.DataUnionOf((floating, f"<{XSD}string>")),
        ]
        return choose.choice(made)

    def event_fact(self, individuals: tuple[str, ...]) -> Axiom:
        """A fact that an event may have: also that individuals are equal or different, and of a text."""
        choose = self.choose
        which = choose.random()
        subject = choose.choice(_TEXTS) if choose.random() < 0.08 else choose.choice(individuals)
        # That something differs from itself does not reach HermiT: the OWL API makes a set of the two.
        other = choose.choice([one for one in individuals if one != subject])
        if which < 0.12:
            kind = ax.SameIndividual if which < 0.06 else ax.DifferentIndividuals
            return kind((subject, other))
        return self.fact(individuals, subject)

    def fact(self, individuals: tuple[str, ...], subject: str = "") -> Axiom:
        choose = self.choose
        one, other = subject or choose.choice(individuals), choose.choice(individuals)
        which = choose.random()
        if which < 0.4:
            return ax.ClassAssertion(self.name(), one)
        if which < 0.75:
            return ax.ObjectPropertyAssertion(self.role(), one, other)
        return ax.DataPropertyAssertion(choose.choice(_DATA), one, self.literal())
