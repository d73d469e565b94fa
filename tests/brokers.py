"""Real brokers on the loopback: mosquitto, and Kafka from its published jars. Where one cannot be had, tests skip.

Jars are fetched once, by Maven, into a cache in the home directory. `kafka` and `mosquitto` are fixtures that last for
the session; `run_kafka` and `run_mosquitto` start one that a test may stop.
"""

import fcntl
import os
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from time import monotonic, sleep
from typing import Any

import pytest

from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.transport import Transport

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "thalweg-tests"
KAFKA = "org.apache.kafka:kafka_2.13:4.3.0"
# Spark 4.3.0's own connector was not to be had from Maven Central when this was written. This is the newest that was,
# beside the newest token provider that was, with the versions that the connector asks for; Spark brings the rest.
SPARK_KAFKA = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.13.1",
)
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
# A broker that serves one test at a time needs a quick start, not a fast long run.
JVM = ("-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
CLUSTER = "4L6g3nShT-eMCtK--X86sw"
PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker that answers."""

    address: str
    process: "subprocess.Popen[bytes]"

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@pytest.fixture(scope="session")
def mosquitto() -> Iterator[Broker]:
    """An MQTT broker that lets anybody in, and throws no message away."""
    with run_mosquitto("allow_anonymous true", "max_queued_messages 0") as broker:
        yield broker


@contextmanager
def run_mosquitto(*settings: str, port: int | None = None) -> Iterator[Broker]:
    """Starts mosquitto with the lines of its configuration that matter to a test."""
    program = shutil.which("mosquitto", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if program is None:
        pytest.skip("mosquitto is not installed")
    port = port or free_port()
    with tempfile.TemporaryDirectory() as folder:
        # What is started by root would else become another user, who cannot read the test's files.
        user = ["user root"] if os.getuid() == 0 else []
        config = Path(folder, "mosquitto.conf")
        config.write_text("\n".join([f"listener {port} 127.0.0.1", *user, *settings, ""]))
        with running([program, "-c", str(config)], folder, f"127.0.0.1:{port}") as broker:
            wait_until(broker, lambda: _listens(port))
            yield broker


@pytest.fixture(scope="session")
def kafka() -> Iterator[Broker]:
    """A Kafka broker with the topics that a test makes, and no others."""
    with run_kafka() as broker:
        yield broker


@contextmanager
def run_kafka(**settings: str) -> Iterator[Broker]:
    """Starts a broker of one node, which is its own controller; a setting `a_b` is Kafka's `a.b`."""
    pytest.importorskip("confluent_kafka")
    jars = fetch("kafka", KAFKA)
    java = ["java", *JVM, "-cp", os.pathsep.join(map(str, jars))]
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        config = _kafka_settings(Path(folder), port, free_port(), settings)
        with running([*java, "kafka.Kafka", str(config)], folder, f"127.0.0.1:{port}") as broker:
            wait_until(broker, lambda: _kafka_answers(broker))
            yield broker


def _kafka_settings(folder: Path, port: int, controller: int, changed: Mapping[str, str]) -> Path:
    config = folder / "server.properties"
    settings = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": folder / "data",
        "auto.create.topics.enable": "false",
        "group.initial.rebalance.delay.ms": 0,
        "offsets.topic.num.partitions": 1,
        "offsets.topic.replication.factor": 1,
        "transaction.state.log.num.partitions": 1,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        **{key.replace("_", "."): value for key, value in changed.items()},
    }
    config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    # As Kafka's own tool would make it, which is a Java of its own.
    (folder / "data").mkdir()
    (folder / "data" / "meta.properties").write_text(f"version=1\ncluster.id={CLUSTER}\nnode.id=1\n")
    return config


def _kafka_answers(broker: Broker) -> bool:
    from confluent_kafka import KafkaException

    try:
        return bool(_admin(broker).list_topics(timeout=0.5).brokers)
    except KafkaException:
        return False


def make_topic(broker: Broker, partitions: int = 1, settings: dict[str, str] | None = None) -> str:
    """A new topic, which nobody else uses."""
    from confluent_kafka.admin import NewTopic

    topic = f"t{uuid.uuid4().hex}"
    admin = _admin(broker)
    admin.create_topics([NewTopic(topic, partitions, 1, config=settings or {})])[topic].result(PATIENCE)
    until = monotonic() + PATIENCE
    while topic not in admin.list_topics(timeout=PATIENCE).topics:
        assert monotonic() < until, "the new topic does not appear"
        sleep(0.02)
    return topic


def _admin(broker: Broker) -> Any:
    import logging

    from confluent_kafka.admin import AdminClient

    silent = logging.getLogger("brokers")
    silent.addHandler(logging.NullHandler())
    return AdminClient({"bootstrap.servers": broker.address}, logger=silent)


def read_all(transport: Transport) -> bytes:
    """What comes until the stream ends; one that does not end is given up, so that a test can say what is missing."""
    interrupt = Interrupt()
    giving_up = Timer(PATIENCE / 3, lambda: setattr(interrupt, "asked", True))
    giving_up.start()
    try:
        return b"".join(transport.blocks(interrupt))
    finally:
        giving_up.cancel()


def spark_kafka_jars() -> list[Path]:
    """Spark's connector to Kafka, for `spark.jars`; older than Spark itself, see `SPARK_KAFKA`."""
    return fetch("spark-kafka", *SPARK_KAFKA, alone=True)


def fetch(name: str, *coordinates: str, alone: bool = False) -> list[Path]:
    """The jars of artifacts, `alone` or with all they need; where they cannot be had, the test is skipped."""
    for program in ("java", "mvn"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    folder = CACHE / name / "_".join(one.rpartition(":")[2] for one in coordinates)
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Test processes run side by side, and one of them fetches for all.
    with (folder.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            _fetch_into(folder, coordinates, alone)
    return sorted(folder.glob("*.jar"))


def _fetch_into(folder: Path, coordinates: Sequence[str], alone: bool) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        Path(work, "pom.xml").write_text(_project(coordinates, alone))
        command = ["mvn", "-q", "-B", "-Dstyle.color=never", COPY, "-DincludeScope=runtime"]
        command += [f"-DoutputDirectory={work}/jars"]
        try:
            done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=900)
        except subprocess.TimeoutExpired:
            pytest.skip(f"Maven cannot fetch {' '.join(coordinates)}: it takes too long")
        if done.returncode:
            reason = next((line for line in done.stdout.splitlines() if "ERROR" in line), done.stderr)
            pytest.skip(f"Maven cannot fetch {' '.join(coordinates)}: {reason}")
        # A folder that has its name is complete.
        Path(work, "jars").rename(folder)


def _project(coordinates: Sequence[str], alone: bool) -> str:
    needed = "".join(_dependency(one, alone) for one in coordinates)
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>local</groupId>'
        "<artifactId>jars</artifactId><version>1</version>"
        f"<dependencies>{needed}</dependencies></project>"
    )


def _dependency(coordinate: str, alone: bool) -> str:
    group, artifact, version = coordinate.split(":")
    parts = f"<groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>"
    if alone:
        anything = "<exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion>"
        parts += f"<exclusions>{anything}</exclusions>"
    return f"<dependency>{parts}</dependency>"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@contextmanager
def running(command: Sequence[str], folder: str, address: str) -> Iterator[Broker]:
    """A server that was started; if it turns out to be broken, what it has said is the error."""
    with Path(folder, "output.txt").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=folder)
    broker = Broker(address, process)
    try:
        yield broker
    except BrokenBroker as error:
        raise RuntimeError(Path(folder, "output.txt").read_text()[-2000:]) from error
    finally:
        broker.stop()


class BrokenBroker(Exception):  # noqa: N818
    """It ended, or says nothing."""


def wait_until(broker: Broker, answers: Callable[[], bool]) -> None:
    """`BrokenBroker` where it ends, or does not answer in time."""
    until = monotonic() + PATIENCE
    while not answers():
        if broker.process.poll() is not None or monotonic() > until:
            raise BrokenBroker
        sleep(0.05)


def _listens(port: int) -> bool:
    with socket.socket() as trying:
        return trying.connect_ex(("127.0.0.1", port)) == 0
