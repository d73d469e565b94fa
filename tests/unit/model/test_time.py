"""Clocks and durations."""

import pytest

from thalweg.model.time import Clock, milliseconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [("250 ms", 250), ("1s", 1_000), ("2 sec", 2_000), ("5m", 300_000), ("1 hour", 3_600_000), ("1 d", 86_400_000)],
)
def test_durations(text: str, expected: int) -> None:
    assert milliseconds(text) == expected


@pytest.mark.parametrize("text", ["", "5", "s", "-1 s", "1 year", "1.5 s"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        milliseconds(text)


def test_a_tick_begins_at_its_first_millisecond() -> None:
    clock = Clock(tick_length=10_000)
    assert clock.tick("1970-01-01T00:00:09.999Z") == 0
    assert clock.tick("1970-01-01T00:00:10Z") == 1


def test_zones_and_epochs() -> None:
    assert Clock().tick("1970-01-01T01:00:05+01:00") == Clock().tick("1970-01-01T00:00:05") == 5
    assert Clock(epoch=5_000).tick("1970-01-01T00:00:05Z") == 0
    assert Clock(epoch=5_000).tick("1970-01-01T00:00:04.5Z") == -1
