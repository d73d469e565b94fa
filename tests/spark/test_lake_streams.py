"""Streams that Spark reads by itself in `run`: topics of Kafka through its own source, and tables."""

import json

import pytest

from brokers import make_topic, spark_kafka_jars
from spark.commands import run
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


@pytest.mark.usefixtures("in_session", "with_kafka")
def test_a_topic_is_read_to_its_end_and_answered_as_embedded(kafka, tmp_path):
    lines = [event(tick) for tick in range(60)]
    topic, out = make_topic(kafka), tmp_path / "out.jsonl"
    send(kafka, topic, lines)
    (tmp_path / "rules.lars").write_text(RULES)
    uri = f"kafka://{kafka.address}/{topic}?until=end"
    words = [tmp_path / "rules.lars", "--stream", uri, "--emit", "changes", "--out", out, "--runtime", "spark"]
    run(*words)
    assert answers_of(out) == embedded(lines)
