"""Who is cut, and how much those who sleep cost."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.service.http.event_stream import RETRY, LineId, StreamFilter
from thalweg.service.http.fanout import Chunk, ProgramFanout, SharedFeed
from thalweg.service.http.subscribers import PATIENCE, UNREAD, Subscribers
from thalweg.service.refused import RefusedError
from thalweg.service.registered_program import RegisteredProgram
from thalweg.service.service import Service

RULES = {"sources": [{"name": "jam.lars", "text": "jam(X) :- slow(X) in [10]."}], "streams": ["north"]}


@dataclass
class Connection:
    """A connection whose other end may read nothing."""

    buffered: int = 0
    is_cut: bool = False

    def get_write_buffer_size(self) -> int:
        return self.buffered

    def abort(self) -> None:
        self.is_cut = True


def with_program(folder: Path, test: Callable[[Service, RegisteredProgram], Any]) -> None:
    service = Service(folder)
    try:
        service.start()
        service.streams.put("north", {})
        program, _ = service.programs.put("jam", RULES)
        asyncio.run(test(service, program))
    finally:
        service.close()


async def until(events: AsyncGenerator[bytes], text: bytes) -> bytes:
    """What is sent up to a text."""
    sent = b""
    async for data in events:
        sent += data
        if text in sent:
            return sent
    raise AssertionError(f"{text!r} was not sent")


def post(service: Service, first: int, last: int, name: str = "x") -> None:
    text = "".join(f"slow({name}{tick}) at {tick}.\n" for tick in range(first, last))
    service.post("north", "text/plain", text.encode(), skip=False, key=None).result()


def test_one_that_sleeps_is_cut_and_others_are_not(tmp_path: Path) -> None:
    async def test(service: Service, program: RegisteredProgram) -> None:
        clock = [0.0]
        subscribers = Subscribers(now=lambda: clock[0])
        asleep, awake = Connection(buffered=UNREAD), Connection()
        sleeping = subscribers.subscribe(program, StreamFilter(), LineId(1, 0), asleep)
        waking = subscribers.subscribe(program, StreamFilter(), LineId(1, 0), awake)
        post(service, 1, 10)
        await until(sleeping, b'"t":2')
        await until(waking, b'"t":8')
        reading = asyncio.create_task(until(waking, b'"t":18'))
        await asyncio.sleep(0)
        for now in (0.0, PATIENCE - 1, PATIENCE):
            clock[0] = now
            subscribers.cut(now)
            assert asleep.is_cut == (now == PATIENCE)
        assert not awake.is_cut
        post(service, 10, 20)
        await reading
        await sleeping.aclose()
        await waking.aclose()
        assert subscribers.counts() == {}
        subscribers.close()

    with_program(tmp_path / "data", test)


def test_one_that_takes_something_is_not_cut(tmp_path: Path) -> None:
    async def test(service: Service, program: RegisteredProgram) -> None:
        clock, slow = [0.0], Connection(buffered=2 * UNREAD)
        subscribers = Subscribers(now=lambda: clock[0])
        events = subscribers.subscribe(program, StreamFilter(), LineId(1, 0), slow)
        post(service, 1, 10)
        await until(events, b'"t":1')
        for now in range(0, 10 * int(PATIENCE), 10):
            clock[0] = float(now)
            slow.buffered -= 1
            subscribers.cut(clock[0])
        assert not slow.is_cut
        await events.aclose()
        subscribers.close()

    with_program(tmp_path / "data", test)


def test_one_that_is_far_behind_goes_on_without_a_gap(tmp_path: Path) -> None:
    async def test(service: Service, program: RegisteredProgram) -> None:
        subscribers = Subscribers()
        slow = subscribers.subscribe(program, StreamFilter(), LineId(1, 0))
        quick = subscribers.subscribe(program, StreamFilter(), LineId(1, 0))
        post(service, 1, 10)
        sent = await until(slow, b'"t":1')
        for first in range(10, 2_010, 200):
            post(service, first, first + 200, "with_a_name_that_fills_what_is_shared" * 4)
            await until(quick, b'"t":%d,' % (first + 198))
        sent += await until(slow, b'"t":2008,')
        ids = [int(part.partition(b"\n")[0]) for part in sent.split(b"id: 1-")[1:]]
        assert ids == list(range(1, len(ids) + 1))
        assert subscribers.deliveries()["jam"] >= 2 * 2_008
        await slow.aclose()
        await quick.aclose()
        subscribers.close()

    with_program(tmp_path / "data", test)


def test_much_that_is_behind_is_sent_in_small_parts(tmp_path: Path) -> None:
    async def test(service: Service, program: RegisteredProgram) -> None:
        post(service, 1, 600, "with_a_name_that_fills_what_is_sent_at_once" * 10)
        while program.current.lines.last < 598:
            await asyncio.sleep(0.01)
        subscribers = Subscribers()
        events = subscribers.subscribe(program, StreamFilter(), LineId(1, 0))
        sizes = []
        async for data in events:
            sizes.append(len(data))
            if b"id: 1-598" in data:
                break
        assert sum(sizes) > 1 << 19
        assert max(sizes) < 1 << 18
        await events.aclose()
        subscribers.close()

    with_program(tmp_path / "data", test)


def test_in_the_end_nobody_waits_for_those_who_sleep(tmp_path: Path) -> None:
    async def test(service: Service, program: RegisteredProgram) -> None:
        subscribers, asleep, awake = Subscribers(), Connection(), Connection()
        sleeping = subscribers.subscribe(program, StreamFilter(), LineId(1, 0), asleep)
        waking = subscribers.subscribe(program, StreamFilter(), LineId(1, 0), awake)
        post(service, 1, 10)
        await until(sleeping, b'"t":8')
        await until(waking, b'"t":8')
        reading = asyncio.create_task(until(waking, b'"t":18'))
        await asyncio.sleep(0.01)
        subscribers.close()
        assert (asleep.is_cut, awake.is_cut) == (True, False)
        with pytest.raises(AssertionError, match="was not sent"):
            await reading
        await sleeping.aclose()

    with_program(tmp_path / "data", test)


def test_there_are_so_many_and_no_more(tmp_path: Path) -> None:
    async def test(service: Service, program: RegisteredProgram) -> None:
        subscribers = Subscribers(most=1)
        first = subscribers.subscribe(program, StreamFilter(), None)
        await anext(first)
        with pytest.raises(RefusedError) as refused:
            subscribers.subscribe(program, StreamFilter(), None)
        assert (refused.value.status, refused.value.headers) == (429, {"Retry-After": "30"})
        await first.aclose()
        await subscribers.subscribe(program, StreamFilter(), None).aclose()
        subscribers.close()

    with_program(tmp_path / "data", test)


def test_a_feed_holds_little() -> None:
    async def test() -> None:
        feed = SharedFeed(LineId(1, 0))
        for number in range(1, 101):
            feed.publish(Chunk(b"x" * 10_000, 1, LineId(1, number)))
        assert feed.next == 100
        assert not feed.holds(90)
        assert sum(len(chunk.data) for chunk in feed.behind(95)) == 50_000
        feed.publish(Chunk(b"x" * 1_000_000, 1, LineId(1, 101)))
        assert feed.holds(100)
        assert not feed.holds(99)

    asyncio.run(test())


def test_one_whose_next_lines_were_cut_off_waits_until_they_come_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[LineId | None] = []
    read = ProgramFanout.read

    async def counted(fanout: ProgramFanout, after: LineId | None, *arguments: Any) -> Chunk:
        reads.append(after)
        return await read(fanout, after, *arguments)

    async def test(service: Service, program: RegisteredProgram) -> None:
        subscribers = Subscribers()
        post(service, 1, 20)
        await until(subscribers.subscribe(program, StreamFilter(), LineId(1, 0)), b"id: 1-18")
        # As it is after a crash, while the program has gone back to its checkpoint.
        lines = [line for _, line in program.current.lines.read(10, 8)]
        program.current.lines.cut(10)
        waiting = asyncio.ensure_future(
            until(subscribers.subscribe(program, StreamFilter(), LineId(1, 12)), b"id: 1-18")
        )
        await asyncio.sleep(0.5)
        assert 1 <= len(reads) < 50
        program.current.lines.add(lines)
        sent = await waiting
        assert [part.split(b"\n")[0] for part in sent.split(b"id: 1-")[1:]] == [b"%d" % n for n in range(13, 19)]
        subscribers.close()

    with monkeypatch.context() as patch:
        patch.setattr(ProgramFanout, "read", counted)
        with_program(tmp_path / "data", test)


def test_subscriptions_end_where_answers_cannot_be_read_and_others_begin_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(fanout: ProgramFanout, filters: object) -> None:
        raise RejectedError([Diagnostic("E408", "the lines are damaged")])

    async def test(service: Service, program: RegisteredProgram) -> None:
        loop = asyncio.get_running_loop()
        # What the task has failed with is shown by the event loop when nobody can ask for it any more.
        loop.set_exception_handler(lambda loop, context: None)
        subscribers = Subscribers()
        events = subscribers.subscribe(program, StreamFilter(), LineId(1, 0))
        with monkeypatch.context() as patch:
            patch.setattr(ProgramFanout, "_look", damaged)
            assert await anext(events) == RETRY
            post(service, 1, 10)
            assert [data async for data in events] == []
        again = subscribers.subscribe(program, StreamFilter(), LineId(1, 0))
        assert b"id: 1-1" in await until(again, b"id: 1-8")
        subscribers.close()

    with_program(tmp_path / "data", test)
