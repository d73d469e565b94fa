"""Definitions come and go one by one while events flow: each tells what a run of its own does."""

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from threading import Condition, Event, Thread
from time import monotonic
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest

from flowing_definitions import SOURCES, Change, by_event, change_one_by_one, readings, told_alone, witnessed
from served_process import ServedProcess, served
from services import body, serving, settled
from thalweg.service.registered_program import RegisteredProgram
from thalweg.service.service import Service


def check(lines: Sequence[str], changes: Sequence[Change], last: int, count: int) -> int:
    """Compares the lines up to a tick with those of runs; how many lines there are of definitions that came later."""
    told = by_event(line for line in lines if json.loads(line)["t"] <= last)
    assert told.get("Witness", []) == witnessed(last, count)
    for change, own in told_alone(changes, last, count):
        assert change.is_told(told.get(change.name, []), own), change
    return sum(len(told.get(change.name, [])) for change in changes)


@dataclass
class InThisProcess:
    """A program of a service in this process, with a writer that posts a tick after the other."""

    service: Service
    program: RegisteredProgram
    count: int
    tick: int = 0
    over: Event = field(default_factory=Event)
    come: Condition = field(default_factory=Condition)

    def write(self) -> None:
        while not self.over.wait(0.02):
            text = readings(self.tick + 1, self.count).encode()
            with self.come:
                self.tick += 1
                self.come.notify_all()
            self.service.post("city", "application/n-quads", text, skip=False, key=None).result(60)

    def put(self, name: str, text: str) -> int:
        first = self.program.subscriptions.put(name, text)[0]["from"]
        return 1 if first is None else int(first)

    def delete(self, name: str) -> None:
        self.program.subscriptions.delete(name)

    def t(self) -> int:
        return self.program.current.t or 0

    def posted(self) -> int:
        return self.tick

    def rest(self) -> None:
        """Two ticks begin before the next change."""
        with self.come:
            last = self.tick
            assert self.come.wait_for(lambda: self.tick > last + 1, 60)


def test_definitions_come_and_go_while_events_flow(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as service:
        program, _ = service.programs.put("p", body(SOURCES) | {"streams": ["city"]})
        flow = InThisProcess(service, program, 100)
        writer = Thread(target=flow.write)
        writer.start()
        try:
            changes = change_one_by_one(flow, 18)
        finally:
            flow.over.set()
            writer.join()
        lines = settled(program, service.log.last)
    assert sum(change.gone_by is not None for change in changes) == 9
    assert check(lines, changes, flow.tick - 1, flow.count) > 10


# From outside, killed meanwhile -------------------------------------------------------------------------------------

RATE, PER_SECOND = 2_000, 10
PATIENCE = 300.0
_CUT_OFF = (URLError, HTTPException, OSError, ValueError)


class FromOutside:
    """The same through HTTP; each request is repeated until the service, which is killed now and then, answers it."""

    def __init__(self, process: ServedProcess) -> None:
        self.process = process
        self.count = RATE // PER_SECOND
        self.tick = 0
        self.over = Event()
        self.seconds = 0.0
        self.statuses: list[int] = []
        self.found: dict[tuple[int, int], str] = {}
        """What a subscriber got, by the ids of the lines."""

    def ask(self, method: str, path: str, text: str | None = None, **headers: str) -> tuple[int, bytes]:
        """The status and the body of an answer that is not a wish to be asked again."""
        until = monotonic() + PATIENCE
        body = None if text is None else text.encode()
        while True:
            try:
                with urlopen(
                    Request(f"{self.process.url}v1/{path}", body, headers, method=method), timeout=60
                ) as answer:
                    return answer.status, answer.read()
            except HTTPError as error:
                if error.code not in (429, 503):
                    return error.code, error.read()
            except _CUT_OFF:
                pass
            assert monotonic() < until, path
            Event().wait(0.1)

    def write(self) -> None:
        """Posts a tick after the other, as fast as they are due."""
        begun = monotonic()
        while not self.over.wait(max(0.0, begun + self.tick / PER_SECOND - monotonic())):
            self.tick += 1
            headers = {"Content-Type": "application/n-quads", "Idempotency-Key": f"tick-{self.tick}"}
            status, answer = self.ask("POST", "streams/city/facts", readings(self.tick, self.count), **headers)
            assert status == 200, answer
        self.seconds = monotonic() - begun

    def follow(self) -> None:
        """Collects lines as they come, and goes on behind the last one; an id has one content."""
        last = (1, 0)
        while not self.over.is_set():
            headers = {"Last-Event-ID": f"{last[0]}-{last[1]}"}
            try:
                with urlopen(Request(f"{self.process.url}v1/programs/p/events", headers=headers), timeout=60) as answer:
                    for id_, data in _lines(answer):
                        assert id_ > last
                        assert self.found.setdefault(id_, data) == data
                        last = id_
                        if self.over.is_set():
                            return
            except _CUT_OFF:
                self.over.wait(0.1)

    def put(self, name: str, text: str) -> int:
        status, answer = self.ask("PUT", f"programs/p/subscriptions/{name}", text, **{"Content-Type": "text/plain"})
        assert status in (200, 201), answer
        self.statuses.append(status)
        return int(json.loads(answer)["from"] or 1)

    def delete(self, name: str) -> None:
        status, answer = self.ask("DELETE", f"programs/p/subscriptions/{name}")
        # It may have been taken away just before the service was killed.
        assert status in (204, 404), answer
        self.statuses.append(status)

    def t(self) -> int:
        return int(self.program()["t"] or 0)

    def posted(self) -> int:
        return self.tick

    def rest(self) -> None:
        """Five changes come close together, and then some readings."""
        if len(self.statuses) % 5 == 0:
            self.over.wait(0.5)

    def program(self) -> Mapping[str, Any]:
        about: Mapping[str, Any] = json.loads(self.ask("GET", "programs/p")[1])
        return about

    def lines(self) -> Iterator[str]:
        """All lines, once everything that was posted has been taken."""
        until = monotonic() + PATIENCE
        while self.program()["lag"]["records"]:
            assert monotonic() < until
            Event().wait(0.2)
        behind = 0
        while found := self.ask("GET", f"programs/p/lines?after=1-{behind}&limit=10000")[1].decode().splitlines():
            yield from found
            behind += len(found)


def _lines(answer: Iterable[bytes]) -> Iterator[tuple[tuple[int, int], str]]:
    """The lines of events that a server sends, with their ids."""
    fields: dict[str, str] = {}
    for raw in answer:
        name, _, value = raw.decode().rstrip("\n").partition(": ")
        if name:
            fields[name] = value
        else:
            if fields.get("event") == "line":
                generation, _, number = fields["id"].partition("-")
                yield (int(generation), int(number)), fields["data"]
            fields = {}


@pytest.mark.slow
@pytest.mark.parametrize("kills", [0, 6])
def test_two_hundred_come_and_a_hundred_go_at_two_thousand_events_a_second(tmp_path: Path, kills: int) -> None:
    with served(tmp_path / "data") as process:
        process.ask("PUT", "programs/p", json.dumps(body(SOURCES) | {"streams": ["city"]}).encode())
        flow, chance = FromOutside(process), random.Random(kills)

        def kill() -> None:
            for _ in range(kills):
                flow.over.wait(2 + 6 * chance.random())
                if not flow.over.is_set():
                    process.kill()
                    process.start()

        threads = [Thread(target=target) for target in (flow.write, flow.follow, kill)]
        for thread in threads:
            thread.start()
        try:
            changes = change_one_by_one(flow, 200)
        finally:
            flow.over.set()
            for thread in threads:
                thread.join()
        lines = list(flow.lines())
    assert sum(change.gone_by is not None for change in changes) == 100
    assert len(flow.found) > 1_000
    assert flow.found == {(1, number): lines[number - 1] for _, number in flow.found}
    told = check(lines, changes, flow.tick - 1, flow.count)
    print(f"{flow.tick * flow.count / flow.seconds:,.0f} events/s, {len(lines):,} lines, {told:,} of definitions")
