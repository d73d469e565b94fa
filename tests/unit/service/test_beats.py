"""Beats: time passes in the log exactly where a program needs to know it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pytest

from thalweg.service.beats import Beats
from thalweg.service.log import Log, LogBusyError, LogEntry


@contextmanager
def beating(log: Log, due: Callable[[], float | None]) -> Iterator[Beats]:
    beats = Beats(log, due)
    beats.start()
    try:
        yield beats
    finally:
        beats.close()


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    log = Log(tmp_path)
    yield log
    log.close()


class Asked:
    """A program that is asked when time matters: it says what it is set to, and that it was asked."""

    def __init__(self, due: float | None) -> None:
        self.due = due
        self._was_asked = Event()

    def __call__(self) -> float | None:
        self._was_asked.set()
        return self.due

    def wait(self) -> None:
        """Waits until it has been asked once more."""
        self._was_asked.clear()
        assert self._was_asked.wait(30)


def test_a_beat_comes_when_a_program_needs_it(log: Log) -> None:
    due = Asked(0.0)
    with beating(log, due):
        assert log.wait(1, 30)
    assert {record.kind for record in log.read(0)} == {"beat"}
    last = log.last
    log.append(LogEntry("stream", "north")).result()
    assert log.last == last + 1, "it has ended"


@pytest.mark.parametrize("due", [None, 1000.0])
def test_where_no_time_needs_to_pass_nothing_is_written(log: Log, due: float | None) -> None:
    asked = Asked(due)
    with beating(log, asked) as beats:
        for _ in range(3):
            beats.look()
            asked.wait()
        assert log.last == 0
        asked.due = 0.0
        beats.look()
        assert log.wait(0, 30)


def test_a_beat_comes_after_the_seconds_that_are_left(log: Log) -> None:
    asked = iter([0.001, 0.001, 0.0])
    with beating(log, lambda: next(asked, None)):
        assert log.wait(0, 30)
    assert log.last == 1


def test_a_beat_that_is_not_taken_is_tried_again(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = Event()

    def busy(entry: LogEntry) -> None:
        tried.set()
        raise LogBusyError

    with monkeypatch.context() as patch:
        patch.setattr(log, "append", busy)
        beats = Beats(log, lambda: 0.0)
        beats.start()
        assert tried.wait(30)
    beats.look()
    assert log.wait(0, 30)
    beats.close()


def test_what_was_never_started_can_be_closed(log: Log) -> None:
    Beats(log, lambda: 0.0).close()
    assert log.last == 0
