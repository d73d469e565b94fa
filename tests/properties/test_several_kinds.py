"""One plan of several kinds is its parts, evaluated one after the other at each tick."""

import re
from dataclasses import dataclass

import clingo
from hypothesis import example, given
from hypothesis import strategies as st

from buckets import LOSSES, in_buckets, stopped
from thalweg import api
from thalweg.answers.jsonl import lines
from thalweg.api.answer_values import Change, Solution
from thalweg.dataflow.context import Settings
from thalweg.diagnostics import Source
from thalweg.ir import semantics
from thalweg.ir.nodes import Atom, Constant, Interface, Program, Rule
from thalweg.kinds.answer_sets.solve_options import SolveOptions
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.testing.evaluators import changes_of

LAST = 8
ONTOLOGY = """
@prefix : <http://ex/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:C rdfs:subClassOf :D . :p rdfs:domain :C .
"""
BELOW = (
    "d(X) :- s(X) in [{n}].",
    "d(X) :- r(X,Y) in [{n}], not s(Y) in [{m}].",
    "d(X) :- s(X) always in [{n}].",
    "e(X) :- d(X), r(X,Y).",
    "e(N) :- N = count{{X : s(X) in [{n}]}}.",
    "e(X) :- s(X) at T in [{n}], not d(X).",
)
SOLVED = (
    "o(X) :- d(X), not e(X).",
    "o(X) :- s(X), e(X).",
    "u(X) :- r(X,Y), o(Y).",
    "u(N) :- N = #count{{X : d(X)}}.",
    "ex_E(X) :- ex_D(X), not s(X).",
    "o(X) :- ex_C(X), not d(X).",
)
OPEN = (
    "{{u(X)}} :- d(X).",
    "o(X) ; u(X) :- e(X).",
    ":- u(X), o(X), s(X).",
    "u(X) :- o(X), not v(X). v(X) :- o(X), not u(X).",
)
ABOVE = (
    "a(X) :- o(X), s(X) in [{n}].",
    "a(X) :- d(X), not u(X).",
    "b(X) :- a(X), u(X) in [{n}].",
    "b(N) :- N = count{{X : o(X)}}.",
    "c(X) :- <http://ex/E>(X), not b(X).",
    "c(X) :- e(X) in [{n}], u(X) always in [{m}].",
)
# What is read of answers of earlier ticks may feed the program that gives them.
BACK = (
    "d(X) :- o(X) before [{n}].",
    "e(X) :- u(X) before [{n}], s(X) in [{m}].",
    "d(X) :- r(X,Y), not o(Y) before [{n}].",
    "e(N) :- N = count{{X : u(X) before [{n}]}}.",
)
RECORDED = "#record o/1. #record u/1."
SHOWN = "#show o/1. #show u/1. #show v/1. #show ex_E/1."
TERMS = ("1", "2", "x", "y")
INPUTS = ("s/1", "r/2", "d/1", "e/1", "ex_C/1", "ex_D/1")


@dataclass(frozen=True)
class Case:
    below: str
    back: str
    solved: str
    above: str
    with_ontology: bool
    models: str
    frame: tuple[int, int] | None
    events: tuple[Event, ...]
    emit: str


@st.composite
def texts(draw: st.DrawFn, templates: tuple[str, ...], least: int, shortest: int = 0) -> str:
    chosen = draw(st.lists(st.sampled_from(templates), min_size=least, max_size=4, unique=True))
    return " ".join(each.format(n=draw(st.integers(shortest, 4)), m=draw(st.integers(0, 2))) for each in chosen)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    several = draw(st.booleans())
    frame = draw(st.none() | st.tuples(st.integers(1, 4), st.integers(1, 4)))
    streamed = st.one_of(
        st.builds(lambda x: Fact("s", (x,)), st.sampled_from(TERMS)),
        st.builds(lambda x, y: Fact("r", (x, y)), st.sampled_from(TERMS), st.sampled_from(TERMS)),
        st.builds(lambda x: Fact("<http://ex/C>", (x,)), st.sampled_from(TERMS)),
    )
    ticks = sorted(draw(st.lists(st.integers(0, LAST), min_size=1, max_size=6, unique=True)))
    return Case(
        draw(texts(BELOW, 0)),
        draw(st.just("") | texts(BACK, 1, shortest=1)),
        draw(texts((*SOLVED, *OPEN) if several else SOLVED, 1)),
        draw(texts(ABOVE, 0)),
        draw(st.booleans()),
        draw(st.sampled_from(("brave", "cautious"))) if several else "first",
        frame,
        tuple(Event(tick, tuple(draw(st.lists(streamed, min_size=1, max_size=4, unique=True)))) for tick in ticks),
        draw(st.sampled_from(("changes", "snapshot"))),
    )


def closings(frame: tuple[int, int] | None) -> dict[int, int]:
    """The ticks at which windows close, with their first ticks."""
    if frame is None:
        return {tick: tick for tick in range(LAST + 1)}
    size, slide = frame
    return {close: close - size + 1 for close in range(size - 1, LAST + 1, slide)} or {LAST: 0}


def as_atom(fact: Fact) -> str:
    name = f"ex_{fact.predicate[-2]}" if fact.predicate[0] == "<" else fact.predicate
    return f"{name}({','.join(fact.terms)})."


def by_clingo(case: Case, facts: set[Fact]) -> frozenset[str]:
    """The answer of a window."""
    control = clingo.Control(["--warn=none"])
    control.configuration.solve.enum_mode = {"first": "auto", "brave": "brave", "cautious": "cautious"}[case.models]
    control.configuration.solve.models = 1 if case.models == "first" else 0
    control.add("base", [], " ".join([case.solved, SHOWN, *map(as_atom, facts)]))
    control.ground([("base", [])])
    found: list[str] = []
    with control.solve(yield_=True) as solved:
        for model in solved:
            found = [str(symbol) for symbol in model.symbols(shown=True)]
    return frozenset(re.sub(r"^ex_(.)", r"<http://ex/\1>", atom) for atom in found)


def fact_of(text: str) -> Fact:
    name, _, args = text.partition("(")
    return Fact(name, tuple(args[:-1].split(",")))


def bodiless(facts: set[Fact]) -> tuple[Rule, ...]:
    return tuple(Rule(Atom(fact.predicate, tuple(map(Constant, fact.terms)))) for fact in sorted(facts, key=str))


def expected(case: Case) -> tuple[list[tuple[int, frozenset[str]]], dict[int, frozenset[str]]]:
    documents = [Source("city.ttl", ONTOLOGY)] if case.with_ontology else []
    quiet = {"report": lambda _: None}
    below = api.load(Source("below.lars", f"{case.below} {case.back}"), *documents, **quiet)
    above = api.load(Source("above.lars", case.above), **quiet)
    arrivals = [(fact, event.tick, None) for event in case.events for fact in event.facts]
    snapshots, answers, holding, past = [], dict[int, frozenset[str]](), frozenset[str](), []
    ends = closings(case.frame)
    for tick in range(LAST + 1):
        # Of what is recorded, earlier ticks are like those of a stream.
        came = [one for one in arrivals if one[1] <= tick]
        came += past if case.back else []
        lower = set(semantics.output(below, 0, tick, came))
        if tick in ends:
            content = {fact for fact, when, _ in arrivals if ends[tick] <= when <= tick} | lower
            answers[tick] = holding = by_clingo(case, content)
        held = {fact_of(text) for text in holding}
        past += [(fact, tick, None) for fact in held if fact.predicate in ("o", "u")]
        given_facts = lower | held
        program = Program((*above.rules, *bodiless(given_facts)), interface=Interface(outputs=above.derived))
        upper = semantics.output(program, 0, tick, came)
        own = {str(fact) for fact in upper if fact.signature in above.derived}
        snapshots.append((tick, frozenset({str(fact) for fact in lower} | own)))
    return snapshots, answers


def sources(case: Case) -> list[Source]:
    programs = [
        Source("rules.lars", f"{RECORDED if case.back else ''} {case.below} {case.back} {case.above}"),
        Source("solved.lp", f"#prefix ex: <http://ex/>. {SHOWN} {case.solved}"),
    ]
    return programs + ([Source("city.ttl", ONTOLOGY)] if case.with_ontology else [])


def options(case: Case) -> SolveOptions:
    window, slide = case.frame or (None, None)
    return SolveOptions(case.models, window, slide, workers=0)


def found(case: Case) -> tuple[dict[int, object], dict[int, frozenset[str]]]:
    programs, asking = sources(case), options(case)
    changes, answers, ticks = {}, dict[int, frozenset[str]](), [0]
    shown = []
    for one in api.run(
        programs,
        stream=list(case.events),
        emit=case.emit,
        start=0,
        end=LAST,
        models=asking.models,
        window=asking.window,
        slide=asking.slide,
        workers=0,
        inputs=INPUTS,
        report=lambda _: None,
    ):
        ticks.append(one.t)
        if isinstance(one, Solution):
            answers[one.t] = frozenset(str(fact) for facts in one.sets for fact in facts)
        elif isinstance(one, Change):
            changes[one.t] = (frozenset(map(str, one.begin)), frozenset(map(str, one.end)))
        else:
            shown.append((one.t, tuple(map(str, one.facts))))
    assert ticks == sorted(ticks)
    changes |= {tick: (one.begin, one.end) for tick, one in changes_of(shown).items()}
    return changes, answers


@given(cases())
def test_a_plan_of_several_kinds_is_its_parts_one_after_the_other(case: Case) -> None:
    snapshots, answers = expected(case)
    changes, solved = found(case)
    assert changes == {tick: (one.begin, one.end) for tick, one in changes_of(snapshots).items()}
    holding: frozenset[str] = frozenset()
    for tick in sorted(answers):
        if case.frame is not None or tick in solved:
            assert solved[tick] == answers[tick]
        else:
            # Without windows it is solved where something changes.
            assert answers[tick] == holding
        holding = answers[tick]
    assert solved.keys() <= answers.keys()


@given(cases(), st.sets(st.integers(0, LAST), min_size=1, max_size=2))
def test_a_plan_of_several_kinds_can_be_stopped_and_resumed(case: Case, breaks: set[int]) -> None:
    part = api.load_part(sources(case), solving=options(case), inputs=INPUTS, report=lambda _: None)
    settings = Settings(first=0, last=LAST, emit=case.emit)
    assert stopped(part, settings, case.events, breaks) == stopped(part, settings, case.events, ())


# Rules that are split give `d` to other rules with its ends, and to the answer sets without.
TWO_READERS = Case(
    below="d(X) :- s(X) in [0]. e(X) :- d(X), r(X,Y). e(N) :- N = count{X : s(X) in [0]}.",
    back="",
    solved="o(X) :- d(X), not e(X).",
    above="a(X) :- o(X), s(X) in [0]. a(X) :- d(X), not u(X).",
    with_ontology=False,
    models="first",
    frame=None,
    events=(Event(0, (Fact("s", ("1",)),)),),
    emit="changes",
)


@example(TWO_READERS, 1, "none")
@given(cases(), st.integers(1, 3), st.sampled_from(LOSSES))
def test_a_bucket_of_spark_answers_as_one_process_does(case: Case, size: int, loss: str) -> None:
    part = api.load_part(sources(case), solving=options(case), inputs=INPUTS, report=lambda _: None)
    settings = Settings(first=0, last=LAST, emit=case.emit)
    batches = [list(case.events[start : start + size]) for start in range(0, len(case.events), size)]
    how = api.RunOptions(api.Timing(first=0, last=LAST), case.emit)
    with api.start(part, list(case.events), how, api.Observer(lambda _: None)) as job:
        alone = [line for answer in job.pieces() if answer is not None for line in lines(answer)]
    assert in_buckets(part, settings, batches, loss) == alone
