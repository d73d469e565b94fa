"""The benchmark compares like with like: the engine, clingo and the naive interpreter give the same answers."""

import csv
from itertools import islice
from pathlib import Path

import pytest

from thalweg.bench.laser import (
    WorkloadPoint,
    WorkloadResult,
    draw_results,
    measure,
    measure_gap,
    measure_growth,
    measure_json_lines,
    naive_arrivals,
    points,
    program_of,
    row,
    verdict,
)
from thalweg.bench.report import BenchmarkReport
from thalweg.bench.workload import BOX, COOLING, DIAMOND, JOIN, Workload, joins
from thalweg.ir import semantics
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.solvers.clingo import solve_once

WINDOW, RATE = 3, 20


@pytest.mark.parametrize("workload", [DIAMOND, BOX, JOIN, joins(3), COOLING], ids=lambda workload: workload.name)
def test_all_give_the_same_answers(workload: Workload) -> None:
    program = program_of(WorkloadPoint(workload, WINDOW, RATE))
    content = list(enumerate(islice(workload.values(WINDOW, RATE), WINDOW + 1)))
    engine = Engine(program)
    for tick, values in content:
        engine.advance(tick, workload.batch(values))
    found = set(map(str, engine.facts()))
    assert found == set(map(str, semantics.output(program, 0, WINDOW, naive_arrivals(workload, content))))
    solved = set(solve_once(workload.encoding(WINDOW), workload.facts_for_solver(content)))
    if workload is COOLING:
        # The encoding has no decimals and no flags for now; what is left is what the program is about.
        kinds = ("alarm", "normal", "freeze", "veryHot", "veryCold")
        found, solved = ({fact for fact in facts if fact.startswith(kinds)} for facts in (found, solved))
    assert found == solved
    assert found


def test_a_measurement_has_everything() -> None:
    result = measure(WorkloadPoint(JOIN, 2, 10, clingo=1, naive=30.0), facts=50, rounds=2)
    assert min(result.engine, result.c, result.bytes_per_fact, result.live, result.clingo or 0, result.naive or 0) > 0
    assert not result.naive_is_bound


def test_the_naive_interpreter_may_give_up() -> None:
    result = measure(WorkloadPoint(JOIN, 20, 200, naive=0.05), facts=400, rounds=1)
    assert result.naive_is_bound
    assert result.naive == 0.05 * 1e6 / 200


def test_growth_is_a_ratio() -> None:
    assert measure_growth(WorkloadPoint(JOIN, 1, 10), WorkloadPoint(JOIN, 5, 10), facts=50, rounds=2) > 0


def test_a_gap_can_be_crossed() -> None:
    assert measure_gap(WorkloadPoint(JOIN, 5, 10), 1_000) > 0


def test_reading_json_lines_is_measured() -> None:
    assert measure_json_lines(2_000, 100, rounds=2) > 0


def result(point: WorkloadPoint) -> WorkloadResult:
    return WorkloadResult(point, 1.0, 0.5, 2.0, 100.0, 10, point.clingo and 200.0, point.naive and 50.0)


@pytest.mark.parametrize("quick", [True, False])
def test_the_verdict_finds_every_point_it_needs(quick: bool, tmp_path: Path) -> None:
    results = list(map(result, points(quick)))
    targets = verdict(results)
    failed = {target.claim for target in targets if not target.holds}
    assert failed == {
        f"{name} [80] at 800/tick, at least 100 × faster than the naive interpreter"
        for name in ("diamond", "box", "join")
    }
    report = BenchmarkReport(tmp_path, "laser")
    report.add("results", list(map(row, results)))
    report.close(targets)
    with (report.folder / "results.csv").open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == len(results)


def test_results_are_drawn(tmp_path: Path) -> None:
    results = [result(point) for point in points(quick=False) if point.workload is DIAMOND]
    draw_results(results, [(1, 100), (2, 300)], tmp_path)
    assert {path.stem for path in tmp_path.glob("*.svg")} == {"windows", "rates", "memory"}
