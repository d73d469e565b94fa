"""A run on an MQTT session with the machine's clock that is stopped or killed at any moment, and started again: every
reading is answered once, and no sensor is reported dead that was not.
"""

import json
import signal
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random
from threading import Condition, Event, Thread
from time import monotonic, sleep
from typing import Any

import pytest

from thalweg.connectors.mqtt import MqttSink, MqttTransport

SENSORS = 4
RULES = """
answered(D,N) :- r(D,N).
known(D) :- r(D,N) in [1 h].
heard(D) :- r(D,N) in [8 sec].
dead(D) :- known(D), not heard(D).
"""

A_SECOND = 20


class Sensors(Thread):
    """Send a reading `A_SECOND` times a second, each in its turn, with the time of sending and a number that counts."""

    def __init__(self, address: str) -> None:
        super().__init__(daemon=True)
        self._sink = MqttSink(address)
        self._ended, self._more = Event(), Condition()
        self.sent: list[float] = []

    def run(self) -> None:
        while not self._ended.wait(1 / A_SECOND):
            number, now = len(self.sent), datetime.now(UTC)
            reading = {"d": f"s{number % SENSORS}", "n": number, "ts": now.isoformat()}
            self._sink.publish([json.dumps(reading).encode()])
            self.sent.append(now.timestamp())
            with self._more:
                self._more.notify_all()

    def send(self, more: int) -> None:
        """Returns when this many more readings have been sent."""
        enough = len(self.sent) + more
        with self._more:
            assert self._more.wait_for(lambda: len(self.sent) >= enough, timeout=120)

    def end(self) -> None:
        self._ended.set()
        self.join()
        self._sink.close()

    @property
    def longest_silence(self) -> float:
        """The longest time that one of them sent nothing: a loaded machine may hold them up."""
        return max(after - before for before, after in zip(self.sent, self.sent[SENSORS:], strict=False))


@pytest.fixture
def command(mosquitto: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A command that reads a session which the broker keeps already."""
    monkeypatch.chdir(tmp_path)
    Path("sensors.lars").write_text(RULES)
    address = f"mqtt://{mosquitto.address}/{uuid.uuid4().hex}?session={uuid.uuid4().hex}"
    MqttTransport(address).close()
    words = ["--stream", address, "--map", "r(d, n) at ts", "--clock", "wall", "--delay", "2s"]
    return ["run", "sensors.lars", *words, "--out", "out.jsonl", "--checkpoint", "kept"]


@contextmanager
def sending(command: list[str]) -> Iterator[Sensors]:
    sensors = Sensors(command[command.index("--stream") + 1].partition("?")[0])
    sensors.start()
    try:
        yield sensors
    finally:
        sensors.end()


def started(command: list[str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-m", "thalweg", *command], stderr=subprocess.PIPE)


def ended(process: "subprocess.Popen[bytes]", by: signal.Signals) -> None:
    process.send_signal(by)
    _, errors = process.communicate(timeout=60)
    # One that has just been started may not listen yet.
    assert process.returncode in (0, -by), errors.decode()
    assert b"W302" not in errors, errors.decode()


def begins(name: str = "out.jsonl") -> Counter[str]:
    """How often each conclusion began; a last line that is being written does not count."""
    lines = Path(name).read_text().splitlines(keepends=True) if Path(name).exists() else []
    return Counter(fact for line in lines if line.endswith("\n") for fact in json.loads(line)["begin"])


def is_answered(number: int) -> bool:
    return begins()[f"answered(s{number % SENSORS},{number})"] > 0


def wait_until(holds: Callable[[], bool], process: "subprocess.Popen[bytes]") -> None:
    deadline = monotonic() + 120
    while not holds():
        assert process.poll() is None, process.communicate()
        assert monotonic() < deadline, "it never happens"
        sleep(0.05)


def finished(command: list[str], sensors: Sensors) -> None:
    """Runs on until all that has been sent so far is answered, and checks it."""
    process = started(command)
    last = len(sensors.sent) - 1
    wait_until(partial(is_answered, last), process)
    ended(process, signal.SIGTERM)
    found = begins()
    expected = [f"answered(s{number % SENSORS},{number})" for number in range(last + 1)]
    print(f"{len(expected)} readings, {sum(found[fact] == 1 for fact in expected)} answered once")
    assert [fact for fact in expected if found[fact] != 1] == []
    if sensors.longest_silence < 7:
        assert deaths() == []


def deaths() -> list[str]:
    """When sensors were reported dead."""
    changes = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    return [change["t"] for change in changes if any(fact.startswith("dead") for fact in change["begin"])]


@pytest.mark.broker
def test_what_came_after_a_kill_is_not_late_and_nothing_is_doubled(command: list[str]) -> None:
    with sending(command) as sensors:
        process = started(command)
        wait_until(partial(is_answered, len(sensors.sent)), process)
        ended(process, signal.SIGKILL)
        # More is kept than the delay covers.
        sensors.send(3 * A_SECOND)
        finished(command, sensors)


@pytest.mark.slow
@pytest.mark.broker
def test_stopped_or_killed_at_any_moment_every_reading_is_answered_once(command: list[str]) -> None:
    random = Random(27)
    signals = [signal.SIGTERM, signal.SIGKILL] * 20
    random.shuffle(signals)
    with sending(command) as sensors:
        for by in signals:
            process = started(command)
            # Anywhere from before it has connected to some checkpoints later.
            sensors.send(random.randrange(12 * A_SECOND))
            ended(process, by)
            sensors.send(random.choice((0, 0, 1, 4, 12)) * A_SECOND)
        finished(command, sensors)
