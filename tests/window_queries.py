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
TERMS = tuple(f"<{EX}{name}>" for name in "abcd")
BACKGROUND = Source("k.ttl", " ".join(f"{term} <{EX}k> {number} ." for number, term in enumerate(TERMS[:3])))


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
def events(draw: st.DrawFn) -> list[Event]:
    term = st.sampled_from(TERMS)
    facts = st.one_of(
        st.builds(lambda x: Fact(f"<{EX}C>", (x,)), term),
        st.builds(lambda x, y: Fact(f"<{EX}p>", (x, y)), term, term),
        st.builds(lambda x, y: Fact(f"<{EX}q>", (x, y)), term, st.sampled_from(("1", "2", "3", "4", "2.50", "2.5"))),
        st.builds(lambda x, y: Fact("unread", (x, y)), term, term),
    )
    ticks = sorted(draw(st.lists(st.integers(0, LAST), min_size=1, max_size=8)))
    content = st.lists(facts, min_size=1, max_size=5, unique=True)
    return [Event(tick, tuple(draw(content)), draw(st.sampled_from(("in", "other")))) for tick in ticks]
