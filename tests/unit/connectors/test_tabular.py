from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg import run
from thalweg.connectors import tabular
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.open import open_stream
from thalweg.connectors.readers import open_reader
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.model.dictionary import Dictionary
from thalweg.model.rdf import RDF_TYPE, XSD
from thalweg.model.time import Clock

CLOCK = Clock()


def shown(items, words):
    return [
        item if isinstance(item, Diagnostic) else (item[0], item[1].stream, [*map(str, item[1].facts(words))])
        for item in items
    ]


def read(text, step=None, clock=CLOCK):
    """Batches of CSV as (tick, stream, facts), and diagnostics; the text comes in blocks of `step` bytes."""
    words = Dictionary()
    reader = open_reader("in.csv", "in", words, clock)
    data = text.encode() if isinstance(text, str) else text
    size = step or len(data) or 1
    items = [item for start in range(0, len(data), size) for item in reader.feed(data[start : start + size])]
    return shown([*items, *reader.finish()], words)


def read_parquet(path, clock=CLOCK):
    words = Dictionary()
    transport = open_stream(str(path))
    reader = open_reader(transport.name, transport.stream, words, clock)
    items = [item for block in transport.blocks(Interrupt()) for item in reader.feed(block)]
    return shown([*items, *reader.finish()], words)


@pytest.fixture
def write(tmp_path):
    def as_parquet(columns, **options):
        pq.write_table(pa.table(columns), tmp_path / "in.parquet", **options)
        return tmp_path / "in.parquet"

    return as_parquet


# CSV -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "s,p,o,t\na,speed,12,3\nb,speed,35,3\n",
        "t,o,p,s\n3,12,speed,a\n3,35,speed,b\n",
        "\n\ufeffs,p,o,t\na,speed,12,3\nb,speed,35,3\n".lstrip(),
        "s, p, o, t, note\r\na, speed, 12, 3,\r\n\r\nb, speed, 35, 1970-01-01T00:00:03Z, x\r\n",
        'fact,t\n"speed(a,12)",3\n"speed( b, 035 ).",3\n',
    ],
)
def test_columns_in_any_order(text):
    assert read(text) == [(3, "in", ["speed(a,12)", "speed(b,35)"])]


@pytest.mark.parametrize(
    ("cell", "term"),
    [
        ("road1", "road1"),
        ("Main Street", '"Main Street"'),
        ('"Main Street, 3"', '"Main Street, 3"'),
        ("12", "12"),
        ("-02.50", "-2.50"),
        ("2014-08-11", '"2014-08-11"'),
        ("<http://ex.org/a>", "<http://ex.org/a>"),
        ('"""x""@EN"', '"x"@en'),
        (f'"""7""^^<{XSD}integer>"', "7"),
        (f'"""7""^^<{XSD}double>"', f'"7"^^<{XSD}double>'),
        ("_:b", "_:in_0_b"),
        ('"""a\\nb"""', '"a\\nb"'),
    ],
)
def test_a_cell_is_a_term_and_any_other_text_a_string(cell, term):
    assert read(f"s,p,o,t\na,p,{cell},1") == [(1, "in", [f"p(a,{term})"])]


def test_a_class_is_a_predicate():
    assert read(f"s,p,o,t\na,{RDF_TYPE},<C>,1\na,{RDF_TYPE},road,1\n") == [(1, "in", ["<C>(a)", "road(a)"])]


def test_a_row_may_name_its_stream():
    text = "fact,t,stream\np,1,north\nq,1,north\np,1,south\np,2,\n"
    assert read(text) == [(1, "north", ["p", "q"]), (1, "south", ["p"]), (2, "in", ["p"])]


@pytest.mark.parametrize(
    ("row", "column", "part"),
    [
        ("a,p,1", 1, "4 columns, but this row has 3"),
        ("a,p,1,2,3", 1, "in quotes"),
        (",p,1,2", 1, "column `s` is empty"),
        ("a,p,,2", 5, "column `o` is empty"),
        ("a,p, ,2", 5, "column `o` is empty"),
        ("a,p,1,", 7, "column `t` is empty"),
        ("a,P,1,2", 3, '`"P"` cannot be a predicate'),
        ("a,3,1,2", 3, "`3` cannot be a predicate"),
        ("a,p,<x,2", 5, "`<x` is not a term"),
        ('a,p,"""x",2', 7, "is not a term"),
        ("a,p,_:,2", 5, "is not a term"),
        ("a,p,1,noon", 7, "neither a tick nor a timestamp"),
        ("a,p,1,-2", 7, "outside the timeline"),
        (f"a,p,{10**30},2", 5, "not a number"),
        ('"a, b",p,1,2.5', 12, "neither a tick"),
        ('a,p,"1,2', 1, "not valid CSV"),
        ('a,p,"1"2,3', 1, "not valid CSV"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(row, column, part):
    before, found, after = read(f"s,p,o,t\na,p,0,1\n{row}\na,p,0,4\n")
    assert (before[0], after[0]) == (1, 4)
    data = found.as_data()
    assert (data["code"], data["file"], data["line"], data["column"]) == ("E301", "in.csv", 3, column)
    assert part in found.message


def test_a_fact_that_is_none_is_told():
    (found,) = read('fact,t\n"p(X)",3\n')
    assert "variables" in found.message
    assert found.as_data()["line"] == 2


@pytest.mark.parametrize(("header", "part"), [("s,p,o", "`t`"), ("a,b", "`t`"), ("fact,s,p,o", "`t`"), ("s,t", "`p`")])
def test_a_table_without_its_columns_is_told_once(header, part):
    (found,) = read(f"{header}\n1,2,3\n1,2,3\n", step=7)
    assert (found.code, found.as_data()["line"]) == ("E301", 1)
    assert part in found.message


CELLS = st.one_of(st.integers(-99, 99).map(str), st.text(st.sampled_from('aB<>" ,_:@^.\\ü1'), min_size=1))


@given(st.lists(CELLS), st.integers(1, 30))
def test_blocks_may_end_anywhere(cells, step):
    lines = ["s,p,o,t", *(f"a,p,{cell},{number}" for number, cell in enumerate(cells))]
    whole, cut = read("\n".join(lines)), read("\n".join(lines), step=step)
    assert cut == whole
    assert len(whole) == len(cells)


@given(st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), min_size=1)))
def test_csv_that_another_library_writes_is_read(texts):
    table = pa.table({"s": ["a"] * len(texts), "p": ["p"] * len(texts), "o": texts, "t": [1] * len(texts)})
    sink = pa.BufferOutputStream()
    pcsv.write_csv(table, sink)
    found = [fact for item in read(bytes(sink.getvalue())) if isinstance(item, tuple) for fact in item[2]]
    expected = []
    for text in filter(str.strip, texts):
        with suppress(ValueError):
            expected.append(f"p(a,{tabular.cell_term(text, 'in')})")
    assert found == expected


# Parquet -------------------------------------------------------------------------------------------------------------


def test_parquet_has_the_same_columns(write):
    path = write({"x": [1, 2], "t": [3, 4], "p": ["speed", "<q>"], "s": ["a", "Main"], "o": [12, 35]})
    assert read_parquet(path) == [(3, "in", ["speed(a,12)"]), (4, "in", ['<q>("Main",35)'])]


def test_parquet_may_hold_facts(write):
    path = write({"fact": ["p(a)", "q", "p("], "t": [1, 1, 2], "stream": ["north", "north", None]})
    batch, found = read_parquet(path)
    assert batch == (1, "north", ["p(a)", "q"])
    assert (found.code, found.as_data()["line"]) == ("E301", 3)


@pytest.mark.parametrize(
    ("values", "terms"),
    [
        ([12, -3], ["12", "-3"]),
        ([12.5, 1e-7], ["12.5", "0.0000001"]),
        ([Decimal("12.50"), Decimal("3.00")], ["12.50", "3.00"]),
        ([True, False], ["true", "false"]),
        (["12", "x y"], ["12", '"x y"']),
        (pa.array(["a", "b"]).dictionary_encode(), ["a", "b"]),
    ],
)
def test_numbers_are_numbers(write, values, terms):
    path = write({"s": ["a", "a"], "p": ["p", "p"], "o": values, "t": [1, 1]})
    assert read_parquet(path) == [(1, "in", [f"p(a,{term})" for term in terms])]


def test_an_integer_and_a_fraction_of_one_value_are_two_terms(write):
    path = write({"s": [12], "p": ["p"], "o": [12.0], "t": [1]})
    assert read_parquet(path) == [(1, "in", ["p(12,12.0)"])]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_go_through_the_clock(write, unit):
    times = pa.array([datetime(1970, 1, 1, 0, 1, 39, tzinfo=UTC)], pa.timestamp(unit, tz="Europe/Vienna"))
    path = write({"fact": ["p"], "t": times})
    assert read_parquet(path, Clock(tick_length=10_000, epoch=20_000)) == [(7, "in", ["p"])]


def test_timestamps_are_rounded_down(write):
    path = write({"fact": ["p", "q"], "t": pa.array([999_999, 1_000_000], pa.timestamp("us"))})
    assert [tick for tick, _, _ in read_parquet(path)] == [0, 1]


def test_days_and_texts_are_times_too(write):
    assert read_parquet(write({"fact": ["p"], "t": [date(1970, 1, 2)]}))[0][0] == 86_400
    assert read_parquet(write({"fact": ["p"], "t": ["1970-01-01T00:00:05Z"]}))[0][0] == 5


@pytest.mark.parametrize(
    ("column", "value", "place", "part"),
    [
        ("s", None, 1, "`s` is empty"),
        ("o", [1], 5, "neither a text nor a number"),
        ("o", float("nan"), 5, "not a number"),
        ("o", date(2014, 8, 11), 5, "neither a text nor a number"),
        ("p", 3, 3, "cannot be a predicate"),
        ("t", None, 7, "`t` is empty"),
        ("t", 1.5, 7, "neither a tick"),
        ("t", -1, 7, "outside the timeline"),
        ("t", datetime(1960, 1, 1, tzinfo=UTC), 7, "outside the timeline"),
    ],
)
def test_what_is_wrong_in_a_row_is_told(write, column, value, place, part):
    good = {"s": ["a"], "p": ["p"], "o": ["1"], "t": [1]}
    (found,) = read_parquet(write({**good, column: [value]}))
    data = found.as_data()
    assert (data["code"], data["line"], data["column"]) == ("E301", 1, place)
    assert part in found.message


@pytest.mark.parametrize("name", [b"north", 3])
def test_a_stream_is_named_by_a_text(write, name):
    (found,) = read_parquet(write({"fact": ["p"], "t": [1], "stream": [name]}))
    assert (found.code, found.message) == ("E301", f"`{name}` is not the name of a stream")


def test_parquet_without_its_columns_is_told_once(write, monkeypatch):
    monkeypatch.setattr(tabular, "ROWS", 1)
    (found,) = read_parquet(write({"s": ["a", "b"], "t": [1, 2]}))
    assert "no column `p` and no column `o`" in found.message


def test_a_table_comes_in_blocks_of_rows(write, monkeypatch):
    monkeypatch.setattr(tabular, "ROWS", 2)
    path = write({"fact": ["p", "q", "r", "p"], "t": [1, 1, 1, 2], "other": [0, 0, 0, 0]}, row_group_size=3)
    assert len(list(open_stream(str(path)).blocks(Interrupt()))) > 1
    assert [fact for _, _, found in read_parquet(path) for fact in found] == ["p", "q", "r", "p"]


def test_an_interrupt_ends_a_table_between_blocks(write, monkeypatch):
    monkeypatch.setattr(tabular, "ROWS", 1)
    interrupt = Interrupt()
    blocks = open_stream(str(write({"fact": ["p", "q"], "t": [1, 2]}))).blocks(interrupt)
    next(blocks)
    interrupt.ask()
    assert list(blocks) == []


def test_what_is_no_parquet_is_told_before_anything_runs(tmp_path):
    (tmp_path / "in.parquet").write_text("fact,t\np,1\n")
    with pytest.raises(RejectedError, match="E401"):
        open_stream(str(tmp_path / "in.parquet"))
    with pytest.raises(RejectedError, match="E401"):
        open_stream(str(tmp_path / "nowhere.parquet"))


def test_a_program_runs_on_tables(write, tmp_path):
    path = write({"s": ["a", "b"], "p": ["speed", "speed"], "o": [12, None], "t": [3, 4]})
    (tmp_path / "in.csv").write_text("s,p,o,t\na,speed,12,3\nb,speed,,4\n")
    for stream in (path, tmp_path / "in.csv"):
        found = []
        answers = run("slow(S) :- speed(S,V), V < 20.", stream=stream, on_error="skip", report=found.append)
        assert [str(answer) for answer in answers] == ['{"t":3,"begin":["slow(a)"],"end":[]}']
        assert [one.code for one in found] == ["E301"]
