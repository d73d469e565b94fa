"""A query whose joins are split over buckets answers as it does in one process, whichever buckets are lost."""

from hypothesis import given
from hypothesis import strategies as st

from buckets import LOSSES, in_buckets
from thalweg import api
from thalweg.dataflow.context import Settings
from thalweg.diagnostics import Source
from thalweg.model.event import Event
from window_queries import BACKGROUND, LAST, events, queries, subselects

PARTITIONS = (1, 2, 3, 7)


def assert_split_as_whole(text: str, stream: list[Event], size: int, loss: str, partitions: int) -> None:
    """Compares all answers, as they are printed."""
    part = api.load_part([Source("q.rspql", text)], background=BACKGROUND, report=lambda _: None)
    settings = Settings(first=0, last=LAST, emit="changes")
    batches = [stream[start : start + size] for start in range(0, len(stream), size)]
    with api.start(part, stream, api.RunOptions(api.Timing(first=0, last=LAST)), api.Observer(lambda _: None)) as job:
        alone = [str(answer) for block in job.pieces() if block is not None for answer in block.answers()]
    assert in_buckets(part, settings, batches, loss, partitions) == alone


@given(queries(), events(), st.integers(1, 4), st.sampled_from(LOSSES), st.sampled_from(PARTITIONS))
def test_a_split_query_answers_as_in_one_process(
    text: str, stream: list[Event], size: int, loss: str, partitions: int
) -> None:
    assert_split_as_whole(text, stream, size, loss, partitions)


@given(subselects(), events(), st.integers(1, 4), st.sampled_from(LOSSES), st.sampled_from(PARTITIONS))
def test_a_split_query_with_a_subselect_answers_as_in_one_process(
    text: str, stream: list[Event], size: int, loss: str, partitions: int
) -> None:
    assert_split_as_whole(text, stream, size, loss, partitions)
