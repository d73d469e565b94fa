"""Versions of PySpark, each in an environment of its own, and the formats that go with it, over kills."""

import json
import os
import random
import subprocess
from contextlib import suppress
from datetime import datetime
from threading import Event, Thread
from time import monotonic, sleep

import pytest

from brokers import make_topic
from spark.pyspark_versions import A_STEP_A_BATCH, NO_LAST_BATCH, PATIENCE, jars, kill, pyspark_version
from thalweg import api
from thalweg.connectors.kafka import kafka_address, library

pytestmark = [pytest.mark.slow, pytest.mark.spark]

KILLS = int(os.environ.get("THALWEG_KILLS", "3"))
TICKS_A_KILL = 400
RULES = "slow(S) :- speed(S,V) in [2], V < 20.\n#show slow/1.\n"
DELTA = [
    "spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog",
]
MADE = """
import json, sys
from pyspark.sql import SparkSession
folder, settings = sys.argv[1], [word.split("=", 1) for word in sys.argv[2:]]
builder = SparkSession.builder.master("local[1]")
for key, value in settings:
    builder = builder.config(key, value)
spark = builder.getOrCreate()
readings = [(f"s{tick % 5}", tick * 13 % 40, tick) for tick in range(200)]
table = spark.createDataFrame(readings, "sensor string, v int, second long")
for part in range(2):
    table.where(f"second div 100 = {part}").write.format("delta").mode("append").save(f"{folder}/readings")
spark.createDataFrame([("s1", "s2"), ("s2", "s4")], "a string, b string").write.format("delta").save(f"{folder}/roads")
"""
TABLES = """
import sys
from pyspark.sql import SparkSession
format, namespace, *settings = sys.argv[1:]
builder = SparkSession.builder.master("local[1]")
for key, value in (word.split("=", 1) for word in settings):
    builder = builder.config(key, value)
spark = builder.getOrCreate()
spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {namespace}")
spark.sql(f"CREATE TABLE {namespace}.readings (fact string, t long) USING {format}")
readings = [(f"speed(s{tick % 5},{tick * 13 % 40})", tick) for tick in range(200)]
for part in range(2):
    rows = spark.createDataFrame(readings[part * 100:part * 100 + 100], "fact string, t long")
    rows.coalesce(1).writeTo(f"{namespace}.readings").append()
columns = "predicate string, op string, args array<string>, t long"
spark.sql(f"CREATE TABLE {namespace}.slow_there ({columns}) USING {format}")
"""
KEPT = """
import json, sys
from pyspark.sql import SparkSession
from thalweg.spark import reason, upsert
folder, settings = sys.argv[1], [word.split("=", 1) for word in sys.argv[2:]]
builder = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", "2")
for key, value in settings:
    builder = builder.config(key, value)
spark = builder.getOrCreate()
spark.sql("CREATE TABLE slow_now (S string, since long) USING delta")
for _ in range(2):
    readings = spark.readStream.format("delta").option("maxFilesPerTrigger", 1).load(f"{folder}/readings")
    slow = reason("slow(S) :- speed(S,V) in [2], V < 20.", readings, map="speed(sensor, v) at second", of="slow/1",
        emit="changes", end=150, until="available").selectExpr("unix_seconds(t) AS t", "op", "S")
    upsert(slow, "slow_now", checkpoint=f"{folder}/kept", availableNow=True).awaitTermination()
history = [row["operation"] for row in spark.sql("DESCRIBE HISTORY slow_now").collect()]
print(json.dumps([sorted(row["S"] for row in spark.table("slow_now").collect()), history]))
"""
ROWS = """
import json, sys
from pyspark.sql import SparkSession
place, settings = sys.argv[1], [word.split("=", 1) for word in sys.argv[2:]]
builder = SparkSession.builder.master("local[1]")
for key, value in settings:
    builder = builder.config(key, value)
spark = builder.getOrCreate()
kind, _, name = place.partition(":")
table = spark.read.format(kind).load(name) if kind != "table" else spark.table(name)
print(json.dumps([row.asDict() for row in table.collect()], default=str))
"""


def rows_of(version, place, words, conf):
    named = ",".join(words[1::2])
    printed = version.python(
        ROWS, place, f"spark.jars={named}", "spark.ui.enabled=false", "spark.sql.session.timeZone=UTC", *conf
    )
    return json.loads(printed.splitlines()[-1])


def changes(lines, last):
    """What embedded answers, a row a change."""
    return sorted(
        (answer.t, op, str(fact))
        for answer in api.run(RULES, stream="\n".join(lines), emit="changes", end=last)
        for op, facts in (("+", answer.begin), ("-", answer.end))
        for fact in facts
    )


def speeds(ticks, sensors=8, seed=4):
    chance = random.Random(seed)
    return [(tick, f"s{sensor}", chance.randrange(60)) for tick in range(ticks) for sensor in range(sensors)]


def over_kills(start, state, commits, seed, last=lambda: None):
    """Kills a run `KILLS` times while it is in a batch or between two, and lets it end then; what it says.

    Each time one or two batches begin first. Every other time it is killed then as soon as the sink has one more of
    the `commits`, most likely before the run knows of it; else at any moment within two seconds. It is the `last` time
    when that is called, which may take as long as batches begin.
    """
    chance = random.Random(seed)
    for number in range(KILLS):
        process = start()
        wait_for(process, state, chance.randint(1, 2))
        before, until = len(commits()), monotonic() + (PATIENCE if number % 2 else chance.uniform(0, 2))
        while process.poll() is None and monotonic() < until and not (number % 2 and len(commits()) > before):
            sleep(0.005)
        # A run that has ended is not hit.
        assert process.poll() is None, process.stderr.read()
        kill(process)
        print(f"kill {number + 1}: {begun(state)} batches, {len(commits())} commits", flush=True)
    last()
    process = start()
    try:
        said = ended(process, state)
    finally:
        kill(process)
    assert process.returncode == 0, said
    print(f"{KILLS} kills, {begun(state)} batches, {len(commits())} commits")
    return said


def ended(process, state):
    """What a run has printed when it has ended; it is given up where no batch begins."""
    before, until = begun(state), monotonic() + PATIENCE
    while True:
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=1)[1]
        assert monotonic() < until, "no batch begins, and the run does not end"
        if begun(state) > before:
            before, until = begun(state), monotonic() + PATIENCE


def begun(state):
    """How many batches a run has begun, over all its starts."""
    return max((int(file.name) + 1 for file in state.glob("spark/offsets/*") if file.name.isdigit()), default=0)


def wait_for(process, state, more):
    """Waits until a run has begun some more batches; the first one of a run that is resumed may have begun before."""
    before, until = begun(state), monotonic() + PATIENCE
    while process.poll() is None and begun(state) < before + more:
        assert monotonic() < until, "no batch begins"
        sleep(0.005)


@pytest.mark.parametrize("version", ["4.1", "4.2", "4.3"])
def test_each_version_answers_rules_over_a_recording_as_embedded(version, tmp_path):
    (tmp_path / "jam.lars").write_text("slow(S) :- speed(S,V) in [2], V < 20.\n")
    readings = "".join(f"speed({sensor},{v}) at {tick}.\n" for tick, sensor, v in speeds(300))
    (tmp_path / "readings.facts").write_text(readings)
    words = ["run", tmp_path / "jam.lars", "--stream", tmp_path / "readings.facts", "--emit", "changes"]
    installed = pyspark_version(version)
    installed.run(*words, "--out", tmp_path / "embedded.jsonl")
    installed.run(*words, "--out", tmp_path / "spark.jsonl", "--runtime", "spark")
    assert (tmp_path / "spark.jsonl").read_text() == (tmp_path / "embedded.jsonl").read_text()
    assert (tmp_path / "spark.jsonl").read_text()


def test_kafka_to_delta_is_exactly_once_however_often_it_is_killed(kafka, tmp_path):
    installed, topic = pyspark_version("4.2"), make_topic(kafka, partitions=2)
    readings = speeds(TICKS_A_KILL * (KILLS + 1))
    last = readings[-1][0] - 10
    (tmp_path / "rules.lars").write_text(RULES)
    sending, hastes, stopped = library(kafka_address(f"kafka://{kafka.address}/{topic}", ())), Event(), Event()

    def send():
        """Sends the readings bit by bit, so that there is always more, and what is left when that is wanted."""
        producer = sending.Producer({"bootstrap.servers": kafka.address})
        for tick, sensor, v in readings:
            if sensor == "s0":
                producer.poll(0)
                hastes.wait(1)
            if stopped.is_set():
                return
            producer.produce(topic, f"speed({sensor},{v}) at {tick}.".encode(), partition=int(sensor[1:]) % 2)
        producer.flush(30)

    stream = f"kafka://{kafka.address}/{topic}?by=partition&group=slow"
    place, state = f"delta:{tmp_path / 'slow'}", tmp_path / "state"
    words = ["run", tmp_path / "rules.lars", "--stream", stream, "--delay", "5", "--to", last, "--emit", "changes"]
    words += ["--out", place, "--checkpoint", state, "--runtime", "spark", "--master", "local[2]"]
    needed, log = jars("4.2", "kafka", "delta"), tmp_path / "slow" / "_delta_log"
    sender = Thread(target=send, daemon=True)
    sender.start()
    try:
        start, commits = lambda: installed.start(*words, *needed), lambda: [*log.glob("*.json")]
        said = over_kills(start, state, commits, seed=1, last=hastes.set)
    finally:
        stopped.set()
        hastes.set()
        sender.join(60)
    assert "0 late, 0 malformed" in said
    rows = rows_of(installed, place, needed, DELTA)
    found = facts_of(rows)
    assert found == changes([f"speed({sensor},{v}) at {tick}." for tick, sensor, v in readings], last)
    assert found


BEGIN = 1_794_729_600
ROWS_A_BATCH = 400
ICEBERG = {
    "spark.sql.catalog.city": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.city.type": "hadoop",
    "spark.sql.catalog.city.warehouse": "file:{folder}/warehouse",
}


def iceberg_settings(folder):
    """A catalog of Iceberg in a folder."""
    return [f"{key}={value.format(folder=folder)}" for key, value in ICEBERG.items()]


def write_parquet(folder, readings, files):
    """Readings as tables, with a row group for each batch."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    columns = zip(*((sensor, v, BEGIN + tick) for tick, sensor, v in readings), strict=True)
    table = pa.table(dict(zip(("sensor", "v", "ts"), map(list, columns), strict=True)))
    length = -(-len(table) // files)
    for number in range(files):
        part = table.slice(number * length, length)
        pq.write_table(part, folder / f"part-{number}.parquet", row_group_size=ROWS_A_BATCH)


def answered(rows):
    """Rows of a table with timestamps as `changes` has them."""
    stamps = [int(datetime.fromisoformat(f"{row['t']}+00:00").timestamp()) - BEGIN for row in rows]
    pairs = zip(stamps, rows, strict=True)
    return sorted((tick, row["op"], f"{row['predicate']}({','.join(row['args'])})") for tick, row in pairs)


def with_conf(settings):
    return [word for setting in settings for word in ("--conf", setting)]


def test_parquet_to_iceberg_is_exactly_once_however_often_it_is_killed(tmp_path):
    # One or two batches begin before each kill, and perhaps one more.
    installed, readings = pyspark_version("4.1"), speeds(ROWS_A_BATCH // 8 * 4 * (KILLS + 2))
    (tmp_path / "rules.lars").write_text(RULES)
    write_parquet(tmp_path / "readings", readings, 4)
    settings, state = iceberg_settings(tmp_path), tmp_path / "state"
    words = ["run", tmp_path / "rules.lars", "--stream", tmp_path / "readings", "--map", "speed(sensor, v) at ts"]
    words += ["--emit", "changes", "--out", "iceberg:city.traffic.slow", "--checkpoint", state]
    words += ["--runtime", "spark", "--master", "local[2]", *with_conf(settings)]
    needed = jars("4.1", "iceberg")
    metadata = tmp_path / "warehouse" / "traffic" / "slow" / "metadata"
    over_kills(
        lambda: installed.start(*words, *needed, changed=A_STEP_A_BATCH),
        state,
        lambda: [*metadata.glob("snap-*.avro")],
        seed=2,
    )
    found = answered(rows_of(installed, "table:city.traffic.slow", needed, settings))
    assert found == changes([f"speed({sensor},{v}) at {tick}." for tick, sensor, v in readings], None)
    assert found
    written = tmp_path / "again.jsonl"
    stream = ["--stream", "iceberg:city.traffic.slow?until=end", "--map", "changed(op) at t"]
    (tmp_path / "again.lars").write_text("seen(O) :- changed(O).\n")
    again = ["run", tmp_path / "again.lars", *stream, "--emit", "changes", "--out", written, "--runtime", "spark"]
    installed.run(*again, "--times", "ticks", *needed, *with_conf(settings))
    ticks = {json.loads(line)["t"] - BEGIN for line in written.read_text().splitlines() if json.loads(line)["begin"]}
    assert min(ticks) == found[0][0]


def test_a_table_of_delta_is_a_stream_and_a_background_and_is_merged_into(tmp_path):
    installed, needed = pyspark_version("4.2"), jars("4.2", "delta")
    settings = [f"spark.jars={','.join(needed[1::2])}", "spark.ui.enabled=false", *DELTA]
    settings += [f"spark.sql.warehouse.dir=file:{tmp_path / 'warehouse'}"]
    installed.python(MADE, tmp_path, *settings)
    (tmp_path / "rules.lars").write_text(
        "slow(S) :- speed(S,V) in [2], V < 20.\nqueue(S,T) :- slow(S), next(S,T), slow(T).\n"
    )
    words = ["run", tmp_path / "rules.lars", "--emit", "changes", "--times", "ticks", "--map"]
    mapped, out = ["speed(sensor, v) at second", "--map", "roads: next(a, b)"], tmp_path / "out.jsonl"
    tables = ["--stream", f"delta:{tmp_path / 'readings'}?until=end", "--background", f"delta:{tmp_path / 'roads'}"]
    installed.run(*words, *mapped, *tables, "--out", out, "--runtime", "spark", "--master", "local[2]", *needed)
    readings = tmp_path / "readings.facts"
    lines = (f"speed(s{tick % 5},{tick * 13 % 40}) at {tick}." for tick in range(200))
    readings.write_text("\n".join(lines))
    (tmp_path / "roads.facts").write_text("next(s1,s2). next(s2,s4).")
    expected = tmp_path / "expected.jsonl"
    installed.run(*words[:-1], "--stream", readings, "--background", tmp_path / "roads.facts", "--out", expected)
    assert out.read_text() == expected.read_text()
    assert "queue" in expected.read_text()
    holding, history = json.loads(installed.python(KEPT, tmp_path, *settings).splitlines()[-1])
    speeds_then = {tick: (f"s{tick % 5}", tick * 13 % 40) for tick in range(148, 151)}
    assert holding == sorted({sensor for sensor, v in speeds_then.values() if v < 20})
    assert "MERGE" in history


CATALOGS = {
    # A catalog of Delta is that of the session, which must outlive the run.
    "delta": [
        *DELTA,
        "spark.sql.sources.default=delta",
        "spark.sql.catalogImplementation=hive",
        "spark.sql.warehouse.dir=file:{folder}/warehouse",
        "spark.hadoop.javax.jdo.option.ConnectionURL=jdbc:derby:;databaseName={folder}/metastore;create=true",
        "spark.driver.extraJavaOptions=-Dderby.stream.error.file={folder}/derby.log",
    ],
    "iceberg": [f"{key}={value}" for key, value in ICEBERG.items()],
}


@pytest.mark.parametrize(
    ("version", "format", "namespace"), [("4.2", "delta", "traffic"), ("4.1", "iceberg", "city.traffic")]
)
def test_tables_of_a_catalog_are_streams_and_outputs(version, format, namespace, tmp_path):
    installed, needed = pyspark_version(version), jars(version, format)
    settings = [setting.format(folder=tmp_path) for setting in CATALOGS[format]]
    opened = [f"spark.jars={','.join(needed[1::2])}", "spark.ui.enabled=false", *settings]
    installed.python(TABLES, format, namespace, *opened)
    (tmp_path / "rules.lars").write_text(RULES)
    stream = f"table:{namespace}.readings?until=end"
    words = ["run", tmp_path / "rules.lars", "--stream", stream, "--emit", "changes", "--runtime", "spark"]
    words += ["--master", "local[2]", *needed, *with_conf(settings)]
    first = ["--out", f"table:{namespace}.slow", "--checkpoint", tmp_path / "first"]
    assert "E407" in installed.run(*words, *first, changed=NO_LAST_BATCH, code=3)
    # It goes on behind what was read; a second run adds to the table of the first, or to one that was there before.
    installed.run(*words, *first)
    for place, state in (("slow", "second"), ("slow_there", "third")):
        installed.run(*words, "--out", f"table:{namespace}.{place}", "--checkpoint", tmp_path / state)
    expected = changes([f"speed(s{tick % 5},{tick * 13 % 40}) at {tick}." for tick in range(200)], None)
    rows = rows_of(installed, f"table:{namespace}.slow", needed, settings)
    runs = {row["run"] for row in rows}
    assert len(runs) == 2
    for run in runs:
        assert facts_of(row for row in rows if row["run"] == run) == expected
    assert facts_of(rows_of(installed, f"table:{namespace}.slow_there", needed, settings)) == expected != []


def facts_of(rows):
    """Rows with ticks as `changes` has them."""
    return sorted((row["t"], row["op"], f"{row['predicate']}({','.join(row['args'])})") for row in rows)
