"""Rules and an answer set program in one run: what each reads of the other, and when."""

import pytest

import thalweg
from thalweg.api import SolveOptions
from thalweg.api.answer_values import Solution
from thalweg.diagnostics import Source

RULES = Source("rules.lars", "busy(R) :- on(C,R) in [1]. go(C) :- on(C,R), green(R). wait(R) :- busy(R), not green(R).")
LIGHTS = Source("lights.lp", "green(R) :- busy(R), not closed(R). #show green/1.")


def run(*programs: Source, **options: object) -> list[str]:
    events = [(1, ["on(c,a)"]), (4, ["on(d,b)", "closed(b)"])]
    answers = thalweg.run(list(programs), stream=events, emit="changes", workers=0, **options)
    return [f"{one.t} {'= ' if isinstance(one, Solution) else ''}{_shown(one)}" for one in answers]


def _shown(one: object) -> str:
    if isinstance(one, Solution):
        return " ".join(str(fact) for facts in one.sets for fact in facts)
    return " ".join([*(f"+{fact}" for fact in one.begin), *(f"-{fact}" for fact in one.end)])


def test_without_windows_it_is_solved_where_something_changes() -> None:
    assert run(RULES, LIGHTS, end=8) == [
        "1 = green(a)",
        "1 +busy(a) +go(c)",
        "2 -go(c)",
        "3 = ",
        "3 -busy(a)",
        "4 = ",
        "4 +busy(b) +wait(b)",
        "5 = green(b)",
        "5 -wait(b)",
        "6 = ",
        "6 -busy(b)",
    ]


def test_the_answer_of_a_window_holds_until_the_next_one_closes() -> None:
    """Derived inputs are those that hold at its close."""
    assert run(RULES, LIGHTS, window=2, slide=2, end=8) == [
        "1 +busy(a) +wait(a)",
        "2 = green(a)",
        "2 -wait(a)",
        "3 -busy(a)",
        "4 = ",
        "4 +busy(b) +wait(b)",
        "6 = ",
        "6 -busy(b) -wait(b)",
        "8 = ",
    ]


def test_a_stream_that_is_too_short_for_a_window_has_one_that_rules_see() -> None:
    lights = Source("lights.lp", "green(R) :- busy(R). #show green/1.")
    assert run(RULES, lights, window=20, end=5)[-2:] == ["5 = green(b)", "5 -wait(b)"]


def test_an_ontology_feeds_both() -> None:
    city = Source("city.ttl", "@prefix : <http://x/> . :Bus <http://www.w3.org/2000/01/rdf-schema#subClassOf> :Car .")
    solved = Source("cars.lp", "#prefix x: <http://x/>. seen(X) :- x_Car(X). #show seen/1.")
    rules = Source("r.lars", "both(X) :- seen(X), <http://x/Car>(X).")
    answers = thalweg.run([city, solved, rules], stream=[(1, "<http://x/Bus>(b)")], workers=0)
    assert [str(one) for one in answers] == [
        '{"t":1,"window":[1,1],"answers":[["seen(b)"]]}',
        '{"t":1,"begin":["<http://x/Car>(b)","both(b)"],"end":[]}',
    ]


@pytest.mark.parametrize(("models", "seen"), [("brave", "+go(c)"), ("cautious", "+wait(a)")])
def test_what_holds_in_some_or_in_all_answer_sets(models: str, seen: str) -> None:
    rules = Source("rules.lars", "go(C) :- on(C,R), green(R). wait(R) :- on(C,R), not red(R).")
    choice = Source("choice.lp", "1 { green(R) ; red(R) } 1 :- on(_,R).")
    assert run(rules, choice, models=models, end=1)[-1] == f"1 {seen}"


def test_rules_pass_over_terms_that_they_do_not_have() -> None:
    found: list[thalweg.Diagnostic] = []
    rules = Source("rules.lars", "next(X) :- step(X).")
    steps = Source("steps.lp", "step(f(R)) :- on(_,R). step(R) :- on(_,R).")
    answers = run(rules, steps, end=1, report=found.append)
    assert answers == ["1 = step(a) step(f(a))", "1 +next(a)"]
    assert [one.code for one in found] == ["W514"]


def test_a_loop_between_parts_is_refused() -> None:
    rules = Source("rules.lars", "busy(R) :- on(C,R).\nbusy(R) :- green(R).")
    with pytest.raises(thalweg.RejectedError) as refused:
        run(rules, LIGHTS)
    (found,) = refused.value.diagnostics
    assert (found.code, found.span.source.position(found.span.start)) == ("E513", (2, 1))


CHOICE = Source(
    "choice.lp", "1 { green(R) : busy(R) } 1 :- busy(_). :- green(R), last(R), busy(X), X != R. #show green/1."
)
LOOKING_BACK = Source("rules.lars", "#record green/1. busy(R) :- on(C,R) in [3]. last(R) :- green(R) before [1].")


def test_a_loop_may_pass_through_the_tick_before() -> None:
    answers = thalweg.run(
        [LOOKING_BACK, CHOICE],
        stream=[(1, "on(c,a)"), (2, "on(d,b)")],
        emit="changes",
        workers=0,
        end=4,
    )
    greens = [_shown(one) for one in answers if isinstance(one, Solution)]
    assert greens == ["green(a)", "green(b)", "green(a)", "green(b)"]


def test_the_past_must_be_recorded() -> None:
    rules = Source("rules.lars", LOOKING_BACK.text.removeprefix("#record green/1. "))
    with pytest.raises(thalweg.RejectedError, match="E210"):
        run(rules, CHOICE)


def test_why_goes_to_the_tick_before() -> None:
    parts = thalweg.api.load_part([LOOKING_BACK, CHOICE], solving=SolveOptions(workers=0))
    events = [(1, "on(c,a)")]
    proof = thalweg.api.run_to(parts, events, thalweg.api.RunOptions(thalweg.api.Timing(last=2))).why(
        thalweg.Fact("last", ("a",))
    )
    assert [one.claim for one in proof.because] == ["green(a) before [1]"]


def test_several_answers_cannot_feed_rules() -> None:
    with pytest.raises(thalweg.RejectedError, match="`--models all`"):
        run(RULES, LIGHTS, models="all")


def test_why_goes_through_the_parts() -> None:
    parts = thalweg.api.load_part([RULES, LIGHTS], solving=SolveOptions(workers=0))
    timing = thalweg.api.Timing(last=1)
    proof = thalweg.api.run_to(parts, [(1, "on(c,a)")], thalweg.api.RunOptions(timing)).why(thalweg.Fact("go", ("c",)))
    assert [line.strip().split("   ")[0] for line in proof.render().splitlines()] == [
        "go(c)",
        "by go(C) :- on(C,R), green(R).",
        "on(c,a) at 1",
        "green(a)",
        "by the answer of the window [1,1]",
        "busy(a)",
        "by busy(R) :- on(C,R) in [1].",
        "on(c,a) in [1] at 1",
    ]


LACKING = "the answer of the window [4,4] does not contain"


@pytest.mark.parametrize(
    ("fact", "found"),
    [
        (("go", "c"), ["on(c,b) at 4   [stream] until 4", "but no `green(b)`: another part derives `green/1`"]),
        (("busy", "c"), ["no `on(_,c) in [1]`: `on(c,b)` came at 4"]),
        (("green", "b"), [f"the answer set program derives `green/1`, and {LACKING} `green(b)`"]),
        (("red", "b"), [f"no rule derives `red/1`, and {LACKING} `red(b)`"]),
    ],
)
def test_why_not_names_the_part(fact: tuple[str, str], found: list[str]) -> None:
    parts = thalweg.api.load_part([RULES, LIGHTS], solving=SolveOptions(workers=0))
    timing = thalweg.api.Timing(last=4)
    chain = thalweg.api.run_to(parts, [(1, "on(c,a)"), (4, ["on(c,b)", "closed(b)"])], thalweg.api.RunOptions(timing))
    absence = chain.why_not(thalweg.Fact(fact[0], fact[1:]))
    lines = [line.strip() for line in absence.render().splitlines()]
    assert [line for line in lines if not line.startswith("not by")] == found
    assert chain.why_not(thalweg.Fact("busy", ("b",))) is None
