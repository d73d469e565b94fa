"""Boxes of a plan have the numbers of the run: what came, what holds, what was answered."""

import json
from dataclasses import replace

import pytest

from thalweg import api
from thalweg.diagnostics import Source
from thalweg.service.counted_plan import PlanCounter

JAM = Source("jam.lars", "jam(R) :- slow(R,S) in [10], not calm(R). calm(R) :- rest(R). calm(R) :- holiday, road(R).")
FACTS = "road(a) at 1.\nslow(a,s1) at 3.\nslow(b,s2) at 4.\nslow(b,s3) at 6.\nholiday at 6.\nrest(c) at 6.\n"


def _plan(program: list[Source], facts: str, **options: object) -> dict[str, object]:
    """The plan of programs that have read facts, with counts by what boxes are called."""
    part, counter = api.load_part(program), PlanCounter()
    observer = replace(api.Observer(report=lambda warning: None), look=counter.look)
    with api.start(part, [Source("s.facts", facts)], api.RunOptions.of(options), observer) as job:
        for answer in job.pieces():
            if answer is not None:
                counter.see(answer)
        return counter.totals(job.run).plan(part.explain())


def _counts(plan: dict[str, object]) -> dict[str, int]:
    counts = plan["counts"]
    assert isinstance(counts, dict)
    return counts


def test_rules_have_what_came_what_is_kept_and_what_holds() -> None:
    plan = _plan([JAM], FACTS)
    counts = _counts(plan)
    assert (counts["stream slow/2"], counts["stream holiday/0"], counts["stream road/1"]) == (3, 1, 1)
    assert (counts["derived jam/1"], counts["derived calm/1"]) == (2, 1)
    boxes = {box["id"]: box for box in plan["boxes"]}  # type: ignore[attr-defined]
    window = next(name for name, box in boxes.items() if box["text"] == "slow/2 in [10]")
    assert counts[window] == 3
    # Two rules conclude `calm`: how much is of each is not known.
    assert {name for name in counts if name.startswith("rule")} == {"rule 1"}
    assert counts["rule 1"] == 2
    assert counts.keys() <= boxes.keys()
    assert json.loads(json.dumps(plan)) == plan


def test_what_has_left_a_window_is_not_counted() -> None:
    counts = _counts(_plan([JAM], FACTS, end=15))
    assert (counts["stream slow/2"], counts["derived jam/1"], counts["derived calm/1"]) == (3, 1, 0)


def test_nothing_is_counted_before_something_comes() -> None:
    counts = _counts(_plan([JAM], ""))
    assert counts["stream slow/2"] == 0
    assert "derived jam/1" not in counts


@pytest.mark.parametrize(
    ("program", "facts", "box", "count"),
    [
        (
            Source(
                "q.rspql", "SELECT ?s FROM NAMED WINDOW <w> ON <in> [RANGE 3, SLIDE 1] { WINDOW <w> { ?s <v> ?o } }"
            ),
            "<v>(<a>,1) at 2.\n<v>(<b>,1) at 3.\n",
            "rows",
            2,
        ),
        (
            Source("a.lp", "#external p(X) : p(X). {q(X)} :- p(X). #show q/1."),
            "p(a) at 2.\np(b) at 3.\n",
            "input p/1",
            2,
        ),
    ],
)
def test_other_kinds_have_numbers_too(program: Source, facts: str, box: str, count: int) -> None:
    assert _counts(_plan([program], facts, end=4))[box] == count


def test_parts_of_a_plan_have_those_of_their_rules() -> None:
    query = "SELECT ?s FROM NAMED WINDOW <w> ON <in> [RANGE 3, SLIDE 1] { WINDOW <w> { ?s <v> ?o } }"
    rules = Source("far.lars", "near(X) :- <v>(X,Y) in [5]. odd(X) :- near(X), not even(X).")
    counts = _counts(_plan([rules, Source("q.rspql", query)], "<v>(<a>,1) at 2.\n<v>(<b>,1) at 3.\n"))
    assert {name.partition(" ")[2]: count for name, count in counts.items() if name.endswith(("near/1", "odd/1"))} == {
        "near/1": 2,
        "odd/1": 2,
    }
