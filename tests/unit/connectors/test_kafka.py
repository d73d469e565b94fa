import os
import signal
import subprocess
import sys
import uuid
from datetime import UTC, datetime, timedelta
from time import monotonic, sleep

import pytest
from typer.testing import CliRunner

import thalweg
from brokers import free_port, make_topic, read_all, run_kafka
from thalweg import api
from thalweg.cli import app
from thalweg.connectors import broker
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.kafka import KafkaSink, KafkaTransport
from thalweg.connectors.open import open_output, open_stream
from thalweg.diagnostics import FailedError, RejectedError

RULE = "slow(S) :- speed(S,V), V < 20."
COMMAND = [sys.executable, "-m", "thalweg", "run"]


@pytest.fixture
def topic(kafka):
    return make_topic(kafka)


def uri(server, topic, options=""):
    return f"kafka://{server.address}/{topic}{options}"


def send(server, topic, *messages, partition=0):
    sink = KafkaSink(uri(server, topic))
    for message in messages:
        sink._producer.produce(topic, message, partition=partition)
    sink.close()


def read(uri):
    return read_all(KafkaTransport(uri))


def until(condition):
    deadline = monotonic() + 20
    while not condition():
        assert monotonic() < deadline, "it never happens"
        sleep(0.02)


def test_what_is_there_is_read_to_its_end(kafka, topic):
    send(kafka, topic, b"p at 3.", b"q at 3.\nq at 4.\n", None, b"p at 5.")
    assert read(uri(kafka, topic, "?until=end")) == b"p at 3.\nq at 3.\nq at 4.\np at 5.\n"


def test_an_empty_topic_ends_at_once(kafka, topic):
    assert read(uri(kafka, topic, "?until=end")) == b""


def test_the_end_is_where_it_was_when_reading_began(kafka, topic):
    send(kafka, topic, b"p at 1.")
    transport = KafkaTransport(uri(kafka, topic, "?until=end"))
    send(kafka, topic, b"p at 2.")
    # The library has heard of the second message too, so that it is we who must leave it.
    partition = transport._kafka.TopicPartition(topic, 0)
    until(lambda: transport._consumer.get_watermark_offsets(partition, cached=True)[1] == 2)
    assert read_all(transport) == b"p at 1.\n"


def test_all_partitions_are_read_each_in_its_order(kafka):
    topic = make_topic(kafka, partitions=3)
    for partition in (0, 2):
        send(kafka, topic, *(b"p(%d,%d) at 1." % (partition, n) for n in range(500)), partition=partition)
    lines = read(uri(kafka, topic, "?until=end")).splitlines()
    assert len(lines) == 1000
    for partition in (0, 2):
        assert [line for line in lines if line.startswith(b"p(%d," % partition)] == [
            b"p(%d,%d) at 1." % (partition, n) for n in range(500)
        ]


def test_a_recording_is_not_live_and_a_stream_is(kafka, topic):
    for options, live in (("", True), ("?until=end", False), ("?messages=3", True)):
        transport = KafkaTransport(uri(kafka, topic, options))
        assert transport.live is live
        assert transport.stream == topic
        transport.close()


def test_it_ends_after_the_messages_that_were_asked_for(kafka, topic):
    send(kafka, topic, b"p at 1.", b"p at 2.", b"p at 3.")
    assert read(uri(kafka, topic, "?messages=1")) == b"p at 1.\n"
    assert read(uri(kafka, topic, "?messages=2")) == b"p at 1.\np at 2.\n"


def test_messages_come_while_they_are_sent(kafka, topic):
    transport = KafkaTransport(uri(kafka, topic, "?messages=2"))
    blocks = transport.blocks(Interrupt())
    for line in (b"p at 1.", b"p at 2."):
        send(kafka, topic, line)
        assert next(blocks) == line + b"\n"
    assert list(blocks) == []


def test_from_latest_the_past_is_past(kafka, topic):
    send(kafka, topic, b"p at 1.")
    transport = KafkaTransport(uri(kafka, topic, "?from=latest&messages=1"))
    send(kafka, topic, b"p at 2.")
    assert read_all(transport) == b"p at 2.\n"


def test_a_group_goes_on_where_it_left_off(kafka, topic):
    group = f"g{uuid.uuid4().hex}"
    send(kafka, topic, b"p at 1.", b"p at 2.", b"p at 3.")
    assert read(uri(kafka, topic, f"?group={group}&messages=2")) == b"p at 1.\np at 2.\n"
    assert read(uri(kafka, topic, f"?group={group}&until=end")) == b"p at 3.\n"
    assert read(uri(kafka, topic, f"?group={group}&until=end")) == b""
    assert read(uri(kafka, topic, "?messages=1")) == b"p at 1.\n"


@pytest.mark.parametrize("message", ["speed(a,12) at {}.", '{{"t":{},"facts":["speed(a,12)"]}}'])
def test_a_program_runs_on_either_format_and_its_answers_are_messages(kafka, topic, message):
    send(kafka, topic, *(message.format(tick).encode() for tick in (3, 5)))
    answers = make_topic(kafka, partitions=4)
    sink = open_output(uri(kafka, answers))
    for answer in api.run(RULE, stream=uri(kafka, topic, "?until=end")):
        sink.write(f"{answer}\n".encode())
    sink.close()
    assert read(uri(kafka, answers, "?until=end")).splitlines() == [
        b'{"t":3,"begin":["slow(a)"],"end":[]}',
        b'{"t":4,"begin":[],"end":["slow(a)"]}',
        b'{"t":5,"begin":["slow(a)"],"end":[]}',
    ]


def test_many_lines_keep_their_order_also_where_there_are_many_partitions(kafka):
    topic = make_topic(kafka, partitions=4)
    lines = [b"p(%d) at %d." % (number, number) for number in range(20_000)]
    sink = KafkaSink(uri(kafka, topic))
    sink.write(b"\n".join(lines))
    sink.close()
    assert read(uri(kafka, topic, "?until=end")).splitlines() == lines


def test_an_interrupt_ends_the_wait(kafka, topic):
    interrupt = Interrupt()
    interrupt.asked = True
    assert list(KafkaTransport(uri(kafka, topic)).blocks(interrupt)) == []


def test_ctrl_c_is_the_normal_end_and_nothing_else_is_said(kafka, topic, tmp_path):
    program, out = tmp_path / "slow.lars", tmp_path / "out.jsonl"
    program.write_text(RULE)
    send(kafka, topic, b"speed(a,12) at 3.", b"speed(a,30) at 4.")
    command = [*COMMAND, program, "--out", out, "--quiet", "--stream", uri(kafka, topic)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as running:
        try:
            until(lambda: (out.exists() and out.stat().st_size) or running.poll() is not None)
            running.send_signal(signal.SIGINT)
            _, errors = running.communicate(timeout=20)
        finally:
            running.kill()
    assert (running.returncode, errors) == (0, b"")
    assert out.read_text().splitlines() == [
        '{"t":3,"begin":["slow(a)"],"end":[]}',
        '{"t":4,"begin":[],"end":["slow(a)"]}',
    ]


def test_a_missing_broker_is_one_sentence_and_a_failure(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slow.lars").write_text(RULE)
    (tmp_path / "one.facts").write_text("speed(a,12) at 3.\n")
    nobody = f"kafka://127.0.0.1:{free_port()}/readings"
    for arguments in (["--stream", nobody], ["--stream", "one.facts", "--out", nobody]):
        done = CliRunner().invoke(app, ["run", "slow.lars", *arguments])
        assert done.exit_code == 3
        assert done.stderr == f"error[E404]: no connection to `{nobody}`: Connection refused\n"
        # The library would write its own messages past Python.
        assert capfd.readouterr().err == ""


@pytest.mark.broker
@pytest.mark.slow
def test_a_broker_that_stays_away_is_a_failure(monkeypatch):
    monkeypatch.setattr(broker, "PATIENCE", 1)
    with run_kafka(auto_create_topics_enable="true") as server:
        sink = KafkaSink(uri(server, "made-when-asked-for"))
        transport = KafkaTransport(uri(server, "made-when-asked-for"))
        sink.write(b"p at 1.\n")
        sink.flush()
        blocks = transport.blocks(Interrupt())
        assert next(blocks) == b"p at 1.\n"
    with pytest.raises(FailedError, match=r"E404.*could not be restored"):
        next(blocks)
    sink.write(b"p at 2.\n")
    with pytest.raises(FailedError, match=r"E404.*timed out"):
        sink.close()


@pytest.mark.parametrize("opened", [open_stream, open_output])
def test_a_topic_that_does_not_exist_is_told_with_those_that_do(kafka, topic, opened):
    with pytest.raises(FailedError, match=r"E404.*there is no topic `nowhere`") as caught:
        opened(uri(kafka, "nowhere"))
    assert "choose one of" in caught.value.diagnostic.help


def test_a_message_that_the_broker_refuses_is_a_failure(kafka):
    topic = make_topic(kafka, settings={"max.message.bytes": "2000"})
    sink = KafkaSink(uri(kafka, topic))
    sink.write(os.urandom(5000).hex().encode() + b"\n")
    with pytest.raises(FailedError, match=r"E404.*too large"):
        sink.close()
    sink.write(b"small\n")
    sink.close()
    assert read(uri(kafka, topic, "?until=end")) == b"small\n"


def test_without_the_package_the_way_out_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    for opened in (open_stream, open_output):
        with pytest.raises(RejectedError, match=r"E406.*not installed[^$]*thalweg\[kafka\]"):
            opened("kafka://localhost:9092/readings")


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        ("kafka://localhost:9092", "both a host and a topic"),
        ("kafka:///readings", "both a host and a topic"),
        ("kafka://localhost:9092/readings?from=now", "write earliest or latest"),
        ("kafka://localhost:9092/readings?until=3", "write end"),
        ("kafka://localhost:9092/readings?messages=many", "not a positive number"),
        ("kafka://localhost:9092/readings?partition=3", "unknown option `partition`"),
        ("kafka://me:secret@localhost:9092/readings", "user and a password are not supported"),
    ],
)
def test_an_address_that_makes_no_sense_is_rejected(written, complaint):
    with pytest.raises(RejectedError, match=complaint):
        KafkaTransport(written)


@pytest.mark.parametrize("group", ["", "&group=jams"])
def test_what_is_in_a_topic_is_not_late_by_the_clock_of_the_machine(kafka, topic, group):
    if group:
        send(kafka, topic, b"speed(z,1) at @2026-11-15T08:00:00Z.")
        assert read(uri(kafka, topic, f"?messages=1{group}"))
    now = datetime.now(UTC).replace(microsecond=0)
    times = [now - timedelta(seconds=seconds) for seconds in (90, 60, 30)]
    send(kafka, topic, *(f"speed(a,1) at @{time.isoformat()}.".encode() for time in times))
    late = []
    changes = thalweg.run(RULE, stream=uri(kafka, topic, f"?messages=3{group}"), clock="wall", late=late.append)
    assert [change.t for change in changes if change.begin] == times
    assert late == []


def test_a_topic_is_drained_where_its_end_was(kafka, topic):
    transport = KafkaTransport(uri(kafka, topic))
    assert transport.gaps == 0, "there is nothing in it"
    transport.close()
    send(kafka, topic, b"p at 1.", b"p at 2.")
    transport = KafkaTransport(uri(kafka, topic))
    send(kafka, topic, b"p at 3.")
    assert (transport.gaps, transport.backlog(transport.position())) == (1, True)
    blocks, taken = transport.blocks(Interrupt()), 0
    while taken < 2:
        taken += next(blocks).count(b"\n")
    assert not transport.backlog(transport.position())
    transport.close()
