"""What becomes of facts on their way to the stages, and of answers and late facts on their way out."""

import json
from collections.abc import Sequence

import numpy as np
import pytest

from buckets import rule_job
from thalweg import api
from thalweg.dataflow.context import Settings
from thalweg.diagnostics import Source
from thalweg.ir.annotate_terms import EDGE
from thalweg.ir.nodes import Interface, Program
from thalweg.languages.lars import read
from thalweg.languages.owl.program import ProfileAdditions, over_triples, specialised
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.model.vocabulary import OWL, RDFS, SAME_AS, TYPE, XSD, Triple
from thalweg.runtimes.spark.ingest import CodedFacts, admitted
from thalweg.runtimes.spark.pack import Packer, gather
from thalweg.runtimes.spark.wire import LATE, OUT, Content, unwrap
from thalweg.runtimes.spark.worker import Worker
from thalweg.runtimes.watermark import Watermark
from thalweg.testing.evaluators import arrived, batch_of

ONTOLOGY: list[Triple] = [
    ("<Student>", f"<{RDFS}subClassOf>", "<Person>"),
    ("<age>", TYPE, f"<{OWL}FunctionalProperty>"),
    ("<age>", f"<{RDFS}range>", f"<{XSD}integer>"),
]
EVENTS = [
    Event(1, (Fact("<Student>", ("<a>",)), Fact(SAME_AS, ("<a>", "<b>")))),
    Event(1, (Fact("<age>", ("<a>", "3")), Fact("go"), Fact("far", ("<a>", "<b>", "<c>")))),
    Event(4, (Fact("<age>", ("<b>", "3")),)),
]


def arrivals(words: Dictionary, events: Sequence[Event]) -> list[CodedFacts]:
    return gather((event.tick, batch_of(words, event)) for event in events)


def known(program: Program, events: Sequence[Event]) -> dict[str, list[tuple[int, int, str]]]:
    """What the stages get of each signature: ticks, places, and arguments."""
    words, job = Dictionary(), rule_job(program)
    found: dict[str, list[tuple[int, int, str]]] = {}
    for each in admitted(arrivals(words, events), job, words):
        spelled = [",".join(map(words.spell, row)) for row in each.rows.tolist()]
        rows = zip(each.ticks.tolist(), each.places.tolist(), spelled, strict=True)
        found.setdefault(each.signature, []).extend(sorted(rows))
    return found


def test_rules_of_users_get_facts_as_they_are() -> None:
    words = Dictionary()
    given = arrivals(words, EVENTS)
    assert list(admitted(given, rule_job(read(Source("x.lars", "a(X) :- far(X,Y,Z)."))), words)) == given


def test_rules_over_triples_get_triples() -> None:
    found = known(over_triples(ONTOLOGY, "rdfs", 5), EVENTS)
    assert sorted(found["'triple/3"]) == [
        (1, 0, f"<a>,{TYPE},<Student>"),
        (1, 1, f"<a>,{SAME_AS},<b>"),
        (1, 2, "<a>,<age>,3"),
        (4, 5, "<b>,<age>,3"),
    ]
    assert (found["go/0"], found["far/3"]) == ([(1, 3, "")], [(1, 4, "<a>,<b>,<c>")])


def test_equality_comes_as_edges() -> None:
    found = known(specialised("x.ttl", ONTOLOGY, "rl", 5), EVENTS)
    assert found[f"{EDGE}/2"] == [(1, 1, "<a>,<b>")]
    assert f"{SAME_AS}/2" not in found


def test_what_is_known_of_a_literal_comes_with_it_once_a_tick() -> None:
    events = [*EVENTS, Event(4, (Fact("<age>", ("<c>", "3")),))]
    found = known(specialised("x.ttl", ONTOLOGY, "rl", 5), events)["'literal/3"]
    assert {(tick, place) for tick, place, _ in found} == {(1, 2), (4, 5)}
    assert f"<{XSD}integer>" in {row.rpartition(",")[2] for _, _, row in found}


def test_what_stands_for_a_literal_comes_with_it() -> None:
    found = known(specialised("x.ttl", ONTOLOGY, "pd", 5, ProfileAdditions(literals=True)), EVENTS)
    assert [(tick, place) for tick, place, _ in found["'typed_literal/3"]] == [(1, 2), (4, 5)]


# Late facts ---------------------------------------------------------------------------------------------------------

LATE_ONES = (
    Fact("<Student>", ("<c>",)),
    Fact("<age>", ("<c>", "7")),
    Fact(SAME_AS, ("<c>", "<d>")),
    Fact("unknown", ("<c>",)),
    Fact("go"),
)


@pytest.mark.parametrize("compiled", [specialised("x.ttl", ONTOLOGY, "rl", 5), over_triples(ONTOLOGY, "rl", 5)])
@pytest.mark.parametrize("partitions", [1, 3])
def test_late_facts_are_told_as_they_came(compiled: Program, partitions: int) -> None:
    events = [Event(9, (Fact("<Student>", ("<a>",)),)), *(Event(2, (fact,)) for fact in LATE_ONES)]
    told: list[str] = []
    for _ in api.run(compiled, stream=events, emit="changes", late=told.append):
        pass
    embedded = sorted((line["t"], line["watermark"], fact) for line in map(json.loads, told) for fact in line["facts"])
    assert len(embedded) == len(LATE_ONES)
    found = [content.lists for content in outcome(compiled, events, "changes", partitions) if content.kind == LATE]
    rows = [zip(each["ticks"], each["watermarks"], each["facts"].to_pylist(), strict=True) for each in found]
    assert sorted(row for part in rows for row in part) == embedded


def outcome(program: Program, events: Sequence[Event], emit: str, partitions: int) -> list[Content]:
    """All that the buckets send into the world."""
    job = rule_job(program, Settings(emit=emit), partitions)
    packer = Packer(job, 0, (0,))
    post = list(packer.pack(arrived(events, packer.words, Watermark()), ended=True))
    for stage in range(len(job.fragments)):
        for bucket in job.buckets(stage):
            mine = [each.payload for each in post if (each.fragment, each.bucket) == (stage, bucket)]
            post += Worker(job, stage, bucket).process(mine)
    return [unwrap(each.payload) for each in post if each.fragment == OUT]


# Answers ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("emit", "expected"),
    [
        ("changes", [(0, 0), (0, 0), (1, 1), (1, 1)]),
        ("intervals", [(0, 0), (0, 0)]),
        ("snapshot", [(0,), (0,)]),
    ],
)
def test_one_name_may_be_a_class_and_a_property(emit: str, expected: list[tuple[int, ...]]) -> None:
    program = read(Source("x.lars", "<p>(X) :- a(X). <p>(X,Y) :- b(X,Y)."))
    events = [Event(0, (Fact("a", ("x",)), Fact("b", ("x", "y")))), Event(1, (Fact("go"),))]
    found = [content.lists for content in outcome(program, events, emit, 2)]
    facts = [fact for lists in found for fact in _plain(lists["facts"])]
    assert set(facts) == {"<p>(x)", "<p>(x,y)"}
    numbers = [zip(*(_plain(lists[name]) for name in lists if name != "facts"), strict=True) for lists in found]
    assert sorted(row for part in numbers for row in part) == expected


def _plain(values: object) -> list[object]:
    return list(np.asarray(values).tolist())


# Checkpoints --------------------------------------------------------------------------------------------------------


def test_a_checkpoint_of_other_rules_of_the_same_text_is_another() -> None:
    one = specialised("x.ttl", ONTOLOGY, "pd", 5)
    others = [
        Program(one.rules, one.background, Interface(inputs, told), one.annotations)
        for told in (one.interface.outputs, None)
        for inputs in (one.interface.inputs, frozenset())
    ]
    assert len({rule_job(each).fingerprint for each in others}) == len(others)
    assert rule_job(one).fingerprint == rule_job(specialised("x.ttl", ONTOLOGY, "pd", 5)).fingerprint
