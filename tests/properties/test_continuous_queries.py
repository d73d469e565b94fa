"""A query over a stream gives, at each evaluation, what SPARQL gives on the windows as they are defined.

The definition is written down here: which ticks a window shows at an evaluation, and what RSTREAM, ISTREAM and DSTREAM
make of the rows. Each evaluation is answered on a dataset of its own, so that nothing can be left behind in it.
"""

import json
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg import run
from thalweg.diagnostics import Source
from thalweg.kinds.queries.per_window import answer_once
from thalweg.languages.rspql.query import Query
from thalweg.languages.rspql.read_query import read_query
from thalweg.model.dataset import Dataset
from thalweg.model.event import Event
from thalweg.model.fact import Fact

EX = "http://ex.org/"
FACTS = [Fact(f"<{EX}{p}>", (f"<{EX}{s}>", o)) for p in "pq" for s in "ab" for o in (f"<{EX}a>", f"<{EX}b>", "1", "2")]
PATTERNS = [
    "WINDOW :w { ?x :p ?y }",
    "WINDOW :w { ?x :p ?y . ?y :q ?z }",
    "WINDOW :w { ?x :p ?y } OPTIONAL { WINDOW :v { ?x :q ?z } }",
    "WINDOW :w { ?x :p ?y } MINUS { WINDOW :v { ?x :q ?y } }",
    "WINDOW ?w { ?x ?p ?y }",
    "{ WINDOW :w { ?x :p ?y } } UNION { WINDOW :v { ?x :q ?y } }",
    "WINDOW :w { ?x :p ?y FILTER NOT EXISTS { ?x :q ?y } } ?x :is ?k",
    "GRAPH ?g { ?x ?p ?y }",
]
FORMS = ["SELECT ?x ?y", "SELECT *", "SELECT ?y (COUNT(*) AS ?n)", "CONSTRUCT { ?x :r ?y . ?y :s [ :t ?x ] }", "ASK"]
BACKGROUND = "@prefix : <http://ex.org/> . :a :is 1 . :g { :a :p :b . :b :q 2 }"
DATASET = Dataset(
    (Fact(f"<{EX}is>", (f"<{EX}a>", "1")),),
    ((f"<{EX}g>", (Fact(f"<{EX}p>", (f"<{EX}a>", f"<{EX}b>")), Fact(f"<{EX}q>", (f"<{EX}b>", "2")))),),
)

extents = st.tuples(st.integers(1, 6), st.integers(1, 5), st.booleans())
ticks = st.dictionaries(st.integers(3, 16), st.tuples(*[st.lists(st.sampled_from(FACTS), max_size=3)] * 2), min_size=1)


@st.composite
def queries(draw) -> str:
    form, pattern = draw(st.sampled_from(FORMS)), draw(st.sampled_from(PATTERNS))
    windows = [
        f"FROM NAMED WINDOW :{name} ON STREAM :{stream} [RANGE {size}, SLIDE {slide}{' ALIGN' * aligned}]"
        for name, stream, (size, slide, aligned) in zip("wv", draw(st.permutations("st")), draw(pairs), strict=True)
    ]
    group = " GROUP BY ?y" if "COUNT" in form else ""
    output = draw(st.sampled_from(["RSTREAM", "ISTREAM", "DSTREAM"]))
    head = f"PREFIX : <{EX}> REGISTER {output} :q AS {form} {' '.join(windows)}"
    return f"{head} WHERE {{ {pattern} }}{group}"


pairs = st.tuples(extents, extents)


def closings(size: int, slide: int, aligned: bool, first: int, last: int) -> list[int]:
    return [
        tick
        for tick in range(first + size - 1, last + 1)
        if (tick % slide == 0 if aligned else (tick - first - size + 1) % slide == 0)
    ]


def defined(query: Query, events: dict, first: int, last: int) -> list[tuple[int, Counter]]:
    """The rows of each evaluation, by definition."""
    ends = {w.name: closings(w.range, w.slide, w.aligned, first, last) for w in query.windows}
    answers = []
    for tick in sorted({tick for some in ends.values() for tick in some}):
        shown = {}
        for window in query.windows:
            closed = [end for end in ends[window.name] if end <= tick][-1:]
            stream = "st".index(window.stream[-2])
            shown[window.name] = [
                fact for end in closed for at, both in events.items() if end - window.range < at <= end
                for fact in both[stream]
            ]  # fmt: skip
        answers.append((tick, Counter(answer_once(query, shown, DATASET))))
    return answers


def lines(query: Query, events: dict, first: int, last: int) -> list[tuple[int, Counter]]:
    before: Counter = Counter()
    found = []
    for tick, rows in defined(query, events, first, last):
        told = {"RSTREAM": rows, "ISTREAM": rows - before, "DSTREAM": before - rows}[query.output]
        if query.output == "RSTREAM" or told:
            found.append((tick, told))
        before = rows
    return found


def said(query: Query, answer) -> Counter:
    """The rows of an answer."""
    data = json.loads(str(answer))
    if query.form == "ASK":
        return Counter([()] if data["answer"] == (query.output != "DSTREAM") else [])
    return Counter(tuple(row.get(name) for name in query.columns) for row in data["bindings"])


@settings(max_examples=settings().max_examples // 2)
@given(queries(), ticks)
def test_a_run_gives_what_the_definition_gives(text, events):
    query, wrong = read_query(Source("q.rspql", text))
    assert query is not None, wrong
    stream = [Event(tick, tuple(facts), name) for tick in sorted(events)
              for name, facts in zip("st", events[tick], strict=True)]  # fmt: skip
    first, last = 2, 18
    background = Source("background.trig", BACKGROUND)
    answers = list(
        run(Source("q.rspql", text), stream=stream, background=background, start=first, end=last, report=lambda _: None)
    )
    expected = lines(query, events, first, last)
    if query.form == "CONSTRUCT":
        # Several rows may make one triple, so ticks of changes are those of the graph.
        check_graphs(query, answers, defined(query, events, first, last))
        return
    assert [(one.t, said(query, one)) for one in answers] == expected


def check_graphs(query, answers, evaluations) -> None:
    """The triples without blank nodes are exactly those of the rows; each row has a blank node of its own."""
    graphs = {}
    for tick, rows in evaluations:
        known = [dict(zip(query.columns, row, strict=True)) for row in rows.elements()]
        pairs = [(row["x"], row["y"]) for row in known if row["x"] and row["y"]]
        named = {f"<{EX}r>({x},{y})" for x, y in pairs if x[0] != '"'}
        graphs[tick] = named, sum(1 for row in known if row.get("x"))
    before: set[str] = set()
    told = {one.t: set(map(str, one.facts)) for one in answers}
    for tick, (named, number) in graphs.items():
        found = {fact for fact in told.get(tick, ()) if fact.startswith(f"<{EX}r>")}
        expected = {"RSTREAM": named, "ISTREAM": named - before, "DSTREAM": before - named}[query.output]
        assert found == expected
        if query.output == "RSTREAM":
            assert sum(fact.startswith(f"<{EX}t>") for fact in told[tick]) == number
        before = named
