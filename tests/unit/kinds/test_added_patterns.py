"""Patterns that are added to a running cascade and taken from it: what their clauses look up beside it."""

import gc

from changed_programs import ChangingRun
from thalweg.api.loading import load_part
from thalweg.diagnostics import Diagnostic, Source
from thalweg.kinds.events import EventCascade
from thalweg.kinds.events.events_operator import EventsOperator
from thalweg.languages.compile_options import OntologyOptions
from thalweg.model.event import Event
from thalweg.model.fact import Fact

CASCADE = Source("city.tw", "PREFIX : <http://ex.org/> NAMED EVENT :Hot AS :HotReading")
CITY = Source(
    "city.ofn",
    "Prefix(:=<http://ex.org/>) Ontology(SubClassOf(:Reading ObjectUnionOf(:Wet :Dry)) SubClassOf(:Wet :Seen) "
    "SubClassOf(:Dry :Seen) SubClassOf(:HotReading :Reading) FunctionalObjectProperty(:on) "
    "ObjectPropertyAssertion(:on :room1 :ground) ObjectPropertyAssertion(:on :room1 :first))",
)
SEEN = "MATCH EVERY :Hot IF { EVENT :Hot { ?h a :Seen } }"


class Adding(ChangingRun):
    """A cascade that runs beside an ontology, without a reasoner."""

    def __init__(self) -> None:
        self.part = load_part([CASCADE, CITY], ontology=OntologyOptions(events_by="dl", reasoner="none"))
        super().__init__(self.part, 0)

    def add(self, name: str, text: str) -> EventsOperator:
        assert isinstance(self.part, EventCascade)
        definition = self.part.read_definition(name, text, [CASCADE])
        operator = self.run.definitions
        assert isinstance(operator, EventsOperator)
        operator.check_definition(definition)
        self.run.add_definition(definition)
        return operator


def test_what_they_look_up_goes_with_the_last_of_them() -> None:
    run = Adding()
    run.add("First", SEEN)
    indexes = run.add("Second", SEEN)._knowledge._indexes
    run.run.remove_definition("<http://ex.org/First>")
    gc.collect()
    assert len(indexes) == 1
    run.run.remove_definition("<http://ex.org/Second>")
    gc.collect()
    assert len(indexes) == 0


def test_what_they_cannot_find_out_is_a_warning() -> None:
    run = Adding()
    operator = run.add("Seen", SEEN)
    hot = Fact("<http://ex.org/HotReading>", ("<http://ex.org/r>",))
    run.advance(1, [Event(1, (hot,))])
    doubts: list[Diagnostic] = [*operator._knowledge.doubts()]
    assert [doubt.code for doubt in doubts] == ["W811"]
