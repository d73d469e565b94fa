"""Classes that are added to a running cascade and taken from it: what is kept of them, and what they warn of."""

from dataclasses import replace

from thalweg.diagnostics import Diagnostic
from thalweg.kinds.classes.classifier import ClassifiedEvent
from thalweg.kinds.events.added_classes import AddedClasses
from thalweg.languages.owl import syntaxes
from thalweg.languages.owl.dl.abstraction_program import compile_abstraction
from thalweg.languages.owl.dl.askable_ontology import AskableOntology
from thalweg.languages.owl.dl.data_ranges import Ranges, cells
from thalweg.model.dictionary import Dictionary
from thalweg.model.rdf import RDF_TYPE, XSD
from thalweg.model.vocabulary import OWL, RDF

DOUBLE = f"<{XSD}double>"
NAMES = (
    ("<http://ex.org/Observation>", RDF_TYPE, f"<{OWL}Class>"),
    ("<http://ex.org/speed>", RDF_TYPE, f"<{OWL}DatatypeProperty>"),
)
KEY = (
    ("<http://ex.org/Observation>", f"<{OWL}hasKey>", "_:keys"),
    ("_:keys", f"<{RDF}first>", "<http://ex.org/speed>"),
    ("_:keys", f"<{RDF}rest>", f"<{RDF}nil>"),
)


class Added:
    """Classes that are added to an ontology, with what is reported meanwhile."""

    def __init__(self, *triples: tuple[str, str, str]) -> None:
        earlier = replace(compile_abstraction("city", syntaxes.read("Ontology()", "ofn")), reasoner="none")
        self.reported: list[Diagnostic] = []
        self.words = Dictionary()
        self.ontology = AskableOntology([*NAMES, *triples], earlier)
        self.classes = AddedClasses(self.ontology, (), self.reported.append, self.words)

    def classes_of(self, speed: str) -> list[str]:
        """The events that were added that an observation of a speed is."""
        individual, literal = self.words.code("<x>"), self.words.code(speed)
        facts = [("<http://ex.org/Observation>", (individual,)), ("<http://ex.org/speed>", (individual, literal))]
        return [name for name, _ in self.classes.more_of(ClassifiedEvent("<g>", facts))]


def above(limit: int) -> str:
    return f'<http://ex.org/Observation> and (<http://ex.org/speed> some {DOUBLE}[> "{limit}"^^{DOUBLE}])'


def test_classes_that_come_and_go_leave_nothing_behind() -> None:
    added = Added()
    for number in range(200):
        added.classes.add([(f"<above {number}>", above(number))])
        if number >= 3:
            added.classes.remove(f"<above {number - 3}>")
            assert len(added.classes._compiled) < 40
            assert len(added.ontology._read) < 40
    assert added.classes_of(f'"198.5"^^{DOUBLE}') == ["<above 197>", "<above 198>"]
    added.classes.add([("<again>", above(5))])
    assert sorted(added.classes_of(f'"9.0"^^{DOUBLE}')) == ["<again>"]


def test_a_class_that_joins_others_warns_of_values_that_its_range_cannot_have() -> None:
    added = Added()
    added.classes.add([("<text>", f"<http://ex.org/Observation> and (<http://ex.org/speed> some <{XSD}string>)")])
    assert added.classes_of("7") == []
    assert added.reported == []
    added.classes.add([("<fast>", above(5))])
    assert added.classes_of("8") == []
    assert [warning.code for warning in added.reported] == ["W704"]


def test_events_that_could_not_be_decided_are_counted_whatever_becomes_of_the_classes() -> None:
    added = Added(*KEY)
    added.classes.add([("<other>", "not <http://ex.org/Observation>"), ("<first>", above(1))])
    added.classes_of(f'"3.0"^^{DOUBLE}')
    before = [warning.message for warning in added.classes.summary()]
    assert [message.partition(",")[0] for message in before] == ["1 event is undecided"]
    for number in range(3):
        added.classes.add([(f"<not above {number}>", f"not ({above(number)})")])
    assert [warning.message for warning in added.classes.summary()] == before


def test_no_end_of_texts_is_kept() -> None:
    ranges = Ranges()
    ranges.number(DOUBLE)
    cell = cells(ranges)
    (kept,) = [part.cell_contents for part in cell.__closure__ or () if isinstance(part.cell_contents, dict)]
    assert len({cell(f'"text {number}"') for number in range(100)}) == 1
    assert not kept
