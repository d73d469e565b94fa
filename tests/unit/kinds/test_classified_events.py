"""Events with hand-written judgements: `tests/cases_of_events.md`; and what is wrong with a background."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from thalweg.diagnostics import RejectedError
from thalweg.kinds.classes import Abstraction
from thalweg.kinds.classes.classifier import MOST_CODES, Decisions, Given, Signatures
from thalweg.kinds.classes.contradiction import check_background
from thalweg.kinds.classes.ladder import REASONER, UNDECIDED, Ladder
from thalweg.languages.owl import syntaxes
from thalweg.languages.owl.axioms import Axiom, DifferentIndividuals, Ontology, SameIndividual
from thalweg.languages.owl.dl.abstraction_program import Facts, compile_abstraction
from thalweg.model.vocabulary import DIFFERENT_FROM, SAME_AS

PAGE = Path(__file__).parents[2] / "cases_of_events.md"
SPACE = "<http://ex.org/"
PREFIXES = {
    "": "http://ex.org/",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
HEAD = " ".join(f"Prefix({name}:=<{space}>)" for name, space in PREFIXES.items()) + " Ontology("


@dataclass(frozen=True)
class Page:
    """A case: what is known, an event, the classes of its subjects or None, and what decides."""

    title: str
    known: Ontology
    event: tuple[Axiom, ...]
    classes: dict[str, str] | None
    by: str


def read(text: str) -> Ontology:
    return syntaxes.read(f"{HEAD}{text})", "ofn")


def pages() -> list[Page]:
    found = []
    for section in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title, *lines = section.splitlines()
        words = {word: " ".join(_after(word, lines)) for word in ("known", "event", "by")}
        axioms = " ".join(line.strip() for line in lines if line.startswith("    "))
        classes = dict(line[1:].split(" ", 1) for line in lines if line.startswith(":"))
        event = read(words["event"]).axioms
        found.append(Page(title, read(f"{axioms} {words['known']}"), event, classes or None, words["by"]))
    return found


def _after(word: str, lines: list[str]) -> list[str]:
    return [line.removeprefix(f"{word} ") for line in lines if line.startswith(f"{word} ")]


def given(event: tuple[Axiom, ...]) -> list[Given]:
    facts = Facts.of(event)
    return [
        *((SAME_AS, axiom.individuals) for axiom in event if isinstance(axiom, SameIndividual)),
        *((DIFFERENT_FROM, axiom.individuals) for axiom in event if isinstance(axiom, DifferentIndividuals)),
        *((of, (one,)) for of, one in facts.classes),
        *((name, (one, other)) for name, one, other in (*facts.edges, *facts.literals)),
    ]


def classify(page: Page, reasoner: str = "auto") -> tuple[dict[str, str] | None, str]:
    # A class that only the event names is one that can be asked for, too.
    program = compile_abstraction("page", replace(page.known, axioms=(*page.known.axioms, *page.event)))
    asked = [(one.label, one.label) for one in program.asked]
    ladder = Ladder(compile_abstraction("page", page.known, asked), reasoner)
    hidden = ladder.held_by_everything()
    decision, subjects = Decisions(ladder, Signatures(ladder.program)).decide(given(page.event))
    if decision.classes is None:
        return None, decision.by
    names = [label[len(SPACE) : -1] for label, _ in asked]
    pairs = zip(subjects, decision.classes, strict=True)
    found = {str(one)[len(SPACE) : -1]: [names[at] for at in each if at not in hidden] for one, each in pairs}
    return {one: " ".join(classes) or "-" for one, classes in found.items()}, decision.by


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.hermit if page.by == REASONER else ()) for page in pages()],
    ids=lambda page: page.title,
)
def test_a_page_is_right(page: Page) -> None:
    assert classify(page) == (page.classes, page.by)


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.title)
def test_without_a_reasoner_the_rest_is_undecided(page: Page) -> None:
    found, by = classify(page, "none")
    if page.by == REASONER:
        assert by == UNDECIDED
    else:
        assert (found, by) == (page.classes, page.by)


def rejected(text: str) -> tuple[str, set[str]]:
    """The message about a background that contradicts, and its reasons without the namespace."""
    ladder = Ladder(compile_abstraction("city.ofn", read(text)))
    with pytest.raises(RejectedError) as error:
        check_background(ladder)
    (found,) = error.value.diagnostics
    assert found.code == "E701"
    return found.message, {note.replace("http://ex.org/", "") for note in found.notes}


def test_a_background_that_contradicts_is_rejected_with_a_minimal_reason() -> None:
    message, reasons = rejected(
        "DisjointClasses(:A :B) SubClassOf(:C :A) SubClassOf(:D :E) ClassAssertion(:D :y)"
        " ClassAssertion(:C :x) ClassAssertion(:B :x) ClassAssertion(:B :y)"
    )
    assert message == "city.ofn: the background contradicts the ontology"
    assert reasons == {
        "because of `DisjointClasses(<A> <B>)`",
        "because of `SubClassOf(<C> <A>)`",
        "because of `ClassAssertion(<C> <x>)`",
        "because of `ClassAssertion(<B> <x>)`",
    }


@pytest.mark.hermit
def test_also_where_rules_do_not_see_it() -> None:
    _, reasons = rejected(
        "FunctionalObjectProperty(:r) DisjointClasses(:A :B) ObjectPropertyAssertion(:r :x :a)"
        " ObjectPropertyAssertion(:r :x :b) ClassAssertion(:A :a) ClassAssertion(:B :b) ClassAssertion(:A :c)"
    )
    assert len(reasons) == 6


def test_without_a_reasoner_a_contradiction_by_cases_has_no_reason() -> None:
    text = "SubClassOf(:A ObjectUnionOf(:B :C)) DisjointClasses(:B :D) DisjointClasses(:C :D) ClassAssertion(:A :x)"
    ladder = Ladder(compile_abstraction("city.ofn", read(f"{text} ClassAssertion(:D :x)")), "none")
    with pytest.raises(RejectedError) as error:
        check_background(ladder)
    assert [(found.code, found.notes) for found in error.value.diagnostics] == [("E701", ())]


def test_an_ontology_that_nothing_can_satisfy_is_rejected() -> None:
    message, reasons = rejected(
        "SubClassOf(<http://www.w3.org/2002/07/owl#Thing> :A) DisjointClasses(:A :A2) SubClassOf(:A :A2)"
    )
    assert message == "city.ofn: the ontology contradicts itself"
    assert len(reasons) == 3


def test_texts_are_individuals_where_they_are_subjects() -> None:
    both = "SubClassOf(ObjectIntersectionOf(:A :B) :C)"
    ladder = Ladder(compile_abstraction("page", read(both), [(f"{SPACE}C>", f"{SPACE}C>")]))
    decisions = Decisions(ladder, Signatures(ladder.program))
    one, other, more = f"{SPACE}A>", f"{SPACE}B>", f"{SPACE}D>"
    apart, _ = decisions.decide([(one, ("x",)), (other, ("y",))])
    together, subjects = decisions.decide([(one, ("x",)), (other, ("x",)), (more, ("y",))])
    alone, _ = decisions.decide([(one, ('"b 7"',)), (other, ('"b 7"',))])
    assert apart.classes == ((), ())
    assert dict(zip(subjects, together.classes or (), strict=True)) == {"x": (0,), "y": ()}
    assert alone.classes == ((0,),)


@pytest.mark.parametrize("before", range(4))
def test_codes_are_not_forgotten_in_the_midst_of_an_event(before: int) -> None:
    page = "SubClassOf(ObjectSomeValuesFrom(:r :B) :A) ClassAssertion(:B :b)"
    signatures = Signatures(compile_abstraction("page", read(page)))
    role, known = f"{SPACE}r>", f"{SPACE}b>"
    for number in range(MOST_CODES - before):
        signatures.signature([(role, (known, f"<x{number}>"))])
    subjects = (known, "<a>", "<b>", "<c>")
    found = signatures.signature([(role, (one, "<d>")) for one in subjects])
    assert found == Signatures(compile_abstraction("page", read(page))).signature(
        [(role, (one, "<d>")) for one in subjects]
    )


def test_a_full_cache_drops_the_oldest_decisions() -> None:
    program = compile_abstraction("x", read("SubClassOf(:A :B)"))
    decisions = Decisions(Ladder(program), Signatures(program), most=2)
    name = "<http://ex.org/A>"
    for count in (1, 2, 3, 1):
        decisions.decide([(name, (f"<http://ex.org/x{number}>",)) for number in range(count)])
    assert (decisions.hits, decisions.misses) == (0, 4)


def test_the_part_is_a_value() -> None:
    program = compile_abstraction("x", read("SubClassOf(:A :B)"))
    assert Abstraction(program).size == "2 classes"
    with pytest.raises(RejectedError, match="cannot be loaded as rules"):
        _ = Abstraction(program).rules
