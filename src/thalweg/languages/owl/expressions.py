"""Classes, properties and data ranges that are put together from others: the expressions of OWL 2.

    ObjectSomeValuesFrom("<r>", "<B>")      prints as      ObjectSomeValuesFrom(<r> <B>)

Names are terms: a named class, property, datatype or individual is its IRI in angle brackets, an anonymous individual
a blank node, a literal its canonical spelling. Constructs that differ in nothing but their meaning share a family, so
that code can treat a family as one. The fields stand in the order of the functional syntax: printing, and reading other
syntaxes, rely on that.
"""

from dataclasses import dataclass
from typing import Final, TypeVar

from thalweg.model.vocabulary import OWL, RDFS

T = TypeVar("T")

THING: Final = f"<{OWL}Thing>"
NOTHING: Final = f"<{OWL}Nothing>"
LITERAL: Final = f"<{RDFS}Literal>"
UNIVERSAL: Final = frozenset({f"<{OWL}topObjectProperty>", f"<{OWL}topDataProperty>"})
EMPTY: Final = frozenset({f"<{OWL}bottomObjectProperty>", f"<{OWL}bottomDataProperty>"})


# Property expressions


@dataclass(frozen=True, slots=True)
class ObjectInverseOf:
    """The property read backwards; inside stands a name."""

    property: str


ObjectProperty = str | ObjectInverseOf


@dataclass(frozen=True, slots=True)
class ObjectPropertyChain:
    """One property after the other, to the left of `SubObjectPropertyOf`."""

    properties: tuple[ObjectProperty, ...]


# Data ranges


@dataclass(frozen=True, slots=True)
class DataRanges:
    """Family: a combination of data ranges."""

    ranges: tuple["DataRange", ...]


class DataIntersectionOf(DataRanges):
    """The values in all of them."""


class DataUnionOf(DataRanges):
    """The values in one of them."""


@dataclass(frozen=True, slots=True)
class DataComplementOf:
    """The values outside a range."""

    range: "DataRange"


@dataclass(frozen=True, slots=True)
class DataOneOf:
    """These literals."""

    literals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DatatypeRestriction:
    """The values of a datatype within facets: pairs of the facet's IRI and a literal."""

    datatype: str
    facets: tuple[tuple[str, str], ...]


DataRange = str | DataRanges | DataComplementOf | DataOneOf | DatatypeRestriction


# Class expressions


class ClassConstruct:
    """A class that is put together from others."""

    __slots__ = ()


ClassExpression = str | ClassConstruct


@dataclass(frozen=True, slots=True)
class ObjectClasses(ClassConstruct):
    """Family: a combination of classes."""

    classes: tuple[ClassExpression, ...]


class ObjectIntersectionOf(ObjectClasses):
    """What is in all of them."""


class ObjectUnionOf(ObjectClasses):
    """What is in one of them."""


@dataclass(frozen=True, slots=True)
class ObjectComplementOf(ClassConstruct):
    """What is not in a class."""

    negated: ClassExpression


@dataclass(frozen=True, slots=True)
class ObjectOneOf(ClassConstruct):
    """These individuals."""

    individuals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ObjectQuantifier(ClassConstruct):
    """Family: a property, and the class that its values are in."""

    property: ObjectProperty
    filler: ClassExpression


class ObjectSomeValuesFrom(ObjectQuantifier):
    """What has some value in the class."""


class ObjectAllValuesFrom(ObjectQuantifier):
    """What has no value outside the class."""


@dataclass(frozen=True, slots=True)
class ObjectHasValue(ClassConstruct):
    """What has this individual as a value."""

    property: ObjectProperty
    individual: str


@dataclass(frozen=True, slots=True)
class ObjectHasSelf(ClassConstruct):
    """What has itself as a value."""

    property: ObjectProperty


@dataclass(frozen=True, slots=True)
class ObjectCardinality(ClassConstruct):
    """Family: how many values, in the filler if there is one."""

    number: int
    property: ObjectProperty
    filler: ClassExpression | None = None


class ObjectMinCardinality(ObjectCardinality):
    """What has at least this number of values."""


class ObjectMaxCardinality(ObjectCardinality):
    """What has at most this number of values."""


class ObjectExactCardinality(ObjectCardinality):
    """What has exactly this number of values."""


@dataclass(frozen=True, slots=True)
class DataQuantifier(ClassConstruct):
    """Family: a data property, and the range that its values are in."""

    property: str
    filler: DataRange


class DataSomeValuesFrom(DataQuantifier):
    """What has some value in the range."""


class DataAllValuesFrom(DataQuantifier):
    """What has no value outside the range."""


@dataclass(frozen=True, slots=True)
class DataHasValue(ClassConstruct):
    """What has this literal as a value."""

    property: str
    literal: str


@dataclass(frozen=True, slots=True)
class DataCardinality(ClassConstruct):
    """Family: how many literals, in the filler if there is one."""

    number: int
    property: str
    filler: DataRange | None = None


class DataMinCardinality(DataCardinality):
    """What has at least this number of literals."""


class DataMaxCardinality(DataCardinality):
    """What has at most this number of literals."""


class DataExactCardinality(DataCardinality):
    """What has exactly this number of literals."""


def unless(filler: T, everything: str) -> T | None:
    """The filler of a cardinality, which says nothing where everything is in it.

    >>> unless(THING, THING), unless("<A>", THING)
    (None, '<A>')
    """
    return None if filler == everything else filler
