"""The operators of continuous queries: split joins answer as one operator does, whichever buckets are lost."""

import json
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buckets import LOSSES, Workers
from thalweg import RejectedError, api
from thalweg.answers.record import Answer
from thalweg.dataflow.context import Context, Settings
from thalweg.dataflow.executor import open_fragment
from thalweg.dataflow.plan import Edge, Plan
from thalweg.diagnostics import Diagnostic, Source
from thalweg.kinds.member import Neighbours
from thalweg.kinds.queries import ContinuousQuery
from thalweg.kinds.queries.count_rows import CountRowsSpec
from thalweg.kinds.queries.join_operator import JoinSpec
from thalweg.kinds.queries.query_operator import QueryOperator, QuerySpec
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.records import as_json, of_json
from thalweg.model.time import Clock
from thalweg.model.triples import TRIPLES
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.wire import ANSWERS, unwrap
from thalweg.testing.evaluators import batch_of
from window_queries import BACKGROUND, EX, LAST, PATTERNS, TERMS, events, queries, window_query

SETTINGS = Settings(first=0, last=LAST)
SPLIT = (JoinSpec, CountRowsSpec)


def load(text: str) -> ContinuousQuery:
    part = api.load_part([Source("q.rspql", text)], background=BACKGROUND, report=lambda _: None)
    assert isinstance(part, ContinuousQuery)
    return part


def context(warnings: list[Diagnostic] | None = None, settings: Settings = SETTINGS, **more: object) -> Context:
    report = (warnings if warnings is not None else []).append
    return Context(settings, Clock(), report, **more)  # type: ignore[arg-type]


class Buckets(Workers):
    """All workers of a plan; `warnings` has the texts of what they report."""

    def __init__(self, plan: Plan, partitions: int, settings: Settings = SETTINGS) -> None:
        super().__init__(Job(plan, settings, partitions, streams=()))
        self.warnings: list[str] = []

    def take(self, stream: Iterable[Event], ended: bool) -> list[str]:
        """The answers that follow when events come, in the order of time."""
        answers: list[tuple[int, int, str]] = []
        for parcel in self.process(stream, ended):
            content = unwrap(parcel.payload)
            assert content.kind == ANSWERS
            self.warnings += (json.dumps(warning) for warning in content.header.get("warnings", ()))
            if "blocks" in content.lists:
                blocks = (str(of_json(json.loads(text))) for text in content.lists["blocks"].to_pylist())
                ticks, places = (content.lists[name].tolist() for name in ("block_ticks", "block_places"))
                answers += zip(ticks, places, blocks, strict=True)
        return [text for _, _, text in sorted(answers)]


def in_buckets(part: ContinuousQuery, batches: Sequence[Sequence[Event]], loss: str, partitions: int) -> list[str]:
    expansion = part.expand(context(), None, partitions)
    buckets = Buckets(Plan(expansion.operators, expansion.edges), partitions)
    answers: list[str] = []
    for number, batch in enumerate(batches, 1):
        answers += buckets.take(batch, number == len(batches))
        buckets.lose(loss)
    return answers


def alone(part: ContinuousQuery, stream: Sequence[Event], breaks: Iterable[int] = (), **more: object) -> list[str]:
    """What one operator in this process answers; it is saved and opened anew after some ticks."""
    run = context(**more)  # type: ignore[arg-type]
    expansion = part.expand(run, None, None)
    plan, words = Plan(expansion.operators, expansion.edges), Dictionary()
    executor = open_fragment(plan, plan.numbers, run, words)
    executor.first = 0
    answers: list[str] = []
    for tick in range(LAST + 1):
        batches = [batch_of(words, event) for event in stream if event.tick == tick]
        answers += (str(output.answer) for _, output in executor.advance(tick, batches))
        if tick in breaks:
            words, saved = Dictionary(), executor.save()
            executor = open_fragment(plan, plan.numbers, run, words)
            executor.load(saved)
    return [*answers, *(str(output.answer) for _, output in executor.finish())]


@given(
    queries(), events(), st.integers(1, 4), st.sampled_from(LOSSES), st.integers(1, 3), st.sets(st.integers(0, LAST))
)
def test_a_split_query_answers_as_one_operator_does(
    text: str, stream: list[Event], size: int, loss: str, partitions: int, breaks: set[int]
) -> None:
    part = load(text)
    batches = [stream[start : start + size] for start in range(0, len(stream), size)]
    answers = alone(part, stream)
    assert alone(part, stream, breaks) == answers
    assert in_buckets(part, batches, loss, partitions) == answers


@pytest.mark.parametrize("pattern", PATTERNS)
def test_joins_with_a_key_are_split(pattern: str) -> None:
    part = load(f"PREFIX : <{EX}> {window_query('SELECT *', pattern.format())}")
    assert tuple(map(type, part.expand(context(), None, 2).operators)) == SPLIT
    assert tuple(map(type, part.expand(context(), Neighbours(streams=("made",)), 2).operators)) == SPLIT
    for beside, partitions in ((None, None), (None, 1), (Neighbours(hears_held=True), 2)):
        assert tuple(map(type, part.expand(context(), beside, partitions).operators)) == (QuerySpec,)


def test_a_query_without_a_key_is_one_operator_and_answers_alike_in_a_bucket() -> None:
    cross = load(f"PREFIX : <{EX}> {window_query('SELECT ?x ?z', 'WINDOW :w { ?x :p ?y . ?z :q ?v }')}")
    chain = load(f"PREFIX : <{EX}> {window_query('SELECT ?x ?z', 'WINDOW :w { ?x :p+ ?z }')}")
    p = f"<{EX}p>"
    stream = [Event(tick, (Fact(p, (TERMS[tick % 3], TERMS[(tick + 1) % 3])),), "in") for tick in range(8)]
    for query in (cross, chain):
        assert [*map(type, query.expand(context(), None, 2).operators)] == [QuerySpec]
        for loss in LOSSES:
            assert in_buckets(query, [stream[:3], stream[3:]], loss, 2) == alone(query, stream)


def test_an_operator_beside_others_gives_the_graph_of_a_construct_as_an_event() -> None:
    part = load(
        f"PREFIX : <{EX}> REGISTER RSTREAM :made AS {window_query('CONSTRUCT { ?x :made ?y }', PATTERNS[0].format())}"
    )
    stream = [Event(1, (Fact(f"<{EX}p>", (TERMS[0], TERMS[1])),), "in")]
    run, words = context(), Dictionary()
    (spec,) = part.expand(run, Neighbours(), None).operators
    assert spec.gives_events
    executor = open_fragment(Plan((spec,)), (0,), run, words)
    executor.first = 0
    outputs = [output for _, output in executor.advance(3, [batch_of(words, stream[0])])]
    outputs = [output for output in outputs if output.events and output.answer.columns[0]]
    assert [output.tick for output in outputs] == [3]
    (batch,) = outputs[0].events
    fact = Fact(f"<{EX}made>", (TERMS[0], TERMS[1]))
    assert batch.stream == "made"
    assert list(batch.facts(words)) == [fact]
    operator = executor.nodes[0].operator
    assert isinstance(operator, QueryOperator)
    proof = operator.why(fact)
    assert proof is not None
    assert (proof.claim, proof.until, proof.kind) == (str(fact), 3, "query")
    assert operator.why(Fact("other", ())) is None
    assert "has not made" in operator.lacking(fact)


def test_a_split_query_reads_the_events_of_another_query() -> None:
    first = load(
        f"PREFIX : <{EX}> REGISTER RSTREAM :made AS {window_query('CONSTRUCT { ?y :q ?x }', PATTERNS[0].format())}"
    )
    second = load(
        f"PREFIX : <{EX}> REGISTER RSTREAM :q AS SELECT ?x ?y FROM NAMED WINDOW :w ON STREAM :made [RANGE 2s, SLIDE 1s]"
        " WHERE { WINDOW :w { ?x :q ?y . ?x :q ?z } }"
    )
    stream = [Event(tick, (Fact(f"<{EX}p>", (TERMS[tick % 3], TERMS[tick % 2])),), "in") for tick in range(9)]

    def plan(partitions: int | None) -> Plan:
        makers, readers = (
            query.expand(context(), Neighbours(streams=("made",)), partitions) for query in (first, second)
        )
        number = len(makers.operators)
        edges = [*makers.edges]
        edges += (Edge(edge.source + number, edge.target + number, edge.what) for edge in readers.edges)
        edges += (Edge(number - 1, number + place, "events") for place in range(len(readers.operators)))
        return Plan((*makers.operators, *readers.operators), tuple(edges))

    run, words, together = context(), Dictionary(), plan(None)
    executor = open_fragment(together, together.numbers, run, words)
    executor.first = 0
    answers: list[str] = []
    for tick in range(LAST + 1):
        batches = [batch_of(words, event) for event in stream if event.tick == tick]
        answers += (str(output.answer) for _, output in executor.advance(tick, batches))
    assert any(TERMS[0] in answer for answer in answers)
    assert len(plan(3).operators) == 4
    for loss in LOSSES:
        buckets = Buckets(plan(3), 3)
        split = buckets.take(stream[:4], False)
        buckets.lose(loss)
        assert [*split, *buckets.take(stream[4:], True)] == answers


def test_warnings_about_windows_and_streams_are_reported_once_also_when_buckets_are_lost() -> None:
    part = load(f"PREFIX : <{EX}> {window_query('SELECT ?x', PATTERNS[3].format(), [(99, 1), (2, 1)])}")
    stream = [Event(tick, (Fact(f"<{EX}p>", (TERMS[tick], TERMS[0])),), "in") for tick in range(3)]
    settings = Settings(first=0, last=LAST)
    warnings: list[Diagnostic] = []
    alone(part, stream, warnings=warnings)
    assert [warning.code for warning in warnings] == ["W606", "W610"]
    for loss in LOSSES:
        expansion = part.expand(context(settings=settings), None, 2)
        buckets = Buckets(Plan(expansion.operators, expansion.edges), 2, settings)
        buckets.take(stream[:2], False)
        buckets.lose(loss)
        buckets.take([], True)
        assert sorted(code for code in ("W606", "W610") for text in buckets.warnings if code in text) == [
            "W606",
            "W610",
        ]


@pytest.mark.parametrize("stray", [Fact("go"), Fact(f"<{EX}p>", ("7", "8")), Fact("far", ("7", "8", "9"))], ids=str)
def test_a_fact_that_is_not_a_triple_is_reported_once_whichever_bucket_it_comes_to(stray: Fact) -> None:
    part = load(f"PREFIX : <{EX}> {window_query('SELECT ?x', PATTERNS[0].format())}")
    facts = [Fact(f"<{EX}p>", (term, TERMS[0])) for term in TERMS]
    stream = [Event(tick, (*facts, *([stray] if tick % 2 else [])), "in") for tick in range(6)]
    warnings: list[Diagnostic] = []
    alone(part, stream, warnings=warnings)
    (expected,) = (warning.message for warning in warnings if warning.code == "W608")
    for loss in LOSSES:
        expansion = part.expand(context(), None, 3)
        assert [type(spec) for spec in expansion.operators] == [*SPLIT]
        buckets = Buckets(Plan(expansion.operators, expansion.edges), 3)
        buckets.take(stream[:3], False)
        buckets.lose(loss)
        buckets.take(stream[3:], True)
        (text,) = (text for text in buckets.warnings if "W608" in text)
        assert expected in json.loads(json.loads(text))["message"]


def test_settings_that_have_no_meaning_for_a_query_are_refused() -> None:
    part = load(f"PREFIX : <{EX}> {window_query('SELECT ?x', PATTERNS[0].format())}")
    for settings, beside in (
        (Settings(emit="snapshot"), None),
        (Settings(memory=5), None),
        (Settings(memory=5), Neighbours()),
    ):
        with pytest.raises(RejectedError, match="E403"):
            part.expand(context(settings=settings), beside, 2)
    part.expand(context(settings=Settings(emit="snapshot")), Neighbours(), 2)
    with pytest.raises(RejectedError, match="E602"):
        part.expand(context(streams=("a", "b"), names_streams=lambda: False), None, 2)


def test_facts_made_for_rules_do_not_reach_a_query() -> None:
    part = load(f"PREFIX : <{EX}> {window_query('SELECT ?x', 'WINDOW :w { ?x ?y ?z }')}")
    for partitions in (None, 2):
        specs = part.expand(context(), None, partitions).operators
        for signature in (TRIPLES, Predicate("'literal", 3), Predicate("same'as", 2)):
            assert not [route for spec in specs for route in spec.routes(signature)]
        for signature in (Predicate("<p>", 2), Predicate("go", 0)):
            assert [route for spec in specs for route in spec.routes(signature)]


@pytest.mark.parametrize(
    "answer",
    [
        Answer("rows", 4, (('{"x":"<a>"}', "{}"),), 2),
        Answer("triples", 4, (("<p>(<s>,<o>)",),), 2),
        Answer("truth", 4, ((True,),), 2),
    ],
)
def test_answers_travel_as_json(answer: Answer) -> None:
    assert of_json(json.loads(json.dumps(as_json(answer)))) == answer
