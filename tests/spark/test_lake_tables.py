"""Tables as lakes have them give on Spark what they give in this process: nested, typed, in folders of partitions."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import thalweg
from thalweg.spark import reason

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RULES = "seen(A,B,C) :- p(A,B,C)."
COLUMNS = (
    "dev string, ts timestamp, amount decimal(12,2), day date, local timestamp_ntz, ok boolean, "
    "meta struct<temp: double, at: timestamp>, r array<struct<id: int, v: double>>, labels map<string, double>"
)
INSTANT = datetime(2026, 11, 15, 8, tzinfo=UTC)


def rows() -> list[tuple[Any, ...]]:
    return [
        (
            f"d{number}",
            INSTANT.replace(second=number),
            Decimal(number) / 4,
            date(2026, 11, 15 + number),
            datetime(2026, 11, 15, 8, number),
            number % 2 == 0,
            {"temp": 20.5 + number, "at": INSTANT} if number % 3 else None,
            [{"id": place, "v": number / 2} for place in range(number)],
            {"a": 1.5 * number} if number != 2 else {},
        )
        for number in range(4)
    ]


MAPPINGS = (
    "p(dev, amount, day) at ts",
    "p(meta.temp, meta.at, ok) at ts",
    "p(dev, r[].id, r[].v) at ts",
    "p(local, labels.a, text(amount)) at ts",
)


def facts(answers: "DataFrame") -> list[str]:
    return sorted(f"{row.predicate}({','.join(row.args)})" for row in answers.collect())


def embedded(stream: Any, mapping: Any) -> list[str]:
    table = thalweg.run(RULES, stream, map=mapping, emit="intervals").to_arrow()
    return sorted(f"{row['predicate']}({','.join(row['args'])})" for row in table.to_pylist())


@pytest.mark.filterwarnings("ignore:.*W307")
def test_nested_and_typed_columns_are_facts_on_both(session: "SparkSession", tmp_path: Path) -> None:
    before = session.conf.get("spark.sql.session.timeZone")
    # The zone of a session is how Spark shows instants, and changes no fact.
    session.conf.set("spark.sql.session.timeZone", "Europe/Rome")
    try:
        frame = session.createDataFrame(rows(), COLUMNS)
        frame.coalesce(1).write.parquet(str(tmp_path / "readings"))
        assert facts(reason(RULES, frame, map=MAPPINGS)) == embedded(tmp_path / "readings", MAPPINGS)
        typed = reason(RULES, frame, map=MAPPINGS[0], of="seen/3")
        assert dict(typed.dtypes)["B"] == "decimal(12,2)"
        assert dict(typed.dtypes)["C"] == "date"
    finally:
        session.conf.set("spark.sql.session.timeZone", before)


@pytest.mark.filterwarnings("ignore:.*W307")
def test_partitions_have_the_types_that_spark_infers(session: "SparkSession", tmp_path: Path) -> None:
    values = [
        ("a=08", "b=1", "c=1e3", "d=2026-11-15", "e=x%2Fy"),
        ("a=9", "b=2.5", "c=7", "d=2026-11-16", "e=__HIVE_DEFAULT_PARTITION__"),
        ("a=3000000000", "b=3", "c=12345678901234567890", "d=2026-11-17", "e=08"),
    ]
    table = pa.table({"dev": ["d1"], "ts": [INSTANT]})
    for number, folders in enumerate(values):
        path = tmp_path.joinpath("lake", *folders)
        path.mkdir(parents=True)
        parquet.write_table(table, path / f"part-{number}.parquet")
    frame = session.read.parquet(str(tmp_path / "lake"))
    mappings = ("p(a, b, d) at ts", "p(text(a), text(b), text(c)) at ts", "p(dev, e, 1) at ts")
    assert facts(reason(RULES, frame, map=mappings)) == embedded(tmp_path / "lake", mappings)
    kinds = {name: kind for name, kind in frame.dtypes if name in "abcde"}
    assert kinds == {"a": "bigint", "b": "double", "c": "decimal(20,0)", "d": "date", "e": "string"}


def test_bad_messages_cost_themselves(session: "SparkSession") -> None:
    messages: list[bytes | None] = [
        json.dumps({"dev": f"d{number}", "v": number, "w": 0, "ts": 1794729600 + number % 7}).encode()
        for number in range(300)
    ]
    messages[100:100] = [b"{", None, b"[1]", b"\xff", json.dumps([{"dev": "x", "v": 1, "w": 2, "ts": 1}]).encode()]
    frame = session.createDataFrame([(message,) for message in messages], "value binary").coalesce(1)
    answers = reason(RULES, frame, map="p(dev, v, w) at ts", late=True).collect()
    assert sum(row.op == "malformed" for row in answers) == 4
    found = {row.args[0] for row in answers if row.op != "malformed"}
    assert found == {"x", *(f"d{number}" for number in range(300))}
