"""StreamRule's benchmark compares like with like: all three evaluators give the same answers."""

from dataclasses import replace
from itertools import islice
from math import nan
from pathlib import Path

import pytest

from thalweg.bench import window_evaluators
from thalweg.bench.report import BenchmarkReport, as_table
from thalweg.bench.streamrule import PROGRAMS, SCENARIOS, draw_runs, verdict
from thalweg.bench.university import mingled
from thalweg.bench.window_evaluators import ENGINE, EVALUATORS, PIECES, WHOLE, WindowRun, blocks, measure, series
from thalweg.diagnostics import Source
from thalweg.languages.asp.reader import read_program
from thalweg.planning.input_dependency import analyse
from thalweg.solvers.clingo import Task, solve


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_evaluators_agree_window_by_window(name: str) -> None:
    triples = list(islice(mingled(), 2_400))
    evaluators = [make(SCENARIOS[name]) for make in EVALUATORS.values()]
    for start in range(0, 2_400, 400):
        for each in evaluators:
            each.add(blocks(triples[start : start + 400]))
        answers = {each.answer() for each in evaluators}
        assert len(answers) == 1
        # The output of the last programs takes more than a few facts.
        assert answers != {0} or "," in name
    for each in evaluators:
        each.close()


def test_the_slip_of_the_paper_leaves_no_deans() -> None:
    facts = "ub_FullProfessor(a). ub_worksFor(a,b). ub_subOrganizationOf(b,c)."
    shown = {}
    for text in (PROGRAMS["recursive"], PROGRAMS["as printed"]):
        asked, wrong = read_program(Source("x.lp", text))
        assert not wrong
        shown[text] = [atom for atom in solve(Task(asked.text(), facts)).answers[0] if atom.startswith("canBecomeDean")]
    assert list(shown.values()) == [["canBecomeDean(a,c)"], []]


def test_what_can_be_apart() -> None:
    program = SCENARIOS["recursive"].program()
    assert program.inputs[:2] == ("ub_AssistantProfessor/1", "ub_AssociateProfessor/1")
    assert len(analyse(program.outlines, program.inputs).communities) == 3


@pytest.mark.parametrize("by", [WHOLE, ENGINE])
def test_what_is_measured(by: str) -> None:
    found = measure(by, SCENARIOS["recursive"], 1_000, 1)
    assert (found.windows, found.stopped) == (1, "")
    assert min(found.answers, found.core_s, found.median_s) > 0
    streamed = measure(by, SCENARIOS["negation"], 200, 7)
    assert streamed.windows == 3
    assert streamed.worst_s >= streamed.median_s > 0


@pytest.mark.parametrize("duration", [1, 9])
def test_a_run_that_takes_too_long_is_stopped_and_larger_ones_are_skipped(duration: int) -> None:
    (found,) = series(SCENARIOS["recursive"], (60_000, 100_000), duration, (WHOLE,), seconds=0.2)
    assert (found.windows, found.stopped) == (0, "more than 0.2 s")
    assert "more than 0.2 s" in list(as_table("x", [found]).columns[-1].cells)
    assert verdict([found], []) == []


def test_a_run_that_cannot_keep_up_is_shown_with_its_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_evaluators, "_PATIENCE", 0)
    found = measure(WHOLE, SCENARIOS["negation"], 200, 9)
    assert (found.windows, found.stopped) == (1, "cannot keep up, after 1 windows")
    mine = replace(found, by=ENGINE, worst_s=0.1, growth=1.0)
    assert next((target.figure, target.holds) for target in verdict([], [mine])) == (found.stopped, False)


@pytest.mark.slow
def test_ten_minutes_of_a_stream_take_no_more_memory_than_some_of_them() -> None:
    found = measure(ENGINE, SCENARIOS["recursive"], 5_000, 601)
    assert (found.windows, found.stopped) == (300, "")
    assert found.growth < 1.1


def test_an_engine_that_was_stopped_misses_its_target() -> None:
    found = [
        WindowRun(by, "recursive", 5_000, 0, 0, nan, nan, nan, nan, nan, "more than 1 s") for by in (WHOLE, ENGINE)
    ]
    assert [(target.figure, target.holds) for target in verdict(found, [])] == [("more than 1 s", False)]


def test_results(tmp_path: Path) -> None:
    found = [
        WindowRun(by, "recursive", 5_000, 1, 10, seconds, seconds, 0.5, 30.0, 1.0)
        for by, seconds in zip(EVALUATORS, (6.0, 5.0, 1.0), strict=True)
    ]
    streamed = [WindowRun(by, "negation", 5_000, 29, 10, 1.0, 2.5, 0.5, 100.0, 1.0) for by in (PIECES, ENGINE)]
    targets = verdict(found, streamed)
    assert [target.holds for target in targets] == [True, True, False, False, True]
    report = BenchmarkReport(tmp_path, "x")
    report.add("static", found)
    assert (tmp_path / "x" / "static.csv").read_text().splitlines()[1].startswith('"clingo, whole",recursive,5000,1,10')
    draw_runs(tmp_path, "static", "triples", found)
    assert {path.name for path in tmp_path.glob("*.*")} == {"static.svg", "static.png"}
