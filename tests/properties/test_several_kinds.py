"""One plan of several kinds is its parts, evaluated one after the other at each tick."""

import re
from dataclasses import dataclass

import clingo
from hypothesis import given
from hypothesis import strategies as st

from thalweg import api
from thalweg.diagnostics import Source
from thalweg.ir import semantics
from thalweg.ir.nodes import Atom, Constant, Interface, Program, Rule
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.parts.answer_sets.solve_options import SolveOptions
from thalweg.runtimes.emit import Change, Solution
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
SHOWN = "#show o/1. #show u/1. #show v/1. #show ex_E/1."
TERMS = ("1", "2", "x", "y")


@dataclass(frozen=True)
class Case:
    below: str
    solved: str
    above: str
    with_ontology: bool
    models: str
    frame: tuple[int, int] | None
    events: tuple[Event, ...]
    emit: str


@st.composite
def texts(draw: st.DrawFn, templates: tuple[str, ...], least: int) -> str:
    chosen = draw(st.lists(st.sampled_from(templates), min_size=least, max_size=4, unique=True))
    return " ".join(each.format(n=draw(st.integers(0, 4)), m=draw(st.integers(0, 2))) for each in chosen)


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
    below = api.load(Source("below.lars", case.below), *documents)
    above = api.load(Source("above.lars", case.above))
    arrivals = [(fact, event.tick, None) for event in case.events for fact in event.facts]
    snapshots, answers, holding = [], dict[int, frozenset[str]](), frozenset[str]()
    ends = closings(case.frame)
    for tick in range(LAST + 1):
        came = [one for one in arrivals if one[1] <= tick]
        lower = set(semantics.output(below, 0, tick, came))
        if tick in ends:
            content = {fact for fact, when, _ in came if when >= ends[tick]} | lower
            answers[tick] = holding = by_clingo(case, content)
        given_facts = lower | {fact_of(text) for text in holding}
        program = Program((*above.rules, *bodiless(given_facts)), interface=Interface(outputs=above.derived))
        upper = semantics.output(program, 0, tick, came)
        own = {str(fact) for fact in upper if fact.signature in above.derived}
        snapshots.append((tick, frozenset({str(fact) for fact in lower} | own)))
    return snapshots, answers


def found(case: Case) -> tuple[dict[int, object], dict[int, frozenset[str]]]:
    programs = [
        Source("rules.lars", f"{case.below} {case.above}"),
        Source("solved.lp", f"#prefix ex: <http://ex/>. {SHOWN} {case.solved}"),
    ]
    programs += [Source("city.ttl", ONTOLOGY)] if case.with_ontology else []
    window, slide = case.frame or (None, None)
    asking = SolveOptions(case.models, window, slide, workers=0)
    changes, answers, ticks = {}, dict[int, frozenset[str]](), [0]
    shown = []
    inputs = ("s/1", "r/2", "d/1", "e/1", "ex_C/1", "ex_D/1")
    for one in api.run(
        programs,
        on=list(case.events),
        emit=case.emit,
        first=0,
        last=LAST,
        solving=asking,
        inputs=inputs,
        report=lambda _: None,
    ):
        ticks.append(one.t)
        if isinstance(one, Solution):
            answers[one.t] = frozenset(fact for facts in one.sets for fact in facts)
        elif isinstance(one, Change):
            changes[one.t] = (frozenset(one.begin), frozenset(one.end))
        else:
            shown.append((one.t, one.facts))
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
