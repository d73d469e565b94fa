"""Messages are on disk before the broker hears of them, and there until Spark has done with them."""

from time import monotonic, sleep

import pytest

pytest.importorskip("pyspark")

from thalweg.connectors.mqtt import MqttSink, MqttTransport
from thalweg.diagnostics import FailedError, RejectedError
from thalweg.runtimes.spark.mqtt_source import KeptMessages, MqttReader, MqttSource


def read_until(reader, start, last):
    """All batches from an offset on, until a message has come."""
    messages, until = [], monotonic() + 30
    while last not in (value for value, _ in messages) and monotonic() < until:
        found, start = reader.read(start)
        messages += found
        sleep(0.02)
    return messages, start


def test_what_was_not_done_with_comes_again_and_what_came_in_between_too(mosquitto, tmp_path):
    address = f"mqtt://{mosquitto.address}/{tmp_path.name}/in?session={tmp_path.name}"
    MqttTransport(address).close()
    sink = MqttSink(address.partition("?")[0])
    texts = [f"p({number}) at {number}.".encode() for number in range(200)]
    sink.publish(texts[:100])
    sink.flush()
    first = MqttReader(address, str(tmp_path / "kept"))
    found, middle = read_until(first, first.initialOffset(), texts[99])
    assert [value for value, _ in found] == texts[:100]
    assert {topic for _, topic in found} == {f"{tmp_path.name}/in"}
    # Its process dies, as far as the broker knows, and nothing of this was committed.
    first._listener._link.close()
    sink.publish(texts[100:])
    sink.close()
    second = MqttReader(address, str(tmp_path / "kept"))
    assert list(second.readBetweenOffsets(first.initialOffset(), middle)) == found
    rest, end = read_until(second, middle, texts[-1])
    # The broker may not have heard of the last that came before.
    assert [value for value, _ in rest if value not in texts[:100]] == texts[100:]
    second.commit(end)
    assert not list((tmp_path / "kept").iterdir())
    second._listener._link.close()


def test_what_is_gone_is_told_with_a_way_out(tmp_path):
    with pytest.raises(FailedError, match="are gone"):
        KeptMessages(tmp_path, least=3).between(1, 2)
    with pytest.raises(FailedError, match="`keep`"):
        MqttReader("mqtt://localhost/in", None).readBetweenOffsets({"file": 0}, {"file": 1})


def test_numbers_are_not_used_again_when_all_files_are_gone(tmp_path):
    kept = KeptMessages(tmp_path, least=7)
    assert kept.cut() == 7
    kept.add([(b"p at 1.", "in")])
    assert kept.cut() == 8


def test_a_source_without_an_address_and_a_sink_without_a_value_are_refused():
    from pyspark.sql.types import LongType, StructField, StructType

    with pytest.raises(RejectedError, match="no broker"):
        MqttSource({}).simpleStreamReader(MqttSource({}).schema())
    with pytest.raises(RejectedError, match="column `value`"):
        MqttSource({"path": "mqtt://localhost/out"}).streamWriter(StructType([StructField("t", LongType())]), False)
