"""A service that is killed while one posts facts to it and others follow its answers, and what must come of that."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from threading import Event, Thread
from time import monotonic
from typing import Any, Final
from urllib.request import urlopen

import httpx

from served_process import ServedProcess
from thalweg.connectors.server_sent_events import ServerSentEvents

PATIENCE: Final = 180.0
_AGAIN: Final = 0.1


def _client() -> httpx.Client:
    return httpx.Client(verify=False, timeout=httpx.Timeout(10, read=30))


def until(holds: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
    """Waits until something holds."""
    end, pause = monotonic() + seconds, Event()
    while not holds():
        assert monotonic() < end, f"it never happens: {what}"
        pause.wait(_AGAIN)


@dataclass
class Writer:
    """Posts documents to a stream, one after the other, each with a key of its own until it is acknowledged.

    Several may share the numbers of the documents.
    """

    service: ServedProcess
    stream: str
    numbers: Iterator[int]
    document: Callable[[int], str]
    pause: float = 0.02
    acknowledged: list[tuple[int, str, str]] = field(default_factory=list)
    """The number of the record, the key and the text of each document."""
    wrong: list[str] = field(default_factory=list)
    is_over: bool = False
    client: httpx.Client = field(default_factory=_client)

    def __call__(self) -> None:
        random, rest = Random(0), Event()
        while not self.is_over and not self.wrong:
            number = next(self.numbers)
            key, text = f"document {number}", self.document(number)
            self.acknowledged.append((self._acknowledged(key, text), key, text))
            if random.random() < 0.1:
                self._post_again(*random.choice(self.acknowledged))
            rest.wait(random.uniform(0, 2 * self.pause))

    def _post_again(self, seq: int, key: str, text: str) -> None:
        # The key counts, whatever comes with it.
        if (again := self._acknowledged(key, f"{text}it_is_another at 1.\n")) != seq:
            self.wrong.append(f"{key} had number {seq}, and then {again}")

    def _acknowledged(self, key: str, text: str) -> int:
        """The number that a document gets, after as many attempts as it takes."""
        path = f"{self.service.url}v1/streams/{self.stream}/facts"
        headers, rest = {"Content-Type": "text/plain", "Idempotency-Key": key}, Event()
        while True:
            try:
                answer = self.client.post(path, content=text.encode(), headers=headers)
            except httpx.TransportError:
                rest.wait(_AGAIN)
                continue
            if answer.status_code == 200:
                return int(answer.json()["seq"])
            self.wrong.append(f"{answer.status_code} {answer.text}")
            return -1


@dataclass
class Follower:
    """Follows a program: after each end of the connection it goes on behind the last id that it has."""

    service: ServedProcess
    program: str
    lines: list[str] = field(default_factory=list)
    """By their numbers, from 1 on."""
    connections: int = 0
    wrong: list[str] = field(default_factory=list)
    is_over: bool = False
    client: httpx.Client = field(default_factory=_client)

    def __call__(self) -> None:
        rest = Event()
        while not self.is_over and not self.wrong:
            try:
                self._follow()
            except httpx.TransportError:
                rest.wait(_AGAIN)

    def has(self, count: int) -> bool:
        """Whether so many lines have come, or something is wrong."""
        return len(self.lines) >= count or bool(self.wrong)

    def _follow(self) -> None:
        events = ServerSentEvents()
        path = f"{self.service.url}v1/programs/{self.program}/events?after=1-0"
        headers = {"Last-Event-ID": f"1-{len(self.lines)}"}
        with self.client.stream("GET", path, headers=headers) as response:
            if response.status_code != 200:
                self.wrong.append(f"{response.status_code} {response.read().decode()}")
                return
            self.connections += 1
            for block in response.iter_bytes():
                for event in events.feed(block):
                    self._take(event.kind, event.id, event.data.decode())
                if self.is_over:
                    return

    def _take(self, kind: str, id_: str, data: str) -> None:
        if kind == "line" and id_ == f"1-{len(self.lines) + 1}":
            self.lines.append(data)
        elif kind != "time":
            self.wrong.append(f"{kind} {id_} behind line {len(self.lines)}: {data}")


@contextmanager
def at_work(*workers: Writer | Follower) -> Iterator[None]:
    """Threads of those who post and follow, which end with the block."""
    threads = [Thread(target=worker, daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for worker in workers:
            worker.is_over = True
        for thread in threads:
            thread.join(PATIENCE)
        for worker in workers:
            worker.client.close()


def lines_of(service: ServedProcess, program: str, after: int = 0) -> list[str]:
    """All lines of the first generation of a program, as they are kept."""
    path = f"{service.url}v1/programs/{program}/lines?after=1-{after}&limit=100000"
    with urlopen(path, timeout=60) as answer:
        return str(answer.read(), "utf-8").splitlines()


def records_of(service: ServedProcess, stream: str) -> Iterator[dict[str, Any]]:
    """What came on a stream."""
    after = 0
    while records := service.ask("GET", f"streams/{stream}/facts?after={after}&limit=10000")["records"]:
        yield from records
        after = records[-1]["seq"]


def is_caught_up(program: dict[str, Any]) -> bool:
    """Whether a program has taken all there is; it must not have failed."""
    assert program["state"] != "failed", program["because"]
    return program["state"] == "live" and program["lag"]["records"] == 0


def before(lines: list[str], tick: int) -> list[str]:
    """The lines of the ticks before one."""
    return [line for line in lines if json.loads(line)["t"] < tick]
