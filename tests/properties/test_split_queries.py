"""A query whose joins are split over buckets answers as it does in one process, whichever buckets are lost."""

from hypothesis import given
from hypothesis import strategies as st

from buckets import LOSSES, in_buckets
from thalweg import api
from thalweg.dataflow.context import Context, Settings
from thalweg.diagnostics import Source
from thalweg.kinds.queries.join_operator import JoinSpec
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.model.time import Clock

LAST = 12
EX = "http://ex/"
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


@st.composite
def queries(draw: st.DrawFn) -> str:
    form, pattern = (draw(st.sampled_from(some)).format() for some in (FORMS, PATTERNS))
    sizes = [(draw(st.integers(1, 4)), draw(st.integers(1, 4))) for _ in range(2)]
    clauses = " ".join(
        f"FROM NAMED WINDOW :{name} ON STREAM :{stream} [RANGE {size}s, SLIDE {slide}s]"
        for name, stream, (size, slide) in zip("wv", ("in", "other"), sizes, strict=True)
        if f":{name} {{" in pattern
    )
    output = draw(st.sampled_from(("RSTREAM", "ISTREAM", "DSTREAM")))
    end = "GROUP BY ?x" if "SUM" in form else ""
    return f"PREFIX : <{EX}> REGISTER {output} :found AS {form} {clauses} WHERE {{ {pattern} }} {end}"


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
    some = st.lists(facts, min_size=1, max_size=5, unique=True)
    return [Event(tick, tuple(draw(some)), draw(st.sampled_from(("in", "other")))) for tick in ticks]


KNOWN = " ".join(f"{term} <{EX}k> {number} ." for number, term in enumerate(TERMS[:3]))


@given(queries(), events(), st.integers(1, 4), st.sampled_from(LOSSES), st.integers(1, 3))
def test_a_split_query_answers_as_in_one_process(
    text: str, stream: list[Event], size: int, loss: str, partitions: int
) -> None:
    part = api.load_part([Source("q.rspql", text)], background=Source("k.ttl", KNOWN), report=lambda _: None)
    settings = Settings(first=0, last=LAST, emit="changes")
    batches = [stream[start : start + size] for start in range(0, len(stream), size)]
    with api.start(part, stream, api.RunOptions(api.Timing(first=0, last=LAST)), api.Observer(lambda _: None)) as job:
        alone = [str(one) for block in job.pieces() if block is not None for one in block.answers()]
    assert in_buckets(part, settings, batches, loss, partitions) == alone


def test_most_of_them_are_split() -> None:
    split = []
    for pattern in PATTERNS:
        clauses = " ".join(f"FROM NAMED WINDOW :{name} ON STREAM :{name} [RANGE 3s, SLIDE 1s]" for name in "wv")
        text = f"PREFIX : <{EX}> SELECT * {clauses} WHERE {{ {pattern.format()} }}"
        part = api.load_part([Source("q.rspql", text)], report=lambda _: None)
        plan = part.plan(Context(Settings(), Clock(), lambda _: None), 2)
        split.append(any(isinstance(spec, JoinSpec) for spec in plan.operators))
    assert all(split)
