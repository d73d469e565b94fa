"""*With the derived selection and without it, a cascade of events has the same answers*."""

from collections.abc import Iterator
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from thalweg import api
from thalweg.diagnostics import Source
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.parts.abstraction import event_selection

SPACE = "http://ex/"
ROADS = 3
ONTOLOGY = """
Prefix(:=<http://ex/>) Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>)
Ontology(
  Declaration(DataProperty(:value)) Declaration(Class(:Side)) Declaration(Class(:Road))
  SubClassOf(:Main :Road) SubClassOf(:Side :Road) DisjointClasses(:Main :Side)
  SubClassOf(:Road ObjectUnionOf(:Wide :Narrow))
  EquivalentClasses(:High ObjectIntersectionOf(ObjectSomeValuesFrom(:of :Main)
    DataSomeValuesFrom(:value DatatypeRestriction(xsd:integer xsd:minExclusive "5"^^xsd:integer))))
  SubObjectPropertyOf(ObjectPropertyChain(:of :in) :within)
)
"""
BACKGROUND = f"@prefix : <{SPACE}> ." + "".join(
    f":m{n} a :Main ; :in :t . :s{n} a :Side ; :in :t .\n" for n in range(ROADS)
)
EVENTS = f"""
PREFIX : <{SPACE}>
NAMED EVENT :Above AS :High
NAMED EVENT :Side AS (:of some :Side) and (:value some xsd:integer[< 3])
NAMED EVENT :Pair {{
  MATCH EVERY :Above SEQ NOT :Side SEQ :Above WITHIN (4 s)
  IF {{ EVENT :Above {{ ?x :within ?town }} EVENT :Side {{ ?y :within ?town }} }}
}}
NAMED EVENT :Either {{
  MATCH LAST :Side AND :Above WITHIN (3 s)
  IF {{ EVENT :Above {{ ?x :of ?r ; :value ?v FILTER(?v < 9) }} }}
}}
"""
SOURCES = [Source("pairs.tw", EVENTS), Source("city.ofn", ONTOLOGY)]


@st.composite
def streams(draw: st.DrawFn) -> list[Event]:
    roads = [f"<{SPACE}{kind}{n}>" for kind in "ms" for n in range(ROADS)]
    ticks = sorted(draw(st.lists(st.integers(0, 8), min_size=1, max_size=6, unique=True)))
    events = []
    for tick in ticks:
        who = f"<{SPACE}o{tick}>"
        facts = [Fact(f"<{SPACE}of>", (who, draw(st.sampled_from([*roads, f"<{SPACE}elsewhere>"]))))]
        facts += [Fact(f"<{SPACE}value>", (who, str(draw(st.integers(0, 10)))))] if draw(st.booleans()) else []
        # One that contradicts must be reported, whatever is dropped.
        facts += [Fact(f"<{SPACE}Side>", (facts[0].terms[1],))] if draw(st.integers(0, 5)) == 0 else []
        events.append(Event(tick, tuple(facts)))
    return events


def answers(events: list[Event]) -> Iterator[str]:
    background = Source("city.ttl", BACKGROUND)
    part = api.load_part(SOURCES, background=[background], report=lambda _: None, show=NAMES)
    with api.start(part, events, api.Timing(first=0, last=12), report=lambda _: None) as job:
        for block in job.pieces():
            yield from (str(one) for one in block.answers()) if block is not None else ()


NAMES = [f"<{SPACE}{name}>/1" for name in ("Above", "Side", "Pair", "Either")]


@given(streams())
def test_dropping_events_changes_no_answer(events: list[Event]) -> None:
    found = list(answers(events))
    with patch.object(event_selection.EventSelection, "drops", lambda *_: False):
        assert list(answers(events)) == found
