"""The operators of answer sets: pieces that are solved apart answer as one operator does, whatever is lost."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from buckets import LOSSES, Buckets
from thalweg.answers.record import Answer
from thalweg.dataflow.context import Context, Settings
from thalweg.dataflow.exchange import GATHER, Hash
from thalweg.dataflow.executor import Executor, open_fragment
from thalweg.dataflow.operator import Output, Share, Updates
from thalweg.dataflow.operator_arrivals import Arrivals
from thalweg.dataflow.plan import Edge, Plan
from thalweg.diagnostics import Diagnostic, RejectedError, Source
from thalweg.engine import Given
from thalweg.kinds.answer_sets import AnswerSets
from thalweg.kinds.answer_sets.answers_operator import AnswersOperator, AnswersSpec
from thalweg.kinds.answer_sets.combine_operator import CombineSpec
from thalweg.kinds.answer_sets.pieces import PieceAnswer
from thalweg.kinds.answer_sets.solve_operator import SolveSpec
from thalweg.kinds.answer_sets.solve_options import SolveOptions
from thalweg.kinds.answer_sets.windowed import Answered, PieceShare
from thalweg.kinds.member import Neighbours
from thalweg.languages.asp.reader import read_program
from thalweg.languages.lars.facts import read_fact
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.model.plain_data import as_data, of_data
from thalweg.model.predicate import Predicate
from thalweg.model.records import as_json, of_json
from thalweg.model.time import Clock
from thalweg.testing.evaluators import batch_of

LAST = 12
SETTINGS = Settings()
TRAFFIC = "jam(R) :- slow(R), many(R), not light(R). fire(R) :- smoke(C), at(C,R). 1 { send(C) : crew(C) } 1."
PROGRAMS = (
    "a(X) :- p(X), not q(X). b(X) :- p(X), r(X).",
    "a(X) :- p(X), not q(X). { c(X) } :- r(X).",
    "a(X,Y) :- e(X,Y), p(X), not q(X). c(X) :- e(X,_), not b(X). b(X) :- r(X). :- a(X,X), r(X).",
    "n(N) :- N = #count { X : p(X) }. a(X) :- r(X), not q(X).",
    "#prefix ex: <http://ex/>. a(X) :- p(X), not q(X). b(X) :- r(X), p(X).",
)
INPUTS = {"p": 1, "q": 1, "r": 1, "e": 2}


def loaded(text: str, options: SolveOptions = SolveOptions(workers=0), background: Sequence[str] = ()) -> AnswerSets:
    facts = tuple(map(read_fact, background))
    return AnswerSets(read_program(Source("case.lp", text))[0].knowing(facts), facts, options)


def context(warnings: list[Diagnostic] | None = None, settings: Settings = SETTINGS, **more: Any) -> Context:
    return Context(settings, Clock(), (warnings if warnings is not None else []).append, **more)


def event(tick: int, *facts: str) -> Event:
    return Event(tick, tuple(map(read_fact, facts)))


def buckets(text: str, options: SolveOptions = SolveOptions(), partitions: int = 2, **more: Any) -> Buckets:
    return Buckets(loaded(text, options, **more), SETTINGS, partitions)


def alone(text: str, events: Sequence[Event], options: SolveOptions) -> list[str]:
    """What one operator answers, in one process."""
    dictionary = Dictionary()
    plan = Plan(loaded(text, replace(options, workers=0)).expand(context(), None, None).operators)
    executor = open_fragment(plan, plan.numbers, context(), dictionary)
    answers: list[Any] = []
    for came in events:
        answers += [str(output.answer) for _, output in executor.advance(came.tick, [batch_of(dictionary, came)])]
    return [*answers, *(str(output.answer) for _, output in executor.finish())]


# Plans ---------------------------------------------------------------------------------------------------------------


def test_pieces_with_a_key_are_split_and_combined() -> None:
    *solving, combining = loaded(TRAFFIC).expand(context(), None, 3).operators
    assert [(spec.split.piece.inputs, spec.width(3)) for spec in solving if isinstance(spec, SolveSpec)] == [
        (("light/1", "many/1", "slow/1"), 3),
        (("at/2", "smoke/1"), 3),
        (("crew/1",), 1),
    ]
    assert isinstance(combining, CombineSpec)
    assert not combining.reads_streams
    placements = [spec.placement(3) for spec in (*solving, combining)]
    assert [stage and stage.partitions for stage in placements] == [3, 3, 1, None]
    at = Predicate("at", 2)
    assert [list(spec.routes(at)) for spec in (solving[0], solving[2])] == [[], []]
    ((_, exchange),) = solving[1].routes(at)
    assert isinstance(exchange, Hash)
    assert exchange.column == 0
    assert list(solving[2].routes(Predicate("crew", 1))) == [(0, GATHER)]
    assert list(solving[1].held_routes((at, False))) == [(at, exchange)]
    assert [route for route, _ in solving[0].routes(Predicate("jam", 1))] == [1]
    assert [list(spec.routes(Predicate("other", 1))) for spec in solving] == [[], [], []]


def test_one_piece_without_a_key_is_one_operator() -> None:
    for partitions in (None, 1, 4):
        (spec,) = loaded("{ a(X) : p(X) } 1.").expand(context(), None, partitions).operators
        assert isinstance(spec, AnswersSpec)
        assert spec.grows == (partitions is None)


def test_windows_that_count_facts_are_not_split_by_a_key() -> None:
    *solving, _ = loaded(TRAFFIC, SolveOptions(window="3 #")).expand(context(), None, 3).operators
    assert [(spec.width(3), spec.counts_everything) for spec in solving] == [(1, True)] * 3


def test_specs_travel_and_records_come_back() -> None:
    expansion = loaded(TRAFFIC, background=["slow(a)"]).expand(context(), Neighbours(), 2)
    assert of_data(as_data(expansion)).edges == expansion.edges
    piece = PieceAnswer(0, 1, 2, 3, 2, (("a(1)",),), True, False, 4, 0.5, 6)
    shares = (PieceShare((Predicate("p", 1),), 2, None, 1),)
    for value in (piece, Answer("answer sets", 4, (("a",), ()), 2), Answered((), True, shares, together=0.25)):
        assert of_json(as_json(value)) == value


@pytest.mark.parametrize("settings", [Settings(emit="snapshot"), Settings(memory=1_000)])
def test_settings_without_a_meaning_are_refused(settings: Settings) -> None:
    with pytest.raises(RejectedError, match="E403"):
        loaded(TRAFFIC).expand(context(), None, 2) and loaded(TRAFFIC).expand(context(settings=settings), None, 2)


def test_each_bucket_has_its_share_of_the_background() -> None:
    facts = [f"slow(r{number})" for number in range(9)]
    first, *_ = loaded(TRAFFIC, background=[*facts, "crew(x)", "other(y)"]).expand(context(), None, 3).operators
    assert isinstance(first, SolveSpec)
    shares = [first.background(Share(bucket, range(5, 8))) for bucket in range(5, 8)]
    assert sorted(str(fact) for share in shares for fact in share) == facts
    assert all(shares)


# Buckets -------------------------------------------------------------------------------------------------------------


@st.composite
def streams(draw: st.DrawFn) -> list[Event]:
    ticks = sorted(draw(st.sets(st.integers(0, LAST), min_size=1, max_size=6)))
    return [event(tick, *draw(st.lists(facts(), max_size=4))) for tick in ticks]


@st.composite
def facts(draw: st.DrawFn) -> str:
    name = draw(st.sampled_from(sorted(INPUTS)))
    terms = st.sampled_from(("1", "2", "x", "<http://ex/x>", "ex_x"))
    return f"{name}({','.join(draw(terms) for _ in range(INPUTS[name]))})"


@given(
    st.sampled_from(PROGRAMS),
    streams(),
    st.sampled_from([(None, None), (3, 2), (2, 3), ("3 #", "2 #"), (20, None)]),
    st.integers(1, 3),
    st.lists(st.integers(1, 5), max_size=3),
    st.sampled_from(LOSSES),
)
def test_split_pieces_answer_as_one_operator(
    text: str, events: list[Event], window: tuple[Any, Any], partitions: int, cuts: list[int], loss: str
) -> None:
    options = SolveOptions("all", *window)
    cluster, answers = buckets(text, options, partitions), list[str]()
    for begin, end in pairwise([0, *sorted({cut for cut in cuts if cut < len(events)}), len(events)]):
        answers += map(str, cluster.take(events[begin:end], ended=end == len(events)))
        cluster.lose(loss)
    assert answers == alone(text, events, options)


def test_what_is_wrong_with_facts_is_reported_once() -> None:
    cluster = buckets("a(X) :- p(X), X > 2. b(X) :- q(X), not r(X), X > 1.", partitions=3)
    numbers = [f"{name}({number}.5)" for name in "pqr" for number in range(9)]
    cluster.take([event(0, *numbers, "b(1)"), event(1, "p(20.5)", "b(2)", "other(3)")])
    assert sorted(warning.code for warning in cluster.found) == ["W506", "W508"]


@pytest.mark.parametrize("loss", LOSSES)
def test_a_predicate_that_is_not_an_input_is_reported_once_also_when_buckets_are_lost(loss: str) -> None:
    cluster = buckets("a(X) :- p(X). b(X) :- q(X), not r(X). c(X) :- b(X), a(X).", partitions=2)
    reported = []
    for tick, facts in enumerate((["b(1)", "p(1)"], ["b(2)"], ["a(3)"], ["b(4)"])):
        cluster.take([event(tick, *facts)], ended=False)
        reported.append([(warning.code, warning.help) for warning in cluster.found])
        cluster.found.clear()
        # The driver knows what it has reported; the one of a run that goes on does not.
        cluster._delivery._warned.clear()
        cluster.lose(loss)
    assert [[code for code, _ in warnings] for warnings in reported] == [[], ["W506"], [], ["W506"]]
    assert "a/1,b/1" in reported[3][0][1]


# Beside other parts --------------------------------------------------------------------------------------------------

WANTED = frozenset({Predicate("a", 1), Predicate("b", 1), Predicate("c", 1)})
HELD = Predicate("q", 1)


def opened(text: str, partitions: int | None, options: SolveOptions, dictionary: Dictionary) -> Executor:
    """A program that reads `q` of another part; split, all of its pieces are in one process."""
    run = context(saves=True, settings=Settings(first=0))
    expansion = loaded(text, options).expand(run, Neighbours((HELD,), WANTED, is_alone=False), partitions)
    plan = Plan(expansion.operators, expansion.edges)
    # Only the held facts come from outside.
    edges = [
        Edge(-1, number, "held", (HELD, False), called, exchange=exchange)
        for number, spec in enumerate(expansion.operators)
        for called, exchange in spec.held_routes((HELD, False))
    ]
    plan = Plan(plan.operators, (*plan.edges, *edges))
    return open_fragment(plan, plan.numbers, run, dictionary)


Steps = Sequence[tuple[int, Sequence[str], Sequence[str], Sequence[str]]]
"""Ticks, each with facts of streams and the terms of held facts that begin and end."""


def through(executor: Executor, steps: Steps) -> list[tuple[int, Any, Any]]:
    """What users and other parts are told."""
    outputs: list[Output] = []
    words = executor.dictionary
    for tick, came, begun, ended in steps:
        for node in executor.nodes:
            for edge in node.edges:
                if edge.source == -1 and (begun or ended):
                    rows = [
                        np.array([[words.code(term)] for term in some], dtype=np.int64).reshape(-1, 1)
                        for some in (begun, ended)
                    ]
                    executor.receive(node.number, tick, Arrivals(held=[Given(HELD, False, *rows)]))
        outputs += (
            output for _, output in executor.advance(tick, [batch_of(words, event(tick, *came))] if came else [])
        )
    outputs += (output for _, output in executor.finish())
    return [(output.tick, str(output.answer), _held(output, words)) for output in outputs if output.answer is not None]


def _held(output: Output, words: Dictionary) -> list[str]:
    changes = (("+", change.signature, change.begun, "-", change.ended) for change in output.held)
    return sorted(
        f"{sign}{Fact(name.name, tuple(map(words.spell, row)))}"
        for begins, name, begun, ends, ended in changes
        for sign, rows in ((begins, begun), (ends, ended))
        for row in rows.tolist()
    )


@st.composite
def histories(draw: st.DrawFn) -> Steps:
    terms = ("1", "2", "x")
    holding: set[str] = set()
    steps = []
    for tick in sorted(draw(st.sets(st.integers(0, LAST), min_size=1, max_size=6)) | {LAST}):
        changed = draw(st.sets(st.sampled_from(terms), max_size=2))
        begun, ended = sorted(changed - holding), sorted(changed & holding)
        holding ^= changed
        came = draw(st.lists(st.sampled_from([f"{name}({term})" for name in "pr" for term in terms]), max_size=3))
        steps.append((tick, came, begun, ended))
    return steps


@pytest.mark.parametrize("window", [(None, None), (3, 2), (20, None)])
@pytest.mark.parametrize("text", [PROGRAMS[0], PROGRAMS[1], PROGRAMS[4]])
@given(histories())
def test_pieces_that_read_other_parts_answer_as_one_operator(text: str, window: tuple[Any, Any], steps: Steps) -> None:
    options = SolveOptions("brave", *window, workers=0)
    together, split = (through(opened(text, count, options, Dictionary()), steps) for count in (None, 3))
    assert split == together


def test_the_last_answer_holds_and_can_be_explained() -> None:
    operator = loaded("a(X) :- p(X).").expand(context(), Neighbours(wanted=WANTED), None).operators[0]
    dictionary = Dictionary()
    working = operator.open(context(), dictionary, Share())
    assert isinstance(working, AnswersOperator)
    assert working.lacking(read_fact("a(1)")) == "no window has closed yet"
    (output,) = working.advance(4, Updates([batch_of(dictionary, event(4, "p(1)"))]))
    assert _held(output, dictionary) == ["+a(1)"]
    proof = working.why(read_fact("a(1)"))
    assert proof is not None
    assert proof.rule == "the answer of the window [4,4]"


def test_a_window_that_took_too_long_must_be_saved() -> None:
    part = loaded("{ a }. n(0) :- q. n(X+1) :- n(X).", SolveOptions(limit="50ms"))
    words, run = Dictionary(), context(saves=True)
    operator = part.expand(run, None, None).operators[0].open(run, words, Share())
    for tick, came, must in ((0, "p(1)", False), (1, "q", True)):
        list(operator.advance(tick, Updates([batch_of(words, event(tick, came))])))
        assert operator.must_save == must
    saved = operator.save()
    assert not operator.must_save
    operator.close()
    again = part.expand(run, None, None).operators[0].open(run, words, Share())
    again.load(saved)
    found: list[Diagnostic] = []
    last = part.expand(run, None, None).operators[0].open(context(found, saves=True), words, Share())
    last.load(saved)
    list(last.finish())
    assert [warning.code for warning in found] == ["W505"]
    again.close()
    last.close()
