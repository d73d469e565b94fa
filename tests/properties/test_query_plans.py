"""Queries between rules are the parts of one plan: evaluated one after the other, by the semantics and by SPARQL."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import pyoxigraph as ox
from hypothesis import given
from hypothesis import strategies as st

from buckets import LOSSES, in_buckets, stopped
from thalweg import api
from thalweg.api.answer_values import Bindings, Change, ConstructedGraph
from thalweg.dataflow.context import Settings
from thalweg.diagnostics import Source
from thalweg.ir import semantics
from thalweg.ir.nodes import Atom, Constant, Interface, Program, Rule
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.testing.evaluators import changes_of

LAST = 9
EX = "http://ex/"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
PREFIX = f"PREFIX : <{EX}>"
BELOW = (
    ":d(X) :- :C(X) in [{n}].",
    ":d(X) :- :p(X,Y) in [{n}], not :C(Y) in [{m}].",
    ":e(X,Y) :- :p(X,Y) in [{n}].",
    ":e(X,Y) :- :p(Y,X), :C(X) in [{m}].",
    ":f(X) :- :d(X), :p(X,X).",
)
PATTERNS = {
    "in": ("?x :p ?y", "?x a :C . ?x :p ?y", "?x :p ?y . FILTER NOT EXISTS {{ ?y a :C }}", "?x a ?y"),
    "below": ("?x :e ?y", "?x a :d . ?y a :d", "?x :e ?y . ?y a :d", "?x a ?y"),
}
TEMPLATES = ("?x :m ?y", "?x a :K", "?y :e ?x", "?x :m ?y . ?y a :K")
ABOVE = (
    ":a(X) :- :m(X,Y) in [{n}].",
    ":a(X) :- :m(X,Y) from made in [{n}], not :d(X).",
    ":b(X,Y) :- :e(X,Y), :K(X) in [{n}].",
    ":b(X,Y) :- :e(X,Y) at T in [{n}], not :m(Y,X).",
    ":a(N) :- N = count{{X : :K(X) in [{n}]}}.",
)
LATER = {
    "above": ("?x a :a", "?x :b ?y", "?x ?y ?z"),
    "made": ("?x :m ?y", "?x a ?y", "?x :e ?y"),
    "in": ("?x :p ?y",),
}
TERMS = tuple(f"<{EX}{name}>" for name in "xyz")


@dataclass(frozen=True)
class Asked:
    """A query over one window."""

    stream: str
    pattern: str
    size: int
    slide: int
    output: str

    def closings(self) -> range:
        return range(self.size - 1, LAST + 1, self.slide)

    def clause(self) -> str:
        return f"FROM NAMED WINDOW :w ON STREAM :{self.stream} [RANGE {self.size}s, SLIDE {self.slide}s]"


@dataclass(frozen=True)
class Case:
    below: str
    made: Asked
    template: str
    above: str
    later: Asked
    events: tuple[Event, ...]


@st.composite
def asked(draw: st.DrawFn, patterns: dict[str, tuple[str, ...]]) -> Asked:
    stream = draw(st.sampled_from(sorted(patterns)))
    pattern = draw(st.sampled_from(patterns[stream])).format()
    output = draw(st.sampled_from(("RSTREAM", "ISTREAM", "DSTREAM")))
    return Asked(stream, pattern, draw(st.integers(1, 4)), draw(st.integers(1, 4)), output)


@st.composite
def rules(draw: st.DrawFn, templates: tuple[str, ...]) -> str:
    chosen = draw(st.lists(st.sampled_from(templates), max_size=4, unique=True))
    return " ".join(each.format(n=draw(st.integers(0, 4)), m=draw(st.integers(0, 2))) for each in chosen)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    term = st.sampled_from(TERMS)
    streamed = st.one_of(
        st.builds(lambda x: Fact(f"<{EX}C>", (x,)), term),
        st.builds(lambda x, y: Fact(f"<{EX}p>", (x, y)), term, term),
    )
    ticks = sorted(draw(st.lists(st.integers(0, LAST), min_size=1, max_size=6, unique=True)))
    facts = st.lists(streamed, min_size=1, max_size=4, unique=True)
    return Case(
        draw(rules(BELOW)),
        draw(asked(PATTERNS)),
        draw(st.sampled_from(TEMPLATES)),
        draw(rules(ABOVE)),
        draw(asked(LATER)),
        tuple(Event(tick, tuple(draw(facts)), "in") for tick in ticks),
    )


def sources(case: Case) -> list[Source]:
    made, later = case.made, case.later
    query = f"{PREFIX} REGISTER {made.output} :made AS CONSTRUCT {{ {case.template} }} {made.clause()}"
    select = f"{PREFIX} REGISTER {later.output} :later AS SELECT * {later.clause()}"
    return [
        Source("below.lars", f"@prefix : <{EX}> . {case.below}"),
        Source("above.lars", f"@prefix : <{EX}> . {case.above}"),
        Source("made.rspql", f"{query} WHERE {{ WINDOW :w {{ {made.pattern} }} }}"),
        Source("later.rspql", f"{select} WHERE {{ WINDOW :w {{ {later.pattern} }} }}"),
    ]


def triple(fact: Fact) -> ox.Quad | None:
    """A fact in the graph of the window; facts that are not about resources are in none."""
    terms = (
        (*fact.terms[:1], fact.predicate, *fact.terms[1:])
        if len(fact.terms) == 2
        else (fact.terms[0], TYPE, fact.predicate)
    )
    if any(term[0] != "<" for term in terms):
        return None
    return ox.Quad(*(ox.NamedNode(term[1:-1]) for term in terms), ox.NamedNode(f"{EX}w"))


def by_sparql(one: Asked, form: str, streams: dict[str, dict[int, set[Fact]]], closing: int) -> list[tuple[str, ...]]:
    store = ox.Store()
    for tick in range(closing - one.size + 1, closing + 1):
        quads = map(triple, streams[one.stream].get(tick, ()))
        store.extend(quad for quad in quads if quad is not None)
    found = store.query(f"{PREFIX} {form} WHERE {{ GRAPH :w {{ {one.pattern} }} }}")
    if isinstance(found, ox.QuerySolutions):
        names = [variable.value for variable in found.variables]
        return [tuple(f"{name}={row[name]}" for name in names) for row in found]
    return [tuple(map(str, (each.subject, each.predicate, each.object))) for each in found]


def changed(one: Asked, now: list[tuple[str, ...]], before: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    match one.output:
        case "ISTREAM":
            return list((Counter(now) - Counter(before)).elements())
        case "DSTREAM":
            return list((Counter(before) - Counter(now)).elements())
    return now


def as_fact(subject: str, predicate: str, thing: str) -> Fact:
    return Fact(thing, (subject,)) if predicate == TYPE else Fact(predicate, (subject, thing))


def bodiless(facts: Iterable[Fact]) -> tuple[Rule, ...]:
    return tuple(Rule(Atom(fact.predicate, tuple(map(Constant, fact.terms)))) for fact in sorted(facts, key=str))


def expected(
    case: Case,
) -> tuple[list[tuple[int, frozenset[str]]], dict[int, list[str]], dict[int, Counter[tuple[str, ...]]]]:
    below, above = (api.load(source, report=lambda _: None) for source in sources(case)[:2])
    snapshots, graphs, rows = [], {}, {}
    streams: dict[str, dict[int, set[Fact]]] = {"in": {}, "below": {}, "made": {}, "above": {}}
    streams["in"] = {event.tick: set(event.facts) for event in case.events}
    graph: list[tuple[str, ...]] = []
    row: list[tuple[str, ...]] = []
    for tick in range(LAST + 1):
        # Both rule files are one program, and each predicate is heard by the names of the files that have rules for it.
        came = [
            (fact, when, name) for name in ("in", "made") for when, facts in streams[name].items() for fact in facts
        ]
        own = [one for one in came if one[2] == "in"]
        lower = set(semantics.output(below, 0, tick, own))
        streams["below"][tick] = lower
        if tick in case.made.closings():
            now = by_sparql(case.made, f"CONSTRUCT {{ {case.template} }}", streams, tick)
            now = sorted(set(now))
            told, graph = changed(case.made, now, graph), now
            streams["made"][tick] = {as_fact(*each) for each in told}
            came += [(fact, tick, "made") for fact in streams["made"][tick]]
            if told or case.made.output == "RSTREAM":
                graphs[tick] = sorted(map(str, streams["made"][tick]))
        program = Program((*above.rules, *bodiless(lower)), interface=Interface(outputs=above.derived))
        upper = {fact for fact in semantics.output(program, 0, tick, came) if fact.signature in above.derived}
        streams["above"][tick] = upper
        if tick in case.later.closings():
            now = by_sparql(case.later, "SELECT *", streams, tick)
            told, row = changed(case.later, now, row), now
            if told or case.later.output == "RSTREAM":
                rows[tick] = Counter(tuple(sorted(one)) for one in told)
        snapshots.append((tick, frozenset(map(str, lower | upper))))
    return snapshots, graphs, rows


@given(cases())
def test_queries_between_rules_are_the_parts_one_after_the_other(case: Case) -> None:
    snapshots, graphs, rows = expected(case)
    changes, made, found = {}, {}, {}
    for one in api.run(
        sources(case), stream=list(case.events), emit="changes", start=0, end=LAST, report=lambda _: None
    ):
        match one:
            case Change():
                changes[one.t] = (frozenset(map(str, one.begin)), frozenset(map(str, one.end)))
            case ConstructedGraph():
                made[one.t] = list(map(str, one.facts))
            case Bindings():
                each = json.loads(str(one))["bindings"]
                found[one.t] = Counter(tuple(sorted(f"{name}={term}" for name, term in row.items())) for row in each)
    assert made == graphs
    assert changes == {tick: (one.begin, one.end) for tick, one in changes_of(snapshots).items()}
    assert found == rows


SETTINGS = Settings(first=0, last=LAST, emit="changes")


@given(cases(), st.sets(st.integers(0, LAST), min_size=1, max_size=2))
def test_queries_between_rules_can_be_stopped_and_resumed(case: Case, breaks: set[int]) -> None:
    part = api.load_part(sources(case), report=lambda _: None)
    assert stopped(part, SETTINGS, case.events, breaks) == stopped(part, SETTINGS, case.events, ())


@given(cases(), st.integers(1, 3), st.sampled_from(LOSSES))
def test_a_bucket_of_spark_answers_as_one_process_does(case: Case, size: int, loss: str) -> None:
    part = api.load_part(sources(case), report=lambda _: None)
    batches = [list(case.events[start : start + size]) for start in range(0, len(case.events), size)]
    alone = api.run(sources(case), stream=list(case.events), emit="changes", start=0, end=LAST, report=lambda _: None)
    assert in_buckets(part, SETTINGS, batches, loss) == list(map(str, alone))
