"""All who follow programs: how many there are, comments that keep connections open, and an end for those who sleep.

A subscriber that takes nothing for a while, although there is much for it, is cut; it resumes by the id that it has.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from time import monotonic
from typing import Final, Protocol

from thalweg.service.http.event_stream import COMMENT, LineId, StreamFilter
from thalweg.service.http.fanout import HEARTBEAT, Chunk, ProgramFanout, Subscriber
from thalweg.service.http.threads import WorkerThreads
from thalweg.service.refused import refusal
from thalweg.service.registered_program import RegisteredProgram

MOST: Final = 2_000
UNREAD: Final = 1 << 20
"""Bytes that a subscriber may leave unread."""
PATIENCE: Final = 30.0
"""For so many seconds."""
_PERIOD: Final = 1.0


class Connection(Protocol):
    """The connection of a request."""

    def get_write_buffer_size(self) -> int:
        """Bytes that wait to be sent."""

    def abort(self) -> None:
        """Ends it at once."""


@dataclass(slots=True, eq=False)
class Follower:
    """A subscriber with its connection, and since when it has taken nothing."""

    name: str
    subscriber: Subscriber
    connection: Connection | None
    since: float
    waiting: int = 0

    def is_asleep(self, now: float) -> bool:
        """Whether it leaves too much unread for too long."""
        waiting = self.connection.get_write_buffer_size() if self.connection is not None else 0
        if not self.subscriber.is_sending or waiting < self.waiting:
            self.since = now
        self.waiting = waiting
        is_much = self.subscriber.is_behind or self.subscriber.unread + waiting >= UNREAD
        if not is_much:
            self.since = now
        return now - self.since >= PATIENCE


class Subscribers:
    """All of a service; of one event loop."""

    def __init__(self, most: int = MOST, now: Callable[[], float] = monotonic) -> None:
        self.most = most
        self._now = now
        self._threads = WorkerThreads(8)
        self._fanouts: dict[RegisteredProgram, ProgramFanout] = {}
        self._followers: set[Follower] = set()
        self._deliveries: dict[str, int] = {}

    def subscribe(
        self,
        program: RegisteredProgram,
        filter_: StreamFilter,
        after: LineId | None,
        connection: Connection | None = None,
    ) -> AsyncGenerator[bytes]:
        """The events for one more subscriber; `RefusedError` (429) where there are too many."""
        if len(self._followers) >= self.most:
            raise refusal(429, f"there are {self.most:,} subscribers already", headers={"Retry-After": "30"})
        return self._events(program, filter_, after, connection)

    async def _events(
        self, program: RegisteredProgram, filter_: StreamFilter, after: LineId | None, connection: Connection | None
    ) -> AsyncGenerator[bytes]:
        fanout = self._fanouts.get(program)
        if fanout is None or fanout.is_closed:
            fanout = self._fanouts[program] = ProgramFanout(program, self._threads)
        follower = Follower(program.name, Subscriber(fanout, filter_, after), connection, self._now())
        self._followers.add(follower)
        try:
            async with aclosing(follower.subscriber.events()) as events:
                async for data in events:
                    yield data
        finally:
            self._followers.discard(follower)

    def counts(self) -> dict[str, int]:
        """How many follow each program."""
        counts: dict[str, int] = {}
        for follower in list(self._followers):
            counts[follower.name] = counts.get(follower.name, 0) + 1
        return counts

    def deliveries(self) -> dict[str, int]:
        """How many lines were handed to the subscribers of each program since the start."""
        totals = dict(self._deliveries)
        for program, fanout in list(self._fanouts.items()):
            totals[program.name] = totals.get(program.name, 0) + fanout.deliveries
        return totals

    def drop(self, program: RegisteredProgram) -> None:
        """Ends the subscriptions of a program that is deleted."""
        if (fanout := self._fanouts.pop(program, None)) is not None:
            fanout.close()
            self._deliveries[program.name] = self._deliveries.get(program.name, 0) + fanout.deliveries

    def close(self) -> None:
        """Ends all subscriptions, and the connections of those who leave something unread."""
        for program in list(self._fanouts):
            self.drop(program)
        for follower in list(self._followers):
            if follower.subscriber.is_sending and follower.connection is not None:
                follower.connection.abort()

    async def watch(self) -> None:
        """Sends comments, and cuts those who sleep, for as long as it is not cancelled."""
        spoken = self._now()
        while True:
            await asyncio.sleep(_PERIOD)
            now = self._now()
            self.cut(now)
            if now - spoken >= HEARTBEAT:
                spoken = now
                self._comment()

    def cut(self, now: float) -> None:
        """Ends the connections of those who sleep."""
        for follower in [follower for follower in self._followers if follower.is_asleep(now)]:
            if follower.connection is not None:
                follower.connection.abort()

    def _comment(self) -> None:
        for fanout in self._fanouts.values():
            for feed in fanout.feeds:
                feed.publish(Chunk(COMMENT, 0, feed.place))
