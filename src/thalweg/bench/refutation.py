"""Whether a graph follows from another, decided by rules that find contradictions.

What a conclusion claims is denied (`denial`) and added to the premises: it follows if that is contradictory. The rules
are sound, so what is found to follow does follow; they are not complete, so the rest may still follow.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from thalweg.bench.denial import Case, Denials
from thalweg.languages.owl.kinds import owl, rdf, rdfs
from thalweg.model.fact import Fact
from thalweg.model.rdf import RDF_TYPE
from thalweg.model.vocabulary import Triple


class ClosedGraph(NamedTuple):
    """A graph with all that follows from it, and its contradictions."""

    triples: Collection[Triple]
    contradictions: Sequence[Fact]


Close = Callable[[Iterable[Triple]], ClosedGraph]

# A declaration that something is one of these claims nothing under the direct semantics.
_DECLARATIONS: Final = frozenset(
    {owl(f"{name}Property") for name in ("Object", "Datatype", "Annotation", "Ontology")}
    | {owl(name) for name in ("Class", "Restriction", "DataRange", "NamedIndividual", "Thing")}
    | {rdfs("Class"), rdfs("Datatype"), rdfs("Resource"), rdf("Property"), rdf("List")}
)
_ASIDE: Final = frozenset({owl("Axiom"), owl("Annotation"), owl("Ontology")})


def follows(premise: Sequence[Triple], conclusion: Sequence[Triple], close: Close, direct: bool = True) -> bool:
    """Whether the conclusion follows from the premise, under the direct or the RDF-based semantics.

    >>> def close(triples):
    ...     known = set(triples)
    ...     return ClosedGraph(known, [Fact("inconsistent")] if ("<x>", owl("differentFrom"), "<y>") in known else [])
    >>> follows([], [("<x>", owl("sameAs"), "<y>")], close), follows([], [("<x>", owl("sameAs"), "<z>")], close)
    (True, False)
    """
    closure = close(premise)
    claims = list(claims_of(conclusion, direct))
    if closure.contradictions or matches(claims, closure.triples):
        return True
    # Under the RDF-based semantics an anonymous expression is a claim as well: that there is such a class.
    if not direct and any(term[0] == "_" for claim in claims for term in claim):
        return False
    entailed, denials = frozenset(closure.triples), Denials(conclusion)
    return all(claim in entailed or _refuted(cases, premise, denials, close) for claim, cases in denials.of(claims))


def _refuted(cases: Sequence[Case], premise: Sequence[Triple], denials: Denials, close: Close) -> bool:
    return bool(cases) and all(close([*premise, *denials.definitions, *case]).contradictions for case in cases)


def claims_of(conclusion: Sequence[Triple], direct: bool) -> Iterator[Triple]:
    """The triples that are neither about the document nor annotate an axiom, nor declare what needs no declaration."""
    aside = {subject for subject, predicate, value in conclusion if predicate == RDF_TYPE and value in _ASIDE}
    for triple in conclusion:
        declares = triple[1] == RDF_TYPE and triple[2] in _DECLARATIONS
        if triple[0] not in aside and not (direct and declares):
            yield triple


def declarations_of(conclusion: Sequence[Triple]) -> Iterator[Triple]:
    """The triples that say what kind of thing a name is, which claims nothing under the direct semantics."""
    for triple in conclusion:
        if triple[0][0] == "<" and triple[1] == RDF_TYPE and triple[2] in _DECLARATIONS:
            yield triple


def matches(pattern: Sequence[Triple], triples: Iterable[Triple]) -> bool:
    """Whether the pattern is in the graph when its blank nodes stand for anything.

    >>> matches([("_:b", "<p>", "<y>"), ("_:b", "<q>", "_:c")], [("<x>", "<p>", "<y>"), ("<x>", "<q>", "<x>")])
    True
    """
    by_predicate: dict[str, list[Triple]] = {}
    for triple in triples:
        by_predicate.setdefault(triple[1], []).append(triple)

    def extend(remaining: Sequence[Triple], bound: dict[str, str]) -> bool:
        if not remaining:
            return True
        # The one with the fewest unknowns comes first.
        first = min(remaining, key=lambda candidate: sum(term[0] == "_" and term not in bound for term in candidate))
        later = [candidate for candidate in remaining if candidate is not first]
        bindings = (_bind(first, triple, bound) for triple in by_predicate.get(first[1], ()))
        return any(extended is not None and extend(later, extended) for extended in bindings)

    return extend(pattern, {})


def _bind(pattern: Triple, triple: Triple, bound: dict[str, str]) -> dict[str, str] | None:
    extended = dict(bound)
    for wanted, term in zip(pattern, triple, strict=True):
        if (extended.setdefault(wanted, term) if wanted[0] == "_" else wanted) != term:
            return None
    return extended
