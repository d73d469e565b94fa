"""*Rules, repair, cases and reasoner = HermiT on the whole*: random ontologies, backgrounds and events."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import pyoxigraph
import pytest

from random_knowledge import CLASSES, KINDS, Case, random_case
from thalweg.bench.abstraction import SPACE, events, knowledge
from thalweg.kinds.classes.classifier import Decisions, Given, Signatures
from thalweg.kinds.classes.ladder import SELECTION, UNDECIDED, Decision, Ladder
from thalweg.languages.owl import axioms as ax
from thalweg.languages.owl.axioms import Axiom, Ontology, show
from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram, Facts, compile_abstraction
from thalweg.languages.owl.dl.selection import derive_selection, rspql
from thalweg.model.rdf import as_ntriples, as_resource
from thalweg.model.term import is_literal
from thalweg.model.vocabulary import DIFFERENT_FROM, SAME_AS
from thalweg.solvers.dl import hermit

pytestmark = pytest.mark.hermit

Classes = dict[str, set[str]] | None
"""The classes of each subject; None for an event that contradicts."""


def given(event: tuple[Axiom, ...], rename: str = "") -> list[Given]:
    """The facts of an event, its own individuals under other names."""
    facts = Facts.of(event)
    own = lambda term: term.replace("/own", f"/own{rename}")  # noqa: E731
    return [
        *((of, (own(individual),)) for of, individual in facts.classes),
        *((name, (own(subject), own(other))) for name, subject, other in (*facts.edges, *facts.literals)),
        *((_SAYS[type(axiom)], tuple(map(own, axiom.individuals))) for axiom in event if type(axiom) in _SAYS),  # type: ignore[attr-defined]
    ]


_SAYS = {ax.SameIndividual: SAME_AS, ax.DifferentIndividuals: DIFFERENT_FROM}


def with_names(axiom: Axiom) -> Axiom:
    """An axiom whose texts are individuals with a name where they are subjects."""
    match axiom:
        case ax.ClassAssertion(of, individual):
            return ax.ClassAssertion(of, as_resource(individual))
        case ax.PropertyAssertion(name, subject, other):
            return type(axiom)(name, as_resource(subject), other)
        case ax.IndividualsAxiom(individuals):
            return type(axiom)(tuple(map(as_resource, individuals)))
    return axiom


def decided(decisions: Decisions, event: tuple[Axiom, ...], rename: str = "") -> tuple[Classes, str]:
    names = [target.name for target in decisions.ladder.program.asked]
    decision, subjects = decisions.decide(given(event, rename))
    if decision.classes is None:
        return None, decision.by
    pairs = zip(subjects, decision.classes, strict=True)
    return {
        str(individual).replace(f"/own{rename}", "/own"): {names[at] for at in places} for individual, places in pairs
    }, decision.by


def _first(event: tuple[Axiom, ...]) -> set[str]:
    return {str(handles[0]) for _, handles in given(event)}


def judged(case: Case, event: tuple[Axiom, ...], individuals: str = "subjects") -> Classes:
    """What HermiT says, of all axioms and facts together."""
    subjects = {
        str(handle) for _, handles in given(event) for handle in handles[: 1 if individuals == "subjects" else 2]
    }
    subjects -= {handle for handle in subjects if is_literal(handle) and handle not in _first(event)}
    axioms = (*case.schema, *case.background, *map(with_names, event))
    inferred = hermit.types(map(show, axioms), set(map(as_resource, subjects)))
    return inferred and {subject: set(inferred[as_resource(subject)]) & set(CLASSES) for subject in subjects}


def started(case: Case, reasoner: str = "auto") -> Decisions | None:
    """What decides the events of a case; None where the background contradicts, or is not of OWL 2 DL."""
    try:
        if not hermit.is_consistent(map(show, (*case.schema, *case.background))):
            return None
    except hermit.UndecidedError:
        return None
    ladder = Ladder(program_of(case), reasoner)
    assert ladder.consistent
    return Decisions(ladder, Signatures(ladder.program))


def program_of(case: Case, classes: Sequence[str] = CLASSES) -> AbstractionProgram:
    ontology = Ontology((*case.schema, *case.background))
    return compile_abstraction("random", ontology, [(name, name) for name in classes])


def of_classes(classified: Classes, chosen: Collection[str]) -> Classes:
    return classified and {individual: classes & set(chosen) for individual, classes in classified.items()}


def check(kind: str, seeds: range) -> int:
    """Compares all events of some cases, by all classes and by one, which most events are dropped for."""
    compared = 0
    for seed in seeds:
        case = random_case(seed, kind)
        decisions = started(case)
        chosen = CLASSES[seed % len(CLASSES)]
        by_one = Ladder(program_of(case, [chosen]))
        few = Decisions(by_one, Signatures(by_one.program))
        for event in case.events if decisions else ():
            assert decisions is not None
            expected = judged(case, event)
            assert decided(decisions, event)[0] == expected, (kind, seed)
            assert decided(few, event)[0] == of_classes(expected, [chosen]), (kind, seed, chosen)
            before = decisions.misses
            assert decided(decisions, event, rename="x")[0] == expected, (kind, seed, "from the cache")
            assert decisions.misses == before, "only names differ"
            compared += 1
    return compared


@pytest.mark.parametrize("kind", KINDS)
def test_events_have_the_classes_that_hermit_gives_them_on_the_whole(kind: str) -> None:
    assert check(kind, range(5)) > 5


def check_objects(kind: str, seeds: range) -> tuple[int, int]:
    """Compares all individuals of events, by all classes and by one: how many events, and objects that have a class."""
    compared = members = 0
    for seed in seeds:
        case = random_case(seed, kind)
        if started(case) is None:
            continue
        for chosen in (CLASSES, [CLASSES[seed % len(CLASSES)]]):
            program = replace(program_of(case, chosen), individuals="all")
            decisions = Decisions(Ladder(program), Signatures(program))
            for event in case.events:
                expected = of_classes(judged(case, event, "all"), chosen)
                assert decided(decisions, event)[0] == expected, (kind, seed, chosen)
                compared += 1
                subjects = _first(event)
                members += sum(bool(classes) for name, classes in (expected or {}).items() if name not in subjects)
    return compared, members


def test_objects_have_the_classes_that_hermit_gives_them_on_the_whole() -> None:
    counts = [check_objects(kind, range(20, 23)) for kind in KINDS]
    assert sum(compared for compared, _ in counts) > 30
    assert sum(members for _, members in counts) > 3


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many_objects_have_the_classes_that_hermit_gives_them(kind: str) -> None:
    compared, members = check_objects(kind, range(2_000, 2_100))
    # An object has a class in about one of fourteen events.
    assert (compared > 500, members > 30) == (True, True), (compared, members)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many_events_have_the_classes_that_hermit_gives_them(kind: str) -> None:
    assert check(kind, range(1_000, 1_200)) > 500


def undecided(kind: str, seeds: range) -> Iterator[tuple[Classes, Classes, str]]:
    for seed in seeds:
        case = random_case(seed, kind)
        with_reasoner, without = started(case), started(case, "none")
        for event in case.events if with_reasoner and without else ():
            assert with_reasoner is not None
            assert without is not None
            yield decided(with_reasoner, event)[0], *decided(without, event)


def test_without_a_reasoner_nothing_is_guessed() -> None:
    seen = 0
    for right, decision, by in undecided("choices", range(8)):
        if by == UNDECIDED:
            seen += 1
            assert right is None or all(
                decision is not None and decision[individual] <= right[individual] for individual in right
            )
        else:
            assert decision == right
    assert seen


def test_horn_ontologies_never_need_a_reasoner(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [random_case(seed, "horn") for seed in range(40)]
    monkeypatch.setattr(hermit, "types", None)
    for case in cases:
        ladder = Ladder(program_of(case), "hermit")
        decisions = Decisions(ladder, Signatures(ladder.program))
        for event in case.events if ladder.consistent else ():
            if not any(isinstance(axiom, ax.SameIndividual) for axiom in event):
                assert decided(decisions, event)[1] in ("rules", "selection")


def test_the_module_loses_nothing() -> None:
    """The same with axioms and facts that cannot matter, and classes that were not asked for."""
    for seed in range(5):
        case = random_case(seed, "choices")
        decisions = started(case)
        for event in case.events if decisions else ():
            expected = judged(case, event)
            for name in CLASSES[:3]:
                ontology = Ontology((*case.schema, *case.background))
                single = Ladder(compile_abstraction("one", ontology, [(name, name)]))
                classified = decided(Decisions(single, Signatures(single.program)), event)[0]
                assert classified == of_classes(expected, [name])


def test_a_literal_of_one_cell_is_like_another() -> None:
    case = random_case(3, "ranges")
    program = program_of(case)
    assert ax.show(program.axioms[0])
    low, high = (program.cell(f'"{text}"^^<http://www.w3.org/2001/XMLSchema#double>') for text in ("50.5", "70.25"))
    assert low == high


def stored(background: Facts, event: Sequence[Given]) -> pyoxigraph.Store:
    """The background, and the event as a named graph."""
    triples = [f"{individual} a {of} ." for of, individual in background.classes]
    triples += [
        f"{subject} {name} {as_ntriples(other)} ." for name, subject, other in background.edges + background.literals
    ]
    within = [
        " ".join([as_resource(str(subject)), *(("a", name) if not of else (name, as_ntriples(str(of[0])))), "."])
        for name, (subject, *of) in event
    ]
    store = pyoxigraph.Store()
    store.load("\n".join([*triples, "<http://a/event> {", *within, "}"]).encode(), pyoxigraph.RdfFormat.TRIG)
    return store


def selected(text: str, background: Facts, event: Sequence[Given]) -> set[str]:
    """The individuals that the query about an event selects."""
    query = "SELECT DISTINCT ?x WHERE" + text.replace("WINDOW :w", "GRAPH <http://a/event>").partition("WHERE")[2]
    return {str(row["x"]) for row in stored(background, event).query(query)}


def test_one_of_two_equal_values_is_selected() -> None:
    equal = ax.FunctionalObjectProperty("<http://a/r>"), ax.SubClassOf("<http://a/B>", "<http://a/A>")
    program = compile_abstraction("one", Ontology(equal), [("<http://a/A>", "<http://a/A>")])
    event: list[Given] = [("<http://a/r>", ("<http://a/x>", f"<http://a/{value}>")) for value in "yz"]
    event += [("<http://a/B>", ("<http://a/y>",))]
    assert "<http://a/z>" in selected(rspql(derive_selection(program)), program.background, event)


def check_query(kinds: Sequence[str], seeds: range) -> tuple[int, int]:
    """Every individual of an event's own that has a class is selected; how many are, and how many are not."""
    kept = dropped = 0
    for kind in kinds:
        for seed in seeds:
            case = random_case(seed, kind)
            for name in CLASSES[:3]:
                program = program_of(case, [name])
                text, ladder = rspql(derive_selection(program)), Ladder(program)
                for event in case.events if ladder.consistent else ():
                    rows = selected(text, program.background, given(event))
                    classified = decided(Decisions(ladder, Signatures(program)), event)[0] or {}
                    for individual, classes in classified.items():
                        if individual not in program.fixed:
                            keeps = as_resource(individual) in rows
                            assert keeps or not classes, (kind, seed, name, individual)
                            kept, dropped = kept + keeps, dropped + (not keeps)
    return kept, dropped


def test_the_query_selects_every_individual_that_has_a_class() -> None:
    kept, dropped = check_query(KINDS, range(4))
    assert dropped > kept / 4


@pytest.mark.parametrize("full", [False, True])
def test_run_and_query_keep_just_the_events_of_the_city_that_have_a_class(full: bool) -> None:
    classes = [(f"<{SPACE}High{level}>", f"<{SPACE}High{level}>") for level in (7, 8)]
    program = compile_abstraction("city", knowledge(full, roads=10), classes)
    decisions = Decisions(Ladder(program), Signatures(program))
    text = rspql(derive_selection(program))
    having = 0
    for event in events(150, roads=10):
        decision, (individual,) = decisions.decide(event)
        assert decision.classes is not None
        has_class = bool(decision.classes[0])
        assert (decision.by == SELECTION) != has_class
        assert (individual in selected(text, program.background, event)) == has_class
        having += has_class
    assert 0 < having < 30


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_query_never_loses_a_class(kind: str) -> None:
    kept, dropped = check_query([kind], range(1_000, 1_100))
    assert kept
    assert dropped


def with_and_without(case: Case, chosen: str) -> Iterator[tuple[Decision, Decision]]:
    """The decision about each event with the derived selection and without it, by rules and models."""
    ladder = Ladder(program_of(case, [chosen]), "none")
    signatures = Signatures(ladder.program)
    with_, without = (Decisions(ladder, signatures, selects=selects) for selects in (True, False))
    for event in case.events if ladder.consistent else ():
        yield with_.decide(given(event))[0], without.decide(given(event))[0]


def check_selection(seeds: range, kinds: Sequence[str] = KINDS) -> Counter[str]:
    """With the derived selection as without: every class, every contradiction; what is undecided may be decided."""
    seen: Counter[str] = Counter()
    for kind in kinds:
        for seed in seeds:
            case = random_case(seed, kind, events=5)
            for chosen in CLASSES[:3]:
                for decision, expected in with_and_without(case, chosen):
                    seen[decision.by] += 1
                    if expected.by != UNDECIDED:
                        assert decision.classes == expected.classes, (kind, seed, chosen)
    return seen


@pytest.mark.parametrize("kinds", [64, 2, 1])
def test_answers_do_not_change_with_the_derived_selection(kinds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many kinds of individuals the background is reduced to."""
    monkeypatch.setattr("thalweg.kinds.classes.ladder._FEW_KINDS", kinds)
    seen = check_selection(range(5))
    assert seen["selection"] > 20


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [64, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_answers_never_change_with_the_derived_selection(
    kind: str, kinds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thalweg.kinds.classes.ladder._FEW_KINDS", kinds)
    assert check_selection(range(1_000, 1_300), [kind])["selection"] > 500
