"""A plan of several kinds that is split over stages answers as it does in one process, whichever buckets are lost."""

import re
from dataclasses import dataclass

from hypothesis import event, given, note, reject
from hypothesis import strategies as st

from buckets import LOSSES, Buckets
from thalweg import api
from thalweg.answers.jsonl import lines
from thalweg.dataflow.context import Settings
from thalweg.diagnostics import RejectedError, Source
from thalweg.kinds.answer_sets.solve_options import SolveOptions
from thalweg.model.event import Event
from thalweg.model.fact import Fact

LAST = 9
EX = "http://ex/"
# Rules that read streams only, and some of which have a key.
BELOW = (
    "<d>(X) :- <s>(X) in [{n}].",
    "<d>(X) :- <s>(X) in [{n}], not <q>(X) in [{m}].",
    "<g>(X) :- <r>(X,Y) in [{n}], not <s>(Y) in [{m}].",
    "<g>(Y) :- <r>(X,Y), <d>(X).",
    "<e>(N) :- N = count{{X : <s>(X) in [{n}]}}.",
)
# Statements over streams only, in several pieces.
SOLVED = (
    "<o>(X) :- <s>(X), not <q>(X).",
    "<o>(X) :- <w>(X).",
    "<v>(Y) :- <r>(X,Y).",
    "<v>(X) :- <q>(X), not <r>(X,X).",
)
OPEN = ("{{<u>(X)}} :- <w>(X).", ":- <s>(X), <w>(X).", "<u>(X) ; <o>(X) :- <q>(X).")
# With one of these the program reads what rules conclude.
READING = ("<v>(X) :- <d>(X), <s>(X).", "<o>(X) :- <d>(X), not <q>(X).", "<i>(X,Y) :- <j>(X,Y), <r>(Y,X).")
ABOVE = (
    "<a>(X) :- <o>(X), not <d>(X).",
    "<a>(X) :- <v>(X) in [{n}], <s>(X) in [{m}].",
    "<b>(N) :- N = count{{X : <u>(X)}}.",
    "<b>(X) :- <a>(X) in [{n}], not <g>(X).",
    "<c>(X) :- <d>(X) always in [{n}], <o>(X).",
    # Rules derive, too, what the program gives.
    "<v>(X) :- <q>(X) in [{n}].",
)
BACK = (
    "#record <o>/1. <d>(X) :- <o>(X) before [{k}].",
    "#record <o>/1. <d>(X) :- <o>(X) before [{k}], not <w>(X) in [{m}].",
    "#record <o>/1. <d>(Y) :- <o>(X) before [{k}], <r>(X,Y).",
    "#record <v>/1. <h>(X) :- <v>(X) before [{k}], <s>(X) in [{n}].",
    # By the second argument, or by any.
    "#record <i>/2. <j>(X,Y) :- <i>(X,Y) before [{k}], <s>(Y) in [{n}]. <j>(X,Y) :- <r>(Y,X).",
    "#record <i>/2. <j>(Y,X) :- <i>(X,Y) before [{k}]. <j>(X,Y) :- <r>(Y,X).",
)
OF_EVENTS = ("<c>(X) :- <M_x>(E,X) in [{n}].", "<a>(X) :- <S>(X), not <o>(X).", "<b>(X) :- <K>(X), <d>(X).")
ONTOLOGY = """Prefix(:=<http://ex/>)
Ontology(SubClassOf(:s :t) SubClassOf(ObjectIntersectionOf(:q :w) :t) SubClassOf(:d :e))"""
PATTERNS = (
    "MATCH EVERY :S SEQ :W WITHIN ({n} s) IF {{ EVENT :S {{ ?x a :s }} EVENT :W {{ ?x a :w }} }}",
    "MATCH EVERY :S AND NOT :W WITHIN ({n} s) IF {{ EVENT :S {{ ?x a :s }} }}",
    "MATCH LAST :K SEQ :S WITHIN ({n} s) IF {{ EVENT :S {{ ?x a :s }} }}",
)
MADE = """PREFIX : <http://ex/> REGISTER RSTREAM :made AS CONSTRUCT {{ ?y a :k }}
FROM NAMED WINDOW :w ON STREAM :in [RANGE {n}s, SLIDE {k}s] WHERE {{ WINDOW :w {{ ?x :r ?y }} }}"""
COUNTED = """PREFIX : <http://ex/> REGISTER RSTREAM :counted AS SELECT ?x (COUNT(?y) AS ?n)
FROM NAMED WINDOW :w ON STREAM :in [RANGE {n}s, SLIDE {k}s]
WHERE {{ WINDOW :w {{ ?x :r ?y . ?x a :s }} }} GROUP BY ?x"""
OF_QUERY = "<c>(X) :- <k>(X) in [{n}]."
TERMS = tuple(f"<{EX}{name}>" for name in "xyz")


@dataclass(frozen=True)
class Case:
    sources: tuple[Source, ...]
    asking: SolveOptions
    events: tuple[Event, ...]
    emit: str
    delay: int
    last: int


def spelled(text: str, of_rdf: bool, prefix: str) -> str:
    """Names of predicates: with a prefix in programs about RDF."""
    return re.sub(r"<(\w+)>", lambda found: f"{prefix if of_rdf else ''}{found[1]}", text)


@st.composite
def texts(draw: st.DrawFn, templates: tuple[str, ...], least: int = 0) -> str:
    chosen = draw(st.lists(st.sampled_from(templates), min_size=least, max_size=3, unique=True))
    numbers = {"n": st.integers(1, 4), "m": st.integers(0, 2), "k": st.integers(1, 3)}
    return " ".join(one.format(**{name: draw(some) for name, some in numbers.items()}) for one in chosen)


@st.composite
def events(draw: st.DrawFn, of_rdf: bool, delay: int) -> tuple[Event, ...]:
    """Events in an order in which none is late."""
    name = (lambda one: f"<{EX}{one}>") if of_rdf else (lambda one: one)
    term = st.sampled_from(TERMS if of_rdf else ("x", "y", "1"))
    single = st.builds(lambda one, x: Fact(name(one), (x,)), st.sampled_from("sqw"), term)
    facts = st.one_of(single, single, st.builds(lambda x, y: Fact(name("r"), (x, y)), term, term))
    ticks = draw(st.lists(st.integers(0, LAST), min_size=1, max_size=8))
    arriving = sorted((tick + draw(st.integers(0, delay)), tick) for tick in ticks)
    some = st.lists(facts, min_size=1, max_size=4, unique=True)
    return tuple(Event(tick, tuple(draw(some)), "in") for _, tick in arriving)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    of_rdf = draw(st.booleans())
    kinds = draw(st.sets(st.sampled_from(("solved", "events", "query") if of_rdf else ("solved",)), min_size=1))
    above = ABOVE + (OF_EVENTS if "events" in kinds else ()) + ((OF_QUERY,) if "query" in kinds else ())
    rules = f"{draw(texts(BELOW))} {draw(texts(above))} {draw(st.just('') | texts(BACK, 1))}"
    found = [Source("rules.lars", f"@prefix : <{EX}> . {spelled(rules, of_rdf, ':')}")]
    models = "first"
    if "solved" in kinds:
        several = draw(st.booleans())
        models = draw(st.sampled_from(("brave", "cautious"))) if several else "first"
        reading = draw(texts(READING, 1)) if draw(st.booleans()) else ""
        solved = f"{draw(texts(SOLVED + (OPEN if several else ()), 1))} {reading}"
        header = f"#prefix ex: <{EX}>. " if of_rdf else ""
        found.append(Source("solved.lp", header + spelled(solved, of_rdf, "ex_")))
    if "events" in kinds:
        # Rules may conclude `:d`, and then patterns wait for them.
        known = draw(st.sampled_from(("d", "q", "q")))
        named = f"NAMED EVENT :S AS :t NAMED EVENT :W AS :w NAMED EVENT :K AS :{known}"
        pattern = draw(st.sampled_from(PATTERNS)).format(n=draw(st.integers(1, 5)))
        text = f"PREFIX : <{EX}> {named} NAMED EVENT :M {{ {pattern} }}"
        found += [Source("patterns.tw", text), Source("site.ofn", ONTOLOGY)]
    if "query" in kinds:
        found.append(Source("made.rspql", draw(texts((MADE,), 1))))
        found += [Source("counted.rspql", draw(texts((COUNTED,), 1)))] if draw(st.booleans()) else []
    frames = st.tuples(st.integers(1, 12), st.integers(1, 3))
    counting = st.sampled_from((("1 #", "1 #"), ("3 #", "1 #")))
    window, slide = draw(st.none() | frames | counting) or (None, None)
    delay = draw(st.sampled_from((0, 2)))
    asking = SolveOptions(models, window, slide, workers=0)
    emit = draw(st.sampled_from(("changes", "snapshot") if kinds == {"solved"} else ("changes",)))
    last = draw(st.sampled_from((LAST, LAST, 4)))
    return Case(tuple(found), asking, draw(events(of_rdf, delay)), emit, delay, last)


@st.composite
def loops(draw: st.DrawFn) -> Case:
    """Rules that read the past of an answer set program that reads them."""
    of_rdf = draw(st.booleans())
    below = draw(texts(BELOW[:2])) if draw(st.booleans()) else ""
    rules = f"{below} {draw(texts(BACK, 1))} {draw(texts(ABOVE[:1]))}"
    # In several pieces, and mostly with one answer whatever comes.
    solved = f"{draw(texts(SOLVED))} {draw(texts(READING, 1))} {draw(st.sampled_from(('', '', '', OPEN[1])))}"
    header = f"#prefix ex: <{EX}>. " if of_rdf else ""
    sources = (
        Source("rules.lars", f"@prefix : <{EX}> . {spelled(rules, of_rdf, ':')}"),
        Source("solved.lp", header + spelled(solved, of_rdf, "ex_")),
    )
    window, slide = draw(st.none() | st.tuples(st.integers(1, 12), st.integers(1, 3))) or (None, None)
    delay = draw(st.sampled_from((0, 2)))
    emit = draw(st.sampled_from(("changes", "snapshot")))
    return Case(
        sources, SolveOptions("first", window, slide, workers=0), draw(events(of_rdf, delay)), emit, delay, LAST
    )


RUNS = (
    st.integers(1, 4),
    st.sampled_from(LOSSES),
    st.sampled_from((2, 3, 7, 1)),
    st.sampled_from(("always", "auto")),
    st.booleans(),
)


@given(cases(), *RUNS)
def test_a_plan_that_is_split_answers_as_one_process_does(
    case: Case, size: int, loss: str, partitions: int, split: str, ends_later: bool
) -> None:
    compare(case, size, loss, partitions, split, ends_later)


@given(loops(), *RUNS)
def test_a_loop_through_before_answers_as_one_process_does_with_a_key_or_without(
    case: Case, size: int, loss: str, partitions: int, split: str, ends_later: bool
) -> None:
    compare(case, size, loss, partitions, split, ends_later)


def compare(case: Case, size: int, loss: str, partitions: int, split: str, ends_later: bool) -> None:
    try:
        part = api.load_part(list(case.sources), solving=case.asking, report=lambda _: None)
    except RejectedError as error:
        # Random programs may read what rests on their own answers.
        if {one.code for one in error.diagnostics} != {"E513"}:
            raise
        reject()
    for source in case.sources:
        note(source.text)
    timing = api.Timing(first=0, last=case.last, delay=case.delay)
    with api.start(part, list(case.events), api.RunOptions(timing, case.emit), api.Observer(lambda _: None)) as job:
        alone = [line for answer in job.pieces() if answer is not None for line in lines(answer)]
    settings = Settings(first=0, last=case.last, delay=case.delay, emit=case.emit)
    buckets = Buckets(part, settings, partitions, split=split)
    operators = buckets.job.plan.operators
    fragments = [one for one in buckets.job.fragments if one.width > 1]
    note(f"{[(one.number, one.operators, one.width) for one in buckets.job.fragments]}")
    for fragment in buckets.job.fragments:
        if any(edge.delayed and edge.target in fragment.operators for edge in buckets.job.plan.edges):
            event("a loop with a key" if fragment.width > 1 else "a loop in one bucket")
    event(", ".join(sorted({type(operators[one]).__name__ for part in fragments for one in part.operators})) or "whole")
    found: list[str] = []
    batches = [list(case.events[start : start + size]) for start in range(0, len(case.events), size)]
    batches += [[]] if ends_later else []
    for number, some in enumerate(batches, 1):
        found += (line for answer in buckets.take(some, number == len(batches)) for line in lines(answer))
        buckets.lose(loss)
    # Where the only window is that at the end, what reads its answer is output behind it, in no order of time.
    fits = not isinstance(case.asking.window, str) and (case.asking.window or 0) <= case.last + 1
    assert (found == alone) if fits else (sorted(found) == sorted(alone))
