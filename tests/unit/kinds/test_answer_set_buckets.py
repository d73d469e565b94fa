"""Answer sets in buckets: who gets what, how long it may take, and what goes wrong."""

from contextlib import nullcontext
from pathlib import Path

import pytest

import thalweg
from buckets import LOSSES, Buckets, Cluster
from thalweg.answers.record import Answer
from thalweg.dataflow.context import Settings
from thalweg.dataflow.operator import Share
from thalweg.diagnostics import Diagnostic, FailedError, RejectedError, Source
from thalweg.kinds.answer_sets.combine_operator import CombineSpec
from thalweg.kinds.answer_sets.solve_operator import SolveSpec
from thalweg.kinds.answer_sets.solve_options import SolveOptions
from thalweg.kinds.choose_outputs import Shown
from thalweg.kinds.compose import compose
from thalweg.languages.asp.reader import read_program
from thalweg.languages.lars.facts import read_fact
from thalweg.model.event import Event
from thalweg.model.predicate import Predicate
from thalweg.runtimes.checkpoint_folder import Claim
from thalweg.runtimes.spark.job import Job
from thalweg.solvers.pool import SolverPool

STREAMRULE = Path(__file__).parents[5] / "shared" / "data" / "streamrule"

TRAFFIC = """
jam(R) :- slow(R), many(R), not light(R).
fire(R) :- smoke(C), at(C,R).
1 { send(C) : crew(C) } 1.
"""
NAMES = """
#prefix ex: <http://ex.org/>.
#prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>.
"""


def event(tick: int, *facts: str) -> Event:
    return Event(tick, tuple(map(read_fact, facts)))


def answers(found: list[Answer]) -> list[list[list[str]]]:
    return [[list(one) for one in solution.columns] for solution in found]


def pieces(job: Job) -> list[tuple[SolveSpec, range]]:
    """What is solved apart, with its buckets."""
    solving = ((spec, fragment.number) for fragment in job.fragments for spec in job.specs(fragment.number))
    return [(spec, job.buckets(number)) for spec, number in solving if isinstance(spec, SolveSpec)]


def test_pieces_are_side_by_side_and_large_ones_are_split_by_their_key() -> None:
    cluster = Cluster(TRAFFIC, SolveOptions(), 3)
    assert [(spec.split.piece.inputs, buckets) for spec, buckets in pieces(cluster.job)] == [
        (("light/1", "many/1", "slow/1"), range(3)),
        (("at/2", "smoke/1"), range(3)),
        (("crew/1",), range(1)),
    ]
    assert [[fragment.number for fragment in level] for level in cluster.job.levels] == [[0, 1, 2], [3]]
    assert len(set(cluster.job.labels)) == 3


def test_a_report_has_a_share_for_each_piece() -> None:
    cluster = Cluster(TRAFFIC, SolveOptions("all"), 2)
    found = cluster.take([event(1, "slow(a)", "slow(b)", "many(a)", "light(b)", "crew(x)", "crew(y)")])
    assert answers(found) == [[["jam(a)", "send(x)"], ["jam(a)", "send(y)"]]]
    (heard,) = cluster.heard
    assert [(share.inputs, share.facts, share.answers) for share in heard.shares] == [
        (("light/1", "many/1", "slow/1"), 4, 1),
        (("at/2", "smoke/1"), 0, 1),
        (("crew/1",), 2, 2),
    ]


def test_the_background_goes_where_the_facts_go() -> None:
    background = tuple(read_fact(f"p({number})") for number in range(20))
    cluster = Cluster("a(X) :- p(X), not q(X).", SolveOptions(), 4, background)
    assert [buckets for _, buckets in pieces(cluster.job)] == [range(4)]
    found = cluster.take([event(0, *(f"q({number})" for number in range(0, 20, 2)))])
    assert answers(found) == [[sorted(f"a({number})" for number in range(1, 20, 2))]]


def test_each_bucket_has_the_background_of_its_piece() -> None:
    facts = [f"slow(r{number})" for number in range(9)] + [f"at(c{number},r1)" for number in range(9)]
    background = tuple(map(read_fact, (*facts, "crew(x)", "other(y)", "go")))
    job = Cluster(TRAFFIC + "off :- not go.", SolveOptions(), 3, background).job
    shares = [[spec.background(Share(bucket, buckets)) for bucket in buckets] for spec, buckets in pieces(job)]
    slow, at, *alone = [sorted(str(fact) for share in piece for fact in share) for piece in shares]
    assert (slow, at, sorted(alone)) == (facts[:9], facts[9:], [["crew(x)"], ["go"]])
    assert all(share for piece in shares for share in piece)


@pytest.mark.parametrize("solver", ["clingo", "engine"])
def test_two_spellings_of_one_fact_are_one_fact_of_a_window(solver: str) -> None:
    cluster = Cluster(f"{NAMES} a(X) :- p(X).", SolveOptions(solver=solver, window="2 #"), 1)
    found = cluster.take([event(0, "p(ex_x)", "p(<http://ex.org/x>)", "p(1)")])
    assert answers(found) == [[["a(1)", "a(<http://ex.org/x>)"]]]


@pytest.mark.parametrize("solver", ["clingo", "engine"])
def test_terms_that_are_one_to_clingo_go_to_one_bucket(solver: str) -> None:
    facts = [f"p(<http://ex.org/x{number}>)" for number in range(20)]
    others = [f"q(ex_x{number})" for number in range(20)]
    cluster = Cluster(f"{NAMES} a(X) :- p(X), not q(X). n(X) :- p(X), q(X).", SolveOptions(solver=solver), 4)
    (only,) = answers(cluster.take([event(0, *facts, *others)]))
    assert only == [sorted(f"n(<http://ex.org/x{number}>)" for number in range(20))]


@pytest.mark.parametrize("program", ["a(X) :- rdf_type(X,ex_C), p(X).", "a(C) :- rdf_type(X,C), not p(C)."])
def test_types_are_classes_and_facts_about_them(program: str) -> None:
    facts = [f"<http://ex.org/C>(x{number})" for number in range(9)] + ["p(x3)", "p(<http://ex.org/D>)"]
    one, four = (Cluster(NAMES + program, SolveOptions(), partitions) for partitions in (1, 4))
    assert answers(four.take([event(0, *facts)])) == answers(one.take([event(0, *facts)])) != [[[]]]


def test_late_facts_are_told_once() -> None:
    cluster = Cluster("a(X) :- p(X), not q(X). b(X) :- p(X), r(X).", SolveOptions(window=2), 2, delay=1)
    cluster.take([event(5, "p(1)"), event(1, "p(2)", "q(2)", "r(2)", "nobody(2)")], ended=False)
    cluster.take([event(2, "p(3)")])
    assert sorted(cluster.late) == ["nobody(2)", "p(2)", "p(3)", "q(2)", "r(2)"]


def test_a_piece_that_takes_too_long_leaves_the_window_incomplete() -> None:
    cluster = Cluster("a(X) :- p(X). n(0) :- q. n(X+1) :- n(X).", SolveOptions(limit="300ms"), 2)
    (first, second) = cluster.take([event(0, "p(1)"), event(1, "p(2)", "q")])
    assert (first.columns, first.incomplete) == ((("a(1)",),), False)
    assert (second.columns, second.incomplete) == ((), True)


def test_what_clingo_cannot_solve_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise FailedError(Diagnostic("E504", "clingo has not solved a window: it is gone"))

    monkeypatch.setattr(SolverPool, "solve", broken)
    cluster = Cluster("{ a(X) } :- p(X).", SolveOptions(), 2)
    with pytest.raises(FailedError, match="it is gone"):
        cluster.take([event(0, "p(1)")])


def test_streams_without_events_have_no_windows() -> None:
    assert Cluster("a(X) :- p(X).", SolveOptions(), 2).take([]) == []


def claim_of(cluster: Cluster) -> Claim:
    return Claim(cluster.job.text, cluster.job.fingerprint)


@pytest.mark.parametrize(
    ("program", "asking", "told"),
    [
        ("a(X) :- p(X).", SolveOptions(window=2), None),
        ("a(X) :- q(X).", SolveOptions(window=2), "another program"),
        ("a(X) :- p(X).", SolveOptions(window=3), "the same program with other settings"),
        ("a(X) :- p(X).", SolveOptions("all", window=2), "the same program with other settings"),
    ],
)
def test_a_checkpoint_belongs_to_a_program_and_to_how_it_is_asked(
    tmp_path: Path, program: str, asking: SolveOptions, told: str | None
) -> None:
    claim_of(Cluster("a(X) :- p(X).", SolveOptions(window=2), 2)).make(tmp_path)
    with nullcontext() if told is None else pytest.raises(RejectedError, match=f"belongs to {told}"):
        claim_of(Cluster(program, asking, 2)).check(tmp_path)


@pytest.mark.skipif(not STREAMRULE.exists(), reason="the data is elsewhere")
@pytest.mark.parametrize("solver", ["engine", "clingo"])
def test_streamrule(solver: str) -> None:
    def lines(name: str) -> list[str]:
        return [line.rstrip(".") for line in (STREAMRULE / name).read_text().splitlines() if line]

    cluster = Cluster((STREAMRULE / "lubm.txt").read_text(), SolveOptions(solver=solver), 2)
    (found,) = cluster.take([event(0, *lines("facts_first500.lp"))])
    assert list(found.columns[0]) == sorted(lines("expected_lubm_first500.lp"))


def test_a_gap_is_passed_over_only_where_no_bucket_has_facts() -> None:
    cluster = Cluster("q(X) :- p(X). s(X) :- r(X).", SolveOptions(), 2)
    # The piece of `r` is empty all the time, that of `p` for long, but not while the other piece is told.
    often = [event(tick, "p(a)") for tick in range(0, 1_500, 3)]
    found = cluster.take([*often, event(10**9, "r(b)")])
    assert [one.t for one in found] == [*range(1_498 + 1_000), 10**9]
    assert answers(found[1_497:1_499] + found[-1:]) == [[["q(a)"]], [[]], [["s(b)"]]]


@pytest.mark.parametrize(
    ("window", "slide", "how"),
    [
        (1, 1, "saved"),
        (5, 2, "replayed"),
        (5, 2, "none"),
        pytest.param(1, 1, "none", marks=pytest.mark.slow),
        pytest.param(1, 1, "replayed", marks=pytest.mark.slow),
        pytest.param(5, 2, "saved", marks=pytest.mark.slow),
    ],
)
def test_gaps_are_the_same_in_buckets_that_are_lost_and_in_one_process(
    tmp_path: Path, how: str, window: int, slide: int
) -> None:
    text = "q(X) :- p(X). s(X) :- r(X). :- r(no). {c}."
    events = [(0, "p(a)"), (900, "r(a)"), (2_500, "p(b)"), (2_600, "p(c)"), (90_000, "r(c)")]
    (tmp_path / "case.lp").write_text(text)
    asking = SolveOptions("all", window, slide, workers=0)
    options = {"models": "all", "window": window, "slide": slide, "workers": 0}
    expected = [str(one) for one in thalweg.run(tmp_path / "case.lp", events, **options, report=lambda found: None)]
    cluster, found = Cluster(text, asking, 2), []
    for number, (tick, fact) in enumerate(events, start=1):
        found += cluster.take([event(tick, fact)], ended=number == len(events))
        cluster.lose(how)
    assert list(map(str, found)) == expected
    assert len(expected) < 6_000


def test_the_pieces_of_a_window_are_combined_in_one_bucket_behind_them() -> None:
    job = Cluster(TRAFFIC, SolveOptions("all"), 2).job
    assert [(fragment.width > 1, job.buckets(fragment.number)) for fragment in job.fragments] == [
        (True, range(2)),
        (True, range(2)),
        (False, range(1)),
        (False, range(1)),
    ]
    assert [[fragment.number for fragment in level] for level in job.levels] == [[0, 1, 2], [3]]
    assert isinstance(job.plan.operators[3], CombineSpec)


@pytest.mark.parametrize("how", LOSSES)
def test_windows_that_took_too_long_are_counted_whatever_is_lost(how: str) -> None:
    cluster = Cluster("a(X) :- p(X). n(0) :- q. n(X+1) :- n(X).", SolveOptions(limit="100ms"), 2)
    for tick in range(3):
        cluster.take([event(tick, "p(1)", "q")], ended=tick == 2)
        cluster.lose(how)
    assert [one.message for one in cluster.found] == [
        "3 windows were not solved within the limit, the first at 0: the answer is incomplete"
    ]


def test_what_is_shown_is_the_same_in_buckets() -> None:
    part, _ = compose(
        [read_program(Source("a.lp", "a(X) :- p(X). b(X) :- q(X). #show a/1."))[0]],
        shown=Shown(frozenset({Predicate("b", 1)}), by_option=True),
    )
    found = Buckets(part, Settings(emit="changes"), 2).take([event(0, "p(1)", "q(2)")])
    assert answers(found) == [[["b(2)"]]]
