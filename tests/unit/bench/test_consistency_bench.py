"""The benchmark of consistency compares like with like, and its tables and pictures come out."""

import csv
import io
from pathlib import Path

import pytest
from rich.console import Console

from thalweg.bench.consistency import (
    AUTO,
    GENERATED,
    NTM,
    Hierarchy,
    Large,
    Stream,
    TopologyResult,
    assertions,
    best_ltm,
    draw_results,
    generated,
    hierarchies,
    large,
    of_sizes,
    run,
    verdict,
)
from thalweg.bench.report import BenchmarkReport

ONTOLOGY = Hierarchy("NPD", tuple(generated(40, 12)))


def contest(ontology: Hierarchy, window: int, ticks: int, rate: int, people: int = 100) -> list[TopologyResult]:
    return run(ontology, list(ontology.topologies()), Stream(ontology.taxonomy, rate, people), window, ticks)


def test_all_topologies_find_the_same_clashes() -> None:
    results = contest(ONTOLOGY, window=3, ticks=8, rate=200, people=40)
    names = [each.topology for each in results]
    assert names[0] == NTM
    assert names[-1] == AUTO
    assert "LTM-0" in names
    assert len({each.clashes for each in results}) == 1
    assert results[0].clashes > 0
    assert {each.assertions for each in results} == {results[0].assertions}
    assert all(each.tuples_per_s > 0 and each.cached > 0 for each in results)


def test_a_window_holds_each_assertion_once() -> None:
    stream = Stream(ONTOLOGY.taxonomy, rate=50, people=3)
    pairs = {pair for tick in range(4, 7) for pair in zip(*(part.tolist() for part in stream.tick(tick)), strict=True)}
    assert assertions(stream, last=6, window=2) == len(pairs)


def test_halves_of_the_people_are_all_of_them() -> None:
    whole = Stream(ONTOLOGY.taxonomy, rate=100).tick(1)
    parts = [Stream(ONTOLOGY.taxonomy, rate=100, share=(part, 2)).tick(1) for part in range(2)]
    assert sum(len(people) for people, _ in parts) == len(whole[0])
    assert set(parts[0][0].tolist()).isdisjoint(parts[1][0].tolist())


def test_the_university_has_its_axioms() -> None:
    university, _ = hierarchies(Console(quiet=True))
    assert (len(university.taxonomy.classes), len(university.taxonomy.disjoint)) == (43, 68)


def test_results_are_judged_and_drawn(tmp_path: Path) -> None:
    results = contest(ONTOLOGY, window=2, ticks=4, rate=50)
    targets = list(verdict(results))
    assert [target.claim.partition(":")[0] for target in targets] == ["NPD"] * 4
    assert best_ltm(results, "NPD").topology.startswith("LTM")
    report = BenchmarkReport(tmp_path, "consistency")
    draw_results(results, report.folder)
    report.add("found", results)
    assert (report.folder / "topologies.svg").stat().st_size > 1_000
    with (report.folder / "found.csv").open() as file:
        assert [row["topology"] for row in csv.DictReader(file)] == [each.topology for each in results]


def test_what_is_made_up_is_not_called_npd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_DATA", str(tmp_path))
    console = Console(record=True, quiet=False, file=io.StringIO())
    _, other = hierarchies(console)
    assert other.name == GENERATED
    assert "THALWEG_DATA" in console.export_text()
    results = contest(Hierarchy(GENERATED, ONTOLOGY.triples), window=2, ticks=4, rate=50)
    assert [target.claim for target in verdict(results)] == [f"{GENERATED}: auto, not below the best LTM"]
    assert not list(of_sizes([large(GENERATED, ONTOLOGY.triples, 1_000)]))


def test_a_large_ontology_is_shown_to_find_clashes() -> None:
    found = large("generated", list(generated(2_000, 200)), 2_000)
    assert (found.classes, found.disjoint) == (2_000, 200)
    assert 0 < found.checked < found.classes
    assert found.clashes >= 5
    assert ["2,000 classes" in target.claim for target in of_sizes([found])] == [True, True]


def test_an_ontology_is_compiled_and_run() -> None:
    found = large("made", list(generated(60, 20)), 1_000)
    assert isinstance(found, Large)
    assert found.disjoint == 20
    assert found.us_a_fact > 0
