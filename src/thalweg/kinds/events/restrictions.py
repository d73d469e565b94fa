"""The clauses of patterns, asked of one event after the other.

The triples of a clause are found in the graph of the event, in the background, and in what the ontology entails of
them. The first one begins at the individual of the event, and the others follow in an order in which each has something
that is bound already, where there is one. So what a clause costs does not depend on how large the background is. The
graph of an event is small, and is looked through.

The variables of a clause are numbered in the order in which they are bound, and a solution is a row of terms: which
of them a triple finds bound is known beforehand.

A filter is evaluated by SPARQL, once for each different binding of its variables; a comparison with a number needs no
SPARQL.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain

from thalweg.diagnostics import Diagnostic
from thalweg.ir.pattern_semantics import Instance, Solution, TripleTerms
from thalweg.ir.patterns import Clause, Filter, Triple
from thalweg.kinds.classes.entailed_triples import EntailedTriples
from thalweg.kinds.events.number_filters import comparison
from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram
from thalweg.solvers.sparql import SparqlStore

Row = tuple[str, ...]
Term = str | int
"""A term, or the number of a variable."""
Step = tuple[Term, Term, Term]
_CASE = "<urn:thalweg:case>"


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


def in_order(clause: Clause) -> list[TripleTerms]:
    """The first triple, and then again and again one with the most that is bound by those before."""
    return [_terms(triple) for triple in _in_order(clause.triples)]


def numbered(triples: Iterable[TripleTerms]) -> tuple[list[Step], dict[str, int]]:
    """Triples with variables as numbers in the order in which they are bound, and the number of each variable.

    >>> numbered([("?o", "<at>", "?l"), ("?l", "<in>", "<z>")])
    ([(0, '<at>', 1), (1, '<in>', '<z>')], {'?o': 0, '?l': 1})
    """
    numbers: dict[str, int] = {}

    def number(term: str) -> Term:
        return numbers.setdefault(term, len(numbers)) if term[0] == "?" else term

    return [(number(subject), number(predicate), number(target)) for subject, predicate, target in triples], numbers


def _in_order(triples: tuple[Triple, ...]) -> list[Triple]:
    """The first triple, and then again and again one with the most that is bound by those before."""
    order, remaining = list(triples[:1]), list(triples[1:])
    while remaining:
        bound = {term for triple in order for term in _terms(triple) if term[0] == "?"}
        best = max(remaining, key=lambda triple: sum(term[0] != "?" or term in bound for term in _terms(triple)))
        order.append(best)
        remaining.remove(best)
    return order


def _terms(triple: Triple) -> tuple[str, str, str]:
    return triple.subject, triple.predicate, triple.object


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
