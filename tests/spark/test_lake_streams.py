"""Streams that Spark reads by itself in `run`: topics of Kafka through its own source, and tables."""

import json
import socket
from contextlib import contextmanager
from threading import Event, Thread

import pytest

from brokers import make_topic, spark_kafka_jars
from spark.commands import invoke, run
from thalweg import api
from thalweg.connectors.kafka import kafka_address, library

RULES = "slow(S) :- speed(S,V) in [2], V < 20.\nqueue(S,T) :- slow(S), next(S,T), slow(T)."


@pytest.fixture
def with_kafka(session):
    for jar in spark_kafka_jars():
        session.sql(f"ADD JAR '{jar}'")


def send(broker, topic, lines, partition=-1):
    producer = library(kafka_address(f"kafka://{broker.address}/{topic}", ())).Producer(
        {"bootstrap.servers": broker.address}
    )
    for line in lines:
        producer.produce(topic, line.encode(), partition=partition)
    assert producer.flush(30) == 0


def event(tick):
    return f"speed(s{tick % 7},{tick * 13 % 40}) at {tick}. next(s{tick % 5},s{tick % 3}) at {tick}."


def answers_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def embedded(lines, **options):
    return [
        {"t": answer.t, "begin": sorted(map(str, answer.begin)), "end": sorted(map(str, answer.end))}
        for answer in api.run(RULES, stream="\n".join(lines), emit="changes", **options)
    ]


def words_of(tmp_path, uri, *more):
    rules, out = tmp_path / "rules.lars", tmp_path / "out.jsonl"
    rules.write_text(RULES)
    return [rules, "--stream", uri, "--emit", "changes", "--out", out, "--runtime", "spark", *more]


@pytest.mark.usefixtures("in_session", "with_kafka")
def test_a_topic_is_read_to_its_end_and_answered_as_embedded(kafka, tmp_path):
    lines = [event(tick) for tick in range(60)]
    topic = make_topic(kafka)
    send(kafka, topic, lines)
    run(*words_of(tmp_path, f"kafka://{kafka.address}/{topic}?until=end"))
    assert answers_of(tmp_path / "out.jsonl") == embedded(lines)


@pytest.mark.usefixtures("in_session", "with_kafka")
def test_a_backlog_of_two_partitions_has_nothing_late_because_of_the_order_of_reading(kafka, tmp_path, monkeypatch):
    from thalweg.runtimes.spark import lake_streams

    # Batches take as much of each partition as it has, so one with few messages a tick is far ahead.
    monkeypatch.setitem(lake_streams._LIMITS, "kafka", {"maxOffsetsPerTrigger": "400"})
    dense = [f"speed(s{sensor},{(tick + sensor) % 40}) at {tick}." for tick in range(100) for sensor in range(9)]
    sparse = [f"next(s{tick % 9},s{tick % 7}) at {tick}." for tick in range(100)]
    topic = make_topic(kafka, partitions=2)
    send(kafka, topic, dense, 0)
    send(kafka, topic, sparse, 1)
    late, uri = tmp_path / "late.jsonl", f"kafka://{kafka.address}/{topic}?until=end"
    run(*words_of(tmp_path, f"{uri}&by=partition", "--delay", "5", "--late", late))
    assert late.read_text() == ""
    both = sorted(dense + sparse, key=lambda line: int(line.rpartition(" ")[2][:-1]))
    assert answers_of(tmp_path / "out.jsonl") == embedded(both, delay=5)


@pytest.mark.usefixtures("in_session", "with_kafka")
def test_messages_are_mapped_and_what_is_malformed_and_late_is_reported(kafka, tmp_path):
    topic = make_topic(kafka)
    rows = [{"s": f"s{tick % 3}", "v": tick % 30, "ts": 1_794_729_600 + tick} for tick in range(40)]
    send(kafka, topic, [*map(json.dumps, rows[:20]), "{broken", *map(json.dumps, rows[20:])])
    uri, mapping = f"kafka://{kafka.address}/{topic}?until=end", "speed(s, v) at ts"
    more = ["--map", mapping, "--to", "2026-11-15T08:00:30Z", "--on-error"]
    skipped = run(*words_of(tmp_path, uri, *more, "skip"))
    assert skipped.stderr.count("E301") == 1
    rows_in = tmp_path / "rows.jsonl"
    rows_in.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    words = words_of(tmp_path, rows_in, *more, "skip")
    expected = tmp_path / "expected.jsonl"
    words[words.index("--out") + 1], words[words.index("spark")] = expected, "embedded"
    run(*words)
    assert (tmp_path / "out.jsonl").read_text() == expected.read_text()
    assert expected.read_text()
    for ending in ("until=end", "from=earliest"):
        stopped = invoke(*words_of(tmp_path, f"kafka://{kafka.address}/{topic}?{ending}", *more, "stop"))
        assert (stopped.exit_code, stopped.stderr.count("E301")) == (3, 1)


@pytest.mark.usefixtures("in_session", "with_kafka")
def test_a_topic_that_is_missing_is_one_clear_sentence(kafka, tmp_path):
    failed = invoke(*words_of(tmp_path, f"kafka://{kafka.address}/none?until=end"))
    assert (failed.exit_code, "E404" in failed.stderr) == (3, True)


@pytest.mark.usefixtures("in_session", "with_kafka")
def test_a_topic_that_is_empty_has_no_answers(kafka, tmp_path):
    words = words_of(tmp_path, f"kafka://{kafka.address}/{make_topic(kafka)}?until=end")
    for _ in range(2):
        run(*words, "--checkpoint", tmp_path / "state")
        assert (tmp_path / "out.jsonl").read_text() == ""


@pytest.mark.usefixtures("in_session")
def test_a_table_of_a_catalog_is_a_stream_by_a_mapping_that_is_proposed_where_there_is_none(session, tmp_path):
    rows = [(f"s{tick % 3}", tick * 13 % 40, tick) for tick in range(50)]
    session.createDataFrame(rows, "sensor string, v int, at_second long").write.saveAsTable("readings_of")
    try:
        uri, mapping = "table:readings_of?until=end", ["--map", "speed(sensor, v) at at_second"]
        run(*words_of(tmp_path, uri, *mapping, "--times", "ticks"))
        lines = [f"speed({sensor},{v}) at {tick}." for sensor, v, tick in rows]
        assert answers_of(tmp_path / "out.jsonl") == embedded(lines)
        misfit = invoke(*words_of(tmp_path, uri))
        assert misfit.exit_code == 1
        assert "--map" in misfit.stderr
        assert "sensor" in misfit.stderr
        misspelt = invoke(*words_of(tmp_path, "table:reading_of?until=end", *mapping))
        assert misspelt.exit_code == 1
        assert "did you mean `readings_of`?" in misspelt.stderr
        wrong = invoke(*words_of(tmp_path, f"{uri}&by=device", *mapping))
        assert (wrong.exit_code, "no column `device`" in wrong.stderr) == (1, True)
    finally:
        session.sql("DROP TABLE readings_of")


@pytest.mark.usefixtures("in_session")
@pytest.mark.parametrize("delay", ["0", "100"])
def test_a_run_that_was_killed_before_its_last_batch_closes_the_time_when_it_is_resumed(
    delay, session, tmp_path, monkeypatch
):
    from thalweg.runtimes.spark import run as running

    rows = [(f"s{tick % 3}", tick * 13 % 40, tick) for tick in range(50)]
    session.createDataFrame(rows, "sensor string, v int, at_second long").write.saveAsTable("readings_cut")
    more = ["--map", "speed(sensor, v) at at_second", "--times", "ticks", "--delay", delay]
    words = words_of(tmp_path, "table:readings_cut?until=end", *more, "--checkpoint", tmp_path / "state")
    before = session.conf.get(running.NO_DATA)
    try:
        with monkeypatch.context() as patch:
            # Spark ends as if it had been killed there.
            session.conf.set(running.NO_DATA, "false")
            patch.setattr(running, "NO_DATA", "thalweg.none")
            cut = invoke(*words)
            assert (cut.exit_code, "E407" in cut.stderr) == (3, True)
        run(*words)
        lines = [f"speed({sensor},{v}) at {tick}." for sensor, v, tick in rows]
        assert answers_of(tmp_path / "out.jsonl") == embedded(lines, delay=int(delay))
        assert "W416" in run(*words).stderr
    finally:
        session.conf.set(running.NO_DATA, before)
        session.sql("DROP TABLE readings_cut")


@pytest.mark.usefixtures("in_session", "with_kafka")
def test_a_recording_and_a_topic_are_one_run(kafka, tmp_path):
    lines = [event(tick) for tick in range(40)]
    topic, recorded = make_topic(kafka), tmp_path / "recorded.facts"
    recorded.write_text("\n".join(lines[::2]))
    send(kafka, topic, lines[1::2])
    words = words_of(tmp_path, f"kafka://{kafka.address}/{topic}?until=end", "--stream", recorded)
    run(*words)
    assert answers_of(tmp_path / "out.jsonl") == embedded(lines)


@pytest.mark.usefixtures("in_session")
@pytest.mark.parametrize("idle", [(), ("--idle", "1s")])
def test_a_table_and_what_the_driver_receives_are_one_run(idle, session, tmp_path):
    speeds = [(f"speed(s{tick % 3},{tick * 13 % 40})", tick) for tick in range(60)]
    session.createDataFrame(speeds, "fact string, t long").write.saveAsTable("readings_beside")
    pairs = [f"next(s{tick % 3},s{tick % 2}) at {tick}." for tick in range(60)]
    words = [tmp_path / "rules.lars", "--emit", "changes", "--to", "55", "--runtime", "spark", *idle]
    words += ["--out", tmp_path / "out.jsonl"]
    (tmp_path / "rules.lars").write_text(RULES)
    try:
        with sending("\n".join(pairs).encode()) as address:
            run(*words, "--stream", "table:readings_beside", "--stream", address, "--checkpoint", tmp_path / "state")
            with_end = invoke(*words, "--stream", "table:readings_beside?until=end", "--stream", address)
            assert (with_end.exit_code, "goes on" in with_end.stderr) == (2, True)
    finally:
        session.sql("DROP TABLE readings_beside")
    lines = [f"{fact} at {tick}. {pair}" for (fact, tick), pair in zip(speeds, pairs, strict=True)]
    assert answers_of(tmp_path / "out.jsonl") == embedded(lines, end=55)


@contextmanager
def sending(text):
    """A server that sends a text to its guest, who stays."""
    done = Event()
    with socket.create_server(("127.0.0.1", 0)) as door:

        def welcome():
            guest, _ = door.accept()
            with guest:
                guest.sendall(text)
                done.wait(60)

        Thread(target=welcome, daemon=True).start()
        try:
            yield f"tcp://127.0.0.1:{door.getsockname()[1]}"
        finally:
            done.set()


@pytest.mark.usefixtures("in_session")
def test_a_table_of_a_catalog_is_a_background(session, tmp_path):
    session.createDataFrame([("s1", "s2"), ("s2", "s0")], "a string, b string").write.saveAsTable("neighbours_of")
    try:
        (tmp_path / "rules.lars").write_text(RULES)
        (tmp_path / "in.facts").write_text("speed(s1,5) at 1. speed(s2,6) at 1. speed(s0,50) at 2.")
        words = [tmp_path / "rules.lars", "--stream", tmp_path / "in.facts", "--runtime", "spark", "--to", "2"]
        mapping = ["--background", "table:neighbours_of", "--map", "next(a, b)"]
        ended = run(*words, *mapping, "--format", "jsonl")
        assert '"queue(s1,s2)"' in ended.stdout
        misfit = invoke(*words, "--background", "table:neighbours_of")
        assert (misfit.exit_code, "--map" in misfit.stderr) == (1, True)
    finally:
        session.sql("DROP TABLE neighbours_of")


@pytest.mark.parametrize("name", ["table:city.t", "delta:/data/t", "iceberg:city.t"])
def test_in_this_process_tables_of_spark_are_refused_with_a_way_out(name, tmp_path):
    (tmp_path / "rules.lars").write_text(RULES)
    (tmp_path / "in.facts").write_text("speed(s1,5) at 1.")
    rules, facts = tmp_path / "rules.lars", tmp_path / "in.facts"
    for words in (["--stream", name], ["--stream", facts, "--background", name], ["--stream", facts, "--out", name]):
        refused = invoke(rules, *words)
        assert refused.exit_code == 1
        assert "E402" in refused.stderr
        assert "--runtime spark" in refused.stderr


@pytest.mark.parametrize(
    ("uri", "way_out"),
    [
        ("kafka://127.0.0.1:1/t?by=key", "partition"),
        ("kafka://127.0.0.1:1/t?until=never", "end"),
        ("delta:/data/t?form=new", "until"),
        ("delta:/data/t?until=never", "end"),
    ],
)
def test_wrong_options_of_a_stream_are_named(uri, way_out, tmp_path):
    refused = invoke(*words_of(tmp_path, uri))
    assert (refused.exit_code, "E403" in refused.stderr, way_out in refused.stderr) == (2, True, True)


def test_streams_that_end_and_that_go_on_are_not_mixed(tmp_path):
    words = words_of(tmp_path, "delta:/data/a?until=end", "--stream", "delta:/data/b")
    refused = invoke(*words)
    assert (refused.exit_code, "E403" in refused.stderr) == (2, True)
