"""*With the derived selection and without it, a cascade of events has the same answers*."""

import re
from collections.abc import Iterable, Iterator
from unittest.mock import patch

from hypothesis import event, given
from hypothesis import strategies as st

from thalweg import api
from thalweg.diagnostics import Source
from thalweg.kinds.classes.ladder import EventSelection
from thalweg.kinds.events.event_stages import UsableEvents
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.model.vocabulary import SAME_AS

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
  SubObjectPropertyOf(:remark :comment) SubObjectPropertyOf(:asks ObjectInverseOf(:answers))
  SubClassOf(:Odd ObjectHasValue(:flag :yes)) FunctionalObjectProperty(:owner)
)
"""
BACKGROUND = f"@prefix : <{SPACE}> . :o3 :known :yes . " + "".join(
    f":m{n} a :Main ; :in :t . :s{n} a :Side ; :in :t .\n" for n in range(ROADS)
)
CLASSES = f"""
PREFIX : <{SPACE}>
NAMED EVENT :Above AS :High
NAMED EVENT :Side AS (:of some :Side) and (:value some xsd:integer[< 3])
"""
PATTERNS = """
NAMED EVENT :Pair {
  MATCH EVERY :Above SEQ NOT :Side SEQ :Above WITHIN (4 s)
  IF { EVENT :Above { ?x :within ?town } EVENT :Side { ?y :within ?town } }
}
NAMED EVENT :Either {
  MATCH LAST :Side AND :Above WITHIN (3 s)
  IF { EVENT :Above { ?x :of ?r ; :value ?v FILTER(?v < 9) } }
}
"""
# What a clause asks for, and what an event may state for it: itself, something below it, its inverse, a class that
# gives it, that it is an individual which the background knows, or nothing that would do.
ASKED = {
    "note": ":note :yes",
    "comment": ":remark :yes",
    "answers": "^:asks :yes",
    "flag": "a :Odd",
    "known": "owl:sameAs :o3",
    "owner": ":owner :yes",
    "secret": ":remark :yes",
}


@st.composite
def streams(draw: st.DrawFn, stated: str) -> list[Event]:
    """Events of both classes and of none; some state something more."""
    ticks = sorted(draw(st.lists(st.integers(0, 8), min_size=4, max_size=9, unique=True)))
    events = []
    for tick in ticks:
        who = f"<{SPACE}o{tick}>"
        road, values = draw(st.sampled_from((("m", (6, 10)), ("s", (0, 2)), ("m", (0, 10)), ("elsewhere", (0, 10)))))
        of = f"<{SPACE}{road}{draw(st.integers(0, ROADS - 1))}>"
        facts = [Fact(f"<{SPACE}of>", (who, of)), Fact(f"<{SPACE}value>", (who, str(draw(st.integers(*values)))))]
        # One that contradicts must be reported, whatever is dropped.
        facts += [Fact(f"<{SPACE}Side>", (of,))] if draw(st.integers(0, 9)) == 0 else []
        facts += [_fact(who, stated)] if draw(st.integers(0, 2)) else []
        events.append(Event(tick, tuple(facts)))
    return events


def _fact(who: str, stated: str) -> Fact:
    predicate, thing = stated.split()
    name = f"<{SPACE}{thing[1:]}>"
    if predicate == "a":
        return Fact(name, (who,))
    if predicate == "owl:sameAs":
        return Fact(SAME_AS, (who, name))
    return Fact(f"<{SPACE}{predicate.removeprefix('^')[1:]}>", (name, who) if predicate[0] == "^" else (who, name))


@st.composite
def looking(draw: st.DrawFn, asked: str) -> str:
    """More patterns, with clauses about one class or both; some ask for something more."""
    texts = []
    for number in range(draw(st.sampled_from((1, 1, 2)))):
        pattern = draw(
            st.sampled_from(
                (":Above SEQ :Side", ":Side AND :Above", ":Above AND NOT :Side", ":Side SEQ NOT :Above SEQ :Side")
            )
        )
        clauses = ""
        for name in sorted(draw(st.sets(st.sampled_from(("Above", "Side")), min_size=1))):
            more = f" ; :{asked} ?{name}_more" if draw(st.integers(0, 3)) else ""
            clauses += f"EVENT :{name} {{ ?{name} :of ?{name}_road{more} }} "
        texts.append(f"NAMED EVENT :More{number} {{ MATCH EVERY {pattern} WITHIN (5 s) IF {{ {clauses}}} }}")
    return "\n".join(texts)


def answers(events: list[Event], text: str, names: Iterable[str]) -> Iterator[str]:
    sources = [Source("pairs.tw", text), Source("city.ofn", ONTOLOGY)]
    background = Source("city.ttl", BACKGROUND)
    shown = [f"<{SPACE}{name}>/1" for name in names]
    part = api.load_part(sources, background=[background], report=lambda _: None, show=shown)
    with api.start(part, events, api.RunOptions(api.Timing(first=0, last=12)), api.Observer(lambda _: None)) as job:
        for block in job.pieces():
            yield from (str(one) for one in block.answers()) if block is not None else ()


@given(st.data())
def test_dropping_events_changes_no_answer(data: st.DataObject) -> None:
    asked = data.draw(st.sampled_from(sorted(ASKED)))
    events = data.draw(streams(ASKED[asked]))
    text = CLASSES + data.draw(st.sampled_from(("", "", "", PATTERNS))) + data.draw(looking(asked))
    names = re.findall(r"NAMED EVENT :(\w+) \{", text) + data.draw(st.sampled_from(([], [], [], ["Above", "Side"])))
    found = list(answers(events, text, names))
    kept = patch.object(EventSelection, "drops", lambda *_: False)
    used = patch.object(UsableEvents, "of", lambda _, event: event)
    with kept, used:
        assert list(answers(events, text, names)) == found
    event("some matches" if any('"events"' in line for line in found) else "no matches")
