"""What holds is kept from answers of every kind, and is what rules, answer sets and ontologies say themselves."""

import json
from pathlib import Path

import pytest

from thalweg import api
from thalweg.answers.event_answers import AbstractLine
from thalweg.answers.record import Answer, changes, snapshots
from thalweg.diagnostics import Source
from thalweg.model.time import FOREVER
from thalweg.service.holding import HeldFact, Holding

LARS = Source("jam.lars", "jam(S) :- slow(S) in [10]. calm(S) :- seen(S), not slow(S) in [3].")
FACTS = "slow(a) at 3.\nseen(b) at 4.\nslow(b) at 5.\nseen(a) at 9.\nslow(c) at 9.\nslow(a) at 12.\n"


def _texts(holding: Holding, now: int) -> list[str]:
    return [held.fact for held in holding.facts(now)]


def test_facts_hold_from_where_they_begin_to_where_they_end() -> None:
    holding = Holding()
    holding.apply(changes(3, ("jam(a)", "jam(b)")))
    holding.apply(changes(5, ("jam(c)",), ("jam(a)",)))
    assert [*holding.facts(5)] == [HeldFact("jam(b)", 3), HeldFact("jam(c)", 5)]
    holding.apply(changes(6, ("jam(a)",), unknown=("jam(b)",)))
    assert [*holding.facts(6)] == [HeldFact("jam(c)", 5), HeldFact("jam(a)", 6)]
    assert len(holding) == 2


def test_a_guarantee_is_said_until_it_has_run_out() -> None:
    holding = Holding()
    holding.apply(changes(3, ("jam(a)", "jam(b)"), until=(13, FOREVER)))
    assert [*holding.facts(13)] == [HeldFact("jam(a)", 3, 13), HeldFact("jam(b)", 3)]
    assert [*holding.facts(14)] == [HeldFact("jam(a)", 3), HeldFact("jam(b)", 3)]
    assert next(holding.facts(None)).until == 13


def test_answer_sets_hold_until_the_next_window_is_solved() -> None:
    holding = Holding()
    holding.apply(Answer("answer sets", 4, (("a(1)", "b(1)"), ("a(1)", "b(2)")), 2))
    assert [*holding.facts(4)] == [HeldFact("a(1)", 4), HeldFact("b(1)", 4), HeldFact("b(2)", 4)]
    holding.apply(Answer("answer sets", 6, (("c", "a(1)"),), 4))
    assert [*holding.facts(7)] == [HeldFact("a(1)", 4), HeldFact("c", 6)]
    holding.apply(Answer("answer sets", 8, (), 6))
    assert len(holding) == 0


def test_a_fact_of_rules_and_answer_sets_is_one() -> None:
    holding = Holding()
    holding.apply(Answer("answer sets", 4, (("p(1)", "q(1)"),), 4))
    holding.apply(changes(5, ("p(1)", "r(1)"), until=(9, FOREVER)))
    assert _texts(holding, 5) == ["p(1)", "q(1)", "r(1)"]
    assert len(holding) == 3
    holding.apply(changes(6, (), ("p(1)",)))
    assert _texts(holding, 6) == ["p(1)", "q(1)", "r(1)"]
    holding.apply(Answer("answer sets", 7, (), 7))
    assert _texts(holding, 7) == ["r(1)"]


def test_a_clash_ends_without_the_reasons_that_it_began_with() -> None:
    clash = {"individual": "<bob>", "axiom": "DisjointClasses(<Man> <Work>)"}
    holding = Holding()
    begin = json.dumps(clash | {"because": ["<Man>(<bob>) at 5"]})
    holding.apply(Answer("changes", 5, ((begin,), (), (), ()), of_clashes=True))
    assert _texts(holding, 5) == ["inconsistent(<bob>,DisjointClasses)"]
    holding.apply(Answer("changes", 9, ((), (json.dumps(clash),), (), ()), of_clashes=True))
    assert len(holding) == 0


@pytest.mark.parametrize(
    "answer",
    [
        Answer("rows", 4, (('{"x":"<a>"}',),), 2),
        Answer("triples", 4, (("<p>(<s>,<o>)",),), 2),
        Answer("truth", 4, ((True,),), 2),
        Answer("events", 4, ((AbstractLine(4, "<High>", "<e>"),),)),
    ],
    ids=lambda answer: answer.kind,
)
def test_rows_and_events_hold_at_no_tick(answer: Answer) -> None:
    holding = Holding()
    holding.apply(changes(3, ("jam(a)",)))
    holding.apply(answer)
    assert _texts(holding, 4) == ["jam(a)"]


def test_it_goes_on_where_another_was_saved() -> None:
    holding, resumed = Holding(), Holding()
    holding.apply(Answer("answer sets", 4, (("p(1)",),), 4))
    holding.apply(changes(5, ("r(1)", "jam(a)"), until=(FOREVER, 9)))
    resumed.load(json.loads(json.dumps(holding.save())))
    assert [*resumed.facts(5)] == [*holding.facts(5)]
    for state in (holding, resumed):
        state.apply(changes(6, (), ("r(1)",)))
        state.apply(Answer("answer sets", 6, (("p(2)",),), 6))
    assert [*resumed.facts(6)] == [*holding.facts(6)] == [HeldFact("jam(a)", 5, 9), HeldFact("p(2)", 6)]


def test_of_snapshots_the_last_one_holds() -> None:
    holding = Holding()
    holding.apply(snapshots(3, 4, ("jam(a)", "jam(b)")))
    holding.apply(snapshots(5, 7, ("jam(b)", "jam(c)")))
    assert [*holding.facts(7)] == [HeldFact("jam(b)", 3), HeldFact("jam(c)", 5)]


def test_what_holds_is_the_snapshot_of_every_tick(tmp_path: Path) -> None:
    stream = tmp_path / "s.facts"
    stream.write_text(FACTS)
    part = api.load_part([LARS], report=lambda warning: None)
    holding = Holding()
    shown: dict[int, list[HeldFact]] = {}
    with api.start(part, [stream], api.RunOptions(), api.Observer(with_until=True)) as job:
        for answer in filter(None, job.pieces()):
            holding.apply(answer)
            shown[answer.t] = [*holding.facts(answer.t)]
    with api.start(part, [stream], api.RunOptions(emit="snapshot")) as job:
        expected = {tick: set(answer.columns[0]) for answer in filter(None, job.pieces()) for tick in _ticks(answer)}
    assert {tick: {held.fact for held in facts} for tick, facts in shown.items()} == {t: expected[t] for t in shown}
    assert HeldFact("jam(a)", 3, 13) in shown[4]


def _ticks(answer: Answer) -> range:
    return range(answer.start, answer.t + 1)
