"""Whatever order facts come in, and however batches are cut: the answers and the late facts of one process."""

import json
from collections.abc import Iterator
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from buckets import rule_job
from thalweg import api
from thalweg.dataflow.context import Settings
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.runtimes.spark.pack import Arrived, Packer
from thalweg.runtimes.spark.wire import ANSWERS, LATE, OUT, unwrap
from thalweg.runtimes.spark.worker import Worker
from thalweg.runtimes.watermark import Watermark
from thalweg.testing.evaluators import arrived

PROGRAM = api.load("steady(X) :- p(X) always in [2]. seen(X) :- p(X) in [3]. quiet(X) :- seen(X), not r(X) in [1].")
FACTS = st.lists(st.sampled_from(("p(a)", "p(b)", "r(a)", "other(x)")), max_size=2, unique=True)
EVENTS = st.lists(st.tuples(st.integers(0, 12), FACTS), min_size=1, max_size=9)


TIMES = st.tuples(st.none() | st.integers(0, 6), st.none() | st.integers(6, 12), st.integers(0, 3))


@given(events=EVENTS, times=TIMES, cuts=st.sets(st.integers(1, 8), max_size=4))
def test_disorder_is_settled_alike(
    events: list[tuple[int, list[str]]], times: tuple[int | None, int | None, int], cuts: set[int]
) -> None:
    known = [Event(tick, tuple(Fact(*_parts(fact)) for fact in facts)) for tick, facts in events]
    settings = Settings(*times, emit="changes")
    assert by_batches(known, settings, sorted(cuts)) == in_one_process(known, settings)


def _parts(fact: str) -> tuple[str, tuple[str, ...]]:
    name, _, rest = fact.partition("(")
    return name, (rest[:-1],)


def in_one_process(events: list[Event], settings: Settings) -> tuple[list[tuple[int, str, str]], list[str]]:
    late: list[str] = []
    found = []
    timing = api.Timing(first=settings.first, last=settings.last, delay=settings.delay)
    observer = api.Observer(lambda found: None, late.append)
    with api.start(api.load_part([PROGRAM]), events, api.RunOptions(timing), observer) as job:
        for piece in job.pieces():
            if piece is not None:
                begin, end, *_ = piece.columns
                found += [*((piece.t, "+", fact) for fact in begin), *((piece.t, "-", fact) for fact in end)]
    return sorted(found), sorted(fact for line in late for fact in _late(line))


def _late(line: str) -> list[str]:
    told = json.loads(line)
    return [f"{fact} at {told['t']}, {told['watermark']}" for fact in told["facts"]]


def by_batches(
    events: list[Event], settings: Settings, cuts: list[int]
) -> tuple[list[tuple[int, str, str]], list[str]]:
    job = rule_job(PROGRAM, settings, 2)
    keys = [(stage, bucket) for stage in range(len(job.fragments)) for bucket in job.buckets(stage)]
    workers = {key: Worker(job, *key) for key in keys}
    packer = Packer(job, 0, (0,))
    items = list(read(events, packer.words, Watermark(settings.delay, last=settings.last)))
    found, late = [], []
    for start, end in pairwise([0, *(cut for cut in cuts if cut < len(items)), len(items)]):
        post = list(packer.pack(items[start:end], ended=end == len(items)))
        for key, worker in workers.items():
            post += worker.process([each.payload for each in post if (each.fragment, each.bucket) == key])
        for content in (unwrap(each.payload) for each in post if each.fragment == OUT):
            lists = content.lists
            if content.kind == ANSWERS:
                signs = ("-" if ended else "+" for ended in lists["ended"])
                found += zip(lists["ticks"].tolist(), signs, lists["facts"].to_pylist(), strict=True)
            elif content.kind == LATE:
                told = zip(lists["facts"], lists["ticks"].tolist(), lists["watermarks"].tolist(), strict=True)
                late += [f"{fact} at {tick}, {watermark}" for fact, tick, watermark in told]
    return sorted(found), sorted(late)


def read(events: list[Event], words: Dictionary, watermark: Watermark) -> Iterator[Arrived]:
    """Events, up to the one that shows that nothing more can come."""
    for event in events:
        yield from arrived([event], words, watermark)
        if watermark.is_complete:
            return
