"""OWL 2 QL becomes rules that answer instance queries: is this individual in that class, are these two related?

    SubClassOf(<A> ObjectSomeValuesFrom(<r> owl:Thing))     some'<r>(X) :- <A>(X).
    ObjectPropertyDomain(<r> <B>)                           <B>(X) :- some'<r>(X).    some'<r>(X) :- <r>(X,_).
    SubObjectPropertyOf(<r> <s>)                            <s>(X,Y) :- <r>(X,Y).     some'<s>(X) :- some'<r>(X).
    DisjointClasses(<A> <B>)                                inconsistent("Disjoint…",X,X) :- <A>(X), <B>(X).

No individual is invented: that something has a value is a predicate of its own, `some'<r>`, a name that users cannot
type. Such a predicate is left out where nothing asks for it, and where every value has a name the property itself
stands in its place. For an ontology that is consistent with the data, a name is derived for a named individual if and
only if it is entailed; for one that is not, `inconsistent` names an axiom and the individuals that break it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from thalweg.diagnostics import Source, Span
from thalweg.ir.dependency import reachable
from thalweg.ir.nodes import Atom, Comparison, Constant, Literal, Now, Rule, Variable
from thalweg.languages.owl.axiom_rules import clash, line_spans, related
from thalweg.languages.owl.axioms import Axiom, Declaration, show
from thalweg.languages.owl.dl_lite import Basic, Disjoint, Existential, Role, normal_form
from thalweg.languages.owl.expressions import THING
from thalweg.languages.owl.knowledge import atoms_of
from thalweg.languages.owl.negative import name_of
from thalweg.languages.owl.unsatisfiable import InclusionClosure, empty_roles
from thalweg.model.fact import Fact

_INDIVIDUAL: Final = "individual'"
_X: Final = Variable("X")
_Y: Final = Variable("Y")
# From here on a group of disjoint classes is one rule a class instead of one a pair.
_MANY: Final = 6


@dataclass(frozen=True, slots=True)
class Rewriting:
    """The rules of an ontology, each with the line of its axiom as its place; and its assertions."""

    rules: tuple[Rule, ...]
    facts: tuple[Fact, ...]


def is_auxiliary(predicate: str) -> bool:
    """Whether a predicate was made up here and is not output.

    >>> is_auxiliary("some'<http://example.org/r>"), is_auxiliary("<http://example.org/o'clock>")
    (True, False)
    """
    return predicate[0] != "<" and "'" in predicate


def rewrite(axioms: Iterable[Axiom], name: str = "ontology", declarations: Iterable[Declaration] = ()) -> Rewriting:
    """The rules of an ontology.

    Declarations matter where an axiom is about everything: that is whatever facts of known names are about.

    >>> from thalweg.ir.text import show as text
    >>> from thalweg.languages.owl.axioms import ObjectPropertyDomain, SubClassOf
    >>> from thalweg.languages.owl.expressions import ObjectSomeValuesFrom
    >>> some = ObjectSomeValuesFrom("<r>", THING)
    >>> print(*map(text, rewrite([SubClassOf("<A>", some), ObjectPropertyDomain("<r>", "<B>")]).rules), sep="\\n")
    some'<r>(X) :- <A>(X).
    <B>(X) :- some'<r>(X).
    some'<r>(X) :- <r>(X,_).
    """
    tbox = normal_form(axioms, declarations)
    closure = InclusionClosure(tbox)
    empty = empty_roles(closure)
    rules = _Rules(closure, name)
    lifted = dict.fromkeys(rules.lifted())
    written = _wanted([*rules.positive(), *lifted, *rules.negative(), *rules.of_empty_roles(empty)])
    # Where a value has a name, the property above holds itself: nothing needs lifting.
    complete = _wanted([*written, *rules.feeding(rule for rule in written if rule not in lifted)])
    return Rewriting(complete, tuple(tbox.facts))


def _wanted(rules: list[Rule]) -> tuple[Rule, ...]:
    """The rules without those that derive what is not needed or what is there already, each once."""
    makers: dict[str, list[Rule]] = {}
    for rule in rules:
        makers.setdefault(rule.head.predicate, []).append(rule)
    shown = (predicate for predicate in makers if not is_auxiliary(predicate))
    needed = reachable(shown, lambda name: [atom.predicate for rule in makers.get(name, ()) for atom in atoms_of(rule)])
    useful = (rule for rule in rules if rule.head.predicate in needed and rule.body != (Now(rule.head),))
    return tuple(dict.fromkeys(useful))


class _Rules:
    """Writes the rules of one ontology."""

    def __init__(self, closure: InclusionClosure, name: str) -> None:
        self.tbox = closure.tbox
        self.lines = [show(axiom) for axiom in self.tbox.axioms]
        self.spans = line_spans(Source(name, "\n".join(self.lines)))
        # Only these roles need a predicate for having a value, beside the property itself.
        self.nameless = closure.nameless()
        self.roles = {self.predicate(Existential(role)): role for role in self.nameless}

    def positive(self) -> Iterator[Rule]:
        """Yields the rules of the positive inclusions."""
        for class_inclusion in self.tbox.inclusions:
            if self.has_named_members(class_inclusion.sub):
                head = Atom(self.predicate(class_inclusion.sup), (_X,))
                yield self.rule(class_inclusion.axiom, head, self.member(class_inclusion.sub))
        for inclusion in self.tbox.role_inclusions:
            sub, sup = inclusion.sub, inclusion.sup
            if not sub.fresh:
                yield self.rule(inclusion.axiom, related(sup, _X, _Y).atom, related(sub, _X, _Y))
        for role, number in self.tbox.reflexive:
            yield self.rule(number, Atom(role.name, (_X, _X)), self.member(THING))

    def lifted(self) -> Iterator[Rule]:
        """Yields the rules that lift values without a name to the roles above."""
        for inclusion in self.tbox.role_inclusions:
            sub, sup = inclusion.sub, inclusion.sup
            for role, other in ((sub, sup), (sub.flipped(), sup.flipped())):
                if role in self.nameless:
                    head = Atom(self.predicate(Existential(other)), (_X,))
                    yield self.rule(inclusion.axiom, head, self.member(Existential(role)))

    def negative(self) -> Iterator[Rule]:
        """Yields the rules that report contradictions."""
        for position, group in enumerate(self.tbox.disjoint):
            if len(group.members) < _MANY:
                for first, second in combinations(filter(self.has_named_members, group.members), 2):
                    yield self.clash(group.axiom, _X, _X, self.member(first), self.member(second))
            else:
                yield from self.many(position, group)
        for roles in self.tbox.disjoint_roles:
            for left, other in combinations(roles.members, 2):
                yield self.clash(roles.axiom, _X, _Y, related(left, _X, _Y), related(other, _X, _Y))
        for role, number in self.tbox.irreflexive:
            yield self.clash(number, _X, _X, Now(Atom(role.name, (_X, _X))))

    def many(self, position: int, group: Disjoint[Basic]) -> Iterator[Rule]:
        """A large group of disjoint concepts: in which of them something is, and that it is in two."""
        inside = f"inside'{position}"
        for place, member in enumerate(group.members):
            yield self.rule(group.axiom, Atom(inside, (_X, Constant(str(place)))), self.member(member))
        first, second = (Now(Atom(inside, (_X, variable))) for variable in (_Y, Variable("Z")))
        yield self.clash(group.axiom, _X, _X, first, second, Comparison("<", _Y, Variable("Z")))

    def of_empty_roles(self, empty: dict[Role, int]) -> Iterator[Rule]:
        """Yields the rules that report what would have a value by a role that must be empty."""
        for role, number in empty.items():
            yield self.clash(number, _X, _X, Now(Atom(self.predicate(Existential(role)), (_X,))))

    def feeding(self, rules: Iterable[Rule]) -> Iterator[Rule]:
        """Yields the rules that derive the concepts ∃R, and the individuals, that other rules ask for."""
        for rule in rules:
            for predicate in dict.fromkeys(atom.predicate for atom in atoms_of(rule)):
                role = self.roles.get(predicate)
                if role is not None and not role.fresh:
                    yield Rule(Atom(predicate, (_X,)), (self.value(role),), span=rule.span)
                elif predicate == _INDIVIDUAL:
                    yield from self.individuals(rule.span)

    def individuals(self, span: Span) -> Iterator[Rule]:
        head = Atom(_INDIVIDUAL, (_X,))
        for name in (THING, *self.tbox.classes()):
            yield Rule(head, (Now(Atom(name, (_X,))),), span=span)
        for name in self.tbox.properties():
            yield Rule(head, (self.value(Role(name)),), span=span)
            if name not in self.tbox.data_properties:
                yield Rule(head, (self.value(Role(name, inverse=True)),), span=span)

    def rule(self, number: int, head: Atom, *body: Literal) -> Rule:
        return Rule(head, tuple(dict.fromkeys(body)), span=self.spans[number])

    def clash(self, number: int, individual: Variable, other: Variable, *body: Literal) -> Rule:
        return clash(self.lines[number], individual, other, body, self.spans[number])

    def predicate(self, basic: Basic) -> str:
        return _INDIVIDUAL if basic == THING else name_of(basic)

    def has_named_members(self, basic: Basic) -> bool:
        """Whether a concept can have members with names: the values of a fresh role have none."""
        return not (isinstance(basic, Existential) and basic.role.fresh and basic.role.inverse)

    def member(self, basic: Basic) -> Now:
        """`X` is in a concept."""
        if isinstance(basic, Existential) and basic.role not in self.nameless:
            return self.value(basic.role)
        return Now(Atom(self.predicate(basic), (_X,)))

    def value(self, role: Role) -> Now:
        """`X` has a value with a name."""
        # Two roles of one rule need not have the same value.
        return related(role, _X, Variable(f"_'{self.predicate(Existential(role))}"))
