"""Events beside rules are what the semantics of rules and of patterns say, one after the other."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from buckets import LOSSES, in_buckets, stopped
from thalweg import api
from thalweg.answers.event_answers import AbstractEvent, ComplexEvent, EventLine
from thalweg.api.answer_values import Change
from thalweg.dataflow.context import Settings
from thalweg.diagnostics import Source
from thalweg.ir import semantics
from thalweg.ir.nodes import Program
from thalweg.ir.pattern_semantics import Instance, matches, solutions
from thalweg.kinds.events.event_clauses import holds
from thalweg.languages.cascade.event_definitions import NamedEvent
from thalweg.languages.cascade.read_events import read_events
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.model.rdf import RDF_TYPE
from thalweg.testing.evaluators import changes_of

LAST = 9
SPACE = "http://ex/"
ONTOLOGY = "Prefix(:=<http://ex/>) Ontology(Declaration(Class(:p)))"
PREFIX = "@prefix : <http://ex/> ."
BELOW = (
    ":C(X) :- :p(X) in [{n}].",
    ":C(X) :- :q(X,Y), not :p(Y) in [{n}].",
    ":n(X,Y) :- :q(X,Y) in [{n}].",
    ":n(X,X) :- :p(X) in [{n}].",
)
JOINED = "IF {{ EVENT {a} {{ ?x :n ?y }} EVENT :P {{ ?y a :p }} }}"
PATTERNS = (
    "MATCH EVERY :P SEQ :C WITHIN ({n} s)",
    "MATCH EVERY :C SEQ :P WITHIN ({n} s) " + JOINED.format(a=":C"),
    "MATCH EVERY :K AND NOT :P WITHIN ({n} s)",
    "MATCH LAST :K SEQ :K WITHIN ({n} s)",
    "MATCH FIRST :P AND :K " + JOINED.format(a=":K"),
    "MATCH :C",
)
ABOVE = (
    ":r(E) :- :M(E) in [{n}].",
    ":s(X,Y) :- :M_x(E,X), :M_y(E,Y).",
    ":t(X) :- :K(X) in [{n}], not :P(X) in [1].",
    ":t(X) :- :C(X), not :K(X).",
)


@dataclass(frozen=True)
class Case:
    below: str
    pattern: str
    above: str
    events: tuple[Event, ...]


@st.composite
def texts(draw: st.DrawFn, templates: tuple[str, ...]) -> str:
    chosen = draw(st.lists(st.sampled_from(templates), min_size=1, max_size=3, unique=True))
    return " ".join(one.format(n=draw(st.integers(0, 4))) for one in chosen)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    terms = st.sampled_from((f"<{SPACE}a>", f"<{SPACE}b>"))
    facts = st.one_of(
        st.builds(lambda x: Fact(f"<{SPACE}p>", (x,)), terms),
        st.builds(lambda x, y: Fact(f"<{SPACE}q>", (x, y)), terms, terms),
    )
    ticks = sorted(draw(st.lists(st.integers(0, LAST), min_size=1, max_size=6, unique=True)))
    return Case(
        ":C(X) :- :q(X,X). " + draw(texts(BELOW)),
        draw(st.sampled_from(PATTERNS)).replace("{n}", str(draw(st.integers(0, 5)))),
        draw(texts(ABOVE)),
        tuple(Event(tick, tuple(draw(st.lists(facts, min_size=1, max_size=3, unique=True)))) for tick in ticks),
    )


def events_text(case: Case) -> Source:
    named = "NAMED EVENT :P AS :p NAMED EVENT :K AS :C NAMED EVENT :M"
    return Source("patterns.tw", f"PREFIX : <{SPACE}> {named} {{ {case.pattern} }}")


def triples(facts: set[Fact]) -> tuple[tuple[str, str, str], ...]:
    return tuple(
        (one.terms[0], one.predicate, one.terms[1]) if len(one.terms) == 2 else (one.terms[0], RDF_TYPE, one.predicate)
        for one in facts
    )


def instances(case: Case, snapshots: list[set[Fact]]) -> list[Instance]:
    """The abstract events: of the stream, and of what begins to be concluded."""
    found = []
    for event in case.events:
        known = triples(set(event.facts))
        subjects = {one.terms[0] for one in event.facts if one.predicate == f"<{SPACE}p>"}
        found += [Instance(f"<{SPACE}P>", event.tick, event.tick, one, triples=known) for one in subjects]
    for tick, facts in enumerate(snapshots):
        before = snapshots[tick - 1] if tick else set()
        for fact in facts - before:
            if fact.predicate == f"<{SPACE}C>":
                known = triples({one for one in facts if one.terms[0] == fact.terms[0]})
                for name in ("C", "K"):
                    found.append(Instance(f"<{SPACE}{name}>", tick, tick, fact.terms[0], triples=known))
    return found


def lines(case: Case, abstract: list[Instance]) -> list[EventLine]:
    """What is said of events; the conclusions themselves are not among it."""
    defined: dict[str, NamedEvent] = {one.name: one for one in read_events(events_text(case))[0]}
    pattern = defined[f"<{SPACE}M>"].definition
    clauses = {one.event: one for one in pattern.clauses}
    pairs: dict[str, list[tuple[Instance, tuple[tuple[str, str], ...]]]] = {}
    for one in abstract:
        clause = clauses.get(one.event)
        solved = [()] if clause is None else solutions(clause, [one.individual], one.triples)
        pairs.setdefault(one.event, []).extend((one, solution) for solution in solved)
    found: list[EventLine] = [
        AbstractEvent(one.start, one.event, one.individual) for one in abstract if one.event != f"<{SPACE}C>"
    ]
    for match in matches(pattern, pairs, LAST, holds):
        made = Instance(f"<{SPACE}M>", match.start, match.end, events=match.events)
        found.append(ComplexEvent(match.end, made, match.bindings))
    return sorted(found, key=lambda line: (line.t, str(line)))


def program(text: str) -> Program:
    return api.load(Source("rules.lars", f"{PREFIX} {text}"), report=lambda _: None)


def expected(case: Case) -> tuple[list[str], dict[int, tuple[frozenset[str], frozenset[str]]]]:
    arrivals = [(fact, event.tick, None) for event in case.events for fact in event.facts]
    below, above = program(case.below), program(f"{case.below} {case.above}")
    snapshots = [
        set(semantics.output(below, 0, tick, [one for one in arrivals if one[1] <= tick])) for tick in range(LAST + 1)
    ]
    said = lines(case, instances(case, snapshots))
    arrivals += [(fact, line.t, None) for line in said for fact in line.facts()]
    shown = [
        (tick, frozenset(map(str, semantics.output(above, 0, tick, [one for one in arrivals if one[1] <= tick]))))
        for tick in range(LAST + 1)
    ]
    top = [str(line) for line in said if isinstance(line, ComplexEvent) or _is_top(case, line)]
    return top, {tick: (one.begin, one.end) for tick, one in changes_of(shown).items()}


def _is_top(case: Case, line: EventLine) -> bool:
    assert isinstance(line, AbstractEvent)
    return f":{line.event[-2]}" not in case.pattern.split(" IF ")[0].split()


def sources(case: Case) -> list[Source]:
    rules = Source("rules.lars", f"{PREFIX} {case.below} {case.above}")
    return [rules, events_text(case), Source("site.ofn", ONTOLOGY)]


@given(cases())
def test_events_beside_rules_are_their_semantics(case: Case) -> None:
    said, changes = [], {}
    for one in api.run(sources(case), stream=list(case.events), start=0, end=LAST, report=lambda _: None):
        if isinstance(one, Change):
            changes[one.t] = (frozenset(map(str, one.begin)), frozenset(map(str, one.end)))
        else:
            said.append(str(one))
    assert (said, changes) == expected(case)


@given(cases(), st.sets(st.integers(0, LAST), min_size=1, max_size=2))
def test_a_plan_with_events_can_be_stopped_and_resumed(case: Case, breaks: set[int]) -> None:
    part = api.load_part(sources(case), report=lambda _: None)
    asked = Settings(first=0, last=LAST, emit="changes")
    assert stopped(part, asked, case.events, breaks) == stopped(part, asked, case.events, ())


@given(cases(), st.integers(1, 3), st.sampled_from(LOSSES))
def test_a_bucket_of_spark_answers_as_one_process_does(case: Case, size: int, loss: str) -> None:
    part = api.load_part(sources(case), report=lambda _: None)
    asked = Settings(first=0, last=LAST, emit="changes")
    batches = [list(case.events[start : start + size]) for start in range(0, len(case.events), size)]
    options = api.RunOptions(api.Timing(first=0, last=LAST))
    with api.start(part, list(case.events), options, api.Observer(lambda _: None)) as job:
        alone = [str(one) for block in job.pieces() if block is not None for one in block.answers()]
    assert in_buckets(part, asked, batches, loss) == alone
