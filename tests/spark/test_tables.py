"""Tables of `thalweg.spark.reason`: each has its own watermark, and nothing of them is lost without a word."""

import logging
import os
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark.processes import wait_until
from thalweg.diagnostics import RejectedError, Source
from thalweg.spark import reason

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BOTH = "both(X) :- p(X) in [5], q(X) in [5]."


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[str], str]]:
    """Waits for a warning of the driver's log that begins like this; it comes after the answers."""
    with caplog.at_level(logging.WARNING, "thalweg.spark"):

        def warned(code: str) -> str:
            def found() -> list[str]:
                return [one.getMessage() for one in caplog.records if f"[{code}]" in one.getMessage()]

            wait_until(lambda: bool(found()), f"no {code} is logged: {caplog.messages}", patience=60)
            return found()[-1]

        yield warned


def write(folder: Path, *batches: list[tuple[str, int]], first: int = 0) -> None:
    """A file for each batch; Spark takes them by their age."""
    folder.mkdir(exist_ok=True)
    for number, batch in enumerate(batches, first):
        file = folder / f".{number}.parquet"
        pq.write_table(pa.table({"x": [x for x, _ in batch], "t": [t for _, t in batch]}), file)
        os.utime(file, (1_000 + number, 1_000 + number))
        file.rename(folder / f"{number}.parquet")


def streaming(session: "SparkSession", folder: Path) -> "DataFrame":
    return session.readStream.schema("x string, t long").option("maxFilesPerTrigger", 1).parquet(str(folder))


def collected(answers: "DataFrame", state: Path) -> list[tuple[Any, ...]]:
    """What a query says until all that was there at its start is read."""
    found: list[tuple[Any, ...]] = []
    writing = answers.writeStream.foreachBatch(lambda rows, _: found.extend(map(tuple, rows.collect())))
    writing = writing.option("checkpointLocation", str(state))
    writing.trigger(availableNow=True).start().awaitTermination()
    return sorted(found, key=str)


def test_a_table_that_is_ahead_makes_no_other_late(
    session: "SparkSession", tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # `p` is through before `q` has passed its first ticks.
    write(tmp_path / "p", [(f"x{t}", t) for t in range(50)], [("end", 60)])
    write(tmp_path / "q", [(f"x{t}", t) for t in range(10)], [*((f"x{t}", t) for t in range(10, 50)), ("end", 60)])
    tables = {name: streaming(session, tmp_path / name) for name in "pq"}
    found = collected(reason(BOTH, tables, of="both/1"), tmp_path / "state")
    expected = [(f"x{t}", t, t + 5) for t in range(50)]
    assert [row for row in found if row[0] != "end"] == sorted(expected, key=str)
    assert not caplog.messages


def test_late_facts_are_counted_in_the_log(session: "SparkSession", tmp_path: Path, log: Callable[[str], str]) -> None:
    write(tmp_path / "p", [("a", 20)], [("b", 3), ("c", 4), ("d", 24)])
    answers = reason("r(X) :- p(X).", {"p": streaming(session, tmp_path / "p")}, delay=2)
    assert [row[1] for row in collected(answers, tmp_path / "state")] == [["a"]]
    assert "2 facts were late and ignored: `p(b) at 3` arrived when the watermark was 18" in log("W302")


@pytest.mark.slow
def test_a_quiet_table_rests_after_a_while(session: "SparkSession", tmp_path: Path, log: Callable[[str], str]) -> None:
    write(tmp_path / "p", [("a", 1)], [("b", 30)])
    write(tmp_path / "q", [("a", 1)])
    tables = {name: streaming(session, tmp_path / name) for name in "pq"}
    answers = reason("r(X) :- p(X). r(X) :- q(X).", tables, idle="2 s", late=True, emit="changes")
    found: list[tuple[Any, ...]] = []
    writing = answers.writeStream.foreachBatch(
        lambda rows, _: found.extend((row.op, *(row.args or ()), row.t) for row in rows.collect())
    )
    query = writing.option("checkpointLocation", str(tmp_path / "state")).start()
    try:
        wait_until(lambda: ("-", "a", 2) in found, "a table that is silent holds the others back for ever")
        assert ("+", "b", 30) not in found
        # What a table brings behind the others when it wakes up is late.
        write(tmp_path / "q", [("c", 5), ("d", 40)], first=1)
        write(tmp_path / "p", [("e", 40)], first=2)
        wait_until(lambda: ("+", "b", 30) in found, "the tables do not go on")
        assert ("late", "c", 5) in found
        assert "1 fact was late" in log("W302")
    finally:
        query.stop()


def test_tables_that_stream_stand_alone(session: "SparkSession", tmp_path: Path) -> None:
    write(tmp_path / "p", [("a", 1)])
    still = session.createDataFrame([("a", 1)], "x string, t long")
    with pytest.raises(RejectedError, match="the table `p` streams, and `q` does not"):
        reason(BOTH, {"p": streaming(session, tmp_path / "p"), "q": still})


@pytest.fixture(scope="module")
def speeds(session: "SparkSession") -> "DataFrame":
    return session.createDataFrame([("a", 12, 1), ("b", 30, 2)], "road string, v int, t long")


SLOW = "slow(R) :- speed(R,V), V < 20."


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ("sped", {}, r"E310.*no rule reads `sped/2`, which the table `sped` brings\n.*did you mean `speed/2`"),
        ("light", {}, r"E310.*no rule reads `light/2`.*\n.*rules wait for `speed/2`"),
        ("speed", {"of": "slw/1"}, r"E310.*nothing derives `slw/1`.*\n.*did you mean `slow/1`"),
        ("speed", {"of": "slow/2"}, r"E310.*nothing derives `slow/2`"),
        ("", {"map": "sped(road, v) at t"}, r"E310.*no rule reads `sped/2`, which the table brings"),
        ("", {"map": "speed(road) at t"}, r"E310.*no rule reads `speed/1`.*\n.*another number of arguments"),
        ("", {"map": "speed(rode, v) at t"}, r"`speed\(rode, v\) at t` needs `rode`\n.*`map="),
        ("", {"map": "speed(road, v at t"}, r"E306.*\n  map:1:"),
    ],
)
def test_what_can_be_known_is_said_at_the_call(
    speeds: "DataFrame", table: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(RejectedError, match=message) as raised:
        reason(SLOW, {table: speeds} if table else speeds, **options)
    assert "--map" not in str(raised.value)


def test_another_number_of_columns_is_said_at_the_call(speeds: "DataFrame") -> None:
    with pytest.raises(RejectedError, match=r"E310.*no rule reads `speed/3`"):
        reason(SLOW, {"speed": speeds.selectExpr("*", "v as w")})


def test_an_unknown_predicate_of_answer_sets_is_said_at_the_call(speeds: "DataFrame") -> None:
    pytest.importorskip("clingo")
    with pytest.raises(RejectedError, match=r"E310.*nothing derives `goo/1`.*\n.*there is `go/1`"):
        reason(Source("choice.lp", "1 { go(R) : speed(R,_) } 1. #show go/1."), {"speed": speeds}, of="goo/1")


def test_classes_that_no_axiom_reads_are_said_at_the_call(session: "SparkSession", tmp_path: Path) -> None:
    pytest.importorskip("pyhornedowl")
    text = "Prefix(:=<http://ex.org/>) Ontology(SubClassOf(:Hot :Warm))"
    (tmp_path / "o.ofn").write_text(text)
    table = session.createDataFrame([("a", 1)], "x string, t long")
    with pytest.raises(RejectedError, match=r"E310.*no rule reads `<http://ex.org/hot>/1`"):
        reason(tmp_path / "o.ofn", {"<http://ex.org/hot>": table})


def test_a_column_of_maps_holds_no_values(session: "SparkSession") -> None:
    table = session.createDataFrame(
        [("a", {"v": 12}, [1], 1)], "road string, meta map<string,int>, l array<int>, t long"
    )
    with pytest.raises(RejectedError, match=r"E311.*the column `meta` is a map"):
        reason(SLOW, table, map="speed(road, meta) at t", on_error="stop")
    with pytest.raises(RejectedError, match=r"E311.*the column `l` is an array.*no `l.v`"):
        reason(SLOW, table, map="speed(road, l.v) at t", on_error="stop")
    with pytest.raises(RejectedError, match=r"E311.*the column `l` is an array"):
        reason(SLOW, {"speed": table.select("road", "l", "t")})


def test_names_that_no_rule_reads_are_warned_of(session: "SparkSession", log: Callable[[str], str]) -> None:
    facts = session.createDataFrame([("sped(a,12)", 1), ("sped(b,30)", 2)], "fact string, t long")
    assert reason(SLOW, facts).collect() == []
    assert "`speed/2` never came; `sped/2` did" in log("W304")


def test_a_text_that_is_compared_with_a_number_is_warned_of(session: "SparkSession", log: Callable[[str], str]) -> None:
    table = session.createDataFrame([("a", "n/a", 1)], "road string, v string, t long")
    assert reason(SLOW, {"speed": table}).collect() == []
    assert '`V < 20` compared `"n/a"`, a text, with `20`, a number' in log("W305")
    (row,) = reason(SLOW, {"speed": table}, late=True).collect()
    assert row.op == "warning"
    assert row.message.startswith("warning[W305]")


def test_iris_without_brackets_are_malformed(session: "SparkSession", log: Callable[[str], str]) -> None:
    values = [("http://city.org/main", "http://city.org/slow", "http://city.org/s1", 1)] * 3
    table = session.createDataFrame(values, "s string, p string, o string, t long")
    program = "@prefix c: <http://city.org/> . c:jam(R) :- c:slow(R,S)."
    assert reason(program, table).collect() == []
    warned = log("W312")
    assert "3 rows are not a fact" in warned
    assert "`http://city.org/slow` cannot be a predicate; an IRI stands in angle brackets" in warned
    with pytest.raises(Exception, match="cannot be a predicate"):
        reason(program, table, on_error="stop").collect()


def test_a_mapping_to_a_type_is_a_fact_of_the_class(session: "SparkSession") -> None:
    table = session.createDataFrame(
        [("a", "http://c.org/Hot", 1), ("b", "http://c.org/Cold", 1)], "x string, class string, ts long"
    )
    program = "@prefix c: <http://c.org/> . hot(X) :- c:Hot(X)."
    for mapping, expected in (
        ("rdf:type(x, <http://c.org/Hot>) at ts", {"a", "b"}),
        ("rdf:type(x, <{class}>) at ts", {"a"}),
    ):
        found = reason(program, table, map=mapping, of="hot/1").collect()
        assert {row.X for row in found} == expected


def test_money_is_exact_or_malformed(session: "SparkSession", log: Callable[[str], str]) -> None:
    exact, long = Decimal("123456789012.34"), Decimal("12345678901234567.89")
    values = [("a", exact, date(2026, 11, 15), 1), ("b", long, date(2026, 11, 16), 1)]
    table = session.createDataFrame(values, "account string, amount decimal(38,2), day date, t long")
    program = "paid(A,V,D) :- payment(A,V,D)."
    for found in (
        reason(program, {"payment": table}, of="paid/3"),
        reason(program, table, map="payment(account, amount, day) at t", of="paid/3"),
    ):
        assert [kind for _, kind in found.dtypes[:3]] == ["string", "decimal(38,2)", "date"]
        assert [tuple(row)[:3] for row in found.collect()] == [("a", exact, date(2026, 11, 15))]
    assert "`12345678901234567.89` has more digits than a number can hold" in log("W312")


def test_a_column_with_a_point_in_its_name_is_found(session: "SparkSession") -> None:
    table = session.createDataFrame([("a", 12, 1)], "road string, `speed.kmh` int, t long")
    for found in (
        reason(SLOW, {"speed": table}),
        reason(SLOW, table, map="speed(road, speed.kmh) at t"),
        reason(SLOW, table, map="speed(road, `speed.kmh`) at t"),
    ):
        assert [row.args for row in found.collect()] == [["a"]]


def test_timestamps_stay_timestamps(session: "SparkSession") -> None:
    moment = datetime(2026, 11, 15, 8, 30)
    table = session.createDataFrame([("a", moment, 1)], "x string, since timestamp, t long")
    found = reason("q(X,S) :- p(X,S).", {"p": table}, of="q/2")
    assert found.dtypes[1] == ("S", "timestamp")
    assert moment == found.collect()[0].S
