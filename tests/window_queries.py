"""Random queries over windows, and streams for them, that tests of queries share."""

from collections.abc import Sequence

from hypothesis import strategies as st

from thalweg.diagnostics import Source
from thalweg.model.event import Event
from thalweg.model.fact import Fact

EX = "http://ex/"
LAST = 12
PATTERNS = (
    "WINDOW :w {{ ?x :p ?y }}",
    "WINDOW :w {{ ?x :p ?y . ?x a :C }}",
    "WINDOW :w {{ ?y :p ?x . ?x :p ?z }}",
    "WINDOW :w {{ ?x :p ?y }} WINDOW :v {{ ?x :q ?z }}",
    "WINDOW :w {{ ?x :p ?y }} ?x :k ?z",
    "WINDOW :w {{ ?x :p ?y OPTIONAL {{ ?x :q ?z }} }}",
    "WINDOW :w {{ ?x :p ?y FILTER NOT EXISTS {{ ?x a :C }} }}",
    "WINDOW :w {{ ?x :p ?y }} MINUS {{ ?x :k ?z }}",
    "{{ WINDOW :w {{ ?x :p ?y }} }} UNION {{ WINDOW :v {{ ?x :q ?y }} }}",
    "WINDOW :w {{ ?x :q ?y FILTER(?y > 2) }}",
    "WINDOW :w {{ ?x :q ?y . ?z :q ?y }}",
    "WINDOW :w {{ ?x :q ?y . ?x :p ?z FILTER(?y + 1 > 2) }}",
)
FORMS = (
    "SELECT ?x ?y",
    "SELECT ?x",
    "SELECT DISTINCT ?y",
    "SELECT ?x (COUNT(*) AS ?n) (SUM(?y) AS ?s)",
    "SELECT (COUNT(?y) AS ?n)",
    "CONSTRUCT {{ ?x :made ?y }}",
    "ASK",
)
SUBSELECTS = (
    "{{ SELECT ?x ({value} AS ?n) WHERE {{ {inner} }} GROUP BY ?x }}",
    "{{ SELECT ?x ({value} AS ?n) WHERE {{ {inner} }} GROUP BY ?x HAVING(COUNT(*) > 1) }}",
    "{{ SELECT ?x ?y ({value} AS ?n) WHERE {{ {inner} }} GROUP BY ?x ?y }}",
    "{{ SELECT ?k ({value} AS ?n) WHERE {{ {inner} ?x :k ?k }} GROUP BY ?k }}",
    "{{ SELECT ({value} AS ?n) WHERE {{ {inner} }} }}",
    "WINDOW :v {{ ?x :p ?z }} {{ SELECT ?x ({value} AS ?n) WHERE {{ {inner} }} GROUP BY ?x }}",
    "WINDOW :v {{ ?x :p ?z }} OPTIONAL {{ SELECT ?x ({value} AS ?n) WHERE {{ {inner} }} GROUP BY ?x }}",
    "{{ WINDOW :v {{ ?x :p ?n }} }} UNION {{ SELECT ?x ({value} AS ?n) WHERE {{ {inner} }} GROUP BY ?x }}",
    "{{ SELECT ?x ({value} AS ?n) WHERE {{ {inner} }} GROUP BY ?x }} ?x :k ?k"
    " FILTER NOT EXISTS {{ WINDOW :v {{ ?x a :C }} }}",
    "{{ SELECT ?n (COUNT(?x) AS ?m) WHERE {{"
    " {{ SELECT ?x ({value} AS ?n) WHERE {{ {inner} }} GROUP BY ?x }} }} GROUP BY ?n }}",
)
"""Patterns around a subselect with an aggregate."""
INNER = (
    "WINDOW :w {{ ?x :r ?y }}",
    "WINDOW :w {{ ?y :p ?x . ?y :r ?v }}",
    "WINDOW :w {{ ?o :p ?x . ?o :r ?y FILTER(?y > 0.1) }}",
    "WINDOW :w {{ ?o :p ?y . ?o :r ?v }} ?y :in ?x .",
    "WINDOW :w {{ ?x :p ?y OPTIONAL {{ ?x :r ?v }} }}",
)
AGGREGATES = ("AVG(?y)", "SUM(?v)", "AVG(?v)", "COUNT(*)", "MIN(?y)", "MAX(DISTINCT ?v)", "SUM(DISTINCT ?y)")
DOUBLES = tuple(
    f'"{value}"^^<http://www.w3.org/2001/XMLSchema#double>' for value in ("1.0E-1", "2.0E-1", "3.0E-1", "1.0E16")
)
"""Numbers whose sum depends on the order."""
TERMS = tuple(f"<{EX}{name}>" for name in "abcd")
BACKGROUND = Source(
    "k.ttl",
    " ".join(
        f"{term} <{EX}k> {number} . {term} <{EX}in> {TERMS[number // 2]} ." for number, term in enumerate(TERMS[:3])
    ),
)


def window_query(form: str, pattern: str, sizes: Sequence[tuple[int, int]] = ((3, 1), (3, 1)), end: str = "") -> str:
    clauses = " ".join(
        f"FROM NAMED WINDOW :{name} ON STREAM :{stream} [RANGE {size}s, SLIDE {slide}s]"
        for name, stream, (size, slide) in zip("wv", ("in", "other"), sizes, strict=True)
        if f":{name} {{" in pattern
    )
    return f"{form} {clauses} WHERE {{ {pattern} }} {end}"


@st.composite
def queries(draw: st.DrawFn) -> str:
    form, pattern = (draw(st.sampled_from(texts)).format() for texts in (FORMS, PATTERNS))
    sizes = [(draw(st.integers(1, 4)), draw(st.integers(1, 4))) for _ in range(2)]
    output = draw(st.sampled_from(("RSTREAM", "ISTREAM", "DSTREAM")))
    text = window_query(form, pattern, sizes, "GROUP BY ?x" if "SUM" in form else "")
    return f"PREFIX : <{EX}> REGISTER {output} :result AS {text}"


@st.composite
def subselects(draw: st.DrawFn) -> str:
    """Queries whose pattern has a subselect with an aggregate."""
    value, inner, around = (draw(st.sampled_from(texts)) for texts in (AGGREGATES, INNER, SUBSELECTS))
    pattern = around.format(value=value, inner=inner.format())
    form = draw(st.sampled_from(("SELECT *", "SELECT DISTINCT ?n", "CONSTRUCT { ?x :made ?n }", "ASK")))
    sizes = [(draw(st.integers(1, 4)), draw(st.integers(1, 4))) for _ in range(2)]
    output = draw(st.sampled_from(("RSTREAM", "ISTREAM", "DSTREAM")))
    return f"PREFIX : <{EX}> REGISTER {output} :result AS {window_query(form, pattern, sizes)}"


@st.composite
def events(draw: st.DrawFn) -> list[Event]:
    term = st.sampled_from(TERMS)
    facts = st.one_of(
        st.builds(lambda x, y: Fact(f"<{EX}r>", (x, y)), term, st.sampled_from((*DOUBLES, "1", "0.5"))),
        st.builds(lambda x: Fact(f"<{EX}C>", (x,)), term),
        st.builds(lambda x, y: Fact(f"<{EX}p>", (x, y)), term, term),
        st.builds(lambda x, y: Fact(f"<{EX}q>", (x, y)), term, st.sampled_from(("1", "2", "3", "4", "2.50", "2.5"))),
        st.builds(lambda x, y: Fact("unread", (x, y)), term, term),
    )
    ticks = sorted(draw(st.lists(st.integers(0, LAST), min_size=1, max_size=8)))
    content = st.lists(facts, min_size=1, max_size=5, unique=True)
    return [Event(tick, tuple(draw(content)), draw(st.sampled_from(("in", "other")))) for tick in ticks]
