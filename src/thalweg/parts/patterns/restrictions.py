"""The clauses of a pattern, asked of one event after the other.

The triples of a clause are found in the graph of the event and in the background. The first one begins at the
individual of the event, and the others follow in an order in which each has something that is bound already, where
there is one. So what a clause costs does not depend on how large the background is.

A filter is evaluated by SPARQL, once for each different binding of its variables.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from thalweg.ir.pattern_semantics import Instance, Solution, TripleTerms
from thalweg.ir.patterns import Clause, Filter, Triple
from thalweg.solvers.sparql import SparqlStore

Binding = dict[str, str]
_CASE = "<urn:thalweg:case>"


class TripleIndex:
    """Triples by subject, by predicate and by object.

    >>> index = TripleIndex([("<x>", "<at>", "<y>"), ("<x>", "<in>", "<z>")])
    >>> index.matching(("<x>", None, "<z>"))
    [('<x>', '<in>', '<z>')]
    """

    def __init__(self, triples: Iterable[TripleTerms]) -> None:
        self._all = list(dict.fromkeys(triples))
        self._of: tuple[dict[str, list[TripleTerms]], ...] = ({}, {}, {})
        for triple in self._all:
            for index, term in zip(self._of, triple, strict=True):
                index.setdefault(term, []).append(triple)

    def matching(self, wanted: tuple[str | None, str | None, str | None]) -> list[TripleTerms]:
        """The triples that have the terms asked for; None stands for any."""
        lists = [index.get(term, []) for index, term in zip(self._of, wanted, strict=True) if term is not None]
        shortest = min(lists, key=len, default=self._all)
        return [
            triple
            for triple in shortest
            if all(term is None or term == one for term, one in zip(wanted, triple, strict=True))
        ]


class Restriction:
    """A clause, without its filters."""

    def __init__(self, clause: Clause, background: TripleIndex) -> None:
        self._triples = _in_order(clause.triples)
        self._background = background

    def solutions(self, event: Instance) -> list[Solution]:
        """How the clause is found at an event; the same as `ir/pattern_semantics.py` says."""
        graph = TripleIndex(event.triples)
        found: list[Binding] = [{}]
        for number, triple in enumerate(self._triples):
            anchors = event.individuals if number == 0 else None
            found = [more for one in found for more in self._extended(one, triple, graph, anchors)]
        return list(dict.fromkeys(tuple(sorted(one.items())) for one in found))

    def _extended(
        self, binding: Binding, triple: Triple, graph: TripleIndex, anchors: frozenset[str] | None
    ) -> Iterator[Binding]:
        written = (triple.subject, triple.predicate, triple.object)
        wanted = [binding.get(term[1:]) if term[0] == "?" else term for term in written]
        subjects = [wanted[0]] if anchors is None else [one for one in anchors if wanted[0] in (None, one)]
        for subject in subjects:
            asked = (subject, wanted[1], wanted[2])
            for terms in dict.fromkeys([*graph.matching(asked), *self._background.matching(asked)]):
                found = dict(binding)
                if all(
                    term[0] != "?" or found.setdefault(term[1:], one) == one
                    for term, one in zip(written, terms, strict=True)
                ):
                    yield found


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
