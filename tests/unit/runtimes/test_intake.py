import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.dataflow.context import Settings
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.model.time import FOREVER, NEVER
from thalweg.runtimes.intake import Intake, Late, Reorder
from thalweg.runtimes.plausible_times import Far
from thalweg.runtimes.watermark import FAR, Watermark

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


# Watermark, event by event ------------------------------------------------------------------------------------------


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


# Watermark, batch by batch ------------------------------------------------------------------------------------------


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


# Order ----------------------------------------------------------------------------------------------------------------


def numbered(number):
    return Batch(stream=str(number))


def numbers(left):
    return [(tick, [int(batch.stream) for batch in batches]) for tick, batches in left]


def test_batches_leave_in_the_order_of_time_and_those_of_a_tick_in_the_order_of_arrival():
    buffer = Reorder()
    for number, tick in enumerate((5, 7, 6, 5, 8)):
        buffer.add(tick, numbered(number))
    assert numbers(buffer.up_to(4)) == []
    assert numbers(buffer.up_to(7)) == [(5, [0, 3]), (6, [2]), (7, [1])]
    assert [batch.stream for batch in buffer.waiting()] == ["4"]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30))))
def test_nothing_is_lost(steps):
    buffer, left = Reorder(), []
    for number, (tick, last) in enumerate(steps):
        buffer.add(tick, numbered(number))
        found = list(buffer.up_to(last))
        assert [tick for tick, _ in found] == sorted({tick for tick, _ in found if tick <= last})
        left += found
    left += buffer.up_to(30)
    assert sorted((tick, number) for tick, some in numbers(left) for number in some) == sorted(
        (tick, number) for number, (tick, _) in enumerate(steps)
    )
    assert buffer.waiting() == []


# Late facts -----------------------------------------------------------------------------------------------------------


def test_a_late_channel_gets_a_line_for_each_event_and_there_is_no_warning():
    lines = []
    late = Late(lines.append)
    late.add(4, 5, "s", ["p(c)", "p(\u00e9)"])
    late.add(3, 5, None, [])
    assert lines[0] == '{"t":4,"watermark":5,"stream":"s","facts":["p(c)","p(\u00e9)"]}\n'
    assert json.loads(lines[1]) == {"t": 3, "watermark": 5, "stream": None, "facts": []}
    assert late.summary() is None


def test_without_one_the_facts_are_counted_and_the_first_is_the_example():
    late = Late()
    assert late.summary() is None
    late.add(3, 5, "s", [])
    assert late.summary() is None
    late.add(4, 5, "s", ["p(c)", "p(d)"])
    late.add(1, 9, "s", ["p(e)"])
    found = late.summary()
    assert (found.code, found.severity) == ("W302", "warning")
    assert found.message == "3 facts were late and ignored: `p(c) at 4` arrived when the watermark was 5"


def test_late_facts_of_several_streams_are_counted_by_stream_also_after_a_resume():
    late, resumed = Late(), Late()
    late.add(4, 5, "north", ["p(c)", "p(d)"])
    late.add(1, 9, "south", ["p(e)"])
    resumed.load(late.save())
    resumed.add(2, 9, "south", ["p(f)"])
    assert resumed.count == 4
    assert resumed.summary().message.endswith("when the watermark was 5 (2 of `north`, 2 of `south`)")


def test_a_count_that_the_version_before_saved_goes_on():
    late = Late()
    late.load({"count": 2, "first": "`p(c) at 4` arrived when the watermark was 5"})
    late.add(1, 9, "south", ["p(e)"])
    assert late.summary().message.startswith("3 facts were late and ignored: `p(c) at 4`")
    late.load({"count": 0, "first": ""})
    assert late.summary() is None


# Intake ---------------------------------------------------------------------------------------------------------------


def said(words, name):
    batch = Batch(stream="s")
    batch.add(Predicate("p", 1), [words.code(name)])
    return batch


def texts(batches, words):
    return [str(fact) for batch in batches for fact in batch.facts(words)]


def test_a_far_event_takes_no_part_moves_nothing_and_is_not_late():
    words, lines, seen = Dictionary(), [], []
    intake = Intake(Settings(last=50), words, look=[seen.append], write=lines.append)
    for item in ((5, said(words, "a")), Far(90, said(words, "b")), (7, said(words, "c")), (6, said(words, "d"))):
        intake.take(item)
    assert (intake.watermark.reached, len(seen)) == (6, 4)
    assert [(found.what, found.count) for found in intake.counts()] == [("late", 1), ("far", 1)]
    assert intake.dropped == 2
    assert [json.loads(line) for line in lines] == [
        {"t": 90, "watermark": 5, "stream": "s", "facts": ["p(b)"]},
        {"t": 6, "watermark": 7, "stream": "s", "facts": ["p(d)"]},
    ]
    assert [found.code for found in intake.summaries()] == ["W308"], "late facts are in the late channel"


def test_a_driver_sends_each_event_with_the_watermark_that_it_met():
    words = Dictionary()
    intake = Intake(Settings(delay=1), words)
    batch = said(words, "a")
    met = [intake.meet(item, 0)[2] for item in ((5, batch), (8, batch), (6, batch), Far(9, batch))]
    assert met == [4, 7, 7, FAR + 7]
    assert not intake.waiting()
    assert not intake.late.count


@given(TICKS, DELAYS, st.integers(0, 8))
def test_buckets_judge_columns_as_a_local_run_judges_each_event(ticks, delay, first):
    words, settings = Dictionary(), Settings(delay=delay, first=first, last=25)
    local, driver = Intake(settings, words), Intake(settings, words)
    met = []
    for tick in ticks:
        item = tick, said(words, "a")
        local.take(item)
        met.append(driver.meet(item, 0)[2])
    local.end(cut_short=False)
    columns = np.array(ticks, dtype=np.int64), np.array(met, dtype=np.int64)
    on_time, behind, _ = Watermark(delay, first, 25).judge(*columns, NEVER, 0)
    waited = [tick for tick, batches in local.decided() for _ in batches]
    assert waited == sorted(columns[0][on_time].tolist())
    assert local.late.count == behind.sum()


@given(st.lists(st.integers(0, 30), max_size=8), st.lists(st.integers(0, 30), max_size=8), DELAYS)
def test_an_intake_goes_on_where_another_was_saved(before, after, delay):
    words, others = Dictionary(), Dictionary()
    intake, loaded = Intake(Settings(delay=delay), words), Intake(Settings(delay=delay), others)
    for tick in before:
        intake.take((tick, said(words, f"x{tick}")))
    list(intake.decided())
    loaded.load(intake.save())
    for tick in after:
        intake.take((tick, said(words, f"x{tick}")))
        loaded.take((tick, said(others, f"x{tick}")))
    left = [(tick, texts(batches, words)) for tick, batches in intake.decided()]
    assert left == [(tick, texts(batches, others)) for tick, batches in loaded.decided()]
    assert intake.late.summary() == loaded.late.summary()
