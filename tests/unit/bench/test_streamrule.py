"""StreamRule's benchmark compares like with like: all three evaluators give the same answers."""

from dataclasses import replace
from itertools import islice
from math import nan
from pathlib import Path

import pytest

from thalweg.bench import streamrule
from thalweg.bench.evaluators import ENGINE, EVALUATORS, MAKERS, PIECES, WHOLE, blocks
from thalweg.bench.streamrule import (
    PROGRAMS,
    Static,
    Streaming,
    draw,
    measure_static,
    measure_streaming,
    program,
    static,
    static_table,
    streaming,
    streaming_table,
    verdict,
)
from thalweg.bench.table import write_records
from thalweg.bench.university import mingled
from thalweg.diagnostics import Source
from thalweg.languages.asp.reader import read_program
from thalweg.planning.input_dependency import analyse
from thalweg.solvers.clingo import Task, solve


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_evaluators_agree_window_by_window(name: str) -> None:
    triples, asked = list(islice(mingled(), 2_400)), program(name)
    evaluators = [make(asked, 3, ()) for make in MAKERS.values()]
    for start in range(0, 2_400, 400):
        for each in evaluators:
            each.add(blocks(triples[start : start + 400]))
        answers = {each.answer() for each in evaluators}
        assert len(answers) == 1
        # What is told of the last programs takes more than a few facts.
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
    asked = program("recursive")
    assert len(analyse(asked.outlines, asked.inputs).communities) == 3


@pytest.mark.parametrize("by", [WHOLE, ENGINE])
def test_what_is_measured(by: str) -> None:
    found = measure_static(by, "recursive", 1_000)
    assert found.answers > 0
    assert found.busy > 0
    streamed = measure_streaming(by, "negation", 200, 7)
    assert streamed.windows == 3
    assert streamed.worst >= streamed.median > 0


def test_who_takes_too_long_is_stopped_and_not_asked_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamrule, "_LONGEST", 0.2)
    (found,) = static((60_000, 100_000), "recursive", (WHOLE,))
    assert (found.seconds, found.stopped) == (None, "more than 0.2 s")
    assert "more than 0.2 s" in list(static_table([found]).columns[4].cells)
    assert [target.holds for target in verdict([found], [])] == []


def test_who_cannot_keep_up_is_shown_with_what_it_did(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamrule, "_PATIENCE", 0)
    found = measure_streaming(WHOLE, "negation", 200, 9)
    assert (found.windows, found.stopped) == (1, "cannot keep up, after 1 windows")
    assert "cannot keep up, after 1 windows" in list(streaming_table([found]).columns[3].cells)
    mine = replace(found, by=ENGINE, worst=0.1, growth=1.0)
    assert next((target.found, target.holds) for target in verdict([], [mine])) == (found.stopped, False)


def test_who_is_stopped_on_a_stream_is_not_asked_for_faster_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamrule, "_LONGEST", 0.2)
    (found,) = streaming((1_000, 2_000), "negation", 9, (WHOLE,))
    assert (found.windows, found.stopped) == (0, "more than 0.2 s")


@pytest.mark.slow
def test_ten_minutes_of_a_stream_take_no_more_memory_than_some_of_them() -> None:
    found = measure_streaming(ENGINE, "recursive", 5_000, 601)
    assert (found.windows, found.stopped) == (300, "")
    assert found.growth < 1.1


def test_an_engine_that_was_stopped_misses_its_target() -> None:
    found = [Static(by, "recursive", 5_000, 0, None, nan, nan, "more than 1 s") for by in (WHOLE, ENGINE)]
    assert [(target.found, target.holds) for target in verdict(found, [])] == [("more than 1 s", False)]


def test_results(tmp_path: Path) -> None:
    found = [
        Static(by, "recursive", 5_000, 10, seconds, 0.5, 30.0)
        for by, seconds in zip(EVALUATORS, (6.0, 5.0, 1.0), strict=True)
    ]
    streamed = [Streaming(by, "negation", 5_000, 29, 1.0, 2.5, 0.5, 100.0, 1.0) for by in (PIECES, ENGINE)]
    targets = verdict(found, streamed)
    assert [target.holds for target in targets] == [True, True, False, False, True]
    assert static_table(found).row_count == 3
    assert streaming_table(streamed).row_count == 2
    write_records(found, tmp_path / "static.csv")
    assert (tmp_path / "static.csv").read_text().splitlines()[1] == '"clingo, whole",recursive,5000,10,6.0,0.5,30.0,'
    draw(found, streamed, tmp_path)
    assert {path.name for path in tmp_path.glob("*.svg")} == {"static.svg", "streaming.svg"}
