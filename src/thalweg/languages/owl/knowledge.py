"""Facts that rules are matched against while an ontology is compiled: indexed sets, and the joins over them."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from thalweg.ir.nodes import Atom, Comparison, Constant, Expression, Literal, Now, Rule, Variable
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.term import is_literal

Binding = dict[str, str]
Row = tuple[str, ...]


class Knowledge:
    """Facts, found by any of their arguments.

    >>> knowledge = Knowledge([Fact("p", ("a", "b")), Fact("p", ("a", "c"))])
    >>> knowledge.rows(Predicate("p", 2), (1,), ("c",))
    [('a', 'c')]
    """

    def __init__(self, facts: Iterable[Fact] = ()) -> None:
        # In the order in which they were found, so that the same ontology always becomes the same program.
        self.facts: dict[Predicate, dict[Row, None]] = defaultdict(dict)
        self._indexes: dict[Predicate, dict[tuple[int, ...], dict[Row, list[Row]]]] = defaultdict(dict)
        for fact in facts:
            self.add(fact.signature, fact.terms)

    def __contains__(self, fact: tuple[Predicate, Row]) -> bool:
        return fact[1] in self.facts[fact[0]]

    def add(self, signature: Predicate, row: Row) -> bool:
        """Adds a fact; returns whether it is new."""
        if row in self.facts[signature]:
            return False
        self.facts[signature][row] = None
        for places, index in self._indexes[signature].items():
            index.setdefault(tuple(row[place] for place in places), []).append(row)
        return True

    def rows(self, signature: Predicate, places: tuple[int, ...], terms: Row) -> list[Row]:
        """The facts with these terms at these places."""
        if not places:
            return list(self.facts[signature])
        index = self._indexes[signature].get(places)
        if index is None:
            index = self._indexes[signature][places] = {}
            for row in self.facts[signature]:
                index.setdefault(tuple(row[place] for place in places), []).append(row)
        return list(index.get(terms, ()))


class Look(NamedTuple):
    """How an atom is found when those before it are: by the arguments at `places`, which binds `new` ones."""

    signature: Predicate
    places: tuple[int, ...]
    arguments: tuple[Expression, ...]
    new: tuple[tuple[int, str], ...]


def looks(atoms: Sequence[Atom], bound: Collection[str]) -> list[Look]:
    """The order in which atoms are joined: always the one with most known arguments next."""
    left, names, order = list(atoms), set(bound), list[Look]()

    def is_known(arg: Expression) -> bool:
        return arg.name in names if isinstance(arg, Variable) else isinstance(arg, Constant)

    while left:
        first = max(left, key=lambda atom: sum(map(is_known, atom.args)))
        left = [atom for atom in left if atom is not first]
        bound_at = {place: arg for place, arg in enumerate(first.args) if is_known(arg)}
        free = [(place, arg) for place, arg in enumerate(first.args) if place not in bound_at]
        new = tuple((place, arg.name) for place, arg in free if isinstance(arg, Variable))
        order.append(Look(first.signature, tuple(bound_at), tuple(bound_at.values()), new))
        names.update(name for _, name in new)
    return order


def solve(atoms: Sequence[Atom], knowledge: Knowledge, binding: Binding) -> Iterator[Binding]:
    """Yields every binding that makes all atoms facts."""
    return _joined(looks(atoms, binding), 0, knowledge, binding)


def _joined(order: Sequence[Look], number: int, knowledge: Knowledge, binding: Binding) -> Iterator[Binding]:
    if number == len(order):
        yield binding
        return
    signature, places, arguments, new = order[number]
    terms = tuple(ground(arg, binding) or "" for arg in arguments)
    for row in knowledge.rows(signature, places, terms):
        extended = dict(binding)
        if all(extended.setdefault(name, row[place]) == row[place] for place, name in new):
            yield from _joined(order, number + 1, knowledge, extended)


def unify(atom: Atom, row: Row) -> Binding | None:
    """The binding that makes an atom this fact."""
    binding: Binding = {}
    for arg, term in zip(atom.args, row, strict=True):
        if isinstance(arg, Variable):
            if binding.setdefault(arg.name, term) != term:
                return None
        elif not isinstance(arg, Constant) or arg.term != term:
            return None
    return binding


def ground(arg: Expression, binding: Binding) -> str | None:
    """The term of an argument, where it is known."""
    if isinstance(arg, Constant):
        return arg.term
    return binding.get(arg.name) if isinstance(arg, Variable) else None


def holds(test: Comparison, binding: Binding) -> bool | None:
    """Whether a test on terms holds; None while that is open."""
    left = ground(test.left, binding)
    if left is None:
        return None
    if test.operator == "is":
        return is_literal(left) == (test.right == Constant("literal"))
    right = ground(test.right, binding)
    return None if right is None else (left == right) == (test.operator == "=")


def close(rules: Sequence[tuple[Rule, bool]], facts: Iterable[Fact]) -> tuple[Knowledge, Knowledge]:
    """Everything that follows, and of that what was stated or follows by one of the marked rules.

    >>> from thalweg.languages.lars import read
    >>> from thalweg.diagnostics import Source
    >>> rules = read(Source("x.lars", "p(X,Z) :- p(X,Y), p(Y,Z). q(X) :- p(X,_).")).rules
    >>> knowledge, marked = close([(rules[0], False), (rules[1], True)], [Fact("p", ("a", "b")), Fact("p", ("b", "c"))])
    >>> p, q = Predicate("p", 2), Predicate("q", 1)
    >>> (p, ("a", "c")) in knowledge, (p, ("a", "c")) in marked, (q, ("a",)) in marked
    (True, False, True)
    """
    stated = list(facts)
    knowledge, marked = Knowledge(stated), Knowledge(stated)
    readers: dict[tuple[Predicate, str | None], list[_Reader]] = defaultdict(list)
    for rule, mark in rules:
        for atom in atoms_of(rule):
            partners = [other for other in atoms_of(rule) if other is not atom]
            order = looks(partners, [arg.name for arg in atom.args if isinstance(arg, Variable)])
            reader = _Reader(atom, order, comparisons_of(rule), rule.head, mark)
            readers[atom.signature, _predicate(atom)].append(reader)
    waiting = [(fact.signature, fact.terms) for fact in dict.fromkeys(stated)]
    while waiting:
        signature, row = waiting.pop()
        concerned = [*readers[signature, None], *(readers[signature, row[1]] if len(row) == 3 else ())]
        for atom, order, tests, head, mark in concerned:
            start = unify(atom, row)
            if start is None:
                continue
            for binding in list(_joined(order, 0, knowledge, start)):
                if all(holds(test, binding) for test in tests):
                    derived = tuple(ground(arg, binding) or "" for arg in head.args)
                    if mark:
                        marked.add(head.signature, derived)
                    if knowledge.add(head.signature, derived):
                        waiting.append((head.signature, derived))
    return knowledge, marked


class _Reader(NamedTuple):
    """An atom of a rule, and what is left to do where a new fact is found for it."""

    atom: Atom
    order: list[Look]
    tests: list[Comparison]
    head: Atom
    mark: bool


def _predicate(atom: Atom) -> str | None:
    """The predicate that a triple must have; most triples concern few rules."""
    return atom.args[1].term if len(atom.args) == 3 and isinstance(atom.args[1], Constant) else None


def atoms_of(rule: Rule) -> list[Atom]:
    """The atoms of a rule's body."""
    return [literal.atom for literal in rule.body if hasattr(literal, "atom")]


def comparisons_of(rule: Rule) -> list[Comparison]:
    """The tests of a rule's body."""
    return [literal for literal in rule.body if isinstance(literal, Comparison)]


def with_arguments(rule: Rule, arguments: Mapping[Expression, Expression]) -> Rule:
    """The rule with other arguments in the place of these, in its head, atoms and tests."""

    def replaced(part: Literal) -> Literal:
        if isinstance(part, Comparison):
            left, right = (arguments.get(side, side) for side in (part.left, part.right))
            return Comparison(part.operator, left, right)
        assert isinstance(part, Now)
        return Now(in_atom(part.atom))

    def in_atom(atom: Atom) -> Atom:
        return Atom(atom.predicate, tuple(arguments.get(arg, arg) for arg in atom.args))

    return Rule(in_atom(rule.head), tuple(map(replaced, rule.body)))
