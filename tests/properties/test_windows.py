"""Windows are answered as clingo answers the whole program on what they hold, however they are made and solved."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from buckets import LOSSES, Cluster
from thalweg.answers.record import Answer
from thalweg.api import Observer, RunOptions, start
from thalweg.diagnostics import Source
from thalweg.kinds.answer_sets import AnswerSets
from thalweg.kinds.answer_sets.solve_options import SolveOptions
from thalweg.kinds.answer_sets.solving import Solving
from thalweg.kinds.answer_sets.windowed import ProgramInputs, Windowed
from thalweg.languages.asp.frame import read_frame
from thalweg.languages.asp.reader import read_program
from thalweg.languages.lars.facts import read_fact
from thalweg.model.event import Event
from thalweg.model.time import Clock
from thalweg.runtimes.inputs import Values
from thalweg.solvers.clingo import Task, solve
from thalweg.solvers.pool import SolverPool

PROGRAMS = (
    "a(X) :- p(X), not q(X). b(X) :- p(X), r(X).",
    "a(X) :- p(X). a(X) :- q(X). b(X,Y) :- a(X), a(Y), X < Y. :- b(1,3).",
    "t(X,Y) :- e(X,Y). t(X,Z) :- t(X,Y), e(Y,Z). a(X) :- p(X), not t(X,X).",
    "n(N) :- N = #count { X : p(X) }. m(S) :- S = #sum { X : q(X) }. a(X) :- r(X), not n(2).",
    "{ a(X) } :- p(X). 1 { b(X); c(X) } 1 :- q(X). :- a(X), r(X).",
    "{ a(X) : p(X) } 1. :~ not a(X), p(X). [X@2,X] { b(X) } :- q(X), not r(X). :~ b(X). [X@1,X,b]",
    "a :- not b. b :- not a. c(X) :- a, p(X). c(X) :- b, q(X). #show c/1. #show s(X) : r(X).",
    "a(X) ; b(X) :- p(X). :- a(X), q(X). -r(X) :- b(X). #const n = 2. g(n).",
    "a(X,Y) :- e(X,Y), p(X), not q(X). b(X) :- a(X,_), r(X). c(X) :- e(X,_), not b(X). :- a(X,X), r(X).",
    "#external p(X) : d(X). d(1..2). a(X) :- p(X). k(7). #show a/1. #show k/1.",
)
NAMES = "#prefix ex: <http://ex/>. #prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>. "
NAMED = (
    NAMES + "a(X) :- p(X), not ex_q(X). ex_b(X) :- p(X), r(X). -ex_q(X) :- r(X), not p(X).",
    NAMES + "a(X) :- rdf_type(X,ex_q), not r(X). b(X) :- ex_q(X). c(X,Y) :- e(X,Y), rdf_type(Y,ex_r).",
    NAMES + "rdf_type(X,ex_c) :- p(X), not r(X). a(X) :- rdf_type(X,ex_c), e(X,_).",
    NAMES + "rdf_type(X,ex_q) :- p(X). { rdf_type(X,ex_c) } :- ex_q(X). #show rdf_type/2.",
)
LOWERED = tuple(program for program in (*PROGRAMS, *NAMED) if read_program(Source("case.lp", program))[0].lowered(1))
INPUTS = {"p": 1, "q": 1, "r": 1, "e": 2}


DERIVED = {"a": 1, "b": 1, "c": 1, "d": 1, "k": 1, "n": 1, "t": 2}
IRIS = {"ex_q": 1, "<http://ex/q>": 1, "<http://ex/r>": 1}


@st.composite
def facts(draw: st.DrawFn, named: bool, derived: bool) -> str:
    """A fact, perhaps of what programs derive; names that are IRIs come in two spellings."""
    names = INPUTS | (IRIS if named else {}) | (DERIVED if derived else {})
    terms = ("1", "2", "3", "ex_x", "<http://ex/x>") if named else "123"
    name = draw(st.sampled_from(sorted(names)))
    return f"{name}({','.join(draw(st.sampled_from(terms)) for _ in range(names[name]))})"


@dataclass(frozen=True)
class Case:
    program: str
    events: tuple[tuple[int, tuple[str, ...]], ...]
    size: int
    slide: int
    tuples: bool
    models: str

    @property
    def window(self) -> tuple[str, str]:
        unit = " #" if self.tuples else ""
        return f"{self.size}{unit}", f"{self.slide}{unit}"


@st.composite
def cases(draw: st.DrawFn, programs: tuple[str, ...] = PROGRAMS, derived: bool = False) -> Case:
    ticks = sorted(draw(st.sets(st.integers(0, 9), min_size=1, max_size=6)))
    program = draw(st.sampled_from(programs))
    some = st.lists(facts(program in NAMED, derived), max_size=4)
    return Case(
        program,
        tuple((tick, tuple(draw(some))) for tick in ticks),
        draw(st.integers(1, 5)),
        draw(st.integers(1, 4)),
        draw(st.booleans()),
        draw(st.sampled_from(("first", "all", "brave", "cautious"))),
    )


def windows(case: Case) -> Iterator[tuple[int, int, set[str]]]:
    """First tick, last tick and facts of each window, by the definition."""
    if case.tuples:
        arrived = [(tick, fact) for tick, some in case.events for fact in dict.fromkeys(some)]
        ends = range(case.size - 1, len(arrived), case.slide)
        for end in ends or ([len(arrived) - 1] if arrived else []):
            inside = arrived[max(0, end - case.size + 1) : end + 1]
            yield inside[0][0], inside[-1][0], {fact for _, fact in inside}
        return
    first, last = case.events[0][0], case.events[-1][0]
    for end in range(first + case.size - 1, last + 1, case.slide) or [last]:
        start = max(first, end - case.size + 1)
        yield start, end, {fact for tick, some in case.events if start <= tick <= end for fact in some}


def told(case: Case, solver: str = "clingo", declared: bool = False) -> list[Answer]:
    """What is answered; where inputs are `declared`, facts of what is derived do not count."""
    program, found = read_program(Source("case.lp", case.program))
    program = replace(program, declared=declared)
    assert not found
    window, slide = case.window
    asking = SolveOptions(case.models, window, slide, solver=solver, workers=0)
    with start(AnswerSets(program, (), asking), case.events, RunOptions(), Observer([].append)) as job:
        return [piece for piece in job.pieces() if piece is not None and piece.kind == "answer sets"]


RECURSIVE = "t(X,Y) :- e(X,Y). t(X,Z) :- t(X,Y), e(Y,Z). a(X) :- p(X), not t(X,X)."
CHOSEN = "{ a(X) } :- p(X). :- a(X), r(X)."


@given(cases() | cases(derived=True))
@example(Case(RECURSIVE, ((0, ("e(2,1)", "p(1)")), (1, ("t(1,2)",))), 2, 1, False, "first"))
@example(Case(RECURSIVE, ((0, ("e(2,1)", "p(1)")), (1, ("t(1,1)",)), (2, ())), 2, 1, False, "first"))
@example(Case(CHOSEN, ((0, ("p(1)",)), (1, ("a(1)", "a(2)")), (3, ("r(1)", "a(1)"))), 2, 1, False, "all"))
@example(Case(CHOSEN, ((0, ("p(1)",)), (1, ("a(2)",))), 2, 1, False, "cautious"))
def test_a_window_is_answered_as_the_whole_program_answers_it(case: Case) -> None:
    program, _ = read_program(Source("case.lp", case.program))
    shown = " ".join(f"#show {signature}." for signature in program.shown) or "#show."
    answers = told(case)
    held = list(windows(case))
    assert [(one.start, one.t) for one in answers] == [(start, end) for start, end, _ in held]
    for answer, (_, _, inside) in zip(answers, held, strict=True):
        known = " ".join(f"{fact}." for fact in inside if read_fact(fact).signature in program.mentioned)
        if case.models == "first":
            everything = solve(Task(f"{case.program} {shown}", known, "all")).answers
            assert set(answer.columns) <= set(everything)
            assert bool(answer.columns) == bool(everything)
        else:
            assert answer.columns == solve(Task(f"{case.program} {shown}", known, case.models)).answers


@given(cases(LOWERED) | cases(LOWERED, derived=True))
@example(Case(RECURSIVE, ((0, ("e(2,1)", "p(1)")), (1, ("t(1,2)",))), 2, 1, False, "first"))
def test_the_engine_says_what_clingo_says(case: Case) -> None:
    assert list(map(str, told(case, "engine"))) == list(map(str, told(case, "clingo")))


@given(cases(PROGRAMS + NAMED), st.integers(2, 4))
def test_facts_spread_by_key_say_the_same(case: Case, buckets: int) -> None:
    assert spread(case, buckets) == told(case, declared=True)


def spread(case: Case, buckets: int) -> list[Answer]:
    program, _ = read_program(Source("case.lp", case.program))
    solving = Solving(program, SolverPool(0), case.models, buckets=buckets, spread_from=0)
    windowed = Windowed(solving, ProgramInputs(program), read_frame(*case.window, Clock()))
    items = [item for item in Values(case.events, windowed.dictionary) if isinstance(item, tuple)]
    ticks = [tick for tick, _ in items]
    solutions: list[Answer] = []
    for tick in range(min(ticks), max(ticks) + 1) if ticks else ():
        solutions += windowed.advance(tick, [batch for at, batch in items if at == tick])
    return [*solutions, *windowed.finish()]


SPLIT = Case("a(X,Y) :- e(X,Y), not q(X).", ((0, ("e(1,2)", "q(3)")), (2, ("q(1)",))), 2, 1, False, "first")


@given(cases(PROGRAMS + NAMED), st.integers(1, 3), st.lists(st.integers(1, 5), max_size=3), st.sampled_from(LOSSES))
@example(SPLIT, 3, [1], "replayed")
def test_buckets_say_the_same_in_any_number_of_batches_and_with_any_losses(
    case: Case, partitions: int, cuts: list[int], loss: str
) -> None:
    cluster = Cluster(case.program, SolveOptions(case.models, *case.window), partitions)
    events = [Event(tick, tuple(map(read_fact, facts))) for tick, facts in case.events]
    found: list[Answer] = []
    for begin, end in pairwise([0, *sorted({cut for cut in cuts if cut < len(events)}), len(events)]):
        found += cluster.take(events[begin:end], ended=end == len(events))
        cluster.lose(loss)
    assert list(map(str, found)) == list(map(str, told(case, declared=True)))
