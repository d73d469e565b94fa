import gc
import shutil
import signal
import socket
import subprocess
import sys
import threading
import uuid
from time import monotonic, sleep

import pytest

from brokers import free_port, read_all, run_mosquitto
from thalweg import api
from thalweg.connectors import broker, mqtt
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.mqtt import MqttSink, MqttTransport, host_and_port, stream_of
from thalweg.connectors.open import open_output, open_stream
from thalweg.diagnostics import FailedError, RejectedError

RULE = "slow(S) :- speed(S,V), V < 20."


@pytest.fixture
def topic():
    """A topic of one's own, on a broker that all tests share."""
    return f"city/{uuid.uuid4().hex}"


def uri(server, topic, options=""):
    return f"mqtt://{server.address}/{topic}{options}"


def publish(server, topic, *messages):
    sink = MqttSink(uri(server, topic))
    for message in messages:
        sink._link.client.publish(topic, message, 1).wait_for_publish(10)
    sink.close()


def until(condition):
    deadline = monotonic() + 20
    while not condition():
        assert monotonic() < deadline, "it never happens"
        sleep(0.02)


def test_messages_come_as_lines(mosquitto, topic):
    transport = MqttTransport(uri(mosquitto, topic, "?messages=3"))
    publish(mosquitto, topic, b"p at 3.", b"q at 3.\nq at 4.\n", b"p at 5.")
    assert read_all(transport) == b"p at 3.\nq at 3.\nq at 4.\np at 5.\n"
    assert transport.live


def test_it_ends_after_the_messages_that_were_asked_for(mosquitto, topic):
    transport = MqttTransport(uri(mosquitto, topic, "?messages=2"))
    publish(mosquitto, topic, b"p at 1.", b"p at 2.", b"p at 3.")
    assert read_all(transport) == b"p at 1.\np at 2.\n"


def test_a_message_without_content_does_not_end_a_stream(mosquitto, topic):
    transport = MqttTransport(uri(mosquitto, topic, "?messages=2"))
    publish(mosquitto, topic, b"", b"p at 2.")
    assert read_all(transport) == b"p at 2.\n"


@pytest.mark.parametrize("pattern", ["{0}/+/speed", "{0}/#"])
def test_a_pattern_gathers_topics(mosquitto, topic, pattern):
    transport = MqttTransport(uri(mosquitto, pattern.format(topic), "?messages=2"))
    publish(mosquitto, f"{topic}/north/speed", b"speed(n,1) at 1.")
    publish(mosquitto, f"{topic}/south/speed", b"speed(s,1) at 1.")
    assert read_all(transport) == b"speed(n,1) at 1.\nspeed(s,1) at 1.\n"


@pytest.mark.parametrize("message", ["speed(a,12) at {}.", '{{"t":{},"facts":["speed(a,12)"]}}'])
def test_a_program_runs_on_either_format_and_its_answers_are_messages(mosquitto, topic, message):
    answers = open_stream(uri(mosquitto, f"{topic}/answers", "?messages=3"))
    readings = uri(mosquitto, topic, f"?messages=2&session={uuid.uuid4().hex}")
    open_stream(readings).close()
    publish(mosquitto, topic, *(message.format(tick).encode() for tick in (3, 5)))
    sink = open_output(uri(mosquitto, f"{topic}/answers"))
    for answer in api.run(RULE, stream=readings):
        sink.write(f"{answer}\n".encode())
    sink.close()
    assert read_all(answers).splitlines() == [
        b'{"t":3,"begin":["slow(a)"],"end":[]}',
        b'{"t":4,"begin":[],"end":["slow(a)"]}',
        b'{"t":5,"begin":["slow(a)"],"end":[]}',
    ]


def test_many_messages_keep_their_order(mosquitto, topic):
    lines = [b"p(%d) at %d." % (number, number) for number in range(3000)]
    transport = MqttTransport(uri(mosquitto, topic, f"?messages={len(lines)}"))
    sink = MqttSink(uri(mosquitto, topic))
    found = []
    reading = threading.Thread(target=lambda: found.append(read_all(transport)))
    reading.start()
    for line in lines:
        sink.write(line + b"\n")
    sink.close()
    reading.join()
    assert found[0].splitlines() == lines


def test_a_line_is_sent_when_it_is_whole(mosquitto, topic):
    transport = MqttTransport(uri(mosquitto, topic, "?messages=3"))
    sink = MqttSink(uri(mosquitto, topic))
    sink.write(b"one\ntw")
    sink.flush()
    blocks = transport.blocks(Interrupt())
    assert next(blocks) == b"one\n"
    sink.write(b"o\nthree")
    sink.close()
    assert b"".join(blocks) == b"two\nthree\n"


def test_a_session_gets_what_was_sent_while_it_was_away(mosquitto, topic):
    session = uri(mosquitto, topic, f"?messages=2&session={uuid.uuid4().hex}")
    MqttTransport(session).close()
    publish(mosquitto, topic, b"p at 1.", b"p at 2.")
    assert read_all(MqttTransport(session)) == b"p at 1.\np at 2.\n"


def test_what_was_not_acknowledged_comes_again_to_the_next_process(mosquitto, topic):
    address = uri(mosquitto, topic, f"?session={uuid.uuid4().hex}")
    MqttTransport(address).close()
    sent = [f"p({number}) at {number}.".encode() for number in range(3_000)]
    publish(mosquitto, topic, *sent[:1_500])
    first = MqttTransport(address)
    first.hold()
    taken, saved, blocks = [], None, first.blocks(Interrupt())
    # More than MQTT 3 sends before the first is acknowledged.
    while len(taken) < 1_500:
        taken += next(blocks).splitlines()
        if len(taken) > 700 and saved is None:
            saved, position, known = first.saved(first.position()), first.position(), list(taken)
    assert taken == sent[:1_500]
    # A checkpoint holds some of them; of these, the broker may or may not hear.
    first.acknowledge(position)
    first._link.client.disconnect()
    publish(mosquitto, topic, *sent[1_500:])
    second = MqttTransport(address)
    second.seek(saved)
    again, blocks = [], second.blocks(Interrupt())
    while known + again != sent and len(again) < len(sent):
        again += next(blocks).splitlines()
    assert known + again == sent
    second.close()


def test_what_a_checkpoint_holds_is_dropped_although_the_broker_did_not_hear_of_it(mosquitto, topic):
    address = uri(mosquitto, topic, f"?session={uuid.uuid4().hex}")
    MqttTransport(address).close()
    publish(mosquitto, topic, b"p at 1.", b"p at 1.")
    first = MqttTransport(address)
    first.hold()
    blocks, taken = first.blocks(Interrupt()), b""
    while taken.count(b"\n") < 2:
        taken += next(blocks)
    saved = first.saved(first.position())
    first._link.client._sock_close()
    first.close()
    publish(mosquitto, topic, b"p at 2.")
    second = MqttTransport(address)
    second.seek(saved)
    assert next(second.blocks(Interrupt())) == b"p at 2.\n"
    second.close()


def test_acknowledgements_are_confirmed_and_forgotten(mosquitto, topic, monkeypatch):
    monkeypatch.setattr(mqtt, "MOST_UNCONFIRMED", 2)
    transport = MqttTransport(uri(mosquitto, topic, f"?session={uuid.uuid4().hex}"))
    transport.hold()
    publish(mosquitto, topic, b"p at 1.", b"p at 2.")
    blocks, taken = transport.blocks(Interrupt()), b""
    while taken.count(b"\n") < 2:
        taken += next(blocks)
    assert len(transport.saved(transport.position())["unconfirmed"]) == 2
    transport.acknowledge(transport.position())
    until(lambda: transport.saved(transport.position())["unconfirmed"] == [])
    transport.close()


def test_a_lost_connection_is_a_gap_in_which_the_broker_keeps_messages(mosquitto, topic):
    transport = MqttTransport(uri(mosquitto, topic, f"?session={uuid.uuid4().hex}"))
    transport.hold()
    assert transport.gaps == 0, "the session is new"
    publish(mosquitto, topic, b"p at 1.")
    blocks = transport.blocks(Interrupt())
    assert next(blocks) == b"p at 1.\n"
    assert transport.backlog(transport.position()) is None
    transport._link.client._sock.shutdown(socket.SHUT_RDWR)
    until(lambda: transport.gaps == 1)
    assert transport.backlog(transport.position())
    publish(mosquitto, topic, b"p at 2.")
    assert next(blocks) == b"p at 2.\n", "the first was not acknowledged, and is not taken again"
    transport.close()


def test_a_session_gets_what_is_retained_once(mosquitto, topic):
    sink = MqttSink(uri(mosquitto, topic))
    sink._link.client.publish(topic, b"p at 1.", 1, retain=True).wait_for_publish(10)
    address = uri(mosquitto, topic, f"?messages=1&session={uuid.uuid4().hex}")
    assert read_all(MqttTransport(address)) == b"p at 1.\n"
    again = MqttTransport(address)
    publish(mosquitto, topic, b"p at 2.")
    assert read_all(again) == b"p at 2.\n"
    sink._link.client.publish(topic, b"", 1, retain=True).wait_for_publish(10)
    sink.close()


def test_a_session_needs_a_broker_that_supports_mqtt_5():
    """The server answers as brokers do that support only MQTT 3.1.1."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def refuse():
            connection, _ = server.accept()
            with connection:
                connection.recv(1_000)
                connection.sendall(b"\x20\x02\x00\x01")

        answering = threading.Thread(target=refuse)
        answering.start()
        with pytest.raises(FailedError, match=r"E404.*Unsupported protocol version[^$]*needs a broker.*MQTT 5"):
            MqttTransport(f"mqtt://127.0.0.1:{server.getsockname()[1]}/readings?session=jams")
        answering.join()


def test_without_a_session_the_past_is_past(mosquitto, topic):
    publish(mosquitto, topic, b"p at 1.")
    transport = MqttTransport(uri(mosquitto, topic, "?messages=1"))
    publish(mosquitto, topic, b"p at 2.")
    assert read_all(transport) == b"p at 2.\n"


@pytest.mark.broker
def test_a_broker_that_comes_back_is_found_again():
    port, topic = free_port(), "readings"
    with run_mosquitto("allow_anonymous true", port=port) as server:
        transport = MqttTransport(uri(server, topic, "?messages=2"))
        sink = MqttSink(uri(server, topic))
        blocks = transport.blocks(Interrupt())
        sink.write(b"p at 1.\n")
        assert next(blocks) == b"p at 1.\n"
    until(lambda: transport._link._lost and sink._link._lost)
    with run_mosquitto("allow_anonymous true", port=port):
        until(lambda: transport._link._lost is None)
        sink.write(b"p at 2.\n")
        sink.close()
        assert b"".join(blocks) == b"p at 2.\n"


@pytest.mark.broker
def test_a_broker_that_stays_away_is_a_failure(monkeypatch):
    monkeypatch.setattr(broker, "PATIENCE", 0.5)
    with run_mosquitto("allow_anonymous true") as server:
        transport = MqttTransport(uri(server, "readings"))
        sink = MqttSink(uri(server, "readings"))
    with pytest.raises(FailedError, match=r"E404.*could not be restored"):
        list(transport.blocks(Interrupt()))
    sink.write(b"p at 1.\n")
    with pytest.raises(FailedError, match=r"E404.*1 messages were not acknowledged"):
        sink.flush()
    sink.close()


def test_a_refused_connection_is_a_failure():
    with pytest.raises(FailedError, match=r"E404.*refused"):
        MqttTransport(f"mqtt://127.0.0.1:{free_port()}/readings")


@pytest.mark.broker
def test_only_who_has_the_password_gets_in(tmp_path):
    program = shutil.which("mosquitto_passwd")
    if program is None:
        pytest.skip("mosquitto_passwd is not installed")
    passwords = tmp_path / "passwords"
    passwords.touch(mode=0o600)
    subprocess.run([program, "-b", passwords, "me", "a:b@c"], check=True, capture_output=True)
    with run_mosquitto("allow_anonymous false", f"password_file {passwords}") as server:
        MqttTransport(f"mqtt://me:a%3Ab%40c@{server.address}/readings").close()
        with pytest.raises(FailedError, match=r"E404.*[Nn]ot authorized") as caught:
            MqttTransport(f"mqtt://me:secret@{server.address}/readings")
    assert "secret" not in str(caught.value)


@pytest.mark.broker
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_an_encrypted_connection_needs_an_authority_to_trust(tmp_path):
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    certificate, key = tmp_path / "ca.pem", tmp_path / "key.pem"
    made = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    named = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run(
        ["openssl", "req", *made, *named, "-out", certificate, "-keyout", key], check=True, capture_output=True
    )
    with run_mosquitto("allow_anonymous true", f"certfile {certificate}", f"keyfile {key}") as server:
        MqttTransport(f"mqtts://{server.address}/readings?ca={certificate}").close()
        with pytest.raises(FailedError, match=r"E404.*certificate"):
            MqttTransport(f"mqtts://{server.address}/readings")
    # paho leaves a socket behind whose other side it does not trust; it must go while that is no offence.
    gc.collect()


def test_ctrl_c_is_the_normal_end(mosquitto, topic, tmp_path):
    program = tmp_path / "slow.lars"
    program.write_text(RULE)
    out = tmp_path / "out.jsonl"
    command = [sys.executable, "-m", "thalweg", "run", program, "--out", out]
    with subprocess.Popen([*command, "--stream", uri(mosquitto, topic)], stderr=subprocess.PIPE) as running:
        try:
            until(lambda: out.exists() or running.poll() is not None)
            publish(mosquitto, topic, b"speed(a,12) at 3.", b"speed(a,30) at 4.")
            until(lambda: out.stat().st_size or running.poll() is not None)
            running.send_signal(signal.SIGINT)
            _, errors = running.communicate(timeout=20)
        finally:
            running.kill()
    assert running.returncode == 0, errors
    assert out.read_text().splitlines() == [
        '{"t":3,"begin":["slow(a)"],"end":[]}',
        '{"t":4,"begin":[],"end":["slow(a)"]}',
    ]


def test_without_the_package_the_way_out_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "paho.mqtt.client", None)
    with pytest.raises(RejectedError, match=r"E406.*not installed[^$]*thalweg\[mqtt\]"):
        open_stream("mqtt://localhost/readings")


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        ("mqtt://localhost", "both a host and a topic"),
        ("mqtt:///readings", "both a host and a topic"),
        ("mqtt://localhost:port/readings", "is not a number"),
        ("mqtt://localhost/city/#/speed", "not a topic pattern"),
        ("mqtt://localhost/readings?messages=0", "not a positive number"),
        ("mqtt://localhost/readings?message=3", "unknown option `message`"),
        ("mqtt://localhost/readings?ca=ca.pem", "mqtts://"),
        ("mqtts://localhost/readings?ca=nowhere.pem", "cannot read `nowhere.pem`"),
    ],
)
def test_an_address_that_makes_no_sense_is_rejected(written, complaint):
    with pytest.raises(RejectedError, match=complaint):
        MqttTransport(written)


def test_answers_go_to_one_topic():
    with pytest.raises(RejectedError, match="wildcard"):
        MqttSink("mqtt://localhost/answers/#")


def test_a_stream_is_named_after_its_topic():
    assert [stream_of(topic) for topic in ("speed", "city/speed", "city/+", "+/#")] == ["speed", "speed", "city", None]
    assert host_and_port(broker.read_address("mqtt://host/a", ())) == ("host", 1883)
