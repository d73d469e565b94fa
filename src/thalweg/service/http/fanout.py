"""One program's answers for all who follow it: encoded once for each filter, and shared.

    program's thread ── heard ──▶ event loop: a round reads what is new, in a thread ──▶ a feed for each filter
    subscriber       ── its place in the feed; one that is too far behind, or comes with an id, reads by itself

A feed holds a few encoded chunks, no more than a little memory: whoever does not keep up goes on from the lines that
are kept on disk, so the slow cost neither memory nor anybody's time.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final

from thalweg.service.answer_lines import Line
from thalweg.service.generation import Generation
from thalweg.service.http.event_stream import (
    COMMENT,
    RETRY,
    LineId,
    StreamFilter,
    gap_event,
    line_events,
    reset_event,
    time_event,
)
from thalweg.service.http.threads import WorkerThreads
from thalweg.service.registered_program import RegisteredProgram

HEARTBEAT: Final = 15.0
"""Seconds between comments."""
_ROUND: Final = 0.01
"""Seconds from one round to the next, at least: what comes meanwhile is sent together."""
_AGAIN: Final = 0.1
"""Seconds until one who reads by itself looks again, where there was nothing to read."""
_LINES: Final = 1_000
_BYTES: Final = 64 << 10
"""So many lines are read at once, of about so many bytes: as much may wait in each connection."""
_SHARED: Final = 64 << 10
"""Bytes that a feed holds for those who are behind; its last chunk stays anyway."""
_TIME: Final = 1.0
"""Seconds between two events that say only that time has passed, at least."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Events as they are sent, behind which a subscriber is at an id."""

    data: bytes
    lines: int
    place: LineId


@dataclass(frozen=True, slots=True)
class _News:
    """What is new of a program; with a `snapshot`, it begins anew with that."""

    place: LineId
    t: int | None
    generation: Generation
    lines: list[tuple[int, Line]] = field(default_factory=list)
    restart: bytes = b""
    snapshot: Mapping[str, Any] | None = None
    is_behind: bool = False
    """Whether there are more lines by now."""

    def encoded(self, filter_: StreamFilter) -> tuple[bytes, int]:
        """The events for a filter, and how many are lines."""
        if self.snapshot is not None:
            return self.restart + filter_.snapshot(self.place, self.snapshot), 0
        return line_events(filter_, self.place.generation, self.lines, self.generation.times)

    @property
    def last_tick(self) -> int | None:
        """The last tick that these events are about."""
        return self.t if self.snapshot is not None else self.lines[-1][1].t if self.lines else None


def _news(program: RegisteredProgram, after: LineId, most: int | None = None) -> _News:
    """What is behind an id, up to a number of its generation at most; a snapshot where that is no longer kept."""
    generation = program.current
    # Before the lines: all lines up to this tick are there.
    t = generation.t
    if generation.number != after.generation:
        return _from_snapshot(program, lambda place: reset_event(place.generation))
    lines = generation.lines.read(after.number, _LINES, _BYTES)
    if most is not None:
        lines = [(number, line) for number, line in lines if number <= most]
    first = lines[0][0] if lines else generation.lines.first
    if first > after.number + 1:
        return _from_snapshot(program, lambda _: gap_event(after, LineId(after.generation, first)))
    place = LineId(after.generation, lines[-1][0] if lines else after.number)
    return _News(place, t, generation, lines, is_behind=place.number < generation.lines.last)


def _from_snapshot(program: RegisteredProgram, restart: Any = lambda place: b"") -> _News:
    generation = program.current
    id_, snapshot = program.snapshot()
    place = LineId.read(id_)
    return _News(place, generation.t, generation, restart=restart(place), snapshot=snapshot)


class SharedFeed:
    """The latest chunks for one filter, and whoever waits for the next."""

    def __init__(self, place: LineId) -> None:
        self.place = place
        self.total = 0
        """Bytes that were published."""
        self.members = 0
        self.changed = asyncio.Event()
        self.tick: int | None = None
        self.time_sent = 0.0
        self._chunks: deque[Chunk] = deque()
        self._first = 0
        self._size = 0

    @property
    def next(self) -> int:
        """The number of the chunk that comes next."""
        return self._first + len(self._chunks)

    def publish(self, chunk: Chunk) -> None:
        """Adds a chunk, and wakes those who wait."""
        self.place = chunk.place
        if chunk.data:
            self._chunks.append(chunk)
            self._size += len(chunk.data)
            self.total += len(chunk.data)
            while len(self._chunks) > 1 and self._size > _SHARED:
                self._size -= len(self._chunks.popleft().data)
                self._first += 1
        self.wake()

    def wake(self) -> None:
        """Has those who wait look again."""
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()

    def holds(self, number: int) -> bool:
        """Whether the chunk of a number has not left."""
        return number >= self._first

    def behind(self, number: int) -> Iterator[Chunk]:
        """The chunks from a number on."""
        first = number - self._first
        return iter([self._chunks[place] for place in range(first, len(self._chunks))])


class ProgramFanout:
    """A program's answers for those who follow it; of one event loop."""

    def __init__(self, program: RegisteredProgram, threads: WorkerThreads) -> None:
        self.program = program
        self.deliveries = 0
        self._threads = threads
        self._loop = asyncio.get_running_loop()
        self._feeds: dict[StreamFilter, SharedFeed] = {}
        self._place = self._head()
        self._woken = asyncio.Event()
        self._is_woken = False
        self.is_closed = False
        self._rounds = self._loop.create_task(self._run())
        self._unsubscribe = program.subscribe(self._heard)

    @property
    def feeds(self) -> Iterator[SharedFeed]:
        return iter(self._feeds.values())

    def close(self) -> None:
        """Ends all subscriptions."""
        self.is_closed = True
        self._unsubscribe()
        self._rounds.cancel()
        for feed in self._feeds.values():
            feed.wake()

    def join(self, filter_: StreamFilter) -> SharedFeed:
        """The feed of a filter for one more member."""
        feed = self._feeds.get(filter_)
        if feed is None:
            feed = self._feeds[filter_] = SharedFeed(self._place)
            feed.tick = self.program.current.t
        feed.members += 1
        return feed

    def leave(self, filter_: StreamFilter) -> None:
        """One member of a feed fewer; without any it goes."""
        feed = self._feeds[filter_]
        feed.members -= 1
        if not feed.members:
            del self._feeds[filter_]

    async def read(self, after: LineId | None, filter_: StreamFilter, feed: SharedFeed) -> Chunk:
        """What is behind an id, for one subscriber, up to where the feed is; without an id a snapshot."""
        if after is None:
            news = await self._threads.call(_from_snapshot, self.program)
        else:
            most = feed.place.number if feed.place.generation == after.generation else None
            news = await self._threads.call(_news, self.program, after, most)
        data, lines = news.encoded(filter_)
        return Chunk(data, lines, news.place)

    def _head(self) -> LineId:
        generation = self.program.current
        return LineId(generation.number, generation.lines.last)

    def _heard(self) -> None:
        """Called on the program's thread."""
        if not self._is_woken and not self.is_closed:
            self._is_woken = True
            self._loop.call_soon_threadsafe(self._woken.set)

    async def _run(self) -> None:
        try:
            while True:
                await self._woken.wait()
                self._woken.clear()
                self._is_woken = False
                if not self._feeds:
                    self._place = self._head()
                elif await self._round():
                    self._woken.set()
                    continue
                await asyncio.sleep(_ROUND)
        finally:
            # Whatever ended it: who waits for the next round would wait for ever.
            self.close()

    async def _round(self) -> bool:
        """Publishes what is new; whether there is more by now."""
        filters = list(self._feeds)
        news, encoded = await self._threads.call(self._look, filters)
        self._place = news.place
        for filter_, feed in self._feeds.items():
            # One that has come meanwhile is at the place where this round began.
            data, lines = encoded.get(filter_) or news.encoded(filter_)
            self._tell(feed, news, data, lines)
        return news.is_behind

    def _look(self, filters: list[StreamFilter]) -> tuple[_News, dict[StreamFilter, tuple[bytes, int]]]:
        news = _news(self.program, self._place)
        return news, {filter_: news.encoded(filter_) for filter_ in filters}

    def _tell(self, feed: SharedFeed, news: _News, data: bytes, lines: int) -> None:
        if data:
            feed.tick = news.last_tick
        else:
            data = self._passed(feed, news)
        if data or feed.place != news.place:
            feed.publish(Chunk(data, lines, news.place))

    def _passed(self, feed: SharedFeed, news: _News) -> bytes:
        """The event that says that time has passed, where it has and not too many say so."""
        if news.t is None or news.is_behind or (feed.tick is not None and news.t <= feed.tick):
            return b""
        now = monotonic()
        if (wait := feed.time_sent + _TIME - now) > 0:
            self._loop.call_later(wait, self._woken.set)
            return b""
        feed.tick, feed.time_sent = news.t, now
        return time_event(news.t, news.generation.times)


class Subscriber:
    """One who follows a program: where it is, and how much it leaves unread."""

    def __init__(self, fanout: ProgramFanout, filter_: StreamFilter, after: LineId | None) -> None:
        self._fanout = fanout
        self._filter = filter_
        self._place = after
        self._next: int | None = None
        """The chunk of the feed that it takes next; None while it reads by itself."""
        self._feed = fanout.join(filter_)
        self.is_sending = False
        self._published = self._feed.total

    @property
    def unread(self) -> int:
        """Bytes that were published since it took any."""
        return self._feed.total - self._published

    @property
    def is_behind(self) -> bool:
        """Whether it has lines to read that are no longer in memory."""
        return self._next is None or not self._feed.holds(self._next)

    async def events(self) -> AsyncGenerator[bytes]:
        """What is sent to it, until it goes or the program does."""
        try:
            yield RETRY
            while not self._fanout.is_closed:
                data = await self._more()
                if data:
                    self.is_sending = True
                    yield data
                    self.is_sending = False
        finally:
            self._fanout.leave(self._filter)

    async def _more(self) -> bytes:
        feed = self._feed
        if self._next is not None and not feed.holds(self._next):
            self._next = None
        if self._next is None and self._place == feed.place:
            self._next = feed.next
        if self._next is not None:
            if self._next == feed.next:
                await feed.changed.wait()
                return b""
            return self._take(feed)
        if self._place is not None and self._waits_for(self._place):
            return await self._wait()
        chunk = await self._fanout.read(self._place, self._filter, feed)
        if chunk.place == self._place:
            # What is between here and the feed was cut off after a crash, and is about to come again.
            await asyncio.sleep(_AGAIN)
        self._place = chunk.place
        self._fanout.deliveries += chunk.lines
        self._published = feed.total
        return chunk.data

    def _take(self, feed: SharedFeed) -> bytes:
        assert self._next is not None
        chunks = list(feed.behind(self._next))
        self._next, self._place, self._published = feed.next, feed.place, feed.total
        self._fanout.deliveries += sum(chunk.lines for chunk in chunks)
        return chunks[0].data if len(chunks) == 1 else b"".join(chunk.data for chunk in chunks)

    def _waits_for(self, place: LineId) -> bool:
        """Whether it is beyond what there is: after a crash the same lines come again."""
        return place > self._feed.place and place.generation == self._fanout.program.current.number

    async def _wait(self) -> bytes:
        try:
            await asyncio.wait_for(self._feed.changed.wait(), HEARTBEAT)
        except TimeoutError:
            return COMMENT
        return b""
