"""The benchmark compares like with like: what is replaced and what is reasoned anew give the same answers."""

import csv
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from thalweg.bench import coror, university
from thalweg.bench.coror import (
    ENGINE,
    GENERIC,
    OWLRL,
    PROFILES,
    Budget,
    ClosureCost,
    Renewal,
    Sliding,
    close,
    draw_results,
    from_scratch,
    keep_to_budget,
    renew,
    replacing,
    slide,
    slide_through_run,
    verdict,
)
from thalweg.bench.report import BenchmarkReport, as_table
from thalweg.bench.subjects import Subject, generated_subject
from thalweg.languages.owl.program import specialised
from thalweg.model.rdf import as_ntriples

SUBJECT = generated_subject(20)
UNIVERSITIES = Subject("university", tuple(university.ontology()), university.data)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("replaced", [1, 30, 200])
@pytest.mark.parametrize("subject", [SUBJECT, UNIVERSITIES], ids=lambda subject: subject.name)
def test_both_give_the_same_answers(subject: Subject, profile: str, replaced: int) -> None:
    program = specialised("x", subject.schema, profile)
    for _, engine, content in islice(replacing(subject, profile, subject.data(400), replaced), 3):
        assert len(content) == 200
        found = set(engine.facts())
        assert found == set(from_scratch(program, content)[1].facts())
        assert found


def test_what_is_replaced_changes() -> None:
    steps = list(islice(replacing(SUBJECT, "pd", SUBJECT.data(400), 50), 3))
    assert len({tuple(content) for _, _, content in steps}) == 3


def test_a_window_holds_what_it_should(monkeypatch: pytest.MonkeyPatch) -> None:
    made_engines = []

    class Watched(coror.RuleEngine):
        def __init__(self, *args: object, **named: object) -> None:
            super().__init__(*args, **named)  # type: ignore[arg-type]
            made_engines.append(self)

    monkeypatch.setattr(coror, "RuleEngine", Watched)
    result = slide(SUBJECT, "rdfs", live=100, steps=20)
    program = specialised("x", SUBJECT.schema, "rdfs")
    # The last odd tick has let one go that the next even one would replace.
    content = coror._shuffled(SUBJECT.data(120))[-100:]
    assert set(made_engines[0].facts()) == set(from_scratch(program, content)[1].facts())
    assert min(result.add, result.add_99, result.expire or 0, result.expire_99 or 0, result.bytes_per_triple or 0) > 0


def test_run_is_measured_tick_by_tick() -> None:
    result = slide_through_run(SUBJECT, "rdfs", live=50, steps=20)
    assert 0 < result.add <= result.add_99
    assert result.expire is None


@pytest.mark.parametrize("by", [ENGINE, GENERIC])
def test_a_closure_has_what_follows(by: str, tmp_path: Path) -> None:
    path = tmp_path / "x.nt"
    lines = [" ".join(map(as_ntriples, triple)) for triple in (*SUBJECT.schema, *SUBJECT.data(100))]
    path.write_text("".join(f"{line} .\n" for line in lines))
    result = close(by, "rdfs", str(path))
    assert result.triples == len(SUBJECT.schema) + 100
    assert result.entailed > 0
    assert result.total >= result.reason > 0


def test_without_owlrl_nothing_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coror, "has_owlrl", lambda: False)
    assert [each.owlrl for each in renew(SUBJECT, "pd", 50, (10, 100), with_owlrl=True, rounds=1)] == [None, None]


def test_owlrl_finds_what_the_engine_finds() -> None:
    pytest.importorskip("owlrl")
    (result,) = renew(SUBJECT, "rdfs", 20, (10,), with_owlrl=True, rounds=1)
    assert (result.owlrl or 0) > 0
    assert (result.replaced, result.data, result.axioms) == (2, 20, len(SUBJECT.schema))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not report the memory of a process")
def test_a_budget_is_measured_from_outside() -> None:
    budget, samples = keep_to_budget(SUBJECT, 500, 1)
    assert samples[-1][0] == 500
    assert budget.growth >= 0
    assert budget.answers > 0


def closure(by: str, triples: int, seconds: float, profile: str = "rl") -> ClosureCost:
    return ClosureCost(by, profile, triples, 1, 0.0, 0.0, seconds, 1.0, 1.0, 1.0)


def renewal(percent: float, milliseconds: float) -> Renewal:
    return Renewal("koala", "pd", 100, 90, 1_000, percent, round(percent * 10), milliseconds, 50.0, 1_000.0, 0.1)


def results() -> tuple[list[ClosureCost], list[Sliding], list[Renewal], list[Budget]]:
    closed = [closure(by, 50, seconds) for by, seconds in ((ENGINE, 1.0), (GENERIC, 1.5), (OWLRL, 9.0))]
    slid = [Sliding(ENGINE, "rl", live, 5.0, 20.0, 4.0, 8.0, 500.0) for live in (10_000, 100_000)]
    slid.append(Sliding("run", "rl", 10_000, 20.0, 30.0))
    renewed = [renewal(1, 1.0), renewal(20, 10.0), renewal(100, 60.0)]
    return [*closed, closure(ENGINE, 100, 2.0)], slid, renewed, [Budget(32, 100, 30.0, 5, 2)]


def test_good_results_are_good_enough() -> None:
    assert [target.claim for target in verdict(*results()) if not target.holds] == []


@pytest.mark.parametrize(
    ("place", "worse", "claim"),
    [
        (0, [closure(ENGINE, 100, 6.0), *results()[0]], "closure of 100 triples"),
        (0, [*results()[0], closure(OWLRL, 50, 4.0)], "faster than owlrl"),
        (1, [Sliding(ENGINE, "rl", 10, 5.0, 2_000.0, 4.0, 8.0, 1.0)], "additions"),
        (1, [Sliding(ENGINE, "rl", 10, 5.0, 8.0, 4.0, 2_000.0, 1.0)], "expiries"),
        (1, [Sliding(ENGINE, "rl", n * 10_000, 5.0 * n, 50.0, 4.0, 8.0, 1.0) for n in (1, 10)], "at most 1.5 ×"),
        (2, [renewal(1, 20.0)], "faster than from scratch"),
        (2, [renewal(1, 500.0)], "faster than owlrl"),
        (2, [renewal(1, 1.0), renewal(20, 60.0)], "40 % or more only"),
        (3, [Budget(32, 100, 33.0, 5, 2)], "growth of the process"),
        (3, [Budget(32, 100, 30.0, 5, 0)], "marked partial"),
    ],
)
def test_bad_results_are_not(place: int, worse: list[object], claim: str) -> None:
    measured = list(results())
    measured[place] = worse  # type: ignore[call-overload]
    failed = [target.claim for target in verdict(*measured) if not target.holds]  # type: ignore[arg-type]
    assert any(claim in each for each in failed)


def test_results_are_written_and_drawn(tmp_path: Path) -> None:
    _, slid, renewed, _ = results()
    draw_results(slid, [*renewed, replace(renewed[0], percent=0.1)], {"no budget": [(1, 100), (2, 300)]}, tmp_path)
    drawn = {path.name for path in tmp_path.iterdir()}
    assert {f"{name}.svg" for name in ("added", "shares", "windows", "ontologies", "data", "memory")} <= drawn
    report = BenchmarkReport(tmp_path, "coror")
    for some in results():
        assert as_table("x", some).row_count == len(some)
        report.add("x", some)
        with (report.folder / "x.csv").open(encoding="utf-8") as file:
            assert len(list(csv.DictReader(file))) == len(some)


def test_every_subject_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def note(subject: Subject, profile: str, data: int, shares: object, with_owlrl: bool) -> list[Renewal]:
        asked.append((subject.name, profile, data))
        return []

    monkeypatch.setattr(coror, "renew", note)
    coror.renewals(quick=False)
    assert {profile for _, profile, _ in asked} == {"pd", "rl"}
    assert len(set(asked)) == len(asked)
    assert any(name == "1,000 classes" for name, _, _ in asked)
