"""The clauses of patterns, asked of one event after the other.

The triples of a clause are found in the graph of the event, in the background, and in what the ontology entails of
them. The first one begins at the individual of the event, and the others follow in an order in which each has something
that is bound already, where there is one. So what a clause costs does not depend on how large the background is. The
graph of an event is small, and is looked through.

The variables of a clause are numbered in the order in which they are bound, and a solution is a row of terms: which
of them a triple finds bound is known beforehand.

Many subscriptions differ in constants only,

    EVENT :High { ?o :at ?place . ?place :in :road1 }    and the same with :road2, :road3, …

so a constant is asked for like a variable, once for all of them, and the answer is the key under which they are found.
That is done for the object of a triple whose subject is known by then, where there are several such clauses.

A filter is evaluated by SPARQL, once for each different binding of its variables. Comparisons with numbers, which most
of them are, need no SPARQL where the number is plain, and patterns are found by what they compare (`comparisons.py`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from thalweg.diagnostics import Diagnostic
from thalweg.ir.pattern_semantics import Holds, Instance, Pair, Solution, TripleTerms
from thalweg.ir.patterns import Clause, Filter, Pattern
from thalweg.kinds.classes.classifier import OncePerRun
from thalweg.kinds.classes.entailed_triples import EntailedTriples
from thalweg.kinds.events.comparisons import LimitIndex, NumberLimit, comparison, number_limits
from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram
from thalweg.solvers.sparql import SparqlStore

if TYPE_CHECKING:
    from thalweg.kinds.events import EventCascade

Row = tuple[str, ...]
Term = str | int
"""A term, or the number of a variable."""
Step = tuple[Term, Term, Term]
Columns = tuple[tuple[str, int], ...]
"""The variables of a clause, sorted by name, and their numbers in a row."""
Subscribed = tuple[int, Columns]
"""The number of a pattern, and what it calls the columns."""
# So many clauses that differ in constants are asked together.
ALIKE: Final = 4
_CONSTANT: Final = "?="
_CASE: Final = "<urn:thalweg:case>"


# Triples --------------------------------------------------------------------------------------------------------------


class TripleIndex:
    """Triples by subject, by predicate and by object; `entailed` knows what follows of them, and of events.

    >>> index = TripleIndex([("<x>", "<at>", "<y>"), ("<x>", "<in>", "<z>")])
    >>> index.matching("<x>", None, "<z>")
    [('<x>', '<in>', '<z>')]
    """

    def __init__(self, triples: Iterable[TripleTerms], entailed: EntailedTriples | None = None) -> None:
        self.entailed = entailed
        self._all = list(dict.fromkeys(triples if entailed is None else chain(triples, entailed.background)))
        self._subjects: dict[str, list[TripleTerms]] = {}
        self._of: dict[str, dict[str, list[str]]] = {}
        self._predicates: dict[str, list[TripleTerms]] = {}
        self._objects: dict[str, list[TripleTerms]] = {}
        for triple in self._all:
            self._subjects.setdefault(triple[0], []).append(triple)
            self._of.setdefault(triple[0], {}).setdefault(triple[1], []).append(triple[2])
            self._predicates.setdefault(triple[1], []).append(triple)
            self._objects.setdefault(triple[2], []).append(triple)

    def objects(self, subject: str, predicate: str) -> Sequence[str]:
        """The objects of a subject and a predicate."""
        by_predicate = self._of.get(subject)
        return () if by_predicate is None else by_predicate.get(predicate, ())

    def matching(self, subject: str | None, predicate: str | None, target: str | None) -> Sequence[TripleTerms]:
        """The triples that have the terms asked for; None stands for any."""
        triples = self._all
        if predicate is not None:
            triples = self._predicates.get(predicate, [])
        if target is not None:
            triples = min(triples, self._objects.get(target, []), key=len)
        if subject is not None:
            triples = min(triples, self._subjects.get(subject, []), key=len)
        return matching(triples, subject, predicate, target) if triples else triples

    def may_have(self, predicate: str) -> bool:
        """Whether a triple of a predicate may be found that the graph of an event does not have.

        >>> index = TripleIndex([("<x>", "<at>", "<y>")])
        >>> index.may_have("<at>"), index.may_have("<note>")
        (True, False)
        """
        return predicate in self._predicates or (self.entailed is not None and self.entailed.may_give(predicate))

    def doubts(self) -> Iterator[Diagnostic]:
        """Where more may follow than was found."""
        return iter(()) if self.entailed is None else self.entailed.summary()


def known_besides(program: AbstractionProgram) -> TripleIndex:
    """What clauses look up besides the graph of an event."""
    return TripleIndex(program.triples, None if program.lookup is None else EntailedTriples(program.lookup))


def matching(
    triples: Iterable[TripleTerms], subject: str | None, predicate: str | None, target: str | None
) -> list[TripleTerms]:
    """The triples that have the terms asked for; None stands for any.

    >>> matching([("<x>", "<at>", "<y>"), ("<x>", "<in>", "<z>")], None, "<in>", None)
    [('<x>', '<in>', '<z>')]
    """
    return [
        triple
        for triple in triples
        if (predicate is None or triple[1] == predicate)
        and (subject is None or triple[0] == subject)
        and (target is None or triple[2] == target)
    ]


@dataclass(frozen=True)
class SharedIndex:
    """An index, and the lock of the bucket that looks something up."""

    index: TripleIndex
    lock: Lock = field(default_factory=Lock)

    def looking(self) -> AbstractContextManager[Any]:
        """While an event is looked up: what follows of it is found by adding it to the background for a moment, which
        one bucket of a process does at a time.
        """
        return nullcontext() if self.index.entailed is None else self.lock


_INDEXES: Final = OncePerRun[SharedIndex]()


def shared_index(run: str, part: "EventCascade") -> SharedIndex:
    """The index of a run in this process; an empty one where there are no patterns."""
    if not part.patterns:
        return SharedIndex(TripleIndex(()))
    return _INDEXES.of(run, lambda: SharedIndex(known_besides(part.classifier().program)))


# Clauses --------------------------------------------------------------------------------------------------------------


class Restriction:
    """The triples of a clause in the order in which they are looked up, variables as numbers.

    >>> restriction = Restriction([(0, "<at>", 1), (1, "<in>", 2)], TripleIndex([("<y>", "<in>", "<z>")]))
    >>> restriction.solutions(Instance("<A>", 1, 1, "<x>", triples=(("<x>", "<at>", "<y>"),)))
    [('<x>', '<y>', '<z>')]
    """

    def __init__(self, steps: Sequence[Step], background: TripleIndex) -> None:
        self._steps = list(steps)
        self._background = background
        self._entailed = background.entailed

    def solutions(self, event: Instance) -> list[Row]:
        """The rows of a clause at an event; the same as `ir/pattern_semantics.py` says."""
        if self._entailed is not None and (more := self._entailed.of(event.triples)):
            event = replace(event, triples=event.triples + more)
        anchors = event.individuals if event.events else (event.individual,)
        first = self._steps[0][0]
        rows: list[Row] = [(anchor,) for anchor in anchors] if isinstance(first, int) else [()] * (first in anchors)
        for step in self._steps:
            if not rows:
                return rows
            rows = self._extended(rows, step, event)
        return rows if len(rows) < 2 else list(dict.fromkeys(rows))

    def _extended(self, rows: list[Row], step: Step, event: Instance) -> list[Row]:
        """Rows with what a triple binds."""
        subject, predicate, target = step
        width = len(rows[0])
        if isinstance(predicate, int) or (isinstance(subject, int) and subject >= width):
            return [more for row in rows for more in self._searched(row, step, event)]
        extended: list[Row] = []
        for row in rows:
            node = row[subject] if isinstance(subject, int) else subject
            objects: Sequence[str] = [
                triple[2] for triple in event.triples if triple[0] == node and triple[1] == predicate
            ]
            if more := self._background.objects(node, predicate):
                objects = list(dict.fromkeys([*objects, *more])) if objects else more
            if isinstance(target, int) and target >= width:
                extended += [(*row, value) for value in objects]
            elif (row[target] if isinstance(target, int) else target) in objects:
                extended.append(row)
        return extended

    def _searched(self, row: Row, step: Step, event: Instance) -> Iterable[Row]:
        """A row with what a triple binds, where the subject or the predicate is a variable that is not bound yet."""
        width = len(row)
        wanted = [part if isinstance(part, str) else row[part] if part < width else None for part in step]
        subject, predicate, target = wanted
        triples = matching(event.triples, subject, predicate, target)
        for terms in dict.fromkeys([*triples, *self._background.matching(subject, predicate, target)]):
            bound: dict[int, str] = {}
            new = [
                (part, term) for part, term in zip(step, terms, strict=True) if isinstance(part, int) and part >= width
            ]
            if all(bound.setdefault(part, term) == term for part, term in new):
                yield (*row, *(bound[part] for part in sorted(bound)))


def _in_order(clause: Clause) -> list[TripleTerms]:
    """The first triple, and then again and again one with the most that is bound by those before."""
    first, *remaining = ((triple.subject, triple.predicate, triple.object) for triple in clause.triples)
    order = [first]
    while remaining:
        bound = {term for triple in order for term in triple if term[0] == "?"}
        best = max(remaining, key=lambda triple: sum(term[0] != "?" or term in bound for term in triple))
        order.append(best)
        remaining.remove(best)
    return order


def _numbered(triples: Iterable[TripleTerms]) -> tuple[list[Step], dict[str, int]]:
    """Triples with variables as numbers in the order in which they are bound, and the number of each variable.

    >>> _numbered([("?o", "<at>", "?l"), ("?l", "<in>", "<z>")])
    ([(0, '<at>', 1), (1, '<in>', '<z>')], {'?o': 0, '?l': 1})
    """
    numbers: dict[str, int] = {}

    def number(term: str) -> Term:
        return numbers.setdefault(term, len(numbers)) if term[0] == "?" else term

    return [(number(subject), number(predicate), number(target)) for subject, predicate, target in triples], numbers


class Subscriptions:
    """The clauses about events of one name, each with the number of its pattern; None for a pattern without one.

    >>> from thalweg.ir.patterns import Triple
    >>> clauses = [(number, Clause("<A>", (Triple("?o", "<at>", f"<r{number}>"),))) for number in range(9)]
    >>> subscriptions = Subscriptions(clauses, TripleIndex([]))
    >>> event = Instance("<A>", 1, 1, "<x>", triples=(("<x>", "<at>", "<r7>"),))
    >>> list(subscriptions.asked(event))
    [(7, (('o', '<x>'),))]
    >>> subscriptions.remove(7)
    >>> list(subscriptions.asked(event))
    []
    """

    def __init__(self, clauses: Iterable[tuple[int, Clause | None]], background: TripleIndex) -> None:
        self._plain: dict[int, None] = {}
        self._families: dict[tuple[object, ...], _Family] = {}
        self._family_of: dict[int, tuple[object, ...]] = {}
        for number, clause in clauses:
            self.add(number, clause, (), background)

    def add(
        self, number: int, clause: Clause | None, filters: Sequence[tuple[NumberLimit, ...]], background: TripleIndex
    ) -> None:
        """Adds the clause of a pattern; what its `filters` do not allow may be left out of what is asked."""
        if clause is None or not clause.triples:
            self._plain[number] = None
            return
        triples, constants = _asking(_in_order(clause))
        steps, numbers = _numbered(triples)
        # A variable of the text and one that stands for a constant may have the same place.
        asked = tuple(numbers[variable] for variable in constants)
        key = id(background), asked, tuple(steps)
        if key not in self._families:
            self._families[key] = _Family(steps, asked, background)
        self._family_of[number] = key
        self._families[key].add(_ClauseOf(number, clause, _of_one_variable(filters)))

    def remove(self, number: int) -> None:
        """Takes the clause of a pattern away."""
        key = self._family_of.pop(number, None)
        if key is None:
            del self._plain[number]
            return
        self._families[key].remove(number)
        if not self._families[key].members:
            del self._families[key]

    @property
    def looks(self) -> bool:
        """Whether triples are looked up."""
        return bool(self._families)

    @property
    def is_empty(self) -> bool:
        """Whether no pattern is left."""
        return not self._plain and not self._families

    def asked(self, event: Instance) -> list[tuple[int, Solution]]:
        """The patterns that an event is for, with solutions of their clauses."""
        solutions: list[tuple[int, Solution]] = [(number, ()) for number in self._plain] if self._plain else []
        for family in self._families.values():
            for shape in family.shapes:
                solutions += shape.asked(event)
        return solutions


@dataclass(frozen=True, slots=True)
class _ClauseOf:
    """The clause of a pattern by its number, and what its filters ask of one variable."""

    number: int
    clause: Clause
    limits: tuple[NumberLimit, ...]


def _of_one_variable(filters: Iterable[tuple[NumberLimit, ...]]) -> tuple[NumberLimit, ...]:
    """The limits of the first variable that has some."""
    limits = [limit for condition in filters for limit in condition]
    return tuple(limit for limit in limits if limit.variable == limits[0].variable)


class _Family:
    """Clauses that differ in constants only; where they are several, they are asked together.

    The constants have become the variables that are `asked` for.
    """

    def __init__(self, steps: Sequence[Step], asked: Sequence[int], background: TripleIndex) -> None:
        self._steps = steps
        self._asked = asked
        self._background = background
        self._are_together = False
        self.members: dict[int, _ClauseOf] = {}
        self.shapes: list[_Shape] = []

    def add(self, member: _ClauseOf) -> None:
        self.members[member.number] = member
        if self._are_together:
            self._join(member)
        elif len(self.members) < ALIKE:
            self.shapes = list(_apart(self.members.values(), self._background))
        else:
            self._are_together = True
            self.shapes = []
            for earlier in self.members.values():
                self._join(earlier)

    def _join(self, member: _ClauseOf) -> None:
        triples, constants = _asking(_in_order(member.clause))
        numbers = _numbered(triples)[1]
        if not self.shapes:
            self.shapes = [_Shape(Restriction(self._steps, self._background), self._asked)]
        self.shapes[0].add(tuple(constants.values()), member, numbers)

    def remove(self, number: int) -> None:
        del self.members[number]
        if self._are_together:
            self.shapes[0].remove(number)
        else:
            self.shapes = list(_apart(self.members.values(), self._background))


@dataclass(slots=True)
class _Alike:
    """Patterns whose clauses have the same constants: those that take any row, and others by the limits of a column."""

    free: dict[int, Subscribed] = field(default_factory=dict)
    limited: dict[int, LimitIndex] = field(default_factory=dict)

    def taking(self, row: Row) -> Iterator[Subscribed]:
        """Those that may take a row."""
        yield from self.free.values()
        for column, index in self.limited.items():
            yield from index.allowing(row[column])


@dataclass(slots=True)
class _Shape:
    """Clauses that are the same but for constants, which stand in some columns of their rows."""

    restriction: Restriction
    constants: Sequence[int]
    subscribed: dict[Any, _Alike] = field(default_factory=dict)
    _places: dict[int, tuple[Any, int | None]] = field(default_factory=dict)

    def add(self, constants: tuple[str, ...], member: _ClauseOf, numbers: Mapping[str, int]) -> None:
        alike = self.subscribed.setdefault(constants, _Alike())
        subscribed = member.number, _columns(member.clause, numbers)
        column = numbers[f"?{member.limits[0].variable}"] if member.limits else None
        self._places[member.number] = constants, column
        if column is None:
            alike.free[member.number] = subscribed
        else:
            alike.limited.setdefault(column, LimitIndex()).add(member.number, subscribed, member.limits)

    def remove(self, number: int) -> None:
        constants, column = self._places.pop(number)
        alike = self.subscribed[constants]
        if column is None:
            del alike.free[number]
        else:
            alike.limited[column].remove(number)
            if not len(alike.limited[column]):
                del alike.limited[column]
        if not alike.free and not alike.limited:
            del self.subscribed[constants]

    def asked(self, event: Instance) -> list[tuple[int, Solution]]:
        """The patterns that an event is for, with solutions of their clauses."""
        constants, subscribed = self.constants, self.subscribed
        solutions: list[tuple[int, Solution]] = []
        for row in self.restriction.solutions(event):
            alike = subscribed.get(tuple([row[column] for column in constants]) if constants else ())
            if alike is not None:
                for number, columns in alike.taking(row):
                    solutions.append((number, tuple([(name, row[column]) for name, column in columns])))
        return solutions


def _apart(members: Iterable[_ClauseOf], background: TripleIndex) -> Iterator[_Shape]:
    """A shape for each different clause, with its constants."""
    shapes: dict[tuple[Step, ...], _Shape] = {}
    for member in members:
        steps, numbers = _numbered(_in_order(member.clause))
        shape = shapes.setdefault(tuple(steps), _Shape(Restriction(steps, background), []))
        shape.add((), member, numbers)
    return iter(shapes.values())


def _columns(clause: Clause, numbers: Mapping[str, int]) -> Columns:
    return tuple((name, numbers[f"?{name}"]) for name in sorted(clause.variables))


def _asking(triples: Iterable[TripleTerms]) -> tuple[list[TripleTerms], dict[str, str]]:
    """Triples in which constants have become variables, and the constant that each of these stands for.

    >>> _asking([("?o", "<at>", "<r1>")])
    ([('?o', '<at>', '?=0')], {'?=0': '<r1>'})
    """
    constants: dict[str, str] = {}
    bound: set[str] = set()
    asking = []
    for number, (subject, predicate, target) in enumerate(triples):
        is_known = number == 0 or subject[0] != "?" or subject in bound
        if is_known and predicate[0] != "?" and target[0] != "?":
            variable = f"{_CONSTANT}{len(constants)}"
            constants[variable] = target
            asking.append((subject, predicate, variable))
        else:
            asking.append((subject, predicate, target))
        bound |= {subject, predicate, target}
    return asking, constants


# Filters --------------------------------------------------------------------------------------------------------------


class OwnFilters:
    """Lets events pass whose solutions keep to the filters that they decide; `joint` are those that remain."""

    def __init__(self, pattern: Pattern, holds: Holds) -> None:
        self._holds = holds
        self._of = {clause.event: _covered(pattern, clause) for clause in pattern.clauses}
        self.joint = [
            condition for clause in pattern.clauses for condition in clause.filters if not _alone(pattern, condition)
        ]

    def passing(self, name: str, pairs: Iterable[Pair]) -> Iterable[Pair]:
        """The events of a name that pass."""
        filters = self._of.get(name)
        if not filters:
            return pairs
        return [
            pair
            for pair in pairs
            if all(self._holds(condition, _taken(pair[1], condition.variables)) for condition in filters)
        ]


def limits_of(pattern: Pattern, clause: Clause) -> list[tuple[NumberLimit, ...]]:
    """The filters that an event of a name decides and that compare numbers: what they do not allow fills no place."""
    limits = (number_limits(condition.text) for condition in _covered(pattern, clause))
    return [compared for compared in limits if compared is not None]


def _covered(pattern: Pattern, clause: Clause) -> list[Filter]:
    """The filters that an event of a name with its solution decides."""
    return [
        condition
        for other in pattern.clauses
        for condition in other.filters
        if set(condition.variables) <= clause.variables
    ]


def _alone(pattern: Pattern, condition: Filter) -> bool:
    """Whether single events decide a filter: those of one name bind all of it, or all that bind some of it."""
    wanted, shared = set(condition.variables), pattern.shared
    if any(clause.variables & wanted - shared and wanted <= clause.variables for clause in pattern.clauses):
        return True
    return bool(wanted) and all(wanted <= clause.variables for clause in pattern.clauses if clause.variables & wanted)


def _taken(solution: Solution, names: Iterable[str]) -> Mapping[str, str]:
    terms = dict(solution)
    return {name: terms[name] for name in names}


def holds(condition: Filter, binding: Mapping[str, str]) -> bool:
    """Whether a filter holds, by SPARQL: an error in it does not.

    >>> holds(Filter("(?v > 15)", ("v",)), {"v": "16"}), holds(Filter("(?v > 15)", ("v",)), {"v": "<a>"})
    (True, False)
    """
    compare = comparison(condition.text)
    if compare is not None and (decision := compare(binding)) is not None:
        return decision
    return _holds(condition.text, tuple(sorted(binding.items())))


@lru_cache(maxsize=65_536)
def _holds(condition: str, binding: Solution) -> bool:
    store = SparqlStore()
    try:
        store.extend([(_CASE, f"<urn:thalweg:variable:{name}>", term) for name, term in binding])
    except ValueError:
        return False
    bound = " . ".join(f"{_CASE} <urn:thalweg:variable:{name}> ?{name}" for name, _ in binding)
    return bool(store.ask(f"ASK {{ {bound} FILTER {condition} }}"))
