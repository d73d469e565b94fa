"""The benchmark of consistency compares like with like, and its tables and pictures come out."""

import csv
import io
from pathlib import Path

import pytest
from rich.console import Console

from thalweg.bench import consistency
from thalweg.bench.consistency import (
    AUTO,
    MADE,
    NTM,
    Large,
    Subject,
    assertions,
    best_ltm,
    contest,
    large,
    made,
    of_sizes,
    verdict,
)
from thalweg.bench.plot import draw_consistency
from thalweg.bench.table import write_records

SUBJECT = Subject("NPD", tuple(made(40, 12)))


def test_all_topologies_find_the_same_clashes() -> None:
    results = contest(SUBJECT, window=3, ticks=8, rate=200, people=40)
    names = [each.topology for each in results]
    assert names[0] == NTM
    assert names[-1] == AUTO
    assert "LTM-0" in names
    assert len({each.clashes for each in results}) == 1
    assert results[0].clashes > 0
    assert {each.assertions for each in results} == {results[0].assertions}
    assert all(each.tuples_per_s > 0 and each.cached > 0 for each in results)


def test_a_window_holds_each_assertion_once() -> None:
    stream = consistency.Stream(SUBJECT.known, rate=50, people=3)
    told = {pair for tick in range(4, 7) for pair in zip(*(part.tolist() for part in stream.tick(tick)), strict=True)}
    assert assertions(stream, last=6, window=2) == len(told)


def test_halves_of_the_people_are_all_of_them() -> None:
    whole = consistency.Stream(SUBJECT.known, rate=100).tick(1)
    parts = [consistency.Stream(SUBJECT.known, rate=100, share=(part, 2)).tick(1) for part in range(2)]
    assert sum(len(people) for people, _ in parts) == len(whole[0])
    assert set(parts[0][0].tolist()).isdisjoint(parts[1][0].tolist())


def test_the_university_has_its_axioms() -> None:
    university, _ = consistency.subjects(Console(quiet=True))
    assert (len(university.known.classes), len(university.known.disjoint)) == (43, 68)


def test_results_are_judged_and_drawn(tmp_path: Path) -> None:
    results = contest(SUBJECT, window=2, ticks=4, rate=50)
    targets = list(verdict(results))
    assert [target.claim.partition(":")[0] for target in targets] == ["NPD"] * 4
    assert best_ltm(results, "NPD").topology.startswith("LTM")
    draw_consistency(results, tmp_path)
    write_records(results, tmp_path / "found.csv")
    assert (tmp_path / "topologies.svg").stat().st_size > 1_000
    with (tmp_path / "found.csv").open() as file:
        assert [row["topology"] for row in csv.DictReader(file)] == [each.topology for each in results]


def test_what_is_made_up_is_not_called_npd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_DATA", str(tmp_path))
    console = Console(record=True, quiet=False, file=io.StringIO())
    _, generated = consistency.subjects(console)
    assert generated.name == MADE
    assert "THALWEG_DATA" in console.export_text()
    results = contest(Subject(MADE, SUBJECT.triples), window=2, ticks=4, rate=50)
    assert [target.claim for target in verdict(results)] == [f"{MADE}: auto, not below the best LTM"]
    assert not list(of_sizes([large(MADE, SUBJECT.triples, 1_000)]))


def test_a_large_ontology_is_shown_to_find_clashes() -> None:
    found = large("generated", list(made(2_000, 200)), 2_000)
    assert (found.classes, found.disjoint) == (2_000, 200)
    assert 0 < found.checked < found.classes
    assert found.clashes >= 5
    assert ["2,000 classes" in target.claim for target in of_sizes([found])] == [True, True]


def test_an_ontology_is_compiled_and_run() -> None:
    found = large("made", list(made(60, 20)), 1_000)
    assert isinstance(found, Large)
    assert found.disjoint == 20
    assert found.us_a_fact > 0
