import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.model.time import FOREVER
from thalweg.runtimes.watermark import Watermark

TICKS = st.lists(st.integers(0, 30))
DELAYS = st.integers(0, 10)
TIMELINES = st.builds(Watermark, DELAYS, st.none() | st.integers(0, 15), st.none() | st.integers(15, 30))


def late(watermark, ticks):
    """Which of the ticks are late, one after the other."""
    return [tick for tick in ticks if tick < watermark.meet(tick)]


def batch(watermark, *ticks, group=0):
    watermark.see(group, np.array(ticks, dtype=np.int64))
    watermark.settle()


def state(watermark):
    return watermark.of(), watermark.start, watermark.decided, watermark.is_complete, watermark.is_over


# Event by event -----------------------------------------------------------------------------------------------------


def test_without_delay_a_step_back_is_late():
    assert late(Watermark(), [5, 5, 7, 6, 7]) == [6]


def test_inside_the_delay_order_does_not_matter():
    assert late(Watermark(delay=2), [5, 7, 6, 5, 8]) == []


def test_the_watermark_itself_is_not_yet_decided():
    watermark = Watermark(delay=3)
    assert watermark.decided is None
    assert late(watermark, [10, 7, 6]) == [6]
    assert (watermark.of(), watermark.decided) == (7, None)
    watermark.meet(11)
    assert (watermark.start, watermark.decided) == (7, 7)


def test_a_late_event_does_not_move_the_start():
    watermark = Watermark()
    assert late(watermark, [5, 7, 3]) == [3]
    assert (watermark.start, watermark.decided) == (5, 6)


@given(TICKS, DELAYS)
def test_lateness_depends_on_the_events_before(ticks, delay):
    watermark = Watermark(delay)
    for number, tick in enumerate(ticks):
        met = watermark.meet(tick)
        assert (tick < met) == (tick < max(ticks[:number], default=0) - delay)
        assert watermark.decided is None or watermark.decided < max(ticks[: number + 1]) - delay


# Batch by batch -----------------------------------------------------------------------------------------------------


def test_what_is_seen_counts_once_it_is_settled():
    watermark = Watermark(delay=2)
    watermark.see(0, np.array([5, 9]))
    assert watermark.decided is None
    watermark.see(0, np.array([4]))
    watermark.settle()
    assert (watermark.of(), watermark.start, watermark.decided) == (7, 4, 6)


@given(st.lists(TICKS, max_size=4), DELAYS)
def test_a_batch_settles_like_its_events_in_the_order_of_time(batches, delay):
    together, single = Watermark(delay), Watermark(delay)
    for ticks in batches:
        known = sorted(tick for tick in ticks if tick >= single.of())
        batch(together, *ticks)
        assert late(single, known) == []
        assert state(together) == state(single)


def test_time_waits_for_the_slowest_group():
    watermark = Watermark(groups=2)
    batch(watermark, 5, 9)
    assert watermark.decided is None
    batch(watermark, 4, group=1)
    assert (watermark.of(0), watermark.of(1), watermark.decided) == (9, 4, None)
    batch(watermark, 7, group=1)
    assert (watermark.start, watermark.decided) == (4, 6)
    watermark.end(1)
    watermark.settle()
    assert (watermark.decided, watermark.is_over) == (8, False)
    watermark.end(0)
    watermark.settle()
    assert (watermark.decided, watermark.is_over) == (9, True)


# First and last -----------------------------------------------------------------------------------------------------


def test_time_begins_and_ends_where_the_user_says():
    watermark = Watermark(first=4, last=8)
    assert watermark.bounds == (4, 8)
    assert late(watermark, [2, 4]) == []
    assert watermark.decided is None
    watermark.meet(6)
    assert (watermark.decided, watermark.is_complete) == (5, False)
    watermark.meet(11)
    assert (watermark.decided, watermark.is_complete) == (8, True)


def test_all_is_decided_when_events_pass_the_last_tick_though_none_was_before_it():
    watermark = Watermark(last=8)
    watermark.meet(20)
    assert (watermark.start, watermark.decided, watermark.is_complete) == (None, None, True)


@pytest.mark.parametrize(
    ("first", "last", "ticks", "cut_short", "decided"),
    [
        (None, None, [3, 5], False, 5),
        (None, 9, [3, 5], False, 9),
        (None, 9, [3, 5], True, 5),
        (None, 4, [3, 5], True, 4),
        (7, None, [3, 5], False, 7),
        (7, 9, [3, 5], True, 7),
        (None, None, [], False, None),
        (7, None, [], False, None),
        (None, 9, [], False, None),
        (7, 9, [], False, 9),
        (7, 9, [], True, None),
    ],
)
def test_the_end_decides_the_rest(first, last, ticks, cut_short, decided):
    watermark = Watermark(2, first, last)
    late(watermark, ticks)
    watermark.end(cut_short=cut_short)
    watermark.settle()
    assert watermark.is_over
    assert watermark.decided == decided


def test_without_bounds_every_tick_is_asked_for():
    assert Watermark().bounds == (0, FOREVER)


# Saving -------------------------------------------------------------------------------------------------------------


@given(TIMELINES, TICKS, TICKS, st.booleans())
def test_what_was_saved_goes_on_alike(watermark, before, after, cut_short):
    late(watermark, before)
    other = Watermark(watermark.delay, watermark.first, watermark.last)
    other.load(json.loads(json.dumps(watermark.save())))
    assert state(other) == state(watermark)
    assert late(other, after) == late(watermark, after)
    for each in (other, watermark):
        each.end(cut_short=cut_short)
        each.settle()
    assert state(other) == state(watermark)
