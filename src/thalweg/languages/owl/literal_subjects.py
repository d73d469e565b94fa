"""Literals in rules: never the subjects of triples that are output, and equal where their values are.

The tables conclude triples whose subject is a literal, and go on from them: with `q` inverse to `p` and to `r`,

    <a> <r> "x"   makes   "x" <q> <a>   makes   <a> <p> "x"

The triple in the middle is not output. So each rule that may have a literal as a subject is there twice: for resources,
and for literals, where `value'<q>("x",<a>)` stands for the triple. Where such a fact comes from one rule and goes to
the next at once, the two are made one: `<p>(X,Y) :- <r>(X,Y), Y is literal`.

That things are the same is followed between resources only; two literals are the same where their values are (dt-eq).
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from typing import Final

from thalweg.ir.nodes import Atom, Comparison, Constant, Expression, Literal, Now, Rule, Variable
from thalweg.languages.owl.knowledge import atoms_of, comparisons_of, with_arguments
from thalweg.model.literals import describe
from thalweg.model.predicate import Predicate
from thalweg.model.term import is_literal
from thalweg.model.vocabulary import LITERAL, SAME_AS

ABOUT_LITERALS: Final = frozenset(
    {Predicate("literal", 3), Predicate("outside", 2), Predicate("plain_literal", 2), Predicate("typed_literal", 3)}
)
"""What is known about literals by looking at them."""
HIDDEN_LITERALS: Final = frozenset(predicate.renamed(f"'{predicate.name}") for predicate in ABOUT_LITERALS)
"""The same under names that users cannot type."""
_SAME_LITERAL: Final = "same'literal"
_OF_VALUE: Final = "value'"
_IS_RESOURCE, _IS_LITERAL = Constant("resource"), Constant("literal")
_L, _V = Variable("L'"), Variable("V'")

Place = tuple[str, int]
"""A predicate and the number of one of its arguments."""


@dataclass(frozen=True, slots=True)
class Specialised:
    """A rule over data, the rule of the profile that it comes from, and the schema triples that it was made for."""

    rule: Rule
    name: str
    axioms: tuple[str, ...] = field(default=(), compare=False)


def sort_by_kind(rules: Collection[Specialised], datatypes: frozenset[str], by_value: bool) -> list[Specialised]:
    """The rules for resources, and for literals where these can come in; `by_value`: equal values are the same.

    >>> from thalweg.ir.text import show
    >>> x, y = Variable("X"), Variable("Y")
    >>> inverse = Specialised(Rule(Atom("<q>", (y, x)), (Now(Atom("<p>", (x, y))),)), "inverse")
    >>> for entry in sort_by_kind([inverse], frozenset(), False):
    ...     print(show(entry.rule))
    <q>(Y,X) :- <p>(X,Y), Y is resource.
    value'<q>(Y,X) :- <p>(X,Y), Y is literal.
    """
    kinds = _LiteralPlaces((entry.rule for entry in rules), datatypes)
    naming = {entry.rule.head.predicate for entry in rules if _names_individual(entry.rule.head)}
    by_rule: dict[Rule, Specialised] = {}
    for entry in rules:
        for kind in kinds.sorted(entry.rule):
            is_about_literal = kind.head.predicate.startswith(_OF_VALUE)
            if is_about_literal and _copies(entry.rule) and entry.rule.head.predicate not in naming:
                continue
            for rule in kinds.by_value(kind) if by_value else (kind,):
                by_rule.setdefault(rule, replace(entry, rule=rule))
    # Now that literals have predicates of their own, less can come where.
    kinds = _LiteralPlaces(by_rule, datatypes)
    settled = ((entry, kinds.settled(entry.rule)) for entry in by_rule.values())
    return [replace(entry, rule=rule) for entry, rule in settled if rule and not _is_idle(rule)]


def without_detours(rules: Iterable[Specialised]) -> list[Specialised]:
    """Facts about a literal that are only handed on are not kept: the rule that finds them draws the conclusion.

    >>> from thalweg.ir.text import show
    >>> x, y = Variable("X"), Variable("Y")
    >>> there = Rule(Atom("value'<q>", (y, x)), (Now(Atom("<r>", (x, y))), Comparison("is", y, Constant("literal"))))
    >>> back = Rule(Atom("<p>", (y, x)), (Now(Atom("value'<q>", (x, y))),))
    >>> print(show(without_detours([Specialised(there, "inverse"), Specialised(back, "inverse")])[0].rule))
    <p>(X,Y) :- <r>(X,Y), Y is literal.
    """
    kept = {entry.rule: entry for entry in rules}
    waiting = dict.fromkeys(rule.head.predicate for rule in kept if rule.head.predicate.startswith(_OF_VALUE))
    about: dict[str, dict[Rule, None]] = {name: {} for name in waiting}
    for rule in kept:
        for name in _predicates(rule) & about.keys():
            about[name][rule] = None
    while waiting:
        predicate = waiting.popitem()[0]
        concerned = [kept[rule] for rule in about[predicate] if rule in kept]
        unfolded = _unfolded(predicate, concerned)
        if unfolded is None:
            continue
        for entry in concerned:
            del kept[entry.rule]
        for entry in unfolded:
            kept.setdefault(entry.rule, entry)
            for name in _predicates(entry.rule) & about.keys():
                about[name][entry.rule] = None
                waiting[name] = None
    return list(kept.values())


def _predicates(rule: Rule) -> set[str]:
    return {rule.head.predicate, *(atom.predicate for atom in atoms_of(rule))}


def _unfolded(predicate: str, rules: list[Specialised]) -> list[Specialised] | None:
    """Rules that go without a predicate, in the place of those that make it and use it; None if they were more."""
    makers = [entry for entry in rules if entry.rule.head.predicate == predicate]
    users = [entry for entry in rules if entry.rule.head.predicate != predicate]
    if any(predicate in (atom.predicate for atom in atoms_of(entry.rule)) for entry in makers):
        return None
    if not all(_hands_on(entry.rule) for entry in users):
        return None
    joined = (Specialised(_joined(a.rule, b.rule), b.name, (*a.axioms, *b.axioms)) for a in makers for b in users)
    by_rule = {entry.rule: entry for entry in joined if not _is_idle(entry.rule)}
    return list(by_rule.values()) if len(by_rule) <= len(rules) else None


def _hands_on(rule: Rule) -> bool:
    """Whether a rule asks for one fact only, whatever its arguments are."""
    atoms = atoms_of(rule)
    return len(atoms) == 1 and len({arg for arg in atoms[0].args if isinstance(arg, Variable)}) == len(atoms[0].args)


def _joined(maker: Rule, user: Rule) -> Rule:
    """What a rule concludes from the conclusion of another, in one rule."""
    (atom,) = atoms_of(user)
    called = dict(zip(atom.args, maker.head.args, strict=True))
    renamed = with_arguments(Rule(user.head, tuple(comparisons_of(user))), called)
    return Rule(renamed.head, tuple(dict.fromkeys((*maker.body, *renamed.body))))


def _names_individual(head: Atom) -> bool:
    """Whether a conclusion is about an individual that the rule names."""
    return any(isinstance(arg, Constant) and not is_literal(arg.term) for arg in head.args)


def _copies(rule: Rule) -> bool:
    """Whether a rule says of something what is said of its equal.

    What is concluded is concluded of both, if what it is concluded from is said of both.
    """
    predicates = [atom.predicate for atom in atoms_of(rule)]
    return SAME_AS in predicates and rule.head.predicate in predicates


def _is_idle(rule: Rule) -> bool:
    """Whether a rule concludes what it asks for."""
    return rule.head in atoms_of(rule)


class _LiteralPlaces:
    """Where literals can come to stand by some rules, if they may be subjects."""

    def __init__(self, rules: Iterable[Rule], datatypes: frozenset[str]) -> None:
        self.datatypes = datatypes
        self.places: set[Place] = set()
        waiting = [rule for rule in rules if rule.head.predicate not in (SAME_AS, "inconsistent")]
        readers: dict[str, list[Rule]] = defaultdict(list)
        for rule in waiting:
            for predicate in {atom.predicate for atom in atoms_of(rule)}:
                readers[predicate].append(rule)
        while waiting:
            rule = waiting.pop()
            literals = (test.left for test in comparisons_of(rule) if test.right == _IS_LITERAL)
            if all(self.may_be_literal(arg, rule) for arg in literals):
                numbers = [number for number, arg in enumerate(rule.head.args) if self.may_be_literal(arg, rule)]
                new = {(rule.head.predicate, number) for number in numbers} - self.places
                if new:
                    self.places |= new
                    waiting += readers[rule.head.predicate]

    def takes_resources(self, predicate: str) -> bool:
        """Whether a predicate is a class or a property: only resources are its subjects in what is output."""
        return predicate[0] in "<_" and predicate not in self.datatypes and predicate != SAME_AS

    def may_be_literal(self, arg: Expression, rule: Rule) -> bool:
        """Whether a rule can find a literal as value of one of its arguments."""
        if isinstance(arg, Constant):
            return is_literal(arg.term)
        if Comparison("is", arg, _IS_RESOURCE) in rule.body:
            return False
        occurrences = (
            (atom, number) for atom in atoms_of(rule) for number, other in enumerate(atom.args) if other == arg
        )
        return all(
            self._is_open(atom, number) or (atom.predicate, number) in self.places for atom, number in occurrences
        )

    def _is_open(self, atom: Atom, number: int) -> bool:
        """Whether data bring literals here: as values, and where they are looked at."""
        if atom.signature in HIDDEN_LITERALS or atom.predicate in self.datatypes:
            return True
        return number == 1 and self.takes_resources(atom.predicate)

    def sorted(self, rule: Rule) -> Iterator[Rule]:
        """The rule for each choice of which of its subjects are literals."""
        asserted = [atom for atom in atoms_of(rule) if self.takes_resources(atom.predicate)]
        subjects = dict.fromkeys(atom.args[0] for atom in asserted)
        open_ones = [arg for arg in subjects if self.may_be_literal(arg, rule)]
        for chosen in chain.from_iterable(combinations(open_ones, size) for size in range(len(open_ones) + 1)):
            yield from self._headed(replace(rule, body=tuple(self._of(part, chosen) for part in rule.body)), chosen)

    def _of(self, part: Literal, values: Collection[Expression]) -> Literal:
        if not isinstance(part, Now) or not self.takes_resources(part.atom.predicate):
            return part
        return Now(_of_value(part.atom)) if part.atom.args[0] in values else part

    def _headed(self, rule: Rule, values: Collection[Expression]) -> Iterator[Rule]:
        """The rule with its head for resources, for literals, or both, each with the tests that it needs."""
        head = rule.head
        is_resource = self._is_resource
        looks = any(atom.signature in HIDDEN_LITERALS for atom in atoms_of(rule))
        if head.predicate == SAME_AS:
            left, other = head.args
            if not looks and left not in values and other not in values:
                yield Rule(head, (*rule.body, *self._resources(rule, left, other), Comparison("!=", left, other)))
            if not is_resource(left, rule) and not is_resource(other, rule):
                tests = [Comparison("is", arg, _IS_LITERAL) for arg in head.args if arg not in values]
                yield Rule(Atom(_SAME_LITERAL, head.args), (*rule.body, *tests))
        elif self.takes_resources(head.predicate):
            subject = head.args[0]
            is_value = subject in values or (isinstance(subject, Constant) and is_literal(subject.term))
            if not is_value:
                yield Rule(head, (*rule.body, *self._resources(rule, subject)))
            if (head.predicate, 0) in self.places and not is_resource(subject, rule):
                tests = [] if is_value else [Comparison("is", subject, _IS_LITERAL)]
                yield Rule(_of_value(head), (*rule.body, *tests))
        elif looks:
            yield Rule(head, tuple(_about_values(literal) for literal in rule.body))
        else:
            yield rule

    def by_value(self, rule: Rule) -> Iterator[Rule]:
        """The rule, and where it compares literals, the same by their values: 3 and "3"^^xsd:byte are one (dt-eq)."""
        yield rule
        where: dict[Expression, list[tuple[Atom, int]]] = defaultdict(list)
        for atom in atoms_of(rule):
            for number, arg in enumerate(atom.args):
                if self._holds_values(atom, number):
                    where[arg].append((atom, number))
        for arg, ((atom, number), *repeats) in where.items():
            body = _with_argument(rule, atom, number, _L)
            if isinstance(arg, Constant):
                values = [fact.terms[1] for fact in describe(arg.term, ()) if fact.predicate == "literal"]
                yield from (Rule(rule.head, (*body, _has_value(_L, Constant(value)))) for value in values)
            elif repeats and not self._is_resource(arg, rule):
                yield Rule(rule.head, (*body, _has_value(arg, _V), _has_value(_L, _V)))

    def _holds_values(self, atom: Atom, number: int) -> bool:
        """Whether a literal may stand here that is written in another way elsewhere."""
        if self.takes_resources(atom.predicate):
            literal = number == 1
        elif atom.predicate.startswith(_OF_VALUE):
            literal = True
        else:
            literal = atom.signature not in HIDDEN_LITERALS and (atom.predicate, number) in self.places
        arg = atom.args[number]
        return literal and (not isinstance(arg, Constant) or is_literal(arg.term))

    def settled(self, rule: Rule) -> Rule | None:
        """The rule without tests that cannot fail; None if one cannot hold."""
        tests = [test for test in comparisons_of(rule) if test.operator == "is"]
        resources = {test.left for test in tests if self._is_no_literal(test.left, rule)}
        if any(test.left in resources for test in tests if test.right == _IS_LITERAL):
            return None
        idle = {test for test in tests if test.left in resources}
        return replace(rule, body=tuple(part for part in rule.body if part not in idle)) if idle else rule

    def _is_no_literal(self, arg: Expression, rule: Rule) -> bool:
        untested = replace(rule, body=tuple(part for part in rule.body if part != Comparison("is", arg, _IS_RESOURCE)))
        return not self.may_be_literal(arg, untested)

    def _resources(self, rule: Rule, *args: Expression) -> tuple[Comparison, ...]:
        """The tests that keep literals out, where they could come in."""
        return tuple(Comparison("is", arg, _IS_RESOURCE) for arg in args if not self._is_resource(arg, rule))

    def _is_resource(self, arg: Expression, rule: Rule) -> bool:
        """Whether something is known to be no literal: it is the subject of something, or equal to a subject."""
        if isinstance(arg, Constant):
            return not is_literal(arg.term)
        return Comparison("is", arg, _IS_RESOURCE) in rule.body or any(
            (self.takes_resources(atom.predicate) and atom.args[0] == arg)
            or (atom.predicate == SAME_AS and arg in atom.args)
            for atom in atoms_of(rule)
        )


def _of_value(atom: Atom) -> Atom:
    return Atom(f"{_OF_VALUE}{atom.predicate}", atom.args)


def _has_value(arg: Expression, value: Expression) -> Now:
    return Now(Atom("'literal", (arg, value, Constant(LITERAL))))


def _with_argument(rule: Rule, atom: Atom, number: int, arg: Variable) -> tuple[Literal, ...]:
    """A rule's body with another argument in one of its atoms."""
    changed = Now(Atom(atom.predicate, (*atom.args[:number], arg, *atom.args[number + 1 :])))
    return tuple(changed if isinstance(part, Now) and part.atom is atom else part for part in rule.body)


def _about_values(literal: Literal) -> Literal:
    if isinstance(literal, Now) and literal.atom.predicate == SAME_AS:
        return Now(Atom(_SAME_LITERAL, literal.atom.args))
    return literal
