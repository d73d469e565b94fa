"""Those who follow a program of a service: how soon a line comes to them, and what each delivery costs."""

import asyncio
import re
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from threading import Thread
from time import monotonic, perf_counter, sleep
from typing import Final

from thalweg.bench.measured_service import MeasuredService

_RULES: Final = "jam(X) :- slow(X).\n"
_EVENT: Final = re.compile(rb"^id: (\d+-\d+)\ndata: (.*)$", re.MULTILINE)
_GRACE: Final = 20.0
"""Seconds that those who follow have to get what was sent last."""


@dataclass(frozen=True, slots=True)
class PostLatency:
    """Seconds from sending facts that decide a tick to receiving its line."""

    posts: int
    median_s: float
    p99_s: float
    most_s: float


@dataclass(frozen=True, slots=True)
class FanOut:
    """What it costs the service to tell many of each line."""

    subscribers: int
    lines: int
    deliveries: int
    cpu_us: float
    megabytes: float


def paced(per_second: float, seconds: float) -> Iterator[int]:
    """Numbers from 0 on, each when it is due."""
    begun = monotonic()
    for number in range(int(per_second * seconds)):
        sleep(max(0.0, begun + number / per_second - monotonic()))
        yield number


def latency(service: MeasuredService, per_second: float, seconds: float) -> tuple[PostLatency, list[float]]:
    """Posts at a steady rate to a program that one follows; all delays, too."""
    service.register("prompt", _RULES, "posts")
    service.post("posts", b"slow(r) at 0.")
    came: dict[int, float] = {}
    posts = int(per_second * seconds)
    follower = Thread(target=_note, args=(service, posts, came))
    follower.start()
    sleep(0.5)
    sent = {}
    for number in paced(per_second, seconds):
        sent[number] = perf_counter()
        service.post("posts", b"slow(r%d) at %d." % (number, number + 1))
    follower.join(_GRACE)
    assert sorted(came) == sorted(sent), f"{len(came):,} lines of {len(sent):,} have come"
    delays = [came[number] - sent[number] for number in sent]
    service.remove("prompt")
    return PostLatency(posts, statistics.median(delays), quantile(delays, 0.99), max(delays)), delays


def quantile(values: Sequence[float], share: float) -> float:
    """The value that a share of all does not exceed.

    >>> quantile([3.0, 1.0, 2.0], 0.99), quantile([1.0, 2.0, 3.0], 0.5)
    (3.0, 2.0)
    """
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _note(service: MeasuredService, lines: int, came: dict[int, float]) -> None:
    """Notes when each line has come."""
    with closing(service.connect()) as connection:
        response = opened(connection, "prompt", "1-0")
        while len(came) < lines:
            text = response.readline()
            if text.startswith(b"id: "):
                came[int(text.rpartition(b"-")[2]) - 1] = perf_counter()


def opened(connection: HTTPConnection, program: str, after: str) -> HTTPResponse:
    """The events of a program behind an id."""
    connection.request("GET", f"/v1/programs/{program}/events", headers={"Last-Event-ID": after})
    return connection.getresponse()


class _Follower(asyncio.Protocol):
    """A connection that keeps what it gets."""

    def __init__(self, host: str) -> None:
        self._host = host
        self.text = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        headers = f"Host: {self._host}\r\nLast-Event-ID: 1-0"
        transport.write(f"GET /v1/programs/crowd/events HTTP/1.1\r\n{headers}\r\n\r\n".encode())

    def data_received(self, data: bytes) -> None:
        self.text += data

    def events(self) -> list[tuple[str, bytes]]:
        """Ids and lines, in the order in which they came."""
        return [(match[1].decode(), match[2]) for match in _EVENT.finditer(self.text)]


def fan_out(service: MeasuredService, subscribers: int, per_second: float, seconds: float) -> FanOut:
    """Posts at a steady rate to a program that many follow; each gets all lines once and in order."""
    service.register("crowd", _RULES, "news")
    service.post("news", b"slow(r) at 0.")
    service.settle("crowd")
    empty = service.resident()
    return asyncio.run(_follow(service, subscribers, per_second, seconds, empty))


async def _follow(service: MeasuredService, subscribers: int, per_second: float, seconds: float, empty: int) -> FanOut:
    host, _, port = service.address.removeprefix("http://").rstrip("/").rpartition(":")
    loop = asyncio.get_running_loop()
    followers: list[_Follower] = []
    for _ in range(subscribers):
        _, follower = await loop.create_connection(lambda: _Follower(f"{host}:{port}"), host, int(port))
        followers.append(follower)
    await _until(lambda: all(b"retry" in follower.text for follower in followers))
    before, lines = await asyncio.to_thread(service.cpu), int(per_second * seconds)
    largest = await asyncio.to_thread(_spread, service, per_second, seconds)
    last = b"id: 1-%d\n" % lines
    await _until(lambda: all(last in follower.text[-1_000:] for follower in followers))
    cpu = await asyncio.to_thread(service.cpu) - before
    told = [follower.events() for follower in followers]
    for follower in followers:
        follower.transport.abort()
    answered = await asyncio.to_thread(service.lines, "crowd")
    ids = [(f"1-{number}", line) for number, line in enumerate(answered, 1)]
    assert len(ids) == lines, f"{len(ids)} lines instead of {lines}"
    assert all(events == ids for events in told), "somebody was not told all lines once and in order"
    await asyncio.to_thread(service.remove, "crowd")
    deliveries = subscribers * lines
    return FanOut(subscribers, lines, deliveries, 1e6 * cpu / deliveries, (largest - empty) / 1e6)


def _spread(service: MeasuredService, per_second: float, seconds: float) -> int:
    """Posts facts that make a line each; the most bytes that the service has in memory meanwhile."""
    largest, each = service.resident(), max(1, int(5 * per_second))
    for number in paced(per_second, seconds):
        service.post("news", b"slow(r%d) at %d." % (number, number + 1))
        if number % each == 0:
            largest = max(largest, service.resident())
    return max(largest, service.resident())


async def _until(condition: Callable[[], bool]) -> None:
    """Waits for a condition, but not for ever: whoever asks sees what is missing."""
    until = monotonic() + _GRACE
    while not condition() and monotonic() < until:
        await asyncio.sleep(0.05)
