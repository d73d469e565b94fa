"""Patterns over patterns, by hand: what a tick with several events of one name gives, and clauses of complex events."""

from thalweg.ir.pattern_semantics import Instance
from thalweg.ir.patterns import Absent, Clause, Filter, Occurs, Pattern, Sequence, Triple
from thalweg.kinds.events.event_layers import EventLayers
from thalweg.languages.cascade.event_definitions import CascadeProgram, NamedEvent

VALUE = Clause("A", (Triple("?o", "<v>", "?v"),), (Filter("(?v > 2)", ("v",)),))


def reading(tick: int, value: str, graph: str = "") -> Instance:
    return Instance("A", tick, tick, "<x>", graph, triples=(("<x>", "<v>", value),))


def test_graphs_without_a_name_may_be_about_the_same_individual() -> None:
    layers = EventLayers(CascadeProgram((NamedEvent("E", Pattern(Occurs("A", 0), "EVERY", clauses=(VALUE,))),)), [])
    found = layers.advance(1, {"A": [reading(1, "3"), reading(1, "4"), reading(1, "4"), reading(1, "1")]})
    assert [dict(bindings)["v"] for _, (_, bindings) in found] == ["3", "4"]
    assert len({event for _, (event, _) in found}) == 1


def test_a_clause_of_a_complex_event_begins_at_one_of_its_individuals() -> None:
    below = Pattern(Sequence((Occurs("A", 0), Occurs("B", 1))), "EVERY", 9)
    above = Pattern(Occurs("D", 0), "EVERY", clauses=(Clause("D", (Triple("?o", "<v>", "?v"),)),))
    layers = EventLayers(CascadeProgram((NamedEvent("D", below), NamedEvent("E", above))), [("<z>", "<v>", "9")])
    layers.advance(1, {"A": [reading(1, "3", "<g>")]})
    other = Instance("B", 2, 2, "<y>", "<h>", triples=(("<y>", "<v>", "5"), ("<other>", "<v>", "7")))
    found = layers.advance(2, {"B": [other]})
    bound = [dict(bindings) for _, (event, bindings) in found if event.event == "E"]
    assert sorted(bound, key=str) == [{"o": "<x>", "v": "3"}, {"o": "<y>", "v": "5"}]


def test_a_clause_looks_at_the_events_of_the_events_that_a_complex_event_is_made_of() -> None:
    names = (("D", "A", ()), ("E", "D", ()), ("F", "E", (Triple("?o", "<v>", "?v"),)))
    events = (
        NamedEvent(name, Pattern(Occurs(of, 0), "EVERY", clauses=(Clause(of, look),))) for name, of, look in names
    )
    found = EventLayers(CascadeProgram(tuple(events)), []).advance(1, {"A": [reading(1, "3")]})
    assert [(event.event, dict(bindings)) for _, (event, bindings) in found] == [
        ("D", {}),
        ("E", {}),
        ("F", {"o": "<x>", "v": "3"}),
    ]


def test_a_complex_event_that_ends_between_two_ticks_is_used_at_its_end() -> None:
    quiet = Pattern(Sequence((Occurs("A", 0), Absent(Occurs("A", 1)))), "EVERY", 3)
    then = Pattern(Sequence((Occurs("D", 0), Occurs("A", 1))), "EVERY", 9)
    layers = EventLayers(CascadeProgram((NamedEvent("D", quiet), NamedEvent("E", then))), [])
    layers.advance(1, {"A": [reading(1, "3")]})
    found = layers.advance(6, {"A": [reading(6, "3")]})
    assert [(tick, event.event, event.start, event.end) for tick, (event, _) in found] == [
        (4, "D", 1, 4),
        (6, "E", 1, 6),
    ]
