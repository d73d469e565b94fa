"""Real brokers on both ends of a run on Spark: Kafka through Spark's own connector, MQTT received by the driver."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from threading import Thread
from time import monotonic, sleep

import pytest

from brokers import make_topic, read_all, spark_kafka_jars
from spark.commands import invoke
from thalweg import api
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.kafka import KafkaSink, KafkaTransport
from thalweg.connectors.mqtt import MqttSink, MqttTransport
from thalweg.spark import reason

RULES = "slow(S) :- speed(S,V) in [2], V < 20.\nqueue(S,T) :- slow(S), next(S,T), slow(T)."
STREAM = ["speed(a,12) at 1.", "speed(b,9) at 2. next(a,b) at 2.", "speed(c,50) at 3.", "speed(c,5) at 9."]
LISTENING = """
import sys
from thalweg.runtimes.spark.session import open_session
from thalweg.spark import reason, register

source, sink, folder, rules = sys.argv[1:]
session = open_session("local[2]", 2)
register(session)
messages = session.readStream.format("mqtt").option("keep", f"{folder}/kept").load(source)
answers = reason(rules, messages.select("value"), emit="changes").selectExpr("to_json(struct(*)) as value")
(
    answers.writeStream.format("mqtt").option("checkpointLocation", f"{folder}/checkpoint")
    .start(sink).awaitTermination()
)
"""


def told(row):
    """A row of changes as `changes` has it."""
    return row["t"], {"+": "begin", "-": "end"}[row["op"]], f"{row['predicate']}({','.join(row['args'])})"


def changes(events):
    return sorted(
        (answer.t, kind, str(fact))
        for answer in api.run(RULES, stream="\n".join(events), emit="changes")
        for kind, facts in (("begin", answer.begin), ("end", answer.end))
        for fact in facts
    )


def test_kafka_through_sparks_own_connector(kafka, session, tmp_path):
    from pyspark.sql import functions as F  # noqa: N812

    for jar in spark_kafka_jars():
        session.sql(f"ADD JAR '{jar}'")
    source, sink = make_topic(kafka), make_topic(kafka)
    writer = KafkaSink(f"kafka://{kafka.address}/{source}")
    for line in STREAM:
        writer.write(f"{line}\n".encode())
    writer.close()
    broker = {"kafka.bootstrap.servers": kafka.address}
    messages = session.readStream.format("kafka").options(**broker, subscribe=source, startingOffsets="earliest").load()
    answers = reason(RULES, messages, end=20, emit="changes").select(F.to_json(F.struct("*")).alias("value"))
    for _ in range(2):
        writing = answers.writeStream.format("kafka").options(**broker, topic=sink, checkpointLocation=str(tmp_path))
        writing.trigger(availableNow=True).start().awaitTermination()
    lines = read_all(KafkaTransport(f"kafka://{kafka.address}/{sink}?until=end")).decode().splitlines()
    found = sorted(told(row) for row in map(json.loads, lines))
    # The stream goes on, as far as Spark knows: what the last tick brings is not decided yet.
    assert found == [each for each in changes(STREAM) if each[0] < 9]
    assert found


@pytest.mark.slow
def test_mqtt_in_and_out_of_a_run_on_spark(mosquitto, tmp_path):
    source, sink = (f"mqtt://{mosquitto.address}/{tmp_path.name}/{end}" for end in ("in", "out"))
    (tmp_path / "rules.lars").write_text(RULES)
    listener = MqttTransport(f"{sink}?messages={len({each[0] for each in changes(STREAM)})}")
    heard: list[bytes] = []
    listening = Thread(target=lambda: heard.append(b"".join(listener.blocks(Interrupt()))), daemon=True)
    listening.start()
    command = [sys.executable, "-m", "thalweg", "run", str(tmp_path / "rules.lars")]
    options = ["--stream", f"{source}?messages=1", "--out", sink, "--emit", "changes"]
    with subprocess.Popen([*command, *options, "--runtime", "spark"], stderr=subprocess.PIPE) as process:
        writer = MqttSink(source)
        # The broker forgets what comes before anybody listens, so it is told again until somebody has heard it.
        ended = False
        while not ended:
            writer.publish(["\n".join(STREAM).encode()])
            with suppress(subprocess.TimeoutExpired):
                process.wait(1)
                ended = True
        writer.close()
        assert process.returncode == 0, process.stderr.read()
    listening.join(60)
    (lines,) = heard
    found = [
        (row["t"], kind, fact)
        for row in map(json.loads, lines.decode().splitlines())
        for kind in ("begin", "end")
        for fact in row[kind]
    ]
    assert sorted(found) == changes(STREAM)


@pytest.mark.slow
def test_mqtt_is_a_source_and_a_sink_of_any_job_and_nothing_is_lost_when_it_is_killed(mosquitto, tmp_path):
    events = [f"speed(s{tick},{tick % 30}) at {tick}." for tick in range(60)]
    expected = {each for each in changes(events) if each[0] < 59}
    source, sink = (f"mqtt://{mosquitto.address}/{tmp_path.name}/{end}" for end in ("in", "out"))
    # A session that the broker remembers holds what is sent while nobody listens.
    MqttTransport(f"{source}?session={tmp_path.name}").close()
    heard: set[tuple[int, str, str]] = set()
    listener = MqttTransport(sink)

    def listen():
        for block in listener.blocks(Interrupt()):
            heard.update(told(row) for row in map(json.loads, block.splitlines()))

    Thread(target=listen, daemon=True).start()
    arguments = [f"{source}?session={tmp_path.name}", sink, str(tmp_path), RULES]
    writer = MqttSink(source)
    for part, enough in ((events[:30], {min(expected)}), (events[30:], expected)):
        writer.publish(line.encode() for line in part)
        writer.flush()
        with subprocess.Popen([sys.executable, "-c", LISTENING, *arguments], start_new_session=True) as process:
            wait_until_heard(heard, enough, process)
            os.killpg(process.pid, signal.SIGKILL)
    writer.close()
    listener.close()
    assert heard == expected


def wait_until_heard(heard, enough, process):
    until = monotonic() + 300
    while not enough <= heard and process.poll() is None and monotonic() < until:
        sleep(0.05)


@pytest.mark.usefixtures("in_session")
@pytest.mark.parametrize("uri", ["mqtt://127.0.0.1:1/topic", "kafka://127.0.0.1:1/topic"])
def test_without_a_broker_there_is_one_clear_sentence(uri, tmp_path):
    (tmp_path / "rules.lars").write_text(RULES)
    ended = invoke(tmp_path / "rules.lars", "--stream", uri, "--runtime", "spark")
    assert ended.exit_code == 3
    assert "E404" in ended.stderr
    assert "Traceback" not in ended.stderr
