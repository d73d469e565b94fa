"""Deployments of a service between brokers, killed in the middle: each message is taken once, each answer sent."""

import json
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Event, Thread
from time import monotonic

import pytest

import thalweg
from brokers import Broker, make_topic
from served_process import served
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.open import open_output, open_stream
from thalweg.connectors.transport import Transport
from thalweg.diagnostics import Source

RULES = "hot(D) :- temp(D,V) in [3], V > 20.\n"
PATIENCE = 90.0
LAST = 240


def fact(tick: int) -> str:
    return f"temp(d{tick % 3},{tick * 7 % 40}) at {tick}."


def expected(before: int) -> list[str]:
    """What `thalweg run` answers at the ticks before one."""
    text = "\n".join(map(fact, range(1, LAST + 1)))
    answers = thalweg.run(RULES, Source("readings.facts", text), report=lambda warning: None)
    lines = [line for answer in answers for line in str(answer).splitlines()]
    return [line for line in lines if json.loads(line)["t"] < before]


def wait_until(holds: Callable[[], bool]) -> None:
    until, pause = monotonic() + PATIENCE, Event()
    while not holds():
        assert monotonic() < until, "it never happens"
        pause.wait(0.05)


def sent_to(uri: str, lines: Iterable[str]) -> None:
    """Sends a message for each line."""
    sink = open_output(uri)
    sink.write("".join(f"{line}\n" for line in lines).encode())
    sink.flush()
    sink.close()


class Following:
    """What comes to an output, in its order, each message at its first time."""

    def __init__(self, uri: str) -> None:
        self.lines: list[str] = []
        self._interrupt = Interrupt()
        self._thread = Thread(target=self._follow, args=[open_stream(uri)])
        self._thread.start()

    def _follow(self, transport: Transport) -> None:
        for block in transport.blocks(self._interrupt):
            self.lines += block.decode().splitlines()

    def close(self) -> None:
        self._interrupt.asked = True
        self._thread.join()


@pytest.mark.broker
@pytest.mark.parametrize("scheme", ["mqtt", pytest.param("kafka", marks=pytest.mark.slow)])
def test_killed_between_brokers_nothing_is_missing(scheme: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    broker: Broker = request.getfixturevalue("mosquitto" if scheme == "mqtt" else "kafka")
    name = uuid.uuid4().hex
    if scheme == "mqtt":
        place = f"mqtt://{broker.address}"
        origin, target = f"{place}/in/{name}", f"{place}/out/{name}"
        read, followed = f"{origin}?session=read-{name}", f"{target}?session=followed-{name}"
    else:
        place = f"kafka://{broker.address}"
        origin, target = f"{place}/{make_topic(broker)}", f"{place}/{make_topic(broker)}"
        read, followed = origin, target
    (tmp_path / "hot.lars").write_text(RULES)
    (tmp_path / "city.toml").write_text(
        f'program = ["hot.lars"]\n[streams.readings]\nfrom = "{read}"\n[output]\nto = "{target}"\n'
    )
    output = Following(followed)
    try:
        with served(tmp_path / "data", str(tmp_path / "city.toml")) as service:

            def come(first: int, last: int) -> None:
                """Sends what comes at some ticks, and waits for most of the answers."""
                sent_to(origin, map(fact, range(first, last + 1)))
                answers = {*expected(last - 20)}
                wait_until(lambda: answers <= {*output.lines})

            wait_until(lambda: service.ask("GET", "streams/readings")["connector"]["state"] == "reading")
            come(1, 80)
            service.kill()
            sent_to(origin, map(fact, range(81, 121)))
            service.start()
            come(121, 160)
            service.kill()
            service.start()
            come(161, LAST)
            wait_until(lambda: {*expected(LAST)} <= {*output.lines})
            assert service.ask("GET", "streams/readings")["facts"] == LAST
    finally:
        output.close()
    assert [*dict.fromkeys(output.lines)] == expected(LAST)
