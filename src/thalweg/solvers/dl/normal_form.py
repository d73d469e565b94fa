"""The normal form of an ontology that models are checked against: rules, and guards for what rules cannot say.

    A and (r some B) SubClassOf C           SomeValues(r, B, F);  ClassClause((A, F), (C,))   rules
    A SubClassOf B or C                     ClassClause((A,), (B, C))                         a guard: one of them
    A SubClassOf r some B                   AtLeast(A, 1, r, B)                               a guard: some value
    A SubClassOf r max 2 B                  AtMost(A, 2, r, B)                                a guard: count them
    w some xsd:double[> 3.0] SubClassOf C   DataSome(w, the range, C)                         a rule with a comparison

Classes, properties and ranges are numbers. Class 0 has every individual in it. The inverse of property `p` is `p ^ 1`.
A class that the ontology does not name stands for an expression inside of an axiom: each model of the ontology is one
of the normal form, if these are chosen rightly, and each model of the normal form is one of the ontology.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from thalweg.model.literals import Value

EVERYTHING: Final = 0
"""The class of all individuals."""

Test = Callable[[Value], bool]
"""Whether a value is in a range."""


class ClassClause(NamedTuple):
    """What is in all classes of the body is in one of the heads; without heads that is a contradiction."""

    body: tuple[int, ...]
    heads: tuple[int, ...]


class SomeValues(NamedTuple):
    """What has a value in `filler` is in `head`."""

    role: int
    filler: int
    head: int


class AtLeast(NamedTuple):
    """What is in `of` has at least this number of values in `filler`."""

    of: int
    number: int
    role: int
    filler: int


class AtMost(NamedTuple):
    """What is in `of` has at most this number of values in `filler`."""

    of: int
    number: int
    role: int
    filler: int


class OneOf(NamedTuple):
    """What is in `of` is one of these individuals."""

    of: int
    individuals: tuple[str, ...]


class DataSome(NamedTuple):
    """What has a literal in the range is in `head`."""

    property: int
    range: int
    head: int


class DataAll(NamedTuple):
    """What is in `of` has no literal outside the range."""

    of: int
    property: int
    range: int


class DataAtLeast(NamedTuple):
    """What is in `of` has at least this number of literals in the range."""

    of: int
    number: int
    property: int
    range: int


class DataAtMost(NamedTuple):
    """What is in `of` has at most this number of literals in the range."""

    of: int
    number: int
    property: int
    range: int


Guard = ClassClause | AtLeast | AtMost | OneOf | DataAtLeast


@dataclass(slots=True)
class NormalForm:
    """An ontology in normal form; it grows while it is made, and is left alone afterwards.

    `classes`, `roles` and `data` number the names; `has_self` are the pairs (role, class) of `Self` on a left side and
    `gives_self`, `gives_value` and `gives_literal` what membership in a class gives on a right side. `nominals` are
    the classes of one individual. `unsupported` says what of the ontology no model here is checked for.
    """

    classes: dict[str, int] = field(default_factory=dict)
    roles: dict[str, int] = field(default_factory=dict)
    data: dict[str, int] = field(default_factory=dict)
    class_count: int = 1
    clauses: list[ClassClause] = field(default_factory=list)
    some: list[SomeValues] = field(default_factory=list)
    has_self: list[tuple[int, int]] = field(default_factory=list)
    gives_self: list[tuple[int, int]] = field(default_factory=list)
    gives_value: list[tuple[int, int, str]] = field(default_factory=list)
    gives_literal: list[tuple[int, int, Value]] = field(default_factory=list)
    super_roles: list[tuple[int, int]] = field(default_factory=list)
    chains: list[tuple[int, int, int]] = field(default_factory=list)
    disjoint_roles: list[tuple[int, int]] = field(default_factory=list)
    irreflexive: list[int] = field(default_factory=list)
    super_data: list[tuple[int, int]] = field(default_factory=list)
    disjoint_data: list[tuple[int, int]] = field(default_factory=list)
    at_least: list[AtLeast] = field(default_factory=list)
    at_most: list[AtMost] = field(default_factory=list)
    one_of: list[OneOf] = field(default_factory=list)
    data_some: list[DataSome] = field(default_factory=list)
    data_all: list[DataAll] = field(default_factory=list)
    data_at_least: list[DataAtLeast] = field(default_factory=list)
    data_at_most: list[DataAtMost] = field(default_factory=list)
    ranges: list[Test] = field(default_factory=list)
    region: Callable[[Value], Hashable] | None = None
    """Gives values the same region only if all ranges say the same of them."""
    samples: list[Value] = field(default_factory=list)
    nominals: dict[str, int] = field(default_factory=dict)
    absent: list[tuple[int, str, str]] = field(default_factory=list)
    absent_data: list[tuple[int, str, Value]] = field(default_factory=list)
    unsupported: list[str] = field(default_factory=list)

    def fresh(self) -> int:
        """The number of a class without a name."""
        self.class_count += 1
        return self.class_count - 1

    @property
    def choices(self) -> list[ClassClause]:
        """The clauses that leave a choice."""
        return [clause for clause in self.clauses if len(clause.heads) > 1]

    @property
    def is_horn(self) -> bool:
        """Whether rules say it all."""
        guards = (self.choices, self.at_least, self.at_most, self.one_of, self.data_at_least, self.unsupported)
        return not any(guards)


class FormGrowth(NamedTuple):
    """What a definition adds to a normal form: rules that only put individuals into classes that were not there."""

    clauses: tuple[ClassClause, ...]
    some: tuple[SomeValues, ...]
    data_some: tuple[DataSome, ...]
    nominals: tuple[tuple[str, int], ...]
