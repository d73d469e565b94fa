from hypothesis import given
from hypothesis import strategies as st

from thalweg.model.event import Batch
from thalweg.runtimes.reorder import Reorder


def taken(ticks, delay):
    """The ticks in the order in which they leave, with the arrival numbers of each, and the late ones."""
    buffer, left, late = Reorder(delay), [], []
    for number, tick in enumerate(ticks):
        if not buffer.add(tick, Batch(stream=str(number))):
            late.append(number)
        left += buffer.decided()
    left += buffer.rest()
    return [(tick, [int(batch.stream) for batch in batches]) for tick, batches in left], late


def test_without_delay_a_step_back_is_late():
    assert taken([5, 5, 7, 6, 7], 0) == ([(5, [0, 1]), (7, [2, 4])], [3])


def test_inside_the_delay_order_does_not_matter():
    assert taken([5, 7, 6, 5, 8], 2) == ([(5, [0, 3]), (6, [2]), (7, [1]), (8, [4])], [])


def test_the_watermark_itself_is_not_yet_decided():
    buffer = Reorder(delay=3)
    assert buffer.watermark is None
    buffer.add(10, Batch())
    assert buffer.watermark == 7
    assert buffer.add(7, Batch())
    assert not buffer.add(6, Batch())
    assert list(buffer.decided()) == []


@given(st.lists(st.integers(0, 30)), st.integers(0, 10))
def test_nothing_is_lost_and_time_never_steps_back(ticks, delay):
    left, late = taken(ticks, delay)
    assert [tick for tick, _ in left] == sorted({tick for tick, _ in left})
    assert sorted(late + [number for _, numbers in left for number in numbers]) == list(range(len(ticks)))
    for tick, numbers in left:
        assert numbers == sorted(numbers)
        assert all(ticks[number] == tick for number in numbers)
    for number in late:
        assert ticks[number] < max(ticks[:number]) - delay
