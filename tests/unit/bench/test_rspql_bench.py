"""The benchmark of continuous queries compares like with like, and its verdict is about ratios."""

from dataclasses import replace

import pytest

from thalweg.bench.city_streams import STREAMS, as_lines, background
from thalweg.bench.continuous_queries import JOINS, QUERIES
from thalweg.bench.query_contestants import ADDED, COMPILED, RDFLIB, RELOADED
from thalweg.bench.rspql import QueryCost, QueryPoint, Race, measure, measure_once, points, target, verdict


def test_no_triple_comes_twice() -> None:
    for send in STREAMS.values():
        lines = [line for tick in range(50) for line in as_lines(send(tick, 20))]
        assert len(set(lines)) == len(lines) > 0


def test_the_city_is_always_the_same() -> None:
    assert list(background(30)) == list(background(30))
    assert all(list(send(7, 30)) == list(send(7, 30)) for send in STREAMS.values())


@pytest.mark.parametrize("name", QUERIES)
def test_all_contestants_agree_window_by_window(name: str) -> None:
    race = Race(QueryPoint(QUERIES[name], 60, 0, (COMPILED, ADDED, RELOADED)))
    sizes = set()
    for _ in range(4):
        turns, differ = race.compare()
        assert differ == set()
        sizes.add(len(race.contestants[ADDED].read(turns[ADDED].text).rows))
    # An answer that never has rows would compare nothing.
    assert sizes != {0}


def test_istream_is_what_is_new() -> None:
    race = Race(QueryPoint(replace(JOINS.with_range(4), output="ISTREAM"), 300, 0, (COMPILED, ADDED)))
    assert [race.compare()[1] for _ in range(6)] == [set()] * 6


@pytest.mark.filterwarnings("ignore:Dataset:DeprecationWarning")
def test_rdflib_agrees() -> None:
    found = measure_once(QueryPoint(QUERIES["city 5"], 20, 0), RDFLIB)
    assert (found.by, found.differs) == (RDFLIB, False)
    assert found.rows > 0
    assert found.us_a_triple > 0


def test_who_differs_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    race = Race(QueryPoint(QUERIES["csr 1"], 40, 0, (ADDED, RELOADED)))
    answer = race.contestants[RELOADED].answer
    monkeypatch.setattr(race.contestants[RELOADED], "answer", lambda tick: answer(tick) + answer(tick).split("\n")[1])
    assert race.compare()[1] == {RELOADED}


def test_what_is_measured() -> None:
    found = measure(QueryPoint(QUERIES["csr 2"], 40, 2, (ADDED, RELOADED)))
    assert [(each.by, each.window, each.slide, each.triples_a_tick) for each in found] == [
        (ADDED, 3, 3, 160),
        (RELOADED, 3, 3, 160),
    ]
    assert all(each.worst_ms >= each.latency_ms > 0 and each.us_a_triple > 0 for each in found)


def test_every_shape_is_measured() -> None:
    for quick in (True, False):
        names = {point.query.name for point in points(quick)}
        assert names == {*QUERIES, JOINS.name}
        assert target(quick) in points(quick)


def test_the_verdict_is_about_ratios() -> None:
    def series(by: str, cost: float, differs: bool = False) -> QueryCost:
        return QueryCost(JOINS.name, by, 60, 1, 4_000, 600, cost, 1.0, 2.0, differs)

    good = [series(COMPILED, 1.0), series(ADDED, 5.0), series(RELOADED, 25.0)]
    assert [each.holds for each in verdict(good, 2.0)] == [True] * 4
    poor = [series(COMPILED, 1.0, differs=True), series(ADDED, 4.9), series(RELOADED, 24.0)]
    assert [each.holds for each in verdict(poor, 2.1)] == [False] * 4
