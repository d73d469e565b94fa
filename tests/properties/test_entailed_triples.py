"""*What clauses look up = what HermiT says is entailed*: random ontologies, backgrounds and events."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import pytest

from random_knowledge import CLASSES, KINDS, Case, random_case
from thalweg.kinds.classes.entailed_triples import EntailedTriples
from thalweg.languages.owl import axioms as ax
from thalweg.languages.owl.axioms import Axiom, Ontology, show
from thalweg.languages.owl.dl.abstraction_program import Facts, compile_abstraction
from thalweg.model.rdf import RDF_TYPE
from thalweg.model.vocabulary import DIFFERENT_FROM, SAME_AS, Triple
from thalweg.solvers.dl import hermit

pytestmark = pytest.mark.hermit

ROLES = ("<http://example.org/r0>", "<http://example.org/r1>")
LOOKED_UP = CLASSES[:2]


def triples(axioms: Iterable[Axiom]) -> list[Triple]:
    axioms = list(axioms)
    facts = Facts.of(axioms)
    found = [(one, RDF_TYPE, of) for of, one in facts.classes]
    found += [(one, name, other) for name, one, other in (*facts.edges, *facts.literals)]
    says = {ax.SameIndividual: SAME_AS, ax.DifferentIndividuals: DIFFERENT_FROM}
    found += [(one.individuals[0], says[type(one)], one.individuals[1]) for one in axioms if type(one) in says]  # type: ignore[attr-defined]
    return found


def lookup(case: Case) -> EntailedTriples | None:
    try:
        if not hermit.is_consistent(map(show, (*case.schema, *case.background))):
            return None
    except hermit.UndecidedError:
        return None
    ontology = Ontology((*case.schema, *case.background))
    program = compile_abstraction("random", ontology, [(name, name) for name in LOOKED_UP], ROLES)
    known = tuple(triples(case.background))
    return EntailedTriples(replace(program, looked_up=frozenset((*LOOKED_UP, *ROLES)), triples=known))


def individuals(some: Iterable[Triple]) -> list[str]:
    things = {one for one, name, thing in some for one in ((one,) if name == RDF_TYPE else (one, thing))}
    return sorted(one for one in things if one.startswith("<http://example.org/"))


def judged(case: Case, event: tuple[Axiom, ...], names: list[str]) -> set[Triple]:
    """What HermiT says is entailed, of all axioms together; nothing where they contradict."""
    pairs = [(role, one) for role in ROLES for one in names]
    values = [f"SubClassOf(ObjectHasValue({role} {one}) <urn:has:{n}>)" for n, (role, one) in enumerate(pairs)]
    axioms = [*map(show, (*case.schema, *case.background, *event)), *values]
    try:
        found = hermit.types(axioms, set(names)) or {}
    except hermit.UndecidedError:
        return set()
    said = {(one, RDF_TYPE, of) for one, classes in found.items() for of in classes if of in LOOKED_UP}
    for number, (role, other) in enumerate(pairs):
        said |= {(one, role, other) for one, classes in found.items() if f"<urn:has:{number}>" in classes}
    return said


def renamed(some: Iterable[Triple], old: str, new: str) -> list[Triple]:
    """Triples of an event whose own individuals have other names."""
    return [(one.replace(old, new), name, thing.replace(old, new)) for one, name, thing in some]


def check(kind: str, seeds: range) -> Counter[str]:
    seen: Counter[str] = Counter()
    for seed in seeds:
        case = random_case(seed, kind)
        entailed = lookup(case)
        at_start = 0 if entailed is None else entailed.undecided
        for event in case.events if entailed is not None else ():
            assert entailed is not None
            own = triples(event)
            if any(one[0] != "<" for one, *_ in own):
                continue
            before = entailed.undecided
            stated = {*triples(case.background), *own}
            found = {*stated, *entailed.background, *entailed.of(own)}
            names = individuals(stated)
            found = {one for one in found if one[1] in ROLES or one[2] in LOOKED_UP}
            expected = judged(case, event, names)
            if not expected:
                continue
            # Axioms may name individuals that nothing is said of.
            found = {one for one in found if one[0] in names and (one[1] == RDF_TYPE or one[2] in names)}
            assert found <= expected, (kind, seed, event)
            if entailed.undecided == before and not at_start:
                seen["decided"] += 1
                assert found == expected, (kind, seed, expected - found)
            seen["more than stated"] += bool(found - stated)
            other = renamed(entailed.of(renamed(own, "/own", "/other")), "/other", "/own")
            assert sorted(other) == sorted(entailed.of(own))
    return seen


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_looked_up_is_what_hermit_says_is_entailed(kind: str) -> None:
    seen = check(kind, range(12))
    assert seen["decided"] > 5
    assert seen["more than stated"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_much_that_is_looked_up_is_what_hermit_says(kind: str) -> None:
    assert check(kind, range(1_000, 1_100))["decided"] > 100


def test_graphs_of_one_shape_keep_their_own_literals() -> None:
    """Values are compared, for a property is functional; and literals with one value are written in several ways."""
    x, y, p, q = (f"<http://example.org/{name}>" for name in "xypq")
    ontology = Ontology((ax.SubDataPropertyOf(p, q), ax.FunctionalDataProperty(q), ax.DataPropertyAssertion(p, y, "5")))
    program = compile_abstraction("values", ontology, [], [p, q])
    program = replace(program, looked_up=frozenset((p, q)), triples=((y, p, "5"),))
    entailed = EntailedTriples(program)
    assert entailed.background == ((y, q, "5"),)
    assert entailed.of([(x, p, "7")]) == ((x, q, "7"),)
    terms = ("7", "8", "8.0", "5", "5.0")
    graphs = [[(one, p, term)] for one in (x, y) for term in terms]
    graphs += [[(one, p, term), (one, q, other)] for one in (x, y) for term in terms for other in terms]
    for graph in graphs:
        assert set(entailed.of(graph)) == set(EntailedTriples(program).of(graph)), graph
