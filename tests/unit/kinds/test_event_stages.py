"""Events that lack what all clauses ask for are left out, unless something else wants them or may give it."""

from thalweg import api
from thalweg.diagnostics import Source
from thalweg.ir.patterns import Clause, Occurs, Pattern, Triple
from thalweg.kinds.classes.classifier import ClassifiedEvent
from thalweg.kinds.events import EventCascade
from thalweg.kinds.events.event_clauses import TripleIndex, known_besides
from thalweg.kinds.events.event_stages import UsableEvents
from thalweg.languages.cascade.event_definitions import CascadeProgram, NamedEvent
from thalweg.model.rdf import RDF_TYPE

EVENT = ClassifiedEvent("<g>", [("<A>", (8,)), ("<v>", (8, 16))], classes=[("A", "<x>")])


def asking(*predicates: str) -> Pattern:
    triples = tuple(Triple("?o", one, f"?{place}") for place, one in enumerate(predicates))
    return Pattern(Occurs("A", 0), "EVERY", clauses=(Clause("A", triples),) if triples else ())


def kept(*patterns: Pattern, background: TripleIndex | None = None, wanted: tuple[str, ...] = ()) -> bool:
    program = CascadeProgram(tuple(NamedEvent(f"E{number}", one) for number, one in enumerate(patterns)))
    return bool(UsableEvents(program, background or TripleIndex([]), wanted).of(EVENT).classes)


def test_an_event_without_a_predicate_of_every_clause_is_left_out() -> None:
    assert kept(asking("<v>"))
    assert not kept(asking("<v>", "<note>"))
    assert not kept(asking("<note>"), asking("<w>"))
    assert kept(asking("<note>"), asking("<v>"))
    assert kept(asking("<note>"), asking())


def test_what_is_wanted_or_may_come_from_elsewhere_stays() -> None:
    assert kept(asking("<note>"), wanted=("A",))
    assert kept(asking("<note>"), background=TripleIndex([("<y>", "<note>", "<z>")]))
    assert kept(asking(RDF_TYPE))
    assert kept(asking("?any"))


def test_a_predicate_that_an_axiom_mentions_may_be_entailed() -> None:
    ontology = "Prefix(:=<http://e/>) Ontology(SubClassOf(:S :A) SubObjectPropertyOf(:remark :note))"
    text = "PREFIX : <http://e/> NAMED EVENT :A AS :A "
    text += "NAMED EVENT :E { MATCH EVERY :A IF { EVENT :A { ?a :note ?n ; :v ?v } } }"
    part = api.load_part([Source("e.tw", text), Source("o.ofn", ontology)], report=lambda _: None)
    assert isinstance(part, EventCascade)
    assert part.abstraction is not None
    index = known_besides(part.abstraction)
    assert index.may_have("<http://e/note>")
    assert not index.may_have("<http://e/v>")
