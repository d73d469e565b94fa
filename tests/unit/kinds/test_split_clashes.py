"""Clashes that several stages find are those of one process, with the same reasons."""

import pytest

from buckets import Buckets
from thalweg import api
from thalweg.answers.jsonl import lines
from thalweg.dataflow.context import Settings
from thalweg.diagnostics import Source
from thalweg.model.event import Event
from thalweg.model.fact import Fact

EX = "http://ex.org/"
# A property and its inverse meet in pairs, so what is known of individuals goes from one stage to the next.
ONTOLOGY = """
@prefix : <http://ex.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Student rdfs:subClassOf :Person . :Faculty rdfs:subClassOf :Employee . :Employee rdfs:subClassOf :Person .
:Person owl:disjointWith :Work . :Student owl:disjointWith :Employee .
:teaches rdfs:domain :Faculty ; rdfs:range :Work . :likes owl:propertyDisjointWith :fears .
:manages a owl:AsymmetricProperty .
"""


def events() -> list[Event]:
    found = []
    for tick in range(24):
        name = [f"<{EX}p{number}>" for number in (tick * 7 % 5, tick % 3)]
        kind, verb = (
            ("Student", "Faculty", "Work", "Employee")[tick % 4],
            ("teaches", "likes", "fears", "manages")[tick // 3 % 4],
        )
        facts = [
            Fact(f"<{EX}{kind}>", (name[0],)),
            Fact(f"<{EX}{verb}>", tuple(name)),
            Fact(f"<{EX}{verb}>", tuple(name[::-1])),
        ]
        found.append(Event(tick, tuple(dict.fromkeys(facts)), "in"))
    return found


@pytest.mark.parametrize("topology", ["ntm", "ltm", "auto"])
@pytest.mark.parametrize("partitions", [1, 3])
def test_buckets_find_the_clashes_of_one_process(topology: str, partitions: int) -> None:
    kinds = {"as_": "consistency", "topology": topology, "window": 6}
    options = api.RunOptions(api.Timing(last=40), runtime="spark", kinds=kinds)
    sources = [Source("staff.ttl", ONTOLOGY)]
    resolved = api.resolve_options(sources, [], [], options)
    part = api.load_resolved(sources, [], resolved, lambda _: None)
    with api.start(part, events(), api.RunOptions(api.Timing(last=40)), api.Observer(lambda _: None)) as job:
        alone = [line for answer in job.pieces() if answer is not None for line in lines(answer)]
    assert sum('"because":["' in line for line in alone) > 5
    buckets = Buckets(part, Settings(last=40), partitions)
    assert [line for answer in buckets.take(events()) for line in lines(answer)] == alone
