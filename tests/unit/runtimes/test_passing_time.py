"""Time passes on live streams, in one process and in buckets: by a clock that the test winds, once by the real one."""

import json
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from queue import Queue

import pytest

from task_runs import TaskRun
from thalweg.answers.record import Answer
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.mapping.read_mapping import read_mappings
from thalweg.connectors.mapping.tally import Tally
from thalweg.connectors.open import open_output
from thalweg.dataflow.context import Context, Settings
from thalweg.diagnostics import RejectedError, Source
from thalweg.kinds.rules.rule_part import Rules
from thalweg.languages import lars
from thalweg.model.dictionary import Dictionary
from thalweg.model.time import Clock
from thalweg.runtimes.inputs import Streams
from thalweg.runtimes.local import LocalRun
from thalweg.runtimes.spark.arrival_log import ArrivalLog, Segment
from thalweg.runtimes.spark.receiver import BlockReceiver
from thalweg.runtimes.wall_clock import PassingTime

Pause = Callable[[], float | None]
See = Callable[[Iterable[Answer]], None]
Streamed = Sequence["HandFed"]
Runtime = Callable[[str, Streamed, PassingTime, Pause, See], None]

SILENT = "silent(S) :- sensor(S), not seen(S) in [2].  sensor(a)."


class HandFed:
    """A live stream that brings what the test puts in."""

    live = True

    def __init__(self, name: str) -> None:
        self.name = f"{name}.facts"
        self.stream = name
        self.blocks_: Queue[bytes | None] = Queue()

    def blocks(self, interrupt: Interrupt) -> Iterator[bytes]:
        while (block := self.blocks_.get()) is not None:
            yield block

    def put(self, text: str) -> None:
        self.blocks_.put(f"{text}\n".encode())

    def end(self) -> None:
        self.blocks_.put(None)

    def close(self) -> None:
        pass


class KeptFor(HandFed):
    """One whose broker has kept something before it was opened, and does not say when it has sent all of it."""

    gaps = 1
    is_lost = False

    def backlog(self, position: object) -> bool | None:
        return True if self.is_lost or not self.blocks_.empty() else None


class Hands:
    """The hands of both clocks."""

    def __init__(self, start: float) -> None:
        self.now = start


class Watching(ArrivalLog):
    """A log whose segments are read by tasks as they are written."""

    def __init__(self, run: TaskRun) -> None:
        super().__init__(run.feed.sources.folder)
        self._run = run

    def add(self, segment: Segment, blocks: Sequence[bytes]) -> int:
        number = super().add(segment, blocks)
        self._run.plan()
        return number


def received(run: TaskRun, pause: Callable[[], float | None], see: Callable[[Iterable[Answer]], None]) -> BlockReceiver:
    """What receives the streams of a run; its waits end when a test says so."""
    receiver = run.feed._receiver
    assert isinstance(receiver, BlockReceiver)
    receiver._log = Watching(run)
    receiver._pause = pause  # type: ignore[method-assign]
    run.delivery._see = lambda answer: see([answer])
    return receiver


@pytest.fixture(params=["embedded", "tasks"])
def runtime(request: pytest.FixtureRequest, tmp_path: Path) -> Runtime:
    """Takes a program, its streams, how time passes and how it is waited for, and hands changes to a function."""

    def embedded(program: str, streams: Streamed, passing: PassingTime, pause: Pause, see: See) -> None:
        context = Context(Settings(), Clock(), lambda _: None)
        run = LocalRun(Rules(lars.read(Source("program", program))), context)
        items = Streams(streams, run.dictionary, passing.clock, Interrupt(), passing=passing)  # type: ignore[arg-type]
        items.pause = pause
        for answer in run.answers(items):
            see([] if answer is None else [answer])

    def tasks(program: str, streams: Streamed, passing: PassingTime, pause: Pause, see: See) -> None:
        run = TaskRun(tmp_path, program, streams, 1, clock=passing.clock, passing=passing, emit="changes")
        receiver = received(run, pause, see)
        receiver.run()
        run.delivery.close()
        assert receiver.error is None, receiver.error

    return embedded if request.param == "embedded" else tasks


def answers(
    runtime: Runtime,
    program: str,
    streams: list[HandFed],
    script: "list[tuple[float, int | None, str]]",
    **how: object,
) -> list[str]:
    """The changes of a run; the script says at which second which stream brings what, None that all have ended."""
    clock, hands = Clock(), Hands(script[0][0])
    passing = PassingTime(clock, now=lambda: hands.now, elapsed=lambda: hands.now, **how)  # type: ignore[arg-type]
    waiting = list(script)

    def pause() -> float | None:
        # What the script has up to the end of the pause arrives; else the clock jumps there.
        seconds = passing.pause()
        due = waiting[0][0] if waiting else None
        if due is not None and (seconds is None or due <= hands.now + seconds):
            second, which, text = waiting.pop(0)
            hands.now = second
            for stream in streams if which is None else [streams[which]]:
                stream.end() if which is None else stream.put(text)
            return None
        if seconds is None:
            return None
        hands.now += seconds
        return 0.0

    found: list[str] = []

    def see(changes: Iterable[Answer]) -> None:
        for block in changes:
            found.extend(f"{hands.now:g}s {block.t} + {fact}" for fact in block.columns[0])
            found.extend(f"{hands.now:g}s {block.t} - {fact}" for fact in block.columns[1])

    runtime(program, streams, passing, pause, see)
    return found


def stamp(second: int) -> str:
    return f"@{datetime.fromtimestamp(second, UTC).isoformat()}"


def test_absence_is_noticed_in_silence_within_a_tick_of_its_time(runtime: Runtime) -> None:
    script = [(100.0, 0, f"seen(a) at {stamp(100)}."), (109.5, 0, f"seen(a) at {stamp(109)}."), (111.0, None, "")]
    found = answers(runtime, SILENT, [HandFed("s")], script, by_wall=True)
    # Tick 103 is the first without a reading in its window; it is over when the clock shows 104.
    assert found == ["104s 103 + silent(a)", "110s 109 - silent(a)"]


def test_by_events_nothing_is_noticed_until_something_comes(runtime: Runtime) -> None:
    script = [(100.0, 0, f"seen(a) at {stamp(100)}."), (109.5, 0, f"seen(a) at {stamp(109)}."), (111.0, None, "")]
    found = answers(runtime, SILENT, [HandFed("s")], script)
    assert found == ["109.5s 103 + silent(a)", "111s 109 - silent(a)"]


def test_what_was_kept_is_taken_by_its_own_time_before_the_clock_moves_on(runtime: Runtime) -> None:
    kept = [(200.0, 190), (200.2, 196), (200.4, 198), (200.6, 200)]
    script: list[tuple[float, int | None, str]] = [(at, 0, f"seen(a) at {stamp(time)}.") for at, time in kept]
    script.append((205.0, None, ""))
    found = answers(runtime, SILENT, [KeptFor("s")], script, by_wall=True)
    # Between 192 and 196 it was silent; after the message of now the clock goes on by itself.
    assert [each.split(" ", 1)[1] for each in found] == ["193 + silent(a)", "196 - silent(a)", "203 + silent(a)"]
    assert found[-1].startswith("204s")


def test_a_broker_that_is_silent_for_long_enough_has_sent_what_it_kept(runtime: Runtime) -> None:
    script = [(200.0, 0, f"seen(a) at {stamp(196)}."), (212.0, None, "")]
    first, *_ = answers(runtime, SILENT, [KeptFor("s")], script, by_wall=True)
    second, _, rest = first.partition("s ")
    assert rest == "199 + silent(a)"
    assert 205 <= float(second) < 206


def test_the_clock_waits_for_all_streams_and_those_that_are_drained_hold_nothing_back(runtime: Runtime) -> None:
    script = [
        (200.0, 0, f"fast(x) at {stamp(200)}."),
        (200.4, 1, f"slow(x) at {stamp(150)}."),
        (201.6, 1, f"slow(y) at {stamp(160)}."),
        (202.8, 1, f"slow(z) at {stamp(202)}."),
        (205.0, None, ""),
    ]
    found = answers(runtime, TWO, [HandFed("fast"), KeptFor("slow")], script, by_wall=True)
    begun = [each.split(" ", 1) for each in found if "+" in each]
    assert [what for _, what in begun] == ["150 + q(x)", "160 + q(y)", "200 + p(x)", "202 + q(z)"]
    assert begun[0][0] == "201.6s", "what is kept goes by its own time"


def test_the_clock_stops_while_a_connection_is_lost_for_which_the_broker_keeps_messages() -> None:
    clock, hands, stream = Clock(), Hands(100.0), KeptFor("s")
    stream.gaps = 0
    passing = PassingTime(clock, by_wall=True, now=lambda: hands.now, elapsed=lambda: hands.now)
    items = Streams([stream], Dictionary(), clock, Interrupt(), passing=passing)
    items.pause = lambda: 0.0
    flow = iter(items)

    def ticks(count: int) -> list[int]:
        taken = (item for item in (next(flow) for _ in range(count)) if isinstance(item, tuple))
        return [tick for tick, _ in taken]

    assert ticks(4) == [100]
    stream.gaps, stream.is_lost = 1, True
    hands.now = 110.0
    assert ticks(4) == []
    stream.is_lost = False
    stream.put(f"seen(a) at {stamp(105)}.")
    while (item := next(flow)) is None:
        continue
    assert isinstance(item, tuple)
    assert item[0] == 105, "what was kept is not overtaken by the clock"
    hands.now = 114.0
    assert ticks(4) == []
    hands.now = 116.0
    assert ticks(4) == [116]
    stream.end()


def test_the_clock_does_not_wait_for_facts_of_the_time_of_their_arrival() -> None:
    clock, tally, stream = Clock(), Tally(read_mappings("seen(d)")), KeptFor("s")
    stream.name = "mqtt://localhost/s"
    passing = PassingTime(clock, by_wall=True)
    flow = iter(Streams([stream], Dictionary(), clock, Interrupt(), tally, passing))
    assert isinstance(next(flow), tuple)
    stream.end()


TWO = "p(X) :- fast(X).  q(X) :- slow(X)."


def test_a_stream_that_is_behind_holds_the_others_back_and_is_not_late(runtime: Runtime) -> None:
    streams = [HandFed("fast"), HandFed("slow")]
    script = [(0.0, 0, "fast(x) at 5."), (1.0, 0, "fast(y) at 9."), (2.0, 1, "slow(x) at 4."), (3.0, None, "")]
    found = answers(runtime, TWO, streams, script)
    assert [each.split(" ", 1)[1] for each in found if "+" in each] == ["4 + q(x)", "5 + p(x)", "9 + p(y)"]
    assert found[0].startswith("3s"), "tick 4 is decided when the slow stream has left it"


def test_a_silent_stream_stops_holding_the_others_back(runtime: Runtime) -> None:
    streams = [HandFed("fast"), HandFed("slow")]
    script = [
        (0.0, 0, "fast(x) at 5."),
        (40.0, 0, "fast(y) at 9."),
        (41.0, 1, "slow(x) at 4."),
        (42.0, 1, "slow(y) at 9."),
        (43.0, None, ""),
    ]
    found = answers(runtime, TWO, streams, script, idle=30.0)
    assert "40s 5 + p(x)" in found
    assert not any("q(x)" in each for each in found), "what is decided stays decided: it is late"
    assert any("9 + q(y)" in each for each in found)


def test_a_run_on_spark_that_is_resumed_knows_what_was_decided(tmp_path: Path) -> None:
    """The fast stream had gone on while the other one was silent; then both are read on."""
    found: list[str] = []
    run: TaskRun | None = None

    def fed(script: list[tuple[int, str]], ends: bool) -> None:
        nonlocal run
        streams, hands, waiting = [HandFed("fast"), HandFed("slow")], Hands(0.0), list(script)
        passing = PassingTime(Clock(), idle=30.0, elapsed=lambda: hands.now)
        before, run = run, TaskRun(tmp_path, TWO, streams, 1, passing=passing, emit="changes")  # type: ignore[arg-type]
        if before is not None:
            run.offset, run.workers, run.batches = before.offset, before.workers, before.batches

        def pause() -> float | None:
            hands.now += 20.0
            if waiting:
                which, text = waiting.pop(0)
                streams[which].put(text)
                return None
            for stream in streams:
                stream.end()
            if not ends:
                receiver.stop()
            return None

        receiver = received(run, pause, lambda some: found.extend(fact for one in some for fact in one.columns[0]))
        receiver.run()
        run.delivery.close()
        assert receiver.error is None, receiver.error

    fed([(0, "fast(x) at 5."), (0, "fast(y) at 9."), (0, "fast(z) at 12.")], ends=False)
    assert found == ["p(x)", "p(y)"]
    fed([(1, "slow(x) at 9."), (1, "slow(y) at 12.")], ends=True)
    assert found == ["p(x)", "p(y)", "p(z)", "q(y)"], "what is decided stays decided: it is late"


def test_the_clock_of_the_machine_is_for_live_streams() -> None:
    with pytest.raises(RejectedError, match="live streams"):
        Streams([], Dictionary(), Clock(), Interrupt(), passing=PassingTime(Clock(), by_wall=True))


@pytest.mark.broker
def test_an_alarm_fires_on_time_while_a_real_stream_is_silent(mosquitto, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    topic = uuid.uuid4().hex
    (tmp_path / "silent.lars").write_text("silent(S) :- sensor(S), not seen(S) in [3 sec].  sensor(a).")
    address = f"mqtt://{mosquitto.address}/{topic}"
    command = [sys.executable, "-m", "thalweg", "run", tmp_path / "silent.lars", "--stream", address, "--clock", "wall"]
    with subprocess.Popen([*command, "--delay", "1s", "--quiet"], stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        try:
            first = json.loads(running.stdout.readline())
            assert first["begin"] == ["silent(a)"], "nothing has come, and yet time has passed"
            sink = open_output(address)
            sent = datetime.now(UTC)
            sink.write(f'{{"t":"{sent.isoformat()}","facts":["seen(a)"]}}\n'.encode())
            sink.close()
            assert json.loads(running.stdout.readline())["end"] == ["silent(a)"]
            alarm = json.loads(running.stdout.readline())
            heard = datetime.now(UTC)
        finally:
            running.kill()
    assert alarm["begin"] == ["silent(a)"]
    fired = datetime.fromisoformat(alarm["t"])
    assert (fired - sent.replace(microsecond=0)).total_seconds() == 4
    # Its tick lasts a second, the delay another one; what is left is how late it was.
    print(f"late by {(heard - fired).total_seconds() - 2:.3f} s")
