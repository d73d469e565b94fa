"""Tables with types: decimals, dates, times with and without a zone, nested fields; the same types come out."""

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

import thalweg
from thalweg.answers.answer_columns import FactColumns, cell
from thalweg.answers.table import AnswerTable, ParquetParts
from thalweg.cli import app
from thalweg.diagnostics import RejectedError
from thalweg.model.time import TimeFormat

DAY = date(2026, 11, 15)
MOMENT = datetime(2026, 11, 15, 8, 0, 0, 250_000)
TABLE = pa.table(
    {
        "ts": pa.array([1, 2], pa.int64()),
        "amount": pa.array([Decimal("1.50"), Decimal("12345678901234.25")], pa.decimal128(20, 2)),
        "day": pa.array([DAY, DAY.replace(day=16)]),
        "instant": pa.array([MOMENT.replace(tzinfo=UTC)] * 2, pa.timestamp("us", "UTC")),
        "local": pa.array([MOMENT] * 2, pa.timestamp("us")),
        "ok": [True, False],
        "narrow": pa.array([0.1, 2.5], pa.float32()),
        "meta": [{"temp": 21.5, "day": DAY}, {"temp": 22.0, "day": None}],
        "r": [[{"v": 1}, {"v": 2}], None],
    }
)
EXPECTED = {
    "amount": (pa.float64(), [1.5, 12345678901234.25]),
    "day": (pa.date32(), [DAY, DAY.replace(day=16)]),
    "instant": (pa.timestamp("us", "UTC"), [MOMENT.replace(tzinfo=UTC)]),
    "local": (pa.timestamp("us"), [MOMENT]),
    "ok": (pa.string(), ["true", "false"]),
    "narrow": (pa.float64(), [0.1, 2.5]),
    "meta.temp": (pa.float64(), [21.5, 22.0]),
    "meta.day": (pa.date32(), [DAY]),
    "r[].v": (pa.int64(), [1, 2]),
}
SOURCES: dict[str, Callable[[Path], Any]] = {
    "arrow": lambda folder: TABLE,
    "polars": lambda folder: polars.from_arrow(TABLE),
    "pandas": lambda folder: TABLE.to_pandas(types_mapper=pandas.ArrowDtype),
    "parquet": lambda folder: _written(folder),
}
pytestmark = pytest.mark.filterwarnings("ignore:.*W307")


def _written(folder: Path) -> Path:
    parquet.write_table(TABLE, folder / "readings.parquet")
    return folder / "readings.parquet"


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("column", EXPECTED)
def test_a_type_goes_in_and_comes_out(column, source, tmp_path):
    stream = SOURCES[source](tmp_path)
    answers = thalweg.run("q(X) :- p(X).", stream, map=f"p({column}) at ts", emit="intervals", show="q/1")
    found = answers.to_arrow()
    type_, values = EXPECTED[column]
    assert found.schema.field("X").type == type_
    assert sorted(found.column("X").to_pylist()) == sorted(values)


def test_a_file_of_answers_has_the_types(tmp_path):
    (tmp_path / "rules.lars").write_text("q(X,Y) :- p(X,Y).\n")
    out = tmp_path / "answers.parquet"
    about = ["--map", "p(day, instant) at ts", "--show", "q/2", "--out", str(out)]
    ended = CliRunner().invoke(app, ["run", str(tmp_path / "rules.lars"), "--stream", str(_written(tmp_path)), *about])
    assert ended.exit_code == 0, ended.output
    schema = parquet.read_schema(out)
    assert schema.field("X").type == pa.date32()
    assert schema.field("Y").type == pa.timestamp("us", "UTC")


def test_a_column_that_gets_texts_later_has_its_times_as_texts(tmp_path):
    parts = ParquetParts(tmp_path / "answers")
    parts.begin(AnswerTable(FactColumns("snapshot", ("X",)), TimeFormat()))
    for term in ('"2026-11-15T08:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>', "soon"):
        parts.add([(1, "q", cell(term))])
        parts.settle()
    found = parquet.read_table(tmp_path / "answers")
    assert found.column("X").to_pylist() == ["2026-11-15T08:00:00+00:00", "soon"]


def test_dates_and_texts_in_one_column_are_texts(tmp_path):
    rules = "q(X) :- p(X). q(X) :- r(X)."
    answers = thalweg.run(rules, TABLE, map=["p(day) at ts", "r(ok) at ts"], emit="intervals", show="q/1").to_arrow()
    assert answers.schema.field("X").type == pa.string()
    assert {*answers.column("X").to_pylist()} == {"2026-11-15", "2026-11-16", "true", "false"}


def test_what_is_no_value_is_said(tmp_path):
    for column, what in (("meta", "an object"), ("r", "an array")):
        with pytest.raises(RejectedError, match=f"this is {what}, not a value"):
            list(thalweg.run("q(X) :- p(X).", TABLE, map=f"p({column}) at ts"))


def test_keys_of_maps_are_values():
    maps = pa.array([[("a", 1.5), ("b", 2.5)], [("b", 3.5)], None], pa.map_(pa.string(), pa.float64()))
    table = pa.table({"ts": [1, 2, 3], "labels": maps})
    answers = thalweg.run("q(X) :- p(X).", table, map="p(labels.b) at ts", emit="intervals")
    assert [json.loads(str(answer))["fact"] for answer in answers] == ["q(2.5)", "q(3.5)"]


@pytest.mark.parametrize("column", ["instant", "inside.instant", "many[].instant"])
def test_instants_that_spark_writes_are_instants(column, tmp_path):
    """In 96 bits, which Arrow reads as times without a zone."""
    instants = TABLE.column("instant").combine_chunks()
    inner = pa.StructArray.from_arrays([TABLE.column("local").combine_chunks(), instants], ["local", "instant"])
    many = pa.ListArray.from_arrays([0, 1, 2], inner)
    table = pa.table({"ts": [1, 2], "n": [1, 2], "inside": inner, "instant": instants, "many": many})
    parquet.write_table(table, tmp_path / "readings.parquet", use_deprecated_int96_timestamps=True)
    stream = tmp_path / "readings.parquet"
    answers = thalweg.run("q(X) :- p(X).", stream, map=f"p({column}) at ts", emit="intervals", show="q/1").to_arrow()
    assert answers.column("X").to_pylist() == [MOMENT.replace(tzinfo=UTC)]
