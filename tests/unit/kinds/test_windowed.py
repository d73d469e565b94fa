"""Windows of a stream and their answer sets, in the embedded runtime."""

import json
import os
import re
import resource
from pathlib import Path
from typing import Any

import pytest

import thalweg
from thalweg.api import SolveOptions
from thalweg.connectors.batches import code_facts
from thalweg.dataflow.context import Context, Settings
from thalweg.diagnostics import Source
from thalweg.kinds.answer_sets import AnswerSets
from thalweg.languages.asp.frame import read_frame
from thalweg.languages.asp.reader import read_program
from thalweg.model.time import Clock
from thalweg.runtimes.local import LocalRun
from thalweg.solvers import pool

PAPER = Path(__file__).parents[4] / "shared" / "seeds"
TRAFFIC = """
very_slow_speed(X) :- average_speed(X,Y), Y < 20.
many_cars(X) :- car_number(X,Y), Y > 40.
traffic_jam(X) :- very_slow_speed(X), many_cars(X), not traffic_light(X).
car_fire(X) :- car_in_smoke(C,high), car_speed(C,0), car_location(C,X).
give_notification(X) :- traffic_jam(X).
give_notification(X) :- car_fire(X).
#show car_fire/1. #show give_notification/1. #show traffic_jam/1.
"""
WINDOW = (
    "average_speed(newcastleRoad,10)", "car_number(newcastleRoad,55)", "traffic_light(newcastleRoad)",
    "car_in_smoke(car1,high)", "car_speed(car1,0)", "car_location(car1,danganRoad)",
)  # fmt: skip
GATES = "1 { go(X) : open(X) } 1. :- go(X), closed(X). #show go/1."


class Ask:
    def __init__(self, folder: Path) -> None:
        self._program = folder / "program.lp"

    def __call__(self, program: str, on: Any, **options: Any) -> list[dict[str, Any]]:
        self._program.write_text(program)
        return [json.loads(str(answer)) for answer in thalweg.run(self._program, on, **{"workers": 0, **options})]


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    return Ask(tmp_path)


# The traffic program -------------------------------------------------------------------------------------------------


def test_a_car_burns_and_there_is_no_jam(ask: Ask) -> None:
    (answer,) = ask(TRAFFIC, [(7, WINDOW)])
    assert answer == {"t": 7, "window": [7, 7], "answers": [["car_fire(danganRoad)", "give_notification(danganRoad)"]]}


def test_the_whole_says_the_same_as_its_communities(ask: Ask) -> None:
    # A rule that never applies makes all inputs meet.
    inputs = "average_speed(_,_), car_number(_,_), traffic_light(_), car_in_smoke(_,_), car_speed(_,_)"
    meeting = f":- {inputs}, car_location(never,_)."
    assert ask(TRAFFIC + meeting, [(7, WINDOW)]) == ask(TRAFFIC, [(7, WINDOW)])


def test_the_window_of_the_paper_is_the_one_tested_here() -> None:
    papers = list(PAPER.glob("000*"))
    if not papers:
        pytest.skip("the paper is not here")
    text = (
        papers[0].read_text(encoding="utf-8").replace("-\n", "").replace("dangan-Road", "danganRoad").replace(" ", "")
    )
    start = text.index("W=\\{average_speed(")
    assert re.findall(r"[a-z_]+\([^()]*\)", text[start : start + 300])[:6] == list(WINDOW)


# Windows -------------------------------------------------------------------------------------------------------------


def test_windows_close_as_far_apart_as_they_slide(ask: Ask) -> None:
    answers = ask("q(X) :- p(X).", [(tick, f"p({tick})") for tick in range(10, 17)], window=3, slide=2)
    assert [(one["t"], one["window"], one["answers"]) for one in answers] == [
        (12, [10, 12], [["q(10)", "q(11)", "q(12)"]]),
        (14, [12, 14], [["q(12)", "q(13)", "q(14)"]]),
        (16, [14, 16], [["q(14)", "q(15)", "q(16)"]]),
    ]


def test_a_stream_that_is_too_short_has_one_window_at_its_end(ask: Ask) -> None:
    assert ask("q(X) :- p(X).", [(3, "p(a)"), (5, "p(b)")], window=10, slide=2) == [
        {"t": 5, "window": [3, 5], "answers": [["q(a)", "q(b)"]]}
    ]


def test_empty_windows_are_answered(ask: Ask) -> None:
    answers = ask("q :- not p. q(X) :- p(X).", [(0, "p(a)"), (4, "p(b)")], window=2, end=7)
    assert [(one["t"], one["answers"]) for one in answers] == [
        (1, [["q", "q(a)"]]), (3, [["q"]]), (5, [["q", "q(b)"]]), (7, [["q"]]),
    ]  # fmt: skip


def test_between_windows_that_stand_apart_facts_count_for_none(ask: Ask) -> None:
    answers = ask("q(X) :- p(X).", [(tick, f"p({tick})") for tick in range(8)], window=2, slide=3)
    assert [(one["window"], one["answers"]) for one in answers] == [
        ([0, 1], [["q(0)", "q(1)"]]),
        ([3, 4], [["q(3)", "q(4)"]]),
        ([6, 7], [["q(6)", "q(7)"]]),
    ]


def test_windows_of_facts_close_with_a_fact(ask: Ask) -> None:
    events = [(1, ["p(a)", "p(b)", "p(a)"]), (4, "r(c)"), (9, ["p(d)", "p(e)"])]
    answers = ask("q(X) :- p(X). q(X) :- r(X).", events, window="3 #", slide="1 #")
    assert [(one["t"], one["window"], one["answers"]) for one in answers] == [
        (4, [1, 4], [["q(a)", "q(b)", "q(c)"]]),
        (9, [1, 9], [["q(b)", "q(c)", "q(d)"]]),
        (9, [4, 9], [["q(c)", "q(d)", "q(e)"]]),
    ]


def test_too_few_facts_make_one_window(ask: Ask) -> None:
    (answer,) = ask("q(X) :- p(X).", [(1, "p(a)"), (4, "p(b)")], window="5 #")
    assert (answer["t"], answer["window"], answer["answers"]) == (4, [1, 4], [["q(a)", "q(b)"]])


def test_lengths_are_in_ticks_durations_or_facts() -> None:
    assert read_frame("3s", "1500 ms", Clock(500)) == read_frame(6, "3", Clock(500))
    for window, slide in (("0", None), ("3s", "1 #"), (None, "2"), ("700ms", None), ("soon", None)):
        with pytest.raises(ValueError, match=r"window|slide|ticks|duration|length"):
            read_frame(window, slide, Clock(500))


def test_a_program_brings_its_own_window(ask: Ask) -> None:
    program = "#from stream <http://a> [TIME 3s STEP 2s]\nq(X) :- p(X)."
    events = [(tick, f"p({tick})") for tick in range(6)]
    assert [one["window"] for one in ask(program, events)] == [[0, 2], [2, 4]]
    assert [one["window"] for one in ask(program, events, window=2)] == [[0, 1], [2, 3], [4, 5]]


# Answers -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("models", "answers"),
    [("all", [["go(a)"], ["go(b)"]]), ("brave", [["go(a)", "go(b)"]]), ("cautious", [[]])],
)
def test_several_answer_sets(ask: Ask, models: str, answers: list[list[str]]) -> None:
    assert ask(GATES, [(1, ["open(a)", "open(b)"])], models=models)[0]["answers"] == answers


@pytest.mark.parametrize("models", ["first", "all", "brave", "cautious"])
def test_an_inconsistent_window_is_an_answer(ask: Ask, models: str) -> None:
    answers = ask(GATES, [(1, ["open(a)"]), (2, ["open(a)", "closed(a)"]), (3, ["open(a)"])], models=models)
    assert [one["answers"] for one in answers] == [[["go(a)"]], [], [["go(a)"]]]


def test_parts_that_have_nothing_in_common_are_combined(ask: Ask) -> None:
    program = "{ a(X) } :- p(X). 1 { b(X); c(X) } 1 :- q(X)."
    (answer,) = ask(program, [(1, ["p(1)", "q(2)"])], models="all")
    assert answer["answers"] == [["a(1)", "b(2)"], ["a(1)", "c(2)"], ["b(2)"], ["c(2)"]]
    (answer,) = ask(program + " :- q(2), not q(3).", [(1, ["p(1)", "q(2)"])], models="all")
    assert answer["answers"] == []


@pytest.mark.parametrize("solver", ["clingo", "engine"])
@pytest.mark.parametrize(
    ("program", "inputs", "expected"),
    [
        ("a(X) :- p(X), not k(X). k(X) :- m(X).", (), ["a(1)", "k(2)"]),
        ("a(X) :- p(X), k(X). k(1).", (), ["a(1)", "a(2)", "k(1)", "k(2)"]),
        ("a(X) :- p(X), not k(X).", ("p/1",), ["a(1)"]),
        ("a(X) :- p(X), not k(X).", (), ["a(1)"]),
        ("a(X) :- p(X). #show k/1.", (), ["k(2)"]),
        ("a(X) :- ex_k(X). ex_k(X) :- m(X). #prefix ex: <http://ex#>. #show ex_k/1.", (), ["<http://ex#k>(3)"]),
        ("a :- not k(2), p(1). k(X) :- k(X), p(X). :- k(9). b :- p(2), k(2).", (), ["b", "k(2)"]),
    ],
)
def test_background_belongs_to_the_program(
    ask: Ask, solver: str, program: str, inputs: tuple[str, ...], expected: list[str]
) -> None:
    known = "k(2). <http://ex#k>(3)."
    answers = ask(program, [(1, ["p(1)", "p(2)"])], background=known, inputs=inputs, solver=solver)
    assert answers == [{"t": 1, "window": [1, 1], "answers": [expected]}]


def test_background_is_part_of_every_window(ask: Ask) -> None:
    answers = ask("q(X) :- p(X), road(X).", [(1, "p(a)"), (2, "p(b)")], background="road(a).")
    assert [one["answers"] for one in answers] == [[["q(a)"]], [[]]]


def test_terms_come_back_as_they_were_written(ask: Ask) -> None:
    terms = ["<http://a/b>", '"b c"', "-7", "2.50", '"chat"@fr', "road1", "3000000000"]
    (answer,) = ask("q(X) :- p(X).", [(1, [f"p({term})" for term in terms])], solver="clingo")
    assert answer["answers"] == [sorted(f"q({term})" for term in terms)]


def test_a_window_that_takes_too_long_is_marked_and_told(ask: Ask) -> None:
    pigeons = "1 { in(P,1..11) } 1 :- P = 1..N, many(N). :- in(P,H), in(Q,H), P < Q. #show in/2."
    told: list[thalweg.Diagnostic] = []
    answers = ask(pigeons, [(1, "many(12)"), (2, "many(0)")], solve_limit="200ms", report=told.append)
    assert [(one["answers"], one.get("incomplete")) for one in answers] == [([], True), ([[]], None)]
    assert [one.code for one in told] == ["W505"]


def test_the_engine_finishes_a_window_and_tells_that_it_took_longer(ask: Ask) -> None:
    told: list[thalweg.Diagnostic] = []
    program = "r(X,Y) :- e(X,Y). r(X,Z) :- r(X,Y), e(Y,Z). #show r/2."
    edges = [f"e({number},{number + 1})" for number in range(150)]
    (answer,) = ask(program, [(1, edges)], solve_limit="1ms", solver="engine", report=told.append)
    assert "incomplete" not in answer
    assert len(answer["answers"][0]) == 150 * 151 // 2
    assert [one.code for one in told] == ["W509"]


def test_a_limit_ends_recursion_that_would_not_end(ask: Ask) -> None:
    (answer,) = ask("n(X+1) :- n(X). n(X) :- p(X).", [(1, "p(1)")], solve_limit="300ms", workers=1, report=print)
    assert (answer["answers"], answer["incomplete"]) == ([], True)


def test_the_combinations_of_parts_are_within_the_limit(ask: Ask) -> None:
    parts = " ".join(f"{{ a{number}(1..8) }} :- p{number}." for number in range(6))
    told: list[thalweg.Diagnostic] = []
    facts = [f"p{number}" for number in range(6)]
    (answer,) = ask(parts, [(1, facts)], models="all", solve_limit="500ms", report=told.append)
    assert len(answer["answers"]) < 256**6
    assert answer["incomplete"]
    assert [one.code for one in told] == ["W505"]


DOUBLE = '"7"^^<http://www.w3.org/2001/XMLSchema#double>'


@pytest.mark.parametrize("solver", ["clingo", "engine"])
@pytest.mark.parametrize("term", ["20.5", "3000000000", "-3000000000", DOUBLE])
def test_a_number_that_is_none_to_clingo_is_told_once(ask: Ask, solver: str, term: str) -> None:
    told: list[thalweg.Diagnostic] = []
    events = [(1, ["speed(a,7)", "other(a,1.5)"]), (2, f"speed(b,{term})"), (3, f"speed(c,{term})")]
    ask("slow(X) :- speed(X,Y), Y < 40.", events, solver=solver, report=told.append)
    assert [one.code for one in told] == ["W508"]
    assert term in told[0].message


@pytest.mark.parametrize("program", ["q(X) :- p(X).", "q(X) :- p(X), X != a.", "q :- #count { X : p(X) } > 0."])
def test_where_nothing_is_compared_any_number_will_do(ask: Ask, program: str) -> None:
    told: list[thalweg.Diagnostic] = []
    ask(program, [(1, ["p(2.5)", f"p({DOUBLE})"])], report=told.append)
    assert told == []


@pytest.mark.parametrize(
    "program",
    [
        "q :- #sum { X : p(X) } > 0.",
        "q(X+1) :- p(X).",
        "{ q(X) : p(X) }. #minimize { X : q(X) }.",
        "q(X) :- p(X), X >= 1.",
    ],
)
def test_whatever_asks_for_a_value_counts(ask: Ask, program: str) -> None:
    told: list[thalweg.Diagnostic] = []
    ask(program, [(1, "p(2.5)")], report=told.append)
    assert [one.code for one in told] == ["W508"]


@pytest.mark.parametrize("solver", ["clingo", "engine"])
@pytest.mark.parametrize("prefix", ["ex", ""])
def test_a_constant_that_begins_with_a_prefix_is_an_iri_wherever_it_comes_from(
    ask: Ask, solver: str, prefix: str
) -> None:
    name = f"{prefix}_x".removeprefix("_")
    program = f"#prefix {prefix}: <http://ex#>. a(X) :- p(X), q(X), not r(X). b({name}) :- p({name})."
    (answer,) = ask(program, [(1, ["p(<http://ex#x>)", f"q({name})", "p(<http://ex#y>)"])], solver=solver)
    predicates = ("http://ex#a>", "http://ex#b>") if not prefix else ("a", "b")
    assert answer["answers"] == [[f"{'<' * (not prefix)}{one}(<http://ex#x>)" for one in predicates]]


# The rest of the runtime ---------------------------------------------------------------------------------------------


def test_disorder_inside_the_delay_changes_nothing_and_late_facts_are_told(ask: Ask) -> None:
    late: list[str] = []
    text = "p(a) at 3. p(b) at 5. p(c) at 4. p(d) at 8. p(e) at 3."
    answers = ask("q(X) :- p(X).", text, delay=2, window=2, late=late.append)
    assert [one["answers"] for one in answers] == [[["q(a)", "q(c)"]], [["q(b)"]], [["q(d)"]]]
    assert [json.loads(line)["facts"] for line in late] == [["p(e)"]]


def test_a_malformed_line_stops_or_is_skipped(ask: Ask) -> None:
    text = "p(a) at 1.\np(b at 2.\np(c) at 3.\n"
    with pytest.raises(thalweg.RejectedError):
        ask("q(X) :- p(X).", text)
    told: list[thalweg.Diagnostic] = []
    answers = ask("q(X) :- p(X).", text, on_error="skip", report=told.append)
    assert [one["answers"] for one in answers] == [[["q(a)"]], [[]], [["q(c)"]]]
    assert [one.code for one in told] == ["E301"]


def test_answers_of_a_live_stream_come_before_the_next_event(ask: Ask) -> None:
    seen: list[int] = []

    def events() -> Any:
        for tick in range(4):
            seen.append(tick)
            yield tick, f"p({tick})"

    ask._program.write_text("q(X) :- p(X).")
    answers = thalweg.run(ask._program, events(), workers=0)
    assert (next(iter(answers)).t, seen) == (0, [0, 1])  # type: ignore[union-attr]


def test_names_that_are_gone_are_forgotten(ask: Ask) -> None:
    from thalweg.api import RunOptions, load_part, start

    ask._program.write_text("q(X) :- r(X).")
    events = [(tick, [f"p(x{tick}_{number})" for number in range(20_000)]) for tick in range(6)]
    program = load_part([ask._program], solving=SolveOptions(workers=0, solver="clingo"))
    with start(program, events, RunOptions()) as job:
        for _ in job.pieces():
            pass
        assert len(job.run.dictionary) < 100_000


def test_answers_that_are_kept_can_be_read_when_their_names_are_forgotten(ask: Ask) -> None:
    from thalweg.api import RunOptions, load_part, start

    ask._program.write_text("q(X) :- p(X).")
    events = ((tick, [f"p(x{tick}_{number})" for number in range(10)]) for tick in range(12))
    program = load_part([ask._program], solving=SolveOptions(solver="engine"))
    with start(program, events, RunOptions()) as job:
        words = job.run.dictionary
        answers = (piece for piece in job.pieces() if piece is not None)
        kept = next(answers)
        for _ in answers:
            words.crowded = True
        assert len(words) < 60
        assert set(kept.sets[0]) == {f"q(x0_{number})" for number in range(10)}  # type: ignore[union-attr]


def resident() -> int:
    """Megabytes of this process and of those that it started."""
    mine = Path(f"/proc/{os.getpid()}")
    children = [child for task in (mine / "task").iterdir() for child in (task / "children").read_text().split()]
    pages = [int(Path(f"/proc/{one}/statm").read_text().split()[1]) for one in (os.getpid(), *children)]
    return sum(pages) * resource.getpagesize() >> 20


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize("solver", ["clingo", "engine"])
def test_memory_stays_the_same_over_ten_thousand_windows_of_ever_new_names(
    ask: Ask, solver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "RENEWAL", 200_000)

    def events() -> Any:
        for tick in range(10_002):
            yield tick, [f"p(x{tick}_{number},{number})" for number in range(50)]

    ask._program.write_text("q(X) :- p(X,Y), Y < 25, not r(X). #show q/1.")
    sizes = []
    for answer in thalweg.run(ask._program, events(), window=3, slide=1, solver=solver, workers=1):
        if answer.t % 100 == 0:  # type: ignore[union-attr]
            sizes.append(resident())
    assert len(sizes) == 100
    # A process is at its largest just before it is replaced.
    assert max(sizes[60:]) < max(sizes[20:60]) * 1.1


# Windows without facts -----------------------------------------------------------------------------------------------


def gaps(ask: Ask, program: str, on: Any, **options: Any) -> tuple[list[tuple[int, int]], list[Any], list[str]]:
    """The windows that were answered, the answers of the empty ones, and what was reported."""
    reported: list[str] = []
    answers = ask(program, on, report=lambda found: reported.append(found.render()), **options)
    windows = [tuple(answer["window"]) for answer in answers]
    return windows, [answer["answers"] for answer in answers], reported


@pytest.mark.parametrize("solver", ["clingo", "engine"])
def test_a_timestamp_that_is_far_off_makes_no_million_windows(ask: Ask, solver: str) -> None:
    far = 10**9
    windows, answers, reported = gaps(ask, "q(X) :- p(X). r.", [(0, "p(a)"), (far, "p(b)")], solver=solver)
    assert windows == [*((tick, tick) for tick in range(1_001)), (far, far)]
    assert answers == [[["q(a)", "r"]], *([["r"]] for _ in range(1_000)), [["q(b)", "r"]]]
    (warning,) = reported
    assert warning.startswith(
        "warning[W512]: 999,998,999 windows without facts skipped after 1000 others in a row, the first at 1001"
    )


@pytest.mark.parametrize("solver", ["clingo", "engine"])
@pytest.mark.parametrize(("window", "slide"), [(1, 1), (5, 2), (2, 5), (3, 3)])
def test_gaps_that_are_short_are_answered_in_full(ask: Ask, window: int, slide: int, solver: str) -> None:
    on = [(0, "p(a)"), (700, "p(b)"), (1_500, "p(c)")]
    windows, _, reported = gaps(ask, "q(X) :- p(X).", on, window=window, slide=slide, solver=solver)
    assert windows == [(end - window + 1, end) for end in range(window - 1, 1_501, slide)]
    assert reported == []


@pytest.mark.parametrize(("window", "slide"), [(1, 1), (5, 2), (2, 5)])
def test_the_windows_of_a_gap_do_not_depend_on_the_steps_of_time(ask: Ask, window: int, slide: int) -> None:
    far = 20_000
    ends = [(0, "p(a)"), (far, "p(b)")]
    # Facts that the program does not take are events, and no content of windows.
    steps = [ends[0], *((tick, "other") for tick in range(1, far, 7)), ends[1]]
    expected = gaps(ask, "q(X) :- p(X).", ends, window=window, slide=slide)
    assert gaps(ask, "q(X) :- p(X).", steps, window=window, slide=slide) == expected
    assert 1_000 <= len(expected[0]) < 1_010


def test_an_empty_beginning_and_an_empty_end_are_gaps_too(ask: Ask) -> None:
    windows, _, reported = gaps(ask, "q(X) :- p(X).", [(50_000, "p(a)")], start=0, end=100_000)
    assert windows == [(tick, tick) for tick in [*range(1_000), 50_000, *range(50_001, 51_001)]]
    assert reported[0].startswith("warning[W512]: 98,000 windows")


def test_windows_of_facts_have_no_gaps(ask: Ask) -> None:
    assert gaps(ask, "q(X) :- p(X).", [(0, "p(a)"), (10**9, "p(b)")], window="1 #")[0] == [(0, 0), (10**9, 10**9)]


def test_choices_in_empty_windows_are_passed_over_alike(ask: Ask) -> None:
    windows, answers, _ = gaps(ask, "{a}. q(X) :- p(X).", [(0, "p(a)"), (5_000, "p(b)")], models="all")
    assert len(windows) == 1_002
    assert answers[1] == answers[1_000] == [[], ["a"]]


# Facts of what the program derives -----------------------------------------------------------------------------------

REACH = "r(X,Y) :- e(X,Y). r(X,Z) :- r(X,Y), e(Y,Z)."


def reaching(solver: str) -> LocalRun:
    program, _ = read_program(Source("reach.lp", REACH))
    options = SolveOptions(window=3, slide=1, solver=solver, workers=0)
    context = Context(Settings(emit="changes"), Clock(), print, saves=True)
    return LocalRun(AnswerSets(program, (), options), context)


def fed(run: LocalRun, tick: int, *facts: str) -> list[str]:
    batch = code_facts(facts, run.dictionary)
    return [json.dumps(list(next(iter(one.sets)))) for one in run.advance(tick, [batch])]


@pytest.mark.parametrize("solver", ["auto", "clingo"])
def test_inputs_that_have_turned_up_are_known_after_a_restart(solver: str) -> None:
    before = reaching(solver)
    assert not fed(before, 1, "e(b,c)") + fed(before, 2, "r(a,b)")
    after = reaching(solver)
    after.resume(before.snapshot())
    expected = ['["r(a,b)", "r(a,c)", "r(a,d)", "r(b,c)", "r(b,d)", "r(c,d)"]']
    assert fed(after, 3, "e(c,d)") == fed(before, 3, "e(c,d)") == expected


def test_answers_given_before_an_input_turned_up_can_be_read_afterwards() -> None:
    run = reaching("auto")
    fed(run, 1, "e(x1,y1)")
    batches = (code_facts(facts, run.dictionary) for facts in ([], ["r(a,b)"]))
    (answer,) = run.advance(3, [next(batches)])
    assert fed(run, 4, "r(a,b)")
    list(run.advance(9, [next(batches)]))
    run.executor.collect([])
    assert list(answer.sets[0]) == ["r(x1,y1)"]
