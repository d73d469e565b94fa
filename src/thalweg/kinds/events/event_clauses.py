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

A filter is evaluated by SPARQL, once for each different binding of its variables. A comparison with a number, which
most of them are, needs no SPARQL where the number is plain: an integer, a decimal or a double written in short.
"""

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import lru_cache
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from thalweg.diagnostics import Diagnostic
from thalweg.ir.pattern_semantics import Holds, Instance, Pair, Solution, TripleTerms
from thalweg.ir.patterns import Clause, Filter, Pattern
from thalweg.kinds.classes.classifier import OncePerRun
from thalweg.kinds.classes.entailed_triples import EntailedTriples
from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram
from thalweg.model.rdf import XSD
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
    >>> list(subscriptions.asked(Instance("<A>", 1, 1, "<x>", triples=(("<x>", "<at>", "<r7>"),))))
    [(7, (('o', '<x>'),))]
    """

    def __init__(self, clauses: Iterable[tuple[int, Clause | None]], background: TripleIndex) -> None:
        self._plain: list[int] = []
        general: dict[tuple[Step, ...], list[tuple[int, Clause]]] = {}
        for number, clause in clauses:
            if clause is None or not clause.triples:
                self._plain.append(number)
            else:
                shape = tuple(_numbered(_asking(_in_order(clause))[0])[0])
                general.setdefault(shape, []).append((number, clause))
        self._shapes: list[_Shape] = []
        for steps, alike in general.items():
            self._shapes += _together(steps, alike, background) if len(alike) >= ALIKE else _apart(alike, background)
        self.looks = bool(self._shapes)

    def asked(self, event: Instance) -> list[tuple[int, Solution]]:
        """The patterns that an event is for, with solutions of their clauses."""
        solutions: list[tuple[int, Solution]] = [(number, ()) for number in self._plain] if self._plain else []
        for shape in self._shapes:
            solutions += shape.asked(event)
        return solutions


@dataclass(slots=True)
class _Shape:
    """Clauses that are the same but for constants, which stand in some columns of their rows."""

    restriction: Restriction
    constants: list[int]
    subscribed: dict[Any, list[Subscribed]] = field(default_factory=dict)

    def add(self, constants: tuple[str, ...], number: int, columns: Columns) -> None:
        self.subscribed.setdefault(constants, []).append((number, columns))

    def asked(self, event: Instance) -> list[tuple[int, Solution]]:
        """The patterns that an event is for, with solutions of their clauses."""
        constants, subscribed = self.constants, self.subscribed
        solutions: list[tuple[int, Solution]] = []
        for row in self.restriction.solutions(event):
            key = tuple([row[column] for column in constants]) if constants else ()
            for number, columns in subscribed.get(key, ()):
                solutions.append((number, tuple([(name, row[column]) for name, column in columns])))
        return solutions


def _together(
    steps: tuple[Step, ...], alike: Iterable[tuple[int, Clause]], background: TripleIndex
) -> Iterator[_Shape]:
    """One shape for clauses that differ in constants."""
    shape = None
    for number, clause in alike:
        triples, constants = _asking(_in_order(clause))
        numbers = _numbered(triples)[1]
        if shape is None:
            shape = _Shape(Restriction(steps, background), [numbers[variable] for variable in constants])
        shape.add(tuple(constants.values()), number, _columns(clause, numbers))
    if shape is not None:
        yield shape


def _apart(alike: Iterable[tuple[int, Clause]], background: TripleIndex) -> Iterator[_Shape]:
    """A shape for each different clause, with its constants."""
    shapes: dict[tuple[Step, ...], _Shape] = {}
    for number, clause in alike:
        steps, numbers = _numbered(_in_order(clause))
        shape = shapes.setdefault(tuple(steps), _Shape(Restriction(steps, background), []))
        shape.add((), number, _columns(clause, numbers))
    return iter(shapes.values())


def _columns(clause: Clause, numbers: dict[str, int]) -> Columns:
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


Compare = Callable[[Mapping[str, str]], bool | None]
"""Whether a comparison holds; None where SPARQL must be asked."""

_CONDITION: Final = re.compile(r"\( *\?(\w+) *(<=|>=|<|>|=|!=) *(-? *[0-9.]{1,15}) *\)")
_PLAIN: Final = re.compile(r"-?(?:[0-9]{1,15}|[0-9]{1,7}\.[0-9]{1,8})\Z")
_DOUBLE: Final = re.compile(rf'"(-?[0-9]{{1,15}}(?:\.[0-9]{{1,15}})?(?:[eE][+-]?[0-9]{{1,2}})?)"\^\^<{XSD}double>\Z')
_OPERATORS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
}


@lru_cache(maxsize=4_096)
def comparison(condition: str) -> Compare | None:
    """What decides a condition; None where it is not a plain comparison.

    >>> compare = comparison("( ?v > 15 )")
    >>> compare({"v": "16"}), compare({"v": '"3.5"^^<http://www.w3.org/2001/XMLSchema#double>'}), compare({"v": "<a>"})
    (True, False, None)
    >>> comparison("( ?v > ?w )")
    """
    match = _CONDITION.fullmatch(condition)
    number = match[3].replace(" ", "") if match else ""
    if match is None or not _PLAIN.match(number):
        return None
    name, compare = match[1], _OPERATORS[match[2]]
    exact, double = Decimal(number), float(number)

    def decide(binding: Mapping[str, str]) -> bool | None:
        term = binding[name]
        if _PLAIN.match(term):
            return compare(Decimal(term), exact)
        written = _DOUBLE.match(term)
        return compare(float(written[1]), double) if written else None

    return decide
