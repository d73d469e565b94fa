"""The least model of the rules of a normal form: facts come in, everything that follows is there, and can be undone.

    facts of the background   closed once
    facts of an event         closed on top of them; conclusions are read; `undo` takes all of it back

Only what is new is looked at (semi-naive): each rule of the normal form has at most one step to a neighbour, so a new
fact meets its rules by a look at one individual and its neighbours. Whatever a new fact may do to a guard is noted in
`pending`; the model satisfies the ontology if it has no `clash` and none of the guards noted there is violated.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from thalweg.model.literals import Value
from thalweg.solvers.dl.normal_form import (
    EVERYTHING,
    AtLeast,
    AtMost,
    ClassClause,
    DataAtLeast,
    FormGrowth,
    Guard,
    NormalForm,
    OneOf,
)

Individual = Hashable
"""A term; or, for individuals that are only known to exist, any other value."""


# With more ranges of a property than the first, those that a value is in are kept for so many regions of values.
_FEW_RANGES: Final = 6
_MOST_REGIONS: Final = 65_536


class RuleIndex:
    """A normal form by what makes its rules fire: a membership, an edge between individuals, or a literal."""

    def __init__(self, form: NormalForm) -> None:
        self.form = form
        self.clauses: dict[int, list[tuple[tuple[int, ...], int]]] = defaultdict(list)
        self.clashes: dict[int, list[tuple[int, ...]]] = defaultdict(list)
        self.choices: dict[int, list[ClassClause]] = defaultdict(list)
        self._index_clauses()
        # A value in a class says something about what has the value; so does a value for what is in a class.
        self.neighbours: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self.edges: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for role, filler, head in form.some:
            self.edges[role].append((filler, head))
            if filler != EVERYTHING:
                self.neighbours[filler].append((role ^ 1, head))
        self.gives: dict[int, list[tuple[int, str | None]]] = defaultdict(list)
        for of, role in form.gives_self:
            self.gives[of].append((role, None))
        for of, role, individual in form.gives_value:
            self.gives[of].append((role, individual))
        self._index_roles()
        self._index_data()
        self.limits: dict[int, list[Guard]] = defaultdict(list)
        guards: list[AtLeast | AtMost | OneOf | DataAtLeast]
        guards = [*form.at_least, *form.at_most, *form.one_of, *form.data_at_least]
        for guard in guards:
            self.limits[guard.of].append(guard)
        self.edge_limits: dict[int, list[AtMost]] = defaultdict(list)
        self.filler_limits: dict[int, list[AtMost]] = defaultdict(list)
        for most in form.at_most:
            self.edge_limits[most.role].append(most)
            if most.filler != EVERYTHING:
                self.filler_limits[most.filler].append(most)
        self._tables: list[dict[int, Any]] = [self.clauses, self.clashes, self.neighbours, self.gives]
        self._tables += [self.gives_literal, self.class_ranges, self.choices, self.limits, self.filler_limits]
        self.of_class = dict[int, ClassRules]()
        self._gather({of for table in self._tables for of in table})

    def _gather(self, classes: Iterable[int]) -> None:
        for of in classes:
            rows: list[Any] = [table.get(of, []) for table in self._tables]
            self.of_class[of] = ClassRules(*rows)

    def grow(self, growth: FormGrowth, form: NormalForm) -> None:
        """Takes in what a definition has added to a form; its own may have other clauses besides."""
        self.form.region, self.form.samples, self.form.class_count = form.region, form.samples, form.class_count
        for body, (head,) in growth.clauses:
            for conjunct in body:
                self.clauses[conjunct].append((tuple(other for other in body if other != conjunct), head))
        for role, filler, head in growth.some:
            self.edges[role].append((filler, head))
            if filler != EVERYTHING:
                self.neighbours[filler].append((role ^ 1, head))
        for property, range, head in growth.data_some:
            self.data_some[property].append((range, head))
        self._heads.clear()
        self._gather({of for clause in growth.clauses for of in clause.body} | {some.filler for some in growth.some})

    def heads_of(self, property: int, value: Value) -> Sequence[int]:
        """The classes of whatever has a value of a property, by the ranges that the value is in."""
        pairs, form = self.data_some.get(property, ()), self.form
        if len(pairs) <= _FEW_RANGES or form.region is None:
            return [head for range, head in pairs if form.ranges[range](value)]
        key = property, form.region(value)
        heads = self._heads.get(key)
        if heads is None:
            if len(self._heads) >= _MOST_REGIONS:
                self._heads.clear()
            heads = self._heads[key] = [head for range, head in pairs if form.ranges[range](value)]
        return heads

    def _index_clauses(self) -> None:
        for clause in self.form.clauses:
            for conjunct in clause.body:
                remaining = tuple(other for other in clause.body if other != conjunct)
                if not clause.heads:
                    self.clashes[conjunct].append(remaining)
                elif len(clause.heads) == 1:
                    self.clauses[conjunct].append((remaining, clause.heads[0]))
                else:
                    self.choices[conjunct].append(clause)

    def _index_roles(self) -> None:
        form = self.form
        self.super_roles: dict[int, list[int]] = defaultdict(list)
        for role, sup in form.super_roles:
            self.super_roles[role].append(sup)
        self.chains: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for first, second, implied in form.chains:
            self.chains[first].append((second, implied))
            self.chains[second ^ 1].append((first ^ 1, implied ^ 1))
        self.disjoint_roles: dict[int, list[int]] = defaultdict(list)
        for left, right in form.disjoint_roles:
            self.disjoint_roles[left].append(right)
            self.disjoint_roles[right].append(left)
        self.selves: dict[int, list[int]] = defaultdict(list)
        for role, head in form.has_self:
            self.selves[role].append(head)
        self.irreflexive = {role & ~1 for role in form.irreflexive}
        self.absent = frozenset((role, left, right) for role, left, right in form.absent)

    def _index_data(self) -> None:
        form = self.form
        self.data_some: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self._heads: dict[tuple[int, Hashable], list[int]] = {}
        for property, range, head in form.data_some:
            self.data_some[property].append((range, head))
        self.super_data: dict[int, list[int]] = defaultdict(list)
        for property, sup in form.super_data:
            self.super_data[property].append(sup)
        self.disjoint_data: dict[int, list[int]] = defaultdict(list)
        for left, right in form.disjoint_data:
            self.disjoint_data[left].append(right)
            self.disjoint_data[right].append(left)
        # Ranges and numbers of literals: of a class by its properties, and of a property by its classes.
        self.class_ranges: dict[int, list[tuple[int, int, int | None]]] = defaultdict(list)
        self.property_ranges: dict[int, list[tuple[int, int, int | None]]] = defaultdict(list)
        for of, property, range in form.data_all:
            self.class_ranges[of].append((property, range, None))
            self.property_ranges[property].append((of, range, None))
        for of, number, property, range in form.data_at_most:
            self.class_ranges[of].append((property, range, number))
            self.property_ranges[property].append((of, range, number))
        self.gives_literal: dict[int, list[tuple[int, Value]]] = defaultdict(list)
        for of, property, value in form.gives_literal:
            self.gives_literal[of].append((property, value))
        self.absent_data = frozenset(form.absent_data)


class ClassRules(NamedTuple):
    """What an individual's membership in one class may do; most classes do little."""

    clauses: list[tuple[tuple[int, ...], int]]
    clashes: list[tuple[int, ...]]
    neighbours: list[tuple[int, int]]
    gives: list[tuple[int, str | None]]
    literals: list[tuple[int, Value]]
    ranges: list[tuple[int, int, int | None]]
    choices: list[ClassClause]
    limits: list[Guard]
    fillers: list[AtMost]


class Model:
    """Individuals with their classes, neighbours and literals.

    `clash` says that a contradiction followed: then nothing else counts, and the model must be undone.
    """

    def __init__(self, rules: RuleIndex) -> None:
        self.rules = rules
        form = rules.form
        self.types: dict[Individual, set[int]] = {}
        self.edges: list[dict[Individual, set[Individual]]] = [{} for _ in range(2 * len(form.roles))]
        self.literals: list[dict[Individual, set[Value]]] = [{} for _ in range(len(form.data))]
        self.different: set[tuple[Individual, Individual]] = set()
        self.pending: list[tuple[Guard, Individual]] = []
        self.clash = False
        self._queue: list[tuple[Any, ...]] = []
        # What to take back: a set and what was put into it, or a table and the key that was put into it.
        self._trail: list[tuple[Any, Any]] = []
        for individual, of in form.nominals.items():
            self.add_class(of, individual)

    def grow(self, growth: FormGrowth) -> None:
        """Draws all conclusions of what its rules have grown by; it was closed, and what it notes is permanent."""
        for name, nominal in growth.nominals:
            self.add_class(nominal, name)
        for role, filler, head in growth.some:
            for source, targets in self.edges[role].items():
                if any(filler in self.types[target] for target in targets):
                    self.add_class(head, source)
        for property, range, head in growth.data_some:
            test = self.rules.form.ranges[range]
            for individual, values in self.literals[property].items():
                if any(map(test, values)):
                    self.add_class(head, individual)
        for body, (head,) in growth.clauses:
            for individual, classes in self.types.items():
                if classes.issuperset(body):
                    self.add_class(head, individual)
        self.close()
        self.forget_trail()

    def mark(self) -> tuple[int, int]:
        """A mark that `undo` can go back to."""
        return len(self._trail), len(self.pending)

    def trail(self, start: int) -> list[tuple[Any, Any]]:
        """What came since a mark: sets and what was put into them, and tables with the keys that were put into them."""
        return self._trail[start:]

    def undo(self, mark: tuple[int, int]) -> None:
        """Takes back everything since a mark."""
        trail = self._trail
        length, pending = mark
        while len(trail) > length:
            container, item = trail.pop()
            if type(container) is dict:
                del container[item]
            else:
                container.discard(item)
        del self.pending[pending:]
        self._queue.clear()
        self.clash = False

    def forget_trail(self) -> None:
        """Makes what there is permanent."""
        self._trail.clear()
        self.pending.clear()

    def add_individual(self, individual: Individual) -> set[int]:
        """The classes of an individual, which is new if it was not known."""
        classes = self.types.get(individual)
        if classes is None:
            classes = self.types[individual] = set()
            self._trail.append((self.types, individual))
            self.add_class(EVERYTHING, individual)
        return classes

    def add_class(self, of: int, individual: Individual) -> None:
        """Puts an individual into a class; `close` draws the conclusions."""
        classes = self.types.get(individual)
        if classes is None:
            classes = self.add_individual(individual)
        if of not in classes:
            classes.add(of)
            self._trail.append((classes, of))
            self._queue.append((of, individual))

    def add_edge(self, role: int, source: Individual, target: Individual) -> None:
        """Relates two individuals."""
        if role & 1:
            role, source, target = role ^ 1, target, source
        table = self.edges[role]
        targets = table.get(source)
        if targets is None:
            targets = table[source] = set()
            self._trail.append((table, source))
        elif target in targets:
            return
        targets.add(target)
        self._trail.append((targets, target))
        table = self.edges[role | 1]
        sources = table.get(target)
        if sources is None:
            sources = table[target] = set()
            self._trail.append((table, target))
        sources.add(source)
        self._trail.append((sources, source))
        if source not in self.types:
            self.add_individual(source)
        if target not in self.types:
            self.add_individual(target)
        self._queue.append((role, source, target))

    def add_literal(self, property: int, individual: Individual, value: Value) -> None:
        """Gives an individual a literal."""
        table = self.literals[property]
        values = table.get(individual)
        if values is None:
            values = table[individual] = set()
            self._trail.append((table, individual))
        elif value in values:
            return
        values.add(value)
        self._trail.append((values, value))
        if individual not in self.types:
            self.add_individual(individual)
        self._queue.append((property, individual, value, None))

    def add_different(self, first: Individual, second: Individual) -> None:
        """Says that two individuals are not the same, which in this model they never are."""
        if first == second:
            self.clash = True
        for pair in ((first, second), (second, first)):
            if pair not in self.different:
                self.different.add(pair)
                self._trail.append((self.different, pair))

    def close(self) -> bool:
        """Draws all conclusions; False where they contradict each other."""
        queue = self._queue
        while queue and not self.clash:
            item = queue.pop()
            if len(item) == 2:
                self._close_class(*item)
            elif len(item) == 3:
                role, source, target = item
                self._close_edge(role, source, target)
                self._close_edge(role | 1, target, source)
                if (role, source, target) in self.rules.absent:
                    self.clash = True
            else:
                self._close_literal(item[0], item[1], item[2])
        return not self.clash

    def _close_class(self, of: int, individual: Individual) -> None:
        rules = self.rules.of_class.get(of)
        if rules is None:
            return
        classes = self.types[individual]
        for conjuncts, head in rules.clauses:
            if head not in classes and classes.issuperset(conjuncts):
                self.add_class(head, individual)
        for conjuncts in rules.clashes:
            if classes.issuperset(conjuncts):
                self.clash = True
                return
        for role, head in rules.neighbours:
            for other in tuple(self.edges[role].get(individual, ())):
                self.add_class(head, other)
        for role, target in rules.gives:
            self.add_edge(role, individual, individual if target is None else target)
        for property, value in rules.literals:
            self.add_literal(property, individual, value)
        for property, range, number in rules.ranges:
            if property_values := self.literals[property].get(individual):
                self._check_literals(property_values, range, number)
        for clause in rules.choices:
            if classes.issuperset(clause.body):
                self.pending.append((clause, individual))
        for guard in rules.limits:
            self.pending.append((guard, individual))
        for most in rules.fillers:
            for other in self.edges[most.role ^ 1].get(individual, ()):
                if most.of in self.types[other]:
                    self.pending.append((most, other))

    def _close_edge(self, role: int, source: Individual, target: Individual) -> None:
        rules = self.rules
        theirs = self.types[target]
        for filler, head in rules.edges.get(role, ()):
            if filler in theirs:
                self.add_class(head, source)
        for sup in rules.super_roles.get(role, ()):
            self.add_edge(sup, source, target)
        for second, implied in rules.chains.get(role, ()):
            for end in tuple(self.edges[second].get(target, ())):
                self.add_edge(implied, source, end)
        if source == target:
            for head in rules.selves.get(role, ()):
                self.add_class(head, source)
            if role in rules.irreflexive:
                self.clash = True
        for disjoint in rules.disjoint_roles.get(role, ()):
            if target in self.edges[disjoint].get(source, ()):
                self.clash = True
        for most in rules.edge_limits.get(role, ()):
            if most.of in self.types[source]:
                self.pending.append((most, source))

    def _close_literal(self, property: int, individual: Individual, value: Value) -> None:
        rules = self.rules
        for head in rules.heads_of(property, value):
            self.add_class(head, individual)
        for sup in rules.super_data.get(property, ()):
            self.add_literal(sup, individual, value)
        for disjoint in rules.disjoint_data.get(property, ()):
            if value in self.literals[disjoint].get(individual, ()):
                self.clash = True
        for of, range, number in rules.property_ranges.get(property, ()):
            if of in self.types[individual]:
                self._check_literals(self.literals[property][individual], range, number)
        if (property, individual, value) in rules.absent_data:
            self.clash = True

    def _check_literals(self, values: Iterable[Value], range: int, number: int | None) -> None:
        """All of them must be in the range; or, where there is a number, at most so many of them."""
        test = self.rules.form.ranges[range]
        if (not all(map(test, values))) if number is None else sum(map(test, values)) > number:
            self.clash = True

    def violates(self, guard: Guard, individual: Individual) -> bool:
        """Whether an individual does not keep to a guard."""
        classes = self.types[individual]
        match guard:
            case ClassClause(_, heads):
                return not any(head in classes for head in heads)
            case AtLeast(_, number, role, filler):
                return self.count(role, individual, filler) < number
            case AtMost(_, number, role, filler):
                return self.count(role, individual, filler) > number
            case OneOf(_, individuals):
                return individual not in individuals
            case DataAtLeast(_, number, property, range):
                values = self.literals[property].get(individual, ())
                return sum(map(self.rules.form.ranges[range], values)) < number

    def count(self, role: int, individual: Individual, filler: int) -> int:
        """How many neighbours an individual has in a class."""
        neighbours = self.edges[role].get(individual, ())
        return len(neighbours) if filler == EVERYTHING else sum(filler in self.types[other] for other in neighbours)

    def violations(self, start: int = 0) -> bool:
        """Whether any of the guards that were noted is violated."""
        return any(self.violates(*noted) for noted in self.pending[start:])

    def guards_of(self, individual: Individual) -> list[tuple[Guard, Individual]]:
        """Every guard that an individual must keep to."""
        rules, classes = self.rules, self.types[individual]
        guards = [(guard, individual) for of in sorted(classes) for guard in rules.limits.get(of, ())]
        for of in sorted(classes):
            # A clause is met once, at the first class of its body.
            choices = (clause for clause in rules.choices.get(of, ()) if clause.body[0] == of)
            guards += [
                (clause, individual) for clause in choices if all(conjunct in classes for conjunct in clause.body)
            ]
        return guards
