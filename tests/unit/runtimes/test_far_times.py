"""One bad clock does not decide a run: a row far from those around it is left out, a stream that has paused goes on."""

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from thalweg import api
from thalweg.cli import app
from thalweg.connectors.interrupt import Interrupt
from thalweg.diagnostics import Diagnostic
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.time import Clock
from thalweg.runtimes.inputs import Streams
from thalweg.runtimes.plausible_times import Far, PlausibleTimes, TimeLimits
from thalweg.runtimes.wall_clock import PassingTime

DAY = 86_400
NOW = 1_794_729_600
HOT = "hot(D) :- v(D)."


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def stamped() -> Clock:
    clock = Clock()
    clock.notation.stamped = True
    return clock


def judged(days: Iterable[float], times: PlausibleTimes | None = None) -> tuple[list[float], list[float]]:
    """The rows that are accepted, and those that are far, each in the order in which they come out, by their days."""
    times = times or PlausibleTimes(TimeLimits(stamped()))
    rows = [(NOW + round(day * DAY), Batch(arrived=1)) for day in days]
    items = [*(item for row in rows for item in times.take(row)), *times.release()]
    accepted = [(item[0] - NOW) / DAY for item in items if isinstance(item, tuple)]
    return accepted, [(item.tick - NOW) / DAY for item in items if isinstance(item, Far)]


@pytest.mark.parametrize(
    ("days", "far"),
    [
        pytest.param([0, 0, 365, 0, 0, 0], [365], id="a year ahead"),
        pytest.param([0, 365, 0, 365, 0, 365, 0, 0], [365, 365, 365], id="one of two clocks"),
        pytest.param([0, 2, 0.1, 0.1, 0.1], [2], id="two days ahead"),
        pytest.param([0, 1.1, 0.2, 0.2, 0.2], [1.1], id="little more than a day ahead"),
        pytest.param([0, 0, 7, 7, 7, 7], [], id="a pause of a week"),
        pytest.param([0, 0, 7, 6.9, 6.9, 7], [], id="disorder after a pause"),
        pytest.param([0, 7, 14, 21, 28, 35], [], id="a row a week"),
        pytest.param([0, 3, 4, 5, 6, 7, 10, 11], [], id="rows of working days"),
        pytest.param([0, 0, 365], [], id="the end accepts"),
        pytest.param([0, 0, 365, 366], [], id="the end accepts two"),
        pytest.param([0, 0, 365, 0], [365], id="one row is most of one"),
        pytest.param([-20_000, 0, 0, 0], [-20_000], id="a first row of 1970"),
        pytest.param([-20_000, -20_000, 0, 0, 0], [-20_000, -20_000], id="two first rows of 1970"),
        pytest.param([-20_000, 0, -20_000, 0, 0], [-20_000, -20_000], id="every second row of 1970"),
        pytest.param([365, 0, 0, 0], [365], id="a first row a year ahead"),
        pytest.param([365, -20_000, 0, 0, 0], [-20_000, 365], id="two kinds of bad clocks first"),
        pytest.param([-20_000, 0], [], id="two rows agree on nothing"),
        pytest.param([0], [], id="one row"),
    ],
)
def test_which_rows_are_far(days: list[float], far: list[float]) -> None:
    accepted, left_out = judged(days)
    assert sorted(left_out) == sorted(far)
    # The others come in the order in which they came.
    remaining = list(days)
    for day in far:
        remaining.remove(day)
    assert accepted == pytest.approx(remaining)


def test_a_batch_of_many_rows_agrees_with_itself_and_one_of_many_facts_does_not() -> None:
    """Three sensors that report the same second are three rows; an event of three facts comes from one clock."""
    for arrived, expected in ((3, 0), (None, 1)):
        times = PlausibleTimes(TimeLimits(stamped()))
        far = Batch(arrived=arrived, order=[api.load(HOT).rules[0].head.signature] * 3)
        rows = [(NOW, Batch(arrived=3)), (NOW + 365 * DAY, far), *[(NOW + 1, Batch(arrived=1))] * 3]
        items = [item for row in rows for item in times.take(row)]
        assert [type(item) for item in items].count(Far) == expected


@given(st.lists(st.sampled_from([0, 1, 60, 3600, DAY, 2 * DAY, 7 * DAY, 300 * DAY]), min_size=1, max_size=30))
@settings(max_examples=200, deadline=None)
def test_rows_in_order_are_never_far(steps: list[int]) -> None:
    """However long a stream pauses: it loses nothing."""
    times = PlausibleTimes(TimeLimits(stamped()))
    ticks = [NOW + sum(steps[:number]) for number in range(len(steps) + 1)]
    items = [*(item for tick in ticks for item in times.take((tick, Batch(arrived=1)))), *times.release()]
    assert [item[0] for item in items if isinstance(item, tuple)] == ticks


def test_what_is_wrong_keeps_its_place_and_has_no_vote() -> None:
    times, wrong = PlausibleTimes(TimeLimits(stamped())), Diagnostic("E301", "wrong")
    rows = [(NOW, Batch()), (NOW, Batch()), (NOW, Batch())]
    assert len([item for row in rows for item in times.take(row)]) == 3
    doubtful = [(NOW + 7 * DAY, Batch()), wrong, wrong, wrong]
    assert [item for row in doubtful for item in times.take(row)] == []
    assert [item for _ in range(2) for item in times.take((NOW + 7 * DAY, Batch()))] == [
        *doubtful, *[(NOW + 7 * DAY, Batch())] * 2
    ]  # fmt: skip


# In a run -----------------------------------------------------------------------------------------------------------

MAPPED = ("--map", "v(d) at ts")


def write(name: str, ticks: Iterable[int]) -> None:
    Path(name).write_text("d,ts\n" + "".join(f"{name[0]}{row},{tick}\n" for row, tick in enumerate(ticks)))


def run(*arguments: str) -> tuple[list[str], Any]:
    """What began, and how the command ended."""
    Path("hot.lars").write_text(HOT)
    ended = CliRunner().invoke(app, ["run", "hot.lars", *arguments])
    answers = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    return [fact for answer in answers for fact in answer["begin"]], ended


def test_a_first_row_of_1970_takes_nothing_with_it() -> None:
    write("a.csv", [0, *range(NOW, NOW + 9)])
    begun, ended = run("--stream", "a.csv", *MAPPED)
    assert begun == [f"hot(a{row})" for row in range(1, 10)]
    assert ended.exit_code == 0
    assert "W308" in ended.stderr
    assert "`v(a0) at 1970-01-01T00:00:00Z`" in ended.stderr
    assert "1 late" in ended.stderr


def test_a_row_a_year_ahead_takes_nothing_with_it_also_in_the_middle_of_other_streams() -> None:
    write("a.csv", [NOW, NOW + 1, NOW + 365 * DAY, *range(NOW + 2, NOW + 9)])
    write("b.csv", range(NOW, NOW + 9))
    begun, ended = run("--stream", "a.csv", "--stream", "b.csv", *MAPPED, "--late", "late.jsonl")
    assert sorted(begun) == [f"hot(a{row})" for row in range(10) if row != 2] + [f"hot(b{row})" for row in range(9)]
    assert ended.exit_code == 0
    (line,) = Path("late.jsonl").read_text().splitlines()
    assert json.loads(line)["facts"] == ["v(a2)"]


def test_how_far_is_said_on_the_command_line_in_a_deployment_and_in_python() -> None:
    ticks = [NOW, NOW + 1, NOW + 3600, NOW + 2, NOW + 3, NOW + 4]
    write("a.csv", ticks)
    everything_after = ["hot(a0)", "hot(a1)", "hot(a2)"]
    others = ["hot(a0)", "hot(a1)", "hot(a3)", "hot(a4)", "hot(a5)"]
    assert run("--stream", "a.csv", *MAPPED)[0] == everything_after
    assert run("--stream", "a.csv", *MAPPED, "--max-ahead", "30 min")[0] == others
    Path("d.toml").write_text(
        'program = "hot.lars"\n[time]\nmax_ahead = "30 min"\n[streams.a]\nfrom = "a.csv"\nmap = "v(d) at ts"\n'
    )
    ended = CliRunner().invoke(app, ["run", "d.toml"])
    assert "hot(a5)" in ended.stdout
    changes = api.run(HOT, "a.csv", map="v(d) at ts", max_ahead="30 min", report=lambda found: None)
    assert [str(fact) for change in changes for fact in change.begin] == others
    assert run("--stream", "a.csv", *MAPPED, "--max-ahead", "soon")[1].exit_code == 2
    assert api.why(
        HOT, "hot(a5)", _iso(NOW + 4), "a.csv", map="v(d) at ts", max_ahead="30 min", report=lambda found: None
    )


def test_a_pause_is_answered_exactly() -> None:
    write("a.csv", [NOW, NOW + 1, *(NOW + 7 * DAY + tick for tick in range(4))])
    known = [str(change) for change in api.run("q(D) :- v(D) in [2].", "a.csv", map="v(d) at ts", max_ahead="99 d")]
    assert [str(change) for change in api.run("q(D) :- v(D) in [2].", "a.csv", map="v(d) at ts")] == known


def test_rows_that_python_makes_are_judged_too() -> None:
    def made() -> Iterator[tuple[str, str]]:
        for second, year in enumerate((2026, 2026, 2027, 2026, 2026)):
            yield f"{year}-11-15T08:00:0{second}Z", f"v({second})"

    warned: list[Diagnostic] = []
    for events in (made(), list(made())):
        changes = list(api.run(HOT, events, report=warned.append))
        assert [str(fact) for change in changes for fact in change.begin] == [f"hot({row})" for row in (0, 1, 3, 4)]
    # What is made while it is read is live: it is reported at once, and at the end.
    assert [found.code for found in warned] == ["W308"] * 3


def test_a_session_decides_when_time_is_advanced() -> None:
    late: list[str] = []
    with api.open(HOT, late=late.append, report=lambda found: None) as session:
        for day, name in ((0, "a"), (365, "b"), (0, "c")):
            session.push("v", name, at=_iso(NOW + day * DAY))
        assert [str(fact) for change in session.advance() for fact in change.begin] == ["hot(a)", "hot(c)"]
        session.push("v", "d", at=_iso(NOW + 7 * DAY))
        saved = session.snapshot()
        assert [str(fact) for change in session.advance() for fact in change.begin] == ["hot(d)"]
    assert [json.loads(line)["facts"] for line in late] == [["v(b)"]]
    # What waits is part of a snapshot.
    with api.open(HOT, report=lambda found: None) as session:
        session.restore(saved)
        session.push("v", "e", at=_iso(NOW + 1))
        assert [str(fact) for change in session.advance() for fact in change.begin] == ["hot(e)"]


# Live ---------------------------------------------------------------------------------------------------------------


class HandFed:
    """A live stream that brings what the test puts in."""

    live = True
    name = "hand.facts"
    stream = "hand"

    def __init__(self) -> None:
        self.queue: Queue[bytes | None] = Queue()

    def blocks(self, interrupt: Interrupt) -> Iterator[bytes]:
        while (block := self.queue.get()) is not None:
            yield block

    def close(self) -> None:
        pass


def live(script: list[tuple[float, float | None]]) -> list[tuple[float, float, bool]]:
    """Rows of a live stream: the second at which each came out, its day, and whether it is far.

    The script says at which second a row of which day comes; None that the stream ends.
    """
    seconds, waiting, stream = [0.0], list(script), HandFed()
    passing = PassingTime(stamped(), now=lambda: NOW + seconds[0], elapsed=lambda: seconds[0])
    items = Streams([stream], Dictionary(), passing.clock, Interrupt(), passing=passing)  # type: ignore[list-item]
    inner = items.pause

    def pause() -> float | None:
        pause, due = inner(), waiting[0][0]
        if pause is not None and due > seconds[0] + pause:
            seconds[0] += pause
            return 0.0
        second, day = waiting.pop(0)
        seconds[0] = second
        text = None if day is None else f"p at @{_iso(NOW + round(day * DAY) + int(second))}.\n".encode()
        stream.queue.put(text)
        return None

    items.pause = pause
    found = []
    for item in items:
        if item is not None and not isinstance(item, Diagnostic):
            tick = item[0] if isinstance(item, tuple) else item.tick
            found.append((seconds[0], round((tick - NOW) / DAY, 3), isinstance(item, Far)))
            assert items.position() is None or not items.holds
    return found


def _iso(tick: int) -> str:
    return datetime.fromtimestamp(tick, UTC).isoformat()


def test_a_live_row_ahead_of_the_machine_waits_for_three_rows_or_a_second() -> None:
    assert live([(0, 0), (1, 365), (1.2, 0), (1.4, 0), (1.6, 0), (2, None)]) == [
        (0, 0, False), (1.4, 365, True), (1.4, 0, False), (1.4, 0, False), (1.6, 0, False)
    ]  # fmt: skip
    # A sensor that reports every ten seconds does not wait for its next reading.
    assert live([(0, 0), (10, 365), (20, 0), (30, 0), (40, None)]) == [
        (0, 0, False), (11, 365, True), (20, 0, False), (30, 0, False)
    ]  # fmt: skip
    # One of two sensors is wrong: within a second as many rows are for it as against it.
    assert live([(0, 0), (1, 365), (1.4, 0), (1.8, 365), (2.2, 0), (4, None)]) == [
        (0, 0, False), (2, 365, True), (2, 0, False), (2, 365, True), (2.2, 0, False)
    ]  # fmt: skip


def test_a_live_stream_that_has_paused_is_answered_at_once() -> None:
    assert live([(0, -30), (1, -7), (2, 0), (3, None)]) == [(0, -30, False), (1, -7, False), (2, 0, False)]


def test_a_live_stream_of_another_time_than_the_machine_is_accepted() -> None:
    """A recording of the future, or a machine whose own clock is wrong."""
    assert live([(0, 365), (5, 365), (6, 400), (9, None)]) == [(1, 365, False), (5, 365, False), (7, 400, False)]
    assert live([(0, -20_000), (0.1, 0), (0.2, 0), (3, None)])[0] == (0.2, -20_000, True)
