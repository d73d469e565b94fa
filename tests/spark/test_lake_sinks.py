"""Answers that Spark writes by itself in `run`, and those that come to the driver some at a time."""

import json

import pytest

from brokers import make_topic, read_all, spark_kafka_jars
from spark.commands import invoke, run
from thalweg.answers.answer_columns import FactColumns
from thalweg.connectors.kafka import KafkaTransport
from thalweg.connectors.lake import is_lake, lake_output
from thalweg.diagnostics import RejectedError
from thalweg.model.time import TimeFormat
from thalweg.runtimes.checkpoint_folder import MANIFEST
from thalweg.runtimes.spark.answer_frame import AnswerFrame
from thalweg.runtimes.spark.bucket_answers import ANSWER_SCHEMA
from thalweg.runtimes.spark.lake_sink import LakeSink

RULES = "slow(S) :- speed(S,V) in [2], V < 20.\n#show slow/1.\n"


@pytest.fixture
def readings(tmp_path):
    (tmp_path / "rules.lars").write_text(RULES)
    lines = (f"speed(s{(tick * 7) % 5},{tick * 13 % 40}) at {tick}." for tick in range(80))
    (tmp_path / "readings.facts").write_text("\n".join(lines))
    return [tmp_path / "rules.lars", "--stream", tmp_path / "readings.facts"]


def embedded(words, tmp_path, emit="changes"):
    out = tmp_path / f"{emit}.jsonl"
    run(*words, "--emit", emit, "--out", out)
    return out.read_text()


def as_rows(lines):
    """Lines of changes as rows of a table."""
    answers = map(json.loads, lines.splitlines())
    return sorted(
        (answer["t"], op, fact)
        for answer in answers
        for op, key in (("+", "begin"), ("-", "end"))
        for fact in answer[key]
    )


def as_row(row):
    return row["t"], row["op"], f"{row['predicate']}({','.join(row['args'])})"


def rows_of(table):
    return sorted(map(as_row, table.collect()))


@pytest.mark.usefixtures("in_session")
@pytest.mark.parametrize("emit", ["changes", "snapshot", "intervals"])
def test_answers_that_come_some_at_a_time_are_the_same(emit, readings, tmp_path, monkeypatch):
    from thalweg.runtimes.spark import answer_chunks
    from thalweg.runtimes.spark import run as running

    monkeypatch.setattr(running, "is_one_batch", lambda job: True)
    monkeypatch.setattr(answer_chunks, "CHUNK", 7)
    out = tmp_path / "spark.jsonl"
    run(*readings, "--emit", emit, "--out", out, "--runtime", "spark")
    assert out.read_text() == embedded(readings, tmp_path, emit)


@pytest.mark.usefixtures("in_session")
def test_a_folder_of_parquet_that_a_uri_names_has_each_batch_once(session, readings, tmp_path):
    place = (tmp_path / "slow.parquet").as_uri()
    words = [*readings, "--emit", "changes", "--out", place, "--runtime", "spark"]
    run(*words, "--checkpoint", tmp_path / "state")
    expected = as_rows(embedded(readings, tmp_path))
    table = session.read.parquet(place)
    assert dict(table.dtypes)["args"] == "array<string>"
    assert rows_of(table) == expected
    assert expected
    refused = invoke(*words)
    assert (refused.exit_code, "E408" in refused.stderr) == (1, True)


@pytest.mark.usefixtures("in_session")
def test_a_table_that_is_made_has_each_batch_once_and_one_that_exists_is_added_to(session, readings, tmp_path):
    expected = as_rows(embedded(readings, tmp_path))
    words = [*readings, "--emit", "changes", "--runtime", "spark"]
    session.sql("CREATE TABLE slow_before (t long, op string, predicate string, args array<string>) USING parquet")
    try:
        run(*words, "--out", "table:slow_now")
        assert rows_of(session.table("slow_now")) == expected
        assert session.table("slow_now").columns[-2:] == ["run", "batch"]
        run(*words, "--out", "table:slow_now", "--checkpoint", tmp_path / "second")
        assert rows_of(session.table("slow_now")) == sorted(expected * 2)
        session.sql("INSERT INTO slow_before VALUES (0, '+', 'slow', array('before'))")
        run(*words, "--out", "table:slow_before")
        assert rows_of(session.table("slow_before")) == sorted([(0, "+", "slow(before)"), *expected])
    finally:
        for name in ("slow_now", "slow_before"):
            session.sql(f"DROP TABLE IF EXISTS {name}")


@pytest.mark.usefixtures("in_session")
def test_a_topic_gets_a_message_an_answer_with_a_key_to_compact_by(session, kafka, readings, tmp_path):
    for jar in spark_kafka_jars():
        session.sql(f"ADD JAR '{jar}'")
    topic = make_topic(kafka)
    run(*readings, "--emit", "changes", "--out", f"kafka://{kafka.address}/{topic}", "--runtime", "spark")
    messages = read_all(KafkaTransport(f"kafka://{kafka.address}/{topic}?until=end")).decode().splitlines()
    found = sorted(
        (row["t"], row["op"], f"{row['predicate']}({','.join(row['args'])})") for row in map(json.loads, messages)
    )
    assert found == as_rows(embedded(readings, tmp_path))


@pytest.mark.usefixtures("in_session")
def test_times_are_timestamps_where_they_are_asked_for(session, readings, tmp_path):
    place = (tmp_path / "slow.parquet").as_uri()
    run(*readings, "--emit", "intervals", "--times", "iso", "--out", place, "--runtime", "spark")
    assert dict(session.read.parquet(place).dtypes)["from"] == "timestamp"


def test_a_format_that_a_table_does_not_have_is_refused(readings):
    refused = invoke(*readings, "--out", "delta:/data/t", "--format", "csv", "--runtime", "spark")
    assert (refused.exit_code, "leave `--format` out" in refused.stderr) == (2, True)


@pytest.mark.parametrize("name", ["table:slow_twice", "slow.parquet"])
def test_a_batch_that_is_tried_again_is_written_once(name, session, tmp_path):
    output = lake_output(name if is_lake(name) else f"{tmp_path.as_uri()}/{name}")
    sink = LakeSink(output, AnswerFrame(FactColumns("changes"), TimeFormat(), emit="changes"), 1000)
    rows = [("begin", 3, None, None, "slow(a)"), ("end", 4, None, None, "slow(a)"), ("decided", 4, 0, None, "")]
    batch = session.createDataFrame(rows, ANSWER_SCHEMA)
    try:
        for number in (0, 1, 1, 2):
            # One of the two rows says that a fact has ended.
            assert sink.write(batch, "run", number) == 1
        table = session.table(output.place) if is_lake(name) else session.read.parquet(output.place)
        assert rows_of(table) == sorted([(3, "+", "slow(a)"), (4, "-", "slow(a)")] * 3)
    finally:
        session.sql("DROP TABLE IF EXISTS slow_twice")


SINK_ROWS = [("begin", 3, None, None, "slow(a)"), ("end", 4, None, None, "slow(a)"), ("decided", 4, 0, None, "")]


def table_sink(name):
    return LakeSink(
        lake_output(f"table:{name}"), AnswerFrame(FactColumns("changes"), TimeFormat(), emit="changes"), 1000
    )


def test_a_table_of_users_is_appended_to_by_the_names_of_its_columns(session):
    columns = "args array<string>, predicate string, op string, t long"
    session.sql(f"CREATE TABLE slow_turned ({columns}) USING parquet")
    try:
        sink = table_sink("slow_turned")
        sink.begin(session)
        sink.write(session.createDataFrame(SINK_ROWS, ANSWER_SCHEMA), "one", 0)
        assert rows_of(session.table("slow_turned")) == [(3, "+", "slow(a)"), (4, "-", "slow(a)")]
    finally:
        session.sql("DROP TABLE slow_turned")


def test_a_table_with_other_columns_is_refused_and_nothing_of_it_is_lost(session):
    columns = "t long, op string, predicate string, args array<string>, batch long"
    session.sql(f"CREATE TABLE slow_users ({columns}) USING parquet PARTITIONED BY (batch)")
    try:
        session.sql("INSERT INTO slow_users VALUES (1, '+', 'slow', array('b'), 0)")
        sink = table_sink("slow_users")
        with pytest.raises(RejectedError, match=r"E402.*which has the columns t, op, predicate, args, batch"):
            sink.begin(session)
        with pytest.raises(RejectedError, match="E402"):
            sink.write(session.createDataFrame(SINK_ROWS, ANSWER_SCHEMA), "one", 0)
        assert rows_of(session.table("slow_users")) == [(1, "+", "slow(b)")]
    finally:
        session.sql("DROP TABLE slow_users")


@pytest.mark.usefixtures("in_session")
def test_a_run_that_was_killed_in_its_first_batch_goes_on_and_one_that_is_refused_claims_nothing(
    session, readings, tmp_path, monkeypatch
):
    place = (tmp_path / "slow.parquet").as_uri()
    words = [*readings, "--emit", "changes", "--out", place, "--runtime", "spark", "--checkpoint", tmp_path / "state"]
    write = LakeSink.write

    def write_and_fail(sink, rows, run, batch):
        write(sink, rows, run, batch)
        raise OSError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(LakeSink, "write", write_and_fail)
        assert invoke(*words).exit_code == 3
    run(*words)
    assert rows_of(session.read.parquet(place)) == as_rows(embedded(readings, tmp_path))
    refused = invoke(*words[:-1], tmp_path / "other")
    assert (refused.exit_code, "E408" in refused.stderr) == (1, True)
    assert not (tmp_path / "other" / MANIFEST).exists()


def test_a_table_of_iceberg_is_not_written_by_its_folder(readings):
    refused = invoke(*readings, "--out", "iceberg:s3a://lake/slow", "--runtime", "spark")
    assert (refused.exit_code, "E402" in refused.stderr) == (1, True)
    assert "iceberg:catalog.schema.table" in refused.stderr
