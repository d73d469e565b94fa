"""Streams of facts, read block by block."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.languages.lars import FactReader, read_fact
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.term import constant
from thalweg.model.time import Clock

Told = tuple[int, Fact] | Diagnostic


def told(reader: FactReader, *blocks: str) -> list[Told]:
    """Every fact with its tick, and every diagnostic, in the order in which they come."""
    found: list[Told] = []
    for block in (*blocks, None):
        for item in reader.close() if block is None else reader.feed(block):
            found += [item] if isinstance(item, Diagnostic) else _facts(reader.dictionary, *item)
    return found


def _facts(dictionary: Dictionary, tick: int, batch: Batch) -> list[Told]:
    taken = dict.fromkeys(batch.rows, 0)
    facts: list[Told] = []
    for signature in batch.order:
        start = taken[signature]
        taken[signature] += signature.arity
        facts.append((tick, dictionary.fact(signature.name, list(batch.rows[signature])[start : taken[signature]])))
    assert all(taken[signature] == len(row) for signature, row in batch.rows.items())
    return facts


def read(*blocks: str, clock: Clock = Clock()) -> list[Told]:  # noqa: B008
    return told(FactReader("in.facts", Dictionary(), clock), *blocks)


def shown(*blocks: str) -> list[str]:
    return [
        f"{one.code} {place(one)}" if isinstance(one, Diagnostic) else f"{one[1]} at {one[0]}" for one in read(*blocks)
    ]


def place(found: Diagnostic) -> str:
    line, column = found.span.source.position(found.span.start)
    return f"{found.span.source.name}:{line}:{column}"


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("a(x1,y) at 36.\n", ["a(x1,y) at 36"]),
        ("a(x1,y) at 36.", ["a(x1,y) at 36"]),
        ("a at 3. b(1) at 3. c at 4.\n", ["a at 3", "b(1) at 3", "c at 4"]),
        ("  a( x , 2 )  at  36 . \r\n", ["a(x,2) at 36"]),
        ("a(007,-2,12.50,1e3,-0.5) at 1.\n", ["a(7,-2,12.50,1000,-0.5) at 1"]),
        ('a("b c",<http://e.org/x,y>) at 1.\n', ['a("b c",<http://e.org/x,y>) at 1']),
        ('a("b, c","d) at 9. e(") at 1. f at 1.\n', ['a("b, c","d) at 9. e(") at 1', "f at 1"]),
        ('a("x"@EN,"1"^^<http://e.org/t>) at 1.\n', ['a("x"@en,"1"^^<http://e.org/t>) at 1']),
        ("<http://e.org/p>(s,o) at 1.\n", ["<http://e.org/p>(s,o) at 1"]),
        ("a() at 1.\n", ["a at 1"]),
        ("% no at 1.\n\n// a(b) at 2.\na at 3. % b at 4.\n", ["a at 3"]),
        ("/* a at 1.\nb at 2. */ c at 3.\n", ["c at 3"]),
        ("a(x)at 1.\n", ["a(x) at 1"]),
        ("a(x) /* now */ at 1.\n", ["a(x) at 1"]),
        ("at(in,at) at 1.\n", ["at(in,at) at 1"]),
        ("@prefix ex: <http://e.org/> .\nex:p(ex:s, ex:o-1) at 1.\n",
         ["<http://e.org/p>(<http://e.org/s>,<http://e.org/o-1>) at 1"]),
        ("@prefix : <http://a/> .\np(:x) at 1.\n@prefix : <http://b/> .\np(:x) at 1. p(:x) at 1.\n",
         ["p(<http://a/x>) at 1", "p(<http://b/x>) at 1", "p(<http://b/x>) at 1"]),
        ("", []),
        ("\n\n", []),
    ],
)  # fmt: skip
def test_facts(text: str, facts: list[str]) -> None:
    assert shown(text) == facts
    assert shown(*text) == facts, "the same, one character at a time"


@given(
    st.lists(
        st.from_regex(r"-?[0-9]{1,9}(\.[0-9]{1,9})?", fullmatch=True) | st.sampled_from(["x", "1e3", "-0.0", "007"]),
        min_size=1,
        max_size=5,
    ),
    st.integers(1, 90),
)
def test_many_numbers_at_a_time_are_the_same_as_one(numbers: list[str], times: int) -> None:
    arguments = (numbers * times)[: max(times, len(numbers))]
    together = "".join(f"p(d,{each},{each}) at 1.\n" for each in arguments)
    apart = "".join(f" p(d,{each},{each}) at 1.\n" for each in arguments)
    assert read(together) == read(apart)


def test_facts_of_one_tick_come_together() -> None:
    reader = FactReader("in.facts", Dictionary(), stream="roads")
    items = list(reader.feed("a(1) at 3. b at 3. a(2) at 3.\na(3) at 4.\na(4) at 3.\n"))
    assert [(item[0], item[1].order, item[1].stream) for item in items if isinstance(item, tuple)] == [
        (3, ["a/1", "b/0", "a/1"], "roads"),
        (4, ["a/1"], "roads"),
        (3, ["a/1"], "roads"),
    ]


def test_timestamps_become_ticks() -> None:
    text = 'a at "1970-01-01T00:01:30Z". b at "1970-01-01T00:01:30Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>.\n'
    assert read(text) == [(90, Fact("a")), (90, Fact("b"))]
    assert read(text, clock=Clock(tick_length=10_000)) == [(9, Fact("a")), (9, Fact("b"))]


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ("a(x at 3.", 5),
        ("a(x) at 3", 10),
        ("a(x) at 3.5.", 1),
        ("a(x).", 1),
        ("a(X) at 3.", 1),
        ("a(1+1) at 3.", 1),
        ("a(x) at T.", 1),
        ("a(x) at -1.", 1),
        ("a(x) at x.", 1),
        ('a(x) at "yesterday".', 1),
        ('a(x) at "1969-01-01T00:00:00Z".', 1),
        ("a(x) :- b(x).", 1),
        ("a(ex:x) at 3.", 3),
        ("ex:a(x) at 3.", 1),
        ("a(99999999999999999999) at 3.", 3),
        ("a(1e-999999999) at 3.", 3),
        ("a(x) at 99999999999999999999.", 9),
        ('a("x) at 3.', 3),
        ("@base <x> .", 1),
        ("!", 1),
        ("A(x) at 3.", 1),
    ],
)
def test_a_bad_line_is_told_with_its_place_and_costs_nothing_else(line: str, column: int) -> None:
    text = f"b(1) at 3.\nb(2) at 3. {line} c at 3.\nb(3) at 3.\n"
    column += len("b(2) at 3. ")
    expected = ["b(1) at 3", "b(2) at 3", f"E301 in.facts:2:{column}", "b(3) at 3"]
    # A forgotten dot is only noticed where something else begins.
    if line == "a(x) at 3":
        expected[2] = f"E301 in.facts:2:{column + 1}"
    assert shown(text) == expected
    assert shown(*text.splitlines(keepends=True)) == expected


def test_a_diagnostic_shows_the_line() -> None:
    (found,) = read("a at 1.\nb(x at 3.\n")[1:]
    assert isinstance(found, Diagnostic)
    assert found.render().splitlines()[:4] == [
        "error[E301]: expected `)` or `,`, found `at`",
        "  in.facts:2:5",
        "  2 | b(x at 3.",
        "    |     ^^",
    ]


def test_a_comment_that_is_never_closed() -> None:
    assert shown("a at 1.\n", "/* b at 2.\n", "c at 3.\n") == ["a at 1", "E301 in.facts:2:1"]


def test_nothing_is_coded_before_what_stands_in_front_of_it_is_taken() -> None:
    dictionary = Dictionary()
    items = FactReader("in.facts", dictionary).feed("a(x) at 1.\na(y) at 2.\nb(\na(z) at 2.\n")
    seen = []
    for _ in items:
        seen.append(sorted(dictionary.words))
    assert seen == [["x"], ["x", "y"], ["x", "y"], ["x", "y", "z"]]


terms = st.one_of(
    st.sampled_from(["x", "y1", "road", "<http://e.org/a,b>", "<http://e.org/(>", '"x"@en', "_:b", "7", "-2.50"]),
    st.integers(-(10**18), 10**18).map(str),
    st.text(max_size=5).map(constant),
)
timed = st.tuples(
    st.integers(0, 5),
    st.builds(Fact, st.sampled_from(["p", "at", "<http://e.org/p>"]), st.lists(terms, max_size=3).map(tuple)),
)


@given(st.lists(timed, max_size=12), st.data())
def test_what_is_written_is_read_wherever_the_blocks_end(facts: list[tuple[int, Fact]], data: st.DataObject) -> None:
    breaks = st.sampled_from([" ", "\n", "\n\n", " % note\n", "\t/* a at 1. */ "])
    text = "".join(f"{fact} at {tick}.{data.draw(breaks)}" for tick, fact in facts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    blocks = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert read(*blocks) == facts


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("a(x1,y)", Fact("a", ("x1", "y"))),
        (" a ", Fact("a")),
        ("a.", Fact("a")),
        ('a( "b, c" , 007)', Fact("a", ('"b, c"', "7"))),
        ("<http://e.org/C>(s)", Fact("<http://e.org/C>", ("s",))),
    ],
)
def test_one_fact(text: str, fact: Fact) -> None:
    assert read_fact(text) == fact


@pytest.mark.parametrize(
    "text", ["", "a(", "a(X)", "a(x) at 3", "a :- b", "a b", "ex:a", "a(1+1)", "a(9999999999999999999999)"]
)
def test_one_text_that_is_no_fact(text: str) -> None:
    with pytest.raises(RejectedError) as caught:
        read_fact(text, "argument")
    assert [found.span.source.name for found in caught.value.diagnostics] == ["argument"]


WORDS = [
    "p", "p(x) at 1.", "X", "(", ")", ",", ".", " ", "\n", " at ", "3", "ex:a", "<http://e.org/x>", '"s"', '"', "% ",
    "/*", "*/", "@prefix ex: <http://e.org/> .", "-", ":-",
]  # fmt: skip


@given(st.lists(st.sampled_from(WORDS), max_size=25).map("".join), st.data())
def test_whatever_is_written_gets_the_same_answer_wherever_the_blocks_end(text: str, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(text)))
    assert shown(text[:cut], text[cut:]) == shown(text)


def test_facts_without_a_time_have_that_of_their_arrival() -> None:
    """However they are written: fast and slow ways of reading give the same."""
    text = 'p(a).\n p(b) .\r\nq.\nr("x. y").\np(c). p(d) at @2026-11-15T08:00:01Z.\n% p(e).\np("t(u).\\n").\np(a\n'
    words = Dictionary()
    reader = FactReader("in.facts", words, Clock(), arrival=lambda: 1_794_729_600_250)
    items = [*reader.feed(text), *reader.close()]
    facts = [f"{fact} at {item[0]}" for item in items if isinstance(item, tuple) for fact in item[1].facts(words)]
    noon = "at 1794729600"
    first = [f"p(a) {noon}", f"p(b) {noon}", f"q {noon}", f'r("x. y") {noon}', f"p(c) {noon}"]
    assert facts == [*first, "p(d) at 1794729601", f'p("t(u).\\n") {noon}']
    assert [item.code for item in items if not isinstance(item, tuple)] == ["E301"]
    assert reader.clock.notation.stamped
