from hypothesis import given
from hypothesis import strategies as st

from thalweg.model.event import Batch
from thalweg.runtimes.reorder import Reorder


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
