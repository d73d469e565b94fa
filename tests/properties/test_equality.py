"""Equal things have one representative, at every tick, whoever finds out, and wherever it is said."""

from hypothesis import given, settings
from hypothesis import strategies as st
from test_ontologies import CLASSES, INDIVIDUALS, PROPERTIES, WINDOW, ontologies, owl
from test_shedding import tight

from thalweg.engine.equality import Classes
from thalweg.ir.semantics import answers
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.languages.owl.program import as_fact, specialised
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.model.vocabulary import SAME_AS, TYPE, Triple

EDGES = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 6), st.integers(0, 6), st.integers(0, 5)).filter(
        lambda each: each[1] != each[2]
    ),
    max_size=25,
)


@given(EDGES)
def test_a_link_leads_to_the_least_and_lasts_no_longer_than_a_way(edges: list[tuple[int, int, int, int]]) -> None:
    classes = Classes(str)
    links: dict[tuple[int, int], int] = {}
    for tick in range(16):
        made = classes.begin(tick)
        made += classes.add([(one, other, tick + lasts) for when, one, other, lasts in edges if when == tick])
        for each, home, until in made:
            links[each, home] = max(until, links.get((each, home), -1))
        holding = [(one, other, when + lasts) for when, one, other, lasts in edges if when <= tick <= when + lasts]
        assert {pair for pair, until in links.items() if until >= tick} >= _least(holding)
        assert all(home in _connected(each, [e for e in holding if e[2] >= until]) for each, home, until in made)


def _least(edges: list[tuple[int, int, int]]) -> set[tuple[int, int]]:
    things = {thing for one, other, _ in edges for thing in (one, other)}
    found = {(each, min(_connected(each, edges), key=str)) for each in things}
    return {(each, home) for each, home in found if each != home}


def _connected(start: int, edges: list[tuple[int, int, int]]) -> set[int]:
    found = {start}
    while more := {b for one, other, _ in edges for a, b in ((one, other), (other, one)) if a in found} - found:
        found |= more
    return found


@st.composite
def said(draw: st.DrawFn) -> Triple:
    """Of individuals: their classes, how they are related, and who is who."""
    one, other = draw(st.sampled_from(INDIVIDUALS)), draw(st.sampled_from(INDIVIDUALS))
    if draw(st.booleans()):
        return one, draw(st.sampled_from((*PROPERTIES, SAME_AS, SAME_AS, owl("differentFrom")))), other
    return one, TYPE, draw(st.sampled_from(CLASSES))


STREAMS = st.lists(st.tuples(st.integers(0, 4), said()), min_size=1, max_size=5)


@settings(max_examples=max(10, settings().max_examples // 10))
@given(ontology=ontologies(), stream=STREAMS, cut=st.integers(0, 5))
def test_the_engine_tells_what_is_meant_also_after_a_restart(
    ontology: list[Triple], stream: list[tuple[int, Triple]], cut: int
) -> None:
    program = specialised("x.ttl", ontology, "rl", WINDOW)
    events = [Event(tick, (as_fact(triple),)) for tick, triple in sorted(stream, key=lambda each: each[0])]
    engine = Engine(program, first=0)
    holding: set[Fact] = set()
    for tick, meant in answers(program, events, 0, 7):
        facts = [fact for event in events if event.tick == tick for fact in event.facts]
        for change in engine.advance(tick, facts):
            assert not set(change.begin) & set(change.end)
            assert not set(change.begin) & holding
            assert set(change.end) <= holding
            holding = (holding - set(change.end)) | set(change.begin)
        assert holding == {fact for fact in meant if fact.signature in program.outputs}, f"at {tick}"
        assert holding == set(engine.facts())
        if tick == cut:
            engine = Engine.restore(program, engine.snapshot())
            assert holding == set(engine.facts())


@settings(max_examples=max(10, settings().max_examples // 10))
@given(ontology=ontologies(), stream=STREAMS, when=st.integers(0, 4), more=st.integers(1, WINDOW))
def test_what_is_output_over_a_budget_is_meant(
    ontology: list[Triple], stream: list[tuple[int, Triple]], when: int, more: int
) -> None:
    """Who stands for others is unknown while pairs may be missing; so is all that is output of them."""
    program = specialised("x.ttl", ontology, "rl", WINDOW)
    events = [Event(tick, (as_fact(triple),)) for tick, triple in sorted(stream, key=lambda each: each[0])]
    engine = tight({when: (when + more, 1)})(program, first=0)
    holding: set[Fact] = set()
    for tick, meant in answers(program, events, 0, 9):
        visible = {fact for fact in meant if fact.signature in program.outputs}
        for change in engine.advance(tick, [fact for event in events if event.tick == tick for fact in event.facts]):
            assert not set(change.end) & visible
            holding = (holding - set(change.end) - set(change.unknown)) | set(change.begin)
        assert holding == set(engine.facts())
        assert holding <= visible
        assert engine.partial or holding == visible
