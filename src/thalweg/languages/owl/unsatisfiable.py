"""Roles that are empty: the negative inclusions of DL-Lite_R, followed to every concept that they empty.

    A ⊑ ∃r    ∃r⁻ ⊑ B    ∃r⁻ ⊑ C    B, C disjoint        r is empty: its values would be in B and in C, and so is A

Rules see individuals that have a name. That the values of `r` clash, which have none, must be known beforehand.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from thalweg.ir.dependency import reachable
from thalweg.languages.owl.dl_lite import Basic, Existential, Role, TBox
from thalweg.languages.owl.expressions import THING


@dataclass(slots=True)
class InclusionClosure:
    """What follows from a basic concept or a role by the inclusions of an ontology."""

    tbox: TBox
    above: dict[Basic, list[Basic]] = field(default_factory=dict)
    roles_above: dict[Role, list[Role]] = field(default_factory=dict)
    groups: dict[Basic, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for class_inclusion in self.tbox.inclusions:
            self.above.setdefault(class_inclusion.sub, []).append(class_inclusion.sup)
        for inclusion in self.tbox.role_inclusions:
            for sub, sup in ((inclusion.sub, inclusion.sup), (inclusion.sub.flipped(), inclusion.sup.flipped())):
                self.roles_above.setdefault(sub, []).append(sup)
                self.above.setdefault(Existential(sub), []).append(Existential(sup))
        for role, _ in self.tbox.reflexive:
            self.above.setdefault(THING, []).extend((Existential(role), Existential(role.flipped())))
        for number, group in enumerate(self.tbox.disjoint):
            for member in group.members:
                self.groups.setdefault(member, []).append(number)

    def of(self, basic: Basic) -> dict[Basic, None]:
        """Every concept that contains a concept."""
        return reachable((basic, THING), lambda sub: self.above.get(sub, ()))

    def of_role(self, role: Role) -> dict[Role, None]:
        """Every role that contains a role."""
        return reachable((role,), lambda sub: self.roles_above.get(sub, ()))

    def nameless(self) -> dict[Role, None]:
        """The roles in which something may have a value that has no name."""
        roles = (inclusion.sup.role for inclusion in self.tbox.inclusions if isinstance(inclusion.sup, Existential))
        return {role: None for start in dict.fromkeys(roles) for role in self.of_role(start)}

    def clash(self, basics: Iterable[Basic]) -> int | None:
        """The axiom that forbids an individual to be in all of these."""
        hits = Counter(number for basic in basics for number in self.groups.get(basic, ()))
        return min((self.tbox.disjoint[number].axiom for number, count in hits.items() if count > 1), default=None)

    def role_clash(self, role: Role) -> int | None:
        """The axiom that forbids any pair to be in a role."""
        above = self.of_role(role)
        for group in self.tbox.disjoint_roles:
            for members in (group.members, tuple(member.flipped() for member in group.members)):
                if sum(member in above for member in members) > 1:
                    return group.axiom
        return None


def empty_roles(closure: InclusionClosure) -> dict[Role, int]:
    """The roles that only a value that cannot be would have, each with an axiom that forbids it.

    >>> from thalweg.languages.owl.axioms import ObjectPropertyRange, SubClassOf
    >>> from thalweg.languages.owl.dl_lite import normal_form
    >>> from thalweg.languages.owl.expressions import NOTHING, ObjectSomeValuesFrom
    >>> some = ObjectSomeValuesFrom("<r>", THING)
    >>> tbox = normal_form([SubClassOf("<A>", some), ObjectPropertyRange("<r>", "<B>"), SubClassOf("<B>", NOTHING)])
    >>> empty_roles(InclusionClosure(tbox))
    {Role(name='<r>', inverse=False, fresh=False): 2}
    """
    empty: dict[Role, int] = {}
    needing: dict[Role, list[Role]] = {}
    for role in closure.nameless():
        values = closure.of(Existential(role.flipped()))
        reason = closure.clash(values)
        reason = closure.role_clash(role) if reason is None else reason
        if reason is not None:
            empty[role] = reason
        for basic in values:
            if isinstance(basic, Existential):
                needing.setdefault(basic.role, []).append(role)
    waiting = list(empty)
    while waiting:
        role = waiting.pop()
        for other in needing.get(role, ()):
            if other not in empty:
                empty[other] = empty[role]
                waiting.append(other)
    return empty
