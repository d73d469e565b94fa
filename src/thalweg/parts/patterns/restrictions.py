"""The clauses of a pattern, asked of one event after the other.

The triples of a clause are found in the graph of the event and in the background. The first one begins at the
individual of the event, and the others follow in an order in which each has something that is bound already, where
there is one. So what a clause costs does not depend on how large the background is. The graph of an event is small, and
is looked through.

A filter is evaluated by SPARQL, once for each different binding of its variables.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from thalweg.ir.pattern_semantics import Instance, Solution, TripleTerms
from thalweg.ir.patterns import Clause, Filter, Triple
from thalweg.solvers.sparql import SparqlStore

Binding = dict[str, str]
_CASE = "<urn:thalweg:case>"


class TripleIndex:
    """Triples by subject, by predicate and by object.

    >>> index = TripleIndex([("<x>", "<at>", "<y>"), ("<x>", "<in>", "<z>")])
    >>> index.matching("<x>", None, "<z>")
    [('<x>', '<in>', '<z>')]
    """

    def __init__(self, triples: Iterable[TripleTerms]) -> None:
        self._all = list(dict.fromkeys(triples))
        self._subjects: dict[str, list[TripleTerms]] = {}
        self._predicates: dict[str, list[TripleTerms]] = {}
        self._objects: dict[str, list[TripleTerms]] = {}
        for triple in self._all:
            self._subjects.setdefault(triple[0], []).append(triple)
            self._predicates.setdefault(triple[1], []).append(triple)
            self._objects.setdefault(triple[2], []).append(triple)

    def matching(self, subject: str | None, predicate: str | None, thing: str | None) -> Sequence[TripleTerms]:
        """The triples that have the terms asked for; None stands for any."""
        found = self._all
        if predicate is not None:
            found = self._predicates.get(predicate, [])
        if thing is not None:
            found = min(found, self._objects.get(thing, []), key=len)
        if subject is not None:
            found = min(found, self._subjects.get(subject, []), key=len)
        return matching(found, subject, predicate, thing) if found else found


def matching(
    triples: Iterable[TripleTerms], subject: str | None, predicate: str | None, thing: str | None
) -> list[TripleTerms]:
    """Those of some triples that have the terms asked for; None stands for any.

    >>> matching([("<x>", "<at>", "<y>"), ("<x>", "<in>", "<z>")], None, "<in>", None)
    [('<x>', '<in>', '<z>')]
    """
    return [
        triple
        for triple in triples
        if (predicate is None or triple[1] == predicate)
        and (subject is None or triple[0] == subject)
        and (thing is None or triple[2] == thing)
    ]


class Restriction:
    """A clause, without its filters."""

    def __init__(self, clause: Clause, background: TripleIndex) -> None:
        self._triples = [_terms(triple) for triple in _in_order(clause.triples)]
        self._names = sorted(clause.variables)
        self._background = background

    def solutions(self, event: Instance) -> list[Solution]:
        """How the clause is found at an event; the same as `ir/pattern_semantics.py` says."""
        anchors = event.individuals if event.events else (event.individual,)
        found = [more for anchor in anchors for more in self._extended({}, self._triples[0], event, anchor)]
        for triple in self._triples[1:]:
            found = [more for one in found for more in self._extended(one, triple, event)]
        names = self._names
        solved = [tuple([(name, one[name]) for name in names]) for one in found]
        return solved if len(solved) < 2 else list(dict.fromkeys(solved))

    def _extended(
        self, binding: Binding, written: TripleTerms, event: Instance, anchor: str | None = None
    ) -> Iterator[Binding]:
        """A binding with what a triple binds; with an anchor, one that begins there."""
        subject, predicate, thing = [binding.get(term[1:]) if term[0] == "?" else term for term in written]
        if anchor is not None:
            if subject not in (None, anchor):
                return
            subject = anchor
        found = matching(event.triples, subject, predicate, thing)
        known = self._background.matching(subject, predicate, thing)
        for terms in dict.fromkeys([*found, *known]) if known else found:
            more = dict(binding)
            for term, one in zip(written, terms, strict=True):
                if term[0] == "?" and more.setdefault(term[1:], one) != one:
                    break
            else:
                yield more


def _in_order(triples: tuple[Triple, ...]) -> list[Triple]:
    """The first triple, and then again and again one with the most that is bound by those before."""
    order, rest = list(triples[:1]), list(triples[1:])
    while rest:
        bound = {term for one in order for term in _terms(one) if term[0] == "?"}
        best = max(rest, key=lambda one: sum(term[0] != "?" or term in bound for term in _terms(one)))
        order.append(best)
        rest.remove(best)
    return order


def _terms(triple: Triple) -> tuple[str, str, str]:
    return triple.subject, triple.predicate, triple.object


def holds(condition: Filter, binding: Mapping[str, str]) -> bool:
    """Whether a filter holds, by SPARQL: an error in it does not.

    >>> holds(Filter("(?v > 15)", ("v",)), {"v": "16"}), holds(Filter("(?v > 15)", ("v",)), {"v": "<a>"})
    (True, False)
    """
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
